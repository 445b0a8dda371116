#include "slopes.hpp"

#include <algorithm>

#include "derivatives.hpp"
#include "equations.hpp"
#include "linear/lanes.hpp"
#include "seeds.hpp"

namespace linkwork {

Slopes::Slopes(const Tables& tables)
    : Jv_q(tables.jacobian_size), G(tables.jacobian_size), H(tables.jacobian_size),
      accelerations(tables.bodies.size()) {
    for (const Body& b : tables.bodies) first_v.push_back(b.v), count_v.push_back(b.nv);
    for (std::size_t i = 0; i < tables.bodies.size(); ++i)
        of_body.push_back(find_blocks(tables, static_cast<int>(i), static_cast<int>(i))[0]);
    for (const Primitive& p : tables.primitives) of_primitive.push_back(find_blocks(tables, p.body_a, p.body_b));
    for (const CoordinateForce& f : tables.coordinate_forces)
        of_coordinate_force.push_back(find_blocks(tables, f.coordinate.body_a, f.coordinate.body_b));
    for (const Bushing& f : tables.bushings) of_bushing.push_back(find_blocks(tables, f.body_a, f.body_b));
    for (const UserForce& f : tables.user_forces)
        for (int i = 0; i < f.count; ++i)
            for (int j = 0; j < f.count; ++j)
                find_blocks(tables, tables.user_bodies[f.first + i], tables.user_bodies[f.first + j]);
    K.assign(block_size, 0.0);
    C.assign(block_size, 0.0);
}

// Offsets of the four blocks of a pair of bodies, made where they are not there yet.
Slopes::Four Slopes::find_blocks(const Tables& tables, int a, int b) {
    Four four{};
    const int pairs[4][2] = {{a, a}, {a, b}, {b, a}, {b, b}};
    for (int k = 0; k < 4; ++k) {
        const auto [found, is_new] = offset_of.try_emplace({pairs[k][0], pairs[k][1]}, block_size);
        four[k] = found->second;
        if (!is_new) continue;
        couplings.push_back({pairs[k][0], pairs[k][1], block_size});
        block_size += tables.bodies[pairs[k][0]].nv * tables.bodies[pairs[k][1]].nv;
    }
    return four;
}

namespace {

// target += row x for several vectors at once: x row-major, `columns` numbers per row. Most entries of a row are zero
// (translations do not turn forces); the others are picked out first, without a branch, and serve all columns.
constexpr int most_inner = 6;

struct Entry {
    double value;
    const double* source; // of the first column
};

template <int registers> void add_entries(const Entry* entries, int count, int j, double* target) {
    Lanes sum[registers];
    for (int i = 0; i < registers; ++i) sum[i] = load(target + j + i * lanes);
    for (const Entry* entry = entries; entry != entries + count; ++entry)
        for (int i = 0; i < registers; ++i)
            sum[i] = add_product(sum[i], load(entry->source + j + i * lanes), entry->value);
    for (int i = 0; i < registers; ++i) store(target + j + i * lanes, sum[i]);
}

void add_row_times(const double* row, int inner, const double* x, int columns, double* target) {
    Entry entries[most_inner + 1];
    int count = 0;
    for (int k = 0; k < inner; ++k) {
        entries[count] = {row[k], x + k * columns};
        count += row[k] != 0.0;
    }
    if (count == 0) return;
    int j = 0;
    for (; j + 3 * lanes <= columns; j += 3 * lanes) add_entries<3>(entries, count, j, target);
    for (; j + lanes <= columns; j += lanes) add_entries<1>(entries, count, j, target);
    for (; j < columns; ++j)
        for (int k = 0; k < count; ++k) target[j] += entries[k].value * entries[k].source[j];
}

} // namespace

void Slopes::add_times(const std::vector<double>& blocks, const double* x, double* out, int columns) const {
    for (const Coupling& c : couplings)
        for (int r = 0; r < count_v[c.a]; ++r)
            add_row_times(blocks.data() + c.offset + r * count_v[c.b], count_v[c.b], x + first_v[c.b] * columns,
                          columns, out + (first_v[c.a] + r) * columns);
}

void add_jacobian_times(const Tables& tables, const double* jacobian, const double* x, double* y, int columns) {
    for (const Part& part : tables.parts) {
        const Body& body = tables.bodies[part.body];
        const Block& block = tables.blocks[part.block];
        for (int r = 0; r < block.rows; ++r)
            add_row_times(jacobian + part.offset + r * body.nv, body.nv, x + body.v * columns, columns,
                          y + (block.row + r) * columns);
    }
}

// One pass over all elements. Spatial results are reduced to the columns each body owns when they are added.
struct SlopeSweep {
    const Tables& tables;
    const Workspace& w;
    Slopes& s;
    std::vector<Twist<double>>& a; // spatial accelerations

