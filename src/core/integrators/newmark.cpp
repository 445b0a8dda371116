// The Newmark family on the equations as they stand (index 3): hht, generalized_alpha.
//
//     D = h v_n + h^2 ((1/2 - beta) a_n + beta a_{n+1}),     q_{n+1} = q_n displaced by D
//     v_{n+1} = v_n + h ((1 - gamma) a_n + gamma a_{n+1})
//     (1 - alpha_m) a_{n+1} + alpha_m a_n = (1 - alpha_f) s_{n+1} + alpha_f s_n
//     M s_{n+1} + J^T lambda_{n+1} = f(t_{n+1}, q_{n+1}, v_{n+1}),     Phi(t_{n+1}, q_{n+1}) = 0      [arnold-bruels]
// The unknowns are s_{n+1} = v'_{n+1} and lambda_{n+1}. With M constant HHT is the method of [negrut-rampalli]: M
// a_{n+1} = (1 + alpha) F_{n+1} - alpha F_n with F = f - J^T lambda. A change of s by c_a d, c_a = 1 / (h^2 beta w), w
// = (1 - alpha_f) / (1 - alpha_m), displaces by d and changes v by c_v d, c_v = gamma / (h beta), so that Newton's
// correction answers the residuals (r, -Phi) with
//     [c_a M - c_v C - K, J^T; J, 0] (d, dlambda) = (r, -Phi).
// There d is a displacement from q_{n+1}: D has to change by d + [D, d] / 2 + .. for it [bruels], and so has s / c_a.
//
// Error of one step. In displacements from q_n the motion is Y(t) with Y''' = v'' + [v, v'] / 2 at t_n [bruels], so
// that
//     D - exact = l = c h^3 v'' - h^3 [v, v'] / 12,      c = beta + offset / 2 - 1/6.
// The past points are Y_{n-1} = -D_n and Y_{n-2} = -D_n - D_{n-1} + [D_n, D_{n-1}] / 2 (+ O(h^4)): divided differences
// give Y''' and so v''. The error of velocities is found in the same way, from velocities whose normal part is that of
// their constraints: the one they have, see below, changes with the step. Multipliers are not measured.
//
// Normal velocities. Positions meet their constraints, so that the normal part of l has to be made up for by that of h
// v_n: J v_n + Phi_t = -J l / h while steps are equal [arnold-bruels-cardona, section 4]. A step of another size, or
// the first one, begins with other values than it asks for; the difference, O(h^2), would go into a_{n+1} divided by h
// and ring there and in lambda until the damping has eaten it. So velocities are brought to what the step asks for
// wherever its size changes, without touching tangential momenta (Descriptor::offset_velocity). In the same way a_0 =
// v'(t_0 + offset h). Without damping (alpha = 0, rho = 1) normal accelerations have a double root on the unit circle:
// the least disturbance grows [cardona-geradin].
//
// [arnold-bruels] M. Arnold, O. Bruels, Convergence of the generalized-alpha scheme for constrained mechanical systems,
// Multibody System Dynamics 18, 2007. [arnold-bruels-cardona] Error analysis of generalized-alpha Lie group time
// integration methods for constrained mechanical systems, Numerische Mathematik 129, 2015. [bruels] MMT 48, 2012.
// [cardona-geradin] Time integration of the equations of motion in mechanism analysis, Computers & Structures 33, 1989.
// [negrut-rampalli] D. Negrut, R. Rampalli, G. Ottarsson, A. Sajdak, On an implementation of the HHT method in the
// context of index 3 differential algebraic equations of multibody dynamics, J. Comput. Nonlinear Dyn. 2, 2007.
#include <algorithm>
#include <cmath>

#include "implicit.hpp"
#include "low_order_formulas.hpp"
#include "low_order_rules.hpp"
#include "newton.hpp"

namespace linkwork {

namespace {

class Newmark final : public Integrator {
public:
    Newmark(const NewmarkFormula& formula, int positions, int velocities, const Tolerances& tolerances)
        : f_(formula), nq_(positions), nv_(velocities), size_(static_cast<int>(tolerances.atol.size())),
          tolerances_(tolerances), scale_(tolerances), newton_({most(false), iteration_tolerance, false, 0, carry}),
          x_(size_), candidate_(size_), rate_(size_), point_(size_), correction_(size_),
          back_lambda_(size_ - nq_ - nv_), v_(nv_), a_(nv_), a_begin_(nv_), a_next_(nv_), s_(nv_), s_next_(nv_),
          s_back_(nv_), tangent_(nv_), tangent_next_(nv_), tangent_back_(nv_), tangent_back_2_(nv_), third_(nv_),
          D_(nv_), D1_(nv_), D2_(nv_), base_(nv_), bracket_(nv_), residual_(size_ - nq_), q_rate_(nq_),
          q_rate_next_(nq_) {}

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
    int most(bool fixed) const { return fixed ? 30 : 5; }
    const double* q() const { return x_.data(); }
    const double* v() const { return x_.data() + nq_; }
    double* lambda(std::vector<double>& x) const { return x.data() + nq_ + nv_; }
    double weight() const { return f_.weight(); }
    Status look_ahead(Implicit& ode);
    Status begin_step(Descriptor& equations);
    void predict(Descriptor& equations);
    void place_candidate(Descriptor& equations);
    Status solve(Implicit& ode);
    Status calc_error(Descriptor& equations, double& error);

