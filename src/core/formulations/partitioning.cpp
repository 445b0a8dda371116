// Generalized coordinate partitioning: x = (y, y') with y a subset of the coordinates q [negrut (9)-(21), wehage-haug].
// An Euler parameter e enters as y = 2 asin(e), which is the angle itself when a body turns about an axis: what is
// linear in angles stays linear in y (a stiff spring above all, whose implicit integration loses order otherwise), and
// a tolerance is one in radians.
//
// The dependent coordinates solve Phi(t, q) = 0 with y held. In displacement coordinates d (q-dot = N v) one Newton
// step is
//     J d = -Phi,     N_y d = y - y(q)
// where N_y are the rows of N that belong to the independent coordinates ("pins"). With the pins as further constraint
// blocks this is the project's one linear question, [M J*^T; J* 0][d; mu] = [0; g], J* = [J; N_y]: J* is square and
// invertible where the partition is good, so the answer does not depend on M. Velocities: J v = target, N_y v = y'.
//
// Positions are found with the factorization of the state evaluated before, which is near; velocities with a new one at
// the position found, exactly. After each step the size of Phi_u^-1 Phi_v is estimated; when it has grown by 25 % since
// the partition was chosen, the partition is chosen anew. ([negrut 3] watches the condition number of Phi_u. With
// redundant constraints and small lengths that number is large for reasons of its own, and an Euler parameter near 1,
// which has lost its grip on the motion, hides behind it; the part of the inverse that belongs to the independent
// coordinates shows it.)
#include <limits>

#include "chart.hpp"
#include "formulations.hpp"
#include "partition.hpp"
#include "pin_slopes.hpp"

namespace linkwork {

namespace {

class Partitioning final : public ChartFormulation {
public:
    using ChartFormulation::ChartFormulation;

private:
    const LinearSolver* chart_solver() const override { return solver.get(); }

    Status open_chart(double, double* x) override {
        if (!chosen_ahead && !choose()) return Status::singular_position;
        if (chosen_ahead) ++engine.facts.repartitions;
        chosen_ahead = false;
        count = static_cast<int>(independent.size());
        engine.facts.condition = condition_at_choice;
        linkwork::calc_position_rate(tables, q.data(), v.data(), rate.data());
        for (int i = 0; i < count; ++i) {
            const double e = q[independent[i]], u = rate[independent[i]];
            x[i] = is_parameter(i) ? 2 * std::asin(e) : e;
            x[count + i] = is_parameter(i) ? 2 * u / calc_cosine(e) : u;
        }
        return Status::success;
    }

    // Three candidates: rotations independent where they can be, those of short bodies first or those of all bodies
    // alike, and all coordinates alike. Rotations are the better coordinates (positions follow from them by sines and
    // cosines, the other way round there are turning points), so they may cost twice the grip. Leaves the system of the
    // choice behind, factorized.
    bool choose() {
        const double* at = q.data();
        const std::vector<int> plain = find_independent(tables, engine.w, at, 1.0, true);
        const std::vector<int> alike = find_independent(tables, engine.w, at, 0.1, true);
        const std::vector<int> shortest = find_independent(tables, engine.w, at, 0.1, false);
        const double of_plain = try_partition(plain);
        double best = alike == plain ? of_plain : try_partition(alike);
        const bool has_plain = !(best < 2 * of_plain);
        if (has_plain) best = of_plain;
        if (shortest != (has_plain ? plain : alike) && try_partition(shortest) < 2 * best) return true;
        if (independent != (has_plain ? plain : alike)) try_partition(has_plain ? plain : alike);
        return std::isfinite(condition_at_choice);
    }

    // Builds the system with these coordinates pinned; their grip, infinite where they do not determine the position.
    double try_partition(const std::vector<int>& candidate) {
        independent = candidate;
        build_system();
        condition_at_choice = std::numeric_limits<double>::infinity();
        if (!solver->analyse(jacobian.data(), active.data())) return condition_at_choice;
        choose_scales();
        return condition_at_choice = calc_condition();
    }

    // A new partition when the old one has got 25 % worse. The factorization is the one of the accepted state.
    bool refresh_chart(double) override {
        const double condition = calc_condition();
        engine.facts.condition = condition;
        if (condition < options.repartition_growth * condition_at_choice && !near_turning_point()) return true;
        const std::vector<int> old = independent;
        chosen_ahead = choose() && independent != old; // the same coordinates may still be the best
        return !chosen_ahead && std::isfinite(condition_at_choice);
    }

