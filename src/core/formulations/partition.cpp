#include "partition.hpp"

#include <Eigen/Dense>
#include <algorithm>

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

// Each body's rotation columns are made `weight` times as long as its translation columns, whatever its lengths.
void scale_rotations(const Tables& tables, double weight, Eigen::MatrixXd& A) {
    for (const Body& b : tables.bodies) {
        if (b.kind != body_rigid && b.kind != body_planar) continue;
        const int translations = b.kind == body_rigid ? 3 : 2;
        const double t = A.middleCols(b.q, translations).colwise().norm().maxCoeff();
        const double r = A.middleCols(b.q + translations, b.nq - translations).colwise().norm().maxCoeff();
        if (t > 0 && r > 0) A.middleCols(b.q + translations, b.nq - translations) *= weight * t / r;
    }
}

} // namespace

std::vector<int> find_independent(const Pattern&, const Tables& tables, const Workspace& w, const double* q,
                                  double rotation_weight) {
    // rows: active constraints, then normalizations; columns: q. Phi_p = 2 Phi_pi G up to multiples of p^T [serban
    // (21)].
    int rows = 0;
    for (const double a : w.active) rows += a != 0;
    std::vector<int> row_of(tables.rows_count, -1);
    for (int i = 0, r = 0; i < tables.rows_count; ++i)
        if (w.active[i] != 0) row_of[i] = r++;
    const int constraints = rows;
    for (const Body& b : tables.bodies) rows += b.kind == body_rigid;
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(rows, tables.nq);
    for (const Part& part : tables.parts) {
        const Body& body = tables.bodies[part.body];
        const Block& block = tables.blocks[part.block];
        for (int r = 0; r < block.rows && body.nv > 0; ++r) {
            const int row = row_of[block.row + r];
            if (row < 0) continue;
            const double* J = w.jacobian.data() + part.offset + r * body.nv;
            for (int c = 0; c < std::min(body.nv, 3); ++c) A(row, body.q + c) += J[c];
            if (body.kind != body_rigid) continue;
            double rate[4]; // G^T torque row: 2 (1/2 G^T) J_pi
            calc_parameter_rate(q + body.q + 3, Vec{J[3], J[4], J[5]}, rate);
            for (int c = 0; c < 4; ++c) A(row, body.q + 3 + c) += 4 * rate[c];
        }
    }
    int r = constraints;
    for (const Body& b : tables.bodies)
        if (b.kind == body_rigid) {
            for (int c = 0; c < 4; ++c) A(r, b.q + 3 + c) = 2 * q[b.q + 3 + c];
            ++r;
        }
    scale_rotations(tables, rotation_weight, A);
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(A);
    std::vector<int> independent;
    for (int i = rows; i < tables.nq; ++i) independent.push_back(qr.colsPermutation().indices()[i]);
    std::sort(independent.begin(), independent.end());
    return independent;
}

} // namespace linkwork