    // gradient over the twelve directions -> row of the parts of both bodies
    void add_row_slopes(const Primitive& p, int row, const double* slope, double factor, std::vector<double>& target) {
        const int local = row - tables.blocks[tables.rows[row].block].row;
        const auto add = [&](int body, int part, const double* values) {
            const Body& b = tables.bodies[body];
            double* out = target.data() + tables.parts[part].offset + local * b.nv;
            for (int i = 0; i < b.nv; ++i) out[i] += factor * values[b.columns[i]];
        };
        add(p.body_a, p.part_a, slope);
        add(p.body_b, p.part_b, slope + 6);
    }

    // spatial vector of duals on `body` (first or second of the pair) -> its two blocks
    void add_block_slopes(int body_a, int body_b, const Slopes::Four& four, bool second, const Vec3<First>& linear,
                          const Vec3<First>& angular, double factor, std::vector<double>& target) {
        const Body &own = tables.bodies[second ? body_b : body_a], &a_ = tables.bodies[body_a],
                   &b_ = tables.bodies[body_b];
        for (int i = 0; i < own.nv; ++i) {
            const int k = own.columns[i];
            const double* slope = (k < 3 ? linear[k] : angular[k - 3]).slope;
            double* left = target.data() + four[second ? 2 : 0] + i * a_.nv;
            for (int j = 0; j < a_.nv; ++j) left[j] += factor * slope[a_.columns[j]];
            double* right = target.data() + four[second ? 3 : 1] + i * b_.nv;
            for (int j = 0; j < b_.nv; ++j) right[j] += factor * slope[6 + b_.columns[j]];
        }
    }

    template <class P> void add_scalar(const Primitive& p, const Slopes::Four& four) {
        const double memory = p.memory >= 0 ? w.memory[p.memory] : 0.0, c = p.coefficient;
        const BodySeeds &seed_a = s.seeds[p.body_a], &seed_b = s.seeds[p.body_b];
        const auto &pose_a = seed_a.displaced[0], &pose_b = seed_b.displaced[1];
        const auto &u = seed_a.constant, &v = seed_b.constant;
        Features<First> X, g, U;
        SpatialRow<First> row_a, row_b;
        calc_features<P>(p, pose_a, pose_b, X);
        P::gradient(tables, p, X, memory, g);
        calc_rows<P>(p, pose_a, pose_b, g, row_a, row_b);
        add_row_slopes(p, p.row, (calc_power(row_a, u) + calc_power(row_b, v)).slope, c, s.Jv_q);
        const First along = calc_power(row_a, widen<First>(a[p.body_a])) + calc_power(row_b, widen<First>(a[p.body_b]));
        add_row_slopes(p, p.row, along.slope, -c, s.G);
        const double force = -c * w.lambda[p.row];
        add_block_slopes(p.body_a, p.body_b, four, false, row_a.force, row_a.torque, force, s.K);
        add_block_slopes(p.body_a, p.body_b, four, true, row_b.force, row_b.torque, force, s.K);

        calc_feature_rates<P>(p, pose_a, u, pose_b, v, U);
        const First bias = P::bend(tables, p, X, U, memory) + calc_carrier_bias<P>(p, pose_a, u, pose_b, v, g);
        add_row_slopes(p, p.row, bias.slope, -c, s.G);

        // velocities seeded at the fixed pose
        const auto &a0 = seed_a.fixed, &b0 = seed_b.fixed;
        const auto &u1 = seed_a.faster[0], &v1 = seed_b.faster[1];
        calc_features<P>(p, a0, b0, X);
        P::gradient(tables, p, X, memory, g);
        calc_feature_rates<P>(p, a0, u1, b0, v1, U);
        const First bias_v = P::bend(tables, p, X, U, memory) + calc_carrier_bias<P>(p, a0, u1, b0, v1, g);
        add_row_slopes(p, p.row, bias_v.slope, -c, s.H);
    }

