#include "tree.hpp"

#include <algorithm>
#include <cmath>

namespace linkwork {

namespace {

Mat calc_turned_inertia(const Mat& A, const Mat& J) { // A J A^T
    const Mat B = times(A, J);
    Mat C;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j <= i; ++j) C[i][j] = C[j][i] = B[i][0] * A[j][0] + B[i][1] * A[j][1] + B[i][2] * A[j][2];
    return C;
}

constexpr double farthest_turn = 1.0; // rad

// The rotation vector that takes the axes A to those of B, ground axes.
Vec calc_turn(const Mat& A, const Mat& B) {
    Mat D; // B A^T
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) D[i][j] = B[i][0] * A[j][0] + B[i][1] * A[j][1] + B[i][2] * A[j][2];
    double p[4] = {1, 0, 0, 0};
    calc_parameters(D, p);
    const double sine = std::sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
    const double factor = sine > 1e-8 ? 2 * std::atan2(sine, p[0]) / sine : 2.0;
    return {factor * p[1], factor * p[2], factor * p[3]};
}

} // namespace

Tree::Tree(const Tables& tables)
    : tables(tables), links(tables.links), motions(tables.motions), link_of(tables.bodies.size(), -1),
      z(motions.size()), rate(motions.size()), second(motions.size()), leaf(links.size(), 1), opens(links.size()),
      planar_zero(links.size()), axes(motions.size()), pivots(motions.size()), inertia(links.size()),
      steps(links.size()), velocity(tables.bodies.size()), bias(links.size()), acceleration(tables.bodies.size()),
      work(tables.bodies.size()) {
    for (std::size_t i = 0; i < links.size(); ++i) link_of[links[i].body] = static_cast<int>(i);
    for (std::size_t i = links.size(); i-- > 0;) {
        const int parent = link_of[links[i].parent];
        if (parent < 0) continue;
        opens[i] = leaf[parent];
        leaf[parent] = 0;
    }
    find_planar_links();
}

// Directions of motions and frames as they are where all angles are zero (planar_tree.hpp).
void Tree::find_planar_links() {
    planar.assign(links.size(), 0);
    bare.assign(links.size(), 1);
    planar_links.resize(links.size());
    planar_motions.resize(motions.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
        const TreeLink& link = links[i];
        const int kind = tables.bodies[link.parent].kind;
        planar[i] = tables.bodies[link.body].kind == body_planar && (kind == body_ground || kind == body_planar);
        if (!planar[i] && link_of[link.parent] >= 0) bare[link_of[link.parent]] = 0;
        if (!planar[i]) continue;
        Mat F{};
        for (int k = 0; k < 3; ++k) F[k][k] = 1;
        for (int k = link.motion; k < link.motion + link.motions; ++k) {
            const TreeMotion& m = motions[k];
            PlanarMotion& flat = planar_motions[k];
            const Vec s = F * m.s;
            F = times(F, m.R);
            flat = {m.turn != 0.0 ? (F[2][2] > 0 ? 1.0 : -1.0) : 0.0, {s.x, s.y}, {F[0][2], F[1][2]}};
        }
        F = times(F, link.E);
        planar_links[i] = {F[0][0], F[1][0], {link.s.x, link.s.y}};
    }
}

void Tree::set_position(Workspace& w) {
    w.pose[0] = {};
    for (int i = 0; i < 3; ++i) w.pose[0].A[i][i] = 1;
    for (std::size_t i = 0; i < links.size(); ++i) {
        const TreeLink& link = links[i];
        const int k = link.motion;
        if (planar[i])
            calc_planar_pose(planar_links[i], link.motions, planar_motions.data() + k, z.data() + k,
                             w.pose[link.parent], w.pose[link.body], axes.data() + k);
        else
            calc_link_pose(link, is_point(link), motions.data() + k, z.data() + k, w.pose[link.parent],
                           w.pose[link.body], axes.data() + k);
        steps[i] = w.pose[link.body].r - w.pose[link.parent].r;
    }
}

