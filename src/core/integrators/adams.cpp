// Adams-Bashforth-Moulton formulas of order 1 to 12 in PECE form with local extrapolation, on modified divided
// differences: L. F. Shampine, M. K. Gordon, Computer Solution of Ordinary Differential Equations, Freeman 1975,
// chapters 5 to 10 [sg].
//
// With h = h_{n+1} and psi_i(n+1) = t_{n+1} - t_{n+1-i} the method keeps phi_i(n), i = 1..k+1, the divided differences
// of the past rates times psi_1(n) ... psi_{i-1}(n). One step of order k [sg chapter 5]:
//   alpha_i = h / psi_i(n+1)      beta_i = prod_{j<i} psi_j(n+1) / psi_j(n)      sigma_{i+1} = i alpha_i sigma_i
//   phi*_i = beta_i phi_i(n)      p = x_n + h sum_{i<=k} g_i phi*_i              e_i = phi*_i + e_{i+1}, e_{k+1} = 0
//   x_{n+1} = p + h g_{k+1} (f(p) - e_1)                                         phi_i(n+1) = e_i + (f(x_{n+1}) - e_1)
// e_i are the differences that the predicting polynomial would have at t_{n+1}; g_i = int_0^1 c_i(s) ds over its basis
//   c_1 = 1, c_i(s) = c_{i-1}(s) (1 - alpha_{i-1} (1 - s)).
#include "adams.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "step_size.hpp"

namespace linkwork {

namespace {

// |gamma*_k|, the error constants of the Adams-Moulton formulas of constant step: gamma*_k = -sum_{j<k} gamma*_j / (k +
// 1 - j)
constexpr std::array<double, adams_max_order + 2> calc_error_constants() {
    std::array<double, adams_max_order + 2> signed_constants{1}, sizes{1};
    for (int k = 1; k < static_cast<int>(sizes.size()); ++k) {
        double sum = 0;
        for (int j = 0; j < k; ++j) sum -= signed_constants[j] / (k + 1 - j);
        signed_constants[k] = sum;
        sizes[k] = sum < 0 ? -sum : sum;
    }
    return sizes;
}
constexpr auto error_constant = calc_error_constants();

// |h lambda|, lambda < 0, up to which the pair of order k (predictor) and k + 1 in PECE form is stable with equal
// steps: the characteristic polynomial has its roots in the unit circle. Computed from the formulas; tested on x' =
// lambda x.
constexpr double stability_limit[adams_max_order + 1] = {0,    2.0,  2.4,  1.93, 1.41, 1.04, 0.77,
                                                         0.58, 0.44, 0.34, 0.26, 0.21, 0.06};

class Adams final : public Integrator {
public:
    Adams(int size, const Tolerances& tolerances, int max_order)
        : size_(size), max_order_(std::clamp(max_order, 1, adams_max_order)), tolerances_(tolerances), x_(size),
          candidate_(size), predicted_(size), rate_(size), gap_(size), scratch_(size),
          phi_(static_cast<std::size_t>(terms) * size), expected_(static_cast<std::size_t>(terms) * size) {}

    Status start(Implicit& ode, double t, const double* x, double t_end, double& h) override;
    Attempt attempt(Implicit& ode, double h, bool fixed) override;
    Status interpolate(Implicit& ode, double t, double* x) override;
    double* candidate() override { return candidate_.data(); }
    Status accept(Implicit& ode, bool changed, double& next) override;
    double t() const override { return t_; }
    const double* x() const override { return x_.data(); }
    int order() const override { return k_; }
    bool has_history() const override { return true; }
    double stiffness() const override { return stiffness_; }

private:
    static constexpr int terms = adams_max_order + 3; // 1-based index 1 .. k + 2
    using Row = std::array<double, terms>;

    double* phi(int i) { return phi_.data() + static_cast<std::size_t>(i) * size_; }
    double* expected(int i) { return expected_.data() + static_cast<std::size_t>(i) * size_; }
    void calc_coefficients(double h);
    void calc_integrals(double s, Row& g) const;
    void predict();
    double calc_size(const double* base);
    void find_lower_order();
    double propose_retry();
    double find_next_step();

