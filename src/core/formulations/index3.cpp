// index3: the equations as they stand, x = (q, v, lambda), for formulas of second order (Descriptor of contract.hpp).
//
//     M v' + J^T lambda = f(t, q, v),      Phi(t, q) = 0,      q' = N(q) v
//
// Only positions are asked to meet their constraints. What the formula makes of it: velocities are off theirs by
// O(h^2), as is everything else that is not q. Ode::calc_rate is that of the underlying ordinary equations
// (constraints differentiated twice), which give first steps, first accelerations and first multipliers.
//
// Rotations are moved by their rotation vectors: a displacement d turns a body by exp(d), which is the product of its
// Euler parameters p with (cos |d|/2, sin(|d|/2) d / |d|). They stay normalized, and a body that spins evenly is moved
// without error. `move` turns by 2 arctan(|d|/2) instead; tan(|d|/2) 2 / |d| times d makes it the former.
//
// [bruels] O. Bruels, A. Cardona, M. Arnold, Lie group generalized-alpha time integration of constrained flexible
// multibody systems, Mechanism and Machine Theory 48, 2012.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../system/linear/masses.hpp"
#include "descriptor_correction.hpp"
#include "formulations.hpp"

namespace linkwork {

namespace {

class IndexThree final : public Formulation, public Descriptor {
public:
    IndexThree(const Tables& tables, const FormulationOptions& options)
        : tables(tables), nq(tables.nq), nv(tables.nv), rows(tables.rows_count), engine(tables, options),
          correction(tables, options), q(nq), q_ahead(nq), turned(nv), v_ahead(nv), a(nv), jerk(rows), kept(size()),
          factored_q(nq, std::nan("")) {}

    // --- Formulation -------------------------------------------------------------------------------------------------
    int size() const override { return nq + nv + rows; }

    Status start(double t, const double* q_start, const double* v_start, double* x) override {
        kept_time = std::nan("");
        std::copy_n(q_start, nq, x);
        std::copy_n(v_start, nv, x + nq);
        const Status status = engine.prepare(t, q_start);
        return status == Status::success ? make_consistent(t, x, a.data()) : status;
    }

    Status calc_rate(double t, const double* x, double* rate) override {
        const Status status = calc_ordinary(t, x);
        if (status != Status::success) return status;
        calc_position_rate(tables, x, x + nq, rate);
        std::copy(engine.w.a.begin(), engine.w.a.end(), rate + nq);
        std::fill_n(rate + nq + nv, rows, 0.0);
        return status;
    }

    Status lift(double t, const double* x, Motion& motion) override {
        const Status status = evaluate(t, x);
        std::copy_n(x, nq, q.begin());
        std::fill(turned.begin(), turned.end(), 0.0);
        move(tables, turned.data(), q.data()); // in between steps Euler parameters are to be normalized
        motion = {q.data(), x + nq, a.data(), x + nq + nv};
        if (status != Status::success || engine.dropped.empty()) return status;
        if (!factor_constraints(x)) return Status::singular_position;
        std::copy_n(x + nq + nv, rows, engine.w.lambda.begin());
        motion.lambda = engine.calc_multipliers();
        return status;
    }

    Status correct(double t, double* x, Change& change) override {
        change = Change::none;
        const Status status = evaluate(t, x);
        if (status != Status::success) return status;
        if (!factor_constraints(x)) return Status::singular_position;
        update_memory(tables, engine.w);
        bool rank_changed = false;
        const Status watched = engine.watch(t, rank_changed);
        if (rank_changed) change = Change::chart, factored_q[0] = std::nan("");
        return watched;
    }

    void fill_kinds(int* kinds) const override {
        std::fill(kinds, kinds + nq, entry_position);
        for (const Body& b : tables.bodies)
            if (b.kind == body_planar) kinds[b.q + 2] = entry_angle;
        std::fill_n(kinds + nq, nv, entry_velocity);
        std::fill_n(kinds + nq + nv, rows, entry_multiplier);
    }
    FormulationFacts facts() const override { return engine.calc_facts(); }
    Workspace& workspace() override { return engine.w; }
    bool depends_on_time() const override { return linkwork::depends_on_time(tables); }

    // K and C at (t, x)
    Status calc_linearization(double t, const double* x) override {
        const Status status = evaluate(t, x);
        if (status != Status::success) return status;
        ++engine.facts.linearizations;
        std::copy(a.begin(), a.end(), engine.w.a.begin());
        std::copy_n(x + nq + nv, rows, engine.w.lambda.begin());
        kept_time = std::nan(""); // differences leave their last sweep behind
        return correction.calc(t, engine);
    }

