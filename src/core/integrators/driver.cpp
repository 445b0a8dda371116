#include "driver.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "../system/equations.hpp"
#include "events.hpp"
#include "partners.hpp"
#include "step_loop.hpp"
#include "stops.hpp"

namespace linkwork {

namespace {

using Clock = std::chrono::steady_clock;

StepLimits build_limits(const DriverOptions& o) {
    return {o.t_start, o.t_end, o.first_step, o.max_step, o.fixed_step, o.max_steps};
}

std::vector<EventSpec> build_specs(const DriverOptions& options, const Tables& tables) {
    std::vector<EventSpec> specs = options.events;
    specs.resize(specs.size() + tables.kinks.size(), EventSpec{0, EventAction::restart});
    return specs;
}

class Runner final : public EventSampler {
public:
    Runner(Formulation& formulation, const IntegratorChoice& choice, const Tables& tables, const DriverOptions& options,
           const Hooks& hooks)
        : formulation_(formulation), choice_(choice), finder_(calc_most_entries(tables)),
          partners_(choice.name, choice.tolerance(), build_limits(options), calc_most_entries(tables),
                    std::any_of(options.events.begin(), options.events.end(),
                                [](const EventSpec& e) { return e.action == EventAction::change || e.row >= 0; }),
                    [&formulation, choice](const std::string& name) {
                        IntegratorChoice named = choice;
                        named.name = name;
                        return build_integrator(named, formulation);
                    }),
          options_(options), hooks_(hooks), tables_(tables), specs_(build_specs(options, tables)),
          users_(options.events.size()), loop_(formulation, build_limits(options)), watch_(specs_),
          stops_(tables, specs_, choice.rtol, choice.atol_position), nq_(tables.nq), nv_(tables.nv),
          point_(calc_most_entries(tables)), q_(tables.nq), v_(tables.nv), engaged_(tables.rows_count),
          values_(specs_.size()), fired_(std::make_unique<bool[]>(specs_.size())),
          sign_(options.t_end < options.t_start ? -1 : 1), stored_(tables, options.output, sign_) {}

    Run run(const double* q, const double* v);
    Status calc_values(double t, double* values) override;

private:
    Status open(const double* q, const double* v);
    void fit_integrator();
    Status judge_method(double t_before);
    Status advance();
    Status find_discontinuity(double& t, bool& here);
    Status examine(double t, bool& cut);
    Status store_events(double t_end, double& t_cut, bool& cut);
    Status store_outputs(double t);
    Status finish_step(bool& repeat);
    Status finish_cut_step(double t, bool& repeat);
    Status store_before(double t);
    Status change_state(double t);
    Status call_hooks(double t);
    Status store_start(double t);
    bool has_events() const { return watch_.size() > 0; }
    Status calc_values_at(double t, const double* x, double* values);
    Status restart_at_kink(double t, bool keep_step);

