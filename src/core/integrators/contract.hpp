// The integrator contract: one attempted step at a time on x' = f(t, x), implicit methods on B x' = f(t, x).
//
// The driver owns the loop: it calls `attempt`, looks at the error, and either calls `attempt` again with a smaller
// step or corrects the candidate and calls `accept`. An integrator never accepts by itself, never stores results and
// never sees bodies. Its current state is (t(), x()); a successful attempt leaves a candidate at t() + h that `accept`
// makes current. A step handed to `attempt` carries its sign; first steps and proposals are magnitudes.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../formulations/contract.hpp"

namespace linkwork {

// Error weights, the same for all methods so that one tolerance means one thing: weight_i = atol_i + rtol |x_i|, with
// |x_i| the larger of both ends of the step; norm = sqrt(mean((error_i / weight_i)^2)). sdirk4 and radau5 take |x_i| at
// the beginning of the step, and radau5 scales the weights, as their published codes do. Of an angle at most one
// turn counts: a wheel does not know how often it has turned. An angle whose zero is an accident (which of the four
// Euler parameters is independent just now) counts as one turn whatever it reads.
struct Tolerances {
    double rtol = 1e-6;
    std::vector<double> atol; // [size]; infinity keeps an entry out of error norms: the algebraic ones
    // Algebraic entries are rates of what they force: x moves by about h times the entry. No norm counts them, why is
    // told at ErrorScale::calc_norm.
    struct Algebraic {
        int entry;
        double atol;
    };
    std::vector<Algebraic> algebraic;
    std::vector<double> least, largest; // bounds of |x_i| in its weight [size]; or nothing

    double calc_weight(std::size_t i, double size) const {
        return atol[i] + rtol * (least.empty() ? size : std::clamp(size, least[i], largest[i]));
    }
};

struct Attempt {
    // Of the evaluations inside; anything but success voids the attempt. no_convergence: of the iteration of an
    // implicit method, which then says in `next` what to retry with; at fixed step it is final.
    Status status = Status::success;
    double error = 0; // in units of the tolerance: <= 1 is acceptable
    double next = 0;  // step to take next if accepted, to retry with if not (magnitude, positive)
};

struct IntegratorOptions {
    std::string variant; // sdirk4: "4/15" (default), "1/4"; rodas: "rodas4" (default), "rodas42", "rodas4p", "rodas4p2"
    int max_order = 0;   // bdf (5), adams (12), mexx (16); 0: the highest
    std::string solver;  // of the low-order formulas: "newton" (also empty), "newton_fd", "krylov", "fixed_point"
    double alpha = -0.1; // hht: -1/3 to 0
    double rho = 0.8;    // generalized_alpha: 0 to 1
    bool keep_jacobian = true; // sdirk4, radau5, bdf: across changes of the step; else J comes with every c B - J
    double forcing = 0.05;     // krylov in low-order formulas: error of a solution, as part of what ends the iteration
};

struct IntegratorFacts {           // of implicit methods, over the whole run
    long linearizations = 0;       // J asked for
    long factorizations = 0;       // c I - J made ready to solve with; radau5's pair counts once
    long iterations = 0;           // Newton corrections: evaluations with a solution each; of radau5 three evaluations
    long convergence_failures = 0; // attempts given up because the iteration did not converge
    long restrictions = 0; // steps after which slow convergence kept the next one shorter than the error asked for
    IntegratorFacts& operator+=(const IntegratorFacts& other) {
        linearizations += other.linearizations, factorizations += other.factorizations;
        iterations += other.iterations, convergence_failures += other.convergence_failures;
        restrictions += other.restrictions;
        return *this;
    }
};

struct Integrator {
    virtual ~Integrator() = default;
    // Forgets all history of x and begins at (t, x), bound for t_end. h: the first step wanted, 0: to be found; on
    // return the step to try (a method that begins at order 1 may lower what was wanted). Asked again with h > 0 the
    // solution goes on in other coordinates: step control may remember.
    virtual Status start(Implicit& ode, double t, const double* x, double t_end, double& h) = 0;
    // Computes a candidate at t() + h. fixed: the step will be taken whatever the error; a variable-order method still
    // compares orders with each other, but not the error with the tolerance.
    // Adams begins a run of fixed steps at order 1 and raises it step by step: its first steps are its least accurate.
    virtual Attempt attempt(Implicit& ode, double h, bool fixed) = 0;
    // State at t inside the last attempted step [t(), t() + h] by the method's own continuous extension; to be asked
    // before the candidate is corrected or accepted. dop853 evaluates four more rates at the first question in a step.
    virtual Status interpolate(Implicit& ode, double t, double* x) = 0;
    // The candidate, which the driver may correct in place before accept.
    virtual double* candidate() = 0;
    // Makes the candidate current. changed: the driver moved it a little (the rate is evaluated anew, history
    // survives). next: what `attempt` proposed; may be replaced, now that the rate at the new point is known.
    virtual Status accept(Implicit& ode, bool changed, double& next) = 0;
    virtual double t() const = 0;
    virtual const double* x() const = 0;
    virtual int order() const = 0; // current order
    virtual IntegratorFacts facts() const { return {}; }
    // Whether it works with past steps: then a restart costs it its order.
    virtual bool has_history() const { return false; }
    // Of explicit methods: h |lambda| of the largest eigenvalue in the last accepted step, over what the method bears
    // for lambda < 0, as far as two rates at the same time tell: near 1 stability sets the step [hairer2 IV.2]. 0: not
    // known.
    virtual double stiffness() const { return 0; }
};

// Which integrator a run uses, and with what: all it takes to build one for the x of a formulation. An integrator is
// built for one size of x. When x changes its size (constraints are switched on or off), or a run goes on with another
// method, the driver builds a new one and hands it to the step loop; the counts of the old one are kept.
struct IntegratorChoice {
    std::string name;
    double rtol = 1e-6, atol_position = 1e-6, atol_velocity = 1e-6;
    IntegratorOptions options;
    double tolerance() const { return std::max(rtol, std::min(atol_position, atol_velocity)); }
};

// Which of two integrators a run with "auto" goes on with, when: see partners.hpp.
struct MethodSpan {
    std::string integrator;
    double t_from = 0, t_to = 0;
    long steps = 0;
};

// name: "dopri5", "dop853", "adams"; "sdirk4", "radau5", "rodas", "bdf"; "trapezoidal", "bdf2", "park", "hht",
// "generalized_alpha". Throws std::invalid_argument for a name, a variant, an order or a damping that does not exist.
std::unique_ptr<Integrator> build_integrator(const std::string& name, int size, const Tolerances& tolerances,
                                             const IntegratorOptions& options = {});
// What its tolerances are for the x that the formulation has now: it has to be started.
Tolerances build_tolerances(const IntegratorChoice& choice, const Formulation& formulation);
// An integrator for that x.
std::unique_ptr<Integrator> build_integrator(const IntegratorChoice& choice, Formulation& formulation);

} // namespace linkwork
