// The low-order implicit formulas, each as x_{n+1} = known + h eta f(t_{n+1}, x_{n+1}), for steps of any size.
//
// [aboubakr] A. K. Aboubakr, A. A. Shabana, Efficient and robust implementation of the TLISMNI method, 2015, section 6.
#pragma once

#include <string>

#include "contract.hpp"

namespace linkwork {

// A combination sum_k past_k x_{n-k} + rate x'_n of what is known, and the distance to the exact solution,
// defect x''' / 6.
struct Combination {
    double past[3] = {0, 0, 0};
    double rate = 0;
    double defect = 0;
};

struct MultistepFormula {
    Combination known;   // defect: of the formula (numerical less exact)
    double implicit = 0; // h eta
};

// Backward differences, h = t_{n+1} - t_n, h_1 = t_n - t_{n-1}, h_2 = t_{n-1} - t_{n-2}, all with the sign of time.
// With Newton's divided differences of x over the points t_{n+1}, t_n, .. the derivative of the interpolating
// polynomial at t_{n+1} is
//     x[n+1, n] + h x[n+1, n, n-1] + share h (h + h_1) x[n+1, n, n-1, n-2] = f(t_{n+1}, x_{n+1}).
// share = 0: BDF2 [aboubakr (22)]; 1: BDF3; 1/2: their mean, which is Park's formula [aboubakr (19)] at any step ratio.
// At h = h_1 = h_2 that is x_{n+1} = 4/3 x_n - 1/3 x_{n-1} + 2/3 h f and 3/2 x_n - 3/5 x_{n-1} + 1/10 x_{n-2} + 3/5 h
// f. BDF3 differentiates cubics exactly, so the derivative is wrong by (1 - share) h (h + h_1) x''' / 6 and x_{n+1} by
// h eta times that: 2/9 h^3 x''' and 1/10 h^3 x'''. points: how many past points there are (2 for BDF2, 3 for Park).
MultistepFormula build_backward_differences(double share, double h, double h1, double h2);

// x_{n+1} = x_n + h/2 (x'_n + x'_{n+1}), too large by h^3 x''' / 12 [aboubakr (25)]: the first step of all of them,
// too.
MultistepFormula build_trapezoidal(double h);

// What is expected at t_{n+1} before anything is solved: the parabola through the past points, or, while there are
// fewer than three, through x_n, x'_n and x_{n-1}, or through x_n and x'_n with the second derivative of the start.
// defect: exact less predicted.
Combination predict_from_three(double h, double h1, double h2);
Combination predict_from_two(double h, double h1);

// The Newmark family on y'' = f(t, y, y'), u = y':
//     y_{n+1} = y_n + h u_n + h^2 ((1/2 - beta) a_n + beta a_{n+1}),      u_{n+1} = u_n + h ((1 - gamma) a_n + gamma
//     a_{n+1}), (1 - alpha_m) a_{n+1} + alpha_m a_n = (1 - alpha_f) f_{n+1} + alpha_f f_n           [arnold-bruels,
//     chung-hulbert].
// HHT [aboubakr (28)-(31)]: alpha_m = 0, alpha_f = -alpha, since M a_{n+1} / (1 + alpha) = F_{n+1} - alpha / (1 +
// alpha) F_n. The numbers a are accelerations at a shifted time: inserting a_n = f(t_n) + offset h f' shows offset =
// alpha_m - alpha_f, and order 2 asks for gamma = 1/2 - offset. When the step changes from h_1 to h the shift has to
// follow,
//     a_n  <-  f_n + h / h_1 (a_n - f_n),
// or every change would leave an error of h^2. Errors of one step, with a_n = f + offset h f' + bend h^2 f'':
//     y: (beta + offset / 2 - 1/6) h^3 y''',      u: (bend + gamma (1/2 + offset) - 1/6) h^3 u'''.
// The first is the paper's (32) with the shift of a_n taken into account.
struct NewmarkFormula {
    double alpha_m = 0, alpha_f = 0, beta = 0, gamma = 0;
    double offset() const { return alpha_m - alpha_f; }
    double bend() const { return 0.5 * (1 - alpha_f) - (1 - alpha_m) * (0.5 + offset()); }
    double weight() const { return (1 - alpha_f) / (1 - alpha_m); } // of f_{n+1} in a_{n+1}
    double position_defect() const { return 6 * (beta + 0.5 * offset()) - 1; }
    double velocity_defect() const { return 6 * (bend() + gamma * (0.5 + offset())) - 1; }
};

// alpha from -1/3 (the most damping) to 0 (none: the trapezoidal rule): gamma = 1/2 - alpha, beta = (1 - alpha)^2 / 4
NewmarkFormula build_hht(double alpha);
// From the factor by which the highest frequencies shrink in a step, 0 to 1:
// alpha_m = (2 rho - 1) / (rho + 1), alpha_f = rho / (rho + 1), gamma = 1/2 - offset, beta = (1 - offset)^2 / 4
NewmarkFormula build_generalized_alpha(double rho);

// name: "hht" with options.alpha, or "generalized_alpha" with options.rho; std::invalid_argument outside their bounds.
NewmarkFormula build_newmark_formula(const std::string& name, const IntegratorOptions& options);

} // namespace linkwork
