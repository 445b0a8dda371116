// What the state-space formulations share: x = (y, y') with y coordinates of a local chart of the constraint
// manifold, evaluated only through "lift" - positions and velocities recovered from (y, y') - and then accelerations.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "accelerations.hpp"
#include "contraction.hpp"
#include "descriptor_correction.hpp"
#include "implicit_solver.hpp"
#include "reduced.hpp"

namespace linkwork {

class ChartFormulation : public Formulation, public SecondOrder, protected ChartMap {
public:
    ChartFormulation(const Tables& tables, const FormulationOptions& options)
        : tables(tables), options(options), engine(tables, options), q(tables.nq), v(tables.nv), rate(tables.nq),
          reduced(tables, options), q_accepted(tables.nq), v_accepted(tables.nv), a_accepted(tables.nv),
          displacement(tables.nv), tangent(tables.nv) {}

    int size() const final { return 2 * count; }

    Status start(double t, const double* q_start, const double* v_start, double* x) final {
        kept_time = std::nan("");
        std::copy(q_start, q_start + tables.nq, q.begin());
        std::copy(v_start, v_start + tables.nv, v.begin());
        std::fill(engine.w.a.begin(), engine.w.a.end(), 0.0);
        const Status status = prepare(t);
        if (status != Status::success) return status;
        remember(t);
        return open_chart(t, x);
    }

    Status calc_rate(double t, const double* x, double* out) final {
        const Status status = evaluate(t, x);
        if (status != Status::success) return status;
        std::copy(x + count, x + 2 * count, out);
        calc_chart_acceleration(out + count);
        return status;
    }

    Status calc_linearization(double t, const double* x) final {
        resize_implicit();
        linearized_time = t;
        if (!implicit.is_krylov() || implicit.wants_analytic()) ++engine.facts.linearizations;
        if (in_descriptor_form()) {
            Status status = evaluate(t, x);
            if (status == Status::success) status = settle(t, true);
            if (status != Status::success) return status;
            if (!descriptor) descriptor = std::make_unique<DescriptorCorrection>(tables, options);
            return descriptor->calc(t, engine);
        }
        Status status = evaluate(t, x);
        if (status == Status::success && implicit.wants_analytic()) {
            status = settle(t, true);
            if (status != Status::success) return status;
            status = reduced.calc(t, *this, engine, count, implicit.J1, implicit.J2);
        }
        if (status == Status::success && !implicit.is_analytic()) status = implicit.calc_differences(*this, t, x);
        if (differs_whole()) engine.facts.difference_sweeps += size() + 1;
        return status;
    }
    // Always the exact one, for codes that solve by themselves.
    Status fill_jacobian(double* J) final {
        if (!in_descriptor_form()) return implicit.fill_jacobian(*this, J);
        ImplicitSolver whole;
        whole.resize(size(), true, {});
        const Status status = reduced.calc(linearized_time, *this, engine, count, whole.J1, whole.J2);
        return status == Status::success ? whole.fill_jacobian(*this, J) : status;
    }
    bool depends_on_time() const final { return linkwork::depends_on_time(tables); }
    Status factor(double c) final { return factor_by(c, real_c); }
    Status factor(std::complex<double> c) final { return factor_by(c, complex_c); }
    void set_scale(const double* inverse, double relative, double absolute) final {
        resize_implicit();
        if (implicit.is_krylov()) implicit.set_scale(inverse, relative, absolute);
    }
    SecondOrder* second_order() final { return this; }
    Status factor_half(double c_a, double c_v) final {
        if (!in_descriptor_form()) return implicit.factor_half(c_a, c_v);
        return descriptor->factor(c_a, c_v) ? Status::success : Status::not_finite;
    }
    void solve_half(double* r) final {
        if (!in_descriptor_form()) return implicit.solve_half(*this, r);
        calc_tangent(r, tangent.data());
        descriptor->solve(tangent.data(), nullptr, displacement.data());
        calc_chart_part(displacement.data(), r);
    }
    void solve(double* r) final { in_descriptor_form() ? solve_descriptor(real_c, r) : implicit.solve(*this, r); }
    void solve(std::complex<double>* r) final {
        in_descriptor_form() ? solve_descriptor(complex_c, r) : implicit.solve(*this, r);
    }

