// The part of the driver that plain equations and mechanisms share: the size of the next step, retries, and when to
// give up.
#pragma once

#include "contract.hpp"
#include "discontinuity.hpp"

namespace linkwork {

struct StepLimits {
    double t_start = 0, t_end = 1;
    double first_step = 0;       // 0: found
    double max_step = 0;         // 0: none
    double fixed_step = 0;       // 0: adaptive
    long max_steps = 10'000'000; // attempted ones
};

struct StepFacts {
    long steps = 0, rejected = 0, restarts = 0;
    double smallest_step = 0, largest_step = 0; // of accepted steps; the last one, cut to end at t_end, does not count
};

class StepLoop {
public:
    StepLoop(Implicit& ode, const StepLimits& limits) : ode_(ode), limits_(limits) {}

    // The integrator to take steps with: before the start, and whenever another one is to go on; a restart has to
    // follow.
    void use(Integrator& integrator) { integrator_ = &integrator; }

    // Steps that fail and steps that succeed are told to it from now on.
    void watch(DiscontinuityFinder& finder) { finder_ = &finder; }

    Status start(double t, const double* x);
    // Begins anew at (t, x): with the step of now, or with one to be found.
    Status restart(double t, const double* x, bool keep_step);
    // Goes on from (t, x) with another integrator, which begins with the step of now, or with the longest it may take.
    Status go_on_with(Integrator& integrator, double t, const double* x, double longest);
    // Tries steps until the integrator has a candidate whose error is acceptable.
    Status find_candidate();
    // The candidate turned out to be of no use for this reason: success when a shorter step may help, else the reason.
    Status shorten(Status why);
    // The attempted step reached over a place where f loses smoothness, at t: true when it is to be tried again, ending
    // there, because it saw too much of what lies behind (or nothing of what lies between).
    bool aim(double t);
    Status accept(bool changed);
    // The next step is to have this size.
    void propose(double h) { proposal_ = h; }
    // The candidate is taken, but the integrator is not told: a restart follows.
    void accept_without_history();
    // Counts a step that ends inside the attempted one, at an event.
    void count_cut_step(double t);

    bool finished() const; // t_end is reached
    double t() const { return integrator_->t(); }
    double t_next() const { return integrator_->t() + step_; }          // of the candidate, as the equations see it
    double t_label() const { return last_ ? limits_.t_end : t_next(); } // the same, exactly t_end at the end
    double step() const { return step_; }
    bool ends() const { return last_; } // the candidate ends the run
    const StepFacts& facts() const { return facts_; }

private:
    double calc_floor() const;
    double sign() const { return limits_.t_end < limits_.t_start ? -1 : 1; }
    void count_step(double h, bool full);

    Implicit& ode_;
    Integrator* integrator_ = nullptr;
    DiscontinuityFinder* finder_ = nullptr;
    const StepLimits limits_;
    StepFacts facts_;
    double proposal_ = 0, next_ = 0; // magnitudes: step to try now; step to try after the candidate is accepted
    double step_ = 0;                // signed, attempted last
    bool last_ = false;              // the attempted step ends at t_end
    bool arrived_ = false;           // that step was accepted
};

} // namespace linkwork
