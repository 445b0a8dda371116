// Runs of a mechanism, and of plain equations, with the hooks of the user.
#include <limits>

#include "../integrators/driver.hpp"
#include "../integrators/ode_function.hpp"
#include "system.hpp"

namespace linkwork {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

DriverOptions read_driver_options(const nb::dict& d) {
    DriverOptions o;
    const auto get = [&](const char* name, auto& field) {
        if (d.contains(name)) field = nb::cast<std::remove_reference_t<decltype(field)>>(nb::object(d[name]));
    };
    get("t_start", o.t_start);
    get("t_end", o.t_end);
    get("first_step", o.first_step);
    get("max_step", o.max_step);
    get("fixed_step", o.fixed_step);
    get("max_steps", o.max_steps);
    get("discontinuities", o.discontinuities);
    get("output", o.output);
    get("engaged", o.engaged);
    if (d.contains("events"))
        for (nb::handle h : nb::list(nb::object(d["events"])))
            o.events.push_back(
                {nb::cast<int>(h[0]), static_cast<EventAction>(nb::cast<int>(h[1])), nb::cast<int>(h[2])});
    return o;
}

IntegratorOptions read_integrator_options(const nb::dict& d) {
    IntegratorOptions o;
    if (d.contains("variant")) o.variant = nb::cast<std::string>(nb::object(d["variant"]));
    if (d.contains("max_order")) o.max_order = nb::cast<int>(nb::object(d["max_order"]));
    if (d.contains("solver")) o.solver = nb::cast<std::string>(nb::object(d["solver"]));
    if (d.contains("alpha")) o.alpha = nb::cast<double>(nb::object(d["alpha"]));
    if (d.contains("keep_jacobian")) o.keep_jacobian = nb::cast<bool>(nb::object(d["keep_jacobian"]));
    if (d.contains("forcing")) o.forcing = nb::cast<double>(nb::object(d["forcing"]));
    if (d.contains("rho")) o.rho = nb::cast<double>(nb::object(d["rho"]));
    return o;
}

// The hooks of a run: Python callables, called with the GIL held; the first exception ends the run.
struct PythonHooks {
    nb::dict hooks;
    int nq, nv, rows;
    nb::object exception = nb::none();

    bool has(const char* name) const { return hooks.contains(name); }
    template <class F> bool guarded(F&& body) {
        nb::gil_scoped_acquire gil;
        try {
            return body();
        } catch (nb::python_error& e) {
            if (!e.matches(PyExc_KeyboardInterrupt)) exception = nb::borrow(e.value());
        } catch (const std::exception& e) {
            exception = nb::module_::import_("builtins").attr("ValueError")(e.what());
        }
        return false;
    }
    Output copy(const double* x, int n) const { return to_array(std::vector<double>(x, x + n)); }

