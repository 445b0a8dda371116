// Formulations that keep the invariants of the underlying ordinary equations: a = a(t, q, v) are the accelerations of
// index 1, so that the constraints hold at their level, and positions and velocities are brought back onto theirs by
// terms that are zero in the exact solution.
//
//   projected_invariants  x = (q, v, mu) or (q, v, mu, tau)                                    [petzold (22), (23)]
//       q' = N(q) (v - J^T mu - L^T tau),     v' = a - J^T tau,     0 = -Phi,     0 = -Phi_t - J v,     L = (J v)_q
//     (23) with M v' = f - G^T lambda - M G^T tau, 0 = G v' + z + G G^T tau says of w = v' + G^T tau that M w = f -
//     G^T lambda, G w + z = 0: w = a. The directions H^T, H = [G 0; L G], are the gradients of all invariants kept, so
//     that the projection is orthogonal. Without tau only positions are kept; without L^T tau ("curvature") velocities
//     are brought back in their own space.
//
//   odae  x = (q, v): all three levels are asked for at once, more equations than unknowns [petzold 2, Fuhrer and
//     Leimkuhler]. A formula of multistep kind makes of q' = N v, v' = a the residuals r of its corrector, and these
//     are met as far as the constraints leave them free: what remains of r is normal to the constraints, in the metric
//     of the masses. That is the answer of a state-space form, its corrector being T^T M r = 0 with J T = 0; where
//     constraints are linear with constant coefficients it is that of any state space. The correction is
//         c d - dv + M^-1 J^T mu = r_q,  c dv - b + M^-1 J^T tau = r_v,  J dv + L d = -(J v + Phi_t),  J d = -Phi
//     (ssf iteration), with mu and tau thrown away: x holds no multiplier. So `solve` after calc_rate answers for the
//     iterate that was evaluated, its constraints included; later questions, of errors, for the directions alone.
//
// Accelerations and multipliers that leave this file are a and its lambda. Rows that depend on others are off.
#include <algorithm>
#include <cmath>

#include "accelerations.hpp"
#include "formulations.hpp"
#include "implicit_solver.hpp"
#include "invariants_matrix.hpp"

namespace linkwork {

namespace {

InvariantsKept read_kept(const FormulationOptions& options, bool overdetermined) {
    if (overdetermined) return {true, false, true};
    const bool velocities = options.invariants == "both";
    return {velocities, velocities && options.curvature, false};
}

class InvariantsFormulation final : public Formulation {
public:
    InvariantsFormulation(const Tables& tables, const FormulationOptions& options, bool overdetermined)
        : tables(tables), nq(tables.nq), nv(tables.nv), m(tables.rows_count), overdetermined(overdetermined),
          with(read_kept(options, overdetermined)), engine(tables, options), matrix(tables, options, with),
          curvature(with.curvature ? std::make_unique<Slopes>(tables) : nullptr), units(m, 1.0), kept(nq + nv), u(nv),
          y(m), of_position(m), of_velocity(m), complex_of_position(m), complex_of_velocity(m) {}

    int size() const override { return nq + nv + (overdetermined ? 0 : with.velocities ? 2 * m : m); }

    Status start(double t, const double* q, const double* v, double* x) override {
        kept_time = std::nan("");
        std::fill_n(x, size(), 0.0);
        std::copy_n(q, nq, x);
        std::copy_n(v, nv, x + nq);
        Status status = engine.prepare(t, q);
        if (status == Status::success) status = evaluate(t, x);
        if (status == Status::success) choose_units();
        return status;
    }

    Status calc_rate(double t, const double* x, double* rate) override {
        const Status status = open_state(t, x);
        if (status != Status::success) return status;
        Workspace& w = engine.w;
        double* rate_v = rate + nq;
        calc_position_rate(tables, x, u.data(), rate);
        std::copy(w.a.begin(), w.a.end(), rate_v);
        if (has_tau()) {
            for (int i = 0; i < m; ++i) y[i] = -units[i] * w.active[i] * tau(x)[i];
            add_transpose_times(tables, w.jacobian.data(), y.data(), rate_v);
        }
        calc_gaps(t, x);
        if (!overdetermined)
            for (int i = 0; i < m; ++i) {
                const bool on = w.active[i] != 0.0; // the equation of a multiplier that is off is 0 = -x
                rate[nq + nv + i] = on ? of_position[i] : -mu(x)[i];
                if (has_tau()) rate[nq + nv + m + i] = on ? of_velocity[i] : -tau(x)[i];
            }
        double sum = 0; // not finite exactly when an entry is not
        for (int i = 0; i < size(); ++i) sum += rate[i] * 0.0;
        return sum == 0.0 ? Status::success : Status::not_finite;
    }

