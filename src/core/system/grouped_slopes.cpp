#include "grouped_slopes.hpp"

#include <algorithm>
#include <cmath>

#include "equations.hpp"

namespace linkwork {

namespace {
// The square root of the round-off unit, of coordinates of size 1 m, 1 rad, 1 m/s, 1 rad/s or more.
constexpr double relative_step = 1.5e-8;
} // namespace

struct GroupedSlopes::State {
    const Tables& tables;
    double t;
    Workspace& w;
};

GroupedSlopes::GroupedSlopes(const Tables& tables, bool grouped) : grouped_(grouped) {
    for (std::size_t i = 0; i < tables.primitives.size(); ++i)
        if (const Primitive& p = tables.primitives[i]; p.row >= 0)
            add_element(tables, constraint, static_cast<int>(i), {p.body_a, p.body_b});
    for (std::size_t i = 0; i < tables.coordinate_forces.size(); ++i) {
        const Primitive& p = tables.coordinate_forces[i].coordinate;
        add_element(tables, coordinate_force, static_cast<int>(i), {p.body_a, p.body_b});
    }
    for (std::size_t i = 0; i < tables.bushings.size(); ++i)
        add_element(tables, bushing, static_cast<int>(i), {tables.bushings[i].body_a, tables.bushings[i].body_b});
    for (std::size_t i = 0; i < tables.loads.size(); ++i)
        add_element(tables, load, static_cast<int>(i), {tables.loads[i].body});
    for (std::size_t i = 0; i < tables.tires.size(); ++i)
        add_element(tables, tire, static_cast<int>(i), {tables.tires[i].body});
    for (std::size_t i = 0; i < tables.user_forces.size(); ++i) {
        const auto first = tables.user_bodies.begin() + tables.user_forces[i].first;
        add_element(tables, user_force, static_cast<int>(i), {first, first + tables.user_forces[i].count});
    }
    for (std::size_t i = 0; i < tables.bodies.size(); ++i)
        if (tables.bodies[i].kind == body_rigid)
            add_element(tables, gyroscopic, static_cast<int>(i), {static_cast<int>(i)});

    // one evaluation per group and coordinate of its largest body, for displacements and for velocities
    const int count = static_cast<int>(tables.bodies.size());
    if (grouped) {
        grouping_ = find_groups(count, rows_);
    } else {
        for (int i = 0; i < count; ++i) grouping_.group_of.push_back(i);
        grouping_.groups = count;
    }
    std::vector<int> most(grouping_.groups, 0);
    for (int i = 0; i < count; ++i) {
        int& n = most[grouping_.group_of[i]];
        n = std::max(n, static_cast<int>(tables.bodies[i].nv));
    }
    evaluations_ = 1;
    for (const int n : most) evaluations_ += 2 * n;

    for (Values* values : {&base_, &moved_}) {
        values->wrench.resize(bodies_.size());
        values->rate.resize(3 * elements_.size());
        values->second_rate.resize(3 * elements_.size());
    }
    acceleration_.resize(count);
    column_.assign(count, -1);
    inverse_.assign(count, 0.0);
}

// The ground never moves, so it excludes nobody.
void GroupedSlopes::add_element(const Tables& tables, Kind kind, int index, std::vector<int> bodies) {
    elements_.push_back({kind, index, static_cast<int>(bodies_.size()), static_cast<int>(bodies.size())});
    bodies_.insert(bodies_.end(), bodies.begin(), bodies.end());
    std::erase_if(bodies, [&](int body) { return tables.bodies[body].nv == 0; });
    rows_.push_back(std::move(bodies));
}

namespace {

struct Pair { // the bodies of an element in their places
    const Pose<double>&a, &b;
    const Twist<double>&u, &v, &du, &dv; // velocities and accelerations
};

// Of one primitive: wrenches -J^T lambda on both bodies, and of each row J v and J v' - gamma.
template <class P> void calc_constraint(const Tables& tables, const Primitive& p, const Workspace& w, const Pair& x,
                                        Wrench<double>* wrench, double* rate, double* second_rate) {
    const double memory = p.memory >= 0 ? w.memory[p.memory] : 0.0, c = p.coefficient;
    Features<double> X, g, U;
    SpatialRow<double> row_a, row_b;
    calc_features<P>(p, x.a, x.b, X);
    P::gradient(tables, p, X, memory, g);
    calc_rows<P>(p, x.a, x.b, g, row_a, row_b);
    calc_feature_rates<P>(p, x.a, x.u, x.b, x.v, U);
    const double bias = P::bend(tables, p, X, U, memory) + calc_carrier_bias<P>(p, x.a, x.u, x.b, x.v, g);
    rate[0] = c * (calc_power(row_a, x.u) + calc_power(row_b, x.v));
    second_rate[0] = c * (calc_power(row_a, x.du) + calc_power(row_b, x.dv) + bias);
    const double pull = -c * w.lambda[p.row];
    wrench[0] = {pull * row_a.force, pull * row_a.torque};
    wrench[1] = {pull * row_b.force, pull * row_b.torque};
}

void calc_coincident(const Primitive& p, const Workspace& w, const Pair& x, Wrench<double>* wrench, double* rate,
                     double* second_rate) {
    const int rows = p.kind == primitive_coincident ? 3 : 2;
    Vec pull{};
    for (int k = 0; k < rows; ++k) pull[k] = p.coefficient * w.lambda[p.row + k];
    wrench[0] = {pull, cross(p.s_a, transpose_times(x.a.A, pull))};
    wrench[1] = {-pull, -cross(p.s_b, transpose_times(x.b.A, pull))};
    const Vec first = calc_point_rate(x.b, x.v, p.s_b) - calc_point_rate(x.a, x.u, p.s_a);
    const Vec second = calc_point_rate(x.b, x.dv, p.s_b) + calc_bias(x.b, x.v, p.s_b) -
                       calc_point_rate(x.a, x.du, p.s_a) - calc_bias(x.a, x.u, p.s_a);
    for (int k = 0; k < rows; ++k) rate[k] = p.coefficient * first[k], second_rate[k] = p.coefficient * second[k];
}

} // namespace

// Elements without a moved body keep the values they have.
void GroupedSlopes::sweep(const State& state, Values& values) {
    const Tables& tables = state.tables;
    Workspace& w = state.w;
    const bool all = &values == &base_ || !grouped_;
    for (std::size_t i = 0; i < elements_.size(); ++i) {
        const Element& e = elements_[i];
        const int* bodies = bodies_.data() + e.first;
        if (!all && std::all_of(bodies, bodies + e.count, [&](int body) { return column_[body] < 0; })) continue;
        Wrench<double>* wrench = values.wrench.data() + e.first;
        std::fill(wrench, wrench + e.count, Wrench<double>{});
        const int a = bodies[0], b = bodies[e.count - 1];
        const Pair x{pose_[a], pose_[b], twist_[a], twist_[b], acceleration_[a], acceleration_[b]};
        switch (e.kind) {
        case constraint: {
            const Primitive& p = tables.primitives[e.index];
            double *rate = values.rate.data() + 3 * i, *second_rate = values.second_rate.data() + 3 * i;
            if (p.kind == primitive_coincident || p.kind == primitive_coincident2)
                calc_coincident(p, w, x, wrench, rate, second_rate);
            for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) {
                if (p.kind == P::kind) calc_constraint<P>(tables, p, w, x, wrench, rate, second_rate);
            });
            break;
        }
        case coordinate_force: {
            const CoordinateForce& f = tables.coordinate_forces[e.index];
            const double memory = f.coordinate.memory >= 0 ? w.memory[f.coordinate.memory] : 0.0;
            for_each_primitive(ScalarPrimitives{}, [&]<class P>(P) {
                if (f.coordinate.kind == P::kind)
                    calc_coordinate_force<P>(tables, f, state.t, memory, x.a, x.u, x.b, x.v, wrench[0], wrench[1]);
            });
            break;
        }
        case bushing:
            calc_bushing(tables.bushings[e.index], x.a, x.u, x.b, x.v, wrench[0], wrench[1]);
            break;
        case load:
            calc_load(tables, tables.loads[e.index], state.t, x.a, wrench[0]);
            break;
        case tire:
            calc_tire(tables, tables.tires[e.index], x.a, x.u, wrench[0]);
            break;
        case user_force:
            if (!calc_user_force(tables, tables.user_forces[e.index], state.t, pose_.data(), twist_.data(), wrench))
                w.user_failed = true;
            break;
        case gyroscopic:
            wrench[0].torque -= calc_gyroscopic(tables.bodies[e.index], x.u.w);
            break;
        }
    }
}

