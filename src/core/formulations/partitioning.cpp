// Generalized coordinate partitioning: x = (y, y') with y a subset of the coordinates q [negrut (9)-(21), wehage-haug].
//
// The dependent coordinates solve Phi(t, q) = 0 with y held. In displacement coordinates d (q-dot = N v) one Newton step is
//     J d = -Phi,     N_y d = y - y(q)
// where N_y are the rows of N that belong to the independent coordinates ("pins"). With the pins as further constraint
// blocks this is the project's one linear question, [M J*^T; J* 0][d; mu] = [0; g], J* = [J; N_y]: J* is square and
// invertible where the partition is good, so the answer does not depend on M. Velocities: J v = target, N_y v = y'.
//
// The factorization is kept from the last accepted state; within a step corrections contract at the rate at which J*
// changes. The condition number of J* (which is that of Phi_u up to the pins) is estimated after each step; when it has
// grown by 25 % since the partition was chosen, the partition is chosen anew [negrut 3].
#include <Eigen/Dense>

#include "chart.hpp"
#include "formulations.hpp"
#include "partition.hpp"

namespace linkwork {

namespace {

class Partitioning final : public ChartFormulation {
  public:
    using ChartFormulation::ChartFormulation;

  private:
    Status open_chart(double t, double* x) override {
        std::vector<int> chosen = find_independent(engine.pattern, tables, engine.w, q.data());
        if (count > 0 && chosen != independent) ++engine.facts.repartitions;
        independent = std::move(chosen);
        count = static_cast<int>(independent.size());
        build_system();
        if (!solver->analyse(jacobian.data(), active.data())) return Status::singular_position;
        condition_at_choice = engine.facts.condition = calc_condition();
        linkwork::calc_position_rate(tables, q.data(), v.data(), rate.data());
        for (int i = 0; i < count; ++i) x[i] = q[independent[i]], x[count + i] = rate[independent[i]];
        static_cast<void>(t);
        return Status::success;
    }

    // New factorization at the accepted state; a new partition when the old one has got 25 % worse.
    bool refresh_chart(double) override {
        fill_jacobian();
        if (!factor()) return false;
        const double condition = calc_condition();
        engine.facts.condition = condition;
        if (condition < options.repartition_growth * condition_at_choice) return true;
        if (find_independent(engine.pattern, tables, engine.w, q.data()) != independent) return false;
        condition_at_choice = condition; // still the best choice
        return true;
    }

    Status recover_position(double t, const double* y) override {
        Contraction contraction;
        bool refreshed = false;
        for (;;) {
            set_position(tables, q.data(), engine.w);
            calc_constraints(tables, t, engine.w);
            std::fill(d.begin(), d.end(), 0.0);
            for (int i = 0; i < tables.rows_count; ++i) g[i] = -engine.w.phi[i];
            for (int i = 0; i < count; ++i) g[tables.rows_count + pin_row[i]] = y[i] - q[independent[i]];
            ++engine.facts.position_iterations;
            solve();
            double largest = 0;
            for (const double s : d) largest = std::max(largest, std::abs(s));
            const auto verdict = contraction.next(largest, options.position_tolerance);
            if (verdict == Contraction::lost || largest > 1e3) return Status::position_lost;
            move(tables, d.data(), q.data());
            if (verdict == Contraction::done) break;
            if (verdict == Contraction::slow) {
                if (refreshed && contraction.iteration > 12) return Status::position_lost;
                set_position(tables, q.data(), engine.w);
                calc_jacobian(tables, engine.w);
                fill_jacobian();
                if (!factor()) return Status::singular_position;
                contraction.last = 0;
                refreshed = true;
            }
        }
        set_position(tables, q.data(), engine.w);
        calc_jacobian(tables, engine.w);
        return Status::success;
    }

    Status recover_velocity(double t, const double* rates) override {
        calc_velocity_target(tables, t, engine.w);
        Contraction contraction;
        double scale = 1;
        for (const double s : v) scale = std::max(scale, std::abs(s));
        for (;;) {
            std::fill(g.begin(), g.end(), 0.0);
            add_jacobian_times(tables, engine.w.jacobian.data(), v.data(), g.data());
            for (int i = 0; i < tables.rows_count; ++i) g[i] = engine.w.target[i] - g[i];
            linkwork::calc_position_rate(tables, q.data(), v.data(), rate.data());
            for (int i = 0; i < count; ++i) g[tables.rows_count + pin_row[i]] = rates[i] - rate[independent[i]];
            std::fill(d.begin(), d.end(), 0.0);
            solve();
            double largest = 0;
            for (const double s : d) largest = std::max(largest, std::abs(s));
            const auto verdict = contraction.next(largest, options.position_tolerance * scale);
            if (verdict == Contraction::lost) return Status::position_lost;
            for (int i = 0; i < tables.nv; ++i) v[i] += d[i];
            if (verdict == Contraction::done) return Status::success;
            if (verdict == Contraction::slow) {
                fill_jacobian();
                if (!factor()) return Status::singular_position;
                contraction.last = 0;
            }
        }
    }

    // p'' = 1/2 G^T w' - 1/4 (w.w) p on the unit sphere; translations and planar coordinates are their own second derivatives
    void calc_chart_acceleration(double* out) override {
        linkwork::calc_position_rate(tables, q.data(), engine.w.a.data(), rate.data());
        for (int i = 0; i < count; ++i) {
            const int k = independent[i];
            out[i] = rate[k];
            if (parameter_body[i] >= 0) {
                const Vec& w = engine.w.twist[parameter_body[i]].w;
                out[i] -= 0.25 * dot(w, w) * q[k];
            }
        }
    }

