// The augmented matrix solved as it stands, by a library: the usual way, kept for comparison and as a fallback.
//
// Neither uses the definiteness of M nor the block structure: [serban] experiments 1 and 2 of table 3.
#include "augmented.hpp"

#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers.hpp"

namespace linkwork {
namespace {

using Vector = Eigen::VectorXd;

// right side and solution as one vector; inactive rows have y = 0
void join(const Pattern& pattern, const std::vector<double>& active, const double* x, const double* y, Vector& z) {
    for (int i = 0; i < pattern.nv; ++i) z[i] = x[i];
    for (int i = 0; i < pattern.rows; ++i) z[pattern.nv + i] = active[i] != 0.0 ? y[i] : 0.0;
}

void split(const Pattern& pattern, const Vector& z, double* x, double* y) {
    for (int i = 0; i < pattern.nv; ++i) x[i] = z[i];
    for (int i = 0; i < pattern.rows; ++i) y[i] = z[pattern.nv + i];
}

class AugmentedDense final : public LinearSolver {
public:
    explicit AugmentedDense(const Pattern& pattern)
        : pattern_(pattern), entries_(build_augmented_entries(pattern)), size_(pattern.nv + pattern.rows),
          matrix_(size_, size_), lu_(size_), z_(size_), solution_(size_), active_(pattern.rows, 1.0) {}

    bool analyse(const double* jacobian, const double* active) override {
        ++analyses_;
        reference_ = 0.0;
        if (!factor(jacobian, active)) return false;
        reference_ = smallest_;
        return true;
    }

    bool factor(const double* jacobian, const double* active) override {
        matrix_.setZero();
        for (const MassEntry& e : entries_.mass) matrix_(e.row, e.column) = e.value;
        for (const JacobianEntry& e : entries_.jacobian) {
            const double value = active[e.row] != 0.0 ? jacobian[e.source] : 0.0;
            matrix_(pattern_.nv + e.row, e.column) += value;
            matrix_(e.column, pattern_.nv + e.row) += value;
        }
        for (int i = 0; i < pattern_.rows; ++i) {
            active_[i] = active[i];
            if (active[i] == 0.0) matrix_(pattern_.nv + i, pattern_.nv + i) = 1.0;
        }
        lu_.compute(matrix_);
        const auto pivots = lu_.matrixLU().diagonal().cwiseAbs();
        smallest_ = size_ > 0 ? pivots.minCoeff() : 1.0;
        return std::isfinite(smallest_) && (size_ == 0 || smallest_ > 1e-15 * pivots.maxCoeff());
    }

    void solve_many(double* x, double* y, int count) override { solve_each(*this, pattern_, x, y, count); }
    void solve(double* x, double* y) override {
        join(pattern_, active_, x, y, z_);
        solution_.noalias() = lu_.permutationP() * z_;
        lu_.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(solution_);
        lu_.matrixLU().triangularView<Eigen::Upper>().solveInPlace(solution_);
        split(pattern_, solution_, x, y);
    }

    double pivot_ratio() const override { return reference_ > 0.0 ? smallest_ / reference_ : 1.0; }

    LinearFacts facts() const override {
        LinearFacts facts;
        const double n = size_;
        facts.multiply_adds = n * n * n / 3.0;
        facts.bandwidth = size_;
        facts.analyses = analyses_;
        return facts;
    }

private:
    Pattern pattern_;
    AugmentedEntries entries_;
    int size_;
    Eigen::MatrixXd matrix_;
    Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
    Vector z_, solution_;
    std::vector<double> active_;
    double smallest_ = 1.0, reference_ = 0.0;
    int analyses_ = 0;
};

class AugmentedSparse final : public LinearSolver {
public:
    explicit AugmentedSparse(const Pattern& pattern)
        : pattern_(pattern), entries_(build_augmented_entries(pattern)), size_(pattern.nv + pattern.rows), z_(size_),
          solution_(size_), active_(pattern.rows, 1.0) {}

    // The pattern depends on `active` alone: unit pivots are entries that other rows do not have.
    bool analyse(const double* jacobian, const double* active) override {
        ++analyses_;
        std::copy(active, active + pattern_.rows, active_.begin());
        build_matrix();
        lu_.analyzePattern(matrix_);
        good_ = factor(jacobian, active) && is_independent(jacobian);
        return good_;
    }

