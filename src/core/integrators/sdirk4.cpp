// SDIRK4: singly diagonally implicit Runge-Kutta methods of order 4 with five stages, L-stable and stiffly accurate,
// with an embedded solution of order 3 and a continuous extension of order 3.
//
// Methods: [hairer2] E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, table IV.6.5 (gamma = 1/4) and
// (IV.6.16) (gamma = 4/15, the smaller error constant). Controls: [hairer2 IV.8] and their published code SDIRK4.
//
// With z_i = X_i - x_n, Z = (z_1..z_5) and A = gamma I + (strictly lower part) the stages X_i = x_n + h sum a_ij f(X_j)
// read
//   z_i = sum_{j<i} alpha_ij z_j + gamma h f(t_n + c_i h, x_n + z_i),      alpha = I - gamma A^-1,
// so that no rate is kept. Newton with J of an earlier point:
//   (1/(gamma h) - J) dz = f(t_n + c_i h, x_n + z_i) + (sum_j alpha_ij z_j - z_i) / (gamma h).
// On B x' = f the matrix is B/(gamma h) - J and what is divided by gamma h is multiplied by B.
// x_{n+1} = x_n + z_5, embedded x^ = x_n + sum_{j<5} e_j z_j, which is also where the iteration of z_5 begins.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "implicit.hpp"
#include "newton.hpp"
#include "step_size.hpp"

namespace linkwork {

namespace {

constexpr int stages = 5;

struct Sdirk4Table {
    double gamma;
    double c[stages];
    double alpha[stages][stages - 1];
    double start[stages][stages - 1]; // z_i ~ sum start_ij z_j, the last row is e; the first stage is extrapolated
    double dense[stages - 1][stages]; // x(t_n + s h) = x_n + sum_k s^k sum_j dense_kj z_j
};

// clang-format off
constexpr Sdirk4Table quarter{
    1.0 / 4,
    {1.0 / 4, 3.0 / 4, 11.0 / 20, 1.0 / 2, 1},
    {{}, {2}, {42.0 / 25, -4.0 / 25}, {89.0 / 68, -25.0 / 136, 15.0 / 136},
     {-37.0 / 12, -103.0 / 24, 275.0 / 8, -85.0 / 3}},
    {{}, {3}, {22.0 / 25, 11.0 / 25}, {3.0 / 17, 0, 155.0 / 187}, {-23.0 / 6, -17.0 / 12, 125.0 / 4, -85.0 / 3}},
    {{61.0 / 27, -185.0 / 54, 2525.0 / 18, -3740.0 / 27, -44.0 / 9},
     {2315.0 / 81, 1049.0 / 162, -27725.0 / 54, 40460.0 / 81, 557.0 / 27},
     {-6178.0 / 81, -1607.0 / 81, 20075.0 / 27, -56440.0 / 81, -718.0 / 27},
     {3680.0 / 81, 1360.0 / 81, -10000.0 / 27, 27200.0 / 81, 320.0 / 27}}};

constexpr Sdirk4Table four_fifteenths{
    4.0 / 15,
    {4.0 / 15, 23.0 / 30, 17.0 / 30, 707.0 / 1931, 1},
    {{}, {15.0 / 8}, {1577061.0 / 922880, -23427.0 / 115360},
     {647163682356923881.0 / 2414496535205978880.0, -593512117011179.0 / 3245291041943520.0,
      559907973726451.0 / 1886325418129671.0},
     {724545451.0 / 796538880, -830832077.0 / 267298560, 30957577.0 / 2509272, -69863904375173.0 / 6212571137048.0}},
    {{}, {23.0 / 8}, {907973.0 / 922880, 45789.0 / 115360},
     {4349295166479305.0 / 6626614847094348.0, 0, 558706165466680.0 / 1656653711773587.0},
     {7752107607.0 / 11393456128.0, -17881415427.0 / 11470078208.0, 2433277665.0 / 179459416,
      -96203066666797.0 / 6212571137048.0}},
    {{264288555637595.0 / 10680842944512.0, -15503117207965.0 / 3584224210944.0, 535722773425.0 / 12941152128.0,
      -76275664199204502075.0 / 1249571708221286528.0, -682119.0 / 201136},
     {-10364040608732437.0 / 199375734964224.0, 704181908771699.0 / 66905518604288.0,
      -5321636152745.0 / 34509739008.0, 14996434836288637940895.0 / 69976015660392045568.0, 165706491.0 / 11263616},
     {762462182266591.0 / 23004892495872.0, -152311966563257.0 / 7719867531264.0, 11931113333855.0 / 51764608512.0,
      -774211877072920261695.0 / 2691385217707386368.0, -8230811.0 / 433216},
     {-392450447604375.0 / 66458578321408.0, 905246655991875.0 / 66905518604288.0, -1353677821875.0 / 11503246336.0,
      9404511162762740979375.0 / 69976015660392045568.0, 97756875.0 / 11263616}}};
// clang-format on

// controls of the published code
constexpr NewtonRule newton_rule{7, 0.03, false, 0};
constexpr int fixed_iterations = 30; // at fixed step there is no shorter one to go to
constexpr double safety = 0.9, keep_rate = 0.001, keep_growth = 1.2, largest_change = 4;

class Sdirk4 final : public Integrator {
public:
    Sdirk4(const Sdirk4Table& table, int size, const Tolerances& tolerances, bool keep_jacobian)
        : table_(table), size_(size), tolerances_(tolerances), scale_(tolerances), newton_(newton_rule),
          linearization_(keep_jacobian), x_(size), candidate_(size), known_(size), residual_(size), gap_(size),
          mass_(size), z_(static_cast<std::size_t>(stages) * size), z_last_(static_cast<std::size_t>(stages) * size) {}