// The changes of all elements with a moved body, which is one each, as entries of its column.
void GroupedSlopes::add_differences(const Tables& tables, bool velocity, const Values& moved, Slopes& slopes) const {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
        const Element& e = elements_[i];
        const int* bodies = bodies_.data() + e.first;
        const int* found = std::find_if(bodies, bodies + e.count, [&](int body) { return column_[body] >= 0; });
        if (found == bodies + e.count) continue;
        const int body = *found, column = column_[body], columns = tables.bodies[body].nv;
        const double inverse = inverse_[body];

        auto& target = velocity ? slopes.C : slopes.K;
        for (int k = 0; k < e.count; ++k) {
            const Body& own = tables.bodies[bodies[k]];
            if (own.nv == 0) continue;
            const Wrench<double>&now = moved.wrench[e.first + k], &before = base_.wrench[e.first + k];
            double change[6] = {};
            add_row(own, now.force - before.force, now.torque - before.torque, change);
            double* block = target.data() + slopes.find_offset(bodies[k], body) + column;
            for (int r = 0; r < own.nv; ++r) block[r * columns] += inverse * change[r];
        }

        if (e.kind != constraint) continue;
        const Primitive& p = tables.primitives[e.index];
        const Part& part = tables.parts[found == bodies ? p.part_a : p.part_b];
        const int rows = p.kind == primitive_coincident ? 3 : p.kind == primitive_coincident2 ? 2 : 1;
        const int local = p.row - tables.blocks[part.block].row;
        for (int k = 0; k < rows; ++k) {
            const int at = part.offset + (local + k) * columns + column;
            const std::size_t row = 3 * i + k;
            (velocity ? slopes.H : slopes.G)[at] -= inverse * (moved.second_rate[row] - base_.second_rate[row]);
            if (!velocity) slopes.Jv_q[at] += inverse * (moved.rate[row] - base_.rate[row]);
        }
    }
}

