// Mass of one body in its own velocity coordinates, and its inverse: nv x nv, row-major, nv <= 6.
//
// The inverse of a rigid body is the closed form of [serban (16)] without the Euler parameters, which live inside the
// body.
#pragma once

#include <algorithm>

#include "../tables.hpp"

namespace linkwork {

inline void calc_mass(const Body& body, double* mass) {
    std::fill(mass, mass + body.nv * body.nv, 0.0);
    for (int i = 0; i < body.nv; ++i) mass[i * body.nv + i] = body.mass;
    if (body.kind == body_planar) mass[8] = body.inertia[2][2];
    if (body.kind == body_rigid)
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) mass[(3 + i) * 6 + 3 + j] = body.inertia[i][j];
}

inline Mat calc_inverse(const Mat& a) {
    Mat b;
    for (int i = 0; i < 3; ++i) {
        const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; ++j) {
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            b[j][i] = a[i1][j1] * a[i2][j2] - a[i1][j2] * a[i2][j1];
        }
    }
    const double determinant = a[0][0] * b[0][0] + a[0][1] * b[1][0] + a[0][2] * b[2][0];
    scale(b, 1.0 / determinant);
    return b;
}

inline void calc_inverse_mass(const Body& body, double* inverse) {
    std::fill(inverse, inverse + body.nv * body.nv, 0.0);
    for (int i = 0; i < body.nv; ++i) inverse[i * body.nv + i] = 1.0 / body.mass;
    if (body.kind == body_planar) inverse[8] = 1.0 / body.inertia[2][2];
    if (body.kind == body_rigid) {
        const Mat b = calc_inverse(body.inertia);
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) inverse[(3 + i) * 6 + 3 + j] = 0.5 * (b[i][j] + b[j][i]);
    }
}

} // namespace linkwork