    Status start(Implicit& ode, double t, const double* x, double t_end, double& h) override;
    Attempt attempt(Implicit& ode, double h, bool fixed) override;
    Status interpolate(Implicit& ode, double t, double* x) override;
    double* candidate() override { return candidate_.data(); }
    Status accept(Implicit& ode, bool changed, double& next) override;
    double t() const override { return t_; }
    const double* x() const override { return x_.data(); }
    int order() const override { return 4; }
    IntegratorFacts facts() const override { return linearization_.facts; }

private:
    double* z(int stage) { return z_.data() + static_cast<std::size_t>(stage) * size_; }
    Status solve_stages(Implicit& ode);
    void predict_stage(int stage);
    Status solve_stage(Implicit& ode, int stage);
    double calc_error(Implicit& ode);
    double calc_next_step(double error) const;
    void add_stages(const double* weights, int count, const std::vector<double>& z, double* sum) const;
    void calc_dense_weights(double s, double* weights) const;

    const Sdirk4Table& table_;
    const int size_;
    const Tolerances tolerances_;
    ErrorScale scale_;
    Convergence newton_;
    Linearization linearization_;
    std::vector<double> x_, candidate_;
    std::vector<double> known_;      // sum_{j<i} alpha_ij z_j
    std::vector<double> residual_;   // and correction
    std::vector<double> gap_, mass_; // what c B is applied to, and B times it
    std::vector<double> z_, z_last_; // [stages * size] of the attempted and of the last accepted step
    double t_ = 0, t_end_ = 0, h_ = 0, h_last_ = 0;
    std::array<double, stages> eta_{}; // of the iteration of each stage
    bool guessed_ = true;              // the step is a guess: none is accepted yet, or none since a jump of the state
    bool predictable_ = false;         // a step since `start` is there to be extrapolated
    bool retry_ = false;               // a step from here was attempted before
    bool iteration_failed_ = false;    // so do not trust the extrapolation
};

Status Sdirk4::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    std::copy(x, x + size_, x_.data());
    t_ = t;
    t_end_ = t_end;
    if (h == 0) guessed_ = true;
    predictable_ = false;
    retry_ = iteration_failed_ = false;
    eta_.fill(1);
    linearization_.forget();
    scale_.place(x_.data());
    if (h > 0) return Status::success;
    const Status status = calc_derivative(ode, t_, x_.data(), residual_.data());
    if (status != Status::success) return status;
    return find_first_step(ode, tolerances_, 4, t_, t_end, x_.data(), residual_.data(), candidate_.data(),
                           known_.data(), h);
}

Attempt Sdirk4::attempt(Implicit& ode, double h, bool fixed) {
    Attempt result;
    h_ = h;
    if (retry_) linearization_.distrust();
    ode.set_scale(scale_.inverse(), solution_accuracy, 0);
    newton_.allow(fixed ? fixed_iterations : newton_rule.most, ode.has_mass());
    result.status = solve_stages(ode);
    if (result.status == Status::no_convergence && fixed && !linearization_.is_current()) {
        linearization_.distrust();
        result.status = solve_stages(ode);
    }
    iteration_failed_ = iteration_failed_ || result.status == Status::no_convergence;
    result.next = newton_.shorter() * std::abs(h);
    if (result.status == Status::success) {
        result.error = calc_error(ode);
        if (!std::isfinite(result.error)) result.status = Status::not_finite;
        result.next = fixed ? std::abs(h) : calc_next_step(result.error);
    }
    retry_ = true;
    return result;
}

Status Sdirk4::solve_stages(Implicit& ode) {
    Status status = linearization_.prepare(ode, t_, x_.data(), 1 / (h_ * table_.gamma));
    for (int stage = 0; stage < stages && status == Status::success; ++stage) {
        predict_stage(stage);
        status = solve_stage(ode, stage);
    }
    if (status == Status::no_convergence) ++linearization_.facts.convergence_failures;
    if (status != Status::success) return status;
    const double* last = z(stages - 1);
    for (int i = 0; i < size_; ++i) candidate_[i] = x_[i] + last[i];
    return status;
}

// First guess of z_i: the first stage by the continuous extension of the step before, the others from the stages so
// far.
void Sdirk4::predict_stage(int stage) {
    add_stages(table_.alpha[stage], stage, z_, known_.data());
    if (stage > 0) return add_stages(table_.start[stage], stage, z_, z(stage));
    if (!predictable_ || iteration_failed_) {
        std::fill(z(0), z(0) + size_, 0.0);
        return;
    }
    double weights[stages];
    calc_dense_weights(1 + table_.gamma * h_ / h_last_, weights);
    weights[stages - 1] -= 1; // relative to x_n = x_{n-1} + z_5
    add_stages(weights, stages, z_last_, z(0));
}

Status Sdirk4::solve_stage(Implicit& ode, int stage) {
    const double c = 1 / (h_ * table_.gamma);
    double* unknown = z(stage);
    newton_.begin(eta_[stage], retry_ ? 2 * keep_rate : keep_rate);
    for (;;) {
        for (int i = 0; i < size_; ++i) candidate_[i] = x_[i] + unknown[i];
        const Status status = ode.calc_rate(t_ + table_.c[stage] * h_, candidate_.data(), residual_.data());
        if (status != Status::success) return status;
        for (int i = 0; i < size_; ++i) gap_[i] = known_[i] - unknown[i];
        const double* gap = calc_mass_times(ode, gap_.data(), mass_);
        for (int i = 0; i < size_; ++i) residual_[i] += c * gap[i];
        ode.solve(residual_.data());
        ++linearization_.facts.iterations;
        const Iteration iteration = newton_.judge(scale_.calc_norm(residual_.data()), scale_.roundoff());
        if (iteration == Iteration::failed) return Status::no_convergence;
        for (int i = 0; i < size_; ++i) unknown[i] += residual_[i];
        if (iteration == Iteration::converged) break;
    }
    eta_[stage] = newton_.eta();
    return Status::success;
}

// (I - gamma h J)^-1 (x_{n+1} - x^): the embedded method is not A-stable, the filter bounds it for stiff components
// [hairer2 (8.19)].
double Sdirk4::calc_error(Implicit& ode) {
    const double c = 1 / (h_ * table_.gamma);
    const double* last = z(stages - 1);
    add_stages(table_.start[stages - 1], stages - 1, z_, residual_.data());
    for (int i = 0; i < size_; ++i) gap_[i] = last[i] - residual_[i];
    const double* gap = calc_mass_times(ode, gap_.data(), mass_);
    for (int i = 0; i < size_; ++i) residual_[i] = c * gap[i];
    ode.solve(residual_.data());
    return std::max(scale_.calc_norm(residual_.data()), 1e-10);
}

// The step for the next attempt [hairer2 (8.21)]: the safety falls with the iterations of the last stage; after a
// failure no growth; a slightly larger step is not worth a new factorization while J serves.
double Sdirk4::calc_next_step(double error) const {
    const int most = newton_rule.most;
    const double h = std::abs(h_);
    const double factor = std::min(safety, safety * (1 + 2 * most) / (newton_.iterations() + 2 * most));
    double next = h / std::clamp(std::pow(error, 0.25) / factor, 1 / largest_change, largest_change);
    if (error > 1) return guessed_ ? 0.1 * h : next;
    if (retry_) next = std::min(next, h);
    const bool keep = newton_.theta() <= keep_rate && next >= h && next <= keep_growth * h;
    const bool ends = std::abs(t_end_ - t_) <= h + next; // with the larger one the next step is the last
    return keep && !ends ? h : next;
}

// sum = weights . z
void Sdirk4::add_stages(const double* weights, int count, const std::vector<double>& z, double* sum) const {
    std::fill(sum, sum + size_, 0.0);
    for (int j = 0; j < count; ++j) {
        const double weight = weights[j];
        if (weight == 0) continue;
        const double* stage = z.data() + static_cast<std::size_t>(j) * size_;
        for (int i = 0; i < size_; ++i) sum[i] += weight * stage[i];
    }
}

void Sdirk4::calc_dense_weights(double s, double* weights) const {
    for (int j = 0; j < stages; ++j) {
        weights[j] = 0;
        for (int k = stages - 2; k >= 0; --k) weights[j] = s * (weights[j] + table_.dense[k][j]);
    }
}

Status Sdirk4::interpolate(Implicit&, double t, double* x) {
    double weights[stages];
    calc_dense_weights((t - t_) / h_, weights);
    add_stages(weights, stages, z_, x);
    for (int i = 0; i < size_; ++i) x[i] += x_[i];
    return Status::success;
}

Status Sdirk4::accept(Implicit&, bool, double&) {
    std::swap(x_, candidate_);
    std::swap(z_, z_last_);
    t_ += h_;
    h_last_ = h_;
    guessed_ = retry_ = iteration_failed_ = false;
    predictable_ = true;
    linearization_.grow_old(newton_.theta() <= keep_rate);
    scale_.place(x_.data());
    return Status::success;
}

} // namespace

std::unique_ptr<Integrator> build_sdirk4(const std::string& variant, int size, const Tolerances& tolerances,
                                         bool keep_jacobian) {
    if (variant.empty() || variant == "4/15")
        return std::make_unique<Sdirk4>(four_fifteenths, size, tolerances, keep_jacobian);
    if (variant == "1/4") return std::make_unique<Sdirk4>(quarter, size, tolerances, keep_jacobian);
    throw std::invalid_argument("sdirk4 has no variant '" + variant + "': take '4/15' or '1/4'");
}

} // namespace linkwork
