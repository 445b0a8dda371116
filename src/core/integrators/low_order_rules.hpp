// The rules of the low-order formulas that do not depend on the equations: when an iteration is done, how steps grow.
#pragma once

#include <algorithm>
#include <cmath>

namespace linkwork {

inline constexpr double iteration_tolerance = 0.1, carry = 0.2; // [aboubakr 5], as part of the error tolerance
inline constexpr double safety = 0.9, largest_growth = 2, least_growth = 1.2, largest_cut = 0.2;
inline constexpr double rate_to_keep = 0.2; // of Newton's iteration, above which J is renewed
inline constexpr int oldest_linearization = 50;

// Next step over this one, for errors of h^3. retry: the step is a repetition, the next one is to be no longer.
inline double calc_growth(double error, bool retry) {
    const double growth = std::clamp(safety * std::pow(std::max(error, 1e-30), -1.0 / 3), largest_cut, largest_growth);
    if (error > 1) return std::min(growth, 0.9);
    return retry ? std::min(growth, 1.0) : growth;
}

} // namespace linkwork
