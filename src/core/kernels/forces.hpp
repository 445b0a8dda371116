// Force elements: the wrench each puts on its bodies, force in ground axes and torque about the centre of mass in body
// axes.
//
// Pure templates on the scalar, so that dual numbers give the exact position and velocity Jacobians
// (system/derivatives.hpp).
#pragma once

#include "primitives.hpp"

namespace linkwork {

template <class T> using Wrench = SpatialRow<T>; // the dual of a twist has the same shape as a row

template <class T> inline void add_wrench(Wrench<T>& w, const Vec3<T>& force, const Vec3<T>& torque) {
    w.force += force;
    w.torque += torque;
}
template <class T> inline T calc_power(const SpatialRow<T>& row, const Twist<T>& u) {
    return dot(row.force, u.v) + dot(row.torque, u.w);
}

// ---------------------------------------------------------------------------------------------------------------
// Along a scalar coordinate s: generalized force -h(t, s, s'), so the wrench is -h times the row of s.
// Springs and dampers between points (distance), about axes (angle), along guides (dot2), and friction in all of them.
// ---------------------------------------------------------------------------------------------------------------
template <class T> struct CoordinateState {
    T s, rate, h;
};
template <class T>
inline T calc_coordinate_law(const Tables& tables, const CoordinateForce& f, const T& t, const T& s, const T& rate) {
    T h = T(f.stiffness) * (s - T(f.free)) + T(f.damping) * rate;
    if (f.friction != 0.0) h = h + T(f.friction) * tanh(rate * T(1.0 / f.slip));
    if (f.function >= 0) {
        const T arguments[3] = {t, s, rate};
        h = h + calc_function(tables, f.function, arguments);
    }
    return h;
}
template <class P, class T>
inline CoordinateState<T> calc_coordinate_force(const Tables& tables, const CoordinateForce& f, const T& t,
                                                double memory, const Pose<T>& a, const Twist<T>& u, const Pose<T>& b,
                                                const Twist<T>& v, Wrench<T>& wrench_a, Wrench<T>& wrench_b) {
    Features<T> X, g;
    SpatialRow<T> row_a, row_b;
    calc_features<P>(f.coordinate, a, b, X);
    P::gradient(tables, f.coordinate, X, memory, g);
    calc_rows<P>(f.coordinate, a, b, g, row_a, row_b);
    CoordinateState<T> state;
    state.s = P::value(tables, f.coordinate, X, memory);
    state.rate = calc_power(row_a, u) + calc_power(row_b, v);
    state.h = calc_coordinate_law(tables, f, t, state.s, state.rate);
    add_wrench(wrench_a, (-state.h) * row_a.force, (-state.h) * row_a.torque);
    add_wrench(wrench_b, (-state.h) * row_b.force, (-state.h) * row_b.torque);
    return state;
}

// ---------------------------------------------------------------------------------------------------------------
// Prescribed force at a point, or torque, in ground or body axes
// ---------------------------------------------------------------------------------------------------------------
template <class T>
inline void calc_load(const Tables& tables, const Load& load, const T& t, const Pose<T>& pose, Wrench<T>& wrench) {
    Vec3<T> value = cast<T>(load.constant);
    for (int i = 0; i < 3; ++i)
        if (load.function[i] >= 0) value[i] = value[i] + calc_function(tables, load.function[i], &t);
    const Vec3<T> ground = load.body_axes ? pose.A * value : value;
    const Vec3<T> body = load.body_axes ? value : transpose_times(pose.A, value);
    if (load.torque)
        wrench.torque += body;
    else
        add_wrench(wrench, ground, cross(cast<T>(load.s), body));
}

// ---------------------------------------------------------------------------------------------------------------
// Bushing: with frames R_a, R_b on the bodies, d = R_a^T (P_b - P_a) and the relative Euler parameters (e0, e) of
// R_a^T R_b, the potential is 1/2 d^T K d + 1/2 (2e)^T K' (2e). From delta(2e) = (e0 I + tilde e) delta pi (b-frame
// axes) the torque on b is -(e0 K' 2e - e x K' 2e). The force acts at P_b on both bodies, so it does no work in a rigid
// motion.
// ---------------------------------------------------------------------------------------------------------------
template <class T> struct BushingState {
    Mat3<T> R_a, R_b;
    Vec3<T> d, e; // displacement in axes of R_a; vector part of the relative Euler parameters
    T e0;
};
template <class T> inline Mat3<T> product(const Mat3<T>& A, const Mat3<T>& B) {
    Mat3<T> C;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) C[i][j] = A[i][0] * B[0][j] + A[i][1] * B[1][j] + A[i][2] * B[2][j];
    return C;
}
template <class T> inline BushingState<T> calc_bushing_state(const Bushing& f, const Pose<T>& a, const Pose<T>& b) {
    BushingState<T> s;
    s.R_a = product(a.A, cast<T>(calc_rotation(f.p_a)));
    s.R_b = product(b.A, cast<T>(calc_rotation(f.p_b)));
    s.d = transpose_times(s.R_a, calc_point(b, f.s_b) - calc_point(a, f.s_a));
    const auto entry = [&](int i, int j) {
        return s.R_a[0][i] * s.R_b[0][j] + s.R_a[1][i] * s.R_b[1][j] + s.R_a[2][i] * s.R_b[2][j];
    };
    s.e0 = T(0.5) * sqrt(T(1.0) + entry(0, 0) + entry(1, 1) + entry(2, 2));
    const T quarter = T(0.25) / s.e0;
    s.e = {quarter * (entry(2, 1) - entry(1, 2)), quarter * (entry(0, 2) - entry(2, 0)),
           quarter * (entry(1, 0) - entry(0, 1))};
    return s;
}
template <class T> inline void calc_bushing(const Bushing& f, const Pose<T>& a, const Twist<T>& u, const Pose<T>& b,
                                            const Twist<T>& v, Wrench<T>& wrench_a, Wrench<T>& wrench_b) {
    const BushingState<T> s = calc_bushing_state(f, a, b);
    const Vec3<T> P = calc_point(b, f.s_b), w_a = a.A * u.w, w_b = b.A * v.w;
    // rate of d seen from the frame of a
    const Vec3<T> rate = transpose_times(s.R_a, calc_point_rate(b, v, f.s_b) - (u.v + cross(w_a, P - a.r)));
    const Vec3<T> spin = transpose_times(s.R_b, w_b - w_a);
    Vec3<T> force, moment;
    for (int i = 0; i < 3; ++i) {
        force[i] = -(T(f.stiffness[i]) * s.d[i] + T(f.damping[i]) * rate[i]);
        moment[i] = T(2.0 * f.stiffness[i + 3]) * s.e[i];
    }
    Vec3<T> torque = cross(s.e, moment) - s.e0 * moment;
    for (int i = 0; i < 3; ++i) torque[i] = torque[i] - T(f.damping[i + 3]) * spin[i];
    const Vec3<T> F = s.R_a * force, N = s.R_b * torque;
    add_wrench(wrench_b, F, cross(cast<T>(f.s_b), transpose_times(b.A, F)) + transpose_times(b.A, N));
    add_wrench(wrench_a, -F, transpose_times(a.A, cross(P - a.r, -F) - N));
}

