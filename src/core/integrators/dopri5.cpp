// The method of Dormand and Prince, order 5 with an embedded 4 and a continuous extension of order 4.
// Coefficients: J. R. Dormand, P. J. Prince, J. Comp. Appl. Math. 6 (1980) 19-26; [hairer] table II.5.2; continuous
// extension [hairer II.6], in the form of a remainder to the cubic Hermite polynomial.
#include "runge_kutta.hpp"

namespace linkwork {

namespace {

// clang-format off
constexpr double a[7 * 7] = {
    0, 0, 0, 0, 0, 0, 0,
    1.0 / 5, 0, 0, 0, 0, 0, 0,
    3.0 / 40, 9.0 / 40, 0, 0, 0, 0, 0,
    44.0 / 45, -56.0 / 15, 32.0 / 9, 0, 0, 0, 0,
    19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729, 0, 0, 0,
    9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656, 0, 0,
    35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84, 0,
};
constexpr double c[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
constexpr double error[7] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
constexpr double dense[7] = {
    -12715105075.0 / 11282082432.0, 0, 87487479700.0 / 32700410799.0, -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0, 69997945.0 / 29380423.0,
};
// clang-format on

// step control: beta = 0.04, exponent 1/5 - 0.75 beta, h changes by 0.2 to 10 [hairer2 IV.2]
constexpr double beta = 0.04;
constexpr double stability = 3.3;
constexpr RungeKuttaTable table{
    5, 6, 0, a, c, error, nullptr, 1, dense, beta, 1.0 / 5 - 0.75 * beta, 0.2, 10, nullptr, nullptr, stability};

} // namespace

const RungeKuttaTable& dopri5_table() { return table; }

} // namespace linkwork
