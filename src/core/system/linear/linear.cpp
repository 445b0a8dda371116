// The pattern of a compiled model, and the choice of a solver by name.
#include "../linear.hpp"

#include <stdexcept>

#include "solvers.hpp"

namespace linkwork {

Pattern build_pattern(const Tables& tables) {
    Pattern pattern;
    pattern.bodies = tables.bodies;
    pattern.blocks = tables.blocks;
    pattern.parts = tables.parts;
    pattern.nv = tables.nv;
    pattern.rows = static_cast<int>(tables.rows.size());
    return pattern;
}

std::unique_ptr<LinearSolver> build_linear_solver(const std::string& name, const Pattern& pattern) {
    if (name == "topology") return build_topology(pattern);
    if (name == "reduced_band") return build_reduced_band(pattern, true);
    if (name == "reduced_band_given") return build_reduced_band(pattern, false);
    if (name == "augmented_sparse") return build_augmented_sparse(pattern);
    if (name == "augmented_dense") return build_augmented_dense(pattern);
    throw std::invalid_argument("linear solver '" + name +
                                "' does not exist; choose topology, reduced_band, augmented_sparse or augmented_dense");
}

} // namespace linkwork