    static PythonHooks& of(void* context) { return *static_cast<PythonHooks*>(context); }
    static bool tick(void* context, double t) {
        auto& self = of(context);
        return self.guarded([&] {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            return !self.has("tick") || nb::cast<bool>(self.hooks["tick"](t));
        });
    }
    static bool events(void* context, double t, const double* q, const double* v, double* values) {
        auto& self = of(context);
        return self.guarded([&] {
            const auto out =
                nb::cast<std::vector<double>>(self.hooks["events"](t, self.copy(q, self.nq), self.copy(v, self.nv)));
            std::copy(out.begin(), out.end(), values);
            return true;
        });
    }
    static bool change(void* context, int event, double t, double* q, double* v, double* engaged, bool* stop) {
        auto& self = of(context);
        return self.guarded([&] {
            nb::object out = self.hooks["change"](event, t, self.copy(q, self.nq), self.copy(v, self.nv));
            const auto new_q = nb::cast<Array>(out[0]), new_v = nb::cast<Array>(out[1]), rows = nb::cast<Array>(out[2]);
            check_size(new_q, self.nq, "q");
            check_size(new_v, self.nv, "v");
            check_size(rows, self.rows, "engaged");
            std::copy_n(rows.data(), self.rows, engaged);
            std::copy_n(new_q.data(), self.nq, q);
            std::copy_n(new_v.data(), self.nv, v);
            *stop = nb::cast<bool>(out[3]);
            return true;
        });
    }
    static bool step(void* context, double t, const double* q, const double* v, bool* stop) {
        auto& self = of(context);
        return self.guarded([&] {
            *stop = nb::cast<bool>(self.hooks["step"](t, self.copy(q, self.nq), self.copy(v, self.nv)));
            return true;
        });
    }
    Hooks table() {
        Hooks h;
        h.context = this;
        h.tick = &tick;
        if (has("events")) h.events = &events;
        if (has("change")) h.change = &change;
        if (has("step")) h.step = &step;
        return h;
    }
};

void put_records(nb::dict& out, const char* prefix, Records& r, const Tables& tables) {
    const std::size_t n = r.t.size();
    const std::string p(prefix);
    const auto put = [&](const char* name, std::vector<double>& values, std::size_t columns) {
        out[(p + name).c_str()] = to_rows(std::move(values), columns, n);
    };
    out[(p + "t").c_str()] = to_array(std::move(r.t));
    put("q", r.q, tables.nq);
    put("v", r.v, tables.nv);
    put("a", r.a, tables.nv);
    put("lambda_", r.lambda, tables.rows_count);
}

nb::list to_list(const std::vector<MethodSpan>& spans) {
    nb::list all;
    for (const MethodSpan& span : spans)
        all.append(nb::make_tuple(span.t_from, span.t_to, span.integrator, span.steps));
    return all;
}

nb::dict run_system(System& system, const std::string& formulation_name, const std::string& integrator_name,
                    const nb::dict& formulation_options, const nb::dict& driver_options, double rtol,
                    double atol_position, double atol_velocity, const Array& q, const Array& v, const Array& memory,
                    const nb::dict& hooks) {
    const Tables& tables = system.tables;
    check_size(q, tables.nq, "q");
    check_size(v, tables.nv, "v");
    check_size(memory, tables.memory_size, "memory");
    const DriverOptions options = read_driver_options(driver_options);
    FormulationOptions chosen = read_formulation_options(formulation_options);
    chosen.refuse = options.fixed_step == 0; // fixed steps are taken whatever they are worth
    auto formulation = build_formulation(formulation_name, tables, chosen);
    std::copy_n(memory.data(), tables.memory_size, formulation->workspace().memory.begin());
    const IntegratorChoice choice{integrator_name, rtol, atol_position, atol_velocity,
                                  read_integrator_options(driver_options)};
    PythonHooks python{hooks, tables.nq, tables.nv, tables.rows_count};
    system.exception = nb::none();

    Run out;
    {
        nb::gil_scoped_release release;
        out = run(*formulation, choice, tables, q.data(), v.data(), options, python.table());
    }
    const IntegratorFacts& spent = out.spent;
    if (!python.exception.is_none() || !system.exception.is_none()) out.status = Status::user_error;

    nb::dict result, statistics;
    result["status"] = static_cast<int>(out.status);
    result["t_reached"] = out.t_reached;
    put_records(result, "", out.stored.steps, tables);
    put_records(result, "output_", out.stored.output, tables);
    nb::list events;
    const Stored& stored = out.stored;
    for (std::size_t i = 0; i < stored.events.size(); ++i)
        events.append(nb::make_tuple(stored.events[i].event, stored.events[i].t,
                                     python.copy(stored.event_q.data() + i * tables.nq, tables.nq),
                                     python.copy(stored.event_v.data() + i * tables.nv, tables.nv)));
    result["events"] = events;
    nb::list switchings;
    for (const Switching& s : stored.switchings) switchings.append(nb::make_tuple(s.step, to_array(s.engaged)));
    result["switchings"] = switchings;
    result["exception"] = python.exception.is_none() ? system.exception : python.exception;
    system.exception = nb::none();
    const FormulationFacts f = formulation->facts();
    statistics["steps"] = out.facts.steps;
    statistics["rejected"] = out.facts.rejected;
    statistics["restarts"] = out.facts.restarts;
    statistics["discontinuities"] = out.discontinuities.size();
    statistics["wall_time"] = out.facts.wall_time;
    statistics["smallest_step"] = out.facts.smallest_step;
    statistics["largest_step"] = out.facts.largest_step;
    statistics.update(to_dict(f));
    statistics["jacobians"] = f.linearizations;
    statistics["decompositions"] = spent.factorizations;
    statistics["iterations"] = spent.iterations;
    statistics["convergence_failures"] = spent.convergence_failures;
    statistics["restrictions"] = spent.restrictions;
    result["statistics"] = statistics;
    result["methods"] = to_list(out.methods);
    result["discontinuities"] = to_array(std::move(out.discontinuities));
    return result;
}

// x' = f(t, x) from a Python callable, for tests of the integrators alone.
struct PythonOde {
    nb::object function, jacobian;
    std::size_t size;
    nb::object exception = nb::none();

