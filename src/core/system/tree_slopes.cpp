// How velocities and accelerations of the bodies of a tree answer to its coordinates and rates.
//
// With all spatial vectors about the origin of the ground, S = (e, l - e x r), the way down is
//   V_k = V_{k-1} + S_k z_k',   A_k = A_{k-1} + S_k z_k'' + V_{k-1} x S_k z_k'
// where (w, v) x (e, l) = (w x e, w x l + v x e), and displacing coordinates by dz carries what comes after along:
// with D_k = D_{k-1} + S_k dz_k, the change of S_k is D_{k-1} x S_k. So
//   dV_k = dV_{k-1} + (D_{k-1} x S_k) z_k' + S_k dz_k'
//   dA_k = dA_{k-1} + (D_{k-1} x S_k) z_k'' + dV_{k-1} x S_k z_k' + V_{k-1} x ((D_{k-1} x S_k) z_k' + S_k dz_k')
// [featherstone 2]. For a body at r moved by D = (t, s): dr = s + t x r,
//   dv = dV + dw x r + w x dr,   da = dA + dalpha x r + alpha x dr + dw x v + w x dv,
// and in body axes d(A^T w) = A^T (dw - t x w). The axes of a point are those of the ground, t = 0, whatever turns
// before. Directions are taken eight at a time, one per lane.
#include "tree.hpp"

namespace linkwork {

namespace {

using Wide = Vec3<Lanes>;

Wide operator+(const Wide& a, const Wide& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Wide operator-(const Wide& a, const Wide& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Wide times(const Vec& a, const Lanes& s) { return {s * a.x, s * a.y, s * a.z}; }
Wide scaled(const Wide& a, double s) { return {a.x * s, a.y * s, a.z * s}; }
Wide cross(const Wide& a, const Vec& b) {
    return {subtract_product(a.y * b.z, a.z, b.y), subtract_product(a.z * b.x, a.x, b.z),
            subtract_product(a.x * b.y, a.y, b.x)};
}
Wide cross(const Vec& a, const Wide& b) {
    return {subtract_product(b.z * a.y, b.y, a.z), subtract_product(b.x * a.z, b.z, a.x),
            subtract_product(b.y * a.x, b.x, a.y)};
}
Wide transpose_times(const Mat& A, const Wide& b) {
    const auto row = [&](int i) { return add_product(add_product(b.x * A[0][i], b.y, A[1][i]), b.z, A[2][i]); };
    return {row(0), row(1), row(2)};
}

WideMotion cross(const WideMotion& a, const Spatial<double>& b) {
    return {cross(a.angular, b.angular), cross(a.angular, b.linear) + cross(a.linear, b.angular)};
}
WideMotion cross(const Spatial<double>& a, const WideMotion& b) {
    return {cross(a.angular, b.angular), cross(a.angular, b.linear) + cross(a.linear, b.angular)};
}
void add(WideMotion& to, const WideMotion& a) { to = {to.angular + a.angular, to.linear + a.linear}; }
WideMotion scaled(const WideMotion& a, double s) { return {scaled(a.angular, s), scaled(a.linear, s)}; }
WideMotion times(const Spatial<double>& S, const Lanes& s) { return {times(S.angular, s), times(S.linear, s)}; }

Spatial<double> about_origin(const Spatial<double>& a, const Vec& r) {
    return {a.angular, a.linear - cross(a.angular, r)};
}
WideMotion none() {
    const Lanes zero = broadcast(0.0);
    return {{zero, zero, zero}, {zero, zero, zero}};
}

} // namespace

// The columns of a body that are translations (first = 0) or rotations (first = 3, in body axes where it is rigid).
void Tree::write_slopes(const Workspace& w, const TreeLink& link, int first, int count, const Vec3<Lanes>& s,
                        double* out) const {
    const Body& body = tables.bodies[link.body];
    const bool turned = first == 3 && body.kind == body_rigid;
    const Wide own = turned ? transpose_times(w.pose[link.body].A, s) : s;
    double at[3][lanes];
    for (int i = 0; i < 3; ++i) store(at[i], own[i]);
    for (int i = 0; i < body.nv; ++i) {
        const int column = body.columns[i] - first;
        if (column < 0 || column > 2) continue;
        for (int j = 0; j < count; ++j) out[static_cast<std::size_t>(j) * tables.nv + body.v + i] = at[column][j];
    }
}

void Tree::calc_slopes(const Workspace& w, int count, const double* dz, const double* drate, double* u, double* b) {
    if (displaced.empty()) // at the first linearization
        for (auto* all : {&displaced, &velocity_slope, &acceleration_slope}) all->assign(tables.bodies.size(), none());
    const auto gather = [&](const double* values, int k) {
        double at[lanes] = {};
        for (int j = 0; j < count && values; ++j) at[j] = values[static_cast<std::size_t>(j) * size() + k];
        return load(at);
    };
    for (const TreeLink& link : links) {
        const Vec &r = w.pose[link.body].r, &v = velocity[link.body].linear;
        WideMotion D = displaced[link.parent], dV = velocity_slope[link.parent], dA = acceleration_slope[link.parent];
        Spatial<double> V = about_origin(velocity[link.parent], w.pose[link.parent].r);
        Vec alpha = acceleration[link.parent].angular;
        for (int k = link.motion; k < link.motion + link.motions; ++k) {
            const Spatial<double> S = about_origin({axes[k].e, axes[k].l}, r);
            const WideMotion change = cross(D, S), rates = times(S, gather(drate, k));
            add(dA, scaled(change, second[k]));
            add(dA, scaled(cross(dV, S), rate[k]));
            WideMotion moved = scaled(change, rate[k]);
            add(moved, rates);
            add(dA, cross(V, moved));
            add(dV, moved);
            add(D, times(S, gather(dz, k)));
            alpha += second[k] * S.angular + rate[k] * cross(V.angular, S.angular);
            V.angular += rate[k] * S.angular, V.linear += rate[k] * S.linear;
        }
        const Vec& spin = V.angular;
        const Wide dr = D.linear + cross(D.angular, r);
        const Wide dv = dV.linear + cross(dV.angular, r) + cross(spin, dr);
        const Wide da = dA.linear + cross(dA.angular, r) + cross(alpha, dr) + cross(dV.angular, v) + cross(spin, dv);
        if (is_point(link)) { // carried so far like any body; for what hangs on it, its axes are those of the ground
            D = {none().angular, dr}, dV = {none().angular, dv}, dA = {none().angular, da};
        } else {
            write_slopes(w, link, 3, count, dV.angular - cross(D.angular, spin), u);
            write_slopes(w, link, 3, count, dA.angular - cross(D.angular, alpha), b);
        }
        write_slopes(w, link, 0, count, dv, u);
        write_slopes(w, link, 0, count, da, b);
        displaced[link.body] = D, velocity_slope[link.body] = dV, acceleration_slope[link.body] = dA;
    }
}

} // namespace linkwork
