// Formulations with the multipliers among their unknowns, for implicit integrators that solve B x' = f(t, x):
//
//   index2  x = (q, v, lambda): constraints at velocity level [petzold 2], [arnold (5)]. Positions drift by the local
//           errors of the method; accepted steps are brought back like those of projection
//   ggl     x = (q, v, lambda, mu): both levels, mu keeps positions on theirs [petzold (3), Gear, Leimkuhler, Gupta]
//
//     q' = N(q) (v - J^T mu)      M v' = f(t, q, v) - J^T lambda      0 = -Phi_t - J v      0 = -Phi
//
// mu acts on velocity coordinates, so that q' stays in the span of N and the normalization of Euler parameters stays a
// matter of the body. It is zero in the exact solution: the derivative of the last line is J (v - J^T mu) + Phi_t, the
// third line leaves J J^T mu = 0. M is constant, so f is the residual form with nothing solved for [arnold 4];
// formalism "explicit" is v' = M^-1 (f - J^T lambda) instead.
//
// Accelerations and multipliers that leave this file (lift) are solved for at the state: as good as q and v, where the
// lambda of x has the lower order of the algebraic entries. The same solution watches the rank, finds the projection
// and the multipliers to begin with. Rows that depend on others are off, with 0 = -lambda in their place.
#include <algorithm>
#include <cmath>

#include "../system/linear/masses.hpp"
#include "accelerations.hpp"
#include "coordinate_projection.hpp"
#include "formulations.hpp"
#include "multiplier_matrix.hpp"

namespace linkwork {

namespace {

class MultiplierFormulation final : public Formulation {
public:
    MultiplierFormulation(const Tables& tables, const FormulationOptions& options, bool stabilized)
        : tables(tables), stabilized(stabilized), project(!stabilized && options.project),
          explicit_form(options.formalism == "explicit"), engine(tables, options), projection(engine, options),
          matrix(tables, options, stabilized, units), kept(tables.nq + tables.nv), u(tables.nv), y(tables.rows_count) {
        units.lambda.assign(tables.rows_count, 1.0);
        units.mu = units.lambda;
    }

    int size() const override { return tables.nq + tables.nv + (stabilized ? 2 : 1) * tables.rows_count; }

    Status start(double t, const double* q, const double* v, double* x) override {
        kept_time = std::nan("");
        std::copy_n(q, tables.nq, x);
        std::copy_n(v, tables.nv, x + tables.nq);
        Status status = engine.prepare(t, q);
        if (status == Status::success) status = evaluate(t, x);
        if (status != Status::success) return status;
        choose_units();
        write_multipliers(x);
        return status;
    }

    Status calc_rate(double t, const double* x, double* rate) override {
        Status status = open_state(t, x);
        if (status != Status::success) return status;
        Workspace& w = engine.w;
        const int nq = tables.nq, nv = tables.nv, m = tables.rows_count;
        const double* v = x + nq;
        double *rate_v = rate + nq, *gap = rate_v + nv, *gap_of_position = gap + m;

        linkwork::calc_position_rate(tables, x, u.data(), rate);
        for (int i = 0; i < m; ++i) y[i] = -w.lambda[i];
        std::copy(w.force.begin(), w.force.end(), rate_v);
        add_transpose_times(tables, w.jacobian.data(), y.data(), rate_v);
        if (explicit_form) solve_masses(rate_v);
        calc_velocity_target(tables, t, w);
        std::fill(y.begin(), y.end(), 0.0);
        add_jacobian_times(tables, w.jacobian.data(), v, y.data());
        for (int i = 0; i < m; ++i) gap[i] = w.active[i] != 0.0 ? w.target[i] - y[i] : -x[nq + nv + i];
        if (stabilized) {
            calc_constraints(tables, t, w);
            for (int i = 0; i < m; ++i) gap_of_position[i] = w.active[i] != 0.0 ? -w.phi[i] : -x[nq + nv + m + i];
        }
        double sum = 0; // not finite exactly when an entry is not
        for (int i = 0; i < size(); ++i) sum += rate[i] * 0.0;
        return sum == 0.0 ? Status::success : Status::not_finite;
    }

    bool has_mass() const override { return true; }
    void apply_mass(const double* x, double* out) override {
        std::copy_n(x, tables.nq, out);
        std::fill(out + tables.nq, out + size(), 0.0);
        if (explicit_form)
            std::copy_n(x + tables.nq, tables.nv, out + tables.nq);
        else
            add_mass_times(tables, x + tables.nq, out + tables.nq);
    }
    void solve_mass(double* r) override {
        if (!explicit_form) solve_masses(r + tables.nq);
        std::fill(r + tables.nq + tables.nv, r + size(), 0.0);
    }

    Status calc_linearization(double t, const double* x) override {
        ++engine.facts.linearizations;
        const Status status = open_state(t, x);
        return status == Status::success ? matrix.calc(t, x, u.data(), engine) : status;
    }
    Status fill_jacobian(double* J) override {
        matrix.fill_jacobian(J);
        return Status::success;
    }
    bool depends_on_time() const override { return linkwork::depends_on_time(tables); }
    Status factor(double c) override { return matrix.factor(c) ? Status::success : Status::not_finite; }
    Status factor(std::complex<double> c) override { return matrix.factor(c) ? Status::success : Status::not_finite; }
    void solve(double* r) override { matrix.solve(r); }
    void solve(std::complex<double>* r) override { matrix.solve(r); }

    Status lift(double t, const double* x, Motion& motion) override {
        const Status status = evaluate(t, x);
        motion = {x, x + tables.nq, engine.w.a.data(), engine.calc_multipliers()};
        return status;
    }

