// Recursive coordinates: x = (y, y') with y joint coordinates on a spanning tree, O(n) for trees
// [petzold 3.1.1; aboubakr].
//
// All joint coordinates z of the tree (system/tree.hpp) are independent where it has no loops; else y are those of them
// that closures.hpp leaves independent. From y follow the dependent coordinates by Newton's method on the closing rows,
// poses and twists on the way down the tree, accelerations by the recursion, loops closed by the small system of their
// multipliers. Positions and velocities of bodies and reactions are formed only where they are asked for: reactions of
// a tree from the forces its joints transmit, those of a mechanism with loops from the block solver, which also
// watches over the rank and names the redundant rows.
//
// The chart is left when closed loops have lost grip by 25 %, as in partitioning, or when a ball joint has turned so
// far that its turns begin to line up; then they start from zero again.
#include "chart.hpp"
#include "closures.hpp"
#include "formulations.hpp"

namespace linkwork {

namespace {

class Recursive final : public ChartFormulation {
public:
    Recursive(const Tables& tables, const FormulationOptions& options)
        : ChartFormulation(tables, options), tree(tables), closures(tables, tree), scale(tree.size(), 1.0),
          change(tree.size()), z_accepted(tree.size()), rate_accepted(tree.size()), second_accepted(tree.size()),
          rest(tables.nv), residual(closures.size()), carried(tables.bodies.size()) {}

private:
    const LinearSolver* chart_solver() const override { return nullptr; }

    Status prepare(double t) override {
        engine_ready = settled = false;
        fresh = true;
        if (!closures.empty()) {
            const Status status = engine.prepare(t, q.data());
            if (status != Status::success) return status;
            engine_ready = true;
        }
        return tree.find_position(q.data(), engine.w) ? Status::success : Status::position_lost;
    }

    Status open_chart(double t, double* x) override {
        Workspace& w = engine.w;
        if (tree.wants_new_zero()) tree.take_new_zero(w);
        tree.set_position(w);
        tree.find_rate(w, v.data());
        tree.set_velocity(w);
        if (!closures.empty()) {
            calc_body_wrenches(tables, t, w);
            if (w.user_failed) return Status::user_error;
            if (!tree.calc_pivots(w)) return Status::singular_position;
            closures.calc_jacobian(w);
            if (!choose()) return Status::singular_position;
        }
        if (!fresh) ++engine.facts.repartitions;
        fresh = false;
        count = static_cast<int>(closures.independent.size());
        carrying.clear();
        for (std::size_t i = 0, k = 0; i < tree.links.size(); ++i) {
            const int end = tree.links[i].motion + tree.links[i].motions;
            const std::size_t before = k;
            while (k < closures.independent.size() && closures.independent[k] < end) ++k;
            if (k > before) carrying.push_back(static_cast<int>(i));
        }
        for (int i = 0; i < count; ++i) {
            x[i] = tree.z[closures.independent[i]];
            x[count + i] = tree.rate[closures.independent[i]];
        }
        keep_coordinates();
        return Status::success;
    }

    bool refresh_chart(double) override {
        if (tree.wants_new_zero()) return false;
        if (closures.empty()) return true;
        const double condition = closures.calc_condition(scale);
        engine.facts.condition = condition;
        if (condition < options.repartition_growth * condition_at_choice) return true;
        const std::vector<int> old = closures.independent;
        return choose() && closures.independent == old; // the same coordinates may still be the best
    }

    // Pivots of the free tree say what a unit of a coordinate is worth.
    bool choose() {
        for (int k = 0; k < tree.size(); ++k) scale[k] = std::sqrt(tree.pivot_of(k).inverse);
        if (!closures.choose(scale, options.rank_tolerance, engine.w.engaged)) return false;
        condition_at_choice = closures.calc_condition(scale);
        engine.facts.condition = condition_at_choice;
        return true;
    }

    Status recover_position(double t, const double* y) override {
        for (int i = 0; i < count; ++i) tree.z[closures.independent[i]] = y[i];
        tree.set_position(engine.w);
        return closures.empty() ? Status::success : close_positions(t);
    }