    bool call(const nb::object& f, double t, const double* x, std::size_t count, double* out) {
        try {
            nb::object r = f(t, to_array(std::vector<double>(x, x + size)));
            const auto values = nb::cast<std::vector<double>>(r.attr("ravel")().attr("tolist")());
            if (values.size() != count) throw nb::value_error("the rate or its Jacobian does not fit the state");
            std::copy(values.begin(), values.end(), out);
            return true;
        } catch (nb::python_error& e) {
            exception = nb::borrow(e.value());
        } catch (const std::exception& e) {
            exception = nb::module_::import_("builtins").attr("ValueError")(e.what());
        }
        return false;
    }
    void raise() const {
        if (exception.is_none()) return;
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
        throw nb::python_error();
    }
    static bool calc_rate(void* context, double t, const double* x, double* rate) {
        auto& self = *static_cast<PythonOde*>(context);
        return self.call(self.function, t, x, self.size, rate);
    }
    static bool calc_jacobian(void* context, double t, const double* x, double* rows) {
        auto& self = *static_cast<PythonOde*>(context);
        return self.call(self.jacobian, t, x, self.size * self.size, rows);
    }
};

FunctionOde build_ode(PythonOde& python, int size, const nb::dict& options) {
    FunctionOde ode(size, &PythonOde::calc_rate, &python);
    if (!python.jacobian.is_none()) ode.jacobian = &PythonOde::calc_jacobian;
    ode.options = read_formulation_options(options);
    ode.has_halves = options.contains("second_order");
    return ode;
}

nb::dict solve_ode_python(nb::object function, double t0, const Array& x0, double t1, const std::string& name,
                          double rtol, double atol, double step, const std::vector<double>& output,
                          const nb::object& jacobian, const nb::dict& options, const nb::object& mass,
                          const std::vector<int>& algebraic) {
    const int n = static_cast<int>(x0.shape(0));
    PythonOde python{function, jacobian, x0.shape(0)};
    FunctionOde ode = build_ode(python, n, options);
    if (!mass.is_none()) {
        const auto rows = nb::cast<std::vector<double>>(mass.attr("ravel")().attr("tolist")());
        if (rows.size() != x0.shape(0) * x0.shape(0)) throw nb::value_error("mass does not fit the state");
        ode.set_mass(rows.data());
    }
    Tolerances tolerances{rtol, std::vector<double>(n, atol)};
    for (const int i : algebraic) tolerances.atol.at(i) = infinity, tolerances.algebraic.push_back({i, atol});
    const DriverOptions driver = read_driver_options(options);
    StepLimits limits;
    limits.t_start = t0, limits.t_end = t1, limits.fixed_step = step;
    limits.first_step = driver.first_step, limits.max_step = driver.max_step, limits.max_steps = driver.max_steps;
    const auto build = [&](const std::string& which) {
        return build_integrator(which, n, tolerances, read_integrator_options(options));
    };
    Partners partners(name, std::max(rtol, atol), limits, x0.shape(0), false, build);
    OdeRun run = solve_ode(ode, partners, x0.data(), limits, output);
    python.raise();
    nb::dict result;
    const std::size_t steps = run.t.size(), outputs = run.output_x.size() / std::max(n, 1);
    result["status"] = static_cast<int>(run.status);
    result["t"] = to_array(std::move(run.t));
    result["x"] = to_rows(std::move(run.x), n, steps);
    result["output_x"] = to_rows(std::move(run.output_x), n, outputs);
    result["steps"] = run.facts.steps;
    result["rejected"] = run.facts.rejected;
    result["evaluations"] = ode.evaluations;
    result["highest_order"] = run.highest_order;
    const IntegratorFacts& facts = run.spent;
    result["methods"] = to_list(run.methods);
    result["jacobians"] = facts.linearizations;
    result["decompositions"] = facts.factorizations;
    result["iterations"] = facts.iterations;
    result["convergence_failures"] = facts.convergence_failures;
    result["restrictions"] = facts.restrictions;
    result["krylov_vectors"] = ode.solver.vectors();
    return result;
}

// Steps of given sizes, whatever their errors: what a formula does when its step changes.
nb::dict take_steps(nb::object function, double t0, const Array& x0, const std::vector<double>& steps,
                    const std::string& name, double rtol, double atol, const nb::object& jacobian,
                    const nb::dict& options) {
    const int n = static_cast<int>(x0.shape(0));
    PythonOde python{function, jacobian, x0.shape(0)};
    FunctionOde ode = build_ode(python, n, options);
    auto integrator =
        build_integrator(name, n, Tolerances{rtol, std::vector<double>(n, atol)}, read_integrator_options(options));
    std::vector<double> x(x0.data(), x0.data() + n), errors;
    double h = steps.empty() ? 0 : std::abs(steps[0]), next = 0, t_end = t0;
    for (const double step : steps) t_end += step;
    Status status = integrator->start(ode, t0, x0.data(), t_end, h);
    for (std::size_t k = 0; k < steps.size() && status == Status::success; ++k) {
        const Attempt attempt = integrator->attempt(ode, steps[k], false);
        status = attempt.status;
        if (status == Status::success) status = integrator->accept(ode, false, next);
        errors.push_back(attempt.error);
        x.insert(x.end(), integrator->x(), integrator->x() + n);
    }
    python.raise();
    nb::dict result;
    result["status"] = static_cast<int>(status);
    result["errors"] = to_array(std::move(errors));
    const std::size_t rows = x.size() / std::max(n, 1);
    result["x"] = to_rows(std::move(x), n, rows);
    return result;
}

} // namespace

