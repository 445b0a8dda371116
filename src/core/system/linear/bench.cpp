#include "bench.hpp"

#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <Eigen/SparseLU>
#include <algorithm>
#include <chrono>
#include <numeric>

#include "reduced_system.hpp"

namespace linkwork {
namespace {

// Median over nine batches, so that a disturbed one does not count.
template <class Solve> double time_median(int repeats, const Solve& solve) {
    using Clock = std::chrono::steady_clock;
    const int batch = std::max(1, repeats / 9);
    double seconds[9];
    for (double& value : seconds) {
        const auto start = Clock::now();
        for (int i = 0; i < batch; ++i) solve();
        value = std::chrono::duration<double>(Clock::now() - start).count() / batch;
    }
    std::sort(seconds, seconds + 9);
    return seconds[4];
}

} // namespace

ReducedTimes time_reduced(const Pattern& pattern, const double* jacobian, const double* active, bool renumber,
                          int repeats) {
    std::vector<int> order(pattern.blocks.size());
    std::iota(order.begin(), order.end(), 0);
    if (renumber) order = find_numbering(pattern, build_joint_graph(pattern));
    ReducedSystem assembled(pattern, order);
    assembled.assemble(jacobian, active);

    // the same matrix for the libraries
    const int n = assembled.rows();
    Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(n, n);
    std::vector<Eigen::Triplet<double>> triplets;
    for (int i = 0; i < n; ++i)
        for (int j = assembled.first(i); j <= i; ++j) {
            const double value = assembled.entry(i, j);
            dense(i, j) = dense(j, i) = value;
            if (value == 0.0) continue;
            triplets.emplace_back(i, j, value);
            if (i != j) triplets.emplace_back(j, i, value);
        }
    Eigen::SparseMatrix<double> sparse(n, n);
    sparse.setFromTriplets(triplets.begin(), triplets.end());
    const Eigen::VectorXd right = Eigen::VectorXd::Ones(n);
    Eigen::VectorXd y(n);

    ReducedTimes times;
    Eigen::PartialPivLU<Eigen::MatrixXd> lu(n);
    times.dense_lu = time_median(repeats, [&] {
        lu.compute(dense);
        y = lu.solve(right);
    });
    Eigen::LLT<Eigen::MatrixXd> cholesky(n);
    times.dense_cholesky = time_median(repeats, [&] {
        cholesky.compute(dense);
        y = cholesky.solve(right);
    });
    Eigen::SparseLU<Eigen::SparseMatrix<double>, Eigen::COLAMDOrdering<int>> sparse_lu;
    sparse_lu.analyzePattern(sparse);
    times.sparse_lu = time_median(repeats, [&] {
        sparse_lu.factorize(sparse);
        y = sparse_lu.solve(right);
    });
    ReducedSystem band = assembled;
    times.band_cholesky = time_median(repeats, [&] {
        band.copy_matrix(assembled);
        band.factor();
        y = right;
        band.solve_rows(y.data());
    });
    times.bandwidth = assembled.envelope().bandwidth;
    times.profile = assembled.envelope().profile;
    times.work = assembled.envelope().work;
    return times;
}

} // namespace linkwork