void Tree::set_velocity(Workspace& w) {
    velocity[0] = {};
    w.twist[0] = {};
    for (std::size_t i = 0; i < links.size(); ++i) {
        const TreeLink& link = links[i];
        const int k = link.motion;
        if (planar[i])
            calc_planar_velocity(link.motions, planar_motions.data() + k, axes.data() + k, rate.data() + k, steps[i],
                                 velocity[link.parent], velocity[link.body], bias[i]);
        else
            calc_link_velocity(link, is_point(link), axes.data() + k, rate.data() + k, steps[i], velocity[link.parent],
                               velocity[link.body], bias[i]);
        const Spatial<double>& u = velocity[link.body];
        w.twist[link.body] = {u.linear, planar[i] ? u.angular : transpose_times(w.pose[link.body].A, u.angular)};
    }
}

// The body alone: its inertia, and p = -(torque, force) with the gyroscopic torque.
void Tree::begin_inertia(int index, const Workspace& w) {
    const int b = links[index].body;
    const Body& body = tables.bodies[b];
    const Pose<double>& pose = w.pose[b];
    Articulated<double>& I = inertia[index];
    if (planar[index] && bare[index]) { // the entries that the short way uses
        I.aa[2][2] = body.inertia[2][2];
        I.al[2][0] = I.al[2][1] = I.ll[0][1] = 0;
        I.ll[0][0] = I.ll[1][1] = body.mass;
        I.p = {{0, 0, -w.wrench[b].torque.z}, {-w.wrench[b].force.x, -w.wrench[b].force.y, 0}};
        return;
    }
    I.al = {}, I.ll = {}, I.aa = {};
    for (int i = 0; i < 3; ++i) I.ll[i][i] = body.mass;
    I.p.linear = -w.wrench[b].force;
    if (body.kind == body_rigid) {
        I.aa = calc_turned_inertia(pose.A, body.inertia);
        const Vec& spin = w.twist[b].w;
        I.p.angular = -(pose.A * (w.wrench[b].torque - cross(spin, body.inertia * spin)));
    } else {
        I.p.angular = {}; // a point feels no torque, a planar body only the one about z
        if (body.kind == body_planar) I.aa[2][2] = body.inertia[2][2], I.p.angular.z = -w.wrench[b].torque.z;
    }
}

bool Tree::calc_pivots(const Workspace& w) {
    for (std::size_t i = links.size(); i-- > 0;) {
        const TreeLink& link = links[i];
        Articulated<double>& I = inertia[i];
        const int parent = link_of[link.parent];
        if (leaf[i]) begin_inertia(static_cast<int>(i), w);
        if (planar[i]) {
            for (int k = link.motions - 1; k >= 0; --k)
                if (!free_planar_motion(I, axes[link.motion + k], pivots[link.motion + k])) return false;
            if (parent < 0) continue;
            if (opens[i]) begin_inertia(parent, w);
            add_planar_to_parent(I, bias[i].linear, steps[i], inertia[parent]);
            continue;
        }
        if (is_point(link)) I.aa = {}, I.al = {}, I.p.angular = {}; // what hangs on a point cannot turn it
        for (int k = link.motions - 1; k >= 0; --k)
            if (!free_motion(I, axes[link.motion + k], pivots[link.motion + k])) return false;
        if (parent < 0) continue;
        Spatial<double> f;
        calc_product(I, bias[i], f);
        I.p.angular += f.angular;
        I.p.linear += f.linear;
        if (opens[i]) begin_inertia(parent, w);
        add_to_parent(I, steps[i], inertia[parent]);
    }
    return true;
}

