// The two-loop implicit method [aboubakr 3, 4]: low-order formulas outside, equations of motion that close their own
// constraints inside (calc_rate). No derivative of a force is needed where the outer loop is simple iteration or a
// Jacobian-free Newton-Krylov method.
//
// Every formula is x_{n+1} = known + h eta f(t_{n+1}, x_{n+1}) (low_order_formulas.hpp). Its correction dx answers the
// residual r = f(x) - (x - known) / (h eta):
//     fixed_point  dx = h eta r                                   converges while h eta |J| < 1 [aboubakr (9)]
//     newton       dx = (1/(h eta) I - J)^-1 r                    J kept while it serves [aboubakr (8)]
//     krylov       the same with J at the iterate, by products    [aboubakr (10)-(17)]
// Where x = (y, u), y' = u, the formula ties y to u, y = base + tie u, and one half is solved for:
//     r = f_u(x) - (u - known_u) / (h eta),    (c_a I - c_v J2 - J1) dy = r,    c_a = 1 / (h eta tie), c_v = 1 / tie
// and du = dy / tie. For the Newmark family h eta = h gamma w and tie = h beta / gamma, which no first-order form has.
//
// Errors: those of the past points go on smoothly, so that x_{n+1} less its prediction is the prediction's defect x'''
// / 6 alone. This gives x''' and so the error of the step, at changing steps with the constants of these steps. The
// first step of all formulas is the trapezoidal one, the second of park is BDF2: order 2 from the beginning and after
// every restart.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "implicit.hpp"
#include "low_order_formulas.hpp"
#include "low_order_rules.hpp"
#include "newton.hpp"
#include "step_size.hpp"

namespace linkwork {

namespace {

enum class Outer { newton, krylov, fixed_point };

struct LowOrderMethod {
    int points = 1;   // past points of the formula at full history
    double share = 0; // of backward differences
    bool newmark = false;
    NewmarkFormula family;
};

// Simple iteration converges at the rate h eta |J|, seen only in steps of two iterations and more: the largest rate per
// step seen lately is remembered, and the next step is not to be slower than this.
constexpr double rate_to_grow = 0.5, forgetting = 0.98;

class LowOrder final : public Integrator {
public:
    LowOrder(const LowOrderMethod& method, Outer outer, double forcing, int size, const Tolerances& tolerances)
        : method_(method), outer_(outer), forcing_(forcing), size_(size), tolerances_(tolerances), scale_(tolerances),
          newton_({most(false), iteration_tolerance, false, 0, carry}), x_(size), back_(size), back_2_(size),
          rate_(size), rate_next_(size), candidate_(size), known_(size), predicted_(size), work_(size), mass_(size),
          correction_(size), second_(size), a_(size / 2), a_next_(size / 2) {}

    Status start(Implicit& ode, double t, const double* x, double t_end, double& h) override;
    Attempt attempt(Implicit& ode, double h, bool fixed) override;
    Status interpolate(Implicit& ode, double t, double* x) override;
    double* candidate() override { return candidate_.data(); }
    Status accept(Implicit& ode, bool changed, double& next) override;
    double t() const override { return t_; }
    const double* x() const override { return x_.data(); }
    int order() const override { return 2; }
    IntegratorFacts facts() const override { return linearization_.facts; }

private:
    int most(bool fixed) const { // iterations; at fixed step there is no shorter one to go to
        if (outer_ == Outer::fixed_point) return fixed ? 500 : 6;
        return fixed ? 30 : 5;
    }
    void build_step();
    void build_newmark_step();
    void predict();
    void calc_second(Implicit& ode);
    Status solve(Implicit& ode);
    Status prepare(Implicit& ode, double t, const double* x);
    Status correct(Implicit& ode);
    double calc_error(Implicit& ode);
    void filter_error(Implicit& ode, double* error);
    double find_next_step(double error);
    void calc_rates_at_end();

