#include "coordinate_projection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linkwork {

CoordinateProjection::CoordinateProjection(Accelerations& engine, const FormulationOptions& options)
    : tables(engine.tables), engine(engine), tolerance(options.position_tolerance),
      bearable(options.constraint_tolerance),
      extreme(bearable > 0 && options.refuse ? std::max(2 * bearable, std::sqrt(bearable))
                                             : std::numeric_limits<double>::infinity()),
      d(tables.nv), y(tables.rows_count) {}

Status CoordinateProjection::restore(double t, double* q, double* v, Change& change) {
    if (bearable > 0) {
        const double violation = calc_violation(t, q, v);
        if (violation <= bearable) return Status::success;
        if (!(violation <= extreme)) return Status::position_lost;
    }
    const Status status = project_position(t, q, change);
    if (status != Status::success) return status;
    project_velocity(t, v, change);
    if (change != Change::none) ++engine.facts.projections;
    return status;
}

// The largest of |Phi| and of |J v + Phi_t| times one second, of the active rows.
double CoordinateProjection::calc_violation(double t, const double* q, const double* v) {
    set_position(tables, q, engine.w);
    calc_constraints(tables, t, engine.w);
    calc_velocity_target(tables, t, engine.w);
    std::fill(y.begin(), y.end(), 0.0);
    add_jacobian_times(tables, engine.w.jacobian.data(), v, y.data());
    double largest = 0;
    for (int i = 0; i < tables.rows_count; ++i) {
        const double here = std::max(std::abs(engine.w.phi[i]), std::abs(y[i] - engine.w.target[i]));
        largest = std::max(largest, engine.w.active[i] * here);
    }
    return largest;
}

// Simplified Newton with the factorization of the accepted state: J d = -Phi, d shortest in the metric M.
Status CoordinateProjection::project_position(double t, double* q, Change& change) {
    double before = 0;
    for (int iteration = 0; iteration < 20; ++iteration) {
        set_position(tables, q, engine.w);
        calc_constraints(tables, t, engine.w);
        std::fill(d.begin(), d.end(), 0.0);
        for (int i = 0; i < tables.rows_count; ++i) y[i] = -engine.w.phi[i];
        ++engine.facts.position_iterations;
        engine.solve(d.data(), y.data());
        double largest = 0;
        for (const double s : d) largest = std::max(largest, std::abs(s));
        if (!std::isfinite(largest)) return Status::not_finite;
        if (iteration == 0 && largest < 1e-15) return Status::success;
        move(tables, d.data(), q);
        change = Change::small;
        if (largest < tolerance || (iteration > 2 && largest < 100 * tolerance && largest > 0.5 * before))
            return Status::success;
        before = largest;
    }
    return Status::position_lost;
}

// One correction with the factorization at hand and, where positions moved, one more with the new Jacobian.
void CoordinateProjection::project_velocity(double t, double* v, Change& change) {
    calc_jacobian(tables, engine.w);
    calc_velocity_target(tables, t, engine.w);
    for (int sweep = 0; sweep < 4; ++sweep) {
        std::fill(d.begin(), d.end(), 0.0);
        std::fill(y.begin(), y.end(), 0.0);
        add_jacobian_times(tables, engine.w.jacobian.data(), v, y.data());
        double largest = 0;
        for (int i = 0; i < tables.rows_count; ++i) {
            y[i] = engine.w.target[i] - y[i];
            largest = std::max(largest, engine.w.active[i] * std::abs(y[i]));
        }
        if (largest < tolerance) return;
        engine.solve(d.data(), y.data());
        for (int i = 0; i < tables.nv; ++i) v[i] += d[i];
        change = Change::small;
    }
}

void CoordinateProjection::project_direction(double* e) {
    std::fill(d.begin(), d.end(), 0.0);
    std::fill(y.begin(), y.end(), 0.0);
    add_mass_times(tables, e, d.data());
    engine.solve(d.data(), y.data());
    std::copy(d.begin(), d.end(), e);
}

} // namespace linkwork
