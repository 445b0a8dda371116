// Constraint primitives: scalar coordinates between two bodies.
//
// A primitive sees points and directions (its features X), never bodies. Each struct gives, for its coordinate s(X),
//   value     s
//   gradient  g_k = ds/dX_k for every feature it uses
//   bend      X'^T s_XX X', the part of s'' that is quadratic in the feature rates
// and the carrier formulas of carriers.hpp turn these into the Jacobian row and the bias of any pair of bodies:
//   J = sum_k g_k X_k,v        s'' = J v' + bias,   bias = bend + sum_k g_k . bias(X_k)
// All are templates on the scalar: with Dual scalars the same code gives (J v)_q, (J^T lambda)_q, bias_q, bias_v and
// the third-order contractions (see system/derivatives.hpp). `coincident` is three such coordinates sharing their
// features and is written out where rows are filled.
#pragma once

#include "carriers.hpp"
#include "functions.hpp"

namespace linkwork {

template <class T> struct Features { // values, rates or gradients of the features of a primitive
    Vec3<T> P_a, P_b, d_a, e_a, d_b;
};

struct Dot1 { // s = d_a . d_b
    static constexpr int kind = primitive_dot1;
    static constexpr bool points = false, direction_a = true, second_a = false, direction_b = true;
    template <class T> static T value(const Tables&, const Primitive&, const Features<T>& X, double) {
        return dot(X.d_a, X.d_b);
    }
    template <class T>
    static void gradient(const Tables&, const Primitive&, const Features<T>& X, double, Features<T>& g) {
        g.d_a = X.d_b;
        g.d_b = X.d_a;
    }
    template <class T>
    static T bend(const Tables&, const Primitive&, const Features<T>&, const Features<T>& U, double) {
        return T(2.0) * dot(U.d_a, U.d_b);
    }
};

struct Dot2 { // s = d_a . (P_b - P_a)
    static constexpr int kind = primitive_dot2;
    static constexpr bool points = true, direction_a = true, second_a = false, direction_b = false;
    template <class T> static T value(const Tables&, const Primitive&, const Features<T>& X, double) {
        return dot(X.d_a, X.P_b - X.P_a);
    }
    template <class T>
    static void gradient(const Tables&, const Primitive&, const Features<T>& X, double, Features<T>& g) {
        g.d_a = X.P_b - X.P_a;
        g.P_b = X.d_a;
        g.P_a = -X.d_a;
    }
    template <class T>
    static T bend(const Tables&, const Primitive&, const Features<T>&, const Features<T>& U, double) {
        return T(2.0) * dot(U.d_a, U.P_b - U.P_a);
    }
};

struct Distance { // s = |D|, D = P_b - P_a; singular at s = 0, which compile.py refuses
    static constexpr int kind = primitive_distance;
    static constexpr bool points = true, direction_a = false, second_a = false, direction_b = false;
    template <class T> static T value(const Tables&, const Primitive&, const Features<T>& X, double) {
        return norm(X.P_b - X.P_a);
    }
    template <class T>
    static void gradient(const Tables&, const Primitive&, const Features<T>& X, double, Features<T>& g) {
        const Vec3<T> D = X.P_b - X.P_a;
        g.P_b = (T(1.0) / norm(D)) * D;
        g.P_a = -g.P_b;
    }
    template <class T>
    static T bend(const Tables&, const Primitive&, const Features<T>& X, const Features<T>& U, double) {
        const Vec3<T> D = X.P_b - X.P_a, V = U.P_b - U.P_a;
        const T s = norm(D), rate = dot(D, V) / s;
        return (dot(V, V) - rate * rate) / s;
    }
};

// s = atan2(S, C), C = d_a . d_b, S = e_a . d_b, on the branch nearest to the last accepted angle (the memory).
//   s' = (C S' - S C') / rho, rho = C^2 + S^2
//   s'' = (C S'' - S C'') / rho - 2 (C C' + S S') (C S' - S C') / rho^2
struct Angle {
    static constexpr int kind = primitive_angle;
    static constexpr bool points = false, direction_a = true, second_a = true, direction_b = true;
    template <class T> static T value(const Tables&, const Primitive&, const Features<T>& X, double memory) {
        constexpr double turn = 6.283185307179586476925286766559;
        const T raw = atan2(dot(X.e_a, X.d_b), dot(X.d_a, X.d_b));
        return raw + turn * std::nearbyint((memory - plain(raw)) / turn);
    }
    template <class T>
    static void gradient(const Tables&, const Primitive&, const Features<T>& X, double, Features<T>& g) {
        const T C = dot(X.d_a, X.d_b), S = dot(X.e_a, X.d_b), inverse = T(1.0) / (C * C + S * S);
        const T c = C * inverse, s = S * inverse;
        g.d_a = (-s) * X.d_b;
        g.e_a = c * X.d_b;
        g.d_b = c * X.e_a - s * X.d_a;
    }
    template <class T>
    static T bend(const Tables&, const Primitive&, const Features<T>& X, const Features<T>& U, double) {
        const T C = dot(X.d_a, X.d_b), S = dot(X.e_a, X.d_b), inverse = T(1.0) / (C * C + S * S);
        const T C1 = dot(U.d_a, X.d_b) + dot(X.d_a, U.d_b), S1 = dot(U.e_a, X.d_b) + dot(X.e_a, U.d_b);
        const T C2 = T(2.0) * dot(U.d_a, U.d_b), S2 = T(2.0) * dot(U.e_a, U.d_b);
        return ((C * S2 - S * C2) - T(2.0) * (C * C1 + S * S1) * (C * S1 - S * C1) * inverse) * inverse;
    }
};

// Signed distance of P_b from a plane curve c(z) fixed on a, in the plane of d_a and e_a through P_a:
//   u = (d_a . D, e_a . D), foot point z* with (u - c) . c' = 0, normal n = (-c_y', c_x')/|c'|, s = n . (u - c).
// ds = n . du because the foot point is stationary; s'' adds -kappa/(1 - kappa s) (t . u')^2 with curvature kappa.
struct Curve {
    static constexpr int kind = primitive_curve;
    static constexpr bool points = true, direction_a = true, second_a = true, direction_b = false;

