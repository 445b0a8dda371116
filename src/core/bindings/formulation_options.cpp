// Options into and facts out of a formulation, by name.
#include "system.hpp"

namespace linkwork {

FormulationOptions read_formulation_options(const nb::dict& d) {
    FormulationOptions o;
    const auto get = [&](const char* name, auto& field) {
        if (d.contains(name)) field = nb::cast<std::remove_reference_t<decltype(field)>>(nb::object(d[name]));
    };
    get("linear", o.linear);
    get("solver", o.solver);
    get("preconditioner", o.preconditioner);
    get("block_size", o.block_size);
    get("iom", o.iom);
    get("dense_limit", o.dense_limit);
    get("half_explicit", o.half_explicit);
    get("project", o.project);
    get("constraint_tolerance", o.constraint_tolerance);
    get("project_error", o.project_error);
    get("grouped", o.grouped);
    get("formalism", o.formalism);
    get("invariants", o.invariants);
    get("curvature", o.curvature);
    get("baumgarte_alpha", o.baumgarte_alpha);
    get("baumgarte_beta", o.baumgarte_beta);
    get("position_tolerance", o.position_tolerance);
    get("rank_tolerance", o.rank_tolerance);
    get("redundant", o.redundant);
    get("repartition_growth", o.repartition_growth);
    return o;
}

nb::dict to_dict(const FormulationFacts& f) {
    nb::dict statistics;
    statistics["evaluations"] = f.evaluations;
    statistics["linearizations"] = f.linearizations;
    statistics["factorizations"] = f.factorizations;
    statistics["linear_solves"] = f.linear_solves;
    statistics["repartitions"] = f.repartitions;
    statistics["rank_changes"] = f.rank_changes;
    statistics["analyses"] = f.analyses;
    statistics["fallbacks"] = f.fallbacks;
    statistics["krylov_vectors"] = f.krylov_vectors;
    statistics["position_iterations"] = f.position_iterations;
    statistics["difference_sweeps"] = f.difference_sweeps;
    statistics["projections"] = f.projections;
    statistics["constraint_jacobians"] = f.constraint_jacobians;
    statistics["condition"] = f.condition;
    statistics["closest_pivot"] = f.closest_pivot;
    statistics["closest_pivot_time"] = f.closest_pivot_time;
    statistics["dropped_violation"] = f.dropped_violation;
    statistics["suspects"] = to_array(f.suspects);
    return statistics;
}

} // namespace linkwork
