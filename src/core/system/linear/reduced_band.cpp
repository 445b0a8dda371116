// The method of [serban]: multipliers from the band matrix B = J M^-1 J^T, then the accelerations body by body.
#include <numeric>

#include "reduced_system.hpp"
#include "solvers.hpp"

namespace linkwork {
namespace {

std::vector<int> find_order(const Pattern& pattern, bool renumber) {
    if (renumber) return find_numbering(pattern, build_joint_graph(pattern));
    std::vector<int> order(pattern.blocks.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
}

class ReducedBand final : public LinearSolver {
public:
    ReducedBand(const Pattern& pattern, bool renumber) : system_(pattern, find_order(pattern, renumber)) {}

    // the numbering depends on the graph alone
    bool analyse(const double* jacobian, const double* active) override {
        ++analyses_;
        const bool good = factor(jacobian, active);
        reference_ = system_.smallest_pivot();
        return good;
    }

    bool factor(const double* jacobian, const double* active) override {
        system_.assemble(jacobian, active);
        return system_.factor();
    }

    void solve_many(double* x, double* y, int count) override { solve_each(*this, system_.pattern(), x, y, count); }
    void solve(double* x, double* y) override { system_.solve(x, y); }

    double pivot_ratio() const override { return reference_ > 0.0 ? system_.smallest_pivot() / reference_ : 1.0; }

    LinearFacts facts() const override {
        LinearFacts facts;
        const Envelope& envelope = system_.envelope();
        facts.multiply_adds = envelope.multiply_adds;
        facts.bandwidth = envelope.bandwidth;
        facts.profile = envelope.profile;
        facts.work = envelope.work;
        facts.analyses = analyses_;
        return facts;
    }

private:
    ReducedSystem system_;
    double reference_ = 0.0;
    int analyses_ = 0;
};

} // namespace

std::unique_ptr<LinearSolver> build_reduced_band(const Pattern& pattern, bool renumber) {
    return std::make_unique<ReducedBand>(pattern, renumber);
}

} // namespace linkwork
