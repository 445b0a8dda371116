#include "descriptor_correction.hpp"

#include <algorithm>

namespace linkwork {

Status DescriptorCorrection::calc(double t, Accelerations& engine) {
    const Status status = chosen.calc(t, engine);
    if (status != Status::success) return status;
    jacobian = engine.w.jacobian;
    active = engine.w.active;
    spin.resize(3 * tables.bodies.size());
    for (std::size_t i = 0; i < tables.bodies.size(); ++i) {
        const Vec& w = engine.w.twist[i].w;
        spin[3 * i] = w.x, spin[3 * i + 1] = w.y, spin[3 * i + 2] = w.z;
    }
    return status;
}

namespace {

// turn M w~ of all bodies that rotate: (I w~)_ij = I_i,j+1 w_j+2 - I_i,j+2 w_j+1, axes counted on from the third
template <class Scalar>
void add_turning_mass(SparseSystem<Scalar>& matrix, const Tables& tables, const double* spin, double turn) {
    for (const Body& b : tables.bodies) {
        if (b.kind == body_rigid)
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) {
                    const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
                    const double entry = b.inertia[i][j1] * spin[j2] - b.inertia[i][j2] * spin[j1];
                    matrix.add(b.v + 3 + i, b.v + 3 + j, Scalar(turn * entry));
                }
        spin += 3;
    }
}

} // namespace

template <class Scalar> bool DescriptorCorrection::factor(System<Scalar>& system, Scalar c_a, Scalar c_v, double turn) {
    const int nv = tables.nv, size = nv + tables.rows_count;
    SparseSystem<Scalar>& matrix = system.matrix;
    matrix.begin(size);
    system.scale = Scalar(1) / c_a;
    const Scalar of_velocity = c_v / c_a;
    add_mass(matrix, tables, 0, 0, Scalar(1));
    if (turn != 0) add_turning_mass(matrix, tables, spin.data(), turn);
    slopes.for_each_entry([&](int row, int column, double stiffness, double damping) {
        matrix.add(row, column, -of_velocity * damping - system.scale * stiffness);
    });
    add_jacobian(matrix, tables, jacobian.data(), active.data(), nv, 0, Scalar(1));
    add_transpose(matrix, tables, jacobian.data(), active.data(), 0, nv, Scalar(1));
    for (int i = 0; i < tables.rows_count; ++i) matrix.add(nv + i, nv + i, Scalar(1 - active[i]));
    system.side.resize(size);
    return matrix.factor();
}

bool DescriptorCorrection::factor(double c_a, double c_v, double turn) { return factor(real, c_a, c_v, turn); }
bool DescriptorCorrection::factor(std::complex<double> c_a, std::complex<double> c_v) {
    complex.matrix.take_order(real.matrix);
    return factor(complex, c_a, c_v, 0.0);
}

template <class Scalar>
void DescriptorCorrection::solve(System<Scalar>& system, const Scalar* tangent, const Scalar* tangent_1, Scalar* d) {
    std::fill(system.side.begin(), system.side.end(), Scalar(0));
    for (const Body& b : tables.bodies)
        for (int i = 0; i < b.nv; ++i)
            for (int j = 0; j < b.nv; ++j) system.side[b.v + i] += calc_mass_entry(b, i, j) * tangent[b.v + j];
    if (tangent_1)
        slopes.for_each_entry(
            [&](int row, int column, double, double damping) { system.side[row] -= damping * tangent_1[column]; });
    for (int i = 0; i < tables.nv; ++i) system.side[i] *= system.scale;
    system.matrix.solve(system.side.data());
    std::copy_n(system.side.begin(), tables.nv, d);
}

void DescriptorCorrection::solve(const double* tangent, const double* tangent_1, double* d) {
    solve(real, tangent, tangent_1, d);
}
void DescriptorCorrection::solve(const std::complex<double>* tangent, const std::complex<double>* tangent_1,
                                 std::complex<double>* d) {
    solve(complex, tangent, tangent_1, d);
}

void DescriptorCorrection::solve_whole(double* r) {
    double* rows = r + tables.nv;
    for (int i = 0; i < tables.nv; ++i) r[i] *= real.scale;
    for (int i = 0; i < tables.rows_count; ++i) rows[i] *= active[i];
    real.matrix.solve(r);
    for (int i = 0; i < tables.rows_count; ++i) rows[i] /= real.scale;
}

} // namespace linkwork
