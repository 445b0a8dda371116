// Blocks of the equations of motion as entries of a sparse system: M, J and J^T times a factor, beginning at (row,
// column). Rows of J that are not active are written as zeros, so that the pattern does not depend on which are.
#pragma once

#include "../equations.hpp"
#include "sparse_system.hpp"

namespace linkwork {

template <class Scalar>
void add_mass(SparseSystem<Scalar>& matrix, const Tables& tables, int row, int column, Scalar factor) {
    for (const Body& b : tables.bodies)
        for (int i = 0; i < b.nv; ++i)
            for (int j = 0; j < b.nv; ++j)
                matrix.add(row + b.v + i, column + b.v + j, factor * calc_mass_entry(b, i, j));
}

// visit(row of J, column of J, value) for all entries of a block Jacobian
template <class Visit>
void for_each_jacobian_entry(const Tables& tables, const double* jacobian, const double* active, Visit&& visit) {
    for (const Part& part : tables.parts) {
        const Body& b = tables.bodies[part.body];
        const Block& block = tables.blocks[part.block];
        for (int r = 0; r < block.rows; ++r)
            for (int k = 0; k < b.nv; ++k)
                visit(block.row + r, b.v + k, active[block.row + r] * jacobian[part.offset + r * b.nv + k]);
    }
}

template <class Scalar> void add_jacobian(SparseSystem<Scalar>& matrix, const Tables& tables, const double* jacobian,
                                          const double* active, int row, int column, Scalar factor) {
    for_each_jacobian_entry(tables, jacobian, active,
                            [&](int i, int j, double value) { matrix.add(row + i, column + j, factor * value); });
}

template <class Scalar> void add_transpose(SparseSystem<Scalar>& matrix, const Tables& tables, const double* jacobian,
                                           const double* active, int row, int column, Scalar factor) {
    for_each_jacobian_entry(tables, jacobian, active,
                            [&](int i, int j, double value) { matrix.add(row + j, column + i, factor * value); });
}

} // namespace linkwork
