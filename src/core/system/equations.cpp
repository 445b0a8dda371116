#include "equations.hpp"

#include <algorithm>

#include "../kernels/forces.hpp"

namespace linkwork {

namespace {

enum : unsigned { want_phi = 1, want_jacobian = 2, want_gamma = 4 };

double memory_of(const Workspace& w, const Primitive& p) { return p.memory >= 0 ? w.memory[p.memory] : 0.0; }

// Adds one row, scaled by the primitive's coefficient, to the Jacobian parts of both bodies.
void add_rows(const Tables& tables, const Primitive& p, int row, const SpatialRow<double>& a,
              const SpatialRow<double>& b, double* jacobian) {
    const Body &body_a = tables.bodies[p.body_a], &body_b = tables.bodies[p.body_b];
    const int local = row - tables.blocks[tables.rows[row].block].row;
    add_row(body_a, p.coefficient * a.force, p.coefficient * a.torque,
            jacobian + tables.parts[p.part_a].offset + local * body_a.nv);
    add_row(body_b, p.coefficient * b.force, p.coefficient * b.torque,
            jacobian + tables.parts[p.part_b].offset + local * body_b.nv);
}

template <unsigned want, class P> void sweep_scalar(const Tables& tables, Workspace& w) {
    for (int i = tables.primitive_first[P::kind]; i < tables.primitive_first[P::kind + 1]; ++i) {
        const Primitive& p = tables.primitives[i];
        if (p.row < 0) continue;
        const auto &a = w.pose[p.body_a], &b = w.pose[p.body_b];
        const double memory = memory_of(w, p);
        Features<double> X, g;
        calc_features<P>(p, a, b, X);
        if constexpr (want & want_phi) w.phi[p.row] += p.coefficient * P::value(tables, p, X, memory);
        if constexpr (want & (want_jacobian | want_gamma)) P::gradient(tables, p, X, memory, g);
        if constexpr (want & want_jacobian) {
            SpatialRow<double> row_a, row_b;
            calc_rows<P>(p, a, b, g, row_a, row_b);
            add_rows(tables, p, p.row, row_a, row_b, w.jacobian.data());
        }
        if constexpr (want & want_gamma) {
            const auto &u = w.twist[p.body_a], &v = w.twist[p.body_b];
            Features<double> U;
            calc_feature_rates<P>(p, a, u, b, v, U);
            w.gamma[p.row] -=
                p.coefficient * (P::bend(tables, p, X, U, memory) + calc_carrier_bias<P>(p, a, u, b, v, g));
        }
    }
}

// P_b - P_a, three rows or (planar) the first two
template <unsigned want> void sweep_coincident(const Tables& tables, Workspace& w, int kind) {
    const int count = kind == primitive_coincident ? 3 : 2;
    for (int i = tables.primitive_first[kind]; i < tables.primitive_first[kind + 1]; ++i) {
        const Primitive& p = tables.primitives[i];
        const auto &a = w.pose[p.body_a], &b = w.pose[p.body_b];
        if constexpr (want & want_phi) {
            const Vec D = calc_point(b, p.s_b) - calc_point(a, p.s_a);
            for (int k = 0; k < count; ++k) w.phi[p.row + k] += p.coefficient * D[k];
        }
        if constexpr (want & want_jacobian)
            for (int k = 0; k < count; ++k) {
                // row k of A gives A^T e_k
                const Vec e = {k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0};
                const Vec row_a = {a.A[k][0], a.A[k][1], a.A[k][2]}, row_b = {b.A[k][0], b.A[k][1], b.A[k][2]};
                add_rows(tables, p, p.row + k, {-e, cross(row_a, p.s_a)}, {e, cross(p.s_b, row_b)}, w.jacobian.data());
            }
        if constexpr (want & want_gamma) {
            const Vec bias = calc_bias(b, w.twist[p.body_b], p.s_b) - calc_bias(a, w.twist[p.body_a], p.s_a);
            for (int k = 0; k < count; ++k) w.gamma[p.row + k] -= p.coefficient * bias[k];
        }
    }
}

template <unsigned want> void sweep(const Tables& tables, Workspace& w) {
    sweep_coincident<want>(tables, w, primitive_coincident);
    sweep_coincident<want>(tables, w, primitive_coincident2);
    for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) { sweep_scalar<want, P>(tables, w); });
}

