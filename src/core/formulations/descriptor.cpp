// Formulations on all coordinates, x = (q, v):
//
//   index1      q' = N v, v' from the constraints at acceleration level; positions and velocities drift away from
//   theirs baumgarte   the same with feedback of the violations [negrut (6)] projection  index1, and after each
//   accepted step q and v are brought back onto the constraints by the shortest
//               correction in the metric of the kinetic energy
//   index2      for half-explicit integrators, whose stages meet the velocity constraints (half_explicit.hpp); steps
//               are brought back like those of projection
#include <algorithm>
#include <cmath>

#include "accelerations.hpp"
#include "coordinate_projection.hpp"
#include "formulations.hpp"
#include "half_explicit.hpp"
#include "implicit_solver.hpp"

namespace linkwork {

namespace {

class DescriptorFormulation final : public Formulation, public HalfExplicit {
public:
    DescriptorFormulation(const Tables& tables, const FormulationOptions& options, bool feedback, bool project,
                          bool with_stages)
        : tables(tables), engine(tables, options), alpha(feedback ? options.baumgarte_alpha : 0),
          beta(feedback ? options.baumgarte_beta : 0), project(project), along(options.project_error),
          projection(engine, options), kept(size()), displacement(tables.nv) {
        if (with_stages) stages = std::make_unique<HalfExplicitStages>(engine);
    }

    int size() const override { return tables.nq + tables.nv; }

    Status start(double t, const double* q, const double* v, double* x) override {
        kept_time = std::nan("");
        if (stages) stages->restart();
        std::copy(q, q + tables.nq, x);
        std::copy(v, v + tables.nv, x + tables.nq);
        return engine.prepare(t, q);
    }

    Status calc_rate(double t, const double* x, double* rate) override {
        const Status status = evaluate(t, x);
        if (status != Status::success) return status;
        calc_position_rate(tables, x, x + tables.nq, rate);
        std::copy(engine.w.a.begin(), engine.w.a.end(), rate + tables.nq);
        return status;
    }

    // By differences: these formulations are for explicit integrators in the first place.
    Status calc_linearization(double t, const double* x) override {
        if (!implicit.is_sized()) {
            FormulationOptions differences;
            differences.solver = "newton_fd";
            implicit.resize(size(), false, differences);
        }
        ++engine.facts.linearizations;
        return implicit.calc_differences(*this, t, x);
    }
    Status fill_jacobian(double* J) override { return implicit.fill_jacobian(*this, J); }
    bool depends_on_time() const override { return linkwork::depends_on_time(tables); }
    Status factor(double c) override { return implicit.factor(c); }
    Status factor(std::complex<double> c) override { return implicit.factor(c); }
    void solve(double* r) override { implicit.solve(*this, r); }
    void solve(std::complex<double>* r) override { implicit.solve(*this, r); }

    HalfExplicit* half_explicit() override { return stages ? this : nullptr; }
    int positions() const override { return tables.nq; }
    void set_accuracy(double rtol, const double* atol) override { stages->set_accuracy(rtol, atol + tables.nq); }
    Status open_stage(double t, const double* x, double* position_rate) override {
        kept_time = std::nan("");
        calc_position_rate(tables, x, x + tables.nq, position_rate);
        return stages->open(t, x, x + tables.nq);
    }
    Status close_stage(double t, const double* x, double step, double* acceleration) override {
        return stages->close(t, x, x + tables.nq, step, acceleration);
    }
    Status close_stage_between(double t0, const double* x0, double t1, const double* x1,
                               double* acceleration) override {
        return stages->close_between(t0, x0, t1, x1, acceleration);
    }

    Status lift(double t, const double* x, Motion& motion) override {
        const Status status = evaluate(t, x);
        motion = {x, x + tables.nq, engine.w.a.data(), engine.calc_multipliers()};
        return status;
    }

    Status correct(double t, double* x, Change& change) override {
        change = Change::none;
        Status status = evaluate(t, x);
        if (status != Status::success) return status;
        if (project) {
            status = projection.restore(t, x, x + tables.nq, change);
            if (status != Status::success) return status;
            // the accelerations of the uncorrected state serve half-explicit steps for the corrected one: they are off
            // by the size of the correction, far less than the stages of a step
            if (change != Change::none && stages) keep(t, x);
            if (change != Change::none && !stages) status = evaluate(t, x);
        }
        update_memory(tables, engine.w);
        bool rank_changed = false;
        if (status == Status::success) status = engine.watch(t, rank_changed);
        if (rank_changed) change = Change::chart;
        return status;
    }

    // Half-explicit stages find multipliers that are a little off; the velocities of a step, which meet their
    // constraints, do not show it, while differences of stages do.
    void project_error(double* error) override {
        if (along) {
            calc_displacement(tables, kept.data(), error, displacement.data());
            projection.project_direction(displacement.data());
            calc_position_rate(tables, kept.data(), displacement.data(), error);
        }
        if (along || stages) projection.project_direction(error + tables.nq);
    }

    void fill_kinds(int* kinds) const override {
        std::fill(kinds, kinds + tables.nq, 0);
        for (const Body& b : tables.bodies)
            if (b.kind == body_planar) kinds[b.q + 2] = entry_angle;
        std::fill(kinds + tables.nq, kinds + size(), 1);
    }
    FormulationFacts facts() const override { return engine.calc_facts(); }
    Workspace& workspace() override { return engine.w; }

private:
    Status evaluate(double t, const double* x) {
        if (t == kept_time && std::equal(kept.begin(), kept.end(), x)) return Status::success;
        kept_time = std::nan("");
        const Status status = engine.calc(t, x, x + tables.nq, alpha, beta);
        if (status == Status::success) keep(t, x);
        return status;
    }
    void keep(double t, const double* x) {
        kept_time = t;
        std::copy(x, x + size(), kept.begin());
    }

    const Tables& tables;
    Accelerations engine;
    double alpha, beta;
    bool project, along;
    CoordinateProjection projection;
    std::vector<double> kept, displacement;
    double kept_time = std::nan("");
    ImplicitSolver implicit;
    std::unique_ptr<HalfExplicitStages> stages; // of index2
};

} // namespace

std::unique_ptr<Formulation> build_descriptor(const Tables& tables, const FormulationOptions& options, bool feedback,
                                              bool project) {
    return std::make_unique<DescriptorFormulation>(tables, options, feedback, project, false);
}

std::unique_ptr<Formulation> build_half_explicit(const Tables& tables, const FormulationOptions& options) {
    return std::make_unique<DescriptorFormulation>(tables, options, false, options.project, true);
}

} // namespace linkwork
