#include "derivatives.hpp"

#include <algorithm>

#include "equations.hpp"
#include "seeds.hpp"

namespace linkwork {

namespace {

// Adds a gradient over the twelve directions to a row of a dense matrix, own columns only.
struct Scatter {
    const Body &a, &b;
    int nv;
    void add(double* row, const double* slope) const {
        for (int i = 0; i < a.nv; ++i) row[a.v + i] += slope[a.columns[i]];
        for (int i = 0; i < b.nv; ++i) row[b.v + i] += slope[6 + b.columns[i]];
    }
    // rows of body `body` of an nv x nv matrix from a spatial vector of duals
    void add_spatial(double* matrix, const Body& body, const Vec3<First>& linear, const Vec3<First>& angular) const {
        for (int i = 0; i < body.nv; ++i) {
            const int k = body.columns[i];
            add(matrix + static_cast<std::size_t>(body.v + i) * nv, (k < 3 ? linear[k] : angular[k - 3]).slope);
        }
    }
};

template <class P> void add_constraint(const Tables& tables, const Workspace& w, const std::vector<Twist<double>>& x,
                                       const Primitive& p, int row, double lambda, Derivatives& d) {
    const Body &body_a = tables.bodies[p.body_a], &body_b = tables.bodies[p.body_b];
    const Scatter scatter{body_a, body_b, tables.nv};
    const double memory = p.memory >= 0 ? w.memory[p.memory] : 0.0;
    const std::size_t nv = tables.nv;

    const auto a = seeded_pose<First>(w.pose[p.body_a], 0), b = seeded_pose<First>(w.pose[p.body_b], 6);
    const auto u = widen<First>(w.twist[p.body_a]), v = widen<First>(w.twist[p.body_b]);
    Features<First> X, g, U;
    SpatialRow<First> row_a, row_b;
    calc_features<P>(p, a, b, X);
    P::gradient(tables, p, X, memory, g);
    calc_rows<P>(p, a, b, g, row_a, row_b);
    const First along = First(p.coefficient) *
                        (calc_power(row_a, widen<First>(x[p.body_a])) + calc_power(row_b, widen<First>(x[p.body_b])));
    scatter.add(d.Jx_q.data() + row * nv, along.slope);
    const First c(p.coefficient * lambda);
    scatter.add_spatial(d.JtL_q.data(), body_a, c * row_a.force, c * row_a.torque);
    scatter.add_spatial(d.JtL_q.data(), body_b, c * row_b.force, c * row_b.torque);

    calc_feature_rates<P>(p, a, u, b, v, U);
    const First bias =
        First(-p.coefficient) * (P::bend(tables, p, X, U, memory) + calc_carrier_bias<P>(p, a, u, b, v, g));
    scatter.add(d.gamma_q.data() + row * nv, bias.slope);

    // the same bias with seeded velocities at the fixed pose
    const auto a0 = widen<First>(w.pose[p.body_a]), b0 = widen<First>(w.pose[p.body_b]);
    const auto u1 = seeded_twist(w.twist[p.body_a], 0), v1 = seeded_twist(w.twist[p.body_b], 6);
    calc_features<P>(p, a0, b0, X);
    P::gradient(tables, p, X, memory, g);
    calc_feature_rates<P>(p, a0, u1, b0, v1, U);
    const First bias_v =
        First(-p.coefficient) * (P::bend(tables, p, X, U, memory) + calc_carrier_bias<P>(p, a0, u1, b0, v1, g));
    scatter.add(d.gamma_v.data() + row * nv, bias_v.slope);

    // third order: the row displaced along x, then differentiated
    const auto a2 = displaced_along(seeded_pose<Second>(w.pose[p.body_a], 0), x[p.body_a]);
    const auto b2 = displaced_along(seeded_pose<Second>(w.pose[p.body_b], 6), x[p.body_b]);
    Features<Second> X2, g2;
    SpatialRow<Second> row_a2, row_b2;
    calc_features<P>(p, a2, b2, X2);
    P::gradient(tables, p, X2, memory, g2);
    calc_rows<P>(p, a2, b2, g2, row_a2, row_b2);
    const auto inner = [&](const Vec3<Second>& s) { // the part along x, its outer slopes, scaled
        Vec3<First> r;
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < directions; ++k) r[i].slope[k] = p.coefficient * lambda * s[i].slope[k].slope[0];
        return r;
    };
    scatter.add_spatial(d.JtLx_q.data(), body_a, inner(row_a2.force), inner(row_a2.torque));
    scatter.add_spatial(d.JtLx_q.data(), body_b, inner(row_b2.force), inner(row_b2.torque));
}

// Adds f_q and f_v of an element on two bodies (or one, twice): calc(pose a, twist a, pose b, twist b, wrench a, wrench
// b).
template <class Calc>
void add_force(const Tables& tables, const Workspace& w, int body_a, int body_b, Derivatives& d, Calc&& calc) {
    const Body &a = tables.bodies[body_a], &b = tables.bodies[body_b];
    const Scatter scatter{a, b, tables.nv};
    for (const bool velocity : {false, true}) {
        const auto pose_a = velocity ? widen<First>(w.pose[body_a]) : seeded_pose<First>(w.pose[body_a], 0);
        const auto pose_b = velocity ? widen<First>(w.pose[body_b]) : seeded_pose<First>(w.pose[body_b], 6);
        const auto u = velocity ? seeded_twist(w.twist[body_a], 0) : widen<First>(w.twist[body_a]);
        const auto v = velocity ? seeded_twist(w.twist[body_b], 6) : widen<First>(w.twist[body_b]);
        Wrench<First> wrench_a{}, wrench_b{};
        calc(pose_a, u, pose_b, v, wrench_a, wrench_b);
        double* matrix = (velocity ? d.f_v : d.f_q).data();
        scatter.add_spatial(matrix, a, wrench_a.force, wrench_a.torque);
        scatter.add_spatial(matrix, b, wrench_b.force, wrench_b.torque);
    }
}

// Forces on one body: the second body is the ground, which has no columns.
template <class Calc>
void add_single_force(const Tables& tables, const Workspace& w, int body, Derivatives& d, Calc&& calc) {
    add_force(
        tables, w, body, 0, d,
        [&](const auto& pose, const auto& u, const auto&, const auto&, auto& wrench, auto&) { calc(pose, u, wrench); });
}

} // namespace

