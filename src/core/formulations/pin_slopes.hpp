// Slopes of one independent Euler parameter e that enters as y = 2 asin(e), for the reduced Jacobians.
//
// With r.w = e' (an entry of 1/2 G(p)^T w) and, since this is linear in p, T_w.d its change by a rotation d at fixed w:
//   e'' = r.w' - 1/4 |w|^2 e,  c^2 = 1 - e^2,  y' = 2 e'/c,  y'' = 2 e''/c + 2 e e'^2/c^3
//   delta e = r.d,  delta e' = r.u + T_w.d,  delta e'' = r.b + T_w'.d - 1/2 e w.u - 1/4 |w|^2 r.d
//   delta y' = 2 delta e'/c + 2 e e' delta e / c^3
//   delta y'' = 2 delta e''/c + (2 e'' e + 2 e'^2) delta e / c^3 + 4 e e' delta e' / c^3 + 6 e^2 e'^2 delta e / c^5
#pragma once

#include <algorithm>
#include <cmath>

#include "../kernels/algebra.hpp"

namespace linkwork {

struct PinSlopes {
    int column; // of the first rotation of its body in velocity coordinates; of the coordinate itself where it is none
    Vec rate;   // of y', along rotations d at fixed velocity coordinates
    Vec of_d, of_u, of_b; // of y'', along d, changes u of angular velocity and b of angular acceleration

    Vec pick(const double* x) const { return {x[column], x[column + 1], x[column + 2]}; }
};

// p: Euler parameters, entry: which of them is e; w, w1: angular velocity and acceleration in body axes
inline PinSlopes calc_pin_slopes(const double* p, int entry, const Vec& w, const Vec& w1, int column) {
    Vec r, turned, turned1; // r, T_w, T_w'
    for (int k = 0; k < 3; ++k) {
        Vec unit{};
        unit[k] = 1;
        double step[4], change[4];
        calc_parameter_rate(p, unit, step);
        r[k] = step[entry];
        calc_parameter_rate(step, w, change);
        turned[k] = change[entry];
        calc_parameter_rate(step, w1, change);
        turned1[k] = change[entry];
    }
    const double e = p[entry], e1 = dot(r, w), e2 = dot(r, w1) - 0.25 * dot(w, w) * e;
    const double c = std::sqrt(std::max(1 - e * e, 1e-300)), cube = c * c * c;
    const double of_e = (2 * e2 * e + 2 * e1 * e1) / cube + 6 * e * e * e1 * e1 / (cube * c * c);
    PinSlopes slopes{column, {}, {}, {}, {}};
    slopes.rate = 2 / c * turned + 2 * e * e1 / cube * r;
    slopes.of_d = 2 / c * (turned1 - 0.25 * dot(w, w) * r) + of_e * r + 4 * e * e1 / cube * turned;
    slopes.of_u = 4 * e * e1 / cube * r - e / c * w;
    slopes.of_b = 2 / c * r;
    return slopes;
}

} // namespace linkwork
