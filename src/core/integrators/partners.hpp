// The integrators of a run: the one that was chosen, or the explicit and the implicit one that "auto" changes between.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "contract.hpp"
#include "step_loop.hpp"
#include "stiffness.hpp"

namespace linkwork {

inline bool is_auto(const std::string& integrator) { return integrator == "auto"; }

class Partners {
public:
    // Builds an integrator for the x that the equations have now.
    using Builder = std::function<std::unique_ptr<Integrator>(const std::string& name)>;

    // tolerance: relative, of the result; most_entries: that x may have; has_jumps: events change the state now and
    // then.
    Partners(const std::string& name, double tolerance, const StepLimits& limits, std::size_t most_entries,
             bool has_jumps, Builder build);

    // The one to begin with, which "auto" finds at (t, x).
    Status begin(Implicit& ode, double t, const double* x);
    // The one that goes on, for the x of now.
    Integrator& fit(const Ode& ode);
    Integrator& current() const { return *members_[active_].integrator; }
    // After an accepted step from t_before, the steps-th: is the other one to go on? Then it is the current one, to be
    // restarted with a step of at most `longest`.
    Status judge(Implicit& ode, double t_before, long steps, bool& change, double& longest);
    // x means something else, or the motion goes on from elsewhere.
    void forget();
    // Closes the present span of time at t, `steps` being accepted in all.
    void close_span(double t, long steps);

    const std::vector<MethodSpan>& spans() const { return spans_; }
    IntegratorFacts spent() const; // of all integrators of the run

private:
    struct Member {
        std::string name;
        std::unique_ptr<Integrator> integrator;
        int size = -1; // of the x it was built for
    };

    void open_span(double t);

    Builder build_;
    Member members_[2]; // explicit (or the only one), implicit
    int active_ = 0;
    std::optional<StiffnessJudge> judge_;
    const StepLimits limits_;
    IntegratorFacts spent_; // of those that are gone
    std::vector<MethodSpan> spans_;
    long steps_ = 0; // in closed spans
};

} // namespace linkwork