    const int size_, max_order_;
    const Tolerances tolerances_;
    std::vector<double> x_, candidate_;
    std::vector<double> predicted_, rate_; // p and f(p)
    std::vector<double> gap_;              // f - e_1
    std::vector<double> scratch_;
    std::vector<double> phi_;      // phi_i(n) [terms * size]
    std::vector<double> expected_; // e_i      [terms * size]

    // accepted past: order of the last step, its size, how many steps in a row had it
    double t_ = 0, h_last_ = 0;
    int k_ = 1, k_last_ = 0, equal_steps_ = 0;
    double stiffness_ = 0;
    bool starting_ = true; // first phase: raise the order and double the step each time
    Row psi_{};            // psi_i(n)

    // attempted step
    double h_ = 0;
    int equal_steps_trial_ = 0, failures_ = 0;
    int k_lower_ = 1; // order to go on with as far as the estimates at k, k-1, k-2 tell
    Row psi_trial_{}, alpha_{}, beta_{}, sigma_{}, g_{};
    double error_k_ = 0, error_below_ = 0, error_two_below_ = 0; // local errors at orders k, k-1, k-2 for constant step
};

Status Adams::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    std::copy(x, x + size_, x_.data());
    t_ = t;
    k_ = k_lower_ = 1;
    k_last_ = equal_steps_ = failures_ = 0;
    h_last_ = 0;
    starting_ = true;
    std::fill(phi_.begin(), phi_.end(), 0.0);
    const Status status = ode.calc_rate(t_, x_.data(), phi(1));
    if (status != Status::success) return status;
    if (h == 0)
        return find_first_step(ode, tolerances_, 1, t_, t_end, x_.data(), phi(1), candidate_.data(), rate_.data(), h);
    // A step wanted from outside must suit order 1: a quarter of the one with h^2 |f| = 1 [sg chapter 10].
    const double rate_size = std::sqrt(calc_squared_norm(tolerances_, phi(1), x_.data(), x_.data()));
    if (16 * rate_size * h * h > 1) h = 0.25 / std::sqrt(rate_size);
    return Status::success;
}

// alpha, beta, sigma, psi for a step of h after the accepted ones, and the weights g. They cost O(k^2) scalar
// operations, little beside one evaluation, so they are found afresh instead of being updated along with the history.
void Adams::calc_coefficients(double h) {
    equal_steps_trial_ = h == h_last_ ? equal_steps_ : 0;
    if (equal_steps_trial_ <= k_last_) ++equal_steps_trial_;
    psi_trial_[1] = h;
    alpha_[1] = beta_[1] = sigma_[1] = sigma_[2] = 1;
    for (int i = 2; i <= k_; ++i) {
        psi_trial_[i] = psi_[i - 1] + h;
        alpha_[i] = h / psi_trial_[i];
        beta_[i] = beta_[i - 1] * psi_trial_[i - 1] / psi_[i - 1];
        sigma_[i + 1] = i * alpha_[i] * sigma_[i];
    }
    calc_integrals(1, g_);
}

// g_i(s) = int_0^s c_i(r) dr, i = 1..k+1. With g_{i,q} = int_0^s (s - r)^{q-1} c_i(r) dr and
//   1 - alpha (1 - r) = (1 - alpha (1 - s)) - alpha (s - r):
//   g_{1,q} = s^q / q,    g_{i,q} = (1 - alpha_{i-1} (1 - s)) g_{i-1,q} - alpha_{i-1} g_{i-1,q+1}    [sg chapters 5,
//   6].
void Adams::calc_integrals(double s, Row& g) const {
    Row moment{};
    double power = 1;
    for (int q = 1; q <= k_ + 1; ++q) {
        power *= s;
        moment[q] = power / q;
    }
    g[1] = moment[1];
    for (int i = 2; i <= k_ + 1; ++i) {
        const double alpha = alpha_[i - 1], factor = 1 - alpha * (1 - s);
        for (int q = 1; q <= k_ + 2 - i; ++q) moment[q] = factor * moment[q] - alpha * moment[q + 1];
        g[i] = moment[1];
    }
}

// e_k .. e_1 and the predicted point
void Adams::predict() {
    std::fill(predicted_.begin(), predicted_.end(), 0.0);
    for (int i = k_; i >= 1; --i) {
        const double *past = phi(i), *above = expected(i + 1);
        double* now = expected(i);
        const double scale = beta_[i], weight = g_[i];
        for (int j = 0; j < size_; ++j) {
            const double difference = scale * past[j];
            predicted_[j] += weight * difference;
            now[j] = i == k_ ? difference : difference + above[j];
        }
    }
    for (int j = 0; j < size_; ++j) predicted_[j] = x_[j] + h_ * predicted_[j];
}

// weighted norm of base + (f - e_1); base may be null
double Adams::calc_size(const double* base) {
    const double* vector = gap_.data();
    if (base) {
        for (int j = 0; j < size_; ++j) scratch_[j] = base[j] + gap_[j];
        vector = scratch_.data();
    }
    return std::sqrt(calc_squared_norm(tolerances_, vector, x_.data(), predicted_.data()));
}

Attempt Adams::attempt(Implicit& ode, double h, bool fixed) {
    Attempt result;
    h_ = h;
    result.next = std::abs(h);
    // A repeated attempt goes on at the order the failed one chose; what follows is no starting phase any more.
    if (failures_ > 0) k_ = k_lower_;
    calc_coefficients(h);
    predict();
    result.status = ode.calc_rate(t_ + h, predicted_.data(), rate_.data());
    k_lower_ = k_;
    if (result.status == Status::success) {
        const double* e = expected(1);
        for (int j = 0; j < size_; ++j) gap_[j] = rate_[j] - e[j];
        const double correction = std::abs(h) * calc_size(nullptr);
        result.error =
            correction * std::abs(g_[k_] - g_[k_ + 1]); // corrector of order k+1 against order k [sg chapter 7]
        error_k_ = correction * sigma_[k_ + 1] * error_constant[k_];
        if (!std::isfinite(result.error)) result.status = Status::not_finite;
    }
    if (result.status == Status::success) find_lower_order();
    if (result.status != Status::success || (result.error > 1 && !fixed)) {
        result.next = propose_retry();
        return result;
    }
    for (int j = 0; j < size_; ++j) candidate_[j] = predicted_[j] + h * g_[k_ + 1] * gap_[j];
    return result;
}

// Errors the step would have had at orders k-1 and k-2, had the steps been constant; a lower order is preferred when
// they do not exceed the one of order k: they should decrease with the order as long as the order is worth having [sg
// chapter 7].
void Adams::find_lower_order() {
    const double h = std::abs(h_);
    error_below_ = error_two_below_ = 0;
    if (k_ >= 2) error_below_ = h * sigma_[k_] * error_constant[k_ - 1] * calc_size(expected(k_));
    if (k_ >= 3) error_two_below_ = h * sigma_[k_ - 1] * error_constant[k_ - 2] * calc_size(expected(k_ - 1));
    if (k_ > 2 && std::max(error_below_, error_two_below_) <= error_k_) k_lower_ = k_ - 1;
    if (k_ == 2 && error_below_ <= 0.5 * error_k_) k_lower_ = k_ - 1;
}

// After a failure: half the step, at the third order 1, after that the step order 1 asks for [sg chapter 7].
double Adams::propose_retry() {
    starting_ = false;
    equal_steps_ = 0; // even if the retry has the size of the step before: no higher order right after a failure
    ++failures_;
    double factor = 0.5;
    if (failures_ >= 3) k_lower_ = 1;
    if (failures_ > 3 && 0.5 < 0.25 * error_k_) factor = std::sqrt(0.5 / error_k_);
    return factor * std::abs(h_);
}

// The correcting polynomial of the step, which takes f(p) for the rate at its end, integrated to t: continuous with the
// accepted points, of the order of the candidate [sg chapter 6].
Status Adams::interpolate(Implicit&, double t, double* x) {
    Row g;
    calc_integrals((t - t_) / h_, g);
    std::fill(x, x + size_, 0.0);
    for (int i = 1; i <= k_; ++i) {
        const double weight = g[i] * beta_[i];
        const double* past = phi(i);
        for (int j = 0; j < size_; ++j) x[j] += weight * past[j];
    }
    for (int j = 0; j < size_; ++j) x[j] = x_[j] + h_ * (x[j] + g[k_ + 1] * gap_[j]);
    return Status::success;
}

// The last evaluation, always at the candidate as it is now: a small correction by the driver costs nothing more.
Status Adams::accept(Implicit& ode, bool, double& next) {
    const Status status = ode.calc_rate(t_ + h_, candidate_.data(), rate_.data());
    if (status != Status::success) return status;
    std::swap(x_, candidate_);
    t_ += h_;
    double* highest = phi(k_ + 1);
    double* beyond = phi(k_ + 2); // used by the error estimate of order k+1 only
    const double* e = expected(1);
    for (int j = 0; j < size_; ++j) {
        const double gap = rate_[j] - e[j];
        beyond[j] = gap - highest[j];
        highest[j] = gap;
        scratch_[j] = gap - gap_[j]; // f(x_{n+1}) - f(p), where x_{n+1} - p = h g_{k+1} gap_
    }
    stiffness_ =
        calc_stiffness(ode, h_, scratch_.data(), gap_.data()) / (std::abs(h_ * g_[k_ + 1]) * stability_limit[k_]);
    for (int i = 1; i <= k_; ++i) {
        double* now = phi(i);
        const double* before = expected(i);
        for (int j = 0; j < size_; ++j) now[j] = before[j] + highest[j];
    }
    std::copy(psi_trial_.begin() + 1, psi_trial_.begin() + k_ + 1, psi_.begin() + 1);
    h_last_ = h_;
    equal_steps_ = equal_steps_trial_;
    k_last_ = k_;
    failures_ = 0;
    next = find_next_step();
    return Status::success;
}

// Order and step for the next step [sg chapter 7]: in the starting phase up and doubled; else the order whose estimate
// is least, k+1 being looked at only when enough equal steps make its estimate reliable; then the step is doubled,
// kept, or lowered.
double Adams::find_next_step() {
    const int k = k_;
    const double aim = 0.5;
    double error = error_k_;
    if (k_lower_ < k || k >= max_order_) starting_ = false;
    if (starting_) {
        k_ = k + 1;
        return 2 * std::abs(h_);
    }
    if (k_lower_ < k) {
        k_ = k - 1;
        error = error_below_;
    } else if (k + 1 <= equal_steps_) {
        // weights of the other estimates: accept has put the state before the step into candidate_
        const double norm = std::sqrt(calc_squared_norm(tolerances_, phi(k + 2), candidate_.data(), predicted_.data()));
        const double error_above = std::abs(h_) * error_constant[k + 1] * norm;
        if (k > 1 && error_below_ <= std::min(error_k_, error_above)) {
            k_ = k - 1;
            error = error_below_;
        } else if (k < max_order_ && error_above < (k > 1 ? error_k_ : 0.5 * error_k_)) {
            k_ = k + 1;
            error = error_above;
        }
    }
    const double h = std::abs(h_);
    if (error * std::ldexp(1.0, k_ + 1) <= aim) return 2 * h;
    if (error <= aim) return h;
    return h * std::clamp(std::pow(aim / error, 1.0 / (k_ + 1)), 0.5, 0.9);
}

} // namespace

std::unique_ptr<Integrator> build_adams(int size, const Tolerances& tolerances, int max_order) {
    return std::make_unique<Adams>(size, tolerances, max_order);
}

} // namespace linkwork
