// BDF: the numerical differentiation formulas of orders 1 to 5 on backward differences, of variable order and
// quasi-constant step: L. F. Shampine, M. W. Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997) 1-22,
// section 2 [sr].
//
// With D_j the backward differences of the past x of step h, the predictor p = sum_{j<=k} D_j, d = x_{n+1} - p, which
// is the difference of order k+1 at the new point, and gamma_j = sum_{l<=j} 1/l, one step solves [sr (3)]
//   (1 - kappa_k) gamma_k d + sum_{j<=k} gamma_j D_j = h f(t_{n+1}, p + d),
// where kappa lowers the error constant of BDF (kappa = 0) at a small price in stability: A(89 deg) at order 2, A(80),
// A(66), A(51) at orders 3 to 5. The error is (kappa_k gamma_k + 1/(k+1)) d. The step is kept as long as it may be: a
// new one needs a new factorization, differences of the new step, and k+1 equal steps before orders can be compared.
#include <algorithm>
#include <array>
#include <limits>

#include "implicit.hpp"
#include "newton.hpp"
#include "step_size.hpp"

namespace linkwork {

namespace {

constexpr int rows = bdf_max_order + 3; // D_0 .. D_{k+2}
using Row = std::array<double, bdf_max_order + 1>;

constexpr Row kappa{0, -37.0 / 200, -1.0 / 9, -0.0823, -0.0415, 0};
constexpr Row gamma{0, 1, 3.0 / 2, 11.0 / 6, 25.0 / 12, 137.0 / 60};

constexpr double calc_alpha(int k) { return (1 - kappa[k]) * gamma[k]; }
constexpr double calc_error_constant(int k) { return kappa[k] * gamma[k] + 1.0 / (k + 1); }

// ode15s: the error asked of a new step, 1.2 times below the tolerance at the present order, more at the others
constexpr double caution = 1.2, caution_below = 1.3, caution_above = 1.4;
constexpr int most_iterations = 4, fixed_iterations = 30;
constexpr int oldest_linearization = 20; // in steps, where a new factorization is due anyway

class Bdf final : public Integrator {
public:
    Bdf(int size, const Tolerances& tolerances, int max_order, bool keep_jacobian)
        : size_(size), max_order_(max_order), tolerances_(tolerances), scale_(tolerances),
          newton_({most_iterations, calc_newton_tolerance(tolerances), false, 0}), linearization_(keep_jacobian),
          candidate_(size), sum_(size), d_(size), work_(size), gap_(size), mass_(size),
          past_(static_cast<std::size_t>(rows) * size) {}

    Status start(Implicit& ode, double t, const double* x, double t_end, double& h) override;
    Attempt attempt(Implicit& ode, double h, bool fixed) override;
    Status interpolate(Implicit& ode, double t, double* x) override;
    double* candidate() override { return candidate_.data(); }
    Status accept(Implicit& ode, bool changed, double& next) override;
    double t() const override { return t_; }
    const double* x() const override { return past_.data(); }
    int order() const override { return k_; }
    bool has_history() const override { return true; }
    IntegratorFacts facts() const override { return linearization_.facts; }

private:
    double* past(int j) { return past_.data() + static_cast<std::size_t>(j) * size_; }
    void change_step(double h);
    void predict();
    Status solve(Implicit& ode);
    double calc_error(int order, const double* difference) const;
    double propose_retry(double error);
    double find_next_step();

