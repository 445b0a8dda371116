// The rows of q' = N(q) u in Newton's matrix c B - f_x, in displacements d of the bodies (dq = N d for |p| = 1), for
// formulations on all coordinates:
//     c d + .. - du = r_q
// Euler parameters. q' = N u reads p' = 1/2 p * w as a product of quaternions, w the rotational part of u in body axes.
// With dp = 1/2 p * e + eps p and p * e * w = -(e.w) p + p * (e x w),
//     c e + 1/2 w x e - eps w - de = e_r,      c eps + 1/4 e.w = eps_r,      r_p = 1/2 p * e_r + eps_r p
// where de is the rotational part of du. Poses do not depend on the length of p, so eps appears here only and goes:
// (c + [w x]/2 + w w^T / (4 c)) e - de = e_r + w eps_r / c. This is exact at any length of p.
#pragma once

#include <complex>
#include <vector>

#include "../system/linear/sparse_blocks.hpp"

namespace linkwork {

class PositionRows {
public:
    explicit PositionRows(const Tables& tables) : tables(tables) {}

    void place(const double* q, const double* u) {
        parameters.assign(q, q + tables.nq);
        spin.assign(u, u + tables.nv);
    }
    const double* parameters_of(const Body& body) const { return parameters.data() + body.q + 3; }
    Vec spin_of(const Body& body) const { return {spin[body.v + 3], spin[body.v + 4], spin[body.v + 5]}; }

    // The rows from row 0 on, for the unknowns c d in the columns from 0 on and dv in those from `velocity` on.
    template <class Scalar> void add(SparseSystem<Scalar>& matrix, Scalar c, int velocity) const;

    // side := r_q as displacements; normal: eps_r per body
    template <class Scalar> void fill_side(const Scalar* r, Scalar c, Scalar* side, Scalar* normal) const;

    // r := dq from c d and the part along p
    template <class Scalar> void take(const Scalar* displacement, const Scalar* normal, Scalar c, Scalar* r) const;

private:
    const Tables& tables;
    std::vector<double> parameters, spin; // q and u
};

} // namespace linkwork