    bool factor(const double* jacobian, const double* active) override {
        if (analyses_ == 0 || !std::equal(active_.begin(), active_.end(), active)) return analyse(jacobian, active);
        double* values = matrix_.valuePtr();
        for (std::size_t i = 0; i < entries_.jacobian.size(); ++i) {
            values[lower_[i]] = 0.0;
            values[upper_[i]] = 0.0;
        }
        for (std::size_t i = 0; i < entries_.jacobian.size(); ++i) {
            const JacobianEntry& e = entries_.jacobian[i];
            const double value = active_[e.row] != 0.0 ? jacobian[e.source] : 0.0;
            values[lower_[i]] += value;
            values[upper_[i]] += value;
        }
        lu_.factorize(matrix_);
        good_ = lu_.info() == Eigen::Success;
        return good_;
    }

    void solve_many(double* x, double* y, int count) override { solve_each(*this, pattern_, x, y, count); }
    void solve(double* x, double* y) override {
        join(pattern_, active_, x, y, z_);
        // half a factorization is none: no numbers, which the caller looks for
        if (lu_.info() == Eigen::Success)
            solution_ = lu_.solve(z_);
        else
            solution_.setConstant(std::numeric_limits<double>::quiet_NaN());
        split(pattern_, solution_, x, y);
    }

    // the library keeps its pivots to itself
    double pivot_ratio() const override { return good_ ? 1.0 : 0.0; }

    LinearFacts facts() const override {
        LinearFacts facts;
        // the average column of L times the average row of U, per pivot
        if (size_ > 0 && good_)
            facts.multiply_adds = static_cast<double>(lu_.nnzL()) * static_cast<double>(lu_.nnzU()) / size_;
        facts.analyses = analyses_;
        return facts;
    }

private:
    void build_matrix() {
        std::vector<Eigen::Triplet<double>> triplets;
        const int nv = pattern_.nv;
        for (const MassEntry& e : entries_.mass) triplets.emplace_back(e.row, e.column, e.value);
        for (const JacobianEntry& e : entries_.jacobian) {
            triplets.emplace_back(nv + e.row, e.column, 0.0);
            triplets.emplace_back(e.column, nv + e.row, 0.0);
        }
        for (int i = 0; i < pattern_.rows; ++i)
            if (active_[i] == 0.0) triplets.emplace_back(nv + i, nv + i, 1.0);
        matrix_.resize(size_, size_);
        matrix_.setFromTriplets(triplets.begin(), triplets.end());
        matrix_.makeCompressed();

        // where each entry of J and of its transpose lies among the values
        lower_.clear();
        upper_.clear();
        for (const JacobianEntry& e : entries_.jacobian) {
            lower_.push_back(static_cast<int>(&matrix_.coeffRef(nv + e.row, e.column) - matrix_.valuePtr()));
            upper_.push_back(static_cast<int>(&matrix_.coeffRef(e.column, nv + e.row) - matrix_.valuePtr()));
        }
    }

    // The library does not notice pivots that are rounding errors; the active rows of J tell.
    bool is_independent(const double* jacobian) {
        int size = 0;
        for (const JacobianEntry& e : entries_.jacobian) size = std::max(size, e.source + 1);
        std::vector<double> masked(size, 0.0), independent(pattern_.rows);
        for (const JacobianEntry& e : entries_.jacobian)
            if (active_[e.row] != 0.0) masked[e.source] = jacobian[e.source];
        const auto count = std::count_if(active_.begin(), active_.end(), [](double a) { return a != 0.0; });
        return find_active_rows(pattern_, masked.data(), 1e-13, independent.data()) == count;
    }

    Pattern pattern_;
    AugmentedEntries entries_;
    int size_;
    Eigen::SparseMatrix<double> matrix_;
    Eigen::SparseLU<Eigen::SparseMatrix<double>, Eigen::COLAMDOrdering<int>> lu_;
    std::vector<int> lower_, upper_;
    Vector z_, solution_;
    std::vector<double> active_;
    bool good_ = false;
    int analyses_ = 0;
};

} // namespace

std::unique_ptr<LinearSolver> build_augmented_dense(const Pattern& pattern) {
    return std::make_unique<AugmentedDense>(pattern);
}

std::unique_ptr<LinearSolver> build_augmented_sparse(const Pattern& pattern) {
    return std::make_unique<AugmentedSparse>(pattern);
}

} // namespace linkwork
