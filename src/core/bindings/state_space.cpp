// The equations of motion as x' = f(t, x) for codes of others: see linkwork/embed.py.
#include "../formulations/contract.hpp"
#include "system.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/vector.h>

namespace linkwork {

namespace {

class StateSpace {
public:
    StateSpace(System& system, const std::string& name, const nb::dict& options)
        : system(system), formulation(build_formulation(name, system.tables, read_formulation_options(options))) {}

    nb::tuple start(double t, const Array& q, const Array& v, const Array& memory) {
        const Tables& tables = system.tables;
        check_size(q, tables.nq, "q");
        check_size(v, tables.nv, "v");
        check_size(memory, tables.memory_size, "memory");
        std::copy_n(memory.data(), tables.memory_size, formulation->workspace().memory.begin());
        std::vector<double> x(calc_most_entries(tables));
        const Status status = formulation->start(t, q.data(), v.data(), x.data());
        x.resize(formulation->size());
        return finish(status, std::move(x));
    }
    // Rows that are switched on: for the next start.
    void engage(const Array& engaged) {
        check_size(engaged, system.tables.rows_count, "engaged");
        std::copy_n(engaged.data(), system.tables.rows_count, formulation->workspace().engaged.begin());
    }
    nb::tuple rate(double t, const Array& x) {
        check_size(x, formulation->size(), "x");
        std::vector<double> out(formulation->size());
        const Status status = formulation->calc_rate(t, x.data(), out.data());
        return finish(status, std::move(out));
    }
    nb::tuple jacobian(double t, const Array& x) {
        check_size(x, formulation->size(), "x");
        const std::size_t n = formulation->size();
        std::vector<double> out(n * n);
        Status status = formulation->calc_linearization(t, x.data());
        if (status == Status::success) status = formulation->fill_jacobian(out.data());
        system.raise_user_error();
        return nb::make_tuple(static_cast<int>(status), to_rows(std::move(out), n, n));
    }
    // (c B - f_x)^-1 r with the linearization of the last `jacobian`
    nb::object solve(double c, const Array& r) {
        check_size(r, formulation->size(), "r");
        std::vector<double> out(r.data(), r.data() + formulation->size());
        if (formulation->factor(c) != Status::success) throw nb::value_error("the matrix is singular");
        formulation->solve(out.data());
        return nb::cast(to_array(std::move(out)));
    }
    nb::object solve_complex(std::complex<double> c, const std::vector<std::complex<double>>& r) {
        if (static_cast<int>(r.size()) != formulation->size()) throw nb::value_error("r does not fit x");
        std::vector<std::complex<double>> out = r;
        if (formulation->factor(c) != Status::success) throw nb::value_error("the matrix is singular");
        formulation->solve(out.data());
        return nb::cast(out);
    }
    nb::object apply_mass(const Array& x) {
        check_size(x, formulation->size(), "x");
        std::vector<double> out(formulation->size());
        formulation->apply_mass(x.data(), out.data());
        return nb::cast(to_array(std::move(out)));
    }
    bool has_mass() { return formulation->has_mass(); }
    nb::object mass() {
        const std::size_t n = formulation->size();
        std::vector<double> unit(n), out(n * n); // B is symmetric
        for (std::size_t i = 0; i < n; ++i) {
            unit[i] = 1;
            formulation->apply_mass(unit.data(), out.data() + i * n);
            unit[i] = 0;
        }
        return nb::cast(to_rows(std::move(out), n, n));
    }
    nb::tuple lift(double t, const Array& x) {
        check_size(x, formulation->size(), "x");
        Motion m{};
        const Status status = formulation->lift(t, x.data(), m);
        system.raise_user_error();
        const Tables& tables = system.tables;
        const auto copy = [&](const double* from, int n) {
            return status == Status::success ? to_array(std::vector<double>(from, from + n)) : to_array({});
        };
        return nb::make_tuple(static_cast<int>(status), copy(m.q, tables.nq), copy(m.v, tables.nv),
                              copy(m.a, tables.nv), copy(m.lambda, tables.rows_count));
    }
    nb::tuple correct(double t, const Array& x) {
        check_size(x, formulation->size(), "x");
        // a new chart may have more coordinates than the old one
        std::vector<double> out(calc_most_entries(system.tables));
        std::copy_n(x.data(), formulation->size(), out.begin());
        Change change = Change::none;
        const Status status = formulation->correct(t, out.data(), change);
        system.raise_user_error();
        out.resize(formulation->size());
        return nb::make_tuple(static_cast<int>(status), to_array(std::move(out)), static_cast<int>(change));
    }
    nb::object kinds() {
        std::vector<int> kinds(formulation->size());
        formulation->fill_kinds(kinds.data());
        for (int& kind : kinds) // to codes of others an angle is a position
            if (kind == entry_angle || kind == entry_angle_of_any_zero) kind = entry_position;
        return nb::cast(kinds);
    }
    nb::dict facts() { return to_dict(formulation->facts()); }
    nb::object memory() { return nb::cast(to_array(formulation->workspace().memory)); }
    nb::object engaged() { return nb::cast(to_array(formulation->workspace().engaged)); }
    int size() { return formulation->size(); }

private:
    nb::tuple finish(Status status, std::vector<double> out) {
        system.raise_user_error();
        return nb::make_tuple(static_cast<int>(status), to_array(std::move(out)));
    }

    System& system;
    std::unique_ptr<Formulation> formulation;
};

} // namespace

void bind_state_space(nb::module_& m) {
    nb::class_<StateSpace>(m, "StateSpace", "A formulation as x' = f(t, x); every call returns a status first.")
        .def(nb::init<System&, const std::string&, const nb::dict&>(), "system"_a, "formulation"_a,
             "options"_a = nb::dict(), nb::keep_alive<1, 2>())
        .def("start", &StateSpace::start, "t"_a, "q"_a, "v"_a, "memory"_a, "opens a chart: (status, x)")
        .def("engage", &StateSpace::engage, "engaged"_a,
             "1 for the rows that hold from the next start on, 0 for others")
        .def("rate", &StateSpace::rate, "t"_a, "x"_a, "(status, x')")
        .def("jacobian", &StateSpace::jacobian, "t"_a, "x"_a, "(status, f_x)")
        .def("solve", &StateSpace::solve, "c"_a, "r"_a, "(c B - f_x)^-1 r, f_x as of the last jacobian")
        .def("solve_complex", &StateSpace::solve_complex, "c"_a, "r"_a)
        .def("apply_mass", &StateSpace::apply_mass, "x"_a, "B x; B = I unless there are algebraic entries")
        .def("lift", &StateSpace::lift, "t"_a, "x"_a, "(status, q, v, a, lambda)")
        .def("correct", &StateSpace::correct, "t"_a, "x"_a,
             "after an accepted step: (status, x, change), change 0 none, 1 small, 2 a new chart")
        .def_prop_ro("has_mass", &StateSpace::has_mass, "whether B is not the identity")
        .def_prop_ro("mass", &StateSpace::mass, "B, dense")
        .def_prop_ro("size", &StateSpace::size)
        .def_prop_ro("kinds", &StateSpace::kinds, "0 for positions, 1 for velocities, 2 for multipliers")
        .def_prop_ro("engaged", &StateSpace::engaged, "1 for the rows that hold, 0 for others")
        .def_prop_ro("memory", &StateSpace::memory, "accepted angles and curve parameters, as of the last correct")
        .def_prop_ro("facts", &StateSpace::facts);
}

} // namespace linkwork
