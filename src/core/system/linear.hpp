// One linear question, asked of any solver:  [M J^T; J 0] [x; y] = [f; g].
//
// Accelerations and multipliers, position and velocity recovery, projections: all are this system with other right
// sides and, for partitioning, with further constraint blocks that pin the independent coordinates. The graph is given
// by a Pattern, values by the block Jacobian of the workspace. Rows with active = 0 are taken out: their y is 0.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tables.hpp"

namespace linkwork {

struct Pattern {
    std::vector<Body> bodies;  // mass, inertia, v, nv; nv = 0 for the ground
    std::vector<Block> blocks; // at most 6 rows each
    std::vector<Part> parts;   // parts of the ground (nv = 0) are to be skipped
    int nv = 0, rows = 0;
};
Pattern build_pattern(const Tables& tables);

struct LinearFacts {                          // what `linkwork bench linear` prints
    double multiply_adds = 0;                 // of one factorization
    int bandwidth = 0, profile = 0, work = 0; // of reduced_band [serban (24)-(27)], in blocks; rows elsewhere
    int analyses = 0;                         // how often the order was found (again)
    int fallbacks = 0;                        // factorizations done by the pivoting fallback
};

struct LinearSolver {
    virtual ~LinearSolver() = default;
    // Finds structure and order at these values; allocates everything. False: singular although dependent rows are
    // inactive.
    virtual bool analyse(const double* jacobian, const double* active) = 0;
    // Numeric factorization; no allocation unless the pivots have decayed and the order is found again. False:
    // singular.
    virtual bool factor(const double* jacobian, const double* active) = 0;
    // In place: x holds f (nv) and becomes x, y holds g (rows) and becomes y. No allocation.
    virtual void solve(double* x, double* y) = 0;
    // The same without refinement, for iterations that refine their solutions themselves.
    virtual void solve_unrefined(double* x, double* y) { solve(x, y); }
    // The same as solve for `count` right sides, one after the other in x (count x nv) and y (count x rows).
    virtual void solve_many(double* x, double* y, int count) = 0;
    // Smallest pivot of the last factorization relative to the one at analysis: 1 is healthy, 0 singular.
    virtual double pivot_ratio() const = 0;
    virtual LinearFacts facts() const = 0;
};

// name: "topology", "reduced_band", "augmented_sparse", "augmented_dense"
std::unique_ptr<LinearSolver> build_linear_solver(const std::string& name, const Pattern& pattern);

// Rows of J that depend on earlier ones at these values, by a rank-revealing factorization (dense for small systems,
// sparse for large ones): active[i] = 0 for them, 1 else. Returns the rank. `tolerance` is relative to the row's own
// length. Rows with engaged = 0 are left out and counted as inactive; null: all are engaged.
int find_active_rows(const Pattern& pattern, const double* jacobian, double tolerance, double* active,
                     const double* engaged = nullptr);

} // namespace linkwork