    template <class T> struct Foot {
        T u[2], tangent[2], normal[2], s, curvature;
    };
    // Newton's method on the foot point from the memory; two more sweeps make it exact in nested dual scalars.
    template <class T> static Foot<T> find_foot(const Tables& tables, const Primitive& p, const Features<T>& X,
                                                double memory, double* parameter = nullptr) {
        const Vec3<T> D = X.P_b - X.P_a;
        Foot<T> f;
        f.u[0] = dot(X.d_a, D);
        f.u[1] = dot(X.e_a, D);
        T z(memory), c[2], c1[2], c2[2];
        for (int sweep = 0; sweep < 25; ++sweep) {
            for (int i = 0; i < 2; ++i) calc_spline(tables, tables.functions[p.function + i], z, c[i], c1[i], c2[i]);
            const T e0 = f.u[0] - c[0], e1 = f.u[1] - c[1];
            const T slope = c1[0] * c1[0] + c1[1] * c1[1] - (e0 * c2[0] + e1 * c2[1]);
            const T safe = plain(slope) > 0.0 ? slope : c1[0] * c1[0] + c1[1] * c1[1];
            const T step = (e0 * c1[0] + e1 * c1[1]) / safe;
            z = z + step;
            if (std::abs(plain(step)) < 1e-15 && sweep > 4) break;
        }
        for (int i = 0; i < 2; ++i) calc_spline(tables, tables.functions[p.function + i], z, c[i], c1[i], c2[i]);
        const T speed = sqrt(c1[0] * c1[0] + c1[1] * c1[1]), inverse = T(1.0) / speed;
        f.tangent[0] = c1[0] * inverse;
        f.tangent[1] = c1[1] * inverse;
        f.normal[0] = -f.tangent[1];
        f.normal[1] = f.tangent[0];
        f.s = f.normal[0] * (f.u[0] - c[0]) + f.normal[1] * (f.u[1] - c[1]);
        f.curvature = (c1[0] * c2[1] - c1[1] * c2[0]) * inverse * inverse * inverse;
        if (parameter) *parameter = plain(z);
        return f;
    }
    template <class T> static T value(const Tables& tables, const Primitive& p, const Features<T>& X, double memory) {
        return find_foot(tables, p, X, memory).s;
    }
    template <class T> static void gradient(const Tables& tables, const Primitive& p, const Features<T>& X,
                                            double memory, Features<T>& g) {
        const Foot<T> f = find_foot(tables, p, X, memory);
        const Vec3<T> D = X.P_b - X.P_a;
        g.d_a = f.normal[0] * D;
        g.e_a = f.normal[1] * D;
        g.P_b = f.normal[0] * X.d_a + f.normal[1] * X.e_a;
        g.P_a = -g.P_b;
    }
    template <class T>
    static T bend(const Tables& tables, const Primitive& p, const Features<T>& X, const Features<T>& U, double memory) {
        const Foot<T> f = find_foot(tables, p, X, memory);
        const Vec3<T> D = X.P_b - X.P_a, V = U.P_b - U.P_a;
        const T u0 = dot(U.d_a, D) + dot(X.d_a, V), u1 = dot(U.e_a, D) + dot(X.e_a, V);
        const T along = f.tangent[0] * u0 + f.tangent[1] * u1;
        return T(2.0) * (f.normal[0] * dot(U.d_a, V) + f.normal[1] * dot(U.e_a, V)) -
               f.curvature / (T(1.0) - f.curvature * f.s) * along * along;
    }
};

template <class... Ts> struct TypeList {};
using ScalarPrimitives = TypeList<Dot1, Dot2, Distance, Angle, Curve>;

// Calls visit(P{}) for every scalar primitive type P.
template <class Visit, class... Ps> inline void for_each_primitive(TypeList<Ps...>, Visit&& visit) {
    (visit(Ps{}), ...);
}

// ---------------------------------------------------------------------------------------------------------------
// Carrier formulas: features of a primitive from two poses, and back from gradients to rows.
// ---------------------------------------------------------------------------------------------------------------
template <class P, class T>
inline void calc_features(const Primitive& p, const Pose<T>& a, const Pose<T>& b, Features<T>& X) {
    if constexpr (P::points) X.P_a = calc_point(a, p.s_a), X.P_b = calc_point(b, p.s_b);
    if constexpr (P::direction_a) X.d_a = calc_direction(a, p.d_a);
    if constexpr (P::second_a) X.e_a = calc_direction(a, p.e_a);
    if constexpr (P::direction_b) X.d_b = calc_direction(b, p.d_b);
}
template <class P, class T> inline void calc_feature_rates(const Primitive& p, const Pose<T>& a, const Twist<T>& u,
                                                           const Pose<T>& b, const Twist<T>& w, Features<T>& U) {
    if constexpr (P::points) U.P_a = calc_point_rate(a, u, p.s_a), U.P_b = calc_point_rate(b, w, p.s_b);
    if constexpr (P::direction_a) U.d_a = calc_direction_rate(a, u, p.d_a);
    if constexpr (P::second_a) U.e_a = calc_direction_rate(a, u, p.e_a);
    if constexpr (P::direction_b) U.d_b = calc_direction_rate(b, w, p.d_b);
}

template <class T> struct SpatialRow { // a row in the spatial velocity (v, w) of one body
    Vec3<T> force, torque;
};

template <class P, class T> inline void calc_rows(const Primitive& p, const Pose<T>& a, const Pose<T>& b,
                                                  const Features<T>& g, SpatialRow<T>& row_a, SpatialRow<T>& row_b) {
    row_a = {}, row_b = {};
    if constexpr (P::points) {
        row_a.force = g.P_a, row_a.torque = cross(cast<T>(p.s_a), transpose_times(a.A, g.P_a));
        row_b.force = g.P_b, row_b.torque = cross(cast<T>(p.s_b), transpose_times(b.A, g.P_b));
    }
    if constexpr (P::direction_a) row_a.torque += cross(cast<T>(p.d_a), transpose_times(a.A, g.d_a));
    if constexpr (P::second_a) row_a.torque += cross(cast<T>(p.e_a), transpose_times(a.A, g.e_a));
    if constexpr (P::direction_b) row_b.torque += cross(cast<T>(p.d_b), transpose_times(b.A, g.d_b));
}

// sum_k g_k . bias(X_k)
template <class P, class T> inline T calc_carrier_bias(const Primitive& p, const Pose<T>& a, const Twist<T>& u,
                                                       const Pose<T>& b, const Twist<T>& w, const Features<T>& g) {
    T s(0.0);
    if constexpr (P::points) s = s + dot(g.P_a, calc_bias(a, u, p.s_a)) + dot(g.P_b, calc_bias(b, w, p.s_b));
    if constexpr (P::direction_a) s = s + dot(g.d_a, calc_bias(a, u, p.d_a));
    if constexpr (P::second_a) s = s + dot(g.e_a, calc_bias(a, u, p.e_a));
    if constexpr (P::direction_b) s = s + dot(g.d_b, calc_bias(b, w, p.d_b));
    return s;
}

} // namespace linkwork
