// Recursive kinematics and dynamics of one link of a tree: a body that hangs on its parent by elementary motions.
//
// Between the axes of the parent and those of the body stand fixed frames and, one after the other, motions that turn
// about or slide along (or both, a screw) the z axis of their own frame:
//   P_k = O_{k-1} + A_{k-1} s_k,   A_k = A_{k-1} R_k Rz(turn z_k),   e_k = axis in ground axes,   O_k = P_k + slide z_k
//   e_k
// and A_b = A_K E, r_b = O_K - A_b s_b at the end. Spatial vectors are (angular, linear) in ground axes about the
// centre of mass r of their body; no rotation is ever transformed, only the reference point is shifted between bodies.
// One unit of the rate of z_k moves the body by S_k = (e_k, l_k), with arm rho_k = r_b - P_k
//   turn   e, l = e x rho          slide   0, l = e          screw   e, l = e x rho + slide e
// With d = r_b - r_p, w_k the angular velocity behind motion k, and V_k = w_k x rho_k + sum_{j>k} l_j z_j' the velocity
// of r_b relative to P_k:
//   w_b = w_p + sum e_k z_k'                  v_b = v_p + w_p x d + sum l_k z_k'
//   alpha_b = alpha_p + sum (e_k z_k'' + w_{k-1} x e_k z_k')
//   a_b = a_p + alpha_p x d + w_p x (v_b - v_p) + sum (l_k z_k'' + l_k' z_k')
//   l_k' = (w_{k-1} x e_k) x rho_k + e_k x V_k (turn),   w_{k-1} x e_k (slide)
// [petzold 3.1.1; featherstone 4, 7]. A point body has no orientation: its axes stay those of the ground,
// and what hangs on it starts from these; its angular velocity is zero whatever the motions before it turn.
#pragma once

#include "carriers.hpp"

namespace linkwork {

template <class T> struct MotionAxes { // of one motion, ground axes
    Vec3<T> e, l;                      // S = (e, l); e = 0 for slides
    Vec3<T> arm, axis;                 // rho; the axis, also of a slide
};

template <class T> inline Mat3<T> times(const Mat3<T>& A, const Mat& B) {
    Mat3<T> C;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) C[i][j] = A[i][0] * B[0][j] + A[i][1] * B[1][j] + A[i][2] * B[2][j];
    return C;
}

// A := A Rz(z)
template <class T> inline void turn_about_z(Mat3<T>& A, const T& z) {
    const T c = cos(z), s = sin(z);
    for (int i = 0; i < 3; ++i) {
        const T x = A[i][0], y = A[i][1];
        A[i][0] = c * x + s * y;
        A[i][1] = c * y - s * x;
    }
}

template <class T> inline void calc_link_pose(const TreeLink& link, bool point, const TreeMotion* motions, const T* z,
                                              const Pose<T>& parent, Pose<T>& pose, MotionAxes<T>* axes) {
    Mat3<T> A = parent.A;
    Vec3<T> O = parent.r;
    for (int k = 0; k < link.motions; ++k) {
        const TreeMotion& m = motions[k];
        axes[k].arm = O + A * cast<T>(m.s); // P_k for now
        A = times(A, m.R);
        axes[k].axis = {A[0][2], A[1][2], A[2][2]};
        O = axes[k].arm;
        if (m.turn != 0.0) turn_about_z(A, z[k]);
        if (m.slide != 0.0) O += (T(m.slide) * z[k]) * axes[k].axis;
    }
    A = times(A, link.E);
    pose.r = O - A * cast<T>(link.s);
    pose.A = A;
    if (point) {
        pose.A = Mat3<T>{};
        for (int i = 0; i < 3; ++i) pose.A[i][i] = T(1.0);
    }
    for (int k = 0; k < link.motions; ++k) {
        axes[k].arm = pose.r - axes[k].arm;
        const bool turns = motions[k].turn != 0.0;
        axes[k].e = turns ? axes[k].axis : Vec3<T>{};
        axes[k].l = turns ? cross(axes[k].axis, axes[k].arm) : Vec3<T>{};
        if (motions[k].slide != 0.0) axes[k].l += T(motions[k].slide) * axes[k].axis;
    }
}

template <class T> struct Spatial { // ground axes, about the centre of mass
    Vec3<T> angular, linear;
};

inline constexpr int most_motions = 6; // of one link

