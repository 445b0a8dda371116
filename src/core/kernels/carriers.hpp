// Carriers: what a joint or a force sees of a body - a pose, a twist, and the points and directions fixed on it.
//
// With A = A(p), w in body axes, s and d body-fixed:
//   P = r + A s          P' = v + A (w x s)        P'' = v' + A (w' x s) + A (w x (w x s))
//   D = A d              D' = A (w x d)            D'' = A (w' x d) + A (w x (w x d))
// A(p) is divided by p.p, so the pose does not depend on the length of p and a small drift of it does no harm.
// The last terms are the "bias": the part of the second derivative that does not contain accelerations. A scalar with
// gradient g with respect to P has the row [g, s x A^T g] in (v, w), with respect to D the row [0, d x A^T g].
#pragma once

#include "../system/tables.hpp"
#include "algebra.hpp"

namespace linkwork {

template <class T> struct Pose {
    Vec3<T> r;
    Mat3<T> A;
};
template <class T> struct Twist {
    Vec3<T> v; // ground axes
    Vec3<T> w; // body axes
};

template <class T> inline void calc_pose(const Body& body, const T* q, Pose<T>& pose) {
    const T* x = q + body.q;
    switch (body.kind) {
    case body_rigid:
        pose.r = {x[0], x[1], x[2]};
        pose.A = calc_rotation(x + 3);
        scale(pose.A, T(1.0) / (x[3] * x[3] + x[4] * x[4] + x[5] * x[5] + x[6] * x[6]));
        return;
    case body_planar: {
        const T c = cos(x[2]), s = sin(x[2]);
        pose.r = {x[0], x[1], T(0.0)};
        pose.A = Mat3<T>{};
        pose.A[0][0] = c, pose.A[0][1] = -s, pose.A[1][0] = s, pose.A[1][1] = c, pose.A[2][2] = T(1.0);
        return;
    }
    default:
        pose.r = body.kind == body_point ? Vec3<T>{x[0], x[1], x[2]} : Vec3<T>{};
        pose.A = Mat3<T>{};
        pose.A[0][0] = pose.A[1][1] = pose.A[2][2] = T(1.0);
    }
}

template <class T> inline void calc_twist(const Body& body, const T* v, Twist<T>& twist) {
    const T* u = v + body.v;
    switch (body.kind) {
    case body_rigid:
        twist.v = {u[0], u[1], u[2]};
        twist.w = {u[3], u[4], u[5]};
        return;
    case body_planar:
        twist.v = {u[0], u[1], T(0.0)};
        twist.w = {T(0.0), T(0.0), u[2]};
        return;
    default:
        twist.v = body.kind == body_point ? Vec3<T>{u[0], u[1], u[2]} : Vec3<T>{};
        twist.w = {};
    }
}

// q-dot of one body from its velocity coordinates: q-dot = N(q) v
template <class T> inline void calc_position_rate(const Body& body, const T* q, const T* v, T* rate) {
    const T *x = q + body.q, *u = v + body.v;
    T* y = rate + body.q;
    for (int i = 0; i < body.nv && i < 3; ++i) y[i] = u[i];
    if (body.kind == body_rigid) calc_parameter_rate(x + 3, Vec3<T>{u[3], u[4], u[5]}, y + 3);
}

// Adds the spatial row (force-like in ground axes, torque-like in body axes) to the body's own columns.
template <class T> inline void add_row(const Body& body, const Vec3<T>& force, const Vec3<T>& torque, T* row) {
    const T full[6] = {force.x, force.y, force.z, torque.x, torque.y, torque.z};
    for (int i = 0; i < body.nv; ++i) row[i] += full[body.columns[i]];
}

template <class T> inline Vec3<T> calc_point(const Pose<T>& pose, const Vec& s) { return pose.r + pose.A * cast<T>(s); }
template <class T> inline Vec3<T> calc_direction(const Pose<T>& pose, const Vec& d) { return pose.A * cast<T>(d); }
template <class T> inline Vec3<T> calc_point_rate(const Pose<T>& pose, const Twist<T>& twist, const Vec& s) {
    return twist.v + pose.A * cross(twist.w, cast<T>(s));
}
template <class T> inline Vec3<T> calc_direction_rate(const Pose<T>& pose, const Twist<T>& twist, const Vec& d) {
    return pose.A * cross(twist.w, cast<T>(d));
}
// bias of a point or a direction: A (w x (w x s))
template <class T> inline Vec3<T> calc_bias(const Pose<T>& pose, const Twist<T>& twist, const Vec& s) {
    return pose.A * cross(twist.w, cross(twist.w, cast<T>(s)));
}

} // namespace linkwork
