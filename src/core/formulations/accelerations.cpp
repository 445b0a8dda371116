#include "accelerations.hpp"

#include <algorithm>
#include <cmath>

#include "../system/linear/regularized.hpp"

namespace linkwork {

Accelerations::Accelerations(const Tables& tables, const FormulationOptions& options)
    : tables(tables), w(tables), pattern(build_pattern(tables)),
      solver(options.redundant == "regularize" ? build_regularized(options.linear, pattern)
                                               : build_linear_solver(options.linear, pattern)),
      rank_tolerance(options.rank_tolerance), nearness(tables), multipliers(tables.rows_count), x(tables.nv),
      y(tables.rows_count), found(tables.rows_count) {
    if (options.redundant == "regularize") watched = build_linear_solver(options.linear, pattern);
}

Status Accelerations::prepare(double t, const double* q) {
    set_position(tables, q, w);
    calc_constraints(tables, t, w);
    calc_jacobian(tables, w);
    rank = find_active_rows(pattern, w.jacobian.data(), rank_tolerance, w.active.data(), w.engaged.data());
    nearness.forget();
    if (watched) {
        independent = w.active;
        w.active = w.engaged;
        if (!watched->analyse(w.jacobian.data(), independent.data())) return Status::singular_position;
    }
    const Status status = analyse();
    if (status == Status::success) look(t);
    return status;
}

// A singular position is told, but does not stop a run whose rows are regularized.
void Accelerations::look(double t) {
    if (!watched)
        nearness.look(t, w.jacobian.data(), w.active.data(), *solver, facts);
    else if (watched->factor(w.jacobian.data(), independent.data()))
        nearness.look(t, w.jacobian.data(), independent.data(), *watched, facts);
}

Status Accelerations::prepare_with(double t, const double* q, const int* active) {
    set_position(tables, q, w);
    calc_constraints(tables, t, w);
    calc_jacobian(tables, w);
    std::copy_n(active, tables.rows_count, w.active.begin());
    return analyse();
}

Status Accelerations::analyse() {
    dropped.clear();
    rank = 0;
    for (int i = 0; i < tables.rows_count; ++i) {
        if (w.active[i] != 0.0)
            ++rank;
        else if (w.engaged[i] != 0.0)
            dropped.push_back(i);
    }
    null_rows.assign(dropped.size() * tables.rows_count, 0.0);
    nearness.restart();
    return solver->analyse(w.jacobian.data(), w.active.data()) ? Status::success : Status::singular_position;
}

Status Accelerations::calc(double t, const double* q, const double* v, double alpha, double beta) {
    ++facts.evaluations;
    set_position(tables, q, w);
    set_velocity(tables, v, w);
    calc_jacobian_and_gamma(tables, t, w);
    calc_forces(tables, t, w);
    if (w.user_failed) return Status::user_error;
    ++facts.factorizations;
    if (!solver->factor(w.jacobian.data(), w.active.data())) return Status::singular_position;
    std::copy(w.force.begin(), w.force.end(), w.a.begin());
    std::copy(w.gamma.begin(), w.gamma.end(), w.lambda.begin());
    if (alpha != 0 || beta != 0) {
        calc_constraints(tables, t, w);
        calc_velocity_target(tables, t, w);
        std::fill(y.begin(), y.end(), 0.0);
        add_jacobian_times(tables, w.jacobian.data(), v, y.data());
        for (int i = 0; i < tables.rows_count; ++i)
            w.lambda[i] -= 2 * alpha * (y[i] - w.target[i]) + beta * beta * w.phi[i];
    }
    solve(w.a.data(), w.lambda.data());
    double sum = 0; // not finite exactly when an entry is not
    for (const double a : w.a) sum += a * 0.0;
    return sum == 0.0 ? Status::success : Status::not_finite;
}

// A dropped row d is a combination of active ones, J_d = c^T J: from [M J^T; J 0][x; c] = [J_d^T; 0], with x = 0. Then
// z = e_d - c spans the multipliers that do no work, and the shortest multipliers are orthogonal to all such z.
const double* Accelerations::calc_multipliers() {
    std::copy(w.lambda.begin(), w.lambda.end(), multipliers.begin());
    const std::size_t m = tables.rows_count, n = dropped.size();
    if (n == 0) return multipliers.data();
    for (std::size_t k = 0; k < n; ++k) {
        double* z = null_rows.data() + k * m;
        std::fill(z, z + m, 0.0);
        std::fill(x.begin(), x.end(), 0.0);
        std::fill(y.begin(), y.end(), 0.0);
        y[dropped[k]] = 1;
        add_transpose_times(tables, w.jacobian.data(), y.data(), x.data());
        y[dropped[k]] = 0;
        solve(x.data(), y.data());
        for (std::size_t i = 0; i < m; ++i) z[i] = -y[i];
        z[dropped[k]] += 1;
    }
    // modified Gram-Schmidt over the z, taking each direction out of the multipliers
    for (std::size_t k = 0; k < n; ++k) {
        double* z = null_rows.data() + k * m;
        for (std::size_t j = 0; j < k; ++j) {
            const double* e = null_rows.data() + j * m;
            double s = 0;
            for (std::size_t i = 0; i < m; ++i) s += e[i] * z[i];
            for (std::size_t i = 0; i < m; ++i) z[i] -= s * e[i];
        }
        double square = 0, s = 0;
        for (std::size_t i = 0; i < m; ++i) square += z[i] * z[i];
        const double inverse = square > 0 ? 1 / std::sqrt(square) : 0.0;
        for (std::size_t i = 0; i < m; ++i) z[i] *= inverse, s += z[i] * multipliers[i];
        for (std::size_t i = 0; i < m; ++i) multipliers[i] -= s * z[i];
    }
    return multipliers.data();
}

FormulationFacts Accelerations::calc_facts(const LinearSolver* other) const {
    FormulationFacts all = facts;
    for (const LinearSolver* s : {static_cast<const LinearSolver*>(solver.get()), other}) {
        if (!s) continue;
        all.analyses += s->facts().analyses;
        all.fallbacks += s->facts().fallbacks;
    }
    return all;
}

// Dropped rows follow from the others. Where they do not any more (the run has left a position with fewer independent
// rows, from which it began), their violation grows beyond that of the others; the drift of index 1 concerns all alike.
Status Accelerations::watch(double t, bool& rank_changed) {
    rank_changed = false;
    look(t);
    if (dropped.empty()) return Status::success;
    calc_constraints(tables, t, w);
    double violation = 0, drift = 0;
    for (int i = 0; i < tables.rows_count; ++i) {
        if (w.engaged[i] == 0.0) continue;
        double& largest = w.active[i] == 0.0 ? violation : drift;
        largest = std::max(largest, std::abs(w.phi[i]));
    }
    if (violation < 1e-8 || violation < 100 * drift) return Status::success;

    // look again which rows are dependent here, blind to what the drift makes of them
    found = w.active;
    const int old = rank;
    rank = find_active_rows(pattern, w.jacobian.data(), std::max(rank_tolerance, 10 * drift), w.active.data(),
                            w.engaged.data());
    if (rank <= old) { // this position is singular as well: keep the rows that held elsewhere
        w.active = found;
        rank = old;
        facts.dropped_violation = std::max(facts.dropped_violation, violation);
        return Status::success;
    }
    ++facts.rank_changes;
    rank_changed = true;
    return analyse();
}

} // namespace linkwork
