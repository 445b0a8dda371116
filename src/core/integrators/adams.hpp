// The variable-order, variable-step Adams method of Shampine and Gordon.
#pragma once

#include "contract.hpp"

namespace linkwork {

inline constexpr int adams_max_order = 12;

// max_order: 1 to adams_max_order
std::unique_ptr<Integrator> build_adams(int size, const Tolerances& tolerances, int max_order);

} // namespace linkwork
