// Queries of one state: constraints, Jacobians, forces, accelerations, energies, derivatives.
#include "system.hpp"

#include <nanobind/stl/pair.h>

#include "../formulations/accelerations.hpp"
#include "../system/derivatives.hpp"

namespace linkwork {

namespace {

using Active = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::tuple calc_accelerations(System& s, double t, const Array& q, const Array& v, const Array& memory,
                             const Active& active, const std::string& linear) {
    s.set(t, q, v, memory);
    FormulationOptions options;
    options.linear = linear;
    Accelerations engine(s.tables, options);
    std::copy_n(memory.data(), s.tables.memory_size, engine.w.memory.begin());
    if (static_cast<int>(active.shape(0)) != s.tables.rows_count) throw nb::value_error("active has the wrong size");
    if (engine.prepare_with(t, q.data(), active.data()) != Status::success ||
        engine.calc(t, q.data(), v.data()) == Status::singular_position)
        throw nb::value_error(
            "the accelerations are not determined: the constraint rows taken as independent are singular");
    s.raise_user_error();
    const double* lambda = engine.calc_multipliers();
    return nb::make_tuple(to_array(engine.w.a), to_array(std::vector<double>(lambda, lambda + s.tables.rows_count)));
}

// [M J^T; J 0][x; y] = [f; g] for several right sides: what the mechanism answers to forces or impulses. Of the
// multipliers with the same motion, the shortest.
nb::tuple calc_response(System& s, double t, const Array& q, const Array& memory, const Active& active,
                        const Rows& forces, const Rows& targets, const std::string& linear) {
    check_size(q, s.tables.nq, "q");
    check_size(memory, s.tables.memory_size, "memory");
    const std::size_t nv = s.tables.nv, m = s.tables.rows_count, count = forces.shape(0);
    if (forces.shape(1) != nv || targets.shape(1) != m || targets.shape(0) != count || active.shape(0) != m)
        throw nb::value_error("active, forces and targets do not fit the model");
    FormulationOptions options;
    options.linear = linear;
    Accelerations engine(s.tables, options);
    std::copy_n(memory.data(), s.tables.memory_size, engine.w.memory.begin());
    if (engine.prepare_with(t, q.data(), active.data()) != Status::success ||
        !engine.solver->factor(engine.w.jacobian.data(), engine.w.active.data()))
        throw nb::value_error("the impulses are not determined: the constraint rows taken as independent are singular");
    std::vector<double> x(forces.data(), forces.data() + count * nv), y(targets.data(), targets.data() + count * m);
    for (std::size_t k = 0; k < count; ++k) {
        engine.solve(x.data() + k * nv, y.data() + k * m);
        std::copy_n(y.begin() + static_cast<std::ptrdiff_t>(k * m), m, engine.w.lambda.begin());
        std::copy_n(engine.calc_multipliers(), m, y.begin() + static_cast<std::ptrdiff_t>(k * m));
    }
    return nb::make_tuple(to_rows(std::move(x), nv, count), to_rows(std::move(y), m, count));
}

nb::tuple calc_active(System& s, double t, const Array& q, const Array& memory, double tolerance) {
    s.set(t, q, memory);
    calc_jacobian(s.tables, *s.workspace);
    std::vector<double> active(s.tables.rows_count);
    const int rank = find_active_rows(build_pattern(s.tables), s.workspace->jacobian.data(), tolerance, active.data(),
                                      s.workspace->engaged.data());
    return nb::make_tuple(rank, nb::cast(to_array(std::move(active))).attr("astype")("int32"));
}

nb::tuple calc_coordinates(System& s, const nb::object& records, const Array& q, const Array& v, const Array& memory) {
    nb::dict one;
    one["primitives"] = records;
    const auto primitives = read_table<Primitive>(one, "primitives");
    s.set(0, q, v, memory);
    std::vector<double> values, rates;
    for (const Primitive& p : primitives) {
        values.push_back(calc_coordinate(s.tables, p, *s.workspace));
        rates.push_back(calc_coordinate_rate(s.tables, p, *s.workspace));
    }
    return nb::make_tuple(to_array(std::move(values)), to_array(std::move(rates)));
}

nb::dict calc_all_derivatives(System& s, double t, const Array& q, const Array& v, const Array& memory, const Array& x,
                              const Array& lambda) {
    s.set(t, q, v, memory);
    check_size(x, s.tables.nv, "x");
    check_size(lambda, s.tables.rows_count, "lambda");
    Derivatives d = calc_derivatives(s.tables, t, *s.workspace, x.data(), lambda.data());
    s.raise_user_error();
    const std::size_t nv = s.tables.nv, m = s.tables.rows_count;
    nb::dict out;
    out["Jx_q"] = to_rows(std::move(d.Jx_q), nv, m);
    out["gamma_q"] = to_rows(std::move(d.gamma_q), nv, m);
    out["gamma_v"] = to_rows(std::move(d.gamma_v), nv, m);
    out["JtL_q"] = to_rows(std::move(d.JtL_q), nv, nv);
    out["JtLx_q"] = to_rows(std::move(d.JtLx_q), nv, nv);
    out["f_q"] = to_rows(std::move(d.f_q), nv, nv);
    out["f_v"] = to_rows(std::move(d.f_v), nv, nv);
    return out;
}

Output calc_mass(const System& s) {
    std::vector<double> M(static_cast<std::size_t>(s.tables.nv) * s.tables.nv, 0.0);
    for (const Body& b : s.tables.bodies)
        for (int i = 0; i < b.nv; ++i)
            for (int j = 0; j < b.nv; ++j)
                M[static_cast<std::size_t>(b.v + i) * s.tables.nv + b.v + j] = calc_mass_entry(b, i, j);
    return to_rows(std::move(M), s.tables.nv, s.tables.nv);
}

Output calc_wrenches(System& s, double t, const Array& q, const Array& v, const Array& memory) {
    s.set(t, q, v, memory);
    calc_forces(s.tables, t, *s.workspace);
    s.raise_user_error();
    std::vector<double> out;
    for (const auto& w : s.workspace->wrench)
        out.insert(out.end(), {w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z});
    return to_rows(std::move(out), 6, s.tables.bodies.size());
}

// A user's function often refers to the module that holds the model, hence to this System: without these two the cycle
// would never be collected, and nanobind would report a leak when Python ends.
int traverse_system(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    System* system = nb::inst_ptr<System>(self);
    for (PythonCall& call : system->calls) Py_VISIT(call.callable.ptr());
    Py_VISIT(system->exception.ptr());
    return 0;
}

int clear_system(PyObject* self) {
    System* system = nb::inst_ptr<System>(self);
    for (PythonCall& call : system->calls) call.callable = nb::none();
    system->exception = nb::none();
    return 0;
}

PyType_Slot system_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_system)},
                              {Py_tp_clear, reinterpret_cast<void*>(&clear_system)},
                              {0, nullptr}};

} // namespace