    Status recover_position(double t, const double* y) override {
        if (!stale && iterate_position(t, y) == Status::success) return Status::success;
        stale = true;
        predict(t);
        set_position(tables, q.data(), engine.w);
        calc_jacobian(tables, engine.w);
        fill_jacobian();
        if (!factor()) return Status::singular_position;
        const Status status = iterate_position(t, y);
        stale = status != Status::success;
        return status;
    }

    // Simplified Newton with the factorization of the state found last, made anew when three more sweeps would not do.
    Status iterate_position(double t, const double* y) {
        for (int i = 0; i < count; ++i) // beyond the turning point of a parameter there is no position
            if (is_parameter(i) && std::abs(y[i]) > 3.1) return Status::position_lost;
        Contraction contraction;
        for (int refreshed = 0;;) {
            set_position(tables, q.data(), engine.w);
            calc_constraints(tables, t, engine.w);
            if (engine.w.user_failed) return Status::user_error;
            std::fill(d.begin(), d.end(), 0.0);
            for (int i = 0; i < tables.rows_count; ++i) g[i] = -engine.w.phi[i];
            for (int i = 0; i < count; ++i)
                g[tables.rows_count + pin_row[i]] = (is_parameter(i) ? std::sin(0.5 * y[i]) : y[i]) - q[independent[i]];
            ++engine.facts.position_iterations;
            solve();
            double largest = 0;
            for (const double s : d) largest = std::max(largest, std::abs(s));
            const auto verdict = contraction.next(largest, options.position_tolerance);
            if (verdict == Contraction::lost || largest > 1e3) return Status::position_lost;
            move(tables, d.data(), q.data());
            if (verdict == Contraction::done) break;
            if (verdict != Contraction::slow) continue;
            if (++refreshed > 8) return Status::position_lost;
            set_position(tables, q.data(), engine.w);
            calc_jacobian(tables, engine.w);
            fill_jacobian();
            if (!factor()) return Status::singular_position;
            contraction.restart();
        }
        set_position(tables, q.data(), engine.w);
        return Status::success;
    }

    // The factorization is made at the recovered position, so one solve is exact; it also serves the next position.
    // An angle y = 2 asin(e) ends at pi; steps need room before it.
    bool near_turning_point() const {
        for (int i = 0; i < count; ++i)
            if (is_parameter(i) && std::abs(q[independent[i]]) > 0.9) return true;
        return false;
    }

    Status recover_velocity(double t, const double* rates) override {
        calc_jacobian(tables, engine.w);
        calc_velocity_target(tables, t, engine.w);
        fill_jacobian();
        stale = !factor();
        if (stale) return Status::singular_position;
        for (int sweep = 0; sweep < 2; ++sweep) {
            std::fill(g.begin(), g.end(), 0.0);
            add_jacobian_times(tables, engine.w.jacobian.data(), v.data(), g.data());
            for (int i = 0; i < tables.rows_count; ++i) g[i] = engine.w.target[i] - g[i];
            linkwork::calc_position_rate(tables, q.data(), v.data(), rate.data());
            for (int i = 0; i < count; ++i)
                g[tables.rows_count + pin_row[i]] = calc_slope(i) * rates[i] - rate[independent[i]];
            std::fill(d.begin(), d.end(), 0.0);
            solve();
            double largest = 0, scale = 1;
            for (int i = 0; i < tables.nv; ++i) {
                v[i] += d[i];
                largest = std::max(largest, std::abs(d[i])), scale = std::max(scale, std::abs(v[i]));
            }
            if (!std::isfinite(largest)) return Status::position_lost;
            if (largest < 1e-3 * scale) break; // else the guess was far away: once more against round-off
        }
        return Status::success;
    }

    // p'' = 1/2 G^T w' - 1/4 (w.w) p on the unit sphere; translations and planar coordinates are their own second
    // derivatives. With e = sin(y/2), c = cos(y/2):  y'' = 2 e''/c + 2 e e'^2 / c^3.
    void calc_chart_acceleration(double* out) override {
        for (int i = 0; i < count; ++i) {
            out[i] = calc_entry(i, engine.w.a.data());
            if (!is_parameter(i)) continue;
            const Vec& w = engine.w.twist[owner[i]].w;
            const double e = q[independent[i]], u = calc_entry(i, v.data()), c = calc_cosine(e);
            out[i] = 2 * (out[i] - 0.25 * dot(w, w) * e) / c + 2 * e * u * u / (c * c * c);
        }
    }