    // P_b - P_a in closed form. For one body, with sign +1 on b and -1 on a, x = A (e x s) for rotations e:
    //   d(A z) = A (dp x z)  with z = w x s, alpha x s, w x (w x s);   d(s x A^T l) = s x (A^T l x dp)
    //   d_w (w x (w x s)) = e x (w x s) + w x (e x s)
    void add_coincident(const Primitive& p, const Slopes::Four& four, int rows) {
        for (const bool second : {false, true}) {
            const int index = second ? p.body_b : p.body_a;
            const Body& body = tables.bodies[index];
            if (body.nv == 0) continue;
            const double sign = (second ? 1.0 : -1.0) * p.coefficient;
            const Vec& point = second ? p.s_b : p.s_a;
            const Pose<double>& pose = w.pose[index];
            const Vec &spin = w.twist[index].w, &alpha = a[index].w;
            const Vec z = cross(spin, point), zz = cross(spin, z), za = cross(alpha, point);
            const int local = p.row - tables.blocks[tables.rows[p.row].block].row;
            const int offset = tables.parts[second ? p.part_b : p.part_a].offset + local * body.nv;
            Vec multipliers{};
            for (int k = 0; k < rows; ++k) multipliers[k] = w.lambda[p.row + k];
            const Vec pull = transpose_times(pose.A, multipliers);
            double* block = s.K.data() + four[second ? 3 : 0];
            for (int i = 0; i < body.nv; ++i) {
                const int column = body.columns[i];
                if (column < 3) continue;
                Vec e{};
                e[column - 3] = 1;
                const Vec jv = pose.A * cross(e, z), g = pose.A * (cross(e, zz) + cross(e, za));
                const Vec h = pose.A * (cross(e, z) + cross(spin, cross(e, point)));
                for (int k = 0; k < rows; ++k) {
                    s.Jv_q[offset + k * body.nv + i] += sign * jv[k];
                    s.G[offset + k * body.nv + i] -= sign * g[k];
                    s.H[offset + k * body.nv + i] -= sign * h[k];
                }
                const Vec torque = cross(point, cross(pull, e));
                for (int r = 0; r < body.nv; ++r)
                    if (body.columns[r] >= 3) block[r * body.nv + i] -= sign * torque[body.columns[r] - 3];
            }
        }
    }

    // f_q of an element on two bodies, by displaced poses; f_v, by faster twists
    template <class Calc> void add_slope(bool velocity, int body_a, int body_b, const Slopes::Four& four, Calc&& calc) {
        const BodySeeds &seed_a = s.seeds[body_a], &seed_b = s.seeds[body_b];
        const auto& pose_a = velocity ? seed_a.fixed : seed_a.displaced[0];
        const auto& pose_b = velocity ? seed_b.fixed : seed_b.displaced[1];
        const auto& u = velocity ? seed_a.faster[0] : seed_a.constant;
        const auto& v = velocity ? seed_b.faster[1] : seed_b.constant;
        Wrench<First> wrench_a{}, wrench_b{};
        calc(pose_a, u, pose_b, v, wrench_a, wrench_b);
        auto& target = velocity ? s.C : s.K;
        add_block_slopes(body_a, body_b, four, false, wrench_a.force, wrench_a.torque, 1, target);
        add_block_slopes(body_a, body_b, four, true, wrench_b.force, wrench_b.torque, 1, target);
    }
    template <class Calc> void add_force(int body_a, int body_b, const Slopes::Four& four, Calc&& calc) {
        for (const bool velocity : {false, true}) add_slope(velocity, body_a, body_b, four, calc);
    }
    template <class Calc> void add_single_force(int body, Calc&& calc) {
        // the second body of the pair is the ground, which owns no columns
        const int block = s.of_body[body];
        add_force(body, 0, {block, block, block, block},
                  [&](const auto& pose, const auto& u, const auto&, const auto&, auto& wrench, auto&) {
                      calc(pose, u, wrench);
                  });
    }

    // A force -h(t, s, s') along a coordinate with row J: f_v = -h_s' J^T J, since s' = J v.
    template <class P> void add_damping(const CoordinateForce& f, double t, double memory, const Slopes::Four& four) {
        using Single = Dual<double, 1>;
        const int a_ = f.coordinate.body_a, b_ = f.coordinate.body_b;
        Features<double> X, g;
        SpatialRow<double> rows[2];
        calc_features<P>(f.coordinate, w.pose[a_], w.pose[b_], X);
        P::gradient(tables, f.coordinate, X, memory, g);
        calc_rows<P>(f.coordinate, w.pose[a_], w.pose[b_], g, rows[0], rows[1]);
        Single rate(calc_power(rows[0], w.twist[a_]) + calc_power(rows[1], w.twist[b_]));
        rate.slope[0] = 1;
        const Single length(P::value(tables, f.coordinate, X, memory));
        const double slope = calc_coordinate_law(tables, f, Single(t), length, rate).slope[0];
        if (slope == 0.0) return;
        double own[2][6] = {};
        add_row(tables.bodies[a_], rows[0].force, rows[0].torque, own[0]);
        add_row(tables.bodies[b_], rows[1].force, rows[1].torque, own[1]);
        for (const int p : {0, 1})
            for (const int q : {0, 1}) {
                const int rows_count = tables.bodies[p ? b_ : a_].nv, columns = tables.bodies[q ? b_ : a_].nv;
                double* block = s.C.data() + four[2 * p + q];
                for (int i = 0; i < rows_count; ++i)
                    for (int j = 0; j < columns; ++j) block[i * columns + j] -= slope * own[p][i] * own[q][j];
            }
    }

