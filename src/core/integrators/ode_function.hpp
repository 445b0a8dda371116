// Plain equations x' = f(t, x) or B x' = f(t, x) run by the integrators of this folder, without a mechanism: for tests
// and studies.
#pragma once

#include "../formulations/implicit_solver.hpp"
#include "step_loop.hpp"

namespace linkwork {

// A function pointer as an Ode. It returns false when the user's function raised.
struct FunctionOde final : Implicit {
    bool (*function)(void* context, double t, const double* x, double* rate) = nullptr;
    // f_x row by row, or null: by differences
    bool (*jacobian)(void* context, double t, const double* x, double* rows) = nullptr;
    void* context = nullptr;
    int count = 0;        // size of x
    long evaluations = 0; // so far

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

    ImplicitSolver solver;
    ImplicitSolver::Matrix mass_inverse; // on the range of B
    std::vector<double> derivatives;     // [size * size], when given
};

struct OdeRun {
    Status status = Status::success;
    std::vector<double> t, x;     // accepted steps, x row by row
    std::vector<double> output_x; // at the wanted times reached, row by row
    StepFacts facts;
    int highest_order = 0;
};

// Integrates from (limits.t_start, x0) to limits.t_end; `output`: times in the direction of integration.
OdeRun solve_ode(Implicit& ode, Integrator& integrator, const double* x0, const StepLimits& limits,
                 const std::vector<double>& output);

} // namespace linkwork