    Status lift(double t, const double* x, Motion& motion) final {
        Status status = evaluate(t, x);
        if (status == Status::success) status = settle(t, false);
        motion = {q.data(), v.data(), engine.w.a.data(), engine.calc_multipliers()};
        return status;
    }

    Status correct(double t, double* x, Change& change) final {
        change = Change::none;
        Status status = evaluate(t, x);
        if (status == Status::success) status = settle(t, false);
        if (status != Status::success) return status;
        update_memory(tables, engine.w);
        bool rank_changed = false;
        status = engine.watch(t, rank_changed);
        if (status != Status::success) return status;
        remember(t);
        if (rank_changed || !refresh_chart(t)) {
            change = Change::chart;
            kept_time = std::nan("");
            status = open_chart(t, x);
        }
        return status;
    }

    void fill_kinds(int* kinds) const final {
        for (int i = 0; i < count; ++i) kinds[i] = find_kind(i);
        std::fill(kinds + count, kinds + 2 * count, 1);
    }
    FormulationFacts facts() const final {
        FormulationFacts all = engine.calc_facts(chart_solver());
        all.krylov_vectors = implicit.vectors();
        if (descriptor) all.analyses += descriptor->analyses();
        return all;
    }
    Workspace& workspace() final { return engine.w; }

protected:
    virtual const LinearSolver* chart_solver() const = 0; // for its counts
    // Chooses the chart at (t, q, v) and writes x; sets count.
    virtual Status open_chart(double t, double* x) = 0;
    // of chart coordinate i
    virtual EntryKind find_kind(int) const { return entry_position; }
    // Called at accepted states with the stages of (t, q, v) in the workspace: false asks for a new chart.
    virtual bool refresh_chart(double t) = 0;
    // q with chart coordinates y on the constraints, starting from q; then v with chart rates.
    virtual Status recover_position(double t, const double* y) = 0;
    virtual Status recover_velocity(double t, const double* rates) = 0;
    // Finds dependent rows at q, v and makes ready for evaluations.
    virtual Status prepare(double t) { return engine.prepare(t, q.data()); }
    // Accelerations of the recovered state; `settle` is what is left to do where the bodies' q, v, a and lambda are
    // asked for, `factored` also that the engine holds their factorization.
    virtual Status calc_acceleration(double t) { return engine.calc(t, q.data(), v.data()); }
    virtual Status settle(double, bool) { return Status::success; }
    // y'' from q, v and the accelerations in the workspace
    virtual void calc_chart_acceleration(double* out) = 0;

    // Large systems are corrected in descriptor form where the chart can move bodies one tangent at a time.
    bool in_descriptor_form() const {
        const bool by_slopes = options.solver == "newton" || (options.solver == "newton_fd" && options.grouped);
        return count > options.dense_limit && by_slopes && has_single_tangents();
    }
    virtual bool has_single_tangents() const { return false; }
    // H y, the displacement of bodies that belongs to chart coordinates y; and the way back
    virtual void calc_tangent(const double* y, double* d) { static_cast<void>(y), static_cast<void>(d); }
    virtual void calc_chart_part(const double* d, double* y) { static_cast<void>(d), static_cast<void>(y); }

    // newton_fd by differences of the whole f, one per entry of x
    bool differs_whole() const { return options.solver == "newton_fd" && !options.grouped; }

    void resize_implicit() {
        // in descriptor form the dense matrices are not needed, and not paid for
        if (implicit_count != count && !in_descriptor_form()) {
            FormulationOptions own = options;
            if (options.solver == "newton_fd" && options.grouped) own.solver = "newton"; // differences are the slopes'
            implicit.resize(size(), true, own);
        }
        implicit_count = count;
    }
    template <class Scalar> Status factor_by(Scalar c, Scalar& kept) {
        kept = c;
        if (!in_descriptor_form()) return implicit.factor(c);
        return descriptor->factor(c * c, c) ? Status::success : Status::not_finite;
    }

