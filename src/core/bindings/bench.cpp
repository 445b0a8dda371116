// Timers for `linkwork bench linear`: one state, many repetitions, best of several rounds.
#include <algorithm>
#include <chrono>

#include "../system/linear/bench.hpp"
#include "../system/tree.hpp"
#include "system.hpp"

namespace linkwork {

namespace {

// Seconds of one call of body, the least over rounds.
template <class F> double calc_time(int repeats, F&& body) {
    using Clock = std::chrono::steady_clock;
    double best = 1e300;
    for (int round = 0; round < 7; ++round) {
        const auto begin = Clock::now();
        for (int i = 0; i < repeats; ++i) body();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count() / repeats);
    }
    return best;
}

struct LinearBench {
    System& s;
    Workspace& w;
    const double *q, *v;
    double t;

    void assemble() {
        set_position(s.tables, q, w);
        set_velocity(s.tables, v, w);
        calc_jacobian_and_gamma(s.tables, t, w);
        calc_forces(s.tables, t, w);
    }
    void take_sides() {
        std::copy(w.force.begin(), w.force.end(), w.a.begin());
        std::copy(w.gamma.begin(), w.gamma.end(), w.lambda.begin());
    }
};

nb::dict time_linear(System& s, double t, const Array& q, const Array& v, const Array& memory,
                     const std::string& linear, int repeats) {
    s.set(t, q, v, memory);
    LinearBench bench{s, *s.workspace, q.data(), v.data(), t};
    Workspace& w = bench.w;
    bench.assemble();
    const Pattern pattern = build_pattern(s.tables);
    find_active_rows(pattern, w.jacobian.data(), 1e-9, w.active.data(), w.engaged.data());
    auto solver = build_linear_solver(linear, pattern);
    if (!solver->analyse(w.jacobian.data(), w.active.data())) throw nb::value_error("singular position");
    nb::dict out;
    out["assembly"] = calc_time(repeats, [&] { bench.assemble(); });
    out["factor"] = calc_time(repeats, [&] { solver->factor(w.jacobian.data(), w.active.data()); });
    out["solve"] = calc_time(repeats, [&] {
        bench.take_sides();
        solver->solve(w.a.data(), w.lambda.data());
    });
    out["total"] = calc_time(repeats, [&] {
        bench.assemble();
        solver->factor(w.jacobian.data(), w.active.data());
        bench.take_sides();
        solver->solve(w.a.data(), w.lambda.data());
    });
    // largest entry of the residual, relative to the right side
    std::vector<double> f(w.force), g(w.gamma);
    for (double& e : f) e = -e;
    for (double& e : g) e = -e;
    add_mass_times(s.tables, w.a.data(), f.data());
    add_transpose_times(s.tables, w.jacobian.data(), w.lambda.data(), f.data());
    add_jacobian_times(s.tables, w.jacobian.data(), w.a.data(), g.data());
    double residual = 0, size = 1e-300;
    for (int i = 0; i < s.tables.nv; ++i)
        residual = std::max(residual, std::abs(f[i])), size = std::max(size, std::abs(w.force[i]));
    for (int i = 0; i < s.tables.rows_count; ++i)
        residual = std::max(residual, w.active[i] * std::abs(g[i])), size = std::max(size, std::abs(w.gamma[i]));
    out["residual"] = residual / size;
    const LinearFacts facts = solver->facts();
    out["multiply_adds"] = facts.multiply_adds;
    out["bandwidth"] = facts.bandwidth;
    out["profile"] = facts.profile;
    out["work"] = facts.work;
    out["analyses"] = facts.analyses;
    out["fallbacks"] = facts.fallbacks;
    std::fill(w.active.begin(), w.active.end(), 1.0);
    return out;
}

nb::dict time_reduced_system(System& s, double t, const Array& q, const Array& memory, bool renumber, int repeats) {
    s.set(t, q, memory);
    Workspace& w = *s.workspace;
    calc_jacobian(s.tables, w);
    const Pattern pattern = build_pattern(s.tables);
    std::vector<double> active(s.tables.rows_count);
    find_active_rows(pattern, w.jacobian.data(), 1e-9, active.data());
    const ReducedTimes times = time_reduced(pattern, w.jacobian.data(), active.data(), renumber, repeats);
    nb::dict out;
    out["dense_lu"] = times.dense_lu;
    out["dense_cholesky"] = times.dense_cholesky;
    out["sparse_lu"] = times.sparse_lu;
    out["band_cholesky"] = times.band_cholesky;
    out["bandwidth"] = times.bandwidth;
    out["profile"] = times.profile;
    out["work"] = times.work;
    return out;
}

nb::dict time_newton(System& s, const std::string& name, const nb::dict& options, double t, const Array& q,
                     const Array& v, const Array& memory, double c, int repeats) {
    auto formulation = build_formulation(name, s.tables, read_formulation_options(options));
    std::copy_n(memory.data(), s.tables.memory_size, formulation->workspace().memory.begin());
    std::vector<double> x(calc_most_entries(s.tables));
    if (formulation->start(t, q.data(), v.data(), x.data()) != Status::success)
        throw nb::value_error("singular position");
    std::vector<double> r(formulation->size(), 1.0);
    // two states in turn, since what was evaluated last is kept
    std::vector<double> near(x), rate(formulation->size());
    for (double& e : near) e += 1e-7;
    nb::dict out;
    out["evaluation"] = 0.5 * calc_time(repeats, [&] {
                            formulation->calc_rate(t, near.data(), rate.data());
                            formulation->calc_rate(t, x.data(), rate.data());
                        });
    out["linearization"] = calc_time(repeats, [&] { formulation->calc_linearization(t, x.data()); });
    out["factor"] = calc_time(repeats, [&] { formulation->factor(c); });
    out["solve"] = calc_time(repeats, [&] {
        std::fill(r.begin(), r.end(), 1.0);
        formulation->solve(r.data());
    });
    s.raise_user_error();
    return out;
}

// One evaluation of x' = f(t, x) as in a run: two states a small step apart by turns, so that none is remembered.
double time_rate(System& s, const std::string& name, const nb::dict& options, double t, const Array& q, const Array& v,
                 const Array& memory, double step, int repeats) {
    auto formulation = build_formulation(name, s.tables, read_formulation_options(options));
    std::copy_n(memory.data(), s.tables.memory_size, formulation->workspace().memory.begin());
    std::vector<double> x(calc_most_entries(s.tables)), rate(x.size());
    if (formulation->start(t, q.data(), v.data(), x.data()) != Status::success ||
        formulation->calc_rate(t, x.data(), rate.data()) != Status::success)
        throw nb::value_error("singular position");
    std::vector<double> other(x);
    for (int i = 0; i < formulation->size(); ++i) other[i] += step * rate[i];
    bool moved = false, failed = false;
    const double seconds = calc_time(repeats, [&] {
        moved = !moved;
        const double* at = moved ? other.data() : x.data();
        failed |= formulation->calc_rate(moved ? t + step : t, at, rate.data()) != Status::success;
    });
    s.raise_user_error();
    if (failed) throw nb::value_error("an evaluation failed");
    return seconds;
}

// The recursion alone, by its parts.
nb::dict time_tree(System& s, double t, const Array& q, const Array& v, const Array& memory, int repeats) {
    s.set(t, q, v, memory);
    Workspace& w = *s.workspace;
    Tree tree(s.tables);
    if (!tree.find_position(q.data(), w)) throw nb::value_error("the joints of the tree do not hold");
    tree.find_rate(w, v.data());
    nb::dict out;
    out["kinematics"] = calc_time(repeats, [&] {
        tree.set_position(w);
        tree.set_velocity(w);
    });
    out["forces"] = calc_time(repeats, [&] { calc_body_wrenches(s.tables, t, w); });
    out["recursion"] = calc_time(repeats, [&] {
        tree.calc_pivots(w);
        tree.calc_second();
    });
    out["total"] = calc_time(repeats, [&] {
        tree.set_position(w);
        tree.set_velocity(w);
        calc_body_wrenches(s.tables, t, w);
        tree.calc_pivots(w);
        tree.calc_second();
    });
    return out;
}

} // namespace

