#include "step_size.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linkwork {

int count_weighted(const Tolerances& tolerances) {
    return static_cast<int>(std::count_if(tolerances.atol.begin(), tolerances.atol.end(),
                                          [](double atol) { return atol < std::numeric_limits<double>::infinity(); }));
}

Status calc_derivative(Implicit& ode, double t, const double* x, double* derivative) {
    const Status status = ode.calc_rate(t, x, derivative);
    if (status == Status::success && ode.has_mass()) ode.solve_mass(derivative);
    return status;
}

double calc_squared_norm(const Tolerances& tolerances, const double* error, const double* x0, const double* x1) {
    const auto size = tolerances.atol.size();
    std::size_t counted = 0;
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const double weight = tolerances.calc_weight(i, std::max(std::abs(x0[i]), std::abs(x1[i])));
        const double ratio = error[i] / weight;
        sum += ratio * ratio;
        counted += weight < std::numeric_limits<double>::infinity();
    }
    return counted == 0 ? 0 : sum / static_cast<double>(counted);
}

// [hairer] Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, section II.4, "starting step size":
// (a) h0 = 0.01 |x| / |x'|, (b) an explicit Euler step of h0 gives |x''|, (c) h1^order max(|x'|, |x''|) = 0.01.
Status find_first_step(Implicit& ode, const Tolerances& tolerances, int order, double t, double t_end, const double* x,
                       const double* rate, double* point, double* point_rate, double& h) {
    const int size = ode.size();
    const double span = std::abs(t_end - t), sign = t_end < t ? -1 : 1;
    const double state_size = std::sqrt(calc_squared_norm(tolerances, x, x, x));
    const double rate_size = std::sqrt(calc_squared_norm(tolerances, rate, x, x));
    if (!std::isfinite(rate_size) || !std::isfinite(state_size)) return Status::not_finite;
    h = state_size <= 1e-5 || rate_size <= 1e-5 ? 1e-6 : 0.01 * state_size / rate_size;
    h = std::min(h, span);

    // The Euler point may lie where the equations have no answer: come closer a few times, then do without it.
    Status status = Status::success;
    for (int trial = 0; trial < 8; ++trial) {
        for (int i = 0; i < size; ++i) point[i] = x[i] + sign * h * rate[i];
        status = calc_derivative(ode, t + sign * h, point, point_rate);
        if (status == Status::user_error) return status;
        if (status == Status::success) break;
        h *= 0.1;
    }
    if (status != Status::success) return Status::success;

    for (int i = 0; i < size; ++i) point_rate[i] -= rate[i];
    const double second = std::sqrt(calc_squared_norm(tolerances, point_rate, x, x)) / h;
    const double largest = std::max(second, rate_size);
    if (!std::isfinite(largest)) return Status::success;
    const double wanted = largest <= 1e-15 ? std::max(1e-6, 1e-3 * h) : std::pow(0.01 / largest, 1.0 / order);
    h = std::min({100 * h, wanted, span});
    return Status::success;
}

double calc_stiffness(Implicit& ode, double h, const double* rate_gap, const double* gap) {
    const int size = ode.size(), half = ode.second_order() ? size / 2 : 0;
    double rates = 0, gaps = 0;
    for (int i = 0; i < half; ++i) gaps += gap[i] * gap[i] / (h * h);
    for (int i = half; i < size; ++i) {
        rates += rate_gap[i] * rate_gap[i];
        gaps += gap[i] * gap[i];
    }
    return gaps > 0 ? std::abs(h) * std::sqrt(rates / gaps) : 0;
}

} // namespace linkwork
