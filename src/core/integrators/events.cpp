#include "events.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linkwork {

namespace {

double calc_side(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

// where a step is looked at: normally, and after an event, when the function that fired is about to leave zero
constexpr double normal_fractions[] = {0.5, 1};
constexpr double close_fractions[] = {1.0 / 256, 1.0 / 16, 0.5, 1};

} // namespace

EventWatch::EventWatch(const std::vector<EventSpec>& events)
    : events_(events), sides_(events.size()), values_(events.size()), sides_trial_(events.size()),
      values_trial_(events.size()), sample_(events.size()), root_sample_(events.size()) {
    crossings_.reserve(4 * events.size());
    look_inside_ =
        std::any_of(events.begin(), events.end(), [](const EventSpec& e) { return e.action != EventAction::restart; });
}

void EventWatch::reset(const double* values, const bool* fired) {
    after_event_ = false;
    for (int i = 0; i < size(); ++i) {
        const bool just_fired = fired && fired[i];
        values_[i] = values[i];
        // a stop is never on the other side: what falls below zero right away is found
        sides_[i] = events_[i].row >= 0 ? 1 : just_fired ? 0 : calc_side(values[i]);
        after_event_ = after_event_ || just_fired;
    }
    sides_trial_ = sides_;
    values_trial_ = values_;
}

void EventWatch::commit() {
    sides_ = sides_trial_;
    values_ = values_trial_;
    after_event_ = false;
}

Status EventWatch::find_crossings(EventSampler& sampler, double t_0, double t_1, const double* values_1) {
    crossings_.clear();
    sides_trial_ = sides_;
    values_trial_ = values_;
    const double* fractions = after_event_ ? close_fractions : normal_fractions;
    const int samples = after_event_ ? 4 : 2;
    double t_before = t_0;
    for (int k = look_inside_ ? 0 : samples - 1; k < samples; ++k) {
        const bool end = k + 1 == samples;
        const double t = end ? t_1 : t_0 + fractions[k] * (t_1 - t_0);
        if (end) {
            std::copy(values_1, values_1 + size(), sample_.begin());
        } else {
            const Status status = sampler.calc_values(t, sample_.data());
            if (status != Status::success) return status;
        }
        for (int i = 0; i < size(); ++i) {
            if (!std::isfinite(sample_[i])) return Status::not_finite;
            const double before = sides_trial_[i], now = calc_side(sample_[i]);
            const bool crossed = before != 0 && now != before;
            if (crossed && (events_[i].direction == 0 || events_[i].direction * before < 0)) {
                // the value carried along may have the wrong sign after a correction: the side is what counts
                const double tiny = std::numeric_limits<double>::min();
                const double value_before = before * std::max(before * values_trial_[i], tiny);
                double root = t;
                const Status status = find_root(sampler, i, t_before, value_before, t, sample_[i], root);
                if (status != Status::success) return status;
                crossings_.push_back({i, root});
            }
            sides_trial_[i] = now;
            values_trial_[i] = sample_[i];
        }
        t_before = t;
    }
    const double sign = t_1 < t_0 ? -1 : 1;
    std::sort(crossings_.begin(), crossings_.end(), [sign](const Crossing& a, const Crossing& b) {
        return a.t != b.t ? sign * a.t < sign * b.t : a.event < b.event;
    });
    return Status::success;
}

// Root in a bracket by inverse quadratic interpolation where the three last points allow it, else bisection:
// T. R. Chandrupatla, Adv. Eng. Software 28 (1997) 145-149. As safe as Brent's method with one simple criterion.
Status EventWatch::find_root(EventSampler& sampler, int event, double t_a, double value_a, double t_b, double value_b,
                             double& root) {
    root = t_b;
    if (value_b == 0) return Status::success;
    const double round_off = 2 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t_a), std::abs(t_b));
    double a = t_b, fa = value_b, b = t_a, fb = value_a; // [a, b] is the bracket, a the newest point
    double c = a, fc = fa;                               // the point that left the bracket
    double fraction = 0.5;                               // where in the bracket to look
    for (int iteration = 0; iteration < 100; ++iteration) {
        const double t = a + fraction * (b - a);
        const Status status = sampler.calc_values(t, root_sample_.data());
        if (status != Status::success) return status;
        const double value = root_sample_[event];
        if (!std::isfinite(value)) return Status::not_finite;
        if ((value > 0) == (fa > 0)) {
            c = a, fc = fa;
        } else {
            c = b, fc = fb;
            b = a, fb = fa;
        }
        a = t, fa = value;

        root = std::abs(fa) < std::abs(fb) ? a : b;
        const double tolerance = (round_off + std::numeric_limits<double>::min()) / std::abs(b - a);
        if (fa == 0 || tolerance >= 0.5) return Status::success;

        // inverse quadratic interpolation when it is monotone between the points
        const double xi = (a - b) / (c - b), ratio = (fa - fb) / (fc - fb);
        fraction = 0.5;
        if (ratio * ratio < xi && (1 - ratio) * (1 - ratio) < 1 - xi)
            fraction = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb);
        fraction = std::clamp(fraction, tolerance, 1 - tolerance);
    }
    return Status::success;
}

} // namespace linkwork