// value, first and second time derivative of a prescribed function
struct Prescribed {
    double f, f1, f2;
};
Prescribed calc_prescribed(const Tables& tables, int function, double t) {
    using Second = Dual<Dual<double, 1>, 1>;
    Second s;
    s.value.value = t, s.value.slope[0] = 1, s.slope[0].value = 1;
    const Second f = calc_function(tables, function, &s);
    return {f.value.value, f.value.slope[0], f.slope[0].slope[0]};
}

} // namespace

// What a callable of the user sees of its bodies: t, then per body r (3), A (9, row-major), r-dot (3), w in ground axes
// (3); it returns per body force and torque about the centre of mass, both in ground axes.
bool calc_user_force(const Tables& tables, const UserForce& f, double t, const Pose<double>* poses,
                     const Twist<double>* twists, SpatialRow<double>* wrenches) {
    double seen[1 + 18 * most_user_bodies], out[6 * most_user_bodies];
    const std::int32_t* bodies = tables.user_bodies.data() + f.first;
    seen[0] = t;
    double* s = seen + 1;
    for (int i = 0; i < f.count; ++i) {
        const auto& pose = poses[bodies[i]];
        const auto& twist = twists[bodies[i]];
        const Vec spin = pose.A * twist.w;
        for (int k = 0; k < 3; ++k) *s++ = pose.r[k];
        for (int k = 0; k < 9; ++k) *s++ = pose.A[k / 3][k % 3];
        for (int k = 0; k < 3; ++k) *s++ = twist.v[k];
        for (int k = 0; k < 3; ++k) *s++ = spin[k];
    }
    const Callback& callback = tables.callbacks[f.callback];
    if (!callback.call(callback.context, seen, static_cast<int>(s - seen), out, 6 * f.count)) return false;
    for (int i = 0; i < f.count; ++i) {
        const double* o = out + 6 * i;
        wrenches[i] = {Vec{o[0], o[1], o[2]}, transpose_times(poses[bodies[i]].A, Vec{o[3], o[4], o[5]})};
    }
    return true;
}

void finish_tables(Tables& tables) {
    const auto fill_first = [](int* first, const auto& kind_of, std::size_t n) {
        for (int k = 0; k <= primitive_kinds; ++k) first[k] = static_cast<int>(n);
        for (std::size_t i = n; i-- > 0;)
            for (int k = 0; k <= kind_of(i); ++k) first[k] = static_cast<int>(i);
    };
    fill_first(
        tables.primitive_first, [&](std::size_t i) { return tables.primitives[i].kind; }, tables.primitives.size());
    fill_first(
        tables.coordinate_force_first, [&](std::size_t i) { return tables.coordinate_forces[i].coordinate.kind; },
        tables.coordinate_forces.size());
    tables.nq = tables.nv = tables.jacobian_size = 0;
    for (const Body& b : tables.bodies) tables.nq += b.nq, tables.nv += b.nv;
    tables.rows_count = static_cast<int>(tables.rows.size());
    for (const Part& p : tables.parts)
        tables.jacobian_size = std::max(tables.jacobian_size, p.offset + 6 * tables.blocks[p.block].rows);
}

bool depends_on_time(const Tables& tables) {
    const auto any = [](const auto& records, auto&& test) { return std::any_of(records.begin(), records.end(), test); };
    return !tables.user_forces.empty() || any(tables.rows, [](const Row& r) { return r.function >= 0; }) ||
           any(tables.coordinate_forces, [](const CoordinateForce& f) { return f.function >= 0; }) ||
           any(tables.loads,
               [](const Load& f) { return f.function[0] >= 0 || f.function[1] >= 0 || f.function[2] >= 0; });
}

Workspace::Workspace(const Tables& tables)
    : memory(tables.memory_size), active(tables.rows_count, 1.0), engaged(tables.rows_count),
      pose(tables.bodies.size()), phi(tables.rows_count), jacobian(tables.jacobian_size), twist(tables.bodies.size()),
      target(tables.rows_count), gamma(tables.rows_count), wrench(tables.bodies.size()), force(tables.nv), a(tables.nv),
      lambda(tables.rows_count) {
    for (int i = 0; i < tables.rows_count; ++i) engaged[i] = tables.rows[i].engaged;
}

