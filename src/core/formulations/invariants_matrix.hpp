// Newton's matrix of the formulations that keep invariants of index 1 (invariants.cpp). A correction (dq, dv, dmu,
// dtau) solves, with displacements d of the bodies and accelerations b, multipliers l of the underlying equations
// (slopes.hpp), directions P = J, or P = J M^-1 in the metric of the masses,
//     c d + .. - dv + P^T dmu + L^T dtau = r_q          (position_rows.hpp)
//     c dv - b + P^T dtau                = r_v
//     M b + J^T l - K d - C dv           = 0
//     J b - G d - H dv                   = 0
//     J dv + (J v)_q d                   = r_tau        where velocities are kept
//     J d                                = r_mu
// L = (J v)_q [petzold (23)]; without curvature it is left out of the first line. Terms with mu and tau themselves are
// left out everywhere: both are zero but for the error of the method.
//
// Scaling. In the unknowns c d, dv, b / c, l / c, dmu, dtau / c what depends on c vanishes as the step becomes small,
// but for c L^T dtau / c, where it is wanted; the rows are scaled by the sparse system.
#pragma once

#include <complex>
#include <vector>

#include "chosen_slopes.hpp"
#include "position_rows.hpp"

namespace linkwork {

struct InvariantsKept {
    bool velocities = true; // and not positions alone
    bool curvature = true;  // L^T tau
    bool by_mass = false;   // directions by masses
};

class InvariantsMatrix {
public:
    InvariantsMatrix(const Tables& tables, const FormulationOptions& options, const InvariantsKept& kept);

    // Everything above at the pose, twist, accelerations and multipliers of the workspace, p of q, w of u.
    Status calc(double t, const double* q, const double* u, Accelerations& engine);
    bool factor(double c) { return factor(real, c); }
    bool factor(std::complex<double> c) { return factor(complex, c); }
    // r := (dq, dv) from (r_q, r_v); of_position, of_velocity := dmu, dtau from r_mu, r_tau. Where a row is off, r is
    // what its multiplier is to be.
    void solve(double* r, double* of_position, double* of_velocity) { solve(real, r, of_position, of_velocity); }
    void solve(std::complex<double>* r, std::complex<double>* of_position, std::complex<double>* of_velocity) {
        solve(complex, r, of_position, of_velocity);
    }

private:
    template <class Scalar> struct System {
        Scalar c = 0;
        SparseSystem<Scalar> matrix;
        std::vector<Scalar> side, normal;
    };
    template <class Scalar> bool factor(System<Scalar>& system, Scalar c);
    template <class Scalar> void solve(System<Scalar>& system, Scalar* r, Scalar* of_position, Scalar* of_velocity);
    template <class Scalar> void add_multipliers(System<Scalar>& system);

    const Tables& tables;
    const InvariantsKept kept;
    ChosenSlopes chosen;
    const Slopes& slopes = chosen.slopes;
    PositionRows positions;
    std::vector<double> jacobian, directions, active;
    System<double> real;
    System<std::complex<double>> complex;
};

} // namespace linkwork
