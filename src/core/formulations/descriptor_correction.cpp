#include "descriptor_correction.hpp"

#include <algorithm>

namespace linkwork {

Status DescriptorCorrection::calc(double t, const Accelerations& engine) {
    slopes.calc(tables, t, engine.w);
    if (engine.w.user_failed) return Status::user_error;
    jacobian = engine.w.jacobian;
    if (active != engine.w.active) real.analysed = complex.analysed = false; // other unit pivots, another pattern
    active = engine.w.active;
    return Status::success;
}

// The pattern holds every entry that may be there, so that it is analysed once.
template <class Scalar> bool DescriptorCorrection::factor(System<Scalar>& system, Scalar c_a, Scalar c_v) {
    std::vector<Eigen::Triplet<Scalar>> entries;
    const int nv = tables.nv, size = nv + tables.rows_count;
    for (const Body& b : tables.bodies)
        for (int i = 0; i < b.nv; ++i)
            for (int j = 0; j < b.nv; ++j) entries.emplace_back(b.v + i, b.v + j, c_a * calc_mass_entry(b, i, j));
    slopes.for_each_entry([&](int row, int column, double stiffness, double damping) {
        entries.emplace_back(row, column, -c_v * damping - stiffness);
    });
    for (const Part& part : tables.parts) {
        const Body& b = tables.bodies[part.body];
        const Block& block = tables.blocks[part.block];
        for (int r = 0; r < block.rows; ++r) {
            const int row = block.row + r;
            for (int k = 0; k < b.nv; ++k) {
                const double value = active[row] * jacobian[part.offset + r * b.nv + k];
                entries.emplace_back(nv + row, b.v + k, Scalar(value));
                entries.emplace_back(b.v + k, nv + row, Scalar(value));
            }
        }
    }
    for (int i = 0; i < tables.rows_count; ++i)
        if (active[i] == 0) entries.emplace_back(nv + i, nv + i, Scalar(1.0));
    system.matrix.resize(size, size);
    system.matrix.setFromTriplets(entries.begin(), entries.end());
    if (!system.analysed) system.lu.analyzePattern(system.matrix);
    system.analysed = true;
    system.side.resize(size);
    system.lu.factorize(system.matrix);
    return system.lu.info() == Eigen::Success;
}

bool DescriptorCorrection::factor(double c_a, double c_v) { return factor(real, c_a, c_v); }
bool DescriptorCorrection::factor(std::complex<double> c_a, std::complex<double> c_v) {
    return factor(complex, c_a, c_v);
}

template <class Scalar>
void DescriptorCorrection::solve(System<Scalar>& system, const Scalar* tangent, const Scalar* tangent_1, Scalar* d) {
    system.side.setZero();
    for (const Body& b : tables.bodies)
        for (int i = 0; i < b.nv; ++i)
            for (int j = 0; j < b.nv; ++j) system.side[b.v + i] += calc_mass_entry(b, i, j) * tangent[b.v + j];
    if (tangent_1)
        slopes.for_each_entry(
            [&](int row, int column, double, double damping) { system.side[row] -= damping * tangent_1[column]; });
    const Eigen::Matrix<Scalar, -1, 1> answer = system.lu.solve(system.side);
    std::copy_n(answer.data(), tables.nv, d);
}

void DescriptorCorrection::solve(const double* tangent, const double* tangent_1, double* d) {
    solve(real, tangent, tangent_1, d);
}
void DescriptorCorrection::solve(const std::complex<double>* tangent, const std::complex<double>* tangent_1,
                                 std::complex<double>* d) {
    solve(complex, tangent, tangent_1, d);
}

} // namespace linkwork
