#include "half_explicit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "contraction.hpp"

namespace linkwork {

namespace {

constexpr double safety = 1e-3; // of the iteration's error against the tolerance of the step

} // namespace

HalfExplicitStages::HalfExplicitStages(Accelerations& engine)
    : tables(engine.tables), engine(engine), atol(tables.nv, 1e-6), force(tables.nv), velocity(tables.nv),
      mean(engine.w.jacobian.size()), difference(mean.size()), side(tables.rows_count), a(tables.nv),
      lambda(tables.rows_count), x(tables.nv), y(tables.rows_count) {
    for (Evaluated* e : {&upper, &lower, &previous, &first})
        e->q.assign(tables.nq, std::nan("")), e->jacobian.resize(mean.size());
}

void HalfExplicitStages::set_accuracy(double new_rtol, const double* new_atol) {
    rtol = new_rtol;
    std::copy_n(new_atol, tables.nv, atol.begin());
}

// J at q, whose poses are left in the workspace.
void HalfExplicitStages::evaluate(const double* q, Evaluated& e) {
    set_position(tables, q, engine.w);
    calc_jacobian(tables, engine.w);
    ++engine.facts.constraint_jacobians;
    std::copy_n(q, tables.nq, e.q.begin());
    std::copy(engine.w.jacobian.begin(), engine.w.jacobian.end(), e.jacobian.begin());
}

Status HalfExplicitStages::open(double t, const double* q, const double* v) {
    ++engine.facts.evaluations;
    Workspace& w = engine.w;
    factored = false;
    // the position where the last stage was closed is often the one where the next is opened
    std::swap(previous, upper);
    if (lower.is_at(q)) {
        std::swap(upper, lower);
        set_position(tables, q, w);
    } else {
        evaluate(q, upper);
    }
    set_velocity(tables, v, w);
    calc_forces(tables, t, w);
    if (w.user_failed) return Status::user_error;
    std::copy(w.force.begin(), w.force.end(), force.begin());
    std::copy_n(v, tables.nv, velocity.begin());
    return Status::success;
}

Status HalfExplicitStages::close(double t, const double* q, const double* v, double step, double* acceleration) {
    Workspace& w = engine.w;
    same = upper.is_at(q);
    if (!same && !lower.is_at(q)) evaluate(q, lower);
    const std::vector<double>&above = upper.jacobian, &below = same ? above : lower.jacobian;
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = 0.5 * (above[i] + below[i]);
    calc_velocity_target(tables, t, w);
    std::fill(side.begin(), side.end(), 0.0);
    add_jacobian_times(tables, below.data(), v, side.data());
    for (int i = 0; i < tables.rows_count; ++i) side[i] = (w.target[i] - side[i]) / step;

    ++engine.facts.factorizations;
    factored = false;
    if (!engine.solver->factor(mean.data(), w.active.data())) return Status::singular_position;
    const Status status = find_acceleration(step, v);
    if (status == Status::success) {
        std::copy(a.begin(), a.end(), acceleration);
        return status;
    }
    restart(); // what did not converge is no guess
    return status;
}

void HalfExplicitStages::restart() {
    factored = false;
    std::fill(a.begin(), a.end(), 0.0);
    std::fill(lambda.begin(), lambda.end(), 0.0);
}

// J of the point before the opened stage: of the stage itself where a chain begins, else of the one opened before it.
const std::vector<double>& HalfExplicitStages::find_before(const double* q) {
    if (upper.is_at(q)) {
        if (!first.is_at(q)) first = upper;
        return upper.jacobian;
    }
    for (const Evaluated* e : {&previous, &first})
        if (e->is_at(q)) return e->jacobian;
    evaluate(q, previous);
    return previous.jacobian;
}

Status HalfExplicitStages::close_between(double t0, const double* q0, double t1, const double* q1,
                                         double* acceleration) {
    Workspace& w = engine.w;
    const std::vector<double>& before = find_before(q0);
    if (!lower.is_at(q1)) evaluate(q1, lower);
    // side = -(J1 - J0) v - (Phi_t(t1) - Phi_t(t0))
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = before[i] - lower.jacobian[i];
    calc_velocity_target(tables, t1, w);
    std::copy(w.target.begin(), w.target.end(), side.begin());
    calc_velocity_target(tables, t0, w);
    for (int i = 0; i < tables.rows_count; ++i) side[i] -= w.target[i];
    add_jacobian_times(tables, difference.data(), velocity.data(), side.data());

    if (!factored) {
        ++engine.facts.factorizations;
        if (!engine.solver->factor(upper.jacobian.data(), w.active.data())) return Status::singular_position;
        factored = true;
    }
    std::copy(force.begin(), force.end(), acceleration);
    for (int i = 0; i < tables.rows_count; ++i) y[i] = side[i] / (t1 - t0);
    engine.solve(acceleration, y.data());
    double sum = 0; // not finite exactly when an entry is not
    for (int i = 0; i < tables.nv; ++i) sum += acceleration[i] * 0.0;
    return sum == 0.0 ? Status::success : Status::not_finite;
}

Status HalfExplicitStages::find_acceleration(double step, const double* v) {
    Contraction contraction;
    for (;;) {
        const double size = iterate(step, v);
        if (!std::isfinite(size)) return Status::not_finite;
        if (same) return Status::success;
        const auto verdict = contraction.next(size, safety);
        if (verdict == Contraction::done) return Status::success;
        if (verdict == Contraction::lost || contraction.theta > 2) return Status::no_convergence;
    }
}

// The first solution, or a correction of both unknowns with the mean; returns the largest change of s a in units of the
// tolerance.
double HalfExplicitStages::iterate(double step, const double* v) {
    double largest = 0, sum = 0; // the sum is not finite exactly when an entry is not
    if (same) {
        std::copy(force.begin(), force.end(), a.begin());
        std::copy(side.begin(), side.end(), lambda.begin());
        engine.solve(a.data(), lambda.data());
    } else {
        // the residuals x = f - M a - J^T lambda, y = side - J* a
        std::fill(x.begin(), x.end(), 0.0);
        for (int i = 0; i < tables.rows_count; ++i) y[i] = -side[i];
        add_mass_times(tables, a.data(), x.data());
        add_transpose_times(tables, upper.jacobian.data(), lambda.data(), x.data());
        add_jacobian_times(tables, lower.jacobian.data(), a.data(), y.data());
        for (int i = 0; i < tables.nv; ++i) x[i] = force[i] - x[i];
        for (double& residual : y) residual = -residual;
        ++engine.facts.linear_solves;
        engine.solver->solve_unrefined(x.data(), y.data());
        for (int i = 0; i < tables.nv; ++i) {
            a[i] += x[i];
            largest = std::max(largest, std::abs(step * x[i]) / (atol[i] + rtol * std::abs(v[i])));
        }
        for (int i = 0; i < tables.rows_count; ++i) lambda[i] += y[i];
    }
    for (const double c : a) sum += c * 0.0;
    return sum == 0.0 ? largest : sum;
}

} // namespace linkwork