void set_position(const Tables& tables, const double* q, Workspace& w) {
    for (std::size_t i = 0; i < tables.bodies.size(); ++i) calc_pose(tables.bodies[i], q, w.pose[i]);
}

void set_velocity(const Tables& tables, const double* v, Workspace& w) {
    for (std::size_t i = 0; i < tables.bodies.size(); ++i) calc_twist(tables.bodies[i], v, w.twist[i]);
}

void calc_constraints(const Tables& tables, double t, Workspace& w) {
    for (int i = 0; i < tables.rows_count; ++i) {
        const Row& row = tables.rows[i];
        w.phi[i] = -row.constant - (row.function >= 0 ? calc_function(tables, row.function, &t) : 0.0);
    }
    sweep<want_phi>(tables, w);
}

void calc_jacobian(const Tables& tables, Workspace& w) {
    std::fill(w.jacobian.begin(), w.jacobian.end(), 0.0);
    sweep<want_jacobian>(tables, w);
}

void calc_velocity_target(const Tables& tables, double t, Workspace& w) {
    for (int i = 0; i < tables.rows_count; ++i)
        w.target[i] = tables.rows[i].function >= 0 ? calc_prescribed(tables, tables.rows[i].function, t).f1 : 0.0;
}

void calc_gamma(const Tables& tables, double t, Workspace& w) {
    for (int i = 0; i < tables.rows_count; ++i)
        w.gamma[i] = tables.rows[i].function >= 0 ? calc_prescribed(tables, tables.rows[i].function, t).f2 : 0.0;
    sweep<want_gamma>(tables, w);
}

void calc_jacobian_and_gamma(const Tables& tables, double t, Workspace& w) {
    std::fill(w.jacobian.begin(), w.jacobian.end(), 0.0);
    for (int i = 0; i < tables.rows_count; ++i)
        w.gamma[i] = tables.rows[i].function >= 0 ? calc_prescribed(tables, tables.rows[i].function, t).f2 : 0.0;
    sweep<want_jacobian | want_gamma>(tables, w);
}

void calc_body_wrenches(const Tables& tables, double t, Workspace& w) {
    for (std::size_t i = 0; i < tables.bodies.size(); ++i)
        w.wrench[i] = {tables.bodies[i].mass * tables.gravity, Vec{}};
    for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) {
        for (int i = tables.coordinate_force_first[P::kind]; i < tables.coordinate_force_first[P::kind + 1]; ++i) {
            const CoordinateForce& f = tables.coordinate_forces[i];
            const int a = f.coordinate.body_a, b = f.coordinate.body_b;
            calc_coordinate_force<P>(tables, f, t, memory_of(w, f.coordinate), w.pose[a], w.twist[a], w.pose[b],
                                     w.twist[b], w.wrench[a], w.wrench[b]);
        }
    });
    for (const Load& f : tables.loads) calc_load(tables, f, t, w.pose[f.body], w.wrench[f.body]);
    for (const Bushing& f : tables.bushings)
        calc_bushing(f, w.pose[f.body_a], w.twist[f.body_a], w.pose[f.body_b], w.twist[f.body_b], w.wrench[f.body_a],
                     w.wrench[f.body_b]);
    for (const Tire& f : tables.tires) calc_tire(tables, f, w.pose[f.body], w.twist[f.body], w.wrench[f.body]);
    for (const UserForce& f : tables.user_forces) {
        SpatialRow<double> wrenches[most_user_bodies];
        if (!calc_user_force(tables, f, t, w.pose.data(), w.twist.data(), wrenches)) {
            w.user_failed = true;
            break;
        }
        for (int i = 0; i < f.count; ++i)
            add_wrench(w.wrench[tables.user_bodies[f.first + i]], wrenches[i].force, wrenches[i].torque);
    }
}

void calc_forces(const Tables& tables, double t, Workspace& w) {
    calc_body_wrenches(tables, t, w);
    // own columns of the wrenches, and the gyroscopic torque
    for (std::size_t i = 0; i < tables.bodies.size(); ++i) {
        const Body& body = tables.bodies[i];
        Vec torque = w.wrench[i].torque;
        if (body.kind == body_rigid) torque -= calc_gyroscopic(body, w.twist[i].w);
        std::fill_n(w.force.data() + body.v, body.nv, 0.0);
        add_row(body, w.wrench[i].force, torque, w.force.data() + body.v);
    }
}

