#include "formulations.hpp"

#include <stdexcept>

namespace linkwork {

std::unique_ptr<Formulation> build_formulation(const std::string& name, const Tables& tables,
                                               const FormulationOptions& options) {
    if (name == "partitioning") return build_partitioning(tables, options);
    if (name == "tangent_plane") return build_tangent_plane(tables, options);
    if (name == "recursive") return build_recursive(tables, options);
    if (name == "index1") return build_descriptor(tables, options, false, false);
    if (name == "baumgarte") return build_descriptor(tables, options, true, false);
    if (name == "projection") return build_descriptor(tables, options, false, true);
    if (name == "index2" && options.half_explicit) return build_half_explicit(tables, options);
    if (name == "index2") return build_multipliers(tables, options, false);
    if (name == "ggl") return build_multipliers(tables, options, true);
    if (name == "index3") return build_index3(tables, options);
    if (name == "projected_invariants") return build_invariants(tables, options, false);
    if (name == "odae") return build_invariants(tables, options, true);
    throw std::invalid_argument("unknown formulation '" + name + "'");
}

} // namespace linkwork