    // The system with pins: one more block per body that owns independent coordinates. Allocates; called per chart.
    void build_system() {
        Pattern pattern = engine.pattern;
        pin_row.resize(count);
        pin_offset.resize(count);
        parameter_body.assign(count, -1);
        int offset = tables.jacobian_size, rows = tables.rows_count;
        for (std::size_t b = 0, i = 0; b < tables.bodies.size(); ++b) {
            const Body& body = tables.bodies[b];
            const int first = rows;
            for (; i < independent.size() && independent[i] < body.q + body.nq; ++i) {
                pin_row[i] = rows++ - tables.rows_count;
                pin_offset[i] = offset + (pin_row[i] + tables.rows_count - first) * body.nv;
                if (body.kind == body_rigid && independent[i] >= body.q + 3) parameter_body[i] = static_cast<int>(b);
            }
            if (rows == first) continue;
            const int block = static_cast<int>(pattern.blocks.size());
            pattern.blocks.push_back({first, rows - first, static_cast<int>(pattern.parts.size()), 1});
            pattern.parts.push_back({block, static_cast<int>(b), offset, 0});
            offset += (rows - first) * body.nv;
        }
        pattern.rows = rows;
        jacobian.assign(offset, 0.0);
        active.assign(rows, 1.0);
        std::copy(engine.w.active.begin(), engine.w.active.end(), active.begin());
        d.assign(tables.nv, 0.0);
        g.assign(rows, 0.0);
        work.assign(tables.nv + rows, 0.0);
        solver = build_linear_solver(options.linear == "reduced_band" ? "topology" : options.linear, pattern);
        fill_jacobian();
    }

    // J of the workspace, then the rows of N(q) of the independent coordinates
    void fill_jacobian() {
        std::copy(engine.w.jacobian.begin(), engine.w.jacobian.end(), jacobian.begin());
        for (std::size_t b = 0, i = 0; b < tables.bodies.size(); ++b) {
            const Body& body = tables.bodies[b];
            for (; i < independent.size() && independent[i] < body.q + body.nq; ++i) {
                double* row = jacobian.data() + pin_offset[i];
                std::fill_n(row, body.nv, 0.0);
                calc_pin_row(body, q.data(), independent[i], row);
            }
        }
    }

    bool factor() {
        ++engine.facts.factorizations;
        return solver->factor(jacobian.data(), active.data());
    }
    void solve() {
        ++engine.facts.linear_solves;
        solver->solve(d.data(), g.data());
    }

    // ||J*|| ||J*^-1|| in the 1-norm, the second factor by Hager's estimator [higham 15.1]. Solving with J*^-1 is the first
    // half of the answer to [0; g], with J*^-T the second half of the answer to [f; 0].
    double calc_condition() {
        const int n = tables.nv;
        double norm = calc_column_norm();
        double *x = work.data(), estimate = 0;
        double* y = work.data() + n;
        const int m = static_cast<int>(g.size());
        // dropped rows take no part: their entries stay 0
        double free_rows = 0;
        for (const double a : active) free_rows += a;
        for (int i = 0; i < m; ++i) y[i] = active[i] / free_rows;
        for (int sweep = 0; sweep < 3; ++sweep) {
            std::fill_n(x, n, 0.0);
            solver->solve(x, y);
            double size = 0;
            for (int i = 0; i < n; ++i) size += std::abs(x[i]);
            if (sweep > 0 && size <= estimate) break;
            estimate = size;
            for (int i = 0; i < n; ++i) x[i] = x[i] < 0 ? -1.0 : 1.0;
            std::fill_n(y, m, 0.0);
            solver->solve(x, y);
            int best = 0;
            for (int i = 1; i < m; ++i)
                if (active[i] * std::abs(y[i]) > active[best] * std::abs(y[best])) best = i;
            std::fill_n(y, m, 0.0);
            y[best] = 1;
            engine.facts.linear_solves += 2;
        }
        return norm * estimate;
    }

    double calc_column_norm() {
        double* sum = work.data();
        std::fill_n(sum, tables.nv, 0.0);
        const auto add = [&](int body, int rows, int offset, int first_row) {
            const Body& b = tables.bodies[body];
            for (int r = 0; r < rows; ++r)
                for (int c = 0; c < b.nv; ++c)
                    sum[b.v + c] += active[first_row + r] * std::abs(jacobian[offset + r * b.nv + c]);
        };
        for (const Part& p : tables.parts) add(p.body, tables.blocks[p.block].rows, p.offset, tables.blocks[p.block].row);
        for (std::size_t b = 0, i = 0; b < tables.bodies.size(); ++b)
            for (; i < independent.size() && independent[i] < tables.bodies[b].q + tables.bodies[b].nq; ++i)
                add(static_cast<int>(b), 1, pin_offset[i], tables.rows_count + pin_row[i]);
        return *std::max_element(sum, sum + tables.nv);
    }

    std::vector<int> independent;    // entries of q, ascending
    std::vector<int> pin_row;        // their rows behind the constraint rows
    std::vector<int> pin_offset;     // and where these rows start in the Jacobian
    std::vector<int> parameter_body; // the body, when the coordinate is an Euler parameter; else -1
    std::unique_ptr<LinearSolver> solver;
    std::vector<double> jacobian, active; // J* and its active rows
    std::vector<double> d, g, work;
    double condition_at_choice = 0;
};

} // namespace

std::unique_ptr<Formulation> build_partitioning(const Tables& tables, const FormulationOptions& options) {
    return std::make_unique<Partitioning>(tables, options);
}

} // namespace linkwork
