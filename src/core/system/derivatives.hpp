// Derivatives of the equations of motion with respect to positions and velocities, exact, by dual numbers.
//
// Positions are varied in displacement coordinates d (q moves by N(q) d: translations in ground axes, rotations in body
// axes) with the velocity coordinates v held. These are the contractions implicit methods need:
//   (J x)_q          second order, contracted from the right          rows x nv
//   (J^T lambda)_q   second order, contracted from the left           nv x nv
//   gamma_q, gamma_v third and second order                           rows x nv
//   ((J^T lambda)_q x)_q  third order, contracted twice               nv x nv
//   f_q, f_v         of all forces, gyroscopic ones included          nv x nv
// Matrices are dense, row-major. Every element is differentiated by itself: two poses carry twelve dual directions.
#pragma once

#include <functional>

#include "tables.hpp"
#include "workspace.hpp"

namespace linkwork {

struct Derivatives {
    std::vector<double> Jx_q, JtL_q, gamma_q, gamma_v, JtLx_q, f_q, f_v;
};

// At the pose and twist of the workspace; x in velocity coordinates, lambda per row.
Derivatives calc_derivatives(const Tables& tables, double t, const Workspace& w, const double* x, const double* lambda);

// User forces know no derivatives: central differences over the displacements and velocities of their own bodies.
// visit(velocity, row body, row, column body, column, slope) for every pair of their velocity coordinates.
void calc_user_force_slopes(const Tables& tables, double t, const Workspace& w,
                            const std::function<void(bool, int, int, int, int, double)>& visit);

} // namespace linkwork