    bool has_mass() const override { return !overdetermined; }
    void apply_mass(const double* x, double* out) override {
        std::copy_n(x, nq + nv, out);
        std::fill(out + nq + nv, out + size(), 0.0);
    }
    void solve_mass(double* r) override { std::fill(r + nq + nv, r + size(), 0.0); }

    Status calc_linearization(double t, const double* x) override {
        ++engine.facts.linearizations;
        linearized_time = t;
        linearized.assign(x, x + size());
        const Status status = open_state(t, x);
        return status == Status::success ? matrix.calc(t, x, u.data(), engine) : status;
    }
    // Nobody takes steps with the whole matrix; it is there to be looked at, by differences.
    Status fill_jacobian(double* J) override {
        ImplicitSolver whole;
        FormulationOptions differences;
        differences.solver = "newton_fd";
        whole.resize(size(), false, differences);
        const Status status = whole.calc_differences(*this, linearized_time, linearized.data());
        return status == Status::success ? whole.fill_jacobian(*this, J) : status;
    }
    bool depends_on_time() const override { return linkwork::depends_on_time(tables); }
    Status factor(double c) override { return matrix.factor(c) ? Status::success : Status::not_finite; }
    Status factor(std::complex<double> c) override { return matrix.factor(c) ? Status::success : Status::not_finite; }

    void solve(double* r) override {
        if (!fresh || !overdetermined) {
            std::fill(of_position.begin(), of_position.end(), 0.0);
            std::fill(of_velocity.begin(), of_velocity.end(), 0.0);
        }
        fresh = false;
        solve_with(r, of_position.data(), of_velocity.data());
    }
    void solve(std::complex<double>* r) override {
        std::fill(complex_of_position.begin(), complex_of_position.end(), 0.0);
        std::fill(complex_of_velocity.begin(), complex_of_velocity.end(), 0.0);
        solve_with(r, complex_of_position.data(), complex_of_velocity.data());
    }

    Status lift(double t, const double* x, Motion& motion) override {
        const Status status = evaluate(t, x);
        motion = {x, x + nq, engine.w.a.data(), engine.calc_multipliers()};
        return status;
    }

    Status correct(double t, double* x, Change& change) override {
        change = normalize(tables, x) ? Change::small : Change::none;
        Status status = evaluate(t, x);
        if (status != Status::success) return status;
        update_memory(tables, engine.w);
        bool rank_changed = false;
        status = engine.watch(t, rank_changed);
        if (rank_changed) {
            change = Change::chart; // other multipliers than before
            kept_time = std::nan("");
            std::fill(x + nq + nv, x + size(), 0.0);
        }
        return status;
    }

    void fill_kinds(int* kinds) const override {
        std::fill_n(kinds, nq, entry_position);
        for (const Body& b : tables.bodies)
            if (b.kind == body_planar) kinds[b.q + 2] = entry_angle;
        std::fill_n(kinds + nq, nv, entry_velocity);
        if (overdetermined) return;
        std::fill_n(kinds + nq + nv, m, entry_multiplier_of_position);
        if (with.velocities) std::fill_n(kinds + nq + nv + m, m, entry_multiplier);
    }
    FormulationFacts facts() const override { return engine.calc_facts(); }
    Workspace& workspace() override { return engine.w; }

private:
    bool has_tau() const { return with.velocities && !overdetermined; }
    const double* mu(const double* x) const { return x + nq + nv; }
    const double* tau(const double* x) const { return x + nq + nv + m; }