    // Row i of N_y times u: the rate of independent coordinate i (of e, not y).
    double calc_entry(int i, const double* u) const {
        const Body& body = tables.bodies[owner[i]];
        if (!is_parameter(i)) return u[body.v + independent[i] - body.q];
        const double* w = u + body.v + 3;
        double step[4];
        calc_parameter_rate(q.data() + body.q + 3, Vec{w[0], w[1], w[2]}, step);
        return step[independent[i] - body.q - 3];
    }
    bool is_parameter(int i) const {
        const Body& body = tables.bodies[owner[i]];
        return body.kind == body_rigid && independent[i] >= body.q + 3;
    }
    EntryKind find_kind(int i) const override {
        const Body& body = tables.bodies[owner[i]];
        if (is_parameter(i)) return entry_angle_of_any_zero;
        return body.kind == body_planar && independent[i] == body.q + 2 ? entry_angle : entry_position;
    }
    static double calc_cosine(double e) { return std::sqrt(std::max(1 - e * e, 1e-300)); }
    // de/dy of independent coordinate i: c/2 for Euler parameters, else 1
    double calc_slope(int i) const { return is_parameter(i) ? 0.5 * calc_cosine(q[independent[i]]) : 1.0; }

    bool has_single_tangents() const override { return true; }
    void calc_tangent(const double* y, double* out) override {
        std::fill(d.begin(), d.end(), 0.0);
        std::fill(g.begin(), g.end(), 0.0);
        for (int i = 0; i < count; ++i) g[tables.rows_count + pin_row[i]] = calc_slope(i) * y[i];
        solve();
        std::copy(d.begin(), d.end(), out);
    }
    void calc_chart_part(const double* displacement, double* y) override {
        for (int i = 0; i < count; ++i) y[i] = calc_entry(i, displacement) / calc_slope(i);
    }
    Status calc_tangents(double* tangents) override {
        const std::size_t m = g.size();
        pin_slopes.resize(count);
        for (int i = 0; i < count; ++i) pin_slopes[i] = calc_slopes(i);
        many.assign(m * count, 0.0);
        for (int j = 0; j < count; ++j) many[j * m + tables.rows_count + pin_row[j]] = calc_slope(j);
        std::fill_n(tangents, static_cast<std::size_t>(tables.nv) * count, 0.0);
        engine.facts.linear_solves += count;
        solver->solve_many(tangents, many.data(), count);
        return Status::success;
    }
    void solve_velocity(const double* rows, const double* rates, double* u) override {
        const std::size_t m = g.size(), constraints = tables.rows_count;
        for (int j = 0; j < count; ++j) {
            double* side = many.data() + j * m;
            std::copy_n(rows + j * constraints, constraints, side);
            for (int i = 0; i < count; ++i) side[constraints + pin_row[i]] = calc_slope(i) * rates[j * count + i];
        }
        std::fill_n(u, static_cast<std::size_t>(tables.nv) * count, 0.0);
        engine.facts.linear_solves += count;
        solver->solve_many(u, many.data(), count);
    }
    void calc_rate_slope(const double* displacement, double* out) override {
        for (int i = 0; i < count; ++i) {
            const PinSlopes& slope = pin_slopes[i];
            out[i] = is_parameter(i) ? dot(slope.rate, slope.pick(displacement)) : 0.0;
        }
    }
    void calc_acceleration_slope(const double* displacement, const double* u, const double* b, double* out) override {
        for (int i = 0; i < count; ++i) {
            const PinSlopes& slope = pin_slopes[i];
            out[i] = is_parameter(i) ? dot(slope.of_d, slope.pick(displacement)) + dot(slope.of_u, slope.pick(u)) +
                                           dot(slope.of_b, slope.pick(b))
                                     : b[slope.column];
        }
    }

    PinSlopes calc_slopes(int i) const {
        const Body& body = tables.bodies[owner[i]];
        if (!is_parameter(i)) return {body.v + independent[i] - body.q, {}, {}, {}, {}};
        const double* angular = engine.w.a.data() + body.v + 3;
        return calc_pin_slopes(q.data() + body.q + 3, independent[i] - body.q - 3, engine.w.twist[owner[i]].w,
                               {angular[0], angular[1], angular[2]}, body.v + 3);
    }

