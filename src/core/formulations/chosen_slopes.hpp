// The linearized equations of motion by derivatives or, with solver "newton_fd", by differences of elements.
#pragma once

#include <memory>

#include "../system/grouped_slopes.hpp"
#include "accelerations.hpp"

namespace linkwork {

class ChosenSlopes {
public:
    ChosenSlopes(const Tables& tables, const FormulationOptions& options) : slopes(tables), tables(tables) {
        if (options.solver == "newton_fd") differences = std::make_unique<GroupedSlopes>(tables, options.grouped);
    }

    // At the pose, twist, a and lambda of the engine's workspace.
    Status calc(double t, Accelerations& engine) {
        if (differences) {
            differences->calc(tables, t, engine.w, slopes);
            engine.facts.difference_sweeps += differences->evaluations();
        } else {
            slopes.calc(tables, t, engine.w);
        }
        return engine.w.user_failed ? Status::user_error : Status::success;
    }

    Slopes slopes;

private:
    const Tables& tables;
    std::unique_ptr<GroupedSlopes> differences;
};

} // namespace linkwork
