// Newton corrections of large systems in descriptor form, without reduced Jacobians: of order n on chains and trees.
//
// Wanted is (c I - J)^-1 r for x = (y, y'), r = (r1, r2). Unit chart coordinates move bodies by tangents, d = H y
// (reduced.hpp). With u = c d - H r1 and b = c u - H r2 for the changes of velocities and accelerations, M b + J^T mu =
// K d + C u becomes
//     [c^2 M - c C - K, J^T; J, 0] [d; mu] = [M H (c r1 + r2) - C H r1; 0],      y = chart(d), y' = c y - r1.
// In the same way (c_a I - c_v J2 - J1) w = r is [c_a M - c_v C - K, J^T; J, 0] [d; mu] = [M H r; 0], w = chart(d).
// Left out are the terms by which tangents turn while bodies move, (J v)_q, G and H of slopes.hpp: they are of order v
// / c against the rest, so this is Newton's method with a matrix that is off by O(h v). Its convergence is watched like
// that of a kept Jacobian.
#pragma once

#include <complex>
#include <vector>

#include "../system/linear/sparse_blocks.hpp"
#include "../system/slopes.hpp"
#include "accelerations.hpp"

namespace linkwork {

class DescriptorCorrection {
public:
    explicit DescriptorCorrection(const Tables& tables) : tables(tables), slopes(tables) {}

    // K, C and J at the state of the engine's workspace; kept until called again.
    Status calc(double t, const Accelerations& engine);
    bool factor(double c_a, double c_v);
    bool factor(std::complex<double> c_a, std::complex<double> c_v);
    // d from the tangents H (c r1 + r2) and H r1, in velocity coordinates; or from H r and null
    void solve(const double* tangent, const double* tangent_1, double* d);
    void solve(const std::complex<double>* tangent, const std::complex<double>* tangent_1, std::complex<double>* d);

private:
    template <class Scalar> struct System {
        SparseSystem<Scalar> matrix;
        std::vector<Scalar> side;
    };
    template <class Scalar> bool factor(System<Scalar>& system, Scalar c_a, Scalar c_v);
    template <class Scalar>
    void solve(System<Scalar>& system, const Scalar* tangent, const Scalar* tangent_1, Scalar* d);

    const Tables& tables;
    Slopes slopes;
    std::vector<double> jacobian, active;
    System<double> real;
    System<std::complex<double>> complex;
};

} // namespace linkwork
