// Seeds of dual numbers over the displacements and velocities of two bodies, for exact derivatives of one element.
#pragma once

#include "../kernels/forces.hpp"

namespace linkwork {

constexpr int directions = 12; // six displacements (or velocities) of body a, six of body b
using First = Dual<double, directions>;
using Second = Dual<Dual<double, 1>, directions>;

// One component of `coincident` as a scalar primitive: s = e . (P_b - P_a) with e a fixed ground direction.
template <int component> struct Coincident {
    static constexpr bool points = true, direction_a = false, second_a = false, direction_b = false;
    template <class T> static Vec3<T> axis() {
        Vec3<T> e;
        e[component] = T(1.0);
        return e;
    }
    template <class T>
    static void gradient(const Tables&, const Primitive&, const Features<T>&, double, Features<T>& g) {
        g.P_b = axis<T>(), g.P_a = -g.P_b;
    }
    template <class T> static T bend(const Tables&, const Primitive&, const Features<T>&, const Features<T>&, double) {
        return T(0.0);
    }
};

template <class T> Pose<T> widen(const Pose<double>& pose) { return {cast<T>(pose.r), cast<T>(pose.A)}; }
template <class T> Twist<T> widen(const Twist<double>& twist) { return {cast<T>(twist.v), cast<T>(twist.w)}; }

// The pose displaced by (dr in ground axes, dp in body axes), both infinitesimal: r + dr, A (I + tilde dp).
template <class T> Pose<T> displace(const Pose<T>& pose, const Vec3<T>& dr, const Vec3<T>& dp) {
    Pose<T> moved{pose.r + dr, pose.A};
    for (int i = 0; i < 3; ++i) {
        const Vec3<T> row = {pose.A[i][0], pose.A[i][1], pose.A[i][2]};
        const Vec3<T> change = cross(row, dp); // row i of A tilde(dp)
        for (int j = 0; j < 3; ++j) moved.A[i][j] = moved.A[i][j] + change[j];
    }
    return moved;
}

// Unit seeds of one body in the outermost dual directions, `offset` 0 for body a and 6 for b.
template <class T> void seed(int offset, Vec3<T>& linear, Vec3<T>& angular) {
    for (int i = 0; i < 3; ++i) {
        linear[i].slope[offset + i] = 1.0;
        angular[i].slope[offset + 3 + i] = 1.0;
    }
}
template <class T> Pose<T> seeded_pose(const Pose<double>& pose, int offset) {
    Vec3<T> dr, dp;
    seed(offset, dr, dp);
    return displace(widen<T>(pose), dr, dp);
}
inline Twist<First> seeded_twist(const Twist<double>& twist, int offset) {
    Twist<First> u = widen<First>(twist);
    seed(offset, u.v, u.w);
    return u;
}
// Displaced further along the spatial velocity x, in the inner dual direction.
inline Pose<Second> displaced_along(const Pose<Second>& pose, const Twist<double>& x) {
    Vec3<Second> dr, dp;
    for (int i = 0; i < 3; ++i) dr[i].value.slope[0] = x.v[i], dp[i].value.slope[0] = x.w[i];
    return displace(pose, dr, dp);
}

// One body in all the roles it plays in elements: fixed, displaced or moving faster as body a (0) or body b (1).
struct BodySeeds {
    Pose<First> fixed, displaced[2];
    Twist<First> constant, faster[2];
};
inline void fill_seeds(const Pose<double>& pose, const Twist<double>& twist, BodySeeds& s) {
    s.fixed = widen<First>(pose);
    s.constant = widen<First>(twist);
    for (const int role : {0, 1}) {
        s.displaced[role] = seeded_pose<First>(pose, 6 * role);
        s.faster[role] = seeded_twist(twist, 6 * role);
    }
}

} // namespace linkwork
