#include "runge_kutta.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "step_size.hpp"

namespace linkwork {

namespace {

class RungeKutta final : public Integrator {
public:
    RungeKutta(const RungeKuttaTable& table, int size, const Tolerances& tolerances)
        : table_(table), size_(size), width_(table.stages + 1 + table.extra), tolerances_(tolerances), x_(size),
          candidate_(size), point_(size), error_(size), rates_(static_cast<std::size_t>(width_) * size),
          dense_(static_cast<std::size_t>(3 + table.dense_rows) * size) {}

    Status start(Implicit& ode, double t, const double* x, double t_end, double& h) override;
    Attempt attempt(Implicit& ode, double h, bool fixed) override;
    Status interpolate(Implicit& ode, double t, double* x) override;
    double* candidate() override { return candidate_.data(); }
    Status accept(Implicit& ode, bool changed, double& next) override;
    double t() const override { return t_; }
    const double* x() const override { return x_.data(); }
    int order() const override { return table_.order; }
    double stiffness() const override { return stiffness_; }

private:
    double* rate(int stage) { return rates_.data() + static_cast<std::size_t>(stage) * size_; }
    void add_rates(const double* weights, int count, const double* base, double factor, double* sum);
    double calc_error(Implicit& ode);
    Status calc_stage(Implicit& ode, int stage);
    Status find_end_rate(Implicit& ode);
    Status build_dense(Implicit& ode);
    void find_stiffness(Implicit& ode);

