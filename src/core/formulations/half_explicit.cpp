#include "half_explicit.hpp"

#include <algorithm>
#include <cmath>

#include "contraction.hpp"

namespace linkwork {

namespace {

constexpr double safety = 1e-3; // of the iteration's error against the tolerance of the step

} // namespace

HalfExplicitStages::HalfExplicitStages(Accelerations& engine)
    : tables(engine.tables), engine(engine), atol(tables.nv, 1e-6), force(tables.nv), upper(engine.w.jacobian.size()),
      lower(upper.size()), q_upper(tables.nq, std::nan("")), q_lower(tables.nq, std::nan("")), mean(upper.size()),
      difference(upper.size()), side(tables.rows_count), a(tables.nv), lambda(tables.rows_count), x(tables.nv),
      y(tables.rows_count) {}

void HalfExplicitStages::set_accuracy(double new_rtol, const double* new_atol) {
    rtol = new_rtol;
    std::copy_n(new_atol, tables.nv, atol.begin());
}

bool HalfExplicitStages::has_lower(const double* q) const { return std::equal(q_lower.begin(), q_lower.end(), q); }

Status HalfExplicitStages::open(double t, const double* q, const double* v) {
    ++engine.facts.evaluations;
    Workspace& w = engine.w;
    set_position(tables, q, w);
    set_velocity(tables, v, w);
    calc_forces(tables, t, w);
    if (w.user_failed) return Status::user_error;
    force = w.force;

    // the position where the last stage was closed is often the one where the next is opened
    if (has_lower(q)) {
        upper = lower;
    } else {
        calc_jacobian(tables, w);
        ++engine.facts.constraint_jacobians;
        upper = w.jacobian;
    }
    std::copy_n(q, tables.nq, q_upper.begin());
    return Status::success;
}

Status HalfExplicitStages::close(double t, const double* q, const double* v, double step, double* acceleration) {
    Workspace& w = engine.w;
    same = std::equal(q_upper.begin(), q_upper.end(), q);
    if (!has_lower(q)) {
        if (same) {
            lower = upper;
        } else {
            set_position(tables, q, w);
            calc_jacobian(tables, w);
            ++engine.facts.constraint_jacobians;
            lower = w.jacobian;
        }
        std::copy_n(q, tables.nq, q_lower.begin());
    }
    for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] = 0.5 * (upper[i] + lower[i]);
        difference[i] = 0.5 * (upper[i] - lower[i]);
    }
    calc_velocity_target(tables, t, w);
    std::fill(side.begin(), side.end(), 0.0);
    add_jacobian_times(tables, lower.data(), v, side.data());
    for (int i = 0; i < tables.rows_count; ++i) side[i] = (w.target[i] - side[i]) / step;

    ++engine.facts.factorizations;
    if (!engine.solver->factor(mean.data(), w.active.data())) return Status::singular_position;
    const Status status = find_acceleration(step, v);
    if (status == Status::success) {
        std::copy(a.begin(), a.end(), acceleration);
        return status;
    }
    // what did not converge is no guess
    std::fill(a.begin(), a.end(), 0.0);
    std::fill(lambda.begin(), lambda.end(), 0.0);
    return status;
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

// One solution with the mean; returns the largest change of s a in units of the tolerance.
double HalfExplicitStages::iterate(double step, const double* v) {
    std::copy(force.begin(), force.end(), x.begin());
    std::copy(side.begin(), side.end(), y.begin());
    if (!same) {
        // x = f - D^T lambda, y = side + D a
        for (double& l : lambda) l = -l;
        add_transpose_times(tables, difference.data(), lambda.data(), x.data());
        add_jacobian_times(tables, difference.data(), a.data(), y.data());
    }
    engine.solve(x.data(), y.data());
    double largest = 0, sum = 0; // the sum is not finite exactly when an entry is not
    for (int i = 0; i < tables.nv; ++i) {
        largest = std::max(largest, std::abs(step * (x[i] - a[i])) / (atol[i] + rtol * std::abs(v[i])));
        sum += x[i] * 0.0;
    }
    a.swap(x);
    lambda.swap(y);
    return sum == 0.0 ? largest : sum;
}

} // namespace linkwork
