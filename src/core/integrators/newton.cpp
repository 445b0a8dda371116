#include "newton.hpp"

#include <algorithm>
#include <limits>

namespace linkwork {

namespace {
constexpr double most_growth = 5; // of the second correction against the first, where the rate shows late
constexpr double epsilon = std::numeric_limits<double>::epsilon();
} // namespace

void ErrorScale::place(const double* x) {
    double sum = 0;
    for (std::size_t i = 0; i < inverse_.size(); ++i) {
        inverse_[i] = 1 / (tolerances_.calc_weight(i, std::abs(x[i])));
        sum += x[i] * inverse_[i] * x[i] * inverse_[i];
    }
    // h times a multiplier is as uncertain as the velocity it is found from, divided by h and multiplied again
    const double digits = tolerances_.algebraic.empty() ? 10 : 100;
    roundoff_ = counted_ == 0 ? 0 : digits * epsilon * std::sqrt(sum / counted_);
}

double ErrorScale::calc_squared_sum(const double* error) const {
    double sum = 0;
    for (std::size_t i = 0; i < inverse_.size(); ++i) {
        const double ratio = error[i] * inverse_[i];
        sum += ratio * ratio;
    }
    return sum;
}

double ErrorScale::calc_norm(const double* error, int vectors) const {
    double sum = 0;
    for (int k = 0; k < vectors; ++k) sum += calc_squared_sum(error + k * inverse_.size());
    return counted_ == 0 ? 0 : std::sqrt(sum / (vectors * counted_));
}

double calc_newton_tolerance(const Tolerances& tolerances) {
    const double rtol = std::max(tolerances.rtol, 10 * epsilon);
    return std::max(10 * epsilon / rtol, std::min(0.03, std::sqrt(rtol)));
}

void Convergence::begin(double eta, double theta) {
    count_ = 0;
    eta_ = std::pow(std::max(eta, epsilon), 0.8);
    theta_ = theta;
    shorter_ = 0.5;
}

Iteration Convergence::judge(double size, double roundoff) {
    ++count_;
    if (!std::isfinite(size)) return Iteration::failed;
    // Corrections that are round-off need not become smaller.
    const Iteration failure = size <= roundoff ? Iteration::converged : Iteration::failed;
    if (rule_.carry > 0) return judge_carried(size, failure);
    if (count_ > 1 && count_ < rule_.most) {
        const double ratio = size / last_;
        theta_ = rule_.averaged && count_ > 2 ? std::sqrt(ratio * ratio_) : ratio;
        ratio_ = ratio;
        const bool early = late_ && count_ == 2;
        if (early && theta_ >= 0.99 && theta_ < most_growth) {
            last_ = size;
            return Iteration::go_on;
        }
        if (!(theta_ < 0.99)) return failure;
        eta_ = theta_ / (1 - theta_);

        // Too slow: how much the step has to shrink, theta being proportional to it.
        const double left = eta_ * size * std::pow(theta_, rule_.most - 1 - count_) / rule_.tolerance;
        if (left >= 1 && !early) {
            shorter_ = 0.8 * std::pow(std::min(left, 20.0), -1.0 / (rule_.most - count_ + rule_.caution));
            return failure;
        }
    }
    last_ = std::max(size, epsilon);
    if (eta_ * size <= rule_.tolerance) return Iteration::converged;
    return count_ < rule_.most ? Iteration::go_on : failure;
}

Iteration Convergence::judge_carried(double size, Iteration failure) {
    constexpr double rate_at_first = 0.5, rate_aimed_at = 0.3;
    if (count_ == 1) ratio_ = rate_at_first, theta_ = 0;
    if (count_ > 1) {
        theta_ = size / last_;
        ratio_ = std::max(rule_.carry * ratio_, theta_);
    }
    last_ = std::max(size, epsilon);
    if (size * std::min(1.0, 1.5 * ratio_) <= rule_.tolerance) return Iteration::converged;
    const double left = count_ > 1 ? size * std::pow(theta_, rule_.most - count_) : 0;
    if (count_ < rule_.most && theta_ < 0.99 && left <= rule_.tolerance) return Iteration::go_on;
    shorter_ = std::clamp(rate_aimed_at / std::max(theta_, epsilon), 0.1, 0.5);
    return failure;
}

void Linearization::forget() {
    needed_ = true;
    current_ = factored_ = false;
}

void Linearization::grow_old(bool serve) {
    ++age_;
    current_ = false;
    needed_ = !serve;
}

void Linearization::distrust() {
    if (!current_) needed_ = true;
}

Status Linearization::linearize(Implicit& ode, double t, const double* x) {
    if (!needed_) return Status::success;
    const Status status = ode.calc_linearization(t, x);
    if (status != Status::success) return status;
    ++facts.linearizations;
    current_ = true;
    needed_ = factored_ = false;
    age_ = 0;
    return status;
}

Status Linearization::finish(Status status, double c) {
    factored_ = status == Status::success;
    facts.factorizations += factored_;
    c_ = c;
    return status;
}

Status Linearization::prepare(Implicit& ode, double t, const double* x, double c, const std::complex<double>* partner) {
    if (!keep_ && !is_factored(c)) needed_ = true;
    Status status = linearize(ode, t, x);
    if (status != Status::success || is_factored(c)) return status;
    status = ode.factor(c);
    if (status == Status::success && partner) status = ode.factor(*partner);
    return finish(status, c);
}

Status Linearization::prepare_half(Implicit& ode, double t, const double* x, double c_a, double c_v) {
    const Status status = linearize(ode, t, x);
    if (status != Status::success || is_factored(c_a)) return status;
    return finish(ode.second_order()->factor_half(c_a, c_v), c_a);
}

Status Linearization::prepare_descriptor(Implicit& ode, double t, const double* x, double c_a, double c_v,
                                         double turn) {
    const Status status = linearize(ode, t, x);
    if (status != Status::success || is_factored(c_a)) return status;
    return finish(ode.descriptor()->factor_descriptor(c_a, c_v, turn), c_a);
}

double PredictiveControl::calc_step(double h, double error, double safety) {
    h_ = std::abs(h);
    error_ = error;
    double divisor = std::clamp(std::pow(error, 0.25) / safety, least_, most_);
    if (error <= 1 && !first_) {
        const double trend = h_last_ / h_ * std::pow(error * error / error_last_, 0.25) / 0.9;
        divisor = std::max(divisor, std::clamp(trend, least_, most_));
    }
    return h_ / divisor;
}

void PredictiveControl::accept() {
    h_last_ = h_;
    error_last_ = std::max(error_, 0.01);
    first_ = false;
}

} // namespace linkwork