    // Simplified Newton with the decomposition of the state found last, made anew when three more sweeps would not do.
    Status close_positions(double t) {
        Workspace& w = engine.w;
        Contraction contraction;
        for (int refreshed = 0;;) {
            calc_constraints(closures.own_tables(), t, w);
            if (w.user_failed) return Status::user_error;
            for (int i = 0; i < closures.size(); ++i) residual[i] = -w.phi[closures.rows[i]];
            std::fill(change.begin(), change.end(), 0.0);
            closures.complete(residual.data(), change.data());
            ++engine.facts.position_iterations;
            double largest = 0;
            for (int k = 0; k < tree.size(); ++k) largest = std::max(largest, std::abs(change[k]));
            const auto verdict = contraction.next(largest, options.position_tolerance);
            if (verdict == Contraction::lost || largest > 1e3) return Status::position_lost;
            for (int k = 0; k < tree.size(); ++k) tree.z[k] += change[k];
            tree.set_position(w);
            if (verdict == Contraction::done) return Status::success;
            if (verdict != Contraction::slow) continue;
            if (++refreshed > 8) return Status::position_lost;
            closures.calc_jacobian(w);
            ++engine.facts.factorizations;
            if (!closures.factor()) return Status::singular_position;
            contraction.restart();
        }
    }

    // The decomposition is made at the recovered position, so one solution is exact; it serves the next position too.
    Status recover_velocity(double t, const double* rates) override {
        for (int i = 0; i < count; ++i) tree.rate[closures.independent[i]] = rates[i];
        if (!closures.empty()) {
            closures.calc_jacobian(engine.w);
            ++engine.facts.factorizations;
            if (!closures.factor()) return Status::singular_position;
            calc_velocity_target(closures.own_tables(), t, engine.w);
            for (int i = 0; i < closures.size(); ++i) residual[i] = engine.w.target[closures.rows[i]];
            closures.complete(residual.data(), tree.rate.data());
        }
        tree.set_velocity(engine.w);
        return Status::success;
    }

    Status calc_acceleration(double t) override {
        Workspace& w = engine.w;
        settled = false;
        ++engine.facts.evaluations;
        calc_body_wrenches(tables, t, w);
        if (w.user_failed) return Status::user_error;
        if (!tree.calc_pivots(w)) return Status::singular_position;
        if (!closures.empty()) {
            calc_gamma(closures.own_tables(), t, w);
            if (!closures.close_accelerations(w)) return Status::singular_position;
        }
        tree.calc_second();
        double sum = 0; // not finite exactly when an entry is not
        for (const double s : tree.second) sum += s * 0.0;
        return sum == 0.0 ? Status::success : Status::not_finite;
    }
    void calc_chart_acceleration(double* out) override {
        for (int i = 0; i < count; ++i) out[i] = tree.second[closures.independent[i]];
    }

    Status settle(double t, bool factored) override {
        if (settled && (engine_current || !factored)) return Status::success;
        tree.write_position(engine.w, q.data());
        tree.write_velocity(engine.w, v.data());
        engine_current = factored || !closures.empty();
        if (engine_current) {
            if (!engine_ready) { // a tree: no row is dependent
                const std::vector<int> all(tables.rows_count, 1);
                const Status status = engine.prepare_with(t, q.data(), all.data());
                if (status != Status::success) return status;
                engine_ready = true;
            }
            const long evaluations = engine.facts.evaluations;
            const Status status = engine.calc(t, q.data(), v.data());
            engine.facts.evaluations = evaluations;
            if (status != Status::success) return status;
        } else {
            tree.write_acceleration(engine.w, engine.w.a.data());
            calc_tree_multipliers(t);
        }
        settled = true;
        return Status::success;
    }

    // What a joint transmits, M a - f summed over all that hangs on it, is -J^T lambda of its own rows.
    void calc_tree_multipliers(double t) {
        Workspace& w = engine.w;
        calc_jacobian(tables, w);
        calc_forces(tables, t, w);
        for (double& s : rest) s = 0;
        add_mass_times(tables, w.a.data(), rest.data());
        for (int i = 0; i < tables.nv; ++i) rest[i] -= w.force[i];
        for (auto& s : carried) s = {};
        for (std::size_t i = tree.links.size(); i-- > 0;) {
            const TreeLink& link = tree.links[i];
            const Body& body = tables.bodies[link.body];
            Twist<double> own;
            calc_twist(body, rest.data(), own);
            Spatial<double> f = carried[link.body];
            f.angular += w.pose[link.body].A * own.w, f.linear += own.v;
            if (link.block >= 0) calc_joint_multipliers(link, f);
            if (body.kind == body_point) f.angular = {};
            const Spatial<double> up = shift_force(f, tree.step_of(static_cast<int>(i)));
            carried[link.parent].angular += up.angular, carried[link.parent].linear += up.linear;
        }
    }

