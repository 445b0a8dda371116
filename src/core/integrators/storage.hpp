// What a run keeps: the states of its accepted steps, of the output times and of its events.
#pragma once

#include <vector>

#include "../formulations/contract.hpp"

namespace linkwork {

struct Records { // structure of arrays, one row per stored state; grown in large pieces, outside the step
    std::vector<double> t, q, v, a, lambda;
};

struct EventRecord {
    int event;
    double t;
};

struct Switching {
    std::size_t step; // first stored state for which these rows hold
    std::vector<double> engaged;
};

struct Stored {
    Records steps;  // every accepted step
    Records output; // the requested times
    std::vector<Switching> switchings;
    std::vector<EventRecord> events;
    std::vector<double> event_q, event_v; // state at each event record
};

// Writes what is stored, and takes it back when a step has to be repeated.
class Storage {
public:
    struct Marks {
        std::size_t steps, output, events;
    };

    Storage(const Tables& tables, const std::vector<double>& wanted, double sign)
        : nq_(tables.nq), nv_(tables.nv), rows_(tables.rows_count), wanted_(wanted), sign_(sign) {}

    // A state between two steps; outputs wanted at exactly this time get the same row.
    void store_state(double t, const Motion& motion);
    void store_event(int event, double t, const Motion& motion);
    // The states from here on are those of these rows.
    void store_switching(const std::vector<double>& engaged) {
        kept.switchings.push_back({kept.steps.t.size(), engaged});
    }
    // The output wanted next lies before t; `wanted` is its time, and store_output its state.
    bool is_wanted_before(double t) const { return next_ < wanted_.size() && sign_ * (wanted_[next_] - t) < 0; }
    double wanted() const { return wanted_[next_]; }
    void store_output(const Motion& motion);

    Marks marks() const { return {kept.steps.t.size(), kept.output.t.size(), kept.events.size()}; }
    void rewind(const Marks& marks);

    Stored kept;

private:
    void append(Records& records, double t, const Motion& motion);

    const int nq_, nv_, rows_;
    const std::vector<double>& wanted_;
    const double sign_; // of the direction of time
    std::size_t next_ = 0;
};

} // namespace linkwork