    const int size_, max_order_;
    const Tolerances tolerances_;
    ErrorScale scale_;
    Convergence newton_;
    Linearization linearization_;
    std::vector<double> candidate_;
    std::vector<double> sum_;        // sum_{1 <= j <= k} gamma_j D_j
    std::vector<double> d_;          // x_{n+1} - p
    std::vector<double> work_;       // residual and correction
    std::vector<double> gap_, mass_; // x' of the formula, and B times it
    std::vector<double> past_;       // [rows * size] D_j
    double t_ = 0, h_ = 0;           // h_: the step of D
    double eta_ = 1, error_ = 0;
    int k_ = 1;
    int equal_steps_ = 0; // accepted at this order and step
    bool failed_ = false, fixed_ = false;
};

Status Bdf::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    std::fill(past_.begin(), past_.end(), 0.0);
    std::copy(x, x + size_, past(0));
    t_ = t;
    k_ = 1;
    equal_steps_ = 0;
    failed_ = false;
    eta_ = 1;
    linearization_.forget();
    scale_.place(x);
    Status status = calc_derivative(ode, t_, x, past(1));
    if (status == Status::success && h == 0)
        status = find_first_step(ode, tolerances_, 2, t_, t_end, past(0), past(1), candidate_.data(), work_.data(), h);
    if (status != Status::success) return status;
    h_ = t_end < t ? -h : h;
    for (int i = 0; i < size_; ++i) past(1)[i] *= h_;
    return status;
}

Attempt Bdf::attempt(Implicit& ode, double h, bool fixed) {
    Attempt result;
    fixed_ = fixed;
    if (h != h_) change_step(h);
    ode.set_scale(scale_.inverse(), solution_accuracy, 0);
    newton_.allow(fixed ? fixed_iterations : most_iterations, ode.has_mass());
    predict();
    result.status = solve(ode);
    if (result.status == Status::no_convergence && !linearization_.is_current()) {
        linearization_.distrust();
        predict();
        result.status = solve(ode);
    }
    result.next = std::min(0.5, newton_.shorter()) * std::abs(h);
    if (result.status == Status::no_convergence) ++linearization_.facts.convergence_failures;
    if (result.status != Status::success) return result;
    result.error = error_ = calc_error(k_, d_.data());
    result.next = std::abs(h);
    if (!std::isfinite(result.error))
        result.status = Status::not_finite;
    else if (result.error > 1 && !fixed)
        result.next = propose_retry(result.error);
    return result;
}

// Differences of the step h from those of h_, by values of the polynomial through the past points [sr section 2.1]:
//   p(t_n + s h_) = sum_i r_i(s) D_i, r_i(s) = s (s+1) ... (s+i-1) / i!,  D'_j = sum_m (-1)^m binom(j, m) p(t_n - m h).
void Bdf::change_step(double h) {
    const double factor = h / h_;
    double change[bdf_max_order + 1][bdf_max_order + 1] = {}; // D'_j = sum_i change_ij D_i
    for (int m = 0; m <= k_; ++m) {
        double value = 1; // r_i(-m factor)
        for (int i = 0; i <= k_; ++i) {
            if (i > 0) value *= (i - 1 - m * factor) / i;
            double weight = 1; // (-1)^m binom(j, m) = r_m(-j)
            for (int j = m; j <= k_; ++j) {
                weight = 1;
                for (int l = 1; l <= m; ++l) weight *= static_cast<double>(l - 1 - j) / l;
                change[i][j] += value * weight;
            }
        }
    }
    for (int n = 0; n < size_; ++n) {
        double before[bdf_max_order + 1];
        for (int i = 0; i <= k_; ++i) before[i] = past(i)[n];
        for (int j = 1; j <= k_; ++j) { // D_0 stays
            double sum = 0;
            for (int i = 1; i <= k_; ++i) sum += change[i][j] * before[i];
            past(j)[n] = sum;
        }
    }
    h_ = h;
    equal_steps_ = 0;
}

void Bdf::predict() {
    std::copy(past(0), past(0) + size_, candidate_.data());
    std::fill(sum_.begin(), sum_.end(), 0.0);
    std::fill(d_.begin(), d_.end(), 0.0);
    for (int j = 1; j <= k_; ++j) {
        const double* difference = past(j);
        for (int i = 0; i < size_; ++i) {
            candidate_[i] += difference[i];
            sum_[i] += gamma[j] * difference[i];
        }
    }
}

// Newton: (alpha_k / h B - J) correction = f(t_{n+1}, x_{n+1}) - B (alpha_k d + sum) / h. With another c the rate of
// before says nothing: two iterations are needed to see whether they lead anywhere. Nor does convergence say all: with
// a J that was much larger where it comes from, all corrections are small, whatever is left. So J is renewed in time.
Status Bdf::solve(Implicit& ode) {
    const double c = calc_alpha(k_) / h_;
    if (!linearization_.is_factored(c)) {
        eta_ = std::numeric_limits<double>::infinity();
        if (linearization_.age() > oldest_linearization) linearization_.distrust();
    }
    Status status = linearization_.prepare(ode, t_, past(0), c);
    newton_.begin(eta_, 0);
    for (Iteration iteration = Iteration::go_on; status == Status::success && iteration != Iteration::converged;) {
        status = ode.calc_rate(t_ + h_, candidate_.data(), work_.data());
        if (status != Status::success) return status;
        for (int i = 0; i < size_; ++i) gap_[i] = c * d_[i] + sum_[i] / h_;
        const double* gap = calc_mass_times(ode, gap_.data(), mass_);
        for (int i = 0; i < size_; ++i) work_[i] -= gap[i];
        ode.solve(work_.data());
        ++linearization_.facts.iterations;
        iteration = newton_.judge(scale_.calc_norm(work_.data()), scale_.roundoff());
        if (iteration == Iteration::failed) return Status::no_convergence;
        for (int i = 0; i < size_; ++i) {
            d_[i] += work_[i];
            candidate_[i] += work_[i];
        }
    }
    if (status == Status::success) eta_ = newton_.eta();
    return status;
}

double Bdf::calc_error(int order, const double* difference) const {
    const double square = calc_squared_norm(tolerances_, difference, past_.data(), candidate_.data());
    return calc_error_constant(order) * std::sqrt(square);
}

// At the first failure the step the error asks for, at one order lower if that is larger; after that half of it.
double Bdf::propose_retry(double error) {
    const double h = std::abs(h_);
    if (failed_) return 0.5 * h;
    failed_ = true;
    double next = h * std::max(0.1, std::pow(error, -1.0 / (k_ + 1)) / caution);
    if (k_ == 1) return next;
    for (int i = 0; i < size_; ++i) work_[i] = past(k_)[i] + d_[i];
    const double lower = h * std::max(0.1, std::pow(calc_error(k_ - 1, work_.data()), -1.0 / k_) / caution_below);
    if (lower <= next) return next;
    --k_;
    equal_steps_ = 0;
    return std::min(h, lower);
}

// Newton's interpolation backwards from t_{n+1}: x = x_{n+1} + sum_{1 <= j <= k} r_j(s) D'_j with s = (t - t_{n+1}) / h
// and the differences at the new point, D'_j = sum_{j <= i <= k} D_i + d.
Status Bdf::interpolate(Implicit&, double t, double* x) {
    const double s = (t - t_ - h_) / h_;
    std::copy(candidate_.begin(), candidate_.end(), x);
    double basis = 1, weight = 0;
    for (int j = 1; j <= k_; ++j) {
        basis *= (s + j - 1) / j;
        weight += basis;
        const double* difference = past(j);
        for (int i = 0; i < size_; ++i) x[i] += weight * difference[i];
    }
    for (int i = 0; i < size_; ++i) x[i] += weight * d_[i];
    return Status::success;
}

// A small correction by the driver moves the whole past: the differences do not see it.
Status Bdf::accept(Implicit&, bool, double& next) {
    t_ += h_;
    double *beyond = past(k_ + 2), *highest = past(k_ + 1);
    for (int i = 0; i < size_; ++i) {
        beyond[i] = d_[i] - highest[i];
        highest[i] = d_[i];
    }
    for (int j = k_; j >= 1; --j) {
        const double* above = past(j + 1);
        double* now = past(j);
        for (int i = 0; i < size_; ++i) now[i] += above[i];
    }
    std::copy(candidate_.begin(), candidate_.end(), past(0));
    scale_.place(past(0));
    linearization_.grow_old(true);
    failed_ = false;
    ++equal_steps_;
    next = find_next_step();
    return Status::success;
}

// Once there are k + 2 equal steps: the order that allows the longest step, and that step if it is longer.
double Bdf::find_next_step() {
    const double h = std::abs(h_);
    if (equal_steps_ < k_ + 2) return h;
    const auto calc_growth = [](double error, double power, double care) {
        return std::min(10.0, std::pow(std::max(error, 1e-30), -1 / power) / care);
    };
    double growth = calc_growth(error_, k_ + 1, caution);
    int order = k_;
    if (k_ > 1) {
        const double lower = calc_growth(calc_error(k_ - 1, past(k_)), k_, caution_below);
        if (lower > growth) growth = lower, order = k_ - 1;
    }
    if (k_ < max_order_) {
        const double higher = calc_growth(calc_error(k_ + 1, past(k_ + 2)), k_ + 2, caution_above);
        if (higher > growth) growth = higher, order = k_ + 1;
    }
    if (growth <= 1 && !fixed_) return h;
    if (order != k_) equal_steps_ = 0;
    k_ = order;
    return fixed_ ? h : growth * h;
}

} // namespace

std::unique_ptr<Integrator> build_bdf(int size, const Tolerances& tolerances, int max_order, bool keep_jacobian) {
    return std::make_unique<Bdf>(size, tolerances, max_order, keep_jacobian);
}

} // namespace linkwork
