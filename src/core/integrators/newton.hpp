// What the implicit methods share: the error scale, the convergence of simplified Newton iterations judged while they
// run, the linearization kept for as long as it serves, and the predictive step control.
//
// [hairer2] E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd edition, section IV.8.
// [aboubakr] A. K. Aboubakr, A. A. Shabana, Efficient and robust implementation of the TLISMNI method, 2015, section 5.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include "contract.hpp"
#include "step_size.hpp"

namespace linkwork {

// Errors in units of the tolerance at the beginning of a step: norm = sqrt(mean((e_i / weight_i)^2)).
// Iterations are measured with it while the end of the step is not known yet.
class ErrorScale {
public:
    explicit ErrorScale(const Tolerances& tolerances)
        : tolerances_(tolerances), inverse_(tolerances.atol.size()), counted_(count_weighted(tolerances)),
          roundoff_(0) {}
    void place(const double* x);
    // Of `vectors` errors one after the other; algebraic entries have no part in it. This is what the corrections of
    // one-step and multistep methods on B x' = f are measured by: a linear solution finds all entries at once, and a
    // multiplier that is late by d leaves an error of d times the error of the positions behind. (Counted as h times
    // itself it asked for up to thirty times the steps where stiff springs pull at joints.)
    double calc_norm(const double* error, int vectors = 1) const;
    const double* inverse() const { return inverse_.data(); } // 1 / weight
    // Changes of x below this are round-off.
    double roundoff() const { return roundoff_; }

private:
    double calc_squared_sum(const double* error) const;

    const Tolerances tolerances_;
    std::vector<double> inverse_; // 1 / weight
    int counted_;                 // entries that norms are the mean of
    double roundoff_;
};

struct NewtonRule {
    int most = 7;            // iterations
    double tolerance = 0.03; // of the error left in the stages, in units of the error tolerance [hairer2 (8.10)]
    bool averaged = false;   // rate = geometric mean of the last two ratios of corrections, after the second iteration
    int caution = 0;         // the larger, the less the step is shortened when convergence is slow
    double carry = 0;        // above 0: the test of [aboubakr], this part of the rate is carried to the next iteration
};

// The tolerance that RADAU5 takes: the square root of rtol, at most 0.03, and never below round-off.
double calc_newton_tolerance(const Tolerances& tolerances);

// B x, which is x itself where B = I; `work` holds it otherwise.
inline const double* calc_mass_times(Implicit& ode, const double* x, std::vector<double>& work) {
    if (!ode.has_mass()) return x;
    ode.apply_mass(x, work.data());
    return work.data();
}

// Of solutions with c I - J that are iterations themselves, relative to the right side: small against the rates of
// convergence that simplified Newton iterations are judged by.
inline constexpr double solution_accuracy = 1e-4;

enum class Iteration { go_on, converged, failed };

// The iteration with corrections of size d_1, d_2, ... converges at the rate theta = d_k / d_{k-1}; the error left
// after d_k is eta d_k with eta = theta / (1 - theta). It ends when eta d_k is within the tolerance [hairer2 (8.10)]
// and is given up as soon as theta >= 1, or theta^(most - k) / (1 - theta) d_k is not [hairer2 (8.11)]. The first
// correction of a step is judged with the eta of the step before, ^0.8 to be careful.
//
// The test of [aboubakr], for iterations that converge linearly with nothing known from the step before: C = 1/2 at
// first, then C = max(carry C, theta), and it ends when d_k min(1, 1.5 C) is within the tolerance. Steps that failed
// are shortened so that theta, proportional to the step, would have been 0.3 [aboubakr].
class Convergence {
public:
    explicit Convergence(const NewtonRule& rule) : rule_(rule) {}
    // eta: of the step before, kept by the caller, infinite where one iteration cannot be enough; theta: the rate to
    // report when it is.
    void begin(double eta, double theta);
    Iteration judge(double size, double roundoff);
    double eta() const { return eta_; }
    double theta() const { return theta_; }
    int iterations() const { return count_; }
    // After a failure: the step that would have converged, relative to the one that did not.
    double shorter() const { return shorter_; }
    // algebraic: where multipliers are found along with x, the second correction follows from what the first one moved
    // them by, and is often no smaller; the rate shows from the third one on.
    void allow(int most, bool algebraic = false) { rule_.most = most, late_ = algebraic; }

private:
    Iteration judge_carried(double size, Iteration failure);

    NewtonRule rule_;
    bool late_ = false; // the rate shows late
    int count_ = 0;
    double eta_ = 1, theta_ = 0, ratio_ = 0, last_ = 0, shorter_ = 0.5;
};

// The linearization J of the last accepted point, or of one before it, and the number c that c B - J was factored for.
class Linearization {
public:
    // keep: J serves for another c as well [arnold 3]; else it is asked for with every c B - J, as in codes that know
    // nothing of its parts.
    explicit Linearization(bool keep = true) : keep_(keep) {}
    void forget();             // other equations, or other coordinates
    void grow_old(bool serve); // the step was accepted: J is that of an earlier point now; does it still serve?
    void distrust();           // the attempt failed, or may fail: if J is old, another is needed
    bool is_current() const { return current_; }
    bool is_factored(double c) const { return factored_ && c == c_; }
    int age() const { return age_; } // steps accepted since
    // J at (t, x) if one is needed, and c B - J if it is not factored yet. partner: the complex c that goes with it, or
    // null.
    Status prepare(Implicit& ode, double t, const double* x, double c, const std::complex<double>* partner = nullptr);
    // The same for c_a I - c_v J2 - J1 of the halves of x.
    Status prepare_half(Implicit& ode, double t, const double* x, double c_a, double c_v);
    // The same for [c_a M - c_v C - K, J^T; J, 0] of the equations as they stand.
    Status prepare_descriptor(Implicit& ode, double t, const double* x, double c_a, double c_v, double turn);

    IntegratorFacts facts; // of the method that owns this

private:
    Status linearize(Implicit& ode, double t, const double* x);
    Status finish(Status status, double c);

    const bool keep_;
    bool needed_ = true, current_ = false, factored_ = false;
    int age_ = 0;
    double c_ = 0;
};

// Step control for error estimates of order 3 [hairer2 IV.8]: h_new = h / divisor with divisor = err^(1/4) / safety
// [hairer2 (8.21)], or the one of Gustafsson, which foresees that the error goes on as it went from the step before to
// this one [hairer2 (8.25)], whichever gives the shorter step.
class PredictiveControl {
public:
    PredictiveControl(double shrink, double grow) : least_(1 / grow), most_(1 / shrink) {}
    void restart() { first_ = true; }        // the state jumped; in new coordinates the history of steps stays good
    bool is_first() const { return first_; } // no step is accepted yet
    // Remembers the error for when this step is accepted. safety: of this step; 0.9 is that of every step.
    double calc_step(double h, double error, double safety);
    void accept();

private:
    const double least_, most_; // bounds of h / h_new
    double h_ = 0, error_ = 1, h_last_ = 0, error_last_ = 1;
    bool first_ = true;
};

} // namespace linkwork
