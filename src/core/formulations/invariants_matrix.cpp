#include "invariants_matrix.hpp"

#include <algorithm>

#include "../system/linear/masses.hpp"

namespace linkwork {

InvariantsMatrix::InvariantsMatrix(const Tables& tables, const FormulationOptions& options, const InvariantsKept& kept)
    : tables(tables), kept(kept), chosen(tables, options), positions(tables) {}

Status InvariantsMatrix::calc(double t, const double* q, const double* u, Accelerations& engine) {
    const Status status = chosen.calc(t, engine);
    if (status != Status::success) return status;
    jacobian = engine.w.jacobian;
    directions = jacobian;
    active = engine.w.active;
    positions.place(q, u);
    if (!kept.by_mass) return status;
    for (const Part& part : tables.parts) {
        const Body& b = tables.bodies[part.body];
        double inverse[36];
        calc_inverse_mass(b, inverse);
        for (int r = 0; r < tables.blocks[part.block].rows; ++r) {
            const double* J = jacobian.data() + part.offset + r * b.nv;
            double* P = directions.data() + part.offset + r * b.nv;
            for (int i = 0; i < b.nv; ++i) {
                P[i] = 0;
                for (int j = 0; j < b.nv; ++j) P[i] += inverse[i * b.nv + j] * J[j];
            }
        }
    }
    return status;
}

template <class Scalar> bool InvariantsMatrix::factor(System<Scalar>& system, Scalar c) {
    const int nv = tables.nv, m = tables.rows_count;
    const int velocity = nv, acceleration = 2 * nv, force = 3 * nv;
    const Scalar one(1);
    system.c = c;
    SparseSystem<Scalar>& matrix = system.matrix;
    matrix.begin(3 * nv + (kept.velocities ? 3 : 2) * m);
    positions.add(matrix, c, velocity);
    for (int i = 0; i < nv; ++i) {
        matrix.add(velocity + i, velocity + i, one);
        matrix.add(velocity + i, acceleration + i, -one);
    }
    add_mass(matrix, tables, acceleration, acceleration, one);
    slopes.for_each_entry([&](int row, int column, double stiffness, double damping) {
        matrix.add(acceleration + row, column, -stiffness / (c * c));
        matrix.add(acceleration + row, velocity + column, -damping / c);
    });
    add_transpose(matrix, tables, jacobian.data(), active.data(), acceleration, force, one);
    add_jacobian(matrix, tables, jacobian.data(), active.data(), force, acceleration, one);
    add_jacobian(matrix, tables, slopes.G.data(), active.data(), force, 0, -one / (c * c));
    add_jacobian(matrix, tables, slopes.H.data(), active.data(), force, velocity, -one / c);
    for (int i = 0; i < m; ++i) matrix.add(force + i, force + i, Scalar(1 - active[i]));
    add_multipliers(system);
    system.side.resize(3 * nv + 3 * m);
    system.normal.resize(tables.bodies.size());
    return matrix.factor();
}

// What mu and tau do, and what they are there for.
template <class Scalar> void InvariantsMatrix::add_multipliers(System<Scalar>& system) {
    const int nv = tables.nv, m = tables.rows_count;
    const int velocity = nv, stray = 3 * nv + m, spill = stray + m;
    const Scalar one(1), c = system.c;
    SparseSystem<Scalar>& matrix = system.matrix;
    add_transpose(matrix, tables, directions.data(), active.data(), 0, stray, one);
    add_jacobian(matrix, tables, jacobian.data(), active.data(), stray, 0, one);
    for (int i = 0; i < m; ++i) matrix.add(stray + i, stray + i, Scalar(1 - active[i]));
    if (!kept.velocities) return;
    add_transpose(matrix, tables, directions.data(), active.data(), velocity, spill, one);
    if (kept.curvature) add_transpose(matrix, tables, slopes.Jv_q.data(), active.data(), 0, spill, c);
    add_jacobian(matrix, tables, jacobian.data(), active.data(), spill, velocity, one);
    add_jacobian(matrix, tables, slopes.Jv_q.data(), active.data(), spill, 0, one / c);
    for (int i = 0; i < m; ++i) matrix.add(spill + i, spill + i, Scalar(1 - active[i]));
}

template <class Scalar>
void InvariantsMatrix::solve(System<Scalar>& system, Scalar* r, Scalar* of_position, Scalar* of_velocity) {
    const int nv = tables.nv, m = tables.rows_count;
    const Scalar c = system.c;
    Scalar *displacement = system.side.data(), *velocity = displacement + nv, *rest = velocity + nv;
    Scalar *stray = rest + nv + m, *spill = stray + m;
    positions.fill_side(r, c, displacement, system.normal.data());
    for (int i = 0; i < nv; ++i) velocity[i] = r[tables.nq + i] / c;
    std::fill(rest, stray, Scalar(0));
    for (int i = 0; i < m; ++i) {
        const bool on = active[i] != 0.0;
        stray[i] = on ? c * of_position[i] : of_position[i];
        if (kept.velocities) spill[i] = on ? of_velocity[i] : of_velocity[i] / c;
    }
    system.matrix.solve(system.side.data());
    positions.take(displacement, system.normal.data(), c, r);
    std::copy_n(velocity, nv, r + tables.nq);
    std::copy_n(stray, m, of_position);
    if (!kept.velocities) return;
    for (int i = 0; i < m; ++i) of_velocity[i] = c * spill[i];
}

template bool InvariantsMatrix::factor(System<double>&, double);
template bool InvariantsMatrix::factor(System<std::complex<double>>&, std::complex<double>);
template void InvariantsMatrix::solve(System<double>&, double*, double*, double*);
template void InvariantsMatrix::solve(System<std::complex<double>>&, std::complex<double>*, std::complex<double>*,
                                      std::complex<double>*);

} // namespace linkwork
