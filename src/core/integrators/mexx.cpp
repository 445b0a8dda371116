// MEXX: half-explicit extrapolation for the index-2 equations of mechanisms, x = (q, v), with control of order and step
// [lubich]: Ch. Lubich, Ch. Engstler, U. Nowak, U. Pohle, Numerical integration of constrained mechanical systems using
// MEXX, Mech. Struct. Mach. 23 (1995) 473-495. Theirs extrapolates the half-explicit Euler method in powers of h; here
// a half-explicit midpoint rule in powers of h^2.
//
// One step of length H consists of n substeps of length h = H / n, q_i and v_i at t_i = t_0 + i h, n even:
//     q_{i+1} = q_{i-1} + 2 h N(q_i) v_i,      v_{i+1} = v_{i-1} + 2 h a_i, (1) M a_i + J_i^T lambda_i = f(t_i, q_i,
//     v_i), J_i a_i = -[(J_{i+1} - J_{i-1}) v_i + Phi_t(t_{i+1}) - Phi_t(t_{i-1})] / (2 h), (2)
// where q_{i+1} and with it J_{i+1} are known before a_i: no derivative of J is formed, and J_{i+1} is at once the
// matrix of the next substep. Violations of the velocity constraints, c_i = J_i v_i + Phi_t(t_i), obey c_{i+1} =
// c_{i-1} + O(h^3), since (J_{i+1} - J_i) (v_{i+1} - v_i) and (J_{i-1} - J_i) (v_{i-1} - v_i) agree up to O(h^3). The
// first substep is one of Euler's method, with one-sided differences in (2):
//     q_1 = q_0 + h N(q_0) v_0,  v_1 = v_0 + h a_0,  J_0 a_0 = -[(J_1 - J_0) v_0 + Phi_t(t_1) - Phi_t(t_0)] / h. (3)
//
// The error of x_n has an expansion in h^2. Let u_k = x_{2k} and w_k = (x_{2k+1} + x_{2k-1}) / 2 [hairer II.8, after
// Stetter]. With q_{i+1} - q_{i-1} = 2 h N_i v_i, equations (2) make a_i a function of x_i and of the mean (q_{i+1} +
// q_{i-1}) / 2 that is even in h, say x_i' = F(x_i, mean; h^2), so that (1) is
//     x_{2k+1} = w_k + h F(u_k, w_k),      u_{k+1} = u_k + 2 h F(x_{2k+1}, u_k + h N v_{2k+1}),
//     w_{k+1} = x_{2k+1} + h F(u_{k+1}, w_{k+1}),
// where the last equation is explicit in q and then in v. Exchanging k and k + 1 and the sign of h gives the same
// equations: the one-step method (u_k, w_k) -> (u_{k+1}, w_{k+1}) is symmetric, hence its error expands in h^2 for
// initial values that are even functions of h. u_0 = x_0 is; w_0 = x_1 - h F(u_0, w_0) is x_0 in q, and in v the
// difference of (3) from the symmetric a_0, M^-1 J_0^T times a combination of [J(q_0 + d) + J(q_0 - d) - 2 J(q_0)] v_0
// / (2 h) with d = h N v_0 and the like of Phi_t, is odd in h, so that h times it is even. (The exact a_0 differs from
// the symmetric one by something even, and terms of h^3 appear.)
//
// With n_j = 4 j - 2, T_{j,1} = x_{n_j} and T_{j,l+1} = T_{j,l} + (T_{j,l} - T_{j-1,l}) / ((n_j / n_{j-l})^2 - 1),
// T_{j,j} has order 2 j and ||T_{j,j} - T_{j,j-1}|| is taken as its error. Order and step follow the work per unit step
// as in ODEX [hairer II.9]; the middle of the step is a substep of odd number in every chain, so that values and
// central differences there are extrapolated too, for the continuous extension [hairer-ostermann].
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "mexx.hpp"
#include "step_size.hpp"