    const LowOrderMethod method_;
    const Outer outer_;
    const double forcing_; // error of Krylov solutions as part of the iteration tolerance
    const int size_;
    const Tolerances tolerances_;
    ErrorScale scale_;
    Convergence newton_;
    Linearization linearization_;
    std::vector<double> x_, back_, back_2_; // x_n, x_{n-1}, x_{n-2}
    std::vector<double> rate_, rate_next_;  // x' as the formula sees it: (x_{n+1} - known) / (h eta)
    std::vector<double> candidate_;
    std::vector<double> known_; // of the formula; where y is tied to u its upper half is `base`
    std::vector<double> predicted_, work_, mass_, correction_; // mass_: B times something, where there is a B
    std::vector<double> second_;                               // x'' at the start
    std::vector<double> a_, a_next_;                           // of the Newmark family
    double t_ = 0, t_end_ = 0, h_ = 0, h1_ = 0, h2_ = 0;
    double implicit_ = 0, tie_ = 0; // h eta; y = base + tie u
    double position_defect_ = 0, velocity_defect_ = 0, predicted_defect_ = 0;
    int count_ = 0;       // past points besides x_n
    double slowness_ = 0; // of simple iteration: rate of convergence per step
    bool has_second_ = false, retry_ = false;
    bool halves_ = false;
};

Status LowOrder::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    std::copy(x, x + size_, x_.begin());
    t_ = t;
    t_end_ = t_end;
    count_ = 0;
    has_second_ = retry_ = false;
    halves_ = ode.second_order() != nullptr;
    linearization_.forget();
    scale_.place(x_.data());
    Status status = calc_derivative(ode, t_, x_.data(), rate_.data());
    if (status != Status::success) return status;
    if (method_.newmark) std::copy(rate_.begin() + size_ / 2, rate_.end(), a_.begin());
    if (h == 0)
        status = find_first_step(ode, tolerances_, 3, t_, t_end, x_.data(), rate_.data(), candidate_.data(),
                                 work_.data(), h);
    return status;
}

Attempt LowOrder::attempt(Implicit& ode, double h, bool fixed) {
    Attempt result;
    h_ = h;
    newton_.allow(most(fixed));
    if (count_ == 0 && !fixed && !has_second_) calc_second(ode);
    build_step();
    predict();
    // A residual within c e is an error within e, since (I - J / c)^-1 does not magnify what decays; relative to the
    // right side it says little: what is left of a stiff residual may be a large correction of a soft component.
    if (outer_ == Outer::krylov)
        ode.set_scale(scale_.inverse(), std::min(1e-6, forcing_), forcing_ * iteration_tolerance);
    result.status = solve(ode);
    if (result.status == Status::no_convergence && outer_ == Outer::newton && !linearization_.is_current()) {
        linearization_.distrust();
        predict();
        result.status = solve(ode);
    }
    if (result.status == Status::no_convergence) ++linearization_.facts.convergence_failures;
    slowness_ = std::max(forgetting * slowness_, newton_.theta() / std::abs(h));
    result.next = newton_.shorter() * std::abs(h);
    retry_ = retry_ || result.status != Status::success;
    if (result.status != Status::success) return result;
    calc_rates_at_end();
    result.next = std::abs(h);
    if (fixed) return result;
    result.error = calc_error(ode);
    if (!std::isfinite(result.error)) result.status = Status::not_finite;
    result.next = find_next_step(result.error);
    retry_ = retry_ || result.error > 1;
    return result;
}

// x'' by a difference along the tangent; without it the first prediction is of first order, and its error too large.
void LowOrder::calc_second(Implicit& ode) {
    const double s = 1e-3 * h_;
    for (int i = 0; i < size_; ++i) candidate_[i] = x_[i] + s * rate_[i];
    has_second_ = true;
    const Status status = calc_derivative(ode, t_ + s, candidate_.data(), second_.data());
    for (int i = 0; i < size_; ++i) second_[i] = status == Status::success ? (second_[i] - rate_[i]) / s : 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// formula and prediction
// ---------------------------------------------------------------------------------------------------------------------

void LowOrder::build_step() {
    if (method_.newmark) return build_newmark_step();
    const int points = std::min(method_.points, count_ + 1);
    const MultistepFormula f =
        points == 1 ? build_trapezoidal(h_) : build_backward_differences(points == 2 ? 0 : method_.share, h_, h1_, h2_);
    const double* past = f.known.past;
    for (int i = 0; i < size_; ++i) {
        known_[i] = past[0] * x_[i] + f.known.rate * rate_[i];
        if (points > 1) known_[i] += past[1] * back_[i];
        if (points > 2) known_[i] += past[2] * back_2_[i];
    }
    implicit_ = tie_ = f.implicit;
    position_defect_ = velocity_defect_ = f.known.defect;
}

void LowOrder::build_newmark_step() {
    const NewmarkFormula& f = method_.family;
    const int half = size_ / 2;
    const double ratio = count_ > 0 ? h_ / h1_ : 1.0, cube = h_ * h_ * h_;
    implicit_ = h_ * f.gamma * f.weight();
    tie_ = h_ * f.beta / f.gamma;
    for (int i = 0; i < half; ++i) {
        const double rate = rate_[half + i], a = rate + ratio * (a_[i] - rate);
        const double rest = (f.alpha_f * rate - f.alpha_m * a) / (1 - f.alpha_m); // a_{n+1} less weight f_{n+1}
        const double u = x_[half + i] + h_ * ((1 - f.gamma) * a + f.gamma * rest);
        const double y = x_[i] + h_ * x_[half + i] + h_ * h_ * ((0.5 - f.beta) * a + f.beta * rest);
        known_[half + i] = u;
        known_[i] = y - tie_ * u;
        a_next_[i] = rest; // finished in calc_rates_at_end
    }
    position_defect_ = f.position_defect() * cube;
    velocity_defect_ = f.velocity_defect() * cube;
}

void LowOrder::predict() {
    Combination p;
    if (count_ > 1) {
        p = predict_from_three(h_, h1_, h2_);
    } else if (count_ > 0) {
        p = predict_from_two(h_, h1_);
    } else {
        p.past[0] = 1, p.rate = h_, p.defect = h_ * h_ * h_;
    }
    const double curved = count_ == 0 && has_second_ ? 0.5 * h_ * h_ : 0;
    for (int i = 0; i < size_; ++i) {
        predicted_[i] = p.past[0] * x_[i] + p.rate * rate_[i];
        if (count_ > 0) predicted_[i] += p.past[1] * back_[i];
        if (count_ > 1) predicted_[i] += p.past[2] * back_2_[i];
        if (curved != 0) predicted_[i] += curved * second_[i];
    }
    predicted_defect_ = p.defect;
    candidate_ = predicted_;
    if (!halves_) return;
    const int half = size_ / 2;
    for (int i = 0; i < half; ++i) candidate_[i] = known_[i] + tie_ * candidate_[half + i];
}

// ---------------------------------------------------------------------------------------------------------------------
// outer loop
// ---------------------------------------------------------------------------------------------------------------------

Status LowOrder::prepare(Implicit& ode, double t, const double* x) {
    return halves_ ? linearization_.prepare_half(ode, t, x, 1 / (implicit_ * tie_), 1 / tie_)
                   : linearization_.prepare(ode, t, x, 1 / implicit_);
}

Status LowOrder::solve(Implicit& ode) {
    Status status = outer_ == Outer::newton ? prepare(ode, t_, x_.data()) : Status::success;
    newton_.begin(1, 0);
    while (status == Status::success) {
        status = ode.calc_rate(t_ + h_, candidate_.data(), work_.data());
        if (status == Status::success && outer_ == Outer::krylov) {
            linearization_.forget();
            status = prepare(ode, t_ + h_, candidate_.data());
        }
        if (status != Status::success) return status;
        status = correct(ode);
        ++linearization_.facts.iterations;
        const Iteration iteration = newton_.judge(scale_.calc_norm(correction_.data()), scale_.roundoff());
        if (iteration == Iteration::failed) return Status::no_convergence;
        for (int i = 0; i < size_; ++i) candidate_[i] += correction_[i];
        if (iteration == Iteration::converged) break;
    }
    return status;
}

// correction_ from the rate at the candidate, which stands in work_
Status LowOrder::correct(Implicit& ode) {
    const int first = halves_ ? size_ / 2 : 0;
    for (int i = first; i < size_; ++i) correction_[i] = (candidate_[i] - known_[i]) / implicit_;
    const double* gap = calc_mass_times(ode, correction_.data(), mass_);
    const double factor = outer_ == Outer::fixed_point ? implicit_ : 1.0;
    for (int i = first; i < size_; ++i) correction_[i] = factor * (work_[i] - gap[i]);
    if (!halves_) {
        if (outer_ != Outer::fixed_point) ode.solve(correction_.data());
        return Status::success;
    }
    double *dy = correction_.data(), *du = dy + first;
    if (outer_ != Outer::fixed_point) {
        ode.second_order()->solve_half(du);
        for (int i = 0; i < first; ++i) dy[i] = du[i], du[i] = dy[i] / tie_;
    } else {
        for (int i = 0; i < first; ++i) dy[i] = tie_ * du[i];
    }
    return Status::success;
}

void LowOrder::calc_rates_at_end() {
    const int first = halves_ ? size_ / 2 : 0;
    for (int i = first; i < size_; ++i) rate_next_[i] = (candidate_[i] - known_[i]) / implicit_;
    for (int i = 0; i < first; ++i) rate_next_[i] = candidate_[first + i];
    if (!method_.newmark) return;
    for (int i = 0; i < first; ++i) a_next_[i] += method_.family.weight() * rate_next_[first + i];
}

// ---------------------------------------------------------------------------------------------------------------------
// step control
// ---------------------------------------------------------------------------------------------------------------------

double LowOrder::calc_error(Implicit& ode) {
    const int half = size_ / 2;
    for (int i = 0; i < size_; ++i) {
        const double defect = halves_ && i < half ? position_defect_ : velocity_defect_;
        correction_[i] = defect / predicted_defect_ * (candidate_[i] - predicted_[i]);
    }
    // predictions that rest on rates exaggerate stiff components, whose rates are large at the smallest distance from
    // their equilibrium
    if (count_ < 2 && outer_ != Outer::fixed_point) filter_error(ode, correction_.data());
    return std::sqrt(calc_squared_norm(tolerances_, correction_.data(), x_.data(), candidate_.data()));
}

// (B - h eta J)^-1 B error, or, half by half, (I - c_v / c_a J2 - 1 / c_a J1)^-1 error
void LowOrder::filter_error(Implicit& ode, double* error) {
    const double c = halves_ ? 1 / (implicit_ * tie_) : 1 / implicit_;
    for (int i = 0; i < size_; ++i) error[i] *= c;
    if (!halves_) {
        std::copy_n(calc_mass_times(ode, error, mass_), size_, error);
        return ode.solve(error);
    }
    ode.second_order()->solve_half(error);
    ode.second_order()->solve_half(error + size_ / 2);
}

double LowOrder::find_next_step(double error) {
    const double h = std::abs(h_);
    double growth = calc_growth(error, retry_);
    if (error <= 1 && outer_ == Outer::fixed_point && slowness_ * h * growth > rate_to_grow) {
        ++linearization_.facts.restrictions;
        growth = std::max(0.5, rate_to_grow / (slowness_ * h));
    }
    return growth > 1 && growth < least_growth ? h : growth * h;
}

// Hermite's cubic between the rates at both ends
Status LowOrder::interpolate(Implicit&, double t, double* x) {
    const double s = (t - t_) / h_, e = 1 - s;
    const double to_end = s * s * (3 - 2 * s), slope = h_ * s * e * e, slope_end = -h_ * s * s * e;
    for (int i = 0; i < size_; ++i)
        x[i] = x_[i] + to_end * (candidate_[i] - x_[i]) + slope * rate_[i] + slope_end * rate_next_[i];
    return Status::success;
}

Status LowOrder::accept(Implicit& ode, bool changed, double&) {
    std::swap(back_2_, back_);
    std::swap(back_, x_);
    std::swap(x_, candidate_);
    std::swap(rate_, rate_next_);
    std::swap(a_, a_next_);
    t_ += h_;
    h2_ = h1_;
    h1_ = h_;
    count_ = std::min(count_ + 1, 2);
    retry_ = false;
    scale_.place(x_.data());
    linearization_.grow_old(newton_.theta() <= rate_to_keep && linearization_.age() < oldest_linearization);
    return changed ? calc_derivative(ode, t_, x_.data(), rate_.data()) : Status::success;
}

LowOrderMethod build_method(const std::string& name, const IntegratorOptions& options) {
    if (name == "trapezoidal") return {1, 0, false, {}};
    if (name == "bdf2") return {2, 0, false, {}};
    if (name == "park") return {3, 0.5, false, {}};
    return {1, 0, true, build_newmark_formula(name, options)};
}

} // namespace

bool is_low_order(const std::string& name) {
    return name == "trapezoidal" || name == "bdf2" || name == "park" || name == "hht" || name == "generalized_alpha";
}

std::unique_ptr<Integrator> build_low_order(const std::string& name, int size, const Tolerances& tolerances,
                                            const IntegratorOptions& options) {
    const Outer outer = options.solver == "fixed_point" ? Outer::fixed_point
                        : options.solver == "krylov"    ? Outer::krylov
                                                        : Outer::newton;
    return std::make_unique<LowOrder>(build_method(name, options), outer, options.forcing, size, tolerances);
}

} // namespace linkwork
