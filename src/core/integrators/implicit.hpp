// The implicit integrators.
#pragma once

#include "contract.hpp"

namespace linkwork {

inline constexpr int bdf_max_order = 5;

// variant: "4/15" or "1/4"
std::unique_ptr<Integrator> build_sdirk4(const std::string& variant, int size, const Tolerances& tolerances,
                                         bool keep_jacobian);
std::unique_ptr<Integrator> build_radau5(int size, const Tolerances& tolerances, bool keep_jacobian);
// variant: "rodas4", "rodas42", "rodas4p" or "rodas4p2"
std::unique_ptr<Integrator> build_rodas(const std::string& variant, int size, const Tolerances& tolerances);
// max_order: 1 to bdf_max_order
std::unique_ptr<Integrator> build_bdf(int size, const Tolerances& tolerances, int max_order, bool keep_jacobian);

// name: "trapezoidal", "bdf2", "park", "hht" or "generalized_alpha"
bool is_low_order(const std::string& name);
std::unique_ptr<Integrator> build_low_order(const std::string& name, int size, const Tolerances& tolerances,
                                            const IntegratorOptions& options);
// name: "hht" or "generalized_alpha", for equations as they stand (Descriptor): x = (q, v, lambda) with these counts
std::unique_ptr<Integrator> build_newmark(const std::string& name, int positions, int velocities,
                                          const Tolerances& tolerances, const IntegratorOptions& options);

} // namespace linkwork
