// Coordinate projection: an accepted state is brought back onto the constraints by the shortest corrections in the
// metric of the kinetic energy [petzold 2], [negrut 1],
//     min d^T M d  with  J d = -Phi,        min d^T M d  with  J (v + d) = -Phi_t.
// Both are the linear question of the accelerations, asked of the factorization at hand.
#pragma once

#include <vector>

#include "accelerations.hpp"

namespace linkwork {

class CoordinateProjection {
public:
    // tolerance: of corrections of positions, and of the violations of velocities
    CoordinateProjection(Accelerations& engine, double tolerance)
        : tables(engine.tables), engine(engine), tolerance(tolerance), d(tables.nv), y(tables.rows_count) {}

    // After engine.calc at (t, q, v), or near it. change becomes `small` where q or v moved.
    Status project_position(double t, double* q, Change& change);
    // After project_position, at the position that it left in the workspace.
    void project_velocity(double t, double* v, Change& change);
    // e := the nearest vector with J e = 0, by the factorization at hand: [M J^T; J 0][e'; mu] = [M e; 0].
    void project_direction(double* e);

private:
    const Tables& tables;
    Accelerations& engine;
    const double tolerance;
    std::vector<double> d, y;
};

} // namespace linkwork