    Status correct(double t, double* x, Change& change) override {
        // Euler parameters keep their length but for the error of the method; poses do not depend on it
        change = normalize(tables, x) ? Change::small : Change::none;
        Status status = evaluate(t, x);
        if (status == Status::success && project) {
            status = projection.restore(t, x, x + tables.nq, change);
            if (status != Status::success) return status;
            if (change != Change::none) status = evaluate(t, x);
        }
        if (status != Status::success) return status;
        update_memory(tables, engine.w);
        bool rank_changed = false;
        status = engine.watch(t, rank_changed);
        if (status != Status::success || !rank_changed) return status;
        change = Change::chart; // other multipliers than before
        kept_time = std::nan("");
        status = evaluate(t, x);
        write_multipliers(x);
        return status;
    }

    void fill_kinds(int* kinds) const override {
        const int nq = tables.nq, nv = tables.nv, m = tables.rows_count;
        std::fill_n(kinds, nq, entry_position);
        for (const Body& b : tables.bodies)
            if (b.kind == body_planar) kinds[b.q + 2] = entry_angle;
        std::fill_n(kinds + nq, nv, entry_velocity);
        std::fill_n(kinds + nq + nv, m, entry_multiplier);
        if (stabilized) std::fill_n(kinds + nq + nv + m, m, entry_multiplier_of_position);
    }
    FormulationFacts facts() const override {
        FormulationFacts all = engine.calc_facts();
        all.analyses += matrix.analyses();
        return all;
    }
    Workspace& workspace() override { return engine.w; }

private:
    // Stages up to forces and J at (t, x), lambda and u = v - J^T mu in their own units.
    Status open_state(double t, const double* x) {
        kept_time = std::nan("");
        ++engine.facts.evaluations;
        Workspace& w = engine.w;
        const int nq = tables.nq, nv = tables.nv, m = tables.rows_count;
        set_position(tables, x, w);
        set_velocity(tables, x + nq, w);
        calc_forces(tables, t, w);
        if (w.user_failed) return Status::user_error;
        calc_jacobian(tables, w);
        const double *of_velocity = x + nq + nv, *of_position = of_velocity + m;
        for (int i = 0; i < m; ++i) w.lambda[i] = w.active[i] * units.lambda[i] * of_velocity[i];
        std::copy_n(x + nq, nv, u.begin());
        if (!stabilized) return Status::success;
        for (int i = 0; i < m; ++i) y[i] = -w.active[i] * units.mu[i] * of_position[i];
        add_transpose_times(tables, w.jacobian.data(), y.data(), u.data());
        return Status::success;
    }

    // Accelerations and multipliers of (t, q, v), solved for.
    Status evaluate(double t, const double* x) {
        if (t == kept_time && std::equal(kept.begin(), kept.end(), x)) return Status::success;
        kept_time = std::nan("");
        const Status status = engine.calc(t, x, x + tables.nq);
        if (status != Status::success) return status;
        kept_time = t;
        std::copy_n(x, kept.size(), kept.begin());
        return status;
    }
    void write_multipliers(double* x) const {
        const int m = tables.rows_count;
        double* of_velocity = x + tables.nq + tables.nv;
        for (int i = 0; i < m; ++i) of_velocity[i] = engine.w.lambda[i] / units.lambda[i];
        if (stabilized) std::fill_n(of_velocity + m, m, 0.0);
    }

    // One unit of multiplier i: M^-1 J_i^T (or J_i^T) has largest entry 1.
    void choose_units() {
        std::vector<double> force(tables.rows_count, 0.0), stray(tables.rows_count, 0.0);
        for (const Part& part : tables.parts) {
            const Body& b = tables.bodies[part.body];
            const Block& block = tables.blocks[part.block];
            double inverse[36];
            calc_inverse_mass(b, inverse);
            for (int r = 0; r < block.rows; ++r) {
                const double* row = engine.w.jacobian.data() + part.offset + r * b.nv;
                for (int i = 0; i < b.nv; ++i) {
                    double sum = 0;
                    for (int j = 0; j < b.nv; ++j) sum += inverse[i * b.nv + j] * row[j];
                    force[block.row + r] = std::max(force[block.row + r], std::abs(sum));
                    stray[block.row + r] = std::max(stray[block.row + r], std::abs(row[i]));
                }
            }
        }
        for (int i = 0; i < tables.rows_count; ++i) {
            units.lambda[i] = force[i] > 0 ? 1 / force[i] : 1.0;
            units.mu[i] = stray[i] > 0 ? 1 / stray[i] : 1.0;
        }
    }

    void solve_masses(double* r) const {
        for (const Body& b : tables.bodies) {
            double inverse[36], side[6];
            calc_inverse_mass(b, inverse);
            std::copy_n(r + b.v, b.nv, side);
            for (int i = 0; i < b.nv; ++i) {
                r[b.v + i] = 0;
                for (int j = 0; j < b.nv; ++j) r[b.v + i] += inverse[i * b.nv + j] * side[j];
            }
        }
    }

    const Tables& tables;
    const bool stabilized, project, explicit_form;
    Accelerations engine;
    CoordinateProjection projection;
    MultiplierUnits units;
    MultiplierMatrix matrix;
    std::vector<double> kept; // (q, v) of the last evaluate
    double kept_time = std::nan("");
    std::vector<double> u, y;
};

} // namespace

std::unique_ptr<Formulation> build_multipliers(const Tables& tables, const FormulationOptions& options,
                                               bool stabilized) {
    return std::make_unique<MultiplierFormulation>(tables, options, stabilized);
}

} // namespace linkwork