    // Integrators of first order are not paired with these equations.
    Status fill_jacobian(double*) override { return Status::no_convergence; }
    Status factor(double) override { return Status::no_convergence; }
    Status factor(std::complex<double>) override { return Status::no_convergence; }
    void solve(double*) override {}
    void solve(std::complex<double>*) override {}

    // --- Descriptor --------------------------------------------------------------------------------------------------
    Descriptor* descriptor() override { return this; }
    int positions() const override { return nq; }
    int velocities() const override { return nv; }

    void displace(const double* from, const double* d, double* moved) const override {
        std::copy_n(d, nv, turned.begin());
        for (const Body& b : tables.bodies) {
            if (b.kind != body_rigid) continue;
            double* u = turned.data() + b.v + 3;
            const double half = 0.5 * std::sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
            const double stretch = half > 1e-4 ? std::tan(half) / half : 1 + half * half / 3;
            for (int i = 0; i < 3; ++i) u[i] *= stretch;
        }
        std::copy_n(from, nq, moved);
        move(tables, turned.data(), moved);
    }
    void calc_bracket(const double* d, const double* e, double* bracket) const override {
        std::fill_n(bracket, nv, 0.0);
        for (const Body& b : tables.bodies) {
            if (b.kind != body_rigid) continue;
            const double *u = d + b.v + 3, *w = e + b.v + 3;
            const Vec turn = cross(Vec{u[0], u[1], u[2]}, Vec{w[0], w[1], w[2]});
            bracket[b.v + 3] = turn.x, bracket[b.v + 4] = turn.y, bracket[b.v + 5] = turn.z;
        }
    }
    void calc_position_change(const double* at, const double* d, double* change) const override {
        calc_position_rate(tables, at, d, change);
    }

    Status make_consistent(double t, double* x, double* acceleration) override {
        const Status status = calc_ordinary(t, x);
        std::copy(engine.w.a.begin(), engine.w.a.end(), acceleration);
        std::copy(engine.w.lambda.begin(), engine.w.lambda.end(), x + nq + nv);
        return status;
    }

    Status calc_residual(double t, const double* x, const double* acceleration, double* residual) override {
        Status status = sweep(t, x);
        if (status != Status::success) return status;
        calc_constraints(tables, t, engine.w);
        std::copy(force_left.begin(), force_left.end(), residual);
        for (int i = 0; i < nv; ++i) a[i] = -acceleration[i];
        add_mass_times(tables, a.data(), residual);
        for (int i = 0; i < rows; ++i) residual[nv + i] = -engine.w.active[i] * engine.w.phi[i];
        double sum = 0; // not finite exactly when an entry is not
        for (int i = 0; i < nv + rows; ++i) sum += residual[i] * 0.0;
        return sum == 0.0 ? Status::success : Status::not_finite;
    }

    Status factor_descriptor(double c_a, double c_v, double turn) override {
        ++engine.facts.factorizations;
        return correction.factor(c_a, c_v, turn) ? Status::success : Status::singular_position;
    }
    void solve_descriptor(double* r) override {
        ++engine.facts.linear_solves;
        correction.solve_whole(r);
    }

    Status offset_velocity(double t, const double* x, const double* acceleration, double span, double of_jerk,
                           double of_turn, double* v) override {
        kept_time = std::nan("");
        if (of_jerk != 0) {
            calc_jerk(t, x, acceleration, 1e-3 * span);
        } else {
            set_position(tables, x, engine.w);
            calc_jacobian(tables, engine.w);
            std::fill(jerk.begin(), jerk.end(), 0.0);
        }
        if (!factor_constraints(x)) return Status::singular_position;

        // what is asked of J v, less what it is
        calc_bracket(x + nq, acceleration, v_ahead.data());
        for (int i = 0; i < nv; ++i) v_ahead[i] = of_turn * v_ahead[i] - x[nq + i];
        calc_velocity_target(tables, t, engine.w);
        for (int i = 0; i < rows; ++i) jerk[i] = engine.w.target[i] + of_jerk * jerk[i];
        add_jacobian_times(tables, engine.w.jacobian.data(), v_ahead.data(), jerk.data());
        std::fill(v_ahead.begin(), v_ahead.end(), 0.0);
        engine.solve(v_ahead.data(), jerk.data());
        for (int i = 0; i < nv; ++i) v[i] = x[nq + i] + v_ahead[i];
        return Status::success;
    }

private:
    // v' and lambda of the constraints differentiated twice
    Status calc_ordinary(double t, const double* x) {
        kept_time = std::nan("");
        const Status status = engine.calc(t, x, x + nq);
        std::copy_n(x, nq, factored_q.begin());
        if (status != Status::success) factored_q[0] = std::nan("");
        return status;
    }

