#include "coordinate_projection.hpp"

#include <algorithm>
#include <cmath>

namespace linkwork {

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