// z'' = -(U.a + S.p) / D, with a the acceleration before the motion is added.
void Tree::calc_second() {
    acceleration[0] = {};
    for (std::size_t i = 0; i < links.size(); ++i) {
        const TreeLink& link = links[i];
        const Spatial<double>& up = acceleration[link.parent];
        if (planar[i]) {
            double a = up.angular.z, x = up.linear.x - a * steps[i].y + bias[i].linear.x,
                   y = up.linear.y + a * steps[i].x + bias[i].linear.y;
            for (int k = link.motion; k < link.motion + link.motions; ++k) {
                const MotionPivot<double>& p = pivots[k];
                second[k] = -(p.U.angular.z * a + p.U.linear.x * x + p.U.linear.y * y + p.w) * p.inverse;
                a += second[k] * axes[k].e.z;
                x += second[k] * axes[k].l.x;
                y += second[k] * axes[k].l.y;
            }
            acceleration[link.body] = {{0, 0, a}, {x, y, 0}};
            continue;
        }
        Spatial<double> a = {up.angular + bias[i].angular, up.linear + cross(up.angular, steps[i]) + bias[i].linear};
        for (int k = link.motion; k < link.motion + link.motions; ++k) {
            const MotionPivot<double>& pivot = pivots[k];
            second[k] = -(product(pivot.U, a) + pivot.w) * pivot.inverse;
            a.angular += second[k] * axes[k].e;
            a.linear += second[k] * axes[k].l;
        }
        if (is_point(link)) a.angular = {};
        acceleration[link.body] = a;
    }
}

// Spatial vectors of bodies to and from velocity coordinates: rotations in body axes, columns the body has.
void Tree::write(const Workspace& w, int b, const Spatial<double>& s, double* v) const {
    const Body& body = tables.bodies[b];
    const Vec turn = body.kind == body_rigid ? transpose_times(w.pose[b].A, s.angular) : s.angular;
    const double full[6] = {s.linear.x, s.linear.y, s.linear.z, turn.x, turn.y, turn.z};
    for (int i = 0; i < body.nv; ++i) v[body.v + i] = full[body.columns[i]];
}
Spatial<double> Tree::read(const Workspace& w, int b, const double* v) const {
    Twist<double> twist;
    calc_twist(tables.bodies[b], v, twist);
    return {w.pose[b].A * twist.w, twist.v};
}
void Tree::write_velocity(const Workspace& w, double* v) const {
    for (const TreeLink& link : links) write(w, link.body, velocity[link.body], v);
}
void Tree::write_acceleration(const Workspace& w, double* a) const {
    for (const TreeLink& link : links) write(w, link.body, acceleration[link.body], a);
}

void Tree::write_position(const Workspace& w, double* q) const {
    for (std::size_t i = 0; i < links.size(); ++i) {
        const TreeLink& link = links[i];
        const Body& body = tables.bodies[link.body];
        const Pose<double>& pose = w.pose[link.body];
        double* x = q + body.q;
        for (int k = 0; k < body.nv && k < 3; ++k) x[k] = pose.r[k];
        if (body.kind == body_rigid) calc_parameters(pose.A, x + 3);
        if (body.kind != body_planar) continue;
        // the coordinates know how many turns it were
        const double turn = 2 * std::acos(-1.0), raw = std::atan2(pose.A[1][0], pose.A[0][0]);
        const double near = planar_zero[i] + calc_planar_turn(q, link);
        x[2] = raw + turn * std::nearbyint((near - raw) / turn);
    }
}

// The angle of a planar body less its zero: that of its parent and the turns between them.
double Tree::calc_planar_turn(const double* q, const TreeLink& link) const {
    const Body& parent = tables.bodies[link.parent];
    double angle = parent.kind == body_planar ? q[parent.q + 2] : 0.0;
    for (int k = link.motion; k < link.motion + link.motions; ++k) angle += axes[k].e.z * z[k];
    return angle;
}

// --- the way back --------------------------------------------------------------------------------------------------