    const RungeKuttaTable& table_;
    const int size_, width_;
    const Tolerances tolerances_;
    std::vector<double> x_, candidate_; // current state, state at the end of the attempted step
    std::vector<double> point_, error_; // scratch
    std::vector<double> rates_;         // [width * size] rate of each stage; stage 0 belongs to x_
    std::vector<double> dense_;         // [(3 + dense_rows) * size] terms of the continuous extension
    double t_ = 0, h_ = 0;
    double error_last_ = 1e-4; // of the last accepted step, for the step control
    double error_trial_ = 1, stiffness_ = 0;
    int attempts_ = 0; // since the last accepted step
    bool end_rate_known_ = false, dense_known_ = false;
};

// sum = base + factor * (weights . rates); base may be null
void RungeKutta::add_rates(const double* weights, int count, const double* base, double factor, double* sum) {
    if (base)
        std::copy(base, base + size_, sum);
    else
        std::fill(sum, sum + size_, 0.0);
    for (int j = 0; j < count; ++j) {
        if (weights[j] == 0) continue;
        const double scale = factor * weights[j];
        const double* k = rate(j);
        for (int i = 0; i < size_; ++i) sum[i] += scale * k[i];
    }
}

// The rate of one stage. A half-explicit one takes forces at x_i = x + h sum_{j<i} a_ij k_j and the velocity
// constraints at x*_i = x + h sum_{j<=i} abar_ij k_j, whose positions are known once q'_i = N(q_i) v_i is [murua (7),
// (8)].
Status RungeKutta::calc_stage(Implicit& ode, int stage) {
    add_rates(table_.a + stage * width_, stage, x_.data(), h_, point_.data());
    const double t = t_ + table_.c[stage] * h_;
    if (!table_.a_bar) return ode.calc_rate(t, point_.data(), rate(stage));

    HalfExplicit& equations = *ode.half_explicit();
    const Status status = equations.open_stage(t, point_.data(), rate(stage));
    if (status != Status::success) return status;
    const double* weights = table_.a_bar + stage * width_;
    const double step = h_ * weights[stage];
    const int positions = equations.positions();
    add_rates(weights, stage, x_.data(), h_, point_.data());
    for (int i = 0; i < positions; ++i) point_[i] += step * rate(stage)[i];
    return equations.close_stage(t_ + table_.c_bar[stage] * h_, point_.data(), step, rate(stage) + positions);
}

Status RungeKutta::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    if (table_.a_bar) {
        if (!ode.half_explicit()) throw std::invalid_argument("half-explicit integrators need formulation index2");
        ode.half_explicit()->set_accuracy(tolerances_.rtol, tolerances_.atol.data());
    }
    std::copy(x, x + size_, x_.data());
    t_ = t;
    error_last_ = 1e-4;
    attempts_ = 0;
    const Status status = ode.calc_rate(t_, x_.data(), rate(0));
    if (status != Status::success || h > 0) return status;
    return find_first_step(ode, tolerances_, table_.order, t_, t_end, x_.data(), rate(0), point_.data(), rate(1), h);
}

Attempt RungeKutta::attempt(Implicit& ode, double h, bool fixed) {
    Attempt result;
    h_ = h;
    ++attempts_;
    dense_known_ = end_rate_known_ = false;
    result.next = std::abs(h);

    const bool first_known = !table_.a_bar || table_.a_bar[0] == 0;
    for (int stage = first_known ? 1 : 0; stage < table_.stages; ++stage) {
        result.status = calc_stage(ode, stage);
        if (result.status == Status::no_convergence) result.next *= 0.25;
        if (result.status != Status::success) return result;
    }
    add_rates(table_.a + table_.stages * width_, table_.stages, x_.data(), h, candidate_.data());
    if (table_.error[table_.stages] != 0) {
        result.status = find_end_rate(ode);
        if (result.status != Status::success) return result;
    }

    result.error = error_trial_ = calc_error(ode);
    if (!std::isfinite(result.error)) {
        result.status = Status::not_finite;
        return result;
    }
    if (fixed) return result;

    // Step control with a proportional and an integral part [hairer2 (IV.2.43c)]; no growth right after a failure.
    const double present = std::pow(result.error, table_.exponent);
    const double safety = 0.9;
    double divisor;
    if (result.error <= 1) {
        divisor = std::clamp(present / std::pow(error_last_, table_.beta) / safety, 1 / table_.grow, 1 / table_.shrink);
        if (attempts_ > 1) divisor = std::max(divisor, 1.0);
    } else {
        divisor = std::min(present / safety, 1 / table_.shrink);
    }
    result.next = std::abs(h) / divisor;
    return result;
}

// Error in units of the tolerance. With two embedded solutions of orders 5 and 3, E5^2 / sqrt(E5^2 + 0.01 E3^2) behaves
// like h^8 [hairer II.10].
double RungeKutta::calc_error(Implicit& ode) {
    const int count = table_.stages + (table_.error[table_.stages] != 0 ? 1 : 0);
    add_rates(table_.error, count, nullptr, h_, error_.data());
    ode.project_error(error_.data());
    const double high = calc_squared_norm(tolerances_, error_.data(), x_.data(), candidate_.data());
    if (!table_.error_low) return std::sqrt(high);
    add_rates(table_.error_low, count, nullptr, h_, error_.data());
    ode.project_error(error_.data());
    const double low = calc_squared_norm(tolerances_, error_.data(), x_.data(), candidate_.data());
    return high == 0 && low == 0 ? 0 : high / std::sqrt(high + 0.01 * low);
}

Status RungeKutta::find_end_rate(Implicit& ode) {
    if (end_rate_known_) return Status::success;
    const Status status = ode.calc_rate(t_ + h_, candidate_.data(), rate(table_.stages));
    end_rate_known_ = status == Status::success;
    return status;
}

// The continuous extension u(s) = x + s (F0 + (1-s) (F1 + s (F2 + (1-s) (F3 + ...)))) with s = (t - t_n)/h. F0, F1, F2
// are the cubic Hermite terms, F3.. are h D k [hairer II.6].
Status RungeKutta::build_dense(Implicit& ode) {
    Status status = find_end_rate(ode);
    for (int stage = table_.stages + 1; stage < width_ && status == Status::success; ++stage) {
        add_rates(table_.a + stage * width_, stage, x_.data(), h_, point_.data());
        status = ode.calc_rate(t_ + table_.c[stage] * h_, point_.data(), rate(stage));
    }
    if (status != Status::success) return status;
    const double *first = rate(0), *last = rate(table_.stages);
    double *f0 = dense_.data(), *f1 = f0 + size_, *f2 = f1 + size_;
    for (int i = 0; i < size_; ++i) {
        const double change = candidate_[i] - x_[i];
        f0[i] = change;
        f1[i] = h_ * first[i] - change;
        f2[i] = 2 * change - h_ * (first[i] + last[i]);
    }
    for (int row = 0; row < table_.dense_rows; ++row)
        add_rates(table_.dense + row * width_, width_, nullptr, h_, f2 + static_cast<std::size_t>(row + 1) * size_);
    dense_known_ = true;
    return Status::success;
}

Status RungeKutta::interpolate(Implicit& ode, double t, double* x) {
    if (!dense_known_) {
        const Status status = build_dense(ode);
        if (status != Status::success) return status;
    }
    const double s = (t - t_) / h_;
    const int last = 2 + table_.dense_rows;
    for (int i = 0; i < size_; ++i) {
        double sum = 0;
        for (int row = last; row >= 0; --row)
            sum = (sum + dense_[static_cast<std::size_t>(row) * size_ + i]) * (row % 2 == 0 ? s : 1 - s);
        x[i] = x_[i] + sum;
    }
    return Status::success;
}

// From the last stage and the candidate, two points at the end of the step. Further stages of the continuous extension
// have overwritten the first.
void RungeKutta::find_stiffness(Implicit& ode) {
    stiffness_ = 0;
    if (table_.stability == 0 || (dense_known_ && table_.extra > 0)) return;
    const double *last = rate(table_.stages - 1), *end = rate(table_.stages);
    for (int i = 0; i < size_; ++i) {
        error_[i] = end[i] - last[i];
        point_[i] = candidate_[i] - point_[i];
    }
    stiffness_ = calc_stiffness(ode, h_, error_.data(), point_.data()) / table_.stability;
}

Status RungeKutta::accept(Implicit& ode, bool changed, double&) {
    if (changed) end_rate_known_ = false;
    const Status status = find_end_rate(ode);
    if (status != Status::success) return status;
    find_stiffness(ode);
    std::copy(rate(table_.stages), rate(table_.stages) + size_, rate(0));
    std::swap(x_, candidate_);
    t_ += h_;
    error_last_ = std::max(error_trial_, 1e-4);
    attempts_ = 0;
    return Status::success;
}

} // namespace

std::unique_ptr<Integrator> build_runge_kutta(const RungeKuttaTable& table, int size, const Tolerances& tolerances) {
    return std::make_unique<RungeKutta>(table, size, tolerances);
}

} // namespace linkwork
