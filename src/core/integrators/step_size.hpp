// The error norm and the first step, shared by all integrators.
#pragma once

#include "contract.hpp"

namespace linkwork {

// How many entries count in norms: those of finite tolerance.
int count_weighted(const Tolerances& tolerances);

// x' at (t, x): f, solved with B where there is one.
Status calc_derivative(Implicit& ode, double t, const double* x, double* derivative);

// Square of the weighted norm of `error`: mean of (error_i / weight_i)^2 with |x_i| the larger of both.
double calc_squared_norm(const Tolerances& tolerances, const double* error, const double* x0, const double* x1);

// A first step for a method of this order, from the sizes of x, x' and a difference quotient for x''. `rate` is x';
// `point` and `point_rate` are scratch. A trial evaluation that fails shortens the step and is tried again.
Status find_first_step(Implicit& ode, const Tolerances& tolerances, int order, double t, double t_end, const double* x,
                       const double* rate, double* point, double* point_rate, double& h);

// h |lambda| of the largest eigenvalue lambda of f_x, from how two rates at the same time differ: `rate_gap` belongs to
// `gap` of x. Where stability limits an explicit step, gaps lie in the direction of that eigenvalue [hairer2 IV.2]. In
// x = (y, y') a gap of y counts over h: so oscillations, whose f_y is lambda^2, are not taken for more than they are.
double calc_stiffness(Implicit& ode, double h, const double* rate_gap, const double* gap);

} // namespace linkwork