    // J^T lambda = -f for the rows of one joint, by Gram-Schmidt on the rows.
    void calc_joint_multipliers(const TreeLink& link, const Spatial<double>& f) {
        Workspace& w = engine.w;
        const Body& body = tables.bodies[link.body];
        const Block& block = tables.blocks[link.block];
        const double* J = nullptr;
        for (int p = block.part; p < block.part + block.parts; ++p)
            if (tables.parts[p].body == link.body) J = w.jacobian.data() + tables.parts[p].offset;
        const Vec torque = body.kind == body_rigid ? transpose_times(w.pose[link.body].A, f.angular) : f.angular;
        const double full[6] = {f.linear.x, f.linear.y, f.linear.z, torque.x, torque.y, torque.z};
        double Q[6][6], R[6][6], left[6], y[6];
        const int n = body.nv, m = block.rows;
        for (int c = 0; c < n; ++c) left[c] = -full[body.columns[c]];
        for (int r = 0; r < m; ++r) {
            std::copy_n(J + r * n, n, Q[r]);
            for (int j = 0; j < r; ++j) R[j][r] = 0;
            for (int pass = 0; pass < 2; ++pass)
                for (int j = 0; j < r; ++j) {
                    double s = 0;
                    for (int c = 0; c < n; ++c) s += Q[j][c] * Q[r][c];
                    for (int c = 0; c < n; ++c) Q[r][c] -= s * Q[j][c];
                    R[j][r] += s;
                }
            double square = 0;
            for (int c = 0; c < n; ++c) square += Q[r][c] * Q[r][c];
            R[r][r] = std::sqrt(square);
            y[r] = 0;
            for (int c = 0; c < n; ++c) Q[r][c] /= R[r][r], y[r] += Q[r][c] * left[c];
            for (int c = 0; c < n; ++c) left[c] -= y[r] * Q[r][c];
        }
        for (int r = m; r-- > 0;) {
            double s = y[r];
            for (int j = r + 1; j < m; ++j) s -= R[r][j] * w.lambda[block.row + j];
            w.lambda[block.row + r] = s / R[r][r];
        }
    }

    EntryKind find_kind(int i) const override {
        return tree.motions[closures.independent[i]].turn != 0.0 ? entry_angle_of_any_zero : entry_position;
    }