    // The system with pins: one more block per body that owns independent coordinates. Allocates; called per chart.
    void build_system() {
        Pattern pattern = engine.pattern;
        const std::size_t pins = independent.size();
        pin_row.resize(pins);
        pin_offset.resize(pins);
        owner.resize(pins);
        int offset = tables.jacobian_size, rows = tables.rows_count;
        for (std::size_t b = 0, i = 0; b < tables.bodies.size(); ++b) {
            const Body& body = tables.bodies[b];
            const int first = rows;
            for (; i < independent.size() && independent[i] < body.q + body.nq; ++i) {
                pin_row[i] = rows++ - tables.rows_count;
                pin_offset[i] = offset + (pin_row[i] + tables.rows_count - first) * body.nv;
                owner[i] = static_cast<int>(b);
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

    // Columns are scaled by the masses, J*_scaled = R J* C with C = diag(M)^-1/2 and R making the rows unit vectors
    // where the partition was chosen. R stays, so that a pin that loses its grip (an Euler parameter near 1) is seen.
    void choose_scales() {
        row_scale.assign(g.size(), 0.0);
        column_scale.assign(tables.nv, 1.0);
        for (const Body& b : tables.bodies)
            for (int i = 0; i < b.nv; ++i) column_scale[b.v + i] = 1 / std::sqrt(calc_mass_entry(b, i, i));
        for_each_entry(
            [&](int row, int column, double value) { row_scale[row] += std::pow(value * column_scale[column], 2); });
        for (double& r : row_scale) r = r > 0 ? 1 / std::sqrt(r) : 1.0;
        for (std::size_t i = 0; i < independent.size(); ++i) // pins measure y, not e
            row_scale[tables.rows_count + pin_row[i]] *= calc_slope(static_cast<int>(i));
    }

    // How far bodies move per unit of the independent coordinates: the 1-norm of the columns of (R J* C)^-1 that belong
    // to the pins, that is of Phi_u^-1 Phi_v and the identity, by Hager's estimator [higham 15.1]. It grows without
    // bound where Phi_u becomes singular. Solving with J*^-1 is the first half of the answer to [0; g], with J*^-T the
    // second half of the answer to [f; 0].
    double calc_condition() {
        const int n = tables.nv, m = static_cast<int>(g.size()), pins = tables.rows_count;
        double *x = work.data(), *y = work.data() + n, estimate = 0;
        std::fill_n(y, m, 0.0);
        for (int i = pins; i < m; ++i) y[i] = 1.0 / (m - pins);
        for (int sweep = 0; sweep < 3 && m > pins; ++sweep) {
            std::fill_n(x, n, 0.0);
            for (int i = pins; i < m; ++i) y[i] *= grip_scale(i);
            solver->solve(x, y);
            double size = 0;
            for (int i = 0; i < n; ++i) size += std::abs(x[i] / column_scale[i]);
            if (sweep > 0 && size <= estimate) break;
            estimate = size;
            for (int i = 0; i < n; ++i) x[i] = (x[i] < 0 ? -1.0 : 1.0) / column_scale[i];
            std::fill_n(y, m, 0.0);
            solver->solve(x, y);
            int best = pins;
            for (int i = pins; i < m; ++i)
                if (std::abs(y[i] * grip_scale(i)) > std::abs(y[best] * grip_scale(best))) best = i;
            std::fill_n(y, m, 0.0);
            y[best] = 1;
            engine.facts.linear_solves += 2;
        }
        return estimate;
    }

    double grip_scale(int row) const { return calc_slope(row - tables.rows_count) / row_scale[row]; }

    // visit(row, column, value) for all entries of J*
    template <class Visit> void for_each_entry(Visit&& visit) const {
        const auto rows = [&](const Body& b, int first_row, int count_rows, int offset) {
            for (int r = 0; r < count_rows; ++r)
                for (int c = 0; c < b.nv; ++c) visit(first_row + r, b.v + c, jacobian[offset + r * b.nv + c]);
        };
        for (const Part& p : tables.parts)
            rows(tables.bodies[p.body], tables.blocks[p.block].row, tables.blocks[p.block].rows, p.offset);
        for (std::size_t b = 0, i = 0; b < tables.bodies.size(); ++b)
            for (; i < independent.size() && independent[i] < tables.bodies[b].q + tables.bodies[b].nq; ++i)
                rows(tables.bodies[b], tables.rows_count + pin_row[i], 1, pin_offset[i]);
    }

    std::vector<int> independent; // entries of q, ascending
    std::vector<int> pin_row;     // their rows behind the constraint rows
    std::vector<int> pin_offset;  // and where these rows start in the Jacobian
    std::vector<int> owner;       // and their bodies
    std::unique_ptr<LinearSolver> solver;
    std::vector<double> jacobian, active; // J* and its active rows
    std::vector<double> d, g, work, many;
    std::vector<double> row_scale, column_scale;
    std::vector<PinSlopes> pin_slopes; // at the last linearization
    double condition_at_choice = 0;
    bool chosen_ahead = false; // refresh_chart has chosen the partition that open_chart is to begin with
    bool stale = false;        // the factorization belongs to a state that was given up
};

} // namespace

std::unique_ptr<Formulation> build_partitioning(const Tables& tables, const FormulationOptions& options) {
    return std::make_unique<Partitioning>(tables, options);
}

} // namespace linkwork
