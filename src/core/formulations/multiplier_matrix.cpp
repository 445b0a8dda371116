#include "multiplier_matrix.hpp"

#include <algorithm>

#include "../system/linear/masses.hpp"

namespace linkwork {

MultiplierMatrix::MultiplierMatrix(const Tables& tables, const FormulationOptions& options, bool stabilized,
                                   const MultiplierUnits& units)
    : tables(tables), units(units), stabilized(stabilized), explicit_form(options.formalism == "explicit"),
      chosen(tables, options), positions(tables) {}

Status MultiplierMatrix::calc(double t, const double* q, const double* u, Accelerations& engine) {
    const Status status = chosen.calc(t, engine);
    if (status != Status::success) return status;
    jacobian = engine.w.jacobian;
    active = engine.w.active;
    positions.place(q, u);
    return status;
}

template <class Scalar> bool MultiplierMatrix::factor(System<Scalar>& system, Scalar c) {
    const int nv = tables.nv, m = tables.rows_count;
    const int velocity = nv, force = 2 * nv, stray = force + m, size = force + (stabilized ? 2 : 1) * m;
    const Scalar one(1);
    system.c = c;
    SparseSystem<Scalar>& matrix = system.matrix;
    matrix.begin(size);
    positions.add(matrix, c, velocity);
    add_mass(matrix, tables, velocity, velocity, one);
    slopes.for_each_entry([&](int row, int column, double stiffness, double damping) {
        matrix.add(velocity + row, column, -stiffness / (c * c));
        matrix.add(velocity + row, velocity + column, -damping / c);
    });
    add_transpose(matrix, tables, jacobian.data(), active.data(), velocity, force, one);
    add_jacobian(matrix, tables, slopes.Jv_q.data(), active.data(), force, 0, one / c);
    add_jacobian(matrix, tables, jacobian.data(), active.data(), force, velocity, one);
    for (int i = 0; i < m; ++i) matrix.add(force + i, force + i, Scalar(1 - active[i]));
    if (stabilized) {
        add_transpose(matrix, tables, jacobian.data(), active.data(), 0, stray, one);
        add_jacobian(matrix, tables, jacobian.data(), active.data(), stray, 0, one);
        for (int i = 0; i < m; ++i) matrix.add(stray + i, stray + i, Scalar(1 - active[i]));
    }
    system.side.resize(size);
    system.normal.resize(tables.bodies.size());
    return matrix.factor();
}

template <class Scalar> void MultiplierMatrix::fill_side(System<Scalar>& system, const Scalar* r) {
    const int nv = tables.nv, m = tables.rows_count;
    const Scalar c = system.c;
    Scalar *position = system.side.data(), *velocity = position + nv, *force = velocity + nv, *stray = force + m;
    const Scalar *r_v = r + tables.nq, *r_lambda = r_v + nv, *r_mu = r_lambda + m;
    positions.fill_side(r, c, position, system.normal.data());
    for (const Body& b : tables.bodies)
        for (int i = 0; i < b.nv; ++i) {
            Scalar sum(0);
            if (explicit_form)
                for (int j = 0; j < b.nv; ++j) sum += calc_mass_entry(b, i, j) * r_v[b.v + j];
            velocity[b.v + i] = (explicit_form ? sum : r_v[b.v + i]) / c;
        }
    for (int i = 0; i < m; ++i) {
        const bool on = active[i] != 0.0; // the equation of a multiplier that is off is 0 = -x
        force[i] = on ? r_lambda[i] : r_lambda[i] * units.lambda[i] / c;
        if (stabilized) stray[i] = on ? c * r_mu[i] : r_mu[i] * units.mu[i];
    }
}

template <class Scalar> void MultiplierMatrix::solve(System<Scalar>& system, Scalar* r) {
    const int nv = tables.nv, m = tables.rows_count;
    fill_side(system, r);
    system.matrix.solve(system.side.data());
    const Scalar *velocity = system.side.data() + nv, *force = velocity + nv, *stray = force + m;
    positions.take(system.side.data(), system.normal.data(), system.c, r);
    std::copy_n(velocity, nv, r + tables.nq);
    Scalar *lambda = r + tables.nq + nv, *mu = lambda + m;
    for (int i = 0; i < m; ++i) {
        lambda[i] = force[i] * system.c / units.lambda[i];
        if (stabilized) mu[i] = stray[i] / units.mu[i];
    }
}

void MultiplierMatrix::fill_jacobian(double* out) const {
    const int nq = tables.nq, nv = tables.nv, m = tables.rows_count;
    const int lambda = nq + nv, mu = lambda + m;
    const std::size_t size = mu + (stabilized ? m : 0);
    std::fill_n(out, size * size, 0.0);
    const auto at = [&](int row, int column) -> double& { return out[row * size + column]; };
    std::vector<const Body*> owner(nv); // of velocity coordinates
    for (const Body& b : tables.bodies)
        for (int i = 0; i < b.nv; ++i) owner[b.v + i] = &b;
    // adds `value` d, d the displacement of velocity coordinate j, in terms of dq
    const auto add_displacement = [&](int row, int j, double value) {
        const Body& b = *owner[j];
        if (b.kind != body_rigid || j - b.v < 3) {
            at(row, b.q + j - b.v) += value;
            return;
        }
        const double* p = positions.parameters_of(b);
        const double square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
        for (int k = 0; k < 4; ++k) {
            double unit[4] = {};
            unit[k] = 1;
            at(row, b.q + 3 + k) += value * calc_spin(p, unit)[j - b.v - 3] / square;
        }
    };
    // N: out (a column per velocity coordinate) of a vector in velocity coordinates
    const auto add_rate = [&](int j, int column, double value) {
        const Body& b = *owner[j];
        if (b.kind != body_rigid || j - b.v < 3) {
            at(b.q + j - b.v, column) += value;
            return;
        }
        Vec unit{};
        unit[j - b.v - 3] = value;
        double step[4];
        calc_parameter_rate(positions.parameters_of(b), unit, step);
        for (int k = 0; k < 4; ++k) at(b.q + 3 + k, column) += step[k];
    };
    // rows of a vector in velocity coordinates, times M^-1 in explicit form
    const auto add_force = [&](int row, int column, double value, auto&& add) {
        if (!explicit_form) return add(nq + row, column, value);
        const Body& b = *owner[row];
        double inverse[36];
        calc_inverse_mass(b, inverse);
        for (int i = 0; i < b.nv; ++i) add(nq + b.v + i, column, inverse[i * b.nv + row - b.v] * value);
    };
    const auto add_entry = [&](int row, int column, double value) { at(row, column) += value; };

    for (const Body& b : tables.bodies) {
        for (int i = 0; i < b.nv; ++i) add_rate(b.v + i, nq + b.v + i, 1);
        if (b.kind != body_rigid) continue;
        for (int k = 0; k < 4; ++k) { // p' is linear in p
            double unit[4] = {}, rate[4];
            unit[k] = 1;
            calc_parameter_rate(unit, positions.spin_of(b), rate);
            for (int i = 0; i < 4; ++i) at(b.q + 3 + i, b.q + 3 + k) += rate[i];
        }
    }
    slopes.for_each_entry([&](int row, int column, double stiffness, double damping) {
        add_force(row, column, stiffness, add_displacement);
        add_force(row, nq + column, damping, add_entry);
    });
    for_each_jacobian_entry(tables, jacobian.data(), active.data(), [&](int row, int column, double value) {
        add_force(column, lambda + row, -value * units.lambda[row], add_entry);
        at(lambda + row, nq + column) -= value;
        if (!stabilized) return;
        add_rate(column, mu + row, -value * units.mu[row]);
        add_displacement(mu + row, column, -value);
    });
    for_each_jacobian_entry(tables, slopes.Jv_q.data(), active.data(),
                            [&](int row, int column, double value) { add_displacement(lambda + row, column, -value); });
    for (int i = 0; i < m; ++i) {
        at(lambda + i, lambda + i) -= 1 - active[i];
        if (stabilized) at(mu + i, mu + i) -= 1 - active[i];
    }
}

template bool MultiplierMatrix::factor(System<double>&, double);
template bool MultiplierMatrix::factor(System<std::complex<double>>&, std::complex<double>);
template void MultiplierMatrix::solve(System<double>&, double*);
template void MultiplierMatrix::solve(System<std::complex<double>>&, std::complex<double>*);

} // namespace linkwork
