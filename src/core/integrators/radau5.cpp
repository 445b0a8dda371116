// RADAU5: the collocation method of Radau type IIA with three stages, order 5, L-stable and stiffly accurate, with an
// error estimate of order 3 and the collocation polynomial, of order 3, between the steps.
//
// [hairer2] E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8, and their published code.
// With z_i = X_i - x_n the stages solve Z = h A F(Z). A^-1 has one real eigenvalue g and a pair a +- i b; with
// T^-1 A^-1 T = blockdiag(g, [a -b; b a]) and W = T^-1 Z a Newton correction falls apart into one real and one complex
// system of the size of x [hairer2 (8.4)]:
//   (g/h - J) dw_1 = (T^-1 F)_1 - g/h w_1,
//   ((a + i b)/h - J) (dw_2 + i dw_3) = (T^-1 F)_2 + i (T^-1 F)_3 - (a + i b)/h (w_2 + i w_3).
// On B x' = f the divisions by h are multiplied by B.
#include <algorithm>
#include <array>

#include "implicit.hpp"
#include "newton.hpp"
#include "step_size.hpp"

namespace linkwork {

namespace {

constexpr int stages = 3;
constexpr double root6 = 2.449489742783178098197284;
constexpr double c1 = (4 - root6) / 10, c2 = (4 + root6) / 10;
constexpr double nodes[stages] = {c1, c2, 1};
constexpr double real_eigenvalue = 3.637834252744495732208419;
constexpr std::complex<double> complex_eigenvalue{2.681082873627752133895791, 3.050430199247410569426378};
constexpr double error_weights[stages] = {-(13 + 7 * root6) / 3, (-13 + 7 * root6) / 3, -1.0 / 3}; // [hairer2 (8.18)]

// T and its inverse [hairer2 IV.8]; columns are eigenvectors of A^-1, scaled so that the last row is (T31, 1, 0)
constexpr double transformation[stages][stages] = {
    {9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02},
    {0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779},
    {0.96604818261509293619, 1, 0}};
constexpr double inverse[stages][stages] = {{4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119},
                                            {-4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196},
                                            {-0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497}};

// controls of the published code
constexpr int most_iterations = 7, fixed_iterations = 30;
constexpr double safety = 0.9, keep_rate = 0.001, keep_growth = 1.2;

// The error estimate is of order 3, the method of order 5: with the tolerance rtol' = 0.1 rtol^(2/3), and atol in
// proportion, the error of the result falls with the tolerance asked for [published code].
Tolerances build_scaled(const Tolerances& asked) {
    Tolerances scaled = asked;
    const double smallest = asked.atol.empty() ? 1 : *std::min_element(asked.atol.begin(), asked.atol.end());
    const double factor = 0.1 / std::cbrt(asked.rtol > 0 ? asked.rtol : smallest);
    scaled.rtol *= factor;
    for (double& atol : scaled.atol) atol *= factor;
    for (auto& entry : scaled.algebraic) entry.atol *= factor;
    return scaled;
}

class Radau5 final : public Integrator {
public:
    Radau5(int size, const Tolerances& tolerances, bool keep_jacobian)
        : size_(size), tolerances_(build_scaled(tolerances)), scale_(tolerances_),
          newton_({most_iterations, calc_newton_tolerance(tolerances_), true, 3}), linearization_(keep_jacobian),
          x_(size), candidate_(size), rate_(size), work_(size), gap_(size), mass_(size), pair_(size),
          z_(size * std::size_t{stages}), z_last_(size * std::size_t{stages}), w_(size * std::size_t{stages}),
          mass_2_(size), mass_3_(size) {}

    Status start(Implicit& ode, double t, const double* x, double t_end, double& h) override;
    Attempt attempt(Implicit& ode, double h, bool fixed) override;
    Status interpolate(Implicit& ode, double t, double* x) override;
    double* candidate() override { return candidate_.data(); }
    Status accept(Implicit& ode, bool changed, double& next) override;
    double t() const override { return t_; }
    const double* x() const override { return x_.data(); }
    int order() const override { return 5; }
    IntegratorFacts facts() const override { return linearization_.facts; }

private:
    double* z(int stage) { return z_.data() + static_cast<std::size_t>(stage) * size_; }
    double* w(int stage) { return w_.data() + static_cast<std::size_t>(stage) * size_; }
    Status solve_stages(Implicit& ode);
    void predict_stages();
    Status calc_rates(Implicit& ode);
    double correct_stages(Implicit& ode);
    Status calc_error(Implicit& ode, double& error);
    double solve_error(Implicit& ode, const double* rate);
    double calc_next_step(double error);
    static void calc_dense_weights(double s, double* weights);