// dz of least squares with sum S_k dz_k = motion, exact where the motion is one of the joint: Gram-Schmidt.
void Tree::solve_link(const TreeLink& link, const Spatial<double>& motion, double* dz) const {
    Spatial<double> Q[most_motions], rest = motion;
    double R[most_motions][most_motions], y[most_motions];
    const bool point = is_point(link);
    if (point) rest.angular = {};
    const auto take_out = [](Spatial<double>& from, const Spatial<double>& of, double s) {
        from.angular -= s * of.angular;
        from.linear -= s * of.linear;
    };
    for (int k = 0; k < link.motions; ++k) {
        Q[k] = {point ? Vec{} : axes[link.motion + k].e, axes[link.motion + k].l};
        for (int j = 0; j < k; ++j) R[j][k] = 0;
        for (int pass = 0; pass < 2; ++pass)
            for (int j = 0; j < k; ++j) {
                const double s = product(Q[j], Q[k]);
                R[j][k] += s;
                take_out(Q[k], Q[j], s);
            }
        R[k][k] = std::sqrt(product(Q[k], Q[k]));
        const double inverse = R[k][k] > 1e-12 ? 1 / R[k][k] : 0.0;
        Q[k] = {inverse * Q[k].angular, inverse * Q[k].linear};
        y[k] = product(Q[k], rest);
        take_out(rest, Q[k], y[k]);
    }
    for (int k = link.motions; k-- > 0;) {
        double s = y[k];
        for (int j = k + 1; j < link.motions; ++j) s -= R[k][j] * dz[j];
        dz[k] = R[k][k] > 1e-12 ? s / R[k][k] : 0.0;
    }
}

// Newton's method on the pose of one body, from the coordinates there are, from zero, and from places at random.
bool Tree::find_link_position(const TreeLink& link, const Workspace& w, const Pose<double>& target) {
    const bool point = is_point(link);
    double *y = z.data() + link.motion, dz[most_motions], best[most_motions], least = 1e-6;
    unsigned random = 12345;
    for (int trial = 0; trial < 60 && least > 1e-9; ++trial) {
        for (int k = 0; k < link.motions && trial > 0; ++k) {
            random = 1664525u * random + 1013904223u;
            const bool turns = motions[link.motion + k].turn != 0.0;
            y[k] = trial == 1 || !turns ? 0.0 : 6.283 * (random / 4294967296.0 - 0.5);
        }
        for (int sweep = 0; sweep < 30; ++sweep) {
            Pose<double> pose;
            calc_link_pose(link, point, motions.data() + link.motion, y, w.pose[link.parent], pose,
                           axes.data() + link.motion);
            Spatial<double> gap = {{}, target.r - pose.r};
            if (!point) gap.angular = calc_turn(pose.A, target.A);
            const double size = std::sqrt(product(gap, gap));
            if (size < least) std::copy_n(y, link.motions, best), least = size;
            for (int k = 0; k < link.motions; ++k) { // a screw on its first turn may be many turns away
                const TreeMotion& m = motions[link.motion + k];
                if (sweep > 0 || m.turn == 0.0 || m.slide == 0.0) continue;
                y[k] += dot(axes[link.motion + k].axis, target.r - pose.r) / m.slide;
            }
            solve_link(link, gap, dz);
            double largest = 0;
            for (int k = 0; k < link.motions; ++k) {
                const TreeMotion& m = motions[link.motion + k];
                if (sweep == 0 && m.turn != 0.0 && m.slide != 0.0) continue;
                y[k] += dz[k];
                largest = std::max(largest, std::abs(dz[k]));
            }
            if (sweep > 1 && largest < 1e-15) break;
        }
    }
    if (!(least < 1e-6)) return false;
    std::copy_n(best, link.motions, y);
    return true;
}

bool Tree::find_position(const double* q, Workspace& w) {
    w.pose[0] = {};
    for (int i = 0; i < 3; ++i) w.pose[0].A[i][i] = 1;
    for (std::size_t i = 0; i < links.size(); ++i) {
        const TreeLink& link = links[i];
        Pose<double> target;
        calc_pose(tables.bodies[link.body], q, target);
        if (!find_link_position(link, w, target)) return false;
        calc_link_pose(link, is_point(link), motions.data() + link.motion, z.data() + link.motion, w.pose[link.parent],
                       w.pose[link.body], axes.data() + link.motion);
    }
    take_new_zero(w);
    set_position(w);
    for (std::size_t i = 0; i < links.size(); ++i) {
        const Body& body = tables.bodies[links[i].body];
        if (body.kind == body_planar) planar_zero[i] = q[body.q + 2] - calc_planar_turn(q, links[i]);
    }
    return true;
}

