#include "partition.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "../system/linear/dependent_columns.hpp"

namespace linkwork {

void calc_pin_row(const Body& body, const double* q, int k, double* row) {
    const int local = k - body.q;
    if (local < 3) {
        row[local] = 1;
        return;
    }
    // row `local - 3` of 1/2 G^T
    const double* p = q + body.q + 3;
    for (int c = 0; c < 3; ++c) {
        double rate[4];
        calc_parameter_rate(p, Vec{c == 0 ? 1.0 : 0.0, c == 1 ? 1.0 : 0.0, c == 2 ? 1.0 : 0.0}, rate);
        row[3 + c] = rate[local - 3];
    }
}

namespace {

constexpr int dense_limit = 150;         // coordinates up to which the columns are chosen by a dense factorization
constexpr double sparse_threshold = 0.5; // of pivots beyond it

bool is_rotation(const Body& b, int k) { return k >= (b.kind == body_planar ? 2 : 3); }

// Rows: active constraints, then normalizations; columns: q. Phi_p = 2 Phi_pi G up to multiples of p^T [serban (21)].
std::vector<MatrixRow> build_rows(const Tables& tables, const Workspace& w, const double* q) {
    std::vector<MatrixRow> rows;
    for (const Block& block : tables.blocks)
        for (int r = 0; r < block.rows; ++r) {
            if (w.active[block.row + r] == 0) continue;
            MatrixRow& row = rows.emplace_back();
            for (int p = block.part; p < block.part + block.parts; ++p) {
                const Body& body = tables.bodies[tables.parts[p].body];
                if (body.nv == 0) continue;
                const double* J = w.jacobian.data() + tables.parts[p].offset + r * body.nv;
                for (int c = 0; c < std::min(body.nv, 3); ++c) row.emplace_back(body.q + c, J[c]);
                if (body.kind != body_rigid) continue;
                double rate[4]; // G^T torque row: 2 (1/2 G^T) J_pi
                calc_parameter_rate(q + body.q + 3, Vec{J[3], J[4], J[5]}, rate);
                for (int c = 0; c < 4; ++c) row.emplace_back(body.q + 3 + c, 4 * rate[c]);
            }
        }
    for (const Body& b : tables.bodies)
        if (b.kind == body_rigid) {
            MatrixRow& row = rows.emplace_back();
            for (int c = 0; c < 4; ++c) row.emplace_back(b.q + 3 + c, 2 * q[b.q + 3 + c]);
        }
    return rows;
}

// Rotation columns are made `weight` times as long as translation columns. By body: each body's own, whatever its
// lengths. Else one factor serves all: columns of short bodies stay short, and their rotations independent.
void scale_rotations(const Tables& tables, double weight, bool by_body, std::vector<MatrixRow>& rows) {
    std::vector<double> squares(tables.nq, 0.0);
    for (const MatrixRow& row : rows)
        for (const auto& [column, value] : row) squares[column] += value * value;
    struct Lengths {
        double translation = 0, rotation = 0; // the longest columns, squared
    };
    std::vector<Lengths> lengths(tables.bodies.size());
    Lengths longest;
    for (std::size_t i = 0; i < tables.bodies.size(); ++i) {
        const Body& b = tables.bodies[i];
        for (int k = 0; k < b.nq; ++k) {
            double Lengths::* const kind = is_rotation(b, k) ? &Lengths::rotation : &Lengths::translation;
            lengths[i].*kind = std::max(lengths[i].*kind, squares[b.q + k]);
            longest.*kind = std::max(longest.*kind, squares[b.q + k]);
        }
    }
    std::vector<double> scale(tables.nq, 1.0);
    for (std::size_t i = 0; i < tables.bodies.size(); ++i) {
        const Body& b = tables.bodies[i];
        const auto [t, r] = by_body ? lengths[i] : longest;
        for (int k = 0; k < b.nq; ++k)
            // levers shorter than 1e-10 of the rest are round-off: such a body turns freely
            if (is_rotation(b, k) && t > 0 && r > 1e-20 * t) scale[b.q + k] = weight * std::sqrt(t) / std::sqrt(r);
    }
    for (MatrixRow& row : rows)
        for (auto& [column, value] : row) value *= scale[column];
}

// Those a column-pivoted QR factorization takes first.
std::vector<int> find_dependent_dense(const std::vector<MatrixRow>& rows, int columns) {
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(static_cast<int>(rows.size()), columns);
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (const auto& [column, value] : rows[i]) A(static_cast<int>(i), column) += value;
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(A);
    const auto& order = qr.colsPermutation().indices();
    return {order.data(), order.data() + rows.size()};
}

} // namespace

std::vector<int> find_independent(const Tables& tables, const Workspace& w, const double* q, double rotation_weight,
                                  bool by_body) {
    std::vector<MatrixRow> rows = build_rows(tables, w, q);
    scale_rotations(tables, rotation_weight, by_body, rows);
    const std::vector<int> dependent = tables.nq <= dense_limit
                                           ? find_dependent_dense(rows, tables.nq)
                                           : find_dependent_columns(rows, tables.nq, sparse_threshold);
    std::vector<char> is_dependent(tables.nq, 0);
    for (const int column : dependent) is_dependent[column] = 1;
    std::vector<int> independent;
    for (int i = 0; i < tables.nq; ++i)
        if (!is_dependent[i]) independent.push_back(i);
    return independent;
}

} // namespace linkwork
