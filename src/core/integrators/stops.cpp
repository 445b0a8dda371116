#include "stops.hpp"

#include <algorithm>
#include <cmath>

#include "../system/equations.hpp"

namespace linkwork {

namespace {

constexpr double round_off = 1e-11; // m or rad

} // namespace

StopWatch::StopWatch(const Tables& tables, const std::vector<EventSpec>& events, double rtol, double atol)
    : tables_(tables), events_(events), force_part_(std::max(rtol, 1e-10)), least_gap_(std::max(atol, round_off)),
      any_(std::any_of(events.begin(), events.end(), [](const EventSpec& e) { return e.row >= 0; })),
      shift_(events.size()), values_(events.size()), rate_(tables.rows_count), bend_(tables.rows_count) {}

void StopWatch::calc_values(double t, const Motion& motion, Workspace& w, double* values) const {
    if (!any_) return;
    calc_constraints(tables_, t, w);
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const int row = events_[i].row;
        if (row >= 0) values[i] = (w.engaged[row] != 0 ? -motion.lambda[row] : w.phi[row]) - shift_[i];
    }
}

void StopWatch::begin(double t, const Motion& motion, Workspace& w) {
    if (!any_) return;
    std::fill(shift_.begin(), shift_.end(), 0.0);
    calc_values(t, motion, w, values_.data());
    calc_jacobian(tables_, w);
    calc_velocity_target(tables_, t, w);
    calc_gamma(tables_, t, w);
    for (int i = 0; i < tables_.rows_count; ++i) rate_[i] = -w.target[i], bend_[i] = -w.gamma[i];
    add_jacobian_times(tables_, w.jacobian.data(), motion.v, rate_.data());
    add_jacobian_times(tables_, w.jacobian.data(), motion.a, bend_.data());
    double largest = 0, fastest = 1;
    for (int i = 0; i < tables_.nv; ++i) fastest = std::max(fastest, std::abs(motion.v[i]));
    for (const double f : w.force) largest = std::max(largest, std::abs(f));
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const int row = events_[i].row;
        if (row < 0) continue;
        // one that is left fast enough to get well off is left: round-off is all there is
        const double u = rate_[row], c = bend_[row];
        const bool leaves = u > 1e-6 * fastest && (c >= 0 || u * u > -2 * c * 10 * least_gap_);
        const double margin = w.engaged[row] != 0 ? force_part_ * largest : leaves ? round_off : least_gap_;
        if (values_[i] < margin) shift_[i] = std::min(values_[i], 0.0) - margin;
    }
}

void StopWatch::commit(const Workspace& w, const double* values) {
    if (!any_) return;
    for (std::size_t i = 0; i < events_.size(); ++i)
        if (shift_[i] != 0 && w.engaged[events_[i].row] == 0 && values[i] > 10 * least_gap_) shift_[i] = 0;
}

} // namespace linkwork