    const int size_;
    const Tolerances tolerances_;
    ErrorScale scale_;
    Convergence newton_;
    Linearization linearization_;
    PredictiveControl control_{0.2, 8};
    std::vector<double> x_, candidate_;
    std::vector<double> rate_;               // f(t_n, x_n)
    std::vector<double> work_;               // error
    std::vector<double> gap_, mass_;         // what B is applied to, and B times it
    std::vector<std::complex<double>> pair_; // dw_2 + i dw_3
    std::vector<double> z_, z_last_;         // [stages * size] of the attempted (rates meanwhile) and the last step
    std::vector<double> w_;                  // [stages * size] T^-1 z
    std::vector<double> mass_2_, mass_3_;
    double t_ = 0, t_end_ = 0, h_ = 0, h_last_ = 0, eta_ = 1;
    bool predictable_ = false; // a step since `start` is there to be extrapolated
    bool retry_ = false;       // a step from here was attempted before
};

Status Radau5::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    std::copy(x, x + size_, x_.data());
    t_ = t;
    t_end_ = t_end;
    if (h == 0) control_.restart();
    predictable_ = retry_ = false;
    eta_ = 1;
    linearization_.forget();
    scale_.place(x_.data());
    const Status status = ode.calc_rate(t_, x_.data(), rate_.data());
    if (status != Status::success || h > 0) return status;
    std::copy(rate_.begin(), rate_.end(), gap_.begin());
    if (ode.has_mass()) ode.solve_mass(gap_.data());
    return find_first_step(ode, tolerances_, 4, t_, t_end, x_.data(), gap_.data(), candidate_.data(), work_.data(), h);
}

Attempt Radau5::attempt(Implicit& ode, double h, bool fixed) {
    Attempt result;
    h_ = h;
    if (retry_) linearization_.distrust();
    ode.set_scale(scale_.inverse(), solution_accuracy, 0);
    newton_.allow(fixed ? fixed_iterations : most_iterations, ode.has_mass());
    result.status = solve_stages(ode);
    if (result.status == Status::no_convergence && fixed && !linearization_.is_current()) {
        linearization_.distrust();
        result.status = solve_stages(ode);
    }
    result.next = newton_.shorter() * std::abs(h);
    if (result.status == Status::success) result.status = calc_error(ode, result.error);
    if (result.status == Status::success) result.next = fixed ? std::abs(h) : calc_next_step(result.error);
    retry_ = true;
    return result;
}

Status Radau5::solve_stages(Implicit& ode) {
    const std::complex<double> partner = complex_eigenvalue / h_;
    Status status = linearization_.prepare(ode, t_, x_.data(), real_eigenvalue / h_, &partner);
    if (status != Status::success) return status;
    predict_stages();
    newton_.begin(eta_, keep_rate);
    for (Iteration iteration = Iteration::go_on; iteration != Iteration::converged;) {
        status = calc_rates(ode);
        if (status != Status::success) return status;
        iteration = newton_.judge(correct_stages(ode), scale_.roundoff());
        if (iteration == Iteration::failed) {
            ++linearization_.facts.convergence_failures;
            return Status::no_convergence;
        }
        // Z = T W
        const double *w1 = w(0), *w2 = w(1), *w3 = w(2);
        for (int stage = 0; stage < stages; ++stage) {
            const double* row = transformation[stage];
            double* values = z(stage);
            for (int i = 0; i < size_; ++i) values[i] = row[0] * w1[i] + row[1] * w2[i] + row[2] * w3[i];
        }
    }
    eta_ = newton_.eta();
    const double* last = z(stages - 1);
    for (int i = 0; i < size_; ++i) candidate_[i] = x_[i] + last[i];
    return status;
}

// The collocation polynomial of the step before, continued [hairer2 (8.5)].
void Radau5::predict_stages() {
    std::fill(z_.begin(), z_.end(), 0.0);
    std::fill(w_.begin(), w_.end(), 0.0);
    if (!predictable_) return;
    for (int stage = 0; stage < stages; ++stage) {
        double weights[stages];
        calc_dense_weights(1 + nodes[stage] * h_ / h_last_, weights);
        weights[stages - 1] -= 1; // relative to x_n = x_{n-1} + z_3
        double* values = z(stage);
        const double *z1 = z_last_.data(), *z2 = z1 + size_, *z3 = z2 + size_;
        for (int i = 0; i < size_; ++i) values[i] = weights[0] * z1[i] + weights[1] * z2[i] + weights[2] * z3[i];
    }
    const double *z1 = z(0), *z2 = z(1), *z3 = z(2);
    for (int row = 0; row < stages; ++row) {
        const double* t = inverse[row];
        double* values = w(row);
        for (int i = 0; i < size_; ++i) values[i] = t[0] * z1[i] + t[1] * z2[i] + t[2] * z3[i];
    }
}

// z_i := f(t_n + c_i h, x_n + z_i)
Status Radau5::calc_rates(Implicit& ode) {
    for (int stage = 0; stage < stages; ++stage) {
        double* values = z(stage);
        for (int i = 0; i < size_; ++i) candidate_[i] = x_[i] + values[i];
        const Status status = ode.calc_rate(t_ + nodes[stage] * h_, candidate_.data(), values);
        if (status != Status::success) return status;
    }
    return Status::success;
}

// One Newton correction of W from the rates in z; returns its size.
double Radau5::correct_stages(Implicit& ode) {
    double *f1 = z(0), *f2 = z(1), *f3 = z(2);
    double *w1 = w(0), *w2 = w(1), *w3 = w(2);
    const double g = real_eigenvalue / h_;
    const std::complex<double> ab = complex_eigenvalue / h_;
    const double* m1 = calc_mass_times(ode, w1, mass_);
    const double* m2 = calc_mass_times(ode, w2, mass_2_);
    const double* m3 = calc_mass_times(ode, w3, mass_3_);
    for (int i = 0; i < size_; ++i) {
        const double a1 = f1[i], a2 = f2[i], a3 = f3[i];
        f1[i] = inverse[0][0] * a1 + inverse[0][1] * a2 + inverse[0][2] * a3 - g * m1[i];
        f2[i] = inverse[1][0] * a1 + inverse[1][1] * a2 + inverse[1][2] * a3 - ab.real() * m2[i] + ab.imag() * m3[i];
        f3[i] = inverse[2][0] * a1 + inverse[2][1] * a2 + inverse[2][2] * a3 - ab.imag() * m2[i] - ab.real() * m3[i];
        pair_[i] = {f2[i], f3[i]};
    }
    ode.solve(f1);
    ode.solve(pair_.data());
    ++linearization_.facts.iterations;
    for (int i = 0; i < size_; ++i) {
        f2[i] = pair_[i].real();
        f3[i] = pair_[i].imag();
        w1[i] += f1[i];
        w2[i] += f2[i];
        w3[i] += f3[i];
    }
    return scale_.calc_norm(f1, stages);
}

// err = (g/h - J)^-1 (f(x_n) + (e . z)/h) [hairer2 (8.19)]; where it is too large at the first step or after a
// failure, once more with f(x_n + err) [hairer2 (8.20)], which takes away what is only stiff.
Status Radau5::calc_error(Implicit& ode, double& error) {
    error = solve_error(ode, rate_.data());
    if (error > 1 && (!predictable_ || retry_)) {
        for (int i = 0; i < size_; ++i) work_[i] += x_[i];
        const Status status = ode.calc_rate(t_, work_.data(), w(0));
        if (status != Status::success) return status;
        error = solve_error(ode, w(0));
    }
    return std::isfinite(error) ? Status::success : Status::not_finite;
}

double Radau5::solve_error(Implicit& ode, const double* rate) {
    const double *z1 = z(0), *z2 = z(1), *z3 = z(2);
    for (int i = 0; i < size_; ++i)
        gap_[i] = (error_weights[0] * z1[i] + error_weights[1] * z2[i] + error_weights[2] * z3[i]) / h_;
    const double* gap = calc_mass_times(ode, gap_.data(), mass_);
    for (int i = 0; i < size_; ++i) work_[i] = rate[i] + gap[i];
    ode.solve(work_.data());
    return std::max(scale_.calc_norm(work_.data()), 1e-10);
}

// The step for the next attempt: the safety falls with the iterations; after a failure no growth; a slightly larger
// step is not worth new factorizations while J serves.
double Radau5::calc_next_step(double error) {
    const int most = most_iterations;
    const double h = std::abs(h_);
    const double factor = std::min(safety, safety * (1 + 2 * most) / (newton_.iterations() + 2 * most));
    double next = control_.calc_step(h, error, factor);
    if (error > 1) return control_.is_first() ? 0.1 * h : next;
    if (retry_) next = std::min(next, h);
    const bool keep = newton_.theta() <= keep_rate && next >= h && next <= keep_growth * h;
    const bool ends = std::abs(t_end_ - t_) <= h + next; // with the larger one the next step is the last
    return keep && !ends ? h : next;
}

// Lagrange polynomials of the nodes 0, c_1, c_2, 1 without the first: x(t_n + s h) = x_n + sum weights_i z_i
void Radau5::calc_dense_weights(double s, double* weights) {
    weights[0] = s * (s - c2) * (s - 1) / (c1 * (c1 - c2) * (c1 - 1));
    weights[1] = s * (s - c1) * (s - 1) / (c2 * (c2 - c1) * (c2 - 1));
    weights[2] = s * (s - c1) * (s - c2) / ((1 - c1) * (1 - c2));
}

Status Radau5::interpolate(Implicit&, double t, double* x) {
    double weights[stages];
    calc_dense_weights((t - t_) / h_, weights);
    const double *z1 = z(0), *z2 = z(1), *z3 = z(2);
    for (int i = 0; i < size_; ++i) x[i] = x_[i] + weights[0] * z1[i] + weights[1] * z2[i] + weights[2] * z3[i];
    return Status::success;
}

Status Radau5::accept(Implicit& ode, bool, double&) {
    const Status status = ode.calc_rate(t_ + h_, candidate_.data(), rate_.data());
    if (status != Status::success) return status;
    std::swap(x_, candidate_);
    std::swap(z_, z_last_);
    t_ += h_;
    h_last_ = h_;
    control_.accept();
    retry_ = false;
    predictable_ = true;
    linearization_.grow_old(newton_.theta() <= keep_rate);
    scale_.place(x_.data());
    return status;
}

} // namespace

std::unique_ptr<Integrator> build_radau5(int size, const Tolerances& tolerances, bool keep_jacobian) {
    return std::make_unique<Radau5>(size, tolerances, keep_jacobian);
}

} // namespace linkwork