    Formulation& formulation_;
    const IntegratorChoice choice_;
    DiscontinuityFinder finder_;
    Partners partners_;
    Integrator* integrator_ = nullptr; // of the partners, for the x of now
    const DriverOptions& options_;
    const Hooks& hooks_;
    const Tables& tables_;
    const std::vector<EventSpec> specs_; // the user's events, then the kinks of the tables
    const std::size_t users_;            // how many are the user's
    StepLoop loop_;
    EventWatch watch_;
    StopWatch stops_;
    const int nq_, nv_;
    std::vector<double> point_;           // x between the steps of the integrator, with room for any size it may take
    std::vector<double> q_, v_, engaged_; // handed to the hook that changes the state
    std::vector<double> values_;          // of the event functions
    std::unique_ptr<bool[]> fired_;
    const double sign_;
    Storage stored_;
    bool ended_ = false;    // by an event or a hook
    double aimed_step_ = 0; // of the next step, to end near a discontinuity; 0: none
    bool at_kink_ = false;  // the attempted step is cut at a kink
    Clock::time_point last_tick_{};
    Run result_;
};

// ---------------------------------------------------------------------------------------------------------------------
// one step
// ---------------------------------------------------------------------------------------------------------------------

// Outputs wanted before t, from the continuous extension of the attempted step.
Status Runner::store_outputs(double t) {
    while (stored_.is_wanted_before(t)) {
        const double wanted = stored_.wanted();
        Motion motion{};
        Status status = integrator_->interpolate(formulation_, wanted, point_.data());
        if (status == Status::success) status = formulation_.lift(wanted, point_.data(), motion);
        if (status != Status::success) return status;
        stored_.store_output(motion);
    }
    return Status::success;
}

Status Runner::calc_values(double t, double* values) {
    const Status status = integrator_->interpolate(formulation_, t, point_.data());
    return status == Status::success ? calc_values_at(t, point_.data(), values) : status;
}

// All event functions at (t, x): the user's, then the kinks.
Status Runner::calc_values_at(double t, const double* x, double* values) {
    Motion motion{};
    const Status status = formulation_.lift(t, x, motion);
    if (status != Status::success) return status;
    if (hooks_.events && users_ > 0 && !hooks_.events(hooks_.context, t, motion.q, motion.v, values))
        return Status::user_error;
    stops_.calc_values(t, motion, formulation_.workspace(), values);
    calc_kinks(tables_, formulation_.workspace(), values + users_);
    return Status::success;
}

// Records the crossings of the attempted step, which is to end at t_end, up to the first that ends it.
Status Runner::store_events(double t_end, double& t_cut, bool& cut) {
    Motion motion{};
    Status status = t_end == loop_.t_next() ? calc_values_at(t_end, integrator_->candidate(), values_.data())
                                            : calc_values(t_end, values_.data());
    if (status != Status::success) return status;
    status = watch_.find_crossings(*this, loop_.t(), t_end, values_.data());
    if (status != Status::success) return status;

    // Crossings no further apart than the root finder can tell happen together: two actions at one instant both count.
    std::fill_n(fired_.get(), watch_.size(), false);
    at_kink_ = false;
    const double together = 1e-14 * std::max(std::abs(loop_.t_next()), std::abs(loop_.step()));
    for (const Crossing& crossing : watch_.crossings()) {
        // kinks that several wheels meet almost at once are crossed at once: a nanosecond between them is no step
        const bool kink = specs_[crossing.event].action == EventAction::restart;
        const double window = kink ? std::max(together, 1e-9 * std::max(1.0, std::abs(t_cut))) : together;
        if (cut && sign_ * (crossing.t - t_cut) > window) break;
        if (!cut && specs_[crossing.event].action != EventAction::record) {
            cut = true;
            t_cut = crossing.t;
            at_kink_ = specs_[crossing.event].action == EventAction::restart;
        }
        fired_[crossing.event] = true;
        if (kink) continue;
        const double t = cut ? t_cut : crossing.t;
        status = integrator_->interpolate(formulation_, t, point_.data());
        if (status == Status::success) status = formulation_.lift(t, point_.data(), motion);
        if (status != Status::success) return status;
        stored_.store_event(crossing.event, t, motion);
    }
    return Status::success;
}

// Corrects the candidate, makes it current and stores it. repeat: the corrected state was of no use, try a shorter
// step.
Status Runner::finish_step(bool& repeat) {
    const double t = loop_.t_next(), label = loop_.t_label();
    Change change = Change::none;
    Motion motion{};
    Status status = formulation_.correct(t, integrator_->candidate(), change);
    if (status == Status::success && change != Change::chart)
        status = formulation_.lift(t, integrator_->candidate(), motion);
    if (status != Status::success) {
        repeat = change != Change::chart; // the history means nothing any more in a new chart
        return status;
    }
    repeat = false;
    result_.t_reached = label;
    if (has_events()) watch_.commit();
    stops_.commit(formulation_.workspace(), values_.data());
    if (change != Change::chart) {
        // stored before the integrator asks for the rate at the same point, which costs it nothing
        stored_.store_state(label, motion);
        const double before = loop_.t();
        status = loop_.accept(change == Change::small);
        if (aimed_step_ > 0) loop_.propose(std::exchange(aimed_step_, 0));
        return status == Status::success && !loop_.finished() ? judge_method(before) : status;
    }
    // x means something else now (and may be shorter, when more constraints have become independent than there were at
    // the start): the step counts, and the integrator begins anew with it
    std::copy_n(integrator_->candidate(), formulation_.size(), point_.data());
    loop_.accept_without_history();
    fit_integrator();
    status = loop_.restart(t, point_.data(), true);
    if (status == Status::success) status = formulation_.lift(t, point_.data(), motion);
    if (status == Status::success) stored_.store_state(label, motion);
    return status;
}

// Is the partner of the integrator to go on after this step? The state stays what it is.
Status Runner::judge_method(double t_before) {
    bool change = false;
    double longest = 0;
    const Integrator& before = *integrator_;
    const Status status = partners_.judge(formulation_, t_before, loop_.facts().steps, change, longest);
    if (!change || status != Status::success) return status;
    integrator_ = &partners_.current();
    return loop_.go_on_with(*integrator_, before.t(), before.x(), longest);
}

// The state just before a place where accelerations jump: what lies between it and the step's beginning is smooth, as
// interpolation between stored states takes it to be.
Status Runner::store_before(double t) {
    if (sign_ * (t - loop_.t()) <= 0) return Status::success;
    Motion motion{};
    Status status = integrator_->interpolate(formulation_, t, point_.data());
    if (status == Status::success) status = formulation_.lift(t, point_.data(), motion);
    if (status == Status::success) stored_.store_state(t, motion);
    return status;
}

// Ends the attempted step at an event: stores the state there and does what the event asks for.
Status Runner::finish_cut_step(double t, bool& repeat) {
    Status status = integrator_->interpolate(formulation_, t, point_.data());
    Change change = Change::none;
    Motion motion{};
    if (status == Status::success) status = formulation_.correct(t, point_.data(), change);
    if (status == Status::success) status = formulation_.lift(t, point_.data(), motion);
    repeat = status != Status::success && change != Change::chart;
    if (status != Status::success) return status;
    stored_.store_state(t, motion);
    loop_.count_cut_step(t);
    result_.t_reached = t;
    std::copy_n(motion.q, nq_, q_.data());
    std::copy_n(motion.v, nv_, v_.data());
    engaged_ = formulation_.workspace().engaged;

    // all that happens at this instant, in the order of the events
    for (int i = 0; i < watch_.size(); ++i) {
        if (!fired_[i] || specs_[i].action != EventAction::change) continue;
        bool stop = false;
        if (!hooks_.change(hooks_.context, i, t, q_.data(), v_.data(), engaged_.data(), &stop))
            return Status::user_error;
        ended_ = ended_ || stop;
    }
    bool changed = false;
    for (int i = 0; i < watch_.size(); ++i) {
        if (!fired_[i]) continue;
        ended_ = ended_ || specs_[i].action == EventAction::stop;
        changed = changed || specs_[i].action == EventAction::change;
    }
    if (changed) return change_state(t);
    return ended_ ? Status::success : restart_at_kink(t, at_kink_);
}

// The same state and the same chart, but what comes is not a smooth continuation of what was.
Status Runner::restart_at_kink(double t, bool keep_step) {
    fit_integrator();
    Status status = loop_.restart(t, point_.data(), keep_step);
    if (status == Status::success) status = calc_values_at(t, point_.data(), values_.data());
    if (status == Status::success) watch_.reset(values_.data(), fired_.get());
    return status;
}

// Goes on from the q_ and v_ that the hook wrote; the state after the jump is stored at the same time as the one
// before.
Status Runner::change_state(double t) {
    if (engaged_ != formulation_.workspace().engaged) {
        formulation_.workspace().engaged = engaged_;
        stored_.store_switching(engaged_);
    }
    Status status = formulation_.start(t, q_.data(), v_.data(), point_.data());
    if (status != Status::success) return status;
    if (ended_) return store_start(t);
    fit_integrator();
    status = loop_.restart(t, point_.data(), false);
    return status == Status::success ? store_start(t) : status;
}

// Stores the state point_ as the beginning of a stretch of the motion and looks where the event functions stand.
Status Runner::store_start(double t) {
    Motion motion{};
    Status status = formulation_.lift(t, point_.data(), motion);
    if (status != Status::success) return status;
    stored_.store_state(t, motion);
    if (!has_events()) return Status::success;
    stops_.begin(t, motion, formulation_.workspace());
    status = calc_values_at(t, point_.data(), values_.data());
    if (status != Status::success) return status;
    watch_.reset(values_.data(), fired_.get());
    return Status::success;
}

// Steps failed beyond the candidate: because f is not smooth there? If a place is found so near that the continuous
// extension of the step reaches over it, the step is to end there, at t, and the integrator begins anew.
Status Runner::find_discontinuity(double& t, bool& here) {
    if (loop_.ends()) return Status::success;
    using Finding = DiscontinuityFinder::Finding;
    Finding finding = Finding::nothing;
    double distance = 0;
    const Tolerances tolerances = build_tolerances(choice_, formulation_);
    const Status status =
        finder_.find(formulation_, *integrator_, tolerances, loop_.t(), loop_.step(), finding, distance);
    here = finding == Finding::here;
    if (here) t += distance;
    aimed_step_ = finding == Finding::ahead ? distance : 0;
    return status;
}

// Tries the step until it is done. Whatever fails on the way (a trial point that cannot be assembled, say) is met with
// a shorter step as long as that may help.
Status Runner::advance() {
    for (;;) {
        Status status = loop_.find_candidate();
        if (status != Status::success) return status;
        const Storage::Marks marks = stored_.marks();
        bool cut = false, broken = false, repeat = true;
        double t_end = loop_.t_next(), t_cut = loop_.t_label();
        if (finder_.suspects()) status = find_discontinuity(t_end, broken);
        if (broken) t_cut = t_end;
        if (has_events() && status == Status::success) status = store_events(t_end, t_cut, cut);
        broken = broken && !cut;
        cut = cut || broken;
        // round-off of the place of a kink, or what is left of the bracket of a discontinuity
        const double before = broken ? finder_.before() : t_cut - sign_ * 1e-12 * std::max(1.0, std::abs(t_cut));
        if (status == Status::success && at_kink_ && loop_.aim(t_cut)) {
            stored_.rewind(marks);
            continue;
        }
        if (status == Status::success) status = store_outputs(t_cut);
        if (status == Status::success && (broken || at_kink_)) status = store_before(before);
        if (status == Status::success) status = cut ? finish_cut_step(t_cut, repeat) : finish_step(repeat);
        if (status == Status::success && broken) result_.discontinuities.push_back(finder_.place());
        if (status == Status::success) return call_hooks(result_.t_reached);
        if (!repeat) return status;
        stored_.rewind(marks);
        status = loop_.shorten(status);
        if (status != Status::success) return status;
    }
}

// After a step: the callback, and at most every 50 ms the clock's tick.
Status Runner::call_hooks(double t) {
    if (hooks_.step) {
        const std::size_t row = stored_.kept.steps.t.size() - 1;
        bool stop = false;
        const double *q = stored_.kept.steps.q.data() + row * nq_, *v = stored_.kept.steps.v.data() + row * nv_;
        if (!hooks_.step(hooks_.context, t, q, v, &stop)) return Status::user_error;
        ended_ = ended_ || stop;
    }
    if (!hooks_.tick) return Status::success;
    const auto now = Clock::now();
    if (now - last_tick_ < std::chrono::milliseconds(50)) return Status::success;
    last_tick_ = now;
    return hooks_.tick(hooks_.context, t) ? Status::success : Status::interrupted;
}

// ---------------------------------------------------------------------------------------------------------------------
// the run
// ---------------------------------------------------------------------------------------------------------------------

Status Runner::open(const double* q, const double* v) {
    result_.t_reached = options_.t_start;
    if (!options_.engaged.empty()) formulation_.workspace().engaged = options_.engaged;
    Status status = formulation_.start(options_.t_start, q, v, point_.data());
    if (status == Status::success) status = store_start(options_.t_start);
    if (status != Status::success) return status;
    status = partners_.begin(formulation_, options_.t_start, point_.data());
    if (status != Status::success) return status;
    integrator_ = &partners_.current();
    loop_.use(*integrator_);
    if (options_.discontinuities && options_.fixed_step == 0) loop_.watch(finder_);
    return loop_.start(options_.t_start, point_.data());
}

// An integrator for the x of now, which may mean something else than before; the one at hand where it fits.
void Runner::fit_integrator() {
    partners_.forget();
    integrator_ = &partners_.fit(formulation_);
    loop_.use(*integrator_);
}

Run Runner::run(const double* q, const double* v) {
    const auto begin = Clock::now();
    last_tick_ = begin;
    Status status = open(q, v);
    while (status == Status::success && !ended_ && !loop_.finished()) status = advance();
    partners_.close_span(result_.t_reached, loop_.facts().steps);
    result_.spent = partners_.spent();
    result_.methods = partners_.spans();
    result_.status = status == Status::success && ended_ ? Status::stopped : status;
    const StepFacts& facts = loop_.facts();
    result_.stored = std::move(stored_.kept);
    result_.facts.steps = facts.steps;
    result_.facts.rejected = facts.rejected;
    result_.facts.restarts = facts.restarts;
    result_.facts.smallest_step = facts.smallest_step;
    result_.facts.largest_step = facts.largest_step;
    result_.facts.wall_time = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::move(result_);
}

} // namespace

Run run(Formulation& formulation, const IntegratorChoice& choice, const Tables& tables, const double* q,
        const double* v, const DriverOptions& options, const Hooks& hooks) {
    return Runner(formulation, choice, tables, options, hooks).run(q, v);
}

} // namespace linkwork
