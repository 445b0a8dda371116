#include "low_order_formulas.hpp"

#include <stdexcept>

namespace linkwork {

MultistepFormula build_backward_differences(double share, double h, double h1, double h2) {
    // distances of the past points from t_{n+1}
    const double d0 = h, d1 = h + h1, d2 = d1 + h2;
    MultistepFormula f;
    // weights of x_{n+1}, x_n, .. in the divided differences, times h, h, share h (h + h_1)
    const double second = d0, third = share * d0 * d1;
    const double lead = 1 / d0 + second / (d0 * d1) + (share != 0 ? third / (d0 * d1 * d2) : 0);
    double weights[3] = {-1 / d0 - second / (d0 * (d1 - d0)), second / (d1 * (d1 - d0)), 0};
    if (share != 0) {
        weights[0] -= third / (d0 * (d1 - d0) * (d2 - d0));
        weights[1] += third / (d1 * (d1 - d0) * (d2 - d1));
        weights[2] -= third / (d2 * (d2 - d0) * (d2 - d1));
    }
    for (int k = 0; k < 3; ++k) f.known.past[k] = -weights[k] / lead;
    f.implicit = 1 / lead;
    f.known.defect = f.implicit * (1 - share) * d0 * d1;
    return f;
}

MultistepFormula build_trapezoidal(double h) {
    MultistepFormula f;
    f.known.past[0] = 1;
    f.known.rate = f.implicit = 0.5 * h;
    f.known.defect = 0.5 * h * h * h;
    return f;
}

Combination predict_from_three(double h, double h1, double h2) {
    const double d0 = h, d1 = h + h1, d2 = d1 + h2;
    Combination p;
    p.past[0] = d1 * d2 / ((d1 - d0) * (d2 - d0));
    p.past[1] = -d0 * d2 / ((d1 - d0) * (d2 - d1));
    p.past[2] = d0 * d1 / ((d2 - d0) * (d2 - d1));
    p.defect = d0 * d1 * d2;
    return p;
}

// x_n + h x'_n + h^2 x[n, n, n-1] with x[n, n, n-1] = (x'_n - (x_n - x_{n-1}) / h_1) / h_1
Combination predict_from_two(double h, double h1) {
    const double r = h / h1;
    Combination p;
    p.past[0] = 1 - r * r;
    p.past[1] = r * r;
    p.rate = h * (1 + r);
    p.defect = h * h * (h + h1);
    return p;
}

NewmarkFormula build_hht(double alpha) { return {0, -alpha, 0.25 * (1 - alpha) * (1 - alpha), 0.5 - alpha}; }

NewmarkFormula build_generalized_alpha(double rho) {
    NewmarkFormula f;
    f.alpha_m = (2 * rho - 1) / (rho + 1);
    f.alpha_f = rho / (rho + 1);
    f.gamma = 0.5 - f.offset();
    f.beta = 0.25 * (1 - f.offset()) * (1 - f.offset());
    return f;
}

NewmarkFormula build_newmark_formula(const std::string& name, const IntegratorOptions& options) {
    if (name == "hht") {
        if (!(options.alpha >= -1.0 / 3 && options.alpha <= 0))
            throw std::invalid_argument("hht has no alpha = " + std::to_string(options.alpha) +
                                        ": take a number from -1/3 (the most damping) to 0 (none)");
        return build_hht(options.alpha);
    }
    if (!(options.rho >= 0 && options.rho <= 1))
        throw std::invalid_argument("generalized_alpha has no rho = " + std::to_string(options.rho) +
                                    ": take a number from 0 (the most damping) to 1 (none)");
    return build_generalized_alpha(options.rho);
}

} // namespace linkwork
