#include "backward_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "masses.hpp"

namespace linkwork {
namespace {

struct Sum { // of products, and of their magnitudes
    double value = 0.0, magnitude = 0.0;
    void add(double a) {
        value += a;
        magnitude += std::abs(a);
    }
};

double calc_largest_ratio(const std::vector<Sum>& sums) {
    double residual = 0.0, magnitude = 0.0;
    for (const Sum& sum : sums) {
        if (!std::isfinite(sum.value)) return std::numeric_limits<double>::infinity();
        residual = std::max(residual, std::abs(sum.value));
        magnitude = std::max(magnitude, sum.magnitude);
    }
    return magnitude > 0.0 ? residual / magnitude : 0.0;
}

} // namespace

double calc_backward_error(const Pattern& pattern, const double* jacobian, const double* active, const double* x,
                           const double* y, const double* f, const double* g) {
    std::vector<Sum> force(pattern.nv), row(pattern.rows);
    for (int i = 0; i < pattern.nv; ++i) force[i].add(-f[i]);
    for (int i = 0; i < pattern.rows; ++i) row[i].add(active[i] != 0.0 ? -g[i] : 0.0);

    // M x
    double mass[36];
    for (const Body& body : pattern.bodies) {
        if (body.nv > 0) calc_mass(body, mass);
        for (int i = 0; i < body.nv; ++i)
            for (int j = 0; j < body.nv; ++j) force[body.v + i].add(mass[i * body.nv + j] * x[body.v + j]);
    }

    // J^T y and J x
    for (const Part& part : pattern.parts) {
        const Body& body = pattern.bodies[part.body];
        const Block& block = pattern.blocks[part.block];
        for (int r = 0; r < block.rows; ++r) {
            if (active[block.row + r] == 0.0) continue;
            for (int c = 0; c < body.nv; ++c) {
                const double value = jacobian[part.offset + r * body.nv + c];
                force[body.v + c].add(value * y[block.row + r]);
                row[block.row + r].add(value * x[body.v + c]);
            }
        }
    }
    return std::max(calc_largest_ratio(force), calc_largest_ratio(row));
}

void subtract_product(const Pattern& pattern, const double* jacobian, const double* active, const double* x,
                      const double* y, double* f, double* g) {
    double mass[36];
    for (const Body& body : pattern.bodies) {
        if (body.nv > 0) calc_mass(body, mass);
        for (int i = 0; i < body.nv; ++i)
            for (int j = 0; j < body.nv; ++j) f[body.v + i] -= mass[i * body.nv + j] * x[body.v + j];
    }
    for (const Part& part : pattern.parts) {
        const Body& body = pattern.bodies[part.body];
        const Block& block = pattern.blocks[part.block];
        for (int r = 0; r < block.rows; ++r) {
            const int row = block.row + r;
            if (active[row] == 0.0) continue;
            for (int c = 0; c < body.nv; ++c) {
                const double value = jacobian[part.offset + r * body.nv + c];
                f[body.v + c] -= value * y[row];
                g[row] -= value * x[body.v + c];
            }
        }
    }
}

} // namespace linkwork
