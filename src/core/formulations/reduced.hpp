// Reduced Jacobians J1 = f_y and J2 = f_y' of the state-space equations y'' = f(t, y, y') [negrut (27)-(41)].
//
// In displacement coordinates the paper's dependencies become linear questions with matrices that are factorized
// anyway. One unit of a chart coordinate y_j moves bodies by the tangent d_j:  J d_j = 0, chart(d_j) = e_j. Keeping y'
// then changes velocities by u_j:  J u_j = -(J v)_q d_j, chart rates unchanged; and accelerations and multipliers by
// b_j, l_j:
//     M b + J^T l = K d + C u,    J b = G d + H u           (system/slopes.hpp)
// One unit of y'_j changes velocities by d_j and accelerations by the solution with K = 0, G = 0, u = d_j. These are
// (29), (31)-(34) and (35)-(41) with the misprints gone: H = d, J = u, N = 2J is contained in `H`, R and X are never
// formed.
#pragma once

#include <vector>

#include "accelerations.hpp"
#include "chosen_slopes.hpp"
#include "implicit_solver.hpp"

namespace linkwork {

// What a chart tells of itself at the state evaluated last. Vectors d, u, b are in velocity coordinates.
struct ChartMap {
    virtual ~ChartMap() = default;
    // the tangents d_j, one after the other: n x nv
    virtual Status calc_tangents(double* d) = 0;
    // n vectors u with J u = rows and chart rates `rates`: n x nv, n x rows, n x n
    virtual void solve_velocity(const double* rows, const double* rates, double* u) = 0;
    // change of y' by a displacement d at fixed velocity coordinates
    virtual void calc_rate_slope(const double* d, double* out) = 0;
    // change of y'' by displacement d, velocity change u and acceleration change b
    virtual void calc_acceleration_slope(const double* d, const double* u, const double* b, double* out) {
        static_cast<void>(d), static_cast<void>(u), static_cast<void>(b), static_cast<void>(out);
    }
    // The same for n of them, u and b one after the other and d too; or d is zero for all, `step` 0.
    virtual void calc_acceleration_slopes(int n, std::size_t nv, const double* d, std::size_t step, const double* u,
                                          const double* b, ImplicitSolver::Matrix& J) {
        for (int j = 0; j < n; ++j) calc_acceleration_slope(d + j * step, u + j * nv, b + j * nv, J.col(j).data());
    }
};

class ReducedJacobians {
public:
    ReducedJacobians(const Tables& tables, const FormulationOptions& options) : chosen(tables, options) {}
    Status calc(double t, ChartMap& chart, Accelerations& engine, int n, ImplicitSolver::Matrix& J1,
                ImplicitSolver::Matrix& J2);

private:
    ChosenSlopes chosen;
    const Slopes& slopes = chosen.slopes;
    // of all n unit displacements: vectors one after the other, and side by side in rows of whole registers for
    // products
    std::vector<double> d, u, b, y, rates, zero;
    std::vector<double> wide_d, wide_u, force, gamma;
};

} // namespace linkwork
