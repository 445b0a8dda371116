// When an explicit method is worth leaving for an implicit one, and the other way round.
//
// [petzold83] L. R. Petzold, Automatic selection of methods for solving stiff and nonstiff systems of ordinary
// differential equations, SIAM J. Sci. Stat. Comput. 4 (1983) 136-148: both methods would go on with steps that their
// error and their stability allow; the one that costs less per unit of time does, with a margin against going to and
// fro. [hairer2] IV.2: stability sets the step of an explicit method when two rates at the same time say so often.
//
// With rho the largest |lambda|, an explicit method takes steps of at most L / rho at c_e evaluations each, an implicit
// one steps h at about c_i, linear algebra included. The implicit one is cheaper when
//     c_i / h < c_e rho / L,    that is    h rho > z = L c_i / c_e.
// Above it explicit steps are left, after a run of them that stability has set: how long the steps of the implicit
// method will be is not known before, so it has to show it. Below margin * z it is left again.
#pragma once

#include "spectral_radius.hpp"

namespace linkwork {

// What the judgement knows of a pair of methods.
struct PairFacts {
    double limit;     // L: h rho that explicit steps have when stability sets them
    double cost;      // c_i / c_e
    bool fixed_steps; // all steps have the same size: accuracy has no say
};

class StiffnessJudge {
public:
    StiffnessJudge(const PairFacts& pair, double t_end, std::size_t most_entries)
        : pair_(pair), t_end_(t_end), radius_(most_entries) {}

    // Before the first step, of this size where it is fixed: does the run begin with the implicit method?
    Status judge_start(Ode& ode, double t, const double* x, double fixed_step, bool& stiff);
    // After a step of the explicit method that ended in (t, x), with its measure (Integrator::stiffness).
    Status judge_explicit(Ode& ode, double t, const double* x, double h, double stiffness, bool& change);
    // After a step of the implicit method.
    Status judge_implicit(Ode& ode, double t, const double* x, bool& change);
    // The longest step that the explicit method may begin with.
    double longest() const { return 0.5 * pair_.limit / spectrum_.radius; }
    // The motion goes on from elsewhere, or in other coordinates.
    void forget() { radius_.forget(); }

private:
    bool is_stiff_for_long(double t) const;
    void begin_explicit();
    void begin_implicit(double t);

    const PairFacts pair_;
    const double t_end_;
    SpectralRadius radius_;
    Spectrum spectrum_;
    // explicit: steps that stability seems to have set, others since, sum of the former; how many are asked for
    int stiff_ = 0, calm_ = 0, patience_ = shortest_patience;
    double stiff_time_ = 0;
    // implicit: steps since the change, those to the next look, looks in a row that found steps too short
    int steps_ = 0, window_steps_ = 0, window_ = shortest_window, short_looks_ = 0, looks_asked_ = 2;
    double window_start_ = 0;
    long explicit_steps_ = 0; // since the change
    bool returned_ = false;   // from the implicit method

    static constexpr int shortest_patience = 15, shortest_window = 12;
};

} // namespace linkwork
