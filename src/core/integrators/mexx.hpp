// Half-explicit extrapolation, for formulation index2.
#pragma once

#include "contract.hpp"

namespace linkwork {

inline constexpr int mexx_max_order = 16;

// max_order: 4 to mexx_max_order; odd ones count as the next even one
std::unique_ptr<Integrator> build_mexx(int size, const Tolerances& tolerances, int max_order);

} // namespace linkwork