    const NewmarkFormula f_;
    const int nq_, nv_, size_;
    const Tolerances tolerances_;
    ErrorScale scale_;
    Convergence newton_;
    Linearization linearization_;
    std::vector<double> x_, candidate_, rate_, point_, correction_;
    std::vector<double> back_lambda_;
    std::vector<double> v_;                    // v_n as this step asks for it
    std::vector<double> a_, a_begin_, a_next_; // a_n as the last step left it, as this step sees it, a_{n+1}
    std::vector<double> s_, s_next_, s_back_;  // v' at t_n, t_{n+1}, t_{n-1}
    std::vector<double> tangent_, tangent_next_, tangent_back_, tangent_back_2_; // v on its constraints
    std::vector<double> third_;                                                  // v'' at the start
    std::vector<double> D_, D1_, D2_; // displacements of this step and of the last two
    std::vector<double> base_, bracket_, residual_;
    std::vector<double> q_rate_, q_rate_next_; // N v
    double t_ = 0, h_ = 0, h1_ = 0, h2_ = 0;
    double c_a_ = 0, c_v_ = 0;
    int count_ = 0; // past steps known, up to 2
    bool retry_ = false, has_third_ = false;
};

Status Newmark::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    Descriptor& equations = *ode.descriptor();
    std::copy_n(x, size_, x_.begin());
    t_ = t;
    count_ = 0;
    retry_ = has_third_ = false;
    linearization_.forget();
    Status status = equations.make_consistent(t, x_.data(), s_.data());
    if (status != Status::success) return status;
    scale_.place(x_.data());
    std::copy_n(v(), nv_, tangent_.begin());
    equations.calc_position_change(q(), v(), q_rate_.data());
    if (h != 0) return status;
    std::fill(rate_.begin(), rate_.end(), 0.0);
    std::copy(q_rate_.begin(), q_rate_.end(), rate_.begin());
    std::copy(s_.begin(), s_.end(), rate_.begin() + nq_);
    return find_first_step(ode, tolerances_, 3, t_, t_end, x_.data(), rate_.data(), candidate_.data(), point_.data(),
                           h);
}

// v'' at the start by differences along the tangent, and v' and lambda carried back from there: a start at a kink of
// the forces may stand on its near side by round-off, and what comes is beyond.
Status Newmark::look_ahead(Implicit& ode) {
    Descriptor& equations = *ode.descriptor();
    has_third_ = true;
    const double span = 1e-3 * h_;
    for (const int k : {1, 2}) {
        const double s = k * span;
        std::copy(x_.begin(), x_.end(), candidate_.begin());
        for (int i = 0; i < nv_; ++i) {
            D_[i] = s * (v()[i] + 0.5 * s * s_[i]);
            candidate_[nq_ + i] += s * s_[i];
        }
        equations.displace(q(), D_.data(), candidate_.data());
        const Status status =
            equations.make_consistent(t_ + s, candidate_.data(), k == 1 ? s_back_.data() : s_next_.data());
        if (status == Status::user_error) return status;
        if (status != Status::success) { // no answer there: what is known of the start has to do
            std::fill(third_.begin(), third_.end(), 0.0);
            return Status::success;
        }
        if (k == 1) std::copy_n(lambda(candidate_), back_lambda_.size(), back_lambda_.begin());
    }
    for (int i = 0; i < nv_; ++i) {
        third_[i] = (s_next_[i] - s_back_[i]) / span;
        s_[i] = 2 * s_back_[i] - s_next_[i];
    }
    for (std::size_t i = 0; i < back_lambda_.size(); ++i) lambda(x_)[i] = 2 * back_lambda_[i] - lambda(candidate_)[i];
    return Status::success;
}

Attempt Newmark::attempt(Implicit& ode, double h, bool fixed) {
    Descriptor& equations = *ode.descriptor();
    Attempt result;
    h_ = h;
    newton_.allow(most(fixed));
    if (count_ == 0 && !has_third_) result.status = look_ahead(ode);
    if (result.status == Status::success) result.status = begin_step(equations);
    if (result.status == Status::success) result.status = solve(ode);
    if (result.status == Status::no_convergence && !linearization_.is_current()) {
        linearization_.distrust();
        result.status = solve(ode);
    }
    if (result.status == Status::no_convergence) {
        ++linearization_.facts.convergence_failures;
        linearization_.forget(); // K and C are those of a prediction that led nowhere
    }
    result.next = newton_.shorter() * std::abs(h);
    retry_ = retry_ || result.status != Status::success;
    if (result.status != Status::success) return result;
    equations.calc_position_change(candidate_.data(), candidate_.data() + nq_, q_rate_next_.data());
    result.next = std::abs(h);
    if (fixed) return result;
    result.status = calc_error(equations, result.error);
    if (result.status == Status::success && !std::isfinite(result.error)) result.status = Status::not_finite;
    if (result.status != Status::success) return result;
    const double growth = calc_growth(result.error, retry_);
    if (growth <= 1 || growth >= least_growth) result.next = growth * std::abs(h);
    retry_ = retry_ || result.error > 1;
    return result;
}

// a_n and v_n as a step of this size asks for them, and the constants of the step
Status Newmark::begin_step(Descriptor& equations) {
    c_a_ = 1 / (h_ * h_ * f_.beta * weight());
    c_v_ = f_.gamma / (h_ * f_.beta);
    const double ratio = count_ > 0 ? h_ / h1_ : 0;
    for (int i = 0; i < nv_; ++i)
        a_begin_[i] = s_[i] + (count_ > 0 ? ratio * (a_[i] - s_[i]) : f_.offset() * h_ * third_[i]);
    if (count_ > 0 && std::abs(ratio - 1) < 1e-9) {
        std::copy_n(v(), nv_, v_.begin());
        return Status::success;
    }
    const double square = h_ * h_;
    return equations.offset_velocity(t_, x_.data(), s_.data(), h_, -f_.position_defect() / 6 * square, square / 12,
                                     v_.data());
}

// v' and lambda go on as they went
void Newmark::predict(Descriptor& equations) {
    const double ratio = count_ > 0 ? h_ / h1_ : 0;
    for (int i = 0; i < nv_; ++i) s_next_[i] = s_[i] + (count_ > 0 ? ratio * (s_[i] - s_back_[i]) : h_ * third_[i]);
    const double* now = lambda(x_);
    double* next = lambda(candidate_);
    for (int i = 0; i < size_ - nq_ - nv_; ++i) next[i] = now[i] + ratio * (now[i] - back_lambda_[i]);
    place_candidate(equations);
}

// q_{n+1} and v_{n+1} of the s_{n+1} at hand
void Newmark::place_candidate(Descriptor& equations) {
    for (int i = 0; i < nv_; ++i) {
        const double a = a_begin_[i];
        const double next = (f_.alpha_f * s_[i] - f_.alpha_m * a) / (1 - f_.alpha_m) + weight() * s_next_[i];
        a_next_[i] = next;
        D_[i] = h_ * v_[i] + h_ * h_ * ((0.5 - f_.beta) * a + f_.beta * next);
        candidate_[nq_ + i] = v_[i] + h_ * ((1 - f_.gamma) * a + f_.gamma * next);
    }
    equations.displace(q(), D_.data(), candidate_.data());
}

Status Newmark::solve(Implicit& ode) {
    Descriptor& equations = *ode.descriptor();
    predict(equations);
    // at the prediction, not at t_n: body axes turn in a step, and J with them
    Status status = linearization_.prepare_descriptor(ode, t_ + h_, candidate_.data(), c_a_, c_v_, 0.5 * h_);
    newton_.begin(1, 0);
    std::fill(correction_.begin(), correction_.end(), 0.0);
    // displacements are as good as positions are, velocities as displacements over h
    const double roundoff = scale_.roundoff() * std::max(1.0, std::abs(c_v_));
    while (status == Status::success) {
        status = equations.calc_residual(t_ + h_, candidate_.data(), s_next_.data(), residual_.data());
        if (status != Status::success) break;
        equations.solve_descriptor(residual_.data());
        ++linearization_.facts.iterations;
        equations.calc_position_change(candidate_.data(), residual_.data(), correction_.data());
        for (int i = 0; i < nv_; ++i) correction_[nq_ + i] = c_v_ * residual_[i];
        const Iteration iteration = newton_.judge(scale_.calc_norm(correction_.data()), roundoff);
        if (iteration == Iteration::failed) return Status::no_convergence;
        equations.calc_bracket(D_.data(), residual_.data(), bracket_.data());
        for (int i = 0; i < nv_; ++i) s_next_[i] += c_a_ * (residual_[i] + 0.5 * bracket_[i]);
        for (int i = 0; i < size_ - nq_ - nv_; ++i) lambda(candidate_)[i] += residual_[nv_ + i];
        place_candidate(equations);
        if (iteration == Iteration::converged) break;
    }
    return status;
}

// l of the head of this file as a change of q, and the error of v, both from differences of what is known.
Status Newmark::calc_error(Descriptor& equations, double& error) {
    const Status status =
        equations.offset_velocity(t_ + h_, candidate_.data(), s_next_.data(), h_, 0, 0, tangent_next_.data());
    if (status != Status::success) return status;
    const double cube = h_ * h_ * h_;
    Combination p;
    if (count_ > 1)
        p = predict_from_three(h_, h1_, h2_);
    else if (count_ > 0)
        p = predict_from_two(h_, h1_);
    else
        p.past[0] = 1, p.rate = h_, p.defect = cube;
    if (count_ > 1) equations.calc_bracket(D1_.data(), D2_.data(), bracket_.data());
    double* error_of_v = correction_.data() + nq_;
    for (int i = 0; i < nv_; ++i) {
        double Y = p.rate * tangent_[i], v = p.past[0] * tangent_[i] + p.rate * s_[i];
        if (count_ == 0) Y += 0.5 * h_ * h_ * s_[i], v += 0.5 * h_ * h_ * third_[i];
        if (count_ > 0) Y -= p.past[1] * D1_[i], v += p.past[1] * tangent_back_[i];
        if (count_ > 1) Y += p.past[2] * (0.5 * bracket_[i] - D1_[i] - D2_[i]), v += p.past[2] * tangent_back_2_[i];
        base_[i] = 6 * cube / p.defect * (D_[i] - Y); // h^3 Y'''
        error_of_v[i] = f_.velocity_defect() * cube / p.defect * (tangent_next_[i] - v);
    }
    equations.calc_bracket(candidate_.data() + nq_, s_next_.data(), bracket_.data());
    for (int i = 0; i < nv_; ++i) {
        const double turn = cube * bracket_[i];
        base_[i] = f_.position_defect() / 6 * (base_[i] - 0.5 * turn) - turn / 12;
    }
    equations.calc_position_change(candidate_.data(), base_.data(), correction_.data());
    error = std::sqrt(calc_squared_norm(tolerances_, correction_.data(), x_.data(), candidate_.data()));
    return status;
}

// Hermite's cubic between the rates at both ends; multipliers by a straight line.
Status Newmark::interpolate(Implicit&, double t, double* x) {
    const double s = (t - t_) / h_, e = 1 - s;
    const double to_end = s * s * (3 - 2 * s), slope = h_ * s * e * e, slope_end = -h_ * s * s * e;
    for (int i = 0; i < nq_; ++i)
        x[i] = x_[i] + to_end * (candidate_[i] - x_[i]) + slope * q_rate_[i] + slope_end * q_rate_next_[i];
    for (int i = 0; i < nv_; ++i) {
        const int k = nq_ + i;
        x[k] = x_[k] + to_end * (candidate_[k] - x_[k]) + slope * s_[i] + slope_end * s_next_[i];
    }
    for (int i = nq_ + nv_; i < size_; ++i) x[i] = x_[i] + s * (candidate_[i] - x_[i]);
    return Status::success;
}

Status Newmark::accept(Implicit& ode, bool changed, double&) {
    std::copy_n(lambda(x_), back_lambda_.size(), back_lambda_.begin());
    std::swap(x_, candidate_);
    std::swap(s_back_, s_);
    std::swap(s_, s_next_);
    std::swap(a_, a_next_);
    std::swap(tangent_back_2_, tangent_back_);
    std::swap(tangent_back_, tangent_);
    std::swap(tangent_, tangent_next_);
    std::swap(D2_, D1_);
    std::swap(D1_, D_);
    std::swap(q_rate_, q_rate_next_);
    t_ += h_;
    h2_ = h1_;
    h1_ = h_;
    count_ = std::min(count_ + 1, 2);
    retry_ = false;
    scale_.place(x_.data());
    linearization_.grow_old(newton_.theta() <= rate_to_keep && linearization_.age() < oldest_linearization);
    if (changed) ode.descriptor()->calc_position_change(q(), v(), q_rate_.data());
    return Status::success;
}

} // namespace

std::unique_ptr<Integrator> build_newmark(const std::string& name, int positions, int velocities,
                                          const Tolerances& tolerances, const IntegratorOptions& options) {
    return std::make_unique<Newmark>(build_newmark_formula(name, options), positions, velocities, tolerances);
}

} // namespace linkwork