    // --- what moves with the coordinates, for implicit integrators -------------------------------------------------
    void complete(const double* y) { // change := the coordinates' change of zero residual
        std::fill(change.begin(), change.end(), 0.0);
        for (int i = 0; i < count; ++i) change[closures.independent[i]] = y[i];
        if (!closures.empty()) closures.complete(nullptr, change.data());
    }
    bool has_single_tangents() const override { return true; }
    void calc_tangent(const double* y, double* d) override {
        complete(y);
        tree.calc_displacement(engine.w, change.data(), d);
    }
    void calc_chart_part(const double* d, double* y) override {
        tree.calc_coordinates(engine.w, d, change.data());
        for (int i = 0; i < count; ++i) y[i] = change[closures.independent[i]];
    }
    Status calc_tangents(double* columns) override {
        unit.assign(count, 0.0);
        tangents.assign(static_cast<std::size_t>(tree.size()) * count, 0.0);
        for (int j = 0; j < count; ++j) {
            unit[j] = 1;
            calc_tangent(unit.data(), columns + static_cast<std::size_t>(j) * tables.nv);
            std::copy(change.begin(), change.end(), tangents.begin() + static_cast<std::size_t>(j) * tree.size());
            unit[j] = 0;
        }
        return Status::success;
    }
    // What displacing coordinate j does to the velocities at constant rates y'; with loops, the dependent rates follow.
    void solve_velocity(const double* rows, const double*, double* u) override {
        rates_of.assign(tangents.size(), 0.0);
        slope_b.resize(static_cast<std::size_t>(Tree::directions) * tables.nv);
        for (int j = 0; j < count; j += Tree::directions)
            tree.calc_slopes(engine.w, std::min(Tree::directions, count - j), tangent(j), nullptr,
                             u + static_cast<std::size_t>(j) * tables.nv, slope_b.data());
        for (int j = 0; j < count && !closures.empty(); ++j, rows += tables.rows_count, u += tables.nv) {
            double* dz = rates_of.data() + static_cast<std::size_t>(j) * tree.size();
            closures.calc_residual(engine.w, rows, u, residual.data());
            closures.complete(residual.data(), dz);
            tree.calc_displacement(engine.w, dz, rest.data());
            for (int i = 0; i < tables.nv; ++i) u[i] += rest[i];
        }
    }
    void calc_rate_slope(const double*, double* out) override { std::fill_n(out, count, 0.0); }
    // The kinematics answer to coordinates and rates (or rates alone) by so much; the rest of b is H times that of z''.
    void calc_acceleration_slopes(int n, std::size_t nv, const double*, std::size_t step, const double*,
                                  const double* b, ImplicitSolver::Matrix& J) override {
        const bool displaces = step > 0;
        slope_u.resize(Tree::directions * nv);
        inverses.resize(36 * carrying.size());
        for (std::size_t i = 0; i < carrying.size(); ++i) tree.calc_link_inverse(carrying[i], inverses.data() + i * 36);
        still.assign(displaces ? 0 : static_cast<std::size_t>(Tree::directions) * tree.size(), 0.0);
        for (int j = 0; j < n; j += Tree::directions) {
            const int many = std::min(Tree::directions, n - j);
            const std::size_t at = static_cast<std::size_t>(j) * tree.size();
            tree.calc_slopes(engine.w, many, displaces ? tangent(j) : still.data(),
                             displaces ? rates_of.data() + at : tangent(j), slope_u.data(), slope_b.data());
            for (int k = 0; k < many; ++k) {
                for (std::size_t i = 0; i < nv; ++i) rest[i] = b[(j + k) * nv + i] - slope_b[k * nv + i];
                for (std::size_t i = 0; i < carrying.size(); ++i)
                    tree.calc_link_coordinates(engine.w, carrying[i], inverses.data() + i * 36, rest.data(),
                                               change.data());
                for (int i = 0; i < n; ++i) J(i, j + k) = change[closures.independent[i]];
            }
        }
    }
    const double* tangent(int j) const { return tangents.data() + static_cast<std::size_t>(j) * tree.size(); }

    // --- the accepted state -----------------------------------------------------------------------------------------
    void predict(double t) override {
        if (closures.empty()) return;
        const double s = t - accepted_time;
        for (int k = 0; k < tree.size(); ++k)
            tree.z[k] = z_accepted[k] + s * (rate_accepted[k] + 0.5 * s * second_accepted[k]);
    }
    void restore() override {
        ChartFormulation::restore();
        tree.z = z_accepted;
        tree.rate = rate_accepted;
        if (closures.empty()) return;
        tree.set_position(engine.w);
        closures.calc_jacobian(engine.w);
        closures.factor();
    }
    void remember(double t) override {
        ChartFormulation::remember(t);
        keep_coordinates();
    }
    void keep_coordinates() {
        z_accepted = tree.z;
        rate_accepted = tree.rate;
        second_accepted = tree.second;
    }

    Tree tree;
    Closures closures;
    std::vector<double> scale, change;
    std::vector<double> z_accepted, rate_accepted, second_accepted;
    std::vector<int> carrying; // links with independent coordinates
    std::vector<double> slope_u, slope_b, rest, residual;
    std::vector<double> inverses, unit, still, tangents, rates_of; // tangents, rates_of: z and z' by columns of J1
    std::vector<Spatial<double>> carried;                          // per body
    double condition_at_choice = 0;
    bool fresh = true;           // the run or a new beginning, not a change of chart
    bool engine_ready = false;   // the engine's solver has been prepared since the start
    bool settled = false;        // q, v, a, lambda are those of the state evaluated last
    bool engine_current = false; // and the engine holds the factorization there
};

} // namespace

std::unique_ptr<Formulation> build_recursive(const Tables& tables, const FormulationOptions& options) {
    return std::make_unique<Recursive>(tables, options);
}

} // namespace linkwork