void bind_system(nb::module_& m) {
    nb::class_<System>(m, "System", nb::type_slots(system_slots),
                       "A compiled model: immutable tables and a workspace for queries of one state.")
        .def(nb::init<const nb::dict&, const nb::list&>(), "tables"_a, "callables"_a = nb::list())
        .def_prop_ro("nq", [](const System& s) { return s.tables.nq; })
        .def_prop_ro("nv", [](const System& s) { return s.tables.nv; })
        .def_prop_ro("rows", [](const System& s) { return s.tables.rows_count; })
        .def_prop_ro("memory_size", [](const System& s) { return s.tables.memory_size; })
        .def(
            "constraints",
            [](System& s, double t, const Array& q, const Array& memory) {
                s.set(t, q, memory);
                calc_constraints(s.tables, t, *s.workspace);
                s.raise_user_error();
                return to_array(s.workspace->phi);
            },
            "t"_a, "q"_a, "memory"_a, "Phi(t, q)")
        .def(
            "jacobian",
            [](System& s, double t, const Array& q, const Array& memory) {
                s.set(t, q, memory);
                calc_jacobian(s.tables, *s.workspace);
                return s.dense_jacobian();
            },
            "t"_a, "q"_a, "memory"_a, "J = Phi_q N(q), dense")
        .def(
            "jacobian_parts",
            [](System& s, double t, const Array& q, const Array& memory) {
                s.set(t, q, memory);
                calc_jacobian(s.tables, *s.workspace);
                return to_array(s.workspace->jacobian);
            },
            "t"_a, "q"_a, "memory"_a, "J as its blocks: part k at its offset, rows x nv of its body, row-major")
        .def(
            "velocity_target",
            [](System& s, double t, const Array& q, const Array& memory) {
                s.set(t, q, memory);
                calc_velocity_target(s.tables, t, *s.workspace);
                s.raise_user_error();
                return to_array(s.workspace->target);
            },
            "t"_a, "q"_a, "memory"_a, "-Phi_t, so that J v = target")
        .def(
            "gamma",
            [](System& s, double t, const Array& q, const Array& v, const Array& memory) {
                s.set(t, q, v, memory);
                calc_gamma(s.tables, t, *s.workspace);
                s.raise_user_error();
                return to_array(s.workspace->gamma);
            },
            "t"_a, "q"_a, "v"_a, "memory"_a, "right side of J v' = gamma")
        .def(
            "forces",
            [](System& s, double t, const Array& q, const Array& v, const Array& memory) {
                s.set(t, q, v, memory);
                calc_forces(s.tables, t, *s.workspace);
                s.raise_user_error();
                return to_array(s.workspace->force);
            },
            "t"_a, "q"_a, "v"_a, "memory"_a, "generalized forces, gyroscopic ones included")
        .def("wrenches", &calc_wrenches, "t"_a, "q"_a, "v"_a, "memory"_a,
             "applied force (ground axes) and torque (body axes) per body")
        .def("mass", &calc_mass, "mass matrix, dense")
        .def(
            "position_rate",
            [](System& s, const Array& q, const Array& v) {
                check_size(q, s.tables.nq, "q");
                check_size(v, s.tables.nv, "v");
                std::vector<double> rate(s.tables.nq);
                calc_position_rate(s.tables, q.data(), v.data(), rate.data());
                return to_array(std::move(rate));
            },
            "q"_a, "v"_a, "q' = N(q) v")
        .def(
            "move",
            [](System& s, const Array& q, const Array& d) {
                check_size(q, s.tables.nq, "q");
                check_size(d, s.tables.nv, "d");
                std::vector<double> moved(q.data(), q.data() + s.tables.nq);
                move(s.tables, d.data(), moved.data());
                return to_array(std::move(moved));
            },
            "q"_a, "d"_a, "q displaced by d (velocity coordinates), Euler parameters normalized")
        .def(
            "update_memory",
            [](System& s, double t, const Array& q, const Array& memory) {
                s.set(t, q, memory);
                update_memory(s.tables, *s.workspace);
                return to_array(s.workspace->memory);
            },
            "t"_a, "q"_a, "memory"_a, "angles and curve parameters at q, on the branch nearest to the memory")
        .def("accelerations", &calc_accelerations, "t"_a, "q"_a, "v"_a, "memory"_a, "active"_a, "linear"_a = "topology",
             "accelerations and (shortest) multipliers")
        .def("respond", &calc_response, "t"_a, "q"_a, "memory"_a, "active"_a, "forces"_a, "targets"_a,
             "linear"_a = "topology", "x and y of [M J^T; J 0][x; y] = [force; target], one right side per row")
        .def(
            "kinks",
            [](System& s, const Array& q) {
                check_size(q, s.tables.nq, "q");
                set_position(s.tables, q.data(), *s.workspace);
                std::vector<double> out(s.tables.kinks.size());
                calc_kinks(s.tables, *s.workspace, out.data());
                return to_array(std::move(out));
            },
            "q"_a, "signed distances from the kinks of forces")
        .def("active_rows", &calc_active, "t"_a, "q"_a, "memory"_a, "tolerance"_a = 1e-9,
             "rank of J and 1 for independent rows, 0 for dependent ones")
        .def(
            "energy",
            [](System& s, double t, const Array& q, const Array& v, const Array& memory) {
                s.set(t, q, v, memory);
                const Energy e = calc_energy(s.tables, v.data(), *s.workspace);
                return std::pair(e.kinetic, e.potential);
            },
            "t"_a, "q"_a, "v"_a, "memory"_a, "kinetic and potential energy")
        .def("coordinates", &calc_coordinates, "primitives"_a, "q"_a, "v"_a, "memory"_a,
             "values and rates of primitives given as records")
        .def(
            "coordinate_forces",
            [](System& s, double t, const Array& q, const Array& v, const Array& memory) {
                s.set(t, q, v, memory);
                std::vector<double> out(3 * s.tables.coordinate_forces.size());
                calc_coordinate_forces(s.tables, t, *s.workspace, out.data());
                s.raise_user_error();
                return to_rows(std::move(out), 3, s.tables.coordinate_forces.size());
            },
            "t"_a, "q"_a, "v"_a, "memory"_a, "coordinate, rate and force of every coordinate force")
        .def("derivatives", &calc_all_derivatives, "t"_a, "q"_a, "v"_a, "memory"_a, "x"_a, "lambda_"_a,
             "derivatives with respect to displacements and velocities, see system/derivatives.hpp");
}

} // namespace linkwork