    // a and lambda of (t, q, v), and all stages before them
    Status evaluate(double t, const double* x) {
        if (t == kept_time && std::equal(kept.begin(), kept.end(), x)) return Status::success;
        kept_time = std::nan("");
        const Status status = engine.calc(t, x, x + nq);
        if (status != Status::success) return status;
        kept_time = t;
        std::copy_n(x, kept.size(), kept.begin());
        return status;
    }

    // The same, and u = v - J^T mu - L^T tau.
    Status open_state(double t, const double* x) {
        const Status status = evaluate(t, x);
        if (status != Status::success) return status;
        Workspace& w = engine.w;
        std::copy_n(x + nq, nv, u.begin());
        if (overdetermined) return status;
        for (int i = 0; i < m; ++i) y[i] = -units[i] * w.active[i] * mu(x)[i];
        add_transpose_times(tables, w.jacobian.data(), y.data(), u.data());
        if (!curvature || std::all_of(tau(x), tau(x) + m, [](double s) { return s == 0.0; })) return status;
        curvature->calc(tables, t, w);
        for (int i = 0; i < m; ++i) y[i] = -units[i] * w.active[i] * tau(x)[i];
        add_transpose_times(tables, curvature->Jv_q.data(), y.data(), u.data());
        return w.user_failed ? Status::user_error : status;
    }

    // -Phi and -Phi_t - J v of the rows that are on
    void calc_gaps(double t, const double* x) {
        Workspace& w = engine.w;
        calc_constraints(tables, t, w);
        calc_velocity_target(tables, t, w);
        std::fill(y.begin(), y.end(), 0.0);
        add_jacobian_times(tables, w.jacobian.data(), x + nq, y.data());
        for (int i = 0; i < m; ++i) {
            of_position[i] = -w.active[i] * w.phi[i];
            of_velocity[i] = w.active[i] * (w.target[i] - y[i]);
        }
        fresh = true;
    }

    // Multipliers of x in their own units, as the matrix has them, and back.
    template <class Scalar> void solve_with(Scalar* r, Scalar* stray, Scalar* spill) {
        Scalar* multipliers = r + nq + nv;
        if (!overdetermined)
            for (int i = 0; i < m; ++i) {
                const double unit = engine.w.active[i] != 0.0 ? 1.0 : units[i];
                stray[i] = multipliers[i] * unit;
                if (has_tau()) spill[i] = multipliers[m + i] * unit;
            }
        matrix.solve(r, stray, spill);
        if (overdetermined) return;
        for (int i = 0; i < m; ++i) {
            multipliers[i] = stray[i] / units[i];
            if (has_tau()) multipliers[m + i] = spill[i] / units[i];
        }
    }

    // One unit of a multiplier: J_i^T has largest entry 1.
    void choose_units() {
        std::vector<double> largest(m, 0.0);
        for (const Part& part : tables.parts) {
            const Body& b = tables.bodies[part.body];
            const Block& block = tables.blocks[part.block];
            for (int r = 0; r < block.rows; ++r)
                for (int i = 0; i < b.nv; ++i)
                    largest[block.row + r] =
                        std::max(largest[block.row + r], std::abs(engine.w.jacobian[part.offset + r * b.nv + i]));
        }
        for (int i = 0; i < m; ++i) units[i] = largest[i] > 0 ? 1 / largest[i] : 1.0;
    }

    const Tables& tables;
    const int nq, nv, m;
    const bool overdetermined;
    const InvariantsKept with;
    Accelerations engine;
    InvariantsMatrix matrix;
    std::unique_ptr<Slopes> curvature; // for L
    std::vector<double> units;
    std::vector<double> kept; // (q, v) of the last evaluate
    double kept_time = std::nan(""), linearized_time = 0;
    std::vector<double> linearized; // x of the last linearization
    std::vector<double> u, y;
    std::vector<double> of_position, of_velocity; // gaps of the state evaluated last, then what solutions need
    std::vector<std::complex<double>> complex_of_position, complex_of_velocity;
    bool fresh = false; // the gaps are those of the state evaluated last
};

} // namespace

std::unique_ptr<Formulation> build_invariants(const Tables& tables, const FormulationOptions& options,
                                              bool overdetermined) {
    return std::make_unique<InvariantsFormulation>(tables, options, overdetermined);
}

} // namespace linkwork
