// The rows of q' = N(q) u in Newton's matrix c B - f_x, in displacements d of the bodies (dq = N d for |p| = 1), for
// formulations on all coordinates:
//     c d + .. - du = r_q
// Euler parameters. q' = N u reads p' = 1/2 p * w as a product of quaternions, w the rotational part of u in body axes.
// With dp = 1/2 p * e + eps p and p * e * w = -(e.w) p + p * (e x w),
//     c e + 1/2 w x e - eps w - de = e_r,      c eps + 1/4 e.w = eps_r,      r_p = 1/2 p * e_r + eps_r p
// where de is the rotational part of du. Poses do not depend on the length of p, so eps appears here only and goes:
// (c + [w x]/2 + w w^T / (4 c)) e - de = e_r + w eps_r / c. This is exact at any length of p.
#pragma once

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
    template <class Scalar> void add(SparseSystem<Scalar>& matrix, Scalar c, int velocity) const {
        for (const Body& b : tables.bodies) {
            for (int i = 0; i < b.nv; ++i) {
                matrix.add(b.v + i, b.v + i, Scalar(1));
                matrix.add(b.v + i, velocity + b.v + i, Scalar(-1));
            }
            if (b.kind != body_rigid) continue;
            const Vec w = spin_of(b);
            const double across[3][3] = {{0, -w.z, w.y}, {w.z, 0, -w.x}, {-w.y, w.x, 0}};
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j)
                    matrix.add(b.v + 3 + i, b.v + 3 + j, 0.5 * across[i][j] / c + 0.25 * w[i] * w[j] / (c * c));
        }
    }

    // side := r_q as displacements; normal: eps_r per body
    template <class Scalar> void fill_side(const Scalar* r, Scalar c, Scalar* side, Scalar* normal) const {
        for (std::size_t k = 0; k < tables.bodies.size(); ++k) {
            const Body& b = tables.bodies[k];
            for (int i = 0; i < b.nv && i < 3; ++i) side[b.v + i] = r[b.q + i];
            if (b.kind != body_rigid) continue;
            const double* p = parameters_of(b);
            const Scalar* r_p = r + b.q + 3;
            const double square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
            Scalar along(0);
            for (int i = 0; i < 4; ++i) along += p[i] * r_p[i] / square;
            normal[k] = along;
            const Scalar own[4] = {Scalar(p[0]), Scalar(p[1]), Scalar(p[2]), Scalar(p[3])};
            const Vec3<Scalar> turn = calc_spin(own, r_p);
            const Vec w = spin_of(b);
            for (int i = 0; i < 3; ++i) side[b.v + 3 + i] = turn[i] / square + w[i] * along / c;
        }
    }

    // r := dq from c d and the part along p
    template <class Scalar> void take(const Scalar* displacement, const Scalar* normal, Scalar c, Scalar* r) const {
        for (std::size_t k = 0; k < tables.bodies.size(); ++k) {
            const Body& b = tables.bodies[k];
            const Scalar* d = displacement + b.v;
            for (int i = 0; i < b.nv && i < 3; ++i) r[b.q + i] = d[i] / c;
            if (b.kind != body_rigid) continue;
            const double* p = parameters_of(b);
            const Vec w = spin_of(b);
            const Vec3<Scalar> e{d[3] / c, d[4] / c, d[5] / c};
            const Scalar along = (normal[k] - 0.25 * (w.x * e.x + w.y * e.y + w.z * e.z)) / c;
            const Scalar own[4] = {Scalar(p[0]), Scalar(p[1]), Scalar(p[2]), Scalar(p[3])};
            Scalar step[4];
            calc_parameter_rate(own, e, step);
            for (int i = 0; i < 4; ++i) r[b.q + 3 + i] = step[i] + along * p[i];
        }
    }

private:
    const Tables& tables;
    std::vector<double> parameters, spin; // q and u
};

} // namespace linkwork
