// Events: sign changes of functions of the state, found on the continuous extension of a step.
#pragma once

#include <vector>

#include "driver.hpp"

namespace linkwork {

// Values of all event functions at any time inside the attempted step.
struct EventSampler {
    virtual ~EventSampler() = default;
    virtual Status calc_values(double t, double* values) = 0;
};

struct Crossing {
    int event;
    double t;
};

// Remembers on which side of zero each function is. The side, not the last value, is what is carried from step to step:
// a correction of the state between two steps that moves a function over zero is then found as a crossing at the start
// of the next step. Side 0 (exactly at zero, or just fired) waits for the function to leave zero, which is no crossing.
class EventWatch {
public:
    explicit EventWatch(const std::vector<EventSpec>& events);
    // Sets the sides from the values at a start. `fired` [events]: these begin without a side; null: none.
    void reset(const double* values, const bool* fired);
    // Finds the crossings in (t_0, t_1], sorted by time; values_1 are the function values at t_1. Looks at the middle
    // too, so that a function that crosses and returns within the step is not missed, and more closely in the step
    // after an event.
    Status find_crossings(EventSampler& sampler, double t_0, double t_1, const double* values_1);
    const std::vector<Crossing>& crossings() const { return crossings_; }
    // The step was accepted: its end is the next start.
    void commit();
    int size() const { return static_cast<int>(events_.size()); }

private:
    Status find_root(EventSampler& sampler, int event, double t_a, double value_a, double t_b, double value_b,
                     double& root);

    const std::vector<EventSpec>& events_;
    std::vector<double> sides_, values_;             // at the last accepted state
    std::vector<double> sides_trial_, values_trial_; // carried through the step
    std::vector<double> sample_, root_sample_;       // scratch
    std::vector<Crossing> crossings_;
    bool look_inside_ = false; // kinks are crossed once: they are looked at at the ends of steps only
    bool after_event_ = false;
};

} // namespace linkwork
