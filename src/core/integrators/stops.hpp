// Stops as events: unilateral constraints that are open or closed.
#pragma once

#include <vector>

#include "driver.hpp"

namespace linkwork {

// The event function of a stop is its gap Phi while its row is off and its force -lambda while it is on. Both are
// positive as long as things stay as they are. A stop that has just opened or closed has a gap or a force of about
// zero: until it is well off, what counts as a crossing lies below, by what a step may err.
class StopWatch {
public:
    // rtol, atol: of the run, for forces and for gaps
    StopWatch(const Tables& tables, const std::vector<EventSpec>& events, double rtol, double atol);
    bool any() const { return any_; }
    // Writes the values of the stops among those of all events, for a state that has been lifted.
    void calc_values(double t, const Motion& motion, Workspace& w, double* values) const;
    // The state is the beginning of a stretch.
    void begin(double t, const Motion& motion, Workspace& w);
    // A step has been accepted that ends with these values.
    void commit(const Workspace& w, const double* values);

private:
    const Tables& tables_;
    const std::vector<EventSpec>& events_;
    const double force_part_, least_gap_; // forces (as a part of the largest) and gaps that are none
    const bool any_;
    std::vector<double> shift_, values_; // [events]
    std::vector<double> rate_, bend_;    // [rows] of the gaps, first and second
};

} // namespace linkwork
