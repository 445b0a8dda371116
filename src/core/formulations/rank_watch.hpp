// Watches how near the constraint Jacobian comes to losing rank along a run, and whether a step has led past such a
// position: mechanisms bifurcate there, and a step may jump over it without any residual telling.
//
// Three vectors g span the rows nearest to dependence, found by inverse iteration with J M^-1 J^T. Each solution gives
// x = J^+ g as well, the motion of least kinetic energy with J x = g. Afterwards S = G^T J x tells how J has changed in
// these directions: S is the identity where J has not, and where a singular value has gone through zero, an eigenvalue
// of S has changed its sign [compare Allgower and Georg 1990, ch. 8, on det J at simple bifurcations]. This also sees
// singular values that vanish in pairs, whose determinant keeps its sign. Steps over which an eigenvalue of S fell
// below 0.1 are noted; whether the rank was lost inside is found after the run (jacobian.py, find_crossings), where a
// direction that has merely turned is told apart.
#pragma once

#include <array>
#include <vector>

#include "../system/linear.hpp"
#include "contract.hpp"

namespace linkwork {

class RankWatch {
public:
    explicit RankWatch(const Tables& tables);
    // Forgets the directions: the state has jumped or other rows are active.
    void restart() { fresh = true; }
    // Forgets how far from dependence the rows have been, too: other joints may be switched on.
    void forget() { fresh = true, largest = 0; }
    // At an accepted state whose J is in `jacobian` and factored in `solver`.
    void look(double t, const double* jacobian, const double* active, LinearSolver& solver, FormulationFacts& facts);
    // Smallest eigenvalue of J M^-1 J^T at the last look relative to the largest such value of the run.
    double closeness() const { return largest > 0 ? weakest / largest : 1; }

private:
    static constexpr int directions = 3;
    void begin(const double* active);
    void calc_change(const double* jacobian);
    bool has_moved() const;
    void iterate(LinearSolver& solver, FormulationFacts& facts);
    void orthonormalize(std::vector<double>& vectors);

    const Tables& tables;
    int most = 0, count = 0; // directions wanted (0: trees of joints keep their rank), and those in use
    bool fresh = true;
    int idle = 0; // looks since the directions were found
    double weakest = 0, largest = 0;
    std::vector<double> g, x, y;    // directions, motions, and the directions they lead to: count x rows, nv, rows
    std::vector<double> work;       // [rows]
    std::array<double, 9> change{}; // S less its limit
};

// Whether some joint connects bodies that others connect already.
bool has_loops(const Tables& tables);

} // namespace linkwork
