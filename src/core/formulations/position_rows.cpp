#include "position_rows.hpp"

namespace linkwork {

template <class Scalar> void PositionRows::add(SparseSystem<Scalar>& matrix, Scalar c, int velocity) const {
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

template <class Scalar> void PositionRows::fill_side(const Scalar* r, Scalar c, Scalar* side, Scalar* normal) const {
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

template <class Scalar>
void PositionRows::take(const Scalar* displacement, const Scalar* normal, Scalar c, Scalar* r) const {
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

template void PositionRows::add(SparseSystem<double>&, double, int) const;
template void PositionRows::add(SparseSystem<std::complex<double>>&, std::complex<double>, int) const;
template void PositionRows::fill_side(const double*, double, double*, double*) const;
template void PositionRows::fill_side(const std::complex<double>*, std::complex<double>, std::complex<double>*,
                                      std::complex<double>*) const;
template void PositionRows::take(const double*, const double*, double, double*) const;
template void PositionRows::take(const std::complex<double>*, const std::complex<double>*, std::complex<double>,
                                 std::complex<double>*) const;

} // namespace linkwork
