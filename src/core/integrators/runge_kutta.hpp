// Embedded Runge-Kutta methods with a continuous extension, explicit and half-explicit, driven by their coefficients.
#pragma once

#include "contract.hpp"

namespace linkwork {

// Coefficients of one method [hairer II.4, II.5, II.6]. The first `stages` rates give the candidate; rate number
// `stages` is the one at the candidate and becomes the first of the next step; `extra` more serve the continuous
// extension alone.
struct RungeKuttaTable {
    int order;               // of the solution that is carried on
    int stages, extra;       // rows below have width = stages + 1 + extra
    const double* a;         // [width * width] row-major, strictly lower triangular; row `stages` holds the weights b
    const double* c;         // [width]
    const double* error;     // [width] difference to the embedded solution
    const double* error_low; // [width] difference to a second one of order 3, combined as in [hairer II.10]; or null
    int dense_rows;          // terms of the continuous extension beyond the cubic Hermite ones
    const double* dense;     // [dense_rows * width]
    double beta;             // weight of the previous error in the step control [hairer2 IV.2]
    double exponent;         // of the present error
    double shrink, grow;     // bounds on h_new / h
    // Half-explicit methods: weights and times of the points whose velocity constraints the stages meet, a row per
    // stage with the diagonal, width entries each; null: explicit. A first row of zeros: the first stage is the rate at
    // the beginning.
    const double* a_bar = nullptr;
    const double* c_bar = nullptr;
    // |h lambda|, lambda < 0, up to which the method is stable [hairer2 IV.2]; its last stage lies at the end of the
    // step, as the candidate does. 0: not asked.
    double stability = 0;
};

std::unique_ptr<Integrator> build_runge_kutta(const RungeKuttaTable& table, int size, const Tolerances& tolerances);

const RungeKuttaTable& dopri5_table();
const RungeKuttaTable& dop853_table();
const RungeKuttaTable& half_explicit_euler_table();
const RungeKuttaTable& phem56_table();

} // namespace linkwork
