#include "regularized.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "augmented.hpp"

namespace linkwork {
namespace {

constexpr double relative = 1e-8; // eps, as a part of the largest diagonal entry of J M^-1 J^T
constexpr double settled = 1e-12; // changes of y, as a part of the largest, that end the sweeps
constexpr double lost = 0.5;      // changes that shrink less belong to rows that contradict each other: they give way
constexpr int most_sweeps = 40;

class Regularized final : public LinearSolver {
public:
    Regularized(const std::string& name, const Pattern& pattern) : name_(name), plain_(pattern) {
        for (const Part& part : pattern.parts) {
            const int nv = pattern.bodies[part.body].nv;
            if (nv > 0) plain_size_ = std::max(plain_size_, part.offset + pattern.blocks[part.block].rows * nv);
        }
    }

    bool analyse(const double* jacobian, const double* active) override {
        build(relative * find_largest(jacobian, active));
        fill(jacobian);
        return inner_->analyse(jacobian_.data(), active);
    }
    bool factor(const double* jacobian, const double* active) override {
        fill(jacobian);
        return inner_->factor(jacobian_.data(), active);
    }
    void solve(double* x, double* y) override {
        std::fill(guess_.begin(), guess_.end(), 0.0);
        double before = std::numeric_limits<double>::infinity();
        for (int sweep = 0; sweep < most_sweeps; ++sweep) {
            std::copy_n(x, plain_.nv, x_.begin());
            std::fill(x_.begin() + plain_.nv, x_.end(), 0.0);
            for (int i = 0; i < plain_.rows; ++i) x_[slack_[i]] = guess_[i];
            std::copy_n(y, plain_.rows, y_.begin());
            inner_->solve(x_.data(), y_.data());
            double change = 0, size = 0;
            for (int i = 0; i < plain_.rows; ++i) {
                change = std::max(change, std::abs(y_[i] - guess_[i]));
                size = std::max(size, std::abs(y_[i]));
            }
            guess_.swap(y_);
            if (!(change > settled * size) || !(change < lost * before)) break;
            before = change;
        }
        std::copy_n(x_.begin(), plain_.nv, x);
        std::copy(guess_.begin(), guess_.end(), y);
    }
    void solve_many(double* x, double* y, int count) override { solve_each(*this, plain_, x, y, count); }
    double pivot_ratio() const override { return inner_->pivot_ratio(); }
    LinearFacts facts() const override { return inner_ ? inner_->facts() : LinearFacts{}; }

private:
    double find_largest(const double* jacobian, const double* active) const {
        std::vector<double> diagonal(plain_.rows, 0.0), inverse(plain_.nv, 0.0);
        for (const MassEntry& e : build_augmented_entries(plain_).mass)
            if (e.row == e.column) inverse[e.row] = 1.0 / e.value;
        for (const JacobianEntry& e : build_augmented_entries(plain_).jacobian)
            diagonal[e.row] += active[e.row] * jacobian[e.source] * jacobian[e.source] * inverse[e.column];
        const double largest = diagonal.empty() ? 0.0 : *std::max_element(diagonal.begin(), diagonal.end());
        return largest > 0.0 ? largest : 1.0;
    }

    // The pattern with a slack body for each block. Allocates; the values of eps stay.
    void build(double eps) {
        Pattern pattern = plain_;
        pattern.parts.clear();
        slack_.assign(plain_.rows, 0);
        int offset = plain_size_;
        for (std::size_t k = 0; k < plain_.blocks.size(); ++k) {
            Block& block = pattern.blocks[k];
            block.part = static_cast<int>(pattern.parts.size());
            for (const Part& part : plain_.parts)
                if (part.block == static_cast<int>(k) && plain_.bodies[part.body].nv > 0) pattern.parts.push_back(part);
            Body slack{};
            slack.kind = block.rows > 3 ? body_rigid : body_point;
            slack.nv = block.rows > 3 ? 6 : 3;
            slack.v = pattern.nv;
            slack.mass = 1.0 / eps;
            for (int i = 0; i < 3; ++i) slack.inertia[i][i] = 1.0 / eps, slack.inertia_inverse[i][i] = eps;
            for (int i = 0; i < slack.nv; ++i) slack.columns[i] = i;
            pattern.parts.push_back({static_cast<int>(k), static_cast<int>(pattern.bodies.size()), offset, 0});
            block.parts = static_cast<int>(pattern.parts.size()) - block.part;
            for (int r = 0; r < block.rows; ++r) slack_[block.row + r] = pattern.nv + r;
            offset += block.rows * slack.nv;
            pattern.nv += slack.nv;
            pattern.bodies.push_back(slack);
        }
        jacobian_.assign(offset, 0.0);
        for (std::size_t k = 0; k < pattern.parts.size(); ++k) {
            const Part& part = pattern.parts[k];
            if (part.offset < plain_size_) continue;
            const int nv = pattern.bodies[part.body].nv;
            for (int r = 0; r < pattern.blocks[part.block].rows; ++r) jacobian_[part.offset + r * nv + r] = 1.0;
        }
        x_.assign(pattern.nv, 0.0);
        y_.assign(plain_.rows, 0.0);
        guess_.assign(plain_.rows, 0.0);
        inner_ = build_linear_solver(name_, pattern);
    }
    void fill(const double* jacobian) { std::copy_n(jacobian, plain_size_, jacobian_.begin()); }

    const std::string name_;
    const Pattern plain_;
    int plain_size_ = 0; // of the Jacobian without slacks
    std::unique_ptr<LinearSolver> inner_;
    std::vector<int> slack_; // per row: the velocity coordinate of its slack
    std::vector<double> jacobian_, x_, y_, guess_;
};

} // namespace

std::unique_ptr<LinearSolver> build_regularized(const std::string& name, const Pattern& pattern) {
    return std::make_unique<Regularized>(name, pattern);
}

} // namespace linkwork