// Velocity of the body, and its acceleration where z'' = 0 and the parent's is zero ("bias").
template <class T> inline void calc_link_velocity(const TreeLink& link, bool point, const MotionAxes<T>* axes,
                                                  const T* rate, const Vec3<T>& d, const Spatial<T>& parent,
                                                  Spatial<T>& velocity, Spatial<T>& bias) {
    Vec3<T> before[most_motions], w = parent.angular, relative = cross(parent.angular, d);
    bias = {};
    for (int k = 0; k < link.motions; ++k) {
        before[k] = w;
        w += rate[k] * axes[k].e;
        relative += rate[k] * axes[k].l;
    }
    Vec3<T> beyond{}; // sum over later motions of l z'
    Vec3<T> after = w;
    bias.linear = cross(parent.angular, relative);
    for (int k = link.motions - 1; k >= 0; --k) {
        const Vec3<T> e1 = cross(before[k], axes[k].axis); // the axis turns with what is before it
        const bool turns = plain(dot(axes[k].e, axes[k].e)) > 0.0;
        if (turns) {
            bias.angular += rate[k] * e1;
            bias.linear += rate[k] * (cross(e1, axes[k].arm) + cross(axes[k].e, cross(after, axes[k].arm) + beyond));
        }
        const Vec3<T> slide = turns ? axes[k].l - cross(axes[k].e, axes[k].arm) : axes[k].l; // slide e
        bias.linear += (rate[k] * dot(slide, axes[k].axis)) * e1;
        beyond += rate[k] * axes[k].l;
        after = before[k];
    }
    velocity = {w, parent.linear + relative};
    if (point) velocity.angular = {}, bias.angular = {};
}

// ---------------------------------------------------------------------------------------------------------------
// Articulated inertia [featherstone 7]: the force f = I a + p that moves a body together with all that hangs
// on it, its own coordinates free.
// ---------------------------------------------------------------------------------------------------------------
template <class T> struct Articulated { // symmetric: [aa al; al^T ll]
    Mat3<T> aa, al, ll;
    Spatial<T> p; // (torque about r, force)
};
template <class T> struct MotionPivot { // of one motion, left behind by its elimination
    Spatial<T> U;                       // I S
    T inverse, w;                       // 1 / (S.U), S.p
};

template <class T> inline T product(const Spatial<T>& a, const Spatial<T>& b) {
    return dot(a.angular, b.angular) + dot(a.linear, b.linear);
}

// f := X^T f: the reference point moved from r_b back by d to the parent's
template <class T> inline Spatial<T> shift_force(const Spatial<T>& f, const Vec3<T>& d) {
    return {f.angular + cross(d, f.linear), f.linear};
}

template <class T> inline void calc_product(const Articulated<T>& I, const Spatial<T>& S, Spatial<T>& U) {
    U.angular = I.aa * S.angular + I.al * S.linear;
    U.linear = transpose_times(I.al, S.angular) + I.ll * S.linear;
}

// One coordinate freed: I -= U U^T / D, p -= U (S.p) / D. False: nothing resists it.
template <class T> inline bool free_motion(Articulated<T>& I, const MotionAxes<T>& axes, MotionPivot<T>& pivot) {
    const Spatial<T> S = {axes.e, axes.l};
    calc_product(I, S, pivot.U);
    const T D = product(S, pivot.U);
    if (!(plain(D) > 0.0)) return false;
    pivot.inverse = T(1.0) / D;
    pivot.w = product(S, I.p);
    const Vec3<T> a = pivot.inverse * pivot.U.angular, l = pivot.inverse * pivot.U.linear;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            I.aa[i][j] = I.aa[i][j] - a[i] * pivot.U.angular[j];
            I.al[i][j] = I.al[i][j] - a[i] * pivot.U.linear[j];
            I.ll[i][j] = I.ll[i][j] - l[i] * pivot.U.linear[j];
        }
    I.p.angular -= pivot.w * a;
    I.p.linear -= pivot.w * l;
    return true;
}

// parent += X^T I X and X^T p, with X a_p = (alpha_p, a_p + alpha_p x d); p includes I bias already.
template <class T> inline void add_to_parent(const Articulated<T>& I, const Vec3<T>& d, Articulated<T>& parent) {
    Mat3<T> B; // al + d~ ll
    for (int j = 0; j < 3; ++j) {
        B[0][j] = I.al[0][j] + d.y * I.ll[2][j] - d.z * I.ll[1][j];
        B[1][j] = I.al[1][j] + d.z * I.ll[0][j] - d.x * I.ll[2][j];
        B[2][j] = I.al[2][j] + d.x * I.ll[1][j] - d.y * I.ll[0][j];
    }
    for (int i = 0; i < 3; ++i) {
        // aa - al d~ + d~ B^T: row i of -al d~ is d x (row i of al), column i of d~ B^T is d x (row i of B)
        const Vec3<T> one = cross(d, Vec3<T>{I.al[i][0], I.al[i][1], I.al[i][2]});
        const Vec3<T> two = cross(d, Vec3<T>{B[i][0], B[i][1], B[i][2]});
        for (int j = 0; j < 3; ++j) {
            parent.aa[i][j] = parent.aa[i][j] + I.aa[i][j] + one[j];
            parent.aa[j][i] = parent.aa[j][i] + two[j];
            parent.al[i][j] = parent.al[i][j] + B[i][j];
            parent.ll[i][j] = parent.ll[i][j] + I.ll[i][j];
        }
    }
    const Spatial<T> p = shift_force(I.p, d);
    parent.p.angular += p.angular;
    parent.p.linear += p.linear;
}

} // namespace linkwork