namespace linkwork {

namespace {

constexpr int most_columns = mexx_max_order / 2;
constexpr int calc_substeps(int j) { return 4 * j - 2; }
// substeps of the columns before j, and the work up to j
constexpr int calc_substeps_before(int j) { return 2 * (j - 1) * (j - 1); }
constexpr int calc_work(int j) { return 1 + calc_substeps_before(j + 1); }

constexpr double safety = 0.94, caution = 0.65;    // h_j = safety h (caution / error)^(1 / (2 j - 1)) [odex]
constexpr double order_down = 0.8, order_up = 0.9; // ratios of work per unit step that change the order
constexpr double least_change = 0.02,
                 smallest_shrink = 4; // (least_change)^(1/(2j-1)) / 4 <= h_j / h, inverse of the first

constexpr double stable = 2; // growth of x' in a substep, looked at in the first columns
constexpr int stable_columns = 2;
constexpr int most_doubts = 4; // steps given up for it in a row; where x' jumps, shorter ones are no better

double square(double x) { return x * x; }

class Mexx final : public Integrator {
public:
    Mexx(int size, const Tolerances& tolerances, int max_order)
        : size_(size), columns_(std::max(2, (max_order + 1) / 2)), tolerances_(tolerances), x_(size), rate_(size),
          candidate_(size), before_(size), now_(size), after_(size), error_(size),
          table_(static_cast<std::size_t>(columns_) * size), starts_(table_.size()), middles_(table_.size()),
          rates_(static_cast<std::size_t>(calc_substeps_before(columns_ + 1)) * size),
          dense_(2 * table_.size() + size) {}

    Status start(Implicit& ode, double t, const double* x, double t_end, double& h) override;
    Attempt attempt(Implicit& ode, double h, bool fixed) override;
    Status interpolate(Implicit& ode, double t, double* x) override;
    double* candidate() override { return candidate_.data(); }
    Status accept(Implicit& ode, bool changed, double& next) override;
    double t() const override { return t_; }
    const double* x() const override { return x_.data(); }
    int order() const override { return 2 * done_; }

private:
    // terms of the continuous extension beyond the cubic ones
    static int calc_terms(int columns) { return std::max(1, 2 * columns - 4); }
    double* row(std::vector<double>& rows, int j) const { return rows.data() + static_cast<std::size_t>(j) * size_; }
    // x' of substep i of column j, 1 <= i < n_j
    double* rate(int j, int i) { return row(rates_, calc_substeps_before(j) + i); }
    Status begin_columns(HalfExplicit& equations, int count);
    Status calc_column(HalfExplicit& equations, int j);
    void extrapolate(std::vector<double>& rows, int j, int first);
    double calc_error(int j);
    bool is_unstable(int j);
    int find_verdict(int j) const;
    void choose(bool accepted, Attempt& result);
    void calc_middle(int derivative, double* out);
    Status build_dense(Implicit& ode);

