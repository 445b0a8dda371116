// Newton's matrix c B - f_x of the formulations that have the multipliers among their unknowns (multipliers.cpp),
//     q' = N(q) u,  u = v - J^T mu      M v' = f - J^T lambda      0 = -Phi_t - J v      0 = -Phi
// the last line and mu only where positions are stabilized. A correction (dq, dv, dlambda, dmu) solves, with
// displacements d of the bodies (dq = N d for |p| = 1),
//     c d + .. - dv + J^T dmu          = r_q          (position_rows.hpp)
//     (c M - C) dv - K d + J^T dlambda = r_v          K = f_q - (J^T lambda)_q, C = f_v     (slopes.hpp)
//     J dv + (J v)_q d                 = r_lambda
//     J d                              = r_mu
// (J^T mu)_q d is left out of the first line: mu is zero but for the error of the method [petzold (3)], FORMULAS 6.
//
// Scaling. In the unknowns c d, dv, dlambda / c, dmu and with the second line divided by c, the fourth multiplied by
// it, what depends on c vanishes as the step becomes small:
//     [I + [w x]/2c + w w^T/4c^2, -I, 0, J^T;  -K/c^2, M - C/c, J^T, 0;  (J v)_q / c, J, 0, 0;  J, 0, 0, 0]
// so the condition of the matrix is that of the mechanism and not 1/h^2. [arnold 3]: only the assembly knows c; what it
// is assembled from, the part of the matrix that does not depend on the step, is kept until `calc` is called again.
#pragma once

#include <complex>
#include <vector>

#include "../system/linear/sparse_blocks.hpp"
#include "chosen_slopes.hpp"
#include "position_rows.hpp"

namespace linkwork {

// What one unit of a multiplier in x stands for: it changes no velocity (position) by more than one unit per second.
struct MultiplierUnits {
    std::vector<double> lambda, mu; // [rows]
};

class MultiplierMatrix {
public:
    // stabilized: with mu and positions; options: solver, grouped, formalism
    MultiplierMatrix(const Tables& tables, const FormulationOptions& options, bool stabilized,
                     const MultiplierUnits& units);

    // K, C, J and (J v)_q at the pose, twist, Jacobian and lambda of the engine's workspace, p of q, w of u.
    Status calc(double t, const double* q, const double* u, Accelerations& engine);
    bool factor(double c) { return factor(real, c); }
    bool factor(std::complex<double> c) {
        complex.matrix.take_order(real.matrix);
        return factor(complex, c);
    }
    // r := (c B - f_x)^-1 r, r ordered as x
    void solve(double* r) { solve(real, r); }
    void solve(std::complex<double>* r) { solve(complex, r); }
    // f_x whole, row-major
    void fill_jacobian(double* out) const;
    int analyses() const { return real.matrix.analyses() + complex.matrix.analyses(); }

private:
    template <class Scalar> struct System {
        Scalar c = 0;
        SparseSystem<Scalar> matrix;
        std::vector<Scalar> side;   // the unknowns above
        std::vector<Scalar> normal; // eps_r per body
    };
    template <class Scalar> bool factor(System<Scalar>& system, Scalar c);
    template <class Scalar> void solve(System<Scalar>& system, Scalar* r);
    template <class Scalar> void fill_side(System<Scalar>& system, const Scalar* r);

    const Tables& tables;
    const MultiplierUnits& units;
    const bool stabilized, explicit_form;
    ChosenSlopes chosen;
    const Slopes& slopes = chosen.slopes;
    std::vector<double> jacobian, active;
    PositionRows positions;
    System<double> real;
    System<std::complex<double>> complex;
};

} // namespace linkwork
