// The linear question where rows may depend on each other, without deciding which: every row may give way a little.
//
// [M J^T; J -eps I][x; y] = [f; g - eps y_0] has a solution whatever the rank of J. It is the plain question for bodies
// with a slack s to each joint,
//     J x + s = g,   s / eps + y = y_0,
// a body of mass 1/eps that the joint holds as well, so every solver answers it as it is. Solved again with y_0 := y
// the rows give way by eps (y - y_0): from y_0 = 0 this converges to the x of the plain question and, since all y - y_0
// lie in the range of J, to the shortest y [compare the method of multipliers, Hestenes 1969; Arrow, Hurwicz and
// Uzawa]. A direction that J keeps with a singular value sigma of J M^-1/2 gains a factor eps / (eps + sigma^2) each
// time.
#pragma once

#include "solvers.hpp"

namespace linkwork {

// name: of the solver that answers, as of build_linear_solver.
std::unique_ptr<LinearSolver> build_regularized(const std::string& name, const Pattern& pattern);

} // namespace linkwork
