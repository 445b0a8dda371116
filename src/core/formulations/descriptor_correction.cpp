#include "descriptor_correction.hpp"

#include <algorithm>

namespace linkwork {

Status DescriptorCorrection::calc(double t, const Accelerations& engine) {
    slopes.calc(tables, t, engine.w);
    if (engine.w.user_failed) return Status::user_error;
    jacobian = engine.w.jacobian;
    active = engine.w.active;
    return Status::success;
}

template <class Scalar> bool DescriptorCorrection::factor(System<Scalar>& system, Scalar c_a, Scalar c_v) {
    const int nv = tables.nv, size = nv + tables.rows_count;
    SparseSystem<Scalar>& matrix = system.matrix;
    matrix.begin(size);
    add_mass(matrix, tables, 0, 0, c_a);
    slopes.for_each_entry([&](int row, int column, double stiffness, double damping) {
        matrix.add(row, column, -c_v * damping - stiffness);
    });
    add_jacobian(matrix, tables, jacobian.data(), active.data(), nv, 0, Scalar(1));
    add_transpose(matrix, tables, jacobian.data(), active.data(), 0, nv, Scalar(1));
    for (int i = 0; i < tables.rows_count; ++i) matrix.add(nv + i, nv + i, Scalar(1 - active[i]));
    system.side.resize(size);
    return matrix.factor();
}

bool DescriptorCorrection::factor(double c_a, double c_v) { return factor(real, c_a, c_v); }
bool DescriptorCorrection::factor(std::complex<double> c_a, std::complex<double> c_v) {
    return factor(complex, c_a, c_v);
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

} // namespace linkwork