namespace {

// The transpose of one part times y, for bodies of n velocity coordinates.
template <int n> void add_part_transpose_times(int rows, const double* J, const double* y, double* x) {
    double sum[n];
    std::copy_n(x, n, sum);
    for (int r = 0; r < rows; ++r, J += n)
        for (int c = 0; c < n; ++c) sum[c] += J[c] * y[r];
    std::copy_n(sum, n, x);
}

} // namespace

void add_jacobian_times(const Tables& tables, const double* jacobian, const double* x, double* y) {
    for (const Part& part : tables.parts) {
        const Body& body = tables.bodies[part.body];
        const Block& block = tables.blocks[part.block];
        const double *J = jacobian + part.offset, *u = x + body.v;
        for (int r = 0; r < block.rows; ++r)
            for (int c = 0; c < body.nv; ++c) y[block.row + r] += J[r * body.nv + c] * u[c];
    }
}

void add_transpose_times(const Tables& tables, const double* jacobian, const double* y, double* x) {
    for (const Part& part : tables.parts) {
        const Body& body = tables.bodies[part.body];
        const Block& block = tables.blocks[part.block];
        const double* J = jacobian + part.offset;
        if (body.nv == 6)
            add_part_transpose_times<6>(block.rows, J, y + block.row, x + body.v);
        else if (body.nv == 3)
            add_part_transpose_times<3>(block.rows, J, y + block.row, x + body.v);
    }
}

void add_mass_times(const Tables& tables, const double* x, double* y) {
    for (const Body& body : tables.bodies) {
        const double* u = x + body.v;
        double* z = y + body.v;
        const int linear = body.kind == body_planar ? 2 : std::min<int>(body.nv, 3);
        for (int i = 0; i < linear; ++i) z[i] += body.mass * u[i];
        if (body.kind == body_planar) z[2] += body.inertia[2][2] * u[2];
        if (body.kind != body_rigid) continue;
        const Vec momentum = body.inertia * Vec{u[3], u[4], u[5]};
        for (int i = 0; i < 3; ++i) z[3 + i] += momentum[i];
    }
}

void calc_position_rate(const Tables& tables, const double* q, const double* v, double* rate) {
    for (const Body& body : tables.bodies) calc_position_rate(body, q, v, rate);
}

void move(const Tables& tables, const double* d, double* q) {
    for (const Body& body : tables.bodies) {
        double* x = q + body.q;
        const double* u = d + body.v;
        if (body.kind != body_rigid) {
            for (int i = 0; i < body.nv; ++i) x[i] += u[i];
            continue;
        }
        double step[4];
        for (int i = 0; i < 3; ++i) x[i] += u[i];
        calc_parameter_rate(x + 3, Vec{u[3], u[4], u[5]}, step);
        double square = 0;
        for (int i = 0; i < 4; ++i) x[3 + i] += step[i], square += x[3 + i] * x[3 + i];
        const double inverse = 1 / std::sqrt(square);
        for (int i = 0; i < 4; ++i) x[3 + i] *= inverse;
    }
}

void calc_displacement(const Tables& tables, const double* q, const double* change, double* d) {
    for (const Body& body : tables.bodies) {
        const double* c = change + body.q;
        double* u = d + body.v;
        std::copy_n(c, body.kind == body_rigid ? 3 : body.nv, u);
        if (body.kind != body_rigid) continue;
        const Vec turn = calc_spin(q + body.q + 3, c + 3);
        u[3] = turn.x, u[4] = turn.y, u[5] = turn.z;
    }
}

bool normalize(const Tables& tables, double* q) {
    bool changed = false;
    for (const Body& b : tables.bodies) {
        if (b.kind != body_rigid) continue;
        double* p = q + b.q + 3;
        const double length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
        if (!(std::abs(length - 1) > 1e-14)) continue;
        for (int i = 0; i < 4; ++i) p[i] /= length;
        changed = true;
    }
    return changed;
}

} // namespace linkwork
