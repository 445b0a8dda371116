#include "step_loop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linkwork {

// Below this a step is lost in the round-off of t; a part of the span keeps it positive near t = 0.
double StepLoop::calc_floor() const {
    const double span = std::abs(limits_.t_end - limits_.t_start);
    return 16 * std::numeric_limits<double>::epsilon() * std::max(std::abs(integrator_->t()), 1e-6 * span);
}

Status StepLoop::start(double t, const double* x) {
    proposal_ = limits_.fixed_step > 0 ? limits_.fixed_step : limits_.first_step;
    arrived_ = false;
    if (finder_) finder_->begin();
    return integrator_->start(ode_, t, x, limits_.t_end, proposal_);
}

Status StepLoop::restart(double t, const double* x, bool keep_step) {
    ++facts_.restarts;
    if (finder_) finder_->begin();
    proposal_ = limits_.fixed_step > 0 ? limits_.fixed_step : keep_step ? next_ : 0;
    return integrator_->start(ode_, t, x, limits_.t_end, proposal_);
}

Status StepLoop::go_on_with(Integrator& integrator, double t, const double* x, double longest) {
    next_ = std::min(next_, longest);
    use(integrator);
    return restart(t, x, true);
}

bool StepLoop::finished() const {
    return arrived_ || std::abs(limits_.t_end - integrator_->t()) <= calc_floor() ||
           (limits_.t_end - integrator_->t()) * sign() <= 0;
}

Status StepLoop::find_candidate() {
    const bool fixed = limits_.fixed_step > 0;
    for (;;) {
        if (facts_.steps + facts_.rejected >= limits_.max_steps) return Status::too_many_steps;

        // The step wanted, within its bounds; the one that comes near t_end ends there, a little longer if need be.
        const double remaining = std::abs(limits_.t_end - integrator_->t());
        double h = fixed ? limits_.fixed_step : proposal_;
        if (!fixed && limits_.max_step > 0) h = std::min(h, limits_.max_step);
        const double stretched = h * (fixed ? 1 + 1e-8 : limits_.max_step > 0 ? 1 : 1.01);
        last_ = remaining <= stretched;
        if (last_) h = remaining;
        if (!last_ && h < calc_floor()) return Status::step_too_small;
        step_ = sign() * h;

        const Attempt attempt = integrator_->attempt(ode_, step_, fixed);
        if (attempt.status == Status::success && (fixed || attempt.error <= 1)) {
            next_ = attempt.next;
            return Status::success;
        }
        if (finder_ && (attempt.status == Status::success || attempt.status == Status::no_convergence)) {
            const double error = attempt.status == Status::success ? attempt.error : std::nan("");
            finder_->note_rejection(*integrator_, step_, error);
        }
        if (attempt.status == Status::no_convergence && !fixed) {
            ++facts_.rejected;
            proposal_ = attempt.next;
            if (proposal_ < calc_floor()) return attempt.status;
        } else if (attempt.status != Status::success) {
            const Status status = shorten(attempt.status);
            if (status != Status::success) return status;
        } else {
            ++facts_.rejected;
            proposal_ = attempt.next;
        }
    }
}

Status StepLoop::shorten(Status why) {
    if (why == Status::user_error || limits_.fixed_step > 0) return why;
    ++facts_.rejected;
    proposal_ = 0.25 * std::abs(step_);
    return proposal_ < calc_floor() ? why : Status::success;
}

bool StepLoop::aim(double t) {
    const double wanted = std::abs(t - integrator_->t());
    if (limits_.fixed_step > 0 || wanted > 0.999 * std::abs(step_) || wanted < calc_floor()) return false;
    ++facts_.rejected;
    proposal_ = 1.0001 * wanted; // a little beyond, so that the crossing is met again
    return true;
}

void StepLoop::count_step(double h, bool full) {
    ++facts_.steps;
    if (!full && facts_.steps > 1) return;
    facts_.smallest_step = facts_.steps == 1 ? h : std::min(facts_.smallest_step, h);
    facts_.largest_step = std::max(facts_.largest_step, h);
}

Status StepLoop::accept(bool changed) {
    if (finder_) finder_->note_acceptance(integrator_->t(), step_);
    const Status status = integrator_->accept(ode_, changed, next_);
    if (status != Status::success) return status;
    accept_without_history();
    proposal_ = next_;
    return status;
}

void StepLoop::accept_without_history() {
    count_step(std::abs(step_), !last_);
    arrived_ = last_;
}

void StepLoop::count_cut_step(double t) { count_step(std::abs(t - integrator_->t()), false); }

} // namespace linkwork
