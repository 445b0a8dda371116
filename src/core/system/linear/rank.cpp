// Dependent rows of J, found row by row in the given order: earlier rows stay, later ones that add nothing are dropped.
#include <Eigen/Dense>
#include <Eigen/OrderingMethods>
#include <Eigen/Sparse>
#include <algorithm>
#include <cmath>

#include "augmented.hpp"

namespace linkwork {
namespace {

// What the row keeps after two passes of Gram-Schmidt against the rows kept so far, relative to its length ("twice is
// enough", Parlett 1980), is its distance from their span.
int find_active_dense(const Pattern& pattern, const std::vector<JacobianEntry>& entries, const double* jacobian,
                      double tolerance, double* active, const double* engaged) {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(pattern.nv, pattern.rows);
    for (const JacobianEntry& e : entries) rows(e.column, e.row) += jacobian[e.source];
    Eigen::MatrixXd basis(pattern.nv, std::min(pattern.nv, pattern.rows));
    int rank = 0;
    for (int i = 0; i < pattern.rows; ++i) {
        const double length = rows.col(i).norm();
        active[i] = 0.0;
        if (engaged && engaged[i] == 0.0) continue;
        if (!(length > 0.0) || rank == pattern.nv) continue;
        Eigen::VectorXd rest = rows.col(i) / length;
        for (int pass = 0; pass < 2; ++pass) rest -= basis.leftCols(rank) * (basis.leftCols(rank).transpose() * rest);
        const double distance = rest.norm();
        if (!(distance > tolerance)) continue;
        basis.col(rank++) = rest / distance;
        active[i] = 1.0;
    }
    return rank;
}

struct Entry {
    int column;
    double value;
};
using SparseRow = std::vector<Entry>; // by ascending column

// Rotates `row` and `pivot`, both opening in the same column, so that this column of `row` vanishes.
void rotate(SparseRow& pivot, SparseRow& row, SparseRow& new_pivot, SparseRow& new_row) {
    const double a = pivot.front().value, b = row.front().value, length = std::hypot(a, b);
    const double c = a / length, s = b / length;
    new_pivot.clear();
    new_row.clear();
    std::size_t i = 0, j = 0;
    while (i < pivot.size() || j < row.size()) {
        const int column = std::min(i < pivot.size() ? pivot[i].column : row[j].column,
                                    j < row.size() ? row[j].column : pivot[i].column);
        const double p = i < pivot.size() && pivot[i].column == column ? pivot[i++].value : 0.0;
        const double r = j < row.size() && row[j].column == column ? row[j++].value : 0.0;
        new_pivot.push_back({column, c * p + s * r});
        if (new_pivot.size() > 1) new_row.push_back({column, c * r - s * p});
    }
    pivot.swap(new_pivot);
    row.swap(new_row);
}

// Orthogonal factorization row by row with Givens rotations [George and Heath 1980]: a row that comes out empty
// depended on the rows before it. Columns in COLAMD's order, so chains and trees fill in only locally.
int find_active_sparse(const Pattern& pattern, const std::vector<JacobianEntry>& entries, const double* jacobian,
                       double tolerance, double* active, const double* engaged) {
    Eigen::SparseMatrix<double> matrix(pattern.rows, pattern.nv);
    std::vector<Eigen::Triplet<double>> triplets;
    for (const JacobianEntry& e : entries) triplets.emplace_back(e.row, e.column, jacobian[e.source]);
    matrix.setFromTriplets(triplets.begin(), triplets.end());
    Eigen::COLAMDOrdering<int> colamd;
    Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;
    colamd(matrix, order);

    // rows with permuted columns, scaled to unit length
    std::vector<SparseRow> rows(pattern.rows);
    for (int k = 0; k < matrix.outerSize(); ++k)
        for (Eigen::SparseMatrix<double>::InnerIterator it(matrix, k); it; ++it)
            rows[it.row()].push_back({order.indices()[k], it.value()});
    std::vector<SparseRow> pivots(pattern.nv);
    SparseRow new_pivot, new_row;
    int rank = 0;
    for (int i = 0; i < pattern.rows; ++i) {
        SparseRow& row = rows[i];
        std::sort(row.begin(), row.end(), [](const Entry& a, const Entry& b) { return a.column < b.column; });
        double length = 0.0;
        for (const Entry& e : row) length = std::hypot(length, e.value);
        for (Entry& e : row) e.value /= length > 0.0 ? length : 1.0;
        active[i] = 0.0;
        if (engaged && engaged[i] == 0.0) row.clear();
        while (!row.empty()) {
            SparseRow& pivot = pivots[row.front().column];
            if (std::abs(row.front().value) <= tolerance) {
                row.erase(row.begin());
            } else if (pivot.empty()) {
                pivot.swap(row);
                active[i] = 1.0;
                ++rank;
                break;
            } else {
                rotate(pivot, row, new_pivot, new_row);
            }
        }
        row.clear();
    }
    return rank;
}

} // namespace

int find_active_rows(const Pattern& pattern, const double* jacobian, double tolerance, double* active,
                     const double* engaged) {
    const AugmentedEntries entries = build_augmented_entries(pattern);
    const auto find = pattern.rows <= 600 ? find_active_dense : find_active_sparse;
    return find(pattern, entries.jacobian, jacobian, tolerance, active, engaged);
}

} // namespace linkwork
