// Plain equations x' = f(t, x) or B x' = f(t, x) run by the integrators of this folder, without a mechanism: for tests
// and studies.
#pragma once

#include "../formulations/implicit_solver.hpp"
#include "partners.hpp"
#include "step_loop.hpp"

namespace linkwork {

// A function pointer as an Ode. It returns false when the user's function raised.
struct FunctionOde final : Implicit, SecondOrder {
    bool (*function)(void* context, double t, const double* x, double* rate) = nullptr;
    // f_x row by row, or null: by differences
    bool (*jacobian)(void* context, double t, const double* x, double* rows) = nullptr;
    void* context = nullptr;
    int count = 0;              // size of x
    long evaluations = 0;       // so far
    bool has_halves = false;    // x = (y, u) with y' = u
    FormulationOptions options; // solver and what it takes

    FunctionOde(int size, bool (*f)(void*, double, const double*, double*), void* c)
        : function(f), context(c), count(size) {}
    int size() const override { return count; }
    Status calc_rate(double t, const double* x, double* rate) override;
    Status calc_linearization(double t, const double* x) override;
    Status factor(double c) override { return solver.factor(c); }
    Status factor(std::complex<double> c) override { return solver.factor(c); }
    // B of B x' = f, row by row; symmetric, singular where entries are algebraic
    void set_mass(const double* rows);
    bool has_mass() const override { return solver.mass.size() > 0; }
    void apply_mass(const double* x, double* out) override;
    void solve_mass(double* r) override;
    bool depends_on_time() const override { return true; }
    void solve(double* r) override { solver.solve(*this, r); }
    void solve(std::complex<double>* r) override { solver.solve(*this, r); }
    void set_scale(const double* inverse, double relative, double absolute) override;
    SecondOrder* second_order() override { return has_halves ? this : nullptr; }
    Status factor_half(double c_a, double c_v) override { return solver.factor_half(c_a, c_v); }
    void solve_half(double* r) override { solver.solve_half(*this, r); }

    ImplicitSolver solver;

private:
    void resize_solver();
    Status calc_derivatives(double t, const double* x);
    ImplicitSolver::Matrix mass_inverse; // on the range of B
    std::vector<double> derivatives;     // [size * size], when given
};

struct OdeRun {
    Status status = Status::success;
    std::vector<double> t, x;     // accepted steps, x row by row
    std::vector<double> output_x; // at the wanted times reached, row by row
    StepFacts facts;
    IntegratorFacts spent;
    std::vector<MethodSpan> methods;
    int highest_order = 0;
};

// Integrates from (limits.t_start, x0) to limits.t_end; `output`: times in the direction of integration.
OdeRun solve_ode(Implicit& ode, Partners& partners, const double* x0, const StepLimits& limits,
                 const std::vector<double>& output);

} // namespace linkwork