void calc_user_force_slopes(const Tables& tables, double t, const Workspace& w,
                            const std::function<void(bool, int, int, int, int, double)>& visit) {
    if (tables.user_forces.empty()) return;
    constexpr double h = 1e-6;
    Tables only = tables; // one user force alone
    only.coordinate_forces.clear(), only.loads.clear(), only.bushings.clear(), only.tires.clear();
    only.gravity = {};
    for (Body& b : only.bodies) b.inertia = Mat{}; // no gyroscopic torque
    for (const UserForce& force : tables.user_forces) {
        only.user_forces.assign(1, force);
        finish_tables(only);
        Workspace work(only);
        std::vector<double> plus(tables.nv);
        const auto difference = [&](int body, int column, bool velocity) {
            const int k = tables.bodies[body].columns[column];
            for (const double sign : {1.0, -1.0}) {
                work.pose = w.pose;
                work.twist = w.twist;
                Vec linear{}, angular{};
                (k < 3 ? linear[k] : angular[k - 3]) = sign * h;
                if (velocity)
                    work.twist[body].v += linear, work.twist[body].w += angular;
                else
                    work.pose[body] = displace(w.pose[body], linear, angular);
                calc_forces(only, t, work);
                if (sign > 0) plus = work.force;
            }
            for (int i = 0; i < force.count; ++i) {
                const int other = tables.user_bodies[force.first + i];
                const Body& b = tables.bodies[other];
                for (int r = 0; r < b.nv; ++r)
                    visit(velocity, other, r, body, column, (plus[b.v + r] - work.force[b.v + r]) / (2 * h));
            }
        };
        for (int i = 0; i < force.count; ++i) {
            const int body = tables.user_bodies[force.first + i];
            for (int column = 0; column < tables.bodies[body].nv; ++column)
                for (const bool velocity : {false, true}) difference(body, column, velocity);
        }
    }
}

Derivatives calc_derivatives(const Tables& tables, double t, const Workspace& w, const double* x,
                             const double* lambda) {
    const std::size_t nv = tables.nv, m = tables.rows_count;
    Derivatives d;
    d.Jx_q.assign(m * nv, 0.0), d.gamma_q = d.gamma_v = d.Jx_q;
    d.JtL_q.assign(nv * nv, 0.0), d.JtLx_q = d.f_q = d.f_v = d.JtL_q;
    std::vector<Twist<double>> along(tables.bodies.size());
    for (std::size_t i = 0; i < along.size(); ++i) calc_twist(tables.bodies[i], x, along[i]);

    for (const Primitive& p : tables.primitives) {
        if (p.row < 0) continue;
        if (p.kind == primitive_coincident || p.kind == primitive_coincident2) {
            add_constraint<Coincident<0>>(tables, w, along, p, p.row, lambda[p.row], d);
            add_constraint<Coincident<1>>(tables, w, along, p, p.row + 1, lambda[p.row + 1], d);
            if (p.kind == primitive_coincident)
                add_constraint<Coincident<2>>(tables, w, along, p, p.row + 2, lambda[p.row + 2], d);
            continue;
        }
        for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) {
            if (p.kind == P::kind) add_constraint<P>(tables, w, along, p, p.row, lambda[p.row], d);
        });
    }

    const First time(t);
    for (const CoordinateForce& f : tables.coordinate_forces)
        for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) {
            if (f.coordinate.kind != P::kind) return;
            const double memory = f.coordinate.memory >= 0 ? w.memory[f.coordinate.memory] : 0.0;
            add_force(tables, w, f.coordinate.body_a, f.coordinate.body_b, d,
                      [&](const auto& a, const auto& u, const auto& b, const auto& v, auto& wa, auto& wb) {
                          calc_coordinate_force<P>(tables, f, time, memory, a, u, b, v, wa, wb);
                      });
        });
    for (const Bushing& f : tables.bushings)
        add_force(tables, w, f.body_a, f.body_b, d,
                  [&](const auto& a, const auto& u, const auto& b, const auto& v, auto& wa, auto& wb) {
                      calc_bushing(f, a, u, b, v, wa, wb);
                  });
    for (const Load& f : tables.loads)
        add_single_force(tables, w, f.body, d,
                         [&](const auto& a, const auto&, auto& wrench) { calc_load(tables, f, time, a, wrench); });
    for (const Tire& f : tables.tires)
        add_single_force(tables, w, f.body, d,
                         [&](const auto& a, const auto& u, auto& wrench) { calc_tire(tables, f, a, u, wrench); });
    for (std::size_t i = 0; i < tables.bodies.size(); ++i)
        if (tables.bodies[i].kind == body_rigid)
            add_single_force(tables, w, static_cast<int>(i), d, [&](const auto&, const auto& u, auto& wrench) {
                wrench.torque -= calc_gyroscopic(tables.bodies[i], u.w);
            });
    calc_user_force_slopes(tables, t, w, [&](bool velocity, int row_body, int row, int body, int column, double slope) {
        (velocity ? d.f_v : d.f_q)[(tables.bodies[row_body].v + row) * nv + tables.bodies[body].v + column] += slope;
    });
    return d;
}

} // namespace linkwork
