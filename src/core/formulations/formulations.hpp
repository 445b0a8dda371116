// The makers behind build_formulation, one per family.
#pragma once

#include "contract.hpp"

namespace linkwork {

std::unique_ptr<Formulation> build_partitioning(const Tables& tables, const FormulationOptions& options);
std::unique_ptr<Formulation> build_tangent_plane(const Tables& tables, const FormulationOptions& options);
std::unique_ptr<Formulation> build_recursive(const Tables& tables, const FormulationOptions& options);
std::unique_ptr<Formulation> build_descriptor(const Tables& tables, const FormulationOptions& options, bool feedback,
                                              bool project);
// index2 (or, stabilized, ggl) for implicit integrators
std::unique_ptr<Formulation> build_multipliers(const Tables& tables, const FormulationOptions& options,
                                               bool stabilized);
// index2 for half-explicit integrators
std::unique_ptr<Formulation> build_half_explicit(const Tables& tables, const FormulationOptions& options);
std::unique_ptr<Formulation> build_index3(const Tables& tables, const FormulationOptions& options);
// projected_invariants, or odae where overdetermined
std::unique_ptr<Formulation> build_invariants(const Tables& tables, const FormulationOptions& options,
                                              bool overdetermined);

} // namespace linkwork
