// Coordinate projection: an accepted state is brought back onto the constraints by the shortest corrections in the
// metric of the kinetic energy [petzold 2], [negrut 1],
//     min d^T M d  with  J d = -Phi,        min d^T M d  with  J (v + d) = -Phi_t.
// Both are the linear question of the accelerations, asked of the factorization at hand.
//
// Where a constraint_tolerance is given, states whose violations of positions and velocities (per second) are below it
// are left as they are, and steps that end with violations above max(2 tol, sqrt(tol)), from which the nearest state
// with constraints fulfilled is not the one that was meant, are refused and tried again, shorter. The rule is that of
// Simbody's integrators, which take what leads away from the constraints out of the errors of steps as well
// (project_error of the formulation projection; it saves steps, but loses more accuracy than they are worth).
#pragma once

#include <vector>

#include "accelerations.hpp"

namespace linkwork {

class CoordinateProjection {
public:
    CoordinateProjection(Accelerations& engine, const FormulationOptions& options);

    // Both projections, or none: when violations are below constraint_tolerance, or so large that the step is refused.
    // After engine.calc at (t, q, v). change becomes `small` where q or v moved.
    Status restore(double t, double* q, double* v, Change& change);
    // After engine.calc at (t, q, v), or near it. change becomes `small` where q or v moved.
    Status project_position(double t, double* q, Change& change);
    // After project_position, at the position that it left in the workspace.
    void project_velocity(double t, double* v, Change& change);
    // e := the nearest vector with J e = 0, by the factorization at hand: [M J^T; J 0][e'; mu] = [M e; 0].
    void project_direction(double* e);

private:
    double calc_violation(double t, const double* q, const double* v);

    const Tables& tables;
    Accelerations& engine;
    const double tolerance;         // of corrections of positions, and of the violations of velocities
    const double bearable, extreme; // violations up to which nothing is done, and beyond which a step is refused
    std::vector<double> d, y;
};

} // namespace linkwork
