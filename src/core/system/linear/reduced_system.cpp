#include "reduced_system.hpp"

#include <algorithm>
#include <cmath>

namespace linkwork {
namespace {

// Eight partial sums: a fixed order of additions that vector units can follow.
double calc_dot(const double* a, const double* b, int n) {
    double sum[8] = {};
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) sum[k] += a[i + k] * b[i + k];
    for (int k = 0; i < n; ++i, ++k) sum[k] += a[i] * b[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// y = J M^-1 for one row of a part
void times_inverse_mass(const double* row, const double* inverse, int nv, double* y) {
    for (int c = 0; c < nv; ++c) y[c] = row[c] * inverse[c * nv + c];
    if (nv != 6) return;
    for (int c = 3; c < 6; ++c)
        y[c] = row[3] * inverse[3 * 6 + c] + row[4] * inverse[4 * 6 + c] + row[5] * inverse[5 * 6 + c];
}

template <int NV> void add_product(const double* a, const double* b, int rows_a, int rows_b, double* values,
                                   const std::ptrdiff_t* start, int row, int column) {
    for (int r = 0; r < rows_a; ++r) {
        double* target = values + start[row + r] + column;
        const int end = row == column ? r + 1 : rows_b;
        for (int s = 0; s < end; ++s) {
            double sum = 0.0;
            for (int c = 0; c < NV; ++c) sum += a[r * NV + c] * b[s * NV + c];
            target[s] += sum;
        }
    }
}

} // namespace

ReducedSystem::ReducedSystem(const Pattern& pattern, std::vector<int> order) : pattern_(pattern) {
    const JointGraph graph = build_joint_graph(pattern);
    envelope_ = calc_envelope(pattern, graph, order);

    // numbered rows, and the first column each joint's rows reach back to (24)
    const int count = static_cast<int>(order.size());
    std::vector<int> block_row(count), block_number(count);
    number_.assign(pattern.rows, 0);
    int row = 0;
    for (int k = 0; k < count; ++k) {
        const Block& block = pattern.blocks[order[k]];
        block_row[order[k]] = row;
        block_number[order[k]] = k;
        for (int r = 0; r < block.rows; ++r) number_[block.row + r] = row++;
    }
    first_.assign(pattern.rows, 0);
    start_.assign(pattern.rows, 0);
    std::ptrdiff_t size = 0;
    for (int k = 0; k < count; ++k) {
        const int b = order[k];
        int first = b;
        for (int other : graph[b])
            if (block_number[other] < block_number[first]) first = other;
        for (int r = 0; r < pattern.blocks[b].rows; ++r) {
            const int i = block_row[b] + r;
            first_[i] = block_row[first];
            start_[i] = size - first_[i];
            size += i + 1 - first_[i];
        }
    }
    values_.assign(size, 0.0);
    diagonal_.assign(pattern.rows, 1.0);
    inverse_.assign(pattern.rows, 1.0);
    rhs_.assign(pattern.rows, 0.0);
    active_.assign(pattern.rows, 1.0);

    // the products (7) and (8): pairs of joints on one body, lower triangle
    int jacobian_size = 0;
    std::vector<std::vector<Factor>> on_body(pattern.bodies.size());
    for (const Part& part : pattern.parts) {
        const Body& body = pattern.bodies[part.body];
        if (body.nv == 0) continue;
        const Block& block = pattern.blocks[part.block];
        on_body[part.body].push_back({part.offset, block.rows, part.body, block_row[part.block]});
        parts_.push_back({part.offset, block.rows, part.body, block.row});
        jacobian_size = std::max(jacobian_size, part.offset + block.rows * body.nv);
    }
    for (const auto& list : on_body)
        for (const Factor& a : list)
            for (const Factor& b : list)
                if (a.row >= b.row)
                    products_.push_back({a.offset, b.offset, a.rows, b.rows, pattern.bodies[a.body].nv, a.row, b.row});
    jacobian_.assign(jacobian_size, 0.0);
    product_.assign(jacobian_size, 0.0);
    inverse_masses_.assign(36 * pattern.bodies.size(), 0.0);
    for (std::size_t i = 0; i < pattern.bodies.size(); ++i)
        if (pattern.bodies[i].nv > 0) calc_inverse_mass(pattern.bodies[i], inverse_masses_.data() + 36 * i);
}

void ReducedSystem::assemble(const double* jacobian, const double* active) {
    // J without its inactive rows, and J M^-1
    std::copy(active, active + pattern_.rows, active_.begin());
    for (const Factor& part : parts_) {
        const int nv = pattern_.bodies[part.body].nv;
        for (int r = 0; r < part.rows; ++r) {
            double* row = jacobian_.data() + part.offset + r * nv;
            if (active_[part.row + r] != 0.0)
                std::copy_n(jacobian + part.offset + r * nv, nv, row);
            else
                std::fill_n(row, nv, 0.0);
            times_inverse_mass(row, inverse_masses_.data() + 36 * part.body, nv,
                               product_.data() + part.offset + r * nv);
        }
    }

    // B
    std::fill(values_.begin(), values_.end(), 0.0);
    for (const Product& p : products_)
        (p.nv == 6 ? add_product<6> : add_product<3>)(jacobian_.data() + p.a, product_.data() + p.b, p.rows_a, p.rows_b,
                                                      values_.data(), start_.data(), p.row, p.column);
    for (int i = 0; i < pattern_.rows; ++i)
        if (active_[i] == 0.0) values_[start_[number_[i]] + number_[i]] = 1.0;
}

bool ReducedSystem::factor() {
    smallest_ = 1.0;
    for (int i = 0; i < pattern_.rows; ++i) {
        double* row = values_.data() + start_[i];
        const double diagonal = row[i];
        for (int j = first_[i]; j < i; ++j) {
            const int k = std::max(first_[i], first_[j]);
            row[j] = (row[j] - calc_dot(row + k, values_.data() + start_[j] + k, j - k)) * inverse_[j];
        }
        const double pivot = diagonal - calc_dot(row + first_[i], row + first_[i], i - first_[i]);
        smallest_ = std::min(smallest_, pivot / diagonal);
        if (!(pivot > 1e-15 * diagonal)) return false;
        row[i] = std::sqrt(pivot);
        inverse_[i] = 1.0 / row[i];
    }
    return true;
}

void ReducedSystem::solve_rows(double* y) const {
    for (int i = 0; i < pattern_.rows; ++i) {
        const double* row = values_.data() + start_[i];
        y[i] = (y[i] - calc_dot(row + first_[i], y + first_[i], i - first_[i])) * inverse_[i];
    }
    for (int i = pattern_.rows - 1; i >= 0; --i) {
        const double* row = values_.data() + start_[i];
        const double value = y[i] *= inverse_[i];
        for (int j = first_[i]; j < i; ++j) y[j] -= row[j] * value;
    }
}

void ReducedSystem::solve(double* x, double* y) {
    // right side of (6): J M^-1 f - g
    for (int i = 0; i < pattern_.rows; ++i) rhs_[number_[i]] = active_[i] != 0.0 ? -y[i] : 0.0;
    for (const Factor& part : parts_) {
        const Body& body = pattern_.bodies[part.body];
        for (int r = 0; r < part.rows; ++r)
            for (int c = 0; c < body.nv; ++c)
                rhs_[number_[part.row + r]] += product_[part.offset + r * body.nv + c] * x[body.v + c];
    }
    solve_rows(rhs_.data());
    for (int i = 0; i < pattern_.rows; ++i) y[i] = rhs_[number_[i]];

    // accelerations (5): M^-1 (f - J^T y)
    for (const Factor& part : parts_) {
        const Body& body = pattern_.bodies[part.body];
        for (int r = 0; r < part.rows; ++r)
            for (int c = 0; c < body.nv; ++c)
                x[body.v + c] -= jacobian_[part.offset + r * body.nv + c] * y[part.row + r];
    }
    for (std::size_t i = 0; i < pattern_.bodies.size(); ++i) {
        const Body& body = pattern_.bodies[i];
        double force[6];
        std::copy_n(x + body.v, body.nv, force);
        if (body.nv > 0) times_inverse_mass(force, inverse_masses_.data() + 36 * i, body.nv, x + body.v);
    }
}

} // namespace linkwork
