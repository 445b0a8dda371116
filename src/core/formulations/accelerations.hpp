// Accelerations and multipliers of one state, and the watch over the rank of the constraints: shared by all
// formulations.
#pragma once

#include <memory>
#include <vector>

#include "../system/equations.hpp"
#include "../system/linear.hpp"
#include "contract.hpp"
#include "rank_watch.hpp"

namespace linkwork {

class Accelerations {
public:
    Accelerations(const Tables& tables, const FormulationOptions& options);

    // Finds dependent rows at (t, q) and analyses the linear system there.
    Status prepare(double t, const double* q);
    // The same with the active rows given (1 active, 0 dropped).
    Status prepare_with(double t, const double* q, const int* active);
    // Stages up to v' and lambda at (t, q, v). With alpha, beta the accelerations are asked to damp violations as well:
    // J v' = gamma - 2 alpha (J v - target) - beta^2 Phi [negrut (6)].
    Status calc(double t, const double* q, const double* v, double alpha = 0, double beta = 0);
    // Multipliers of the last calc; among those that give the same motion, the shortest (dependent rows only).
    const double* calc_multipliers();
    // Called at accepted states after calc: nearness to singular positions, and dropped rows. rank_changed: the set of
    // dropped rows is a new one.
    Status watch(double t, bool& rank_changed);

    // [M J^T; J 0][x; y] = [f; g] with the factorization of the last calc
    void solve(double* x, double* y) { ++facts.linear_solves, solver->solve(x, y); }
    void solve_many(double* x, double* y, int count) { facts.linear_solves += count, solver->solve_many(x, y, count); }

    // The counts so far, those of a second solver (of a chart) included.
    FormulationFacts calc_facts(const LinearSolver* other = nullptr) const;

    const Tables& tables;
    Workspace w;
    Pattern pattern;
    std::unique_ptr<LinearSolver> solver;
    FormulationFacts facts;
    double rank_tolerance;
    std::vector<int> dropped; // dependent rows at the last prepare; none where all rows are regularized
    int rank = 0;

private:
    Status analyse();
    void look(double t);

    // redundant = "regularize": all rows are active, and rank is watched on the independent ones
    std::unique_ptr<LinearSolver> watched;
    std::vector<double> independent;
    RankWatch nearness;
    std::vector<double> multipliers, null_rows, x, y, found;
};

} // namespace linkwork
