// Half-explicit methods for the index-2 equations of mechanisms, x = (q, v).
//
// half_explicit_euler: one stage with forces at (t_n, q_n, v_n) and constraints at (t_{n+1}, q_{n+1}) [arnold (4)]; the
// error is half of h (x'_{n+1} - x'_n).
// phem56: the partitioned method of Murua, order 5 with an embedded 4. Points of the forces and weights are those of
// Dormand and Prince (dopri5.cpp), so that without constraints the two methods are one; the points of the constraints
// are such that Abar c = cbar^2 / 2 and Abar c^2 = cbar^3 / 3, with the end of the step as the last one. Coefficients
// of the author's code phem56.f (November 1995): A. Murua, Partitioned half-explicit Runge-Kutta methods for
// differential-algebraic systems of index 2, Computing 59 (1997) 43-61. There a seventh stage estimates x' at the end
// of the step from constraints inside it; here the accelerations of that state follow from the constraints at
// acceleration level, exactly and with a symmetric matrix, which costs less. The embedded weights e fulfil the
// conditions of order 4 but one: the components of the stages along M^-1 J^T are Abar^-1 of values of the constraints
// at cbar, so that e^T Abar^-1 cbar^4 = 0 would be needed too, and is what his seventh stage is there for. These
// components are taken out of the difference of the two solutions instead (Implicit::project_error), in which they are
// of order h^4; what is left is of order h^5, as the step control expects.
#include "runge_kutta.hpp"

namespace linkwork {

namespace {

// clang-format off
constexpr double euler_a[2 * 2] = {0, 0, 1, 0};
constexpr double euler_c[2] = {0, 1};
constexpr double euler_error[2] = {0.5, -0.5};
constexpr double euler_a_bar[2 * 2] = {1, 0, 0, 0};
constexpr double euler_c_bar[2] = {1, 0};

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
constexpr double a_bar[6 * 7] = {
    0, 0, 0, 0, 0, 0, 0,
    3.0 / 40, 9.0 / 40, 0, 0, 0, 0, 0,
    21.0 / 256, 45.0 / 256, 15.0 / 128, 0, 0, 0, 0,
    19235.0 / 98784, -225.0 / 392, 6235.0 / 6174, 2755.0 / 32928, 0, 0, 0,
    -293.0 / 1152, 85.0 / 48, -2275.0 / 1908, 35.0 / 32, -2835.0 / 6784, 0, 0,
    35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84, 0,
};
constexpr double c_bar[6] = {0, 3.0 / 10, 3.0 / 8, 5.0 / 7, 1, 1};
constexpr double error[7] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
constexpr double dense[7] = {
    -12715105075.0 / 11282082432.0, 0, 87487479700.0 / 32700410799.0, -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0, 69997945.0 / 29380423.0,
};
// clang-format on

// step control as of dopri5; Euler's has no memory
constexpr double beta = 0.04;
constexpr RungeKuttaTable phem56{5,   6,  0,     a,    c, error, nullptr, 1, dense, beta, 1.0 / 5 - 0.75 * beta,
                                 0.2, 10, a_bar, c_bar};
constexpr RungeKuttaTable euler{1,       1, 0,       euler_a, euler_c, euler_error, nullptr,    0,
                                nullptr, 0, 1.0 / 2, 0.2,     5,       euler_a_bar, euler_c_bar};

} // namespace

const RungeKuttaTable& phem56_table() { return phem56; }
const RungeKuttaTable& half_explicit_euler_table() { return euler; }

} // namespace linkwork