    const int size_, columns_;
    const Tolerances tolerances_;
    std::vector<double> x_, rate_, candidate_;
    std::vector<double> before_, now_, after_, error_; // three points of a chain; scratch
    std::vector<double> table_;                        // [columns * size] T_{j,1} .. of the column of now
    std::vector<double> starts_;                       // [columns * size] x_1 of each column
    std::vector<double> middles_;                      // [columns * size] x in the middle of the step
    std::vector<double> rates_;                        // x' of all substeps
    std::vector<double> dense_;                        // terms of the continuous extension
    std::array<double, most_columns + 1> proposal_{},
        cost_{}; // of column j: step for the next, and work per unit of it
    double t_ = 0, h_ = 0;
    int target_ = 4; // column at which the error is expected to be small enough
    int done_ = 0;   // columns of the last attempt
    int next_target_ = 4;
    int doubts_ = 0;
    bool rejected_ = false, dense_known_ = false, started_ = false;
};

Status Mexx::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    if (!ode.half_explicit()) throw std::invalid_argument("half-explicit integrators need formulation index2");
    std::copy(x, x + size_, x_.data());
    t_ = t;
    rejected_ = false;
    doubts_ = 0;
    if (!started_) target_ = std::clamp(static_cast<int>(1.5 - 0.5 * std::log10(tolerances_.rtol)), 2, columns_);
    started_ = true;
    next_target_ = target_;
    const Status status = ode.calc_rate(t_, x_.data(), rate_.data());
    if (status != Status::success || h > 0) return status;
    return find_first_step(ode, tolerances_, 2 * target_ - 1, t_, t_end, x_.data(), rate_.data(), now_.data(),
                           error_.data(), h);
}

// First substeps (3) of the columns up to `count`, all with the matrix of x_0.
Status Mexx::begin_columns(HalfExplicit& equations, int count) {
    const int positions = equations.positions();
    Status status = equations.open_stage(t_, x_.data(), rate_.data());
    for (int j = 1; j <= count && status == Status::success; ++j) {
        const double h = h_ / calc_substeps(j);
        double* x = row(starts_, j - 1);
        for (int i = 0; i < positions; ++i) x[i] = x_[i] + h * rate_[i];
        status = equations.close_stage_between(t_, x_.data(), t_ + h, x, error_.data());
        for (int i = positions; i < size_; ++i) x[i] = x_[i] + h * error_[i - positions];
    }
    return status;
}

// The chain (1), (2) of column j, ending in T_{j,1}.
Status Mexx::calc_column(HalfExplicit& equations, int j) {
    const int n = calc_substeps(j), positions = equations.positions();
    const double h = h_ / n;
    std::copy(x_.begin(), x_.end(), before_.begin());
    std::copy_n(row(starts_, j - 1), size_, now_.begin());
    for (int i = 1; i < n; ++i) {
        double* slope = rate(j, i);
        Status status = equations.open_stage(t_ + i * h, now_.data(), slope);
        if (status != Status::success) return status;
        for (int m = 0; m < positions; ++m) after_[m] = before_[m] + 2 * h * slope[m];
        status = equations.close_stage_between(t_ + (i - 1) * h, before_.data(), t_ + (i + 1) * h, after_.data(),
                                               slope + positions);
        if (status != Status::success) return status;
        for (int m = positions; m < size_; ++m) after_[m] = before_[m] + 2 * h * slope[m];
        if (2 * i == n) std::copy(now_.begin(), now_.end(), row(middles_, j - 1));
        before_.swap(now_);
        now_.swap(after_);
    }
    std::copy(now_.begin(), now_.end(), row(table_, j - 1));
    return Status::success;
}

// Row j - 1 holds the new T_{j,first}; afterwards row l - 1 holds T_{j,j-l+first}, down to row first - 1 with T_{j,j}.
void Mexx::extrapolate(std::vector<double>& rows, int j, int first) {
    for (int l = j; l > first; --l) {
        const double factor = 1 / (square(static_cast<double>(calc_substeps(j)) / calc_substeps(l - 1)) - 1);
        const double* better = row(rows, l - 1);
        double* other = row(rows, l - 2);
        for (int i = 0; i < size_; ++i) other[i] = better[i] + factor * (better[i] - other[i]);
    }
}

// Whether x' has changed by more than twice its size over the first substep of column j: the midpoint rule lets such
// parts of the motion grow, and where they are small by accident no error tells [odex].
bool Mexx::is_unstable(int j) {
    const double* slope = rate(j, 1);
    for (int i = 0; i < size_; ++i) error_[i] = slope[i] - rate_[i];
    const double change = calc_squared_norm(tolerances_, error_.data(), x_.data(), x_.data());
    return change >
           square(stable) * std::max(calc_squared_norm(tolerances_, rate_.data(), x_.data(), x_.data()), 1e-10);
}

// ||T_{j,j} - T_{j,j-1}||; sets the step that column j proposes.
double Mexx::calc_error(int j) {
    const double *best = row(table_, 0), *second = row(table_, 1);
    for (int i = 0; i < size_; ++i) error_[i] = best[i] - second[i];
    const double error = std::sqrt(calc_squared_norm(tolerances_, error_.data(), x_.data(), best));
    const double power = 1.0 / (2 * j - 1), bound = std::pow(least_change, power);
    const double growth = safety * std::pow(caution / std::max(error, 1e-30), power);
    proposal_[j] = std::abs(h_) * std::clamp(growth, bound / smallest_shrink, 1 / bound);
    cost_[j] = calc_work(j) / proposal_[j];
    return error;
}

Attempt Mexx::attempt(Implicit& ode, double h, bool fixed) {
    Attempt result;
    h_ = h;
    dense_known_ = false;
    target_ = next_target_;
    result.next = std::abs(h);
    HalfExplicit& equations = *ode.half_explicit();
    const int most = fixed ? columns_ : std::min(target_ + 1, columns_);
    result.status = begin_columns(equations, most);
    for (done_ = 1; result.status == Status::success; ++done_) {
        result.status = calc_column(equations, done_);
        if (result.status != Status::success) return result;
        if (!fixed && done_ <= stable_columns && doubts_ < most_doubts && is_unstable(done_)) {
            ++doubts_;
            result.error = 2;
            result.next = 0.5 * std::abs(h);
            rejected_ = true;
            return result;
        }
        extrapolate(table_, done_, 1);
        if (done_ == 1) continue;
        result.error = calc_error(done_);
        if (!std::isfinite(result.error)) result.status = Status::not_finite;
        if (result.status != Status::success) return result;
        // the columns around the target decide; before the last one, whether the next ones can be expected to reach it
        const bool counts = fixed || done_ >= target_ - 1;
        if (done_ == most || (counts && result.error <= 1)) break;
        if (fixed || !counts) continue;
        double hope = 1; // by how much the columns to come are going to lower the error
        for (int j = done_ + 1; j <= most; ++j) hope *= square(calc_substeps(j) / 2.0);
        if (result.error > hope) break;
    }
    if (result.status != Status::success) return result;
    std::copy_n(row(table_, 0), size_, candidate_.data());
    if (!fixed) choose(result.error <= 1, result);
    return result;
}

// The next column to aim at and the step, by least work per unit step [odex].
void Mexx::choose(bool accepted, Attempt& result) {
    const int last = done_;
    const auto is_cheaper = [&](int j, int other, double ratio) { return cost_[j] < ratio * cost_[other]; };
    if (!accepted) {
        next_target_ = std::min(target_, last);
        if (next_target_ > 2 && is_cheaper(next_target_ - 1, next_target_, order_down)) --next_target_;
        result.next = proposal_[next_target_];
        rejected_ = true;
        return;
    }
    int best = last;
    if (last == 2) {
        best = 3;
    } else if (last <= target_) {
        if (is_cheaper(last - 1, last, order_down)) best = last - 1;
        if (is_cheaper(last, last - 1, order_up)) best = last + 1;
    } else {
        best = last - 1;
        if (last > 3 && is_cheaper(last - 2, last - 1, order_down)) best = last - 2;
        if (is_cheaper(last, best, order_up)) best = last;
    }
    best = std::min(best, rejected_ ? last : columns_);
    // a column that was not reached: the step at which it does the same work per unit
    result.next = best <= last ? proposal_[best] : proposal_[last] * calc_work(best) / calc_work(last);
    if (rejected_) result.next = std::min(result.next, std::abs(h_));
    next_target_ = best;
    rejected_ = false;
}

// Derivative of this order (0: x itself) at the middle of the step, times H to its power: central differences of x'
// over substeps of one parity, extrapolated over the columns that have them.
void Mexx::calc_middle(int derivative, double* out) {
    const int m = derivative - 1, first = std::max(1, (derivative + 2) / 2);
    for (int j = first; j <= done_; ++j) {
        double* value = row(table_, j - 1);
        if (derivative == 0) {
            std::copy_n(row(middles_, j - 1), size_, value);
        } else {
            const int n = calc_substeps(j), middle = n / 2;
            double weight = h_ * std::pow(n / 2.0, m); // of the binomial, with its sign
            std::fill(value, value + size_, 0.0);
            for (int l = 0; l <= m; ++l) {
                const double* slope = rate(j, middle + m - 2 * l);
                for (int i = 0; i < size_; ++i) value[i] += weight * slope[i];
                weight *= -static_cast<double>(m - l) / (l + 1);
            }
        }
        extrapolate(table_, j, first);
    }
    std::copy_n(row(table_, first - 1), size_, out);
}

// With s = theta - 1/2 in (-1/2, 1/2), the continuous extension is the cubic Hermite polynomial of both ends plus
// (1/4 - s^2)^2 sum_m r_m s^m, where (1/4 - s^2)^2 = 1/16 - s^2/2 + s^4 vanishes twice at both ends. So the r_m follow,
// one after the other, from the derivatives e_m that the Hermite polynomial lacks in the middle:
// e_m / m! = r_m / 16 - r_{m-2} / 2 + r_{m-4}.
Status Mexx::build_dense(Implicit& ode) {
    const Status status = ode.calc_rate(t_ + h_, candidate_.data(), after_.data());
    if (status != Status::success) return status;
    double* hermite = row(dense_, 0); // coefficients of s^0 .. s^3
    for (int i = 0; i < size_; ++i) {
        const double a = x_[i], b = candidate_[i], p = h_ * rate_[i], q = h_ * after_[i];
        hermite[i] = 0.5 * (a + b) + 0.125 * (p - q);
        hermite[size_ + i] = 1.5 * (b - a) - 0.25 * (p + q);
        hermite[2 * size_ + i] = 0.5 * (q - p);
        hermite[3 * size_ + i] = 2 * (a - b) + p + q;
    }
    double factorial = 1;
    for (int m = 0; m < calc_terms(done_); ++m) {
        double* r = row(dense_, 4 + m);
        calc_middle(m, r);
        if (m > 1) factorial *= m;
        for (int i = 0; i < size_; ++i) {
            double lacking = r[i] / factorial;
            if (m < 4) lacking -= hermite[m * size_ + i];
            if (m >= 2) lacking += 0.5 * row(dense_, 2 + m)[i];
            if (m >= 4) lacking -= row(dense_, m)[i];
            r[i] = 16 * lacking;
        }
    }
    dense_known_ = true;
    return Status::success;
}

Status Mexx::interpolate(Implicit& ode, double t, double* x) {
    if (!dense_known_) {
        const Status status = build_dense(ode);
        if (status != Status::success) return status;
    }
    const double s = (t - t_) / h_ - 0.5, bump = square(0.25 - s * s);
    const int terms = calc_terms(done_);
    for (int i = 0; i < size_; ++i) {
        double sum = 0;
        for (int m = terms - 1; m >= 0; --m) sum = sum * s + row(dense_, 4 + m)[i];
        double cubic = 0;
        for (int m = 3; m >= 0; --m) cubic = cubic * s + row(dense_, m)[i];
        x[i] = cubic + bump * sum;
    }
    return Status::success;
}

Status Mexx::accept(Implicit& ode, bool, double&) {
    const Status status = ode.calc_rate(t_ + h_, candidate_.data(), rate_.data());
    if (status != Status::success) return status;
    std::swap(x_, candidate_);
    t_ += h_;
    doubts_ = 0;
    return Status::success;
}

} // namespace

std::unique_ptr<Integrator> build_mexx(int size, const Tolerances& tolerances, int max_order) {
    return std::make_unique<Mexx>(size, tolerances, max_order);
}

} // namespace linkwork
