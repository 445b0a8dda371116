#include "discontinuity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "step_size.hpp"

namespace linkwork {

namespace {

constexpr int settled = 2;            // accepted steps after which a failure is no bad guess any more
constexpr int lowest_order = 3;       // below it a jump costs hardly more than any other place
constexpr int high_order = 7;         // from which on a kink is worth a search
constexpr double slow = 0.6;          // part of p + 1 below which the exponent of the error speaks of a kink or a jump
constexpr double of_a_jump = 1.5;     // exponent below which it speaks of a jump
constexpr double farthest = 4;        // part of the step over which its continuous extension is continued
constexpr double near = 0.1;          // part of the step over which it is as accurate as inside
constexpr double stop_short = 0.95;   // of the way to a discontinuity that is farther
constexpr double sharp = 0.04;        // width of a bracket, relative to its distance, to aim with
constexpr double negligible = 0.5;    // error of crossing a bracket, in units of the tolerance
constexpr double obvious = 0.8;       // share of one gap among four that makes it a jump
constexpr double jump_after_2 = 0.7;  // fall of d over two halvings above which it is that of a jump ...
constexpr double kink_after_3 = 0.05; // ... over three, above which it is that of a kink: 1/8, smooth: 1/64
constexpr double still_a_jump = 0.6;  // part of a gap that remains in one half of the bracket, smooth: 1/2
constexpr int most_doublings = 4;     // of the suspicions that are not looked into, while searches are in vain
constexpr int most_halvings = 50;
constexpr double infinity = std::numeric_limits<double>::infinity();

// How large the error of a step over the jump has to be for a search to pay: multistep methods come near at one
// evaluation per failure, and lose their order to a restart.
double find_least_error(const Integrator& integrator) { return integrator.has_history() ? 100 : 30; }

// A kink costs methods of moderate order less than it takes to find it, and those with a history less than a restart.
bool is_hurt_by_kinks(const Integrator& integrator) {
    return integrator.order() >= high_order && !integrator.has_history();
}

} // namespace

void DiscontinuityFinder::begin() {
    failures_ = searches_ = steps_ = 0;
    violated_ = false;
}

void DiscontinuityFinder::note_rejection(const Integrator& integrator, double h, double error) {
    if (steps_ < settled || (integrator.order() < lowest_order && !integrator.has_history())) return;
    const double t = integrator.t();
    const double step = std::abs(h);
    if (failures_++ == 0) {
        end_ = t + h;
    } else {
        if ((t + h - end_) * h < 0) end_ = t + h;
        const bool known = std::isfinite(error) && std::isfinite(last_error_) && step < last_step_;
        const double exponent = known ? std::log(last_error_ / error) / std::log(last_step_ / step) : 0;
        violated_ =
            violated_ || exponent < (is_hurt_by_kinks(integrator) ? slow * (integrator.order() + 1) : of_a_jump);
    }
    largest_error_ = std::max(failures_ == 1 ? 0.0 : largest_error_, std::isfinite(error) ? error : infinity);
    if (largest_error_ < find_least_error(integrator)) violated_ = false;
    last_step_ = step;
    last_error_ = error;
}

void DiscontinuityFinder::note_acceptance(double t, double h) {
    ++steps_;
    if (failures_ == 0 || (end_ - (t + h)) * h > 0) return;
    failures_ = searches_ = 0; // it is crossed
    violated_ = false;
}

// x' on the continuous extension, a distance beyond the end of the step
Status DiscontinuityFinder::calc_rate_at(const Search& search, double distance, double* rate) {
    const double t = search.end + distance * search.h;
    const Status status = search.integrator.interpolate(search.ode, t, point_.data());
    return status == Status::success ? calc_derivative(search.ode, t, point_.data(), rate) : status;
}

// |a - 2 b + c|, or |a - b| without c, in units of the tolerance at the end of the step
double DiscontinuityFinder::calc_size(const Tolerances& tolerances, const double* a, const double* b, const double* c) {
    for (std::size_t i = 0; i < tolerances.atol.size(); ++i) difference_[i] = c ? a[i] - 2 * b[i] + c[i] : a[i] - b[i];
    return std::sqrt(calc_squared_norm(tolerances, difference_.data(), point_.data(), point_.data()));
}

Status DiscontinuityFinder::find(Implicit& ode, Integrator& integrator, const Tolerances& tolerances, double t,
                                 double h, Finding& finding, double& distance) {
    finding = Finding::nothing;
    const double end = t + h, reach = (end_ - end) / h;
    if (!(reach > 0 && reach <= farthest)) return Status::success; // later steps will see it
    if (searches_ == 0 && skipped_ < skips_) {                     // the last ones saw nothing
        ++skipped_;
        searches_ = most_searches;
        return Status::success;
    }
    ++searches_;
    const Status status = close_in({ode, integrator, tolerances, end, h}, reach, finding, distance);
    if (finding == Finding::nothing) {
        searches_ = most_searches;
        skips_ = (1 << std::min(misses_++, most_doublings)) - 1;
        skipped_ = 0;
    } else {
        misses_ = skips_ = 0;
    }
    // where f has no value there is nothing to be seen
    return status == Status::user_error ? status : Status::success;
}

// Is the bracket [a, b] good enough to say something? Distances are in units of h beyond the end of the step.
bool DiscontinuityFinder::conclude(double a, double b, double size, double end, double h, Finding& finding,
                                   double& distance) {
    const bool is_near = b <= near;
    if (is_near && (b - a) * std::abs(h) * size <= negligible) {
        finding = Finding::here;
        distance = b * h;
        found_ = end + 0.5 * (a + b) * h;
        before_ = end + a * h;
    } else if (!is_near && b - a <= sharp * a) {
        finding = Finding::ahead;
        distance = stop_short * a * std::abs(h);
        end_ = end + (b + 2 * (b - a)) * h; // on the continuous extension of the next step it may be a little later
    }
    return finding != Finding::nothing;
}

// Five points that close in on the largest second difference.
Status DiscontinuityFinder::close_in(const Search& search, double reach, Finding& finding, double& distance) {
    const auto& [ode, integrator, tolerances, end, h] = search;
    const bool jumps_only = !is_hurt_by_kinks(integrator);
    double left = 0, spacing = reach / 4;
    bool known[points] = {};
    double sizes[most_halvings + 1] = {};
    for (int level = 0; level <= most_halvings; ++level) {
        for (int i = 0; i < points; ++i) {
            if (known[i]) continue;
            const Status status = calc_rate_at(search, left + i * spacing, rate(i));
            if (status != Status::success) return status;
        }
        int middle = 1;
        for (int i = 1; i < points - 1; ++i) {
            const double size = calc_size(tolerances, rate(i - 1), rate(i), rate(i + 1));
            if (size > sizes[level]) sizes[level] = size, middle = i;
        }
        const double size = sizes[level], a = left + (middle - 1) * spacing, b = a + 2 * spacing;
        if (!std::isfinite(size) || (level == 0 && size * reach * std::abs(h) < 1)) return Status::success;
        if (level == 0 && jumps_only) {
            const double share = calc_largest_share(tolerances);
            if (share > obvious) return halve(search, left, spacing, finding, distance);
            if (share < 0.5) return Status::success;
        }
        if (level >= 2 && size > jump_after_2 * sizes[level - 2])
            return halve(search, left, spacing, finding, distance);
        if (level >= 2 && jumps_only) return Status::success;
        if (level >= 3) {
            if (size < kink_after_3 * sizes[level - 3]) return Status::success;
            if (conclude(a, b, size, end, h, finding, distance)) return Status::success;
        }
        // the three points around the largest second difference, and two between them
        int kept[points] = {order_[middle - 1], 0, order_[middle], 0, order_[middle + 1]}, count = 1;
        for (int i = 0; i < points; ++i)
            if (i < middle - 1 || i > middle + 1) kept[count] = order_[i], count += 2;
        std::copy_n(kept, points, order_);
        for (int i = 0; i < points; ++i) known[i] = i % 2 == 0;
        left = a;
        spacing *= 0.5;
    }
    return Status::success;
}

// How much of the changes of g between the five points lies between two of them.
double DiscontinuityFinder::calc_largest_share(const Tolerances& tolerances) {
    double largest = 0, sum = 0;
    for (int i = 0; i + 1 < points; ++i) {
        const double gap = calc_size(tolerances, rate(i), rate(i + 1), nullptr);
        largest = std::max(largest, gap);
        sum += gap;
    }
    return sum > 0 ? largest / sum : 0;
}

// A jump lies between the two of the five points that differ most: from there by halves.
Status DiscontinuityFinder::halve(const Search& search, double left, double spacing, Finding& finding,
                                  double& distance) {
    int first = 0;
    double size = 0;
    for (int i = 0; i + 1 < points; ++i) {
        const double gap = calc_size(search.tolerances, rate(i), rate(i + 1), nullptr);
        if (gap > size) size = gap, first = i;
    }
    double a = left + first * spacing, b = a + spacing;
    int before = first, after = first + 1, free = (first + 2) % points;
    for (int count = 0; count < most_halvings; ++count) {
        if (conclude(a, b, size, search.end, search.h, finding, distance)) break;
        const double middle = 0.5 * (a + b);
        const Status status = calc_rate_at(search, middle, rate(free));
        if (status != Status::success) return status;
        const double gap_before = calc_size(search.tolerances, rate(before), rate(free), nullptr);
        const double gap_after = calc_size(search.tolerances, rate(free), rate(after), nullptr);
        if (std::max(gap_before, gap_after) < still_a_jump * size) break; // it was none
        const bool is_before = gap_before > gap_after;
        std::swap(is_before ? after : before, free);
        (is_before ? b : a) = middle;
        size = std::max(gap_before, gap_after);
    }
    return Status::success;
}

} // namespace linkwork
