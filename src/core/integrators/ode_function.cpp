#include "ode_function.hpp"

#include <algorithm>
#include <cmath>

namespace linkwork {

Status FunctionOde::calc_rate(double t, const double* x, double* rate) {
    ++evaluations;
    if (!function(context, t, x, rate)) return Status::user_error;
    for (int i = 0; i < count; ++i)
        if (!std::isfinite(rate[i])) return Status::not_finite;
    return Status::success;
}

void FunctionOde::set_mass(const double* rows) {
    solver.mass = Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(rows, count, count);
    mass_inverse = solver.mass.completeOrthogonalDecomposition().pseudoInverse();
}

void FunctionOde::apply_mass(const double* x, double* out) {
    Eigen::Map<Eigen::VectorXd>(out, count).noalias() = solver.mass * Eigen::Map<const Eigen::VectorXd>(x, count);
}

void FunctionOde::solve_mass(double* r) {
    Eigen::Map<Eigen::VectorXd> side(r, count);
    side = (mass_inverse * side).eval();
}

void FunctionOde::resize_solver() {
    if (solver.is_sized()) return;
    FormulationOptions chosen = options;
    // without a Jacobian given, "newton" takes differences
    if (chosen.solver != "krylov") chosen.solver = jacobian ? "newton" : "newton_fd";
    if (!jacobian) chosen.preconditioner = "none";
    solver.resize(count, has_halves, chosen);
}

void FunctionOde::set_scale(const double* inverse, double relative, double absolute) {
    resize_solver();
    solver.set_scale(inverse, relative, absolute);
}

Status FunctionOde::calc_linearization(double t, const double* x) {
    resize_solver();
    Status status = Status::success;
    if (solver.wants_analytic()) status = calc_derivatives(t, x);
    if (status == Status::success && !solver.is_analytic()) status = solver.calc_differences(*this, t, x);
    return status;
}

Status FunctionOde::calc_derivatives(double t, const double* x) {
    derivatives.resize(static_cast<std::size_t>(count) * count);
    if (!jacobian(context, t, x, derivatives.data())) return Status::user_error;
    const int half = count / 2;
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < count; ++j) {
            const double derivative = derivatives[static_cast<std::size_t>(i) * count + j];
            if (!std::isfinite(derivative)) return Status::not_finite;
            if (!has_halves)
                solver.J(i, j) = derivative;
            else if (i >= half)
                (j < half ? solver.J1 : solver.J2)(i - half, j % half) = derivative;
        }
    return Status::success;
}

OdeRun solve_ode(Implicit& ode, Partners& partners, const double* x0, const StepLimits& limits,
                 const std::vector<double>& output) {
    OdeRun run;
    const int size = ode.size();
    const double sign = limits.t_end < limits.t_start ? -1 : 1;
    const auto store = [&](double t, const double* x) {
        run.t.push_back(t);
        run.x.insert(run.x.end(), x, x + size);
    };

    // the start, and the outputs that lie on it
    store(limits.t_start, x0);
    std::size_t next_output = 0;
    for (; next_output < output.size() && sign * (output[next_output] - limits.t_start) <= 0; ++next_output)
        run.output_x.insert(run.output_x.end(), x0, x0 + size);

    std::vector<double> point(size);
    StepLoop loop(ode, limits);
    run.status = partners.begin(ode, limits.t_start, x0);
    loop.use(partners.current());
    if (run.status == Status::success) run.status = loop.start(limits.t_start, x0);
    while (run.status == Status::success && !loop.finished()) {
        run.status = loop.find_candidate();
        if (run.status != Status::success) break;
        const double before = loop.t(), t = loop.t_label();
        Integrator& integrator = partners.current();
        for (; next_output < output.size() && sign * (output[next_output] - t) <= 0; ++next_output) {
            run.status = integrator.interpolate(ode, output[next_output], point.data());
            if (run.status != Status::success) break;
            run.output_x.insert(run.output_x.end(), point.begin(), point.end());
        }
        if (run.status == Status::success) run.status = loop.accept(false);
        if (run.status != Status::success) break;
        store(t, integrator.x());
        run.highest_order = std::max(run.highest_order, integrator.order());
        bool change = false;
        double longest = 0;
        if (!loop.finished()) run.status = partners.judge(ode, before, loop.facts().steps, change, longest);
        if (change && run.status == Status::success)
            run.status = loop.go_on_with(partners.current(), integrator.t(), integrator.x(), longest);
    }
    run.facts = loop.facts();
    partners.close_span(run.t.back(), run.facts.steps);
    run.methods = partners.spans();
    run.spent = partners.spent();
    return run;
}

} // namespace linkwork
