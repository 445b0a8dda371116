#include "reduced.hpp"

#include <algorithm>

namespace linkwork {

namespace {

// to (columns x rows) = from (rows x columns) transposed
void transpose(const std::vector<double>& from, std::size_t rows, std::size_t columns, std::vector<double>& to) {
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}

} // namespace

Status ReducedJacobians::calc(double t, ChartMap& chart, Accelerations& engine, int n, ImplicitSolver::Matrix& J1,
                              ImplicitSolver::Matrix& J2) {
    const Tables& tables = engine.tables;
    const std::size_t nv = tables.nv, m = tables.rows_count;
    for (auto* values : {&d, &u, &b, &wide_d, &wide_u, &force}) values->resize(nv * n);
    for (auto* values : {&y, &gamma}) values->resize(m * n);
    rates.resize(static_cast<std::size_t>(n) * n);
    zero.assign(nv, 0.0);

    slopes.calc(tables, t, engine.w);
    if (engine.w.user_failed) return Status::user_error;
    const Status status = chart.calc_tangents(d.data());
    if (status != Status::success) return status;
    transpose(d, n, nv, wide_d);

    // u: velocities follow the displacement at constant y'
    std::fill(gamma.begin(), gamma.end(), 0.0);
    add_jacobian_times(tables, slopes.Jv_q.data(), wide_d.data(), gamma.data(), n);
    transpose(gamma, m, n, y);
    for (double& s : y) s = -s;
    for (int j = 0; j < n; ++j)
        chart.calc_rate_slope(d.data() + j * nv, rates.data() + static_cast<std::size_t>(j) * n);
    for (double& s : rates) s = -s;
    chart.solve_velocity(y.data(), rates.data(), u.data());
    transpose(u, n, nv, wide_u);

    // accelerations answer to displacement and velocity (J1), then to velocity alone (J2)
    const auto solve_columns = [&](bool displaced, ImplicitSolver::Matrix& J) {
        const std::vector<double>& wide_velocity = displaced ? wide_u : wide_d;
        const std::vector<double>& velocity = displaced ? u : d;
        std::fill(force.begin(), force.end(), 0.0);
        std::fill(gamma.begin(), gamma.end(), 0.0);
        slopes.add_damping_times(wide_velocity.data(), force.data(), n);
        add_jacobian_times(tables, slopes.H.data(), wide_velocity.data(), gamma.data(), n);
        if (displaced) {
            slopes.add_stiffness_times(wide_d.data(), force.data(), n);
            add_jacobian_times(tables, slopes.G.data(), wide_d.data(), gamma.data(), n);
        }
        transpose(force, nv, n, b);
        transpose(gamma, m, n, y);
        engine.solve_many(b.data(), y.data(), n);
        for (int j = 0; j < n; ++j)
            chart.calc_acceleration_slope(displaced ? d.data() + j * nv : zero.data(), velocity.data() + j * nv,
                                          b.data() + j * nv, J.col(j).data());
    };
    solve_columns(true, J1);
    solve_columns(false, J2);
    return Status::success;
}

} // namespace linkwork
