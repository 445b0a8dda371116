#include "partners.hpp"

#include <limits>

namespace linkwork {

namespace {

// Measured on the gallery (docs/auto.md): adams is the best explicit method or within a sixth of it at tolerances of
// 1e-3 to 1e-8; at equal tolerance bdf costs least of the implicit ones, but from 1e-5 on its errors are worth less
// than the little time that radau5 takes more. A step costs adams 2 evaluations, dopri5 6; bdf about 3.5 and radau5 7.5
// and as much again as 60 % of that in linear algebra.
constexpr double loose = 1e-5;
constexpr double cost_adams = 2, cost_dopri5 = 6, cost_bdf = 5.6, cost_radau5 = 12;
constexpr double limit_adams = 1.6, limit_dopri5 = 3.3; // h rho of steps that stability sets

} // namespace

Partners::Partners(const std::string& name, double tolerance, const StepLimits& limits, std::size_t most_entries,
                   bool has_jumps, Builder build)
    : build_(std::move(build)), limits_(limits) {
    members_[0].name = name;
    if (!is_auto(name)) return;
    const bool fixed = limits.fixed_step > 0;
    // adams begins at order 1: with fixed steps that would spoil the result, after every jump it costs fifteen steps
    const bool one_step = fixed || has_jumps;
    const bool multistep = !fixed && tolerance >= loose;
    members_[0].name = one_step ? "dopri5" : "adams";
    members_[1].name = multistep ? "bdf" : "radau5";
    const double cost = (multistep ? cost_bdf : cost_radau5) / (one_step ? cost_dopri5 : cost_adams);
    judge_.emplace(PairFacts{one_step ? limit_dopri5 : limit_adams, cost, fixed}, limits.t_end, most_entries);
}

Status Partners::begin(Implicit& ode, double t, const double* x) {
    bool stiff = false;
    Status status = Status::success;
    if (judge_) status = judge_->judge_start(ode, t, x, limits_.fixed_step, stiff);
    active_ = stiff ? 1 : 0;
    fit(ode);
    open_span(t);
    return status;
}

Integrator& Partners::fit(const Ode& ode) {
    Member& member = members_[active_];
    if (member.integrator && member.size == ode.size()) return *member.integrator;
    if (member.integrator) spent_ += member.integrator->facts();
    member.size = ode.size();
    member.integrator = build_(member.name);
    return *member.integrator;
}

Status Partners::judge(Implicit& ode, double t_before, long steps, bool& change, double& longest) {
    change = false;
    if (!judge_) return Status::success;
    const Integrator& integrator = current();
    const double t = integrator.t();
    const Status status =
        active_ == 0 ? judge_->judge_explicit(ode, t, integrator.x(), t - t_before, integrator.stiffness(), change)
                     : judge_->judge_implicit(ode, t, integrator.x(), change);
    if (!change || status != Status::success) return status;
    active_ = 1 - active_;
    longest = active_ == 0 ? judge_->longest() : std::numeric_limits<double>::infinity();
    close_span(t, steps);
    fit(ode);
    open_span(t);
    return status;
}

void Partners::forget() {
    if (judge_) judge_->forget();
}

void Partners::open_span(double t) { spans_.push_back({members_[active_].name, t, t, 0}); }

void Partners::close_span(double t, long steps) {
    if (spans_.empty()) return;
    spans_.back().t_to = t;
    spans_.back().steps = steps - steps_;
    steps_ = steps;
}

IntegratorFacts Partners::spent() const {
    IntegratorFacts all = spent_;
    for (const Member& member : members_)
        if (member.integrator) all += member.integrator->facts();
    return all;
}

} // namespace linkwork
