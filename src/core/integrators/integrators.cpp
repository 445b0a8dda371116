#include "adams.hpp"
#include "contract.hpp"
#include "runge_kutta.hpp"

namespace linkwork {

std::unique_ptr<Integrator> build_integrator(const std::string& name, int size, const Tolerances& tolerances) {
    if (name == "dopri5") return build_runge_kutta(dopri5_table(), size, tolerances);
    if (name == "dop853") return build_runge_kutta(dop853_table(), size, tolerances);
    if (name == "adams") return build_adams(size, tolerances, adams_max_order);
    return nullptr;
}

} // namespace linkwork
