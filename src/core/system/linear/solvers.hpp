// The implementations behind build_linear_solver, one builder per method.
#pragma once

#include <memory>

#include "../linear.hpp"

namespace linkwork {

std::unique_ptr<LinearSolver> build_topology(const Pattern& pattern);
std::unique_ptr<LinearSolver> build_reduced_band(const Pattern& pattern, bool renumber);
std::unique_ptr<LinearSolver> build_augmented_sparse(const Pattern& pattern);
std::unique_ptr<LinearSolver> build_augmented_dense(const Pattern& pattern);

// solve_many of the solvers that take right sides one by one.
inline void solve_each(LinearSolver& solver, const Pattern& pattern, double* x, double* y, int count) {
    for (int k = 0; k < count; ++k, x += pattern.nv, y += pattern.rows) solver.solve(x, y);
}

} // namespace linkwork