void bind_bench(nb::module_& m) {
    m.def("time_linear", &time_linear, "system"_a, "t"_a, "q"_a, "v"_a, "memory"_a, "linear"_a, "repeats"_a = 1000,
          "Seconds per assembly, factorization, solve and all of them, with the solver's facts.");
    m.def("time_newton", &time_newton, "system"_a, "formulation"_a, "options"_a, "t"_a, "q"_a, "v"_a, "memory"_a, "c"_a,
          "repeats"_a = 100, "Seconds per evaluation of f, linearization, factorization and solution of c B - J.");
    m.def("time_rate", &time_rate, "system"_a, "formulation"_a, "options"_a, "t"_a, "q"_a, "v"_a, "memory"_a,
          "step"_a = 1e-4, "repeats"_a = 100, "Seconds per evaluation of x' = f(t, x).");
    m.def("time_tree", &time_tree, "system"_a, "t"_a, "q"_a, "v"_a, "memory"_a, "repeats"_a = 100,
          "Seconds per recursion over the tree without its closures, by its parts.");
    m.def("time_reduced", &time_reduced_system, "system"_a, "t"_a, "q"_a, "memory"_a, "renumber"_a, "repeats"_a = 1000,
          "Seconds per solution of the reduced system by four methods, and what its numbering is worth.");
}

} // namespace linkwork