    // r = (r1, r2) becomes (y, c y - r1), see descriptor_correction.hpp
    template <class Scalar> void solve_descriptor(Scalar c, Scalar* r) {
        std::vector<Scalar> side(count), tangent(tables.nv), tangent_1(tables.nv), d(tables.nv);
        for (int i = 0; i < count; ++i) side[i] = c * r[i] + r[count + i];
        apply(&ChartFormulation::calc_tangent, side.data(), count, tangent.data(), tables.nv);
        apply(&ChartFormulation::calc_tangent, r, count, tangent_1.data(), tables.nv);
        descriptor->solve(tangent.data(), tangent_1.data(), d.data());
        apply(&ChartFormulation::calc_chart_part, d.data(), tables.nv, side.data(), count);
        for (int i = 0; i < count; ++i) {
            r[count + i] = c * side[i] - r[i];
            r[i] = side[i];
        }
    }
    // A real linear map on real or complex vectors.
    template <class Scalar, class Map> void apply(Map map, const Scalar* from, int n, Scalar* to, int m) {
        if constexpr (std::is_same_v<Scalar, double>) {
            (this->*map)(from, to);
        } else {
            std::vector<double> part(n), image(m);
            for (const bool imaginary : {false, true}) {
                for (int i = 0; i < n; ++i) part[i] = imaginary ? from[i].imag() : from[i].real();
                (this->*map)(part.data(), image.data());
                for (int i = 0; i < m; ++i) to[i] = imaginary ? to[i] + Scalar(0, image[i]) : Scalar(image[i], 0);
            }
        }
    }

    // The iterations begin from q + v s + a s^2/2 and v + a s around the last accepted state, or, at the same time
    // again (the second evaluation of a predictor-corrector pair), from the state found last.
    virtual void predict(double t) {
        restore();
        const double s = t - accepted_time;
        for (int i = 0; i < tables.nv; ++i) {
            displacement[i] = s * (v_accepted[i] + 0.5 * s * a_accepted[i]);
            v[i] += s * a_accepted[i];
        }
        move(tables, displacement.data(), q.data());
    }
    virtual void restore() {
        std::copy(q_accepted.begin(), q_accepted.end(), q.begin());
        std::copy(v_accepted.begin(), v_accepted.end(), v.begin());
    }
    virtual void remember(double t) {
        std::copy(q.begin(), q.end(), q_accepted.begin());
        std::copy(v.begin(), v.end(), v_accepted.begin());
        std::copy(engine.w.a.begin(), engine.w.a.end(), a_accepted.begin());
        accepted_time = guess_time = t;
    }

    Status evaluate(double t, const double* x) {
        if (t == kept_time && std::equal(kept.begin(), kept.begin() + 2 * count, x)) return Status::success;
        kept_time = std::nan("");
        if (t != guess_time) predict(t);
        guess_time = t;
        Status status = recover_position(t, x);
        if (status == Status::success) status = recover_velocity(t, x + count);
        if (status == Status::success) status = calc_acceleration(t);
        if (status != Status::success) { // leave a good guess for a shorter step
            restore();
            guess_time = std::nan("");
            return status;
        }
        kept_time = t;
        kept.resize(2 * count);
        std::copy(x, x + 2 * count, kept.begin());
        return status;
    }

    const Tables& tables;
    FormulationOptions options;
    Accelerations engine;
    ImplicitSolver implicit;
    ReducedJacobians reduced;
    int implicit_count = -1;
    std::unique_ptr<DescriptorCorrection> descriptor;
    double linearized_time = 0;
    double real_c = 0;
    std::complex<double> complex_c = 0;
    int count = 0;            // chart coordinates = degrees of freedom
    std::vector<double> q, v; // the state lifted last
    std::vector<double> rate; // work
    std::vector<double> kept; // x of the state lifted last
    double kept_time = std::nan("");
    std::vector<double> q_accepted, v_accepted, a_accepted; // last accepted state
    std::vector<double> displacement, tangent;
    double accepted_time = 0, guess_time = 0;
};

} // namespace linkwork
