#include "spectral_radius.hpp"

#include <algorithm>
#include <cmath>

namespace linkwork {

namespace {

constexpr int most_products = 8; // of the first question
constexpr double settled = 0.15; // relative change of the estimate from one pair of products to the next
constexpr double one_way = 0.7;  // cosine above which v and J J v point the same way, below minus which oppositely

double calc_norm(const double* x, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * x[i];
    return std::sqrt(sum);
}

double calc_dot(const double* x, const double* y, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

} // namespace

// image := J direction, |direction| = 1, by a difference over a part of the size of x: small enough for curvature,
// large enough for the round-off of stiff forces.
Status SpectralRadius::multiply(Ode& ode, double t, const double* x) {
    const int n = ode.size();
    const double step = 1e-7 * (1 + size_of_x_);
    for (int i = 0; i < n; ++i) moved_[i] = x[i] + step * direction_[i];
    const Status status = ode.calc_rate(t, moved_.data(), image_.data());
    if (status != Status::success) return status;
    for (int i = 0; i < n; ++i) image_[i] = (image_[i] - rate_[i]) / step;
    return status;
}

// With v_{k+1} = J v_k the two-step growth sqrt(|v_{k+2}| / |v_k|) tends to the largest |lambda| whether lambda is real
// (v_{k+2} = lambda^2 v_k) or one of a pair on the imaginary axis (v_{k+2} = -|lambda|^2 v_k); of a pair between them
// it stays near. One step would not do: in x = (y, y') the norm of J is that of the stiffness, not its root.
Status SpectralRadius::find(Ode& ode, double t, const double* x, Spectrum& spectrum) {
    spectrum = {};
    const int n = ode.size();
    const auto settle = [](Status status) { return status == Status::user_error ? status : Status::success; };
    Status status = ode.calc_rate(t, x, rate_.data());
    if (status != Status::success) return settle(status);
    size_of_x_ = calc_norm(x, n);
    if (!known_) // any direction that is not special
        for (int i = 0; i < n; ++i) direction_[i] = std::cos(1.0 + 2.4 * i * i);
    known_ = false;
    const double first_size = calc_norm(direction_.data(), n);
    for (int i = 0; i < n; ++i) direction_[i] /= first_size;

    double estimate = 0;
    for (int pair = 0; 2 * pair < most_products; ++pair) {
        // v, then u = J v, then w = J u, each but the last scaled to length 1
        status = multiply(ode, t, x);
        if (status != Status::success) return settle(status);
        const double growth = calc_norm(image_.data(), n);
        if (!(growth > 0) || !std::isfinite(growth)) return Status::success;
        const double turn = calc_dot(direction_.data(), image_.data(), n);
        std::swap(first_, direction_);
        for (int i = 0; i < n; ++i) direction_[i] = image_[i] / growth;
        status = multiply(ode, t, x);
        if (status != Status::success) return settle(status);
        const double growth_2 = calc_norm(image_.data(), n);
        if (!(growth_2 > 0) || !std::isfinite(growth_2)) return Status::success;
        const double before = estimate;
        estimate = std::sqrt(growth * growth_2);
        const double cosine = calc_dot(first_.data(), image_.data(), n) / growth_2;
        spectrum = {estimate, cosine > one_way && turn < 0};
        for (int i = 0; i < n; ++i) direction_[i] = image_[i] / growth_2;
        known_ = true;
        if (std::abs(estimate - before) <= settled * estimate) break;
    }
    return Status::success;
}

} // namespace linkwork
