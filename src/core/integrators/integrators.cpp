#include <limits>
#include <stdexcept>

#include "adams.hpp"
#include "contract.hpp"
#include "implicit.hpp"
#include "mexx.hpp"
#include "runge_kutta.hpp"

namespace linkwork {

namespace {

int check_order(const std::string& name, int wanted, int highest) {
    if (wanted < 0 || wanted > highest)
        throw std::invalid_argument(name + " has no order " + std::to_string(wanted) + ": take max_order from 1 to " +
                                    std::to_string(highest));
    return wanted == 0 ? highest : wanted;
}

} // namespace

std::unique_ptr<Integrator> build_integrator(const std::string& name, int size, const Tolerances& tolerances,
                                             const IntegratorOptions& options) {
    const bool has_variants = name == "sdirk4" || name == "rodas",
               has_orders = name == "adams" || name == "bdf" || name == "mexx";
    if (!has_variants && !options.variant.empty()) throw std::invalid_argument(name + " has no variants");
    if (!has_orders && options.max_order != 0)
        throw std::invalid_argument(name + " has one order, max_order is of no use");
    if (name == "dopri5") return build_runge_kutta(dopri5_table(), size, tolerances);
    if (name == "dop853") return build_runge_kutta(dop853_table(), size, tolerances);
    if (name == "half_explicit_euler") return build_runge_kutta(half_explicit_euler_table(), size, tolerances);
    if (name == "phem56") return build_runge_kutta(phem56_table(), size, tolerances);
    if (name == "mexx") return build_mexx(size, tolerances, check_order(name, options.max_order, mexx_max_order));
    if (name == "adams") return build_adams(size, tolerances, check_order(name, options.max_order, adams_max_order));
    if (name == "sdirk4") return build_sdirk4(options.variant, size, tolerances, options.keep_jacobian);
    if (name == "radau5") return build_radau5(size, tolerances, options.keep_jacobian);
    if (name == "rodas") return build_rodas(options.variant, size, tolerances);
    if (name == "bdf")
        return build_bdf(size, tolerances, check_order(name, options.max_order, bdf_max_order), options.keep_jacobian);
    if (is_low_order(name)) return build_low_order(name, size, tolerances, options);
    throw std::invalid_argument("unknown integrator '" + name + "'");
}

constexpr double full_turn = 6.283185307179586;

Tolerances build_tolerances(const IntegratorChoice& choice, const Formulation& formulation) {
    std::vector<int> kinds(formulation.size());
    formulation.fill_kinds(kinds.data());
    Tolerances tolerances{choice.rtol, {}};
    for (const int kind : kinds) {
        const bool algebraic = kind == entry_multiplier || kind == entry_multiplier_of_position;
        const bool angle = kind == entry_angle || kind == entry_angle_of_any_zero;
        const double atol =
            kind == entry_velocity || kind == entry_multiplier ? choice.atol_velocity : choice.atol_position;
        if (algebraic) tolerances.algebraic.push_back({static_cast<int>(tolerances.atol.size()), atol});
        tolerances.least.push_back(kind == entry_angle_of_any_zero ? full_turn : 0.0);
        tolerances.largest.push_back(angle ? full_turn : std::numeric_limits<double>::infinity());
        tolerances.atol.push_back(algebraic ? std::numeric_limits<double>::infinity() : atol);
    }
    return tolerances;
}

std::unique_ptr<Integrator> build_integrator(const IntegratorChoice& choice, Formulation& formulation) {
    const Tolerances tolerances = build_tolerances(choice, formulation);
    if (const Descriptor* equations = formulation.descriptor())
        return build_newmark(choice.name, equations->positions(), equations->velocities(), tolerances, choice.options);
    return build_integrator(choice.name, formulation.size(), tolerances, choice.options);
}

} // namespace linkwork
