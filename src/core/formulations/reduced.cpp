#include "reduced.hpp"

#include <algorithm>

namespace linkwork {

namespace {

// Vectors one after the other (n x length) to and from rows of `stride` numbers (length x stride), zeros behind the
// n-th.
void spread(const std::vector<double>& vectors, std::size_t n, std::size_t length, std::size_t stride,
            std::vector<double>& wide) {
    for (std::size_t j = 0; j < length; ++j)
        for (std::size_t i = 0; i < stride; ++i) wide[j * stride + i] = i < n ? vectors[i * length + j] : 0.0;
}
void gather(const std::vector<double>& wide, std::size_t n, std::size_t length, std::size_t stride, double factor,
            std::vector<double>& vectors) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < length; ++j) vectors[i * length + j] = factor * wide[j * stride + i];
}

} // namespace

Status ReducedJacobians::calc(double t, ChartMap& chart, Accelerations& engine, int n, ImplicitSolver::Matrix& J1,
                              ImplicitSolver::Matrix& J2) {
    const Tables& tables = engine.tables;
    const std::size_t nv = tables.nv, m = tables.rows_count;
    const std::size_t stride = (n + 7) / 8 * 8; // whole registers
    const int columns = static_cast<int>(stride);
    for (auto* values : {&d, &u, &b}) values->resize(nv * n);
    for (auto* values : {&wide_d, &wide_u, &force}) values->resize(nv * stride);
    y.resize(m * n);
    gamma.resize(m * stride);
    rates.resize(static_cast<std::size_t>(n) * n);

    zero.assign(nv, 0.0);

    Status status = chosen.calc(t, engine);
    if (status != Status::success) return status;
    status = chart.calc_tangents(d.data());
    if (status != Status::success) return status;
    spread(d, n, nv, stride, wide_d);

    // u: velocities follow the displacement at constant y'
    std::fill(gamma.begin(), gamma.end(), 0.0);
    add_jacobian_times(tables, slopes.Jv_q.data(), wide_d.data(), gamma.data(), columns);
    gather(gamma, n, m, stride, -1.0, y);
    for (int j = 0; j < n; ++j)
        chart.calc_rate_slope(d.data() + j * nv, rates.data() + static_cast<std::size_t>(j) * n);
    for (double& s : rates) s = -s;
    chart.solve_velocity(y.data(), rates.data(), u.data());
    spread(u, n, nv, stride, wide_u);

    // accelerations answer to displacement and velocity (J1), then to velocity alone (J2)
    const auto solve_columns = [&](bool displaced, ImplicitSolver::Matrix& J) {
        const std::vector<double>& wide_velocity = displaced ? wide_u : wide_d;
        const std::vector<double>& velocity = displaced ? u : d;
        std::fill(force.begin(), force.end(), 0.0);
        std::fill(gamma.begin(), gamma.end(), 0.0);
        slopes.add_damping_times(wide_velocity.data(), force.data(), columns);
        add_jacobian_times(tables, slopes.H.data(), wide_velocity.data(), gamma.data(), columns);
        if (displaced) {
            slopes.add_stiffness_times(wide_d.data(), force.data(), columns);
            add_jacobian_times(tables, slopes.G.data(), wide_d.data(), gamma.data(), columns);
        }
        gather(force, n, nv, stride, 1.0, b);
        gather(gamma, n, m, stride, 1.0, y);
        engine.solve_many(b.data(), y.data(), n);
        chart.calc_acceleration_slopes(n, nv, displaced ? d.data() : zero.data(), displaced ? nv : 0, velocity.data(),
                                       b.data(), J);
    };
    solve_columns(true, J1);
    solve_columns(false, J2);
    return Status::success;
}

} // namespace linkwork