void GroupedSlopes::calc(const Tables& tables, double t, Workspace& w, Slopes& slopes) {
    for (auto* values : {&slopes.Jv_q, &slopes.G, &slopes.H, &slopes.K, &slopes.C})
        std::fill(values->begin(), values->end(), 0.0);
    pose_ = w.pose, twist_ = w.twist;
    const int count = static_cast<int>(tables.bodies.size());
    for (int i = 0; i < count; ++i) calc_twist(tables.bodies[i], w.a.data(), acceleration_[i]);
    const State state{tables, t, w};
    sweep(state, base_);
    for (int group = 0; group < grouping_.groups; ++group)
        for (const bool velocity : {false, true})
            for (int column = 0; column < 6; ++column) {
                bool any = false;
                for (int i = 0; i < count; ++i) {
                    const Body& body = tables.bodies[i];
                    if (grouping_.group_of[i] != group || column >= body.nv) continue;
                    any = true;
                    column_[i] = column;
                    const int k = body.columns[column];
                    const Vec& now = velocity ? (k < 3 ? w.twist[i].v : w.twist[i].w) : w.pose[i].r;
                    const double size = velocity || k < 3 ? std::abs(now[k % 3]) : 1.0;
                    const double step = relative_step * std::max(1.0, size);
                    Vec linear{}, angular{};
                    (k < 3 ? linear[k] : angular[k - 3]) = step;
                    if (velocity)
                        twist_[i].v += linear, twist_[i].w += angular;
                    else
                        pose_[i] = displace(w.pose[i], linear, angular);
                    // what was really added to the coordinate
                    const Vec& then = velocity ? (k < 3 ? twist_[i].v : twist_[i].w) : pose_[i].r;
                    inverse_[i] = 1 / (velocity || k < 3 ? then[k % 3] - now[k % 3] : step);
                }
                if (!any) continue;
                sweep(state, moved_);
                add_differences(tables, velocity, moved_, slopes);
                for (int i = 0; i < count; ++i)
                    if (column_[i] >= 0) pose_[i] = w.pose[i], twist_[i] = w.twist[i], column_[i] = -1;
            }
}

} // namespace linkwork