// ---------------------------------------------------------------------------------------------------------------
// Tire: vertical spring and damper between the wheel centre and the road surface z(x, y) below it
// ---------------------------------------------------------------------------------------------------------------
template <class T>
inline T calc_tire(const Tables& tables, const Tire& tire, const Pose<T>& pose, const Twist<T>& u, Wrench<T>& wrench) {
    const Vec3<T> P = calc_point(pose, tire.s), V = calc_point_rate(pose, u, tire.s);
    T height(0.0), climb(0.0); // of the road under the moving wheel centre
    if (tire.road >= 0) {
        Dual<T, 1> at[2];
        for (int i = 0; i < 2; ++i) at[i].value = P[i], at[i].slope[0] = V[i];
        const Dual<T, 1> z = calc_function(tables, tire.road, at);
        height = z.value, climb = z.slope[0];
    }
    const T deflection = T(tire.radius) - (P.z - height), rate = climb - V.z;
    T F = T(tire.stiffness) * deflection + T(tire.damping) * rate;
    if (tire.unilateral && (plain(deflection) < 0.0 || plain(F) < 0.0)) F = T(0.0);
    const Vec3<T> force = {T(0.0), T(0.0), F};
    add_wrench(wrench, force, cross(cast<T>(tire.s), transpose_times(pose.A, force)));
    return deflection;
}

// w x J w, the gyroscopic torque in body axes
template <class T> inline Vec3<T> calc_gyroscopic(const Body& body, const Vec3<T>& w) {
    return cross(w, cast<T>(body.inertia) * w);
}

} // namespace linkwork