void bind_run(nb::module_& m) {
    m.def("run", &run_system, "system"_a, "formulation"_a, "integrator"_a, "formulation_options"_a, "driver_options"_a,
          "rtol"_a, "atol_position"_a, "atol_velocity"_a, "q"_a, "v"_a, "memory"_a, "hooks"_a,
          "Simulate a compiled model; see linkwork.simulate.");
    m.def(
        "solve_ode", &solve_ode_python, "function"_a, "t0"_a, "x0"_a, "t1"_a, "integrator"_a, "rtol"_a, "atol"_a,
        "step"_a = 0.0, "output"_a = std::vector<double>{}, "jacobian"_a = nb::none(), "options"_a = nb::dict(),
        "mass"_a = nb::none(), "algebraic"_a = std::vector<int>{},
        "Integrate x' = f(t, x) of a Python function, or mass x' = f(t, x); jacobian(t, x) -> f_x, else by "
        "differences; "
        "algebraic: entries without error control; options: first_step, max_step, max_steps, variant, max_order, those "
        "of the solver; second_order: x = (y, y').");
    m.def("take_steps", &take_steps, "function"_a, "t0"_a, "x0"_a, "steps"_a, "integrator"_a, "rtol"_a, "atol"_a,
          "jacobian"_a = nb::none(), "options"_a = nb::dict(),
          "Take steps of given sizes, whatever their errors; returns x after each and the errors estimated.");
}

} // namespace linkwork