    // Poses, Jacobian and forces at (t, x); force_left = f - J^T lambda
    Status sweep(double t, const double* x) {
        kept_time = std::nan("");
        Workspace& w = engine.w;
        ++engine.facts.evaluations;
        set_position(tables, x, w);
        set_velocity(tables, x + nq, w);
        calc_jacobian(tables, w);
        calc_forces(tables, t, w);
        if (w.user_failed) return Status::user_error;
        for (int i = 0; i < rows; ++i) w.lambda[i] = -w.active[i] * x[nq + nv + i];
        force_left = w.force;
        add_transpose_times(tables, w.jacobian.data(), w.lambda.data(), force_left.data());
        return Status::success;
    }

    // The same with a = M^-1 (f - J^T lambda), which is v' of a state that solves the equations.
    Status evaluate(double t, const double* x) {
        if (t == kept_time && std::equal(kept.begin(), kept.end(), x)) return Status::success;
        const Status status = sweep(t, x);
        if (status != Status::success) return status;
        double inverse[36];
        for (const Body& b : tables.bodies) {
            calc_inverse_mass(b, inverse);
            for (int i = 0; i < b.nv; ++i) {
                a[b.v + i] = 0;
                for (int j = 0; j < b.nv; ++j) a[b.v + i] += inverse[i * b.nv + j] * force_left[b.v + j];
            }
        }
        for (const double s : a)
            if (!std::isfinite(s)) return Status::not_finite;
        kept_time = t;
        std::copy_n(x, size(), kept.begin());
        return status;
    }

    // [M J^T; J 0] at the position of x, whose Jacobian is in the workspace
    bool factor_constraints(const double* x) {
        if (std::equal(factored_q.begin(), factored_q.end(), x)) return true;
        factored_q[0] = std::nan("");
        ++engine.facts.factorizations;
        if (!engine.solver->factor(engine.w.jacobian.data(), engine.w.active.data())) return false;
        std::copy_n(x, nq, factored_q.begin());
        return true;
    }

    // jerk := J v''. Along the motion J v' = gamma, so that J v'' = d/dt (gamma - J v') with v' held: a difference of
    // what the constraints say here and a little ahead, in which no force and no multiplier appears.
    void calc_jerk(double t, const double* x, const double* acceleration, double s) {
        for (int i = 0; i < nv; ++i) {
            turned[i] = s * (x[nq + i] + 0.5 * s * acceleration[i]);
            v_ahead[i] = x[nq + i] + s * acceleration[i];
        }
        std::copy_n(x, nq, q_ahead.begin());
        move(tables, turned.data(), q_ahead.data());
        calc_acceleration_gap(t + s, q_ahead.data(), v_ahead.data(), acceleration);
        for (int i = 0; i < rows; ++i) jerk[i] = engine.w.lambda[i] / s;
        calc_acceleration_gap(t, x, x + nq, acceleration);
        for (int i = 0; i < rows; ++i) jerk[i] -= engine.w.lambda[i] / s;
    }

    // lambda of the workspace := gamma - J a
    void calc_acceleration_gap(double t, const double* at, const double* v, const double* acceleration) {
        Workspace& w = engine.w;
        set_position(tables, at, w);
        set_velocity(tables, v, w);
        calc_jacobian_and_gamma(tables, t, w);
        for (int i = 0; i < nv; ++i) w.a[i] = -acceleration[i];
        w.lambda = w.gamma;
        add_jacobian_times(tables, w.jacobian.data(), w.a.data(), w.lambda.data());
    }

    const Tables& tables;
    const int nq, nv, rows;
    Accelerations engine;
    DescriptorCorrection correction;
    std::vector<double> q;                // of the state lifted last
    std::vector<double> q_ahead;          // of offset_velocity
    mutable std::vector<double> turned;   // a displacement as `move` wants it
    std::vector<double> v_ahead, a, jerk; // a: v' of the state evaluated last
    std::vector<double> force_left;       // f - J^T lambda
    std::vector<double> kept;             // x evaluated last
    double kept_time = std::nan("");
    std::vector<double> factored_q; // where [M J^T; J 0] was factored
};

} // namespace

std::unique_ptr<Formulation> build_index3(const Tables& tables, const FormulationOptions& options) {
    return std::make_unique<IndexThree>(tables, options);
}

} // namespace linkwork