    // -(w x J w): derivative with respect to w, e x J w + w x J e, in closed form
    void add_gyroscopic(int index) {
        const Body& body = tables.bodies[index];
        if (body.kind != body_rigid) return;
        const Vec& spin = w.twist[index].w;
        const Vec momentum = body.inertia * spin;
        double* block = s.C.data() + s.of_body[index];
        for (int i = 0; i < 3; ++i) {
            Vec e{};
            e[i] = 1;
            const Vec slope = cross(e, momentum) + cross(spin, body.inertia * e);
            for (int r = 0; r < 3; ++r) block[(3 + r) * 6 + 3 + i] -= slope[r];
        }
    }

    void add_constraints() {
        for (std::size_t i = 0; i < tables.primitives.size(); ++i) {
            const Primitive& p = tables.primitives[i];
            if (p.row < 0) continue;
            if (p.kind == primitive_coincident) add_coincident(p, s.of_primitive[i], 3);
            if (p.kind == primitive_coincident2) add_coincident(p, s.of_primitive[i], 2);
        }
        for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) {
            for (int i = tables.primitive_first[P::kind]; i < tables.primitive_first[P::kind + 1]; ++i)
                if (tables.primitives[i].row >= 0) add_scalar<P>(tables.primitives[i], s.of_primitive[i]);
        });
    }

    void add_forces(double t) {
        const First time(t);
        for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) {
            for (int i = tables.coordinate_force_first[P::kind]; i < tables.coordinate_force_first[P::kind + 1]; ++i) {
                const CoordinateForce& f = tables.coordinate_forces[i];
                const double memory = f.coordinate.memory >= 0 ? w.memory[f.coordinate.memory] : 0.0;
                add_damping<P>(f, t, memory, s.of_coordinate_force[i]);
                add_slope(false, f.coordinate.body_a, f.coordinate.body_b, s.of_coordinate_force[i],
                          [&](const auto& a, const auto& u, const auto& b, const auto& v, auto& wa, auto& wb) {
                              calc_coordinate_force<P>(tables, f, time, memory, a, u, b, v, wa, wb);
                          });
            }
        });
        for (std::size_t i = 0; i < tables.bushings.size(); ++i) {
            const Bushing& f = tables.bushings[i];
            add_force(f.body_a, f.body_b, s.of_bushing[i],
                      [&](const auto& a, const auto& u, const auto& b, const auto& v, auto& wa, auto& wb) {
                          calc_bushing(f, a, u, b, v, wa, wb);
                      });
        }
        for (const Load& f : tables.loads)
            add_single_force(
                f.body, [&](const auto& pose, const auto&, auto& wrench) { calc_load(tables, f, time, pose, wrench); });
        for (const Tire& f : tables.tires)
            add_single_force(
                f.body, [&](const auto& pose, const auto& u, auto& wrench) { calc_tire(tables, f, pose, u, wrench); });
        for (std::size_t i = 0; i < tables.bodies.size(); ++i) add_gyroscopic(static_cast<int>(i));
    }
};

void Slopes::calc(const Tables& tables, double t, const Workspace& w) {
    for (auto* values : {&Jv_q, &G, &H, &K, &C}) std::fill(values->begin(), values->end(), 0.0);
    for (std::size_t i = 0; i < tables.bodies.size(); ++i) calc_twist(tables.bodies[i], w.a.data(), accelerations[i]);
    seeds.resize(tables.bodies.size());
    for (std::size_t i = 0; i < seeds.size(); ++i) fill_seeds(w.pose[i], w.twist[i], seeds[i]);
    SlopeSweep sweep{tables, w, *this, accelerations};
    sweep.add_constraints();
    sweep.add_forces(t);
    calc_user_force_slopes(tables, t, w, [&](bool velocity, int row_body, int row, int body, int column, double slope) {
        auto& target = velocity ? C : K;
        target[offset_of.at({row_body, body}) + row * tables.bodies[body].nv + column] += slope;
    });
}

} // namespace linkwork
