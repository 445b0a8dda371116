// The choice of independent coordinates.
#pragma once

#include <vector>

#include "../system/equations.hpp"

namespace linkwork {

// Row of N(q) that belongs to position coordinate k of the body, in the body's velocity coordinates.
void calc_pin_row(const Body& body, const double* q, int k, double* row);

// Independent entries of q, ascending: those a column-pivoted QR factorization of the constraint Jacobian over q (with
// the normalizations of the Euler parameters as rows) leaves over, so that the dependent columns are well conditioned.
// Large models take a sparse elimination instead (dependent_columns.hpp), of order n on chains and trees.
// Columns with large pivots become dependent: a small rotation_weight makes rotations independent where they can be.
// Lengths of rotations against translations are evened out for each body by itself, or for all by one factor: then
// the rotations of the shortest bodies stay, of the crank that turns rather than of the rocker that turns back.
// Needs the Jacobian of the workspace at q.
std::vector<int> find_independent(const Tables& tables, const Workspace& w, const double* q, double rotation_weight,
                                  bool by_body);

} // namespace linkwork
