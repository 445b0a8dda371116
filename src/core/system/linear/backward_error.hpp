// How well (x, y) solves [M J^T; J 0] [x; y] = [f; g]: the only honest test of an elimination order.
#pragma once

#include "../linear.hpp"

namespace linkwork {

// Largest residual relative to the largest sum of magnitudes |A| |z| + |b|; the larger of the body and the constraint
// rows, which differ in units.
double calc_backward_error(const Pattern& pattern, const double* jacobian, const double* active, const double* x,
                           const double* y, const double* f, const double* g);

// f -= M x + J^T y, g -= J x for the active rows: the residual, for a step of refinement. No allocation.
void subtract_product(const Pattern& pattern, const double* jacobian, const double* active, const double* x,
                      const double* y, double* f, double* g);

} // namespace linkwork
