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
//
// Scaling. With c_a ~ 1/h^2 the blocks M / h^2 and J drift apart as h goes to 0, and so do displacements (h^2) and
// multipliers (1). Divided by c_a, with z = mu / c_a in place of mu, the matrix is
//     [M - (c_v / c_a) C - K / c_a, J^T; J, 0] [d; z] = [r / c_a; s],
// which goes to that of the accelerations, [M J^T; J 0], and is as well conditioned [bottasso-bauchau-cardona 2007].
#pragma once

#include <complex>
#include <vector>

#include "../system/linear/sparse_blocks.hpp"
#include "accelerations.hpp"
#include "chosen_slopes.hpp"

namespace linkwork {

class DescriptorCorrection {
public:
    DescriptorCorrection(const Tables& tables, const FormulationOptions& options)
        : tables(tables), chosen(tables, options) {}

    // K, C and J at the state of the engine's workspace; kept until called again.
    Status calc(double t, Accelerations& engine);
    // With a turn the masses of bodies that rotate count as M (I + turn w~), w~ d = w x d: where displacements d at the
    // end of a step are wanted and accelerations answer to the rotation vector of the whole step.
    bool factor(double c_a, double c_v, double turn = 0);
    bool factor(std::complex<double> c_a, std::complex<double> c_v);
    // d from the tangents H (c r1 + r2) and H r1, in velocity coordinates; or from H r and null
    void solve(const double* tangent, const double* tangent_1, double* d);
    void solve(const std::complex<double>* tangent, const std::complex<double>* tangent_1, std::complex<double>* d);
    // r := (d, mu) with [c_a M - c_v C - K, J^T; J, 0] (d, mu) = r; dropped rows are left out, their mu is 0
    void solve_whole(double* r);

    int analyses() const { return real.matrix.analyses() + complex.matrix.analyses(); }

private:
    template <class Scalar> struct System {
        SparseSystem<Scalar> matrix;
        std::vector<Scalar> side;
        Scalar scale = 1; // 1 / c_a
    };
    template <class Scalar> bool factor(System<Scalar>& system, Scalar c_a, Scalar c_v, double turn);
    template <class Scalar>
    void solve(System<Scalar>& system, const Scalar* tangent, const Scalar* tangent_1, Scalar* d);

    const Tables& tables;
    ChosenSlopes chosen;
    const Slopes& slopes = chosen.slopes;
    std::vector<double> jacobian, active;
    std::vector<double> spin; // of the bodies that rotate, three each
    System<double> real;
    System<std::complex<double>> complex;
};

} // namespace linkwork
