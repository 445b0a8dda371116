#include "reduced.hpp"

#include <algorithm>

namespace linkwork {

void ReducedJacobians::take_column(const std::vector<double>& wide, int columns, int j,
                                   std::vector<double>& column) const {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = wide[i * columns + j];
}

Status ReducedJacobians::calc(double t, ChartMap& chart, Accelerations& engine, int n, ImplicitSolver::Matrix& J1,
                              ImplicitSolver::Matrix& J2) {
    const Tables& tables = engine.tables;
    const std::size_t nv = tables.nv, m = tables.rows_count;
    d.resize(nv * n), u.resize(nv * n), force.resize(nv * n), rows.resize(m * n), gamma.resize(m * n);
    column_d.resize(nv), column_u.resize(nv), b.resize(nv), y.resize(m), rates.resize(n), zero.assign(nv, 0.0);

    slopes.calc(tables, t, engine.w);
    if (engine.w.user_failed) return Status::user_error;
    const Status status = chart.calc_tangents(d.data());
    if (status != Status::success) return status;

    // u: velocities follow the displacement at constant y'
    std::fill(rows.begin(), rows.end(), 0.0);
    add_jacobian_times(tables, slopes.Jv_q.data(), d.data(), rows.data(), n);
    for (int j = 0; j < n; ++j) {
        take_column(d, n, j, column_d);
        chart.calc_rate_slope(column_d.data(), rates.data());
        for (std::size_t i = 0; i < m; ++i) y[i] = -rows[i * n + j];
        for (double& r : rates) r = -r;
        chart.solve_velocity(y.data(), rates.data(), column_u.data());
        for (std::size_t i = 0; i < nv; ++i) u[i * n + j] = column_u[i];
    }

    // accelerations answer to displacement and velocity (J1), then to velocity alone (J2)
    const auto solve_columns = [&](const std::vector<double>& velocity, bool displaced, ImplicitSolver::Matrix& J) {
        std::fill(force.begin(), force.end(), 0.0);
        std::fill(gamma.begin(), gamma.end(), 0.0);
        slopes.add_damping_times(velocity.data(), force.data(), n);
        add_jacobian_times(tables, slopes.H.data(), velocity.data(), gamma.data(), n);
        if (displaced) {
            slopes.add_stiffness_times(d.data(), force.data(), n);
            add_jacobian_times(tables, slopes.G.data(), d.data(), gamma.data(), n);
        }
        for (int j = 0; j < n; ++j) {
            take_column(force, n, j, b);
            take_column(gamma, n, j, y);
            engine.solve(b.data(), y.data());
            take_column(d, n, j, column_d);
            take_column(velocity, n, j, column_u);
            chart.calc_acceleration_slope(displaced ? column_d.data() : zero.data(), column_u.data(), b.data(),
                                          J.col(j).data());
        }
    };
    solve_columns(u, true, J1);
    solve_columns(d, false, J2);
    return Status::success;
}

} // namespace linkwork