void Tree::find_rate(const Workspace& w, const double* v) { calc_coordinates(w, v, rate.data()); }

void Tree::calc_displacement(const Workspace& w, const double* dz, double* d) {
    work[0] = {};
    for (std::size_t i = 0; i < links.size(); ++i) {
        const TreeLink& link = links[i];
        const Spatial<double>& up = work[link.parent];
        Spatial<double> u = {up.angular, up.linear + cross(up.angular, steps[i])};
        for (int k = link.motion; k < link.motion + link.motions; ++k) {
            u.angular += dz[k] * axes[k].e;
            u.linear += dz[k] * axes[k].l;
        }
        if (is_point(link)) u.angular = {};
        work[link.body] = u;
        write(w, link.body, u, d);
    }
}

Spatial<double> Tree::read_relative(const Workspace& w, int index, const double* d) const {
    const TreeLink& link = links[index];
    const Spatial<double> up = read(w, link.parent, d), own = read(w, link.body, d);
    return {own.angular - up.angular, own.linear - up.linear - cross(up.angular, steps[index])};
}

void Tree::calc_coordinates(const Workspace& w, const double* d, double* dz) {
    for (std::size_t i = 0; i < links.size(); ++i)
        solve_link(links[i], read_relative(w, static_cast<int>(i), d), dz + links[i].motion);
}

void Tree::calc_link_inverse(int index, double* inverse) const {
    double dz[most_motions];
    for (int c = 0; c < 6; ++c) {
        Spatial<double> unit{};
        (c < 3 ? unit.angular : unit.linear)[c % 3] = 1;
        solve_link(links[index], unit, dz);
        for (int k = 0; k < links[index].motions; ++k) inverse[k * 6 + c] = dz[k];
    }
}
void Tree::calc_link_coordinates(const Workspace& w, int index, const double* inverse, const double* d,
                                 double* dz) const {
    const Spatial<double> s = read_relative(w, index, d);
    for (int k = 0; k < links[index].motions; ++k, inverse += 6)
        dz[links[index].motion + k] = inverse[0] * s.angular.x + inverse[1] * s.angular.y + inverse[2] * s.angular.z +
                                      inverse[3] * s.linear.x + inverse[4] * s.linear.y + inverse[5] * s.linear.z;
}

// --- turns of arbitrary zero -----------------------------------------------------------------------------------------

// Two or three turns about axes through one point, each at right angles to the next where all are zero, lose grip when
// the middle one (the second of two) nears a right angle.
bool Tree::wants_new_zero() const {
    for (std::size_t k = 0; k < motions.size(); ++k)
        if (motions[k].group > 0 && std::abs(z[k + 1]) > farthest_turn) return true;
    return false;
}

// The rotation of such a group becomes part of its first fixed frame: R_1 := R_1 Rz R_2 Rz .. (R_2 ..)^T, turns zero.
void Tree::take_new_zero(Workspace& w) {
    for (std::size_t k = 0; k < motions.size(); ++k) {
        const int count = motions[k].group;
        if (count == 0) continue;
        Mat turned = motions[k].R, plain_rest{};
        for (int i = 0; i < 3; ++i) plain_rest[i][i] = 1;
        for (int j = 0; j < count; ++j) {
            if (j > 0) turned = times(turned, motions[k + j].R), plain_rest = times(plain_rest, motions[k + j].R);
            turn_about_z(turned, z[k + j]);
            z[k + j] = 0;
        }
        Mat back;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) back[i][j] = plain_rest[j][i];
        turned = times(turned, back);
        // through Euler parameters, so that round-off does not add up to something else than a rotation
        double p[4] = {1, 0, 0, 0};
        calc_parameters(turned, p);
        motions[k].R = calc_rotation(p);
    }
    set_position(w);
}

} // namespace linkwork
