// The integrator contract: one attempted step at a time on x' = f(t, x).
//
// The driver owns the loop: it calls `attempt`, looks at the error, and either calls `attempt` again with a smaller step or
// corrects the candidate and calls `accept`. An integrator never accepts by itself, never stores results and never sees
// bodies. Its current state is (t(), x()); a successful attempt leaves a candidate at t() + h that `accept` makes current.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../formulations/contract.hpp"

namespace linkwork {

struct Tolerances { // error weights: weight_i = atol_i + rtol |x_i|; norm = sqrt(mean((error_i / weight_i)^2))
    double rtol = 1e-6;
    std::vector<double> atol; // [size]
};

struct Attempt {
    Status status = Status::success; // of the evaluations inside; anything else voids the attempt
    double error = 0;                // in units of the tolerance: <= 1 is acceptable
    double next = 0;                 // step to take next if accepted, to retry with if not (always positive)
};

struct Integrator {
    virtual ~Integrator() = default;
    // Forgets all history and begins at (t, x). h = 0: finds a first step. Returns the step to try through h.
    virtual Status start(Ode& ode, double t, const double* x, double direction_end, double& h) = 0;
    // Computes a candidate at t() + h. fixed: the error estimate is not used to change order or step.
    virtual Attempt attempt(Ode& ode, double h, bool fixed) = 0;
    // State at t inside the last attempted step [t(), t() + h] by the method's own continuous extension.
    virtual void interpolate(double t, double* x) const = 0;
    // The candidate, which the driver may correct in place before accept.
    virtual double* candidate() = 0;
    // Makes the candidate current. changed: the driver moved it a little (the rate is evaluated anew, history survives).
    virtual Status accept(Ode& ode, bool changed) = 0;
    virtual double t() const = 0;
    virtual const double* x() const = 0;
    virtual int order() const = 0; // current order
};

// name: "dopri5", "dop853", "adams"
std::unique_ptr<Integrator> build_integrator(const std::string& name, int size, const Tolerances& tolerances);

} // namespace linkwork
