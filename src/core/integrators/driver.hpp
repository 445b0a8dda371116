// The driver: the only place where steps are accepted, corrected and stored, and events are found.
#pragma once

#include <vector>

#include "contract.hpp"
#include "storage.hpp"

namespace linkwork {

// restart: for the kinks of the tables only; the step ends there, nothing is recorded, the integrator begins anew
enum class EventAction : int { record = 0, stop = 1, change = 2, restart = 3 };

struct EventSpec {
    int direction = 0; // +1 rising, -1 falling, 0 both
    EventAction action = EventAction::record;
    // The event of a stop: the function is the gap Phi of this row while it is off and its force -lambda while it is
    // on; both are positive as long as things stay as they are. -1: a function of the user.
    int row = -1;
};

// What the run asks of the outside. All may be left empty. Called between steps only, never inside one, except
// `events`.
struct Hooks {
    void* context = nullptr;
    // progress and Ctrl-C, at most every 50 ms; false ends the run as interrupted
    bool (*tick)(void* context, double t) = nullptr;
    // values of all event functions at a state; false: the user's function raised
    bool (*events)(void* context, double t, const double* q, const double* v, double* values) = nullptr;
    // action `change`: may write new q and v (the driver restarts from them) and switch rows on and off; false: raised.
    // stop: end the run here
    bool (*change)(void* context, int event, double t, double* q, double* v, double* engaged, bool* stop) = nullptr;
    // callback after every accepted step; false: raised; stop: end the run here
    bool (*step)(void* context, double t, const double* q, const double* v, bool* stop) = nullptr;
};

struct DriverOptions {
    double t_start = 0, t_end = 1;
    double first_step = 0; // 0: found
    double max_step = 0;   // 0: none
    double fixed_step = 0; // 0: adaptive
    long max_steps = 10'000'000;
    bool discontinuities = true; // those not announced are looked for where steps fail
    std::vector<double> output;  // times wanted; empty: accepted steps only
    std::vector<EventSpec> events;
    std::vector<double> engaged; // [rows] which rows hold at the start; empty: those of the tables
};

struct RunFacts {
    long steps = 0, rejected = 0, restarts = 0;
    double wall_time = 0, smallest_step = 0, largest_step = 0;
};

struct Run {
    Status status = Status::success;
    double t_reached = 0;
    Stored stored;
    RunFacts facts;
    IntegratorFacts spent;               // of all integrators of the run
    std::vector<double> discontinuities; // times of those that were found
    std::vector<MethodSpan> methods;     // which of them went on, when
};

// The integrator is built here, and built anew whenever x has changed its size.
Run run(Formulation& formulation, const IntegratorChoice& choice, const Tables& tables, const double* q,
        const double* v, const DriverOptions& options, const Hooks& hooks);

} // namespace linkwork
