// The recursion of tree.hpp for a planar body on a planar one or the ground: one angle instead of a rotation matrix,
// and of every spatial vector the three entries (z; x, y) that motion in the plane has.
//
// The axes behind motion k are Rz(angle_k) F_k with a constant F_k, so a turn about the normal (up or down, `sign`)
// adds to the angle, and a slide has a constant direction in the axes Rz(angle). With J(x, y) = (-y, x):
//   S = (sign; sign J rho)  or  (0; e),   v_b = v_p + w_p J d + sum l_k z_k',
//   bias  a: w_p J (v_b - v_p) + sum sign z_k' J V_k (turn),  z_k' w_{k-1} J e (slide);  alpha: 0.
#pragma once

#include "tree.hpp"

namespace linkwork {

struct PlanarMotion {  // constants of a motion in the plane
    double sign;       // of a turn about z; 0 for a slide
    double s[2], e[2]; // its point from where the motion before ends, and a slide's direction; axes Rz(angle before it)
};
struct PlanarLink {
    double cosine, sine; // of body axes in the axes behind the last motion
    double s[2];         // where the last motion ends, body axes
};

inline void calc_planar_pose(const PlanarLink& link, int count, const PlanarMotion* motions, const double* z,
                             const Pose<double>& parent, Pose<double>& pose, MotionAxes<double>* axes) {
    double c = parent.A[0][0], s = parent.A[1][0], x = parent.r.x, y = parent.r.y;
    for (int k = 0; k < count; ++k) {
        const PlanarMotion& m = motions[k];
        x += c * m.s[0] - s * m.s[1];
        y += s * m.s[0] + c * m.s[1];
        axes[k].arm = {x, y, 0}; // P_k for now
        if (m.sign != 0.0) {
            const double cosine = std::cos(z[k]), sine = m.sign * std::sin(z[k]), old = c;
            c = old * cosine - s * sine;
            s = s * cosine + old * sine;
        } else {
            axes[k].axis = axes[k].l = {c * m.e[0] - s * m.e[1], s * m.e[0] + c * m.e[1], 0};
            x += z[k] * axes[k].l.x;
            y += z[k] * axes[k].l.y;
        }
    }
    const double cosine = c * link.cosine - s * link.sine, sine = s * link.cosine + c * link.sine;
    pose.r = {x - (cosine * link.s[0] - sine * link.s[1]), y - (sine * link.s[0] + cosine * link.s[1]), 0};
    pose.A[0][0] = pose.A[1][1] = cosine;
    pose.A[1][0] = sine, pose.A[0][1] = -sine;
    pose.A[0][2] = pose.A[1][2] = pose.A[2][0] = pose.A[2][1] = 0, pose.A[2][2] = 1;
    for (int k = 0; k < count; ++k) {
        const double sign = motions[k].sign;
        axes[k].arm = {pose.r.x - axes[k].arm.x, pose.r.y - axes[k].arm.y, 0};
        axes[k].e = {0, 0, sign};
        if (sign != 0.0) axes[k].axis = axes[k].e, axes[k].l = {-sign * axes[k].arm.y, sign * axes[k].arm.x, 0};
    }
}

inline void calc_planar_velocity(int count, const PlanarMotion* motions, const MotionAxes<double>* axes,
                                 const double* rate, const Vec& d, const Spatial<double>& parent,
                                 Spatial<double>& velocity, Spatial<double>& bias) {
    const double before = parent.angular.z;
    double w = before, x = -before * d.y, y = before * d.x;
    for (int k = 0; k < count; ++k) {
        w += motions[k].sign * rate[k];
        x += rate[k] * axes[k].l.x;
        y += rate[k] * axes[k].l.y;
    }
    velocity = {{0, 0, w}, {parent.linear.x + x, parent.linear.y + y, 0}};
    double a_x = -before * y, a_y = before * x, beyond_x = 0, beyond_y = 0;
    for (int k = count; k-- > 0;) {
        const double turn = motions[k].sign * rate[k];
        if (turn != 0.0) {
            a_x -= turn * (w * axes[k].arm.x + beyond_y);
            a_y += turn * (beyond_x - w * axes[k].arm.y);
        } else {
            a_x -= rate[k] * w * axes[k].l.y;
            a_y += rate[k] * w * axes[k].l.x;
        }
        beyond_x += rate[k] * axes[k].l.x;
        beyond_y += rate[k] * axes[k].l.y;
        w -= turn;
    }
    bias = {{0, 0, 0}, {a_x, a_y, 0}};
}

// free_motion and add_to_parent of tree.hpp on the entries (z; x, y)
inline bool free_planar_motion(Articulated<double>& I, const MotionAxes<double>& axes, MotionPivot<double>& pivot) {
    const double e = axes.e.z, x = axes.l.x, y = axes.l.y;
    const double u = I.aa[2][2] * e + I.al[2][0] * x + I.al[2][1] * y;
    const double u_x = I.al[2][0] * e + I.ll[0][0] * x + I.ll[0][1] * y;
    const double u_y = I.al[2][1] * e + I.ll[0][1] * x + I.ll[1][1] * y;
    const double D = e * u + x * u_x + y * u_y;
    if (!(D > 0.0)) return false;
    pivot.U = {{0, 0, u}, {u_x, u_y, 0}};
    pivot.inverse = 1 / D;
    pivot.w = e * I.p.angular.z + x * I.p.linear.x + y * I.p.linear.y;
    const double a = pivot.inverse * u, a_x = pivot.inverse * u_x, a_y = pivot.inverse * u_y;
    I.aa[2][2] -= a * u;
    I.al[2][0] -= a * u_x;
    I.al[2][1] -= a * u_y;
    I.ll[0][0] -= a_x * u_x;
    I.ll[0][1] -= a_x * u_y;
    I.ll[1][1] -= a_y * u_y;
    I.p.angular.z -= pivot.w * a;
    I.p.linear.x -= pivot.w * a_x;
    I.p.linear.y -= pivot.w * a_y;
    return true;
}

// parent += X^T I X and X^T (p + I bias), X a_p = (alpha_p; a_p + alpha_p J d); the bias has no angular part.
inline void add_planar_to_parent(const Articulated<double>& I, const Vec& bias, const Vec& d,
                                 Articulated<double>& parent) {
    const double xx = I.ll[0][0], xy = I.ll[0][1], yy = I.ll[1][1];
    const double h_x = I.al[2][0] - d.y * xx + d.x * xy, h_y = I.al[2][1] - d.y * xy + d.x * yy;
    const double f_x = I.p.linear.x + xx * bias.x + xy * bias.y, f_y = I.p.linear.y + xy * bias.x + yy * bias.y;
    parent.aa[2][2] += I.aa[2][2] + d.x * (I.al[2][1] + h_y) - d.y * (I.al[2][0] + h_x);
    parent.al[2][0] += h_x;
    parent.al[2][1] += h_y;
    parent.ll[0][0] += xx;
    parent.ll[0][1] += xy;
    parent.ll[1][1] += yy;
    parent.p.angular.z += I.p.angular.z + I.al[2][0] * bias.x + I.al[2][1] * bias.y + d.x * f_y - d.y * f_x;
    parent.p.linear.x += f_x;
    parent.p.linear.y += f_y;
}

} // namespace linkwork
