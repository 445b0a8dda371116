#include "stiffness.hpp"

#include <algorithm>
#include <cmath>

namespace linkwork {

namespace {

constexpr double near_limit = 0.5; // of Integrator::stiffness: stability may have set the step
constexpr int calm_enough = 6;     // steps in a row that are not, after which counting begins anew [hairer2 IV.2]
constexpr double confirmed = 0.5;  // part of L that h rho has to be, by the power method
constexpr double margin = 0.6;     // steps of the implicit method that are this much too short are left
constexpr int trial = 30;          // steps after which the implicit method has shown that it pays
constexpr int longest_patience = 2000, longest_window = 24, most_looks = 8;
constexpr double far_enough = 2;    // h rho over margin * z from which looks become rarer
constexpr double many_steps = 2500; // L / rho in the span: begin with the implicit method

} // namespace

// Stiff at once: a component that decays thousands of times faster than the run lasts. Oscillations are left to the
// explicit method, which finds out whether they are excited. Fixed steps that would be unstable settle it as well.
Status StiffnessJudge::judge_start(Ode& ode, double t, const double* x, double fixed_step, bool& stiff) {
    const Status status = radius_.find(ode, t, x, spectrum_);
    stiff = pair_.fixed_steps ? spectrum_.radius * fixed_step > 0.8 * pair_.limit : is_stiff_for_long(t);
    stiff ? begin_implicit(t) : begin_explicit();
    return status;
}

bool StiffnessJudge::is_stiff_for_long(double t) const {
    return spectrum_.decays && spectrum_.radius * std::abs(t_end_ - t) > many_steps * pair_.limit;
}

void StiffnessJudge::begin_explicit() {
    stiff_ = calm_ = 0;
    stiff_time_ = 0;
    explicit_steps_ = 0;
}

void StiffnessJudge::begin_implicit(double t) {
    steps_ = window_steps_ = short_looks_ = 0;
    window_ = shortest_window;
    window_start_ = t;
}

Status StiffnessJudge::judge_explicit(Ode& ode, double t, const double* x, double h, double stiffness, bool& change) {
    change = false;
    ++explicit_steps_;
    if (stiffness < near_limit) {
        if (++calm_ >= calm_enough) stiff_ = calm_ = 0, stiff_time_ = 0;
        return Status::success;
    }
    ++stiff_;
    calm_ = 0;
    stiff_time_ += std::abs(h);
    if (stiff_ < (pair_.fixed_steps ? 2 : patience_)) return Status::success;

    // the suspicion is looked into
    const Status status = radius_.find(ode, t, x, spectrum_);
    change = spectrum_.radius * stiff_time_ / stiff_ >= confirmed * pair_.limit;
    if (change) {
        // back so soon: the steps of the implicit method were left too early
        looks_asked_ = returned_ && explicit_steps_ < 4 * patience_ ? std::min(2 * looks_asked_, most_looks) : 2;
        begin_implicit(t);
    } else {
        patience_ = std::min(2 * patience_, longest_patience);
        stiff_ = calm_ = 0, stiff_time_ = 0;
    }
    return status;
}

Status StiffnessJudge::judge_implicit(Ode& ode, double t, const double* x, bool& change) {
    change = false;
    ++steps_;
    if (++window_steps_ < window_) return Status::success;
    const Status status = radius_.find(ode, t, x, spectrum_);
    const double ratio = spectrum_.radius * std::abs(t - window_start_) / window_steps_ /
                         (pair_.fixed_steps ? 0.5 * pair_.limit : margin * pair_.limit * pair_.cost);
    window_start_ = t;
    window_steps_ = 0;
    window_ = ratio > far_enough ? std::min(2 * window_, longest_window) : shortest_window;
    short_looks_ = ratio < 1 ? short_looks_ + 1 : 0;
    // short steps where something stiff decays are those of a transient, which will be over soon
    change = short_looks_ >= (is_stiff_for_long(t) ? 3 : 1) * looks_asked_;
    if (change) {
        returned_ = true;
        // a stay that never paid asks for more evidence the next time
        patience_ = steps_ <= trial ? std::min(2 * patience_, longest_patience) : shortest_patience;
        begin_explicit();
    }
    return status;
}

} // namespace linkwork
