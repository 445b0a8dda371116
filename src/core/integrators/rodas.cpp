// RODAS: Rosenbrock methods of order 4 with six stages, L-stable and stiffly accurate, with an embedded solution of
// order 3 and a continuous extension of order 3. Linearly implicit: no iteration, but J must be that of the step.
//
// [hairer2] E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section VI.4 (the methods) and IV.7 (the
// form free of products with J, (7.25)); for each stage
//   (1/(gamma h) - J) u_i = f(t_n + c_i h, x_n + sum_j a_ij u_j) + sum_j c_ij u_j / h + h d_i f_t,
// x_5 = x_n + sum_{j<5} a_5j u_j, x^ = x_5 + u_5 (embedded, also the argument of stage 6), x_{n+1} = x^ + u_6.
// rodas4: RODAS of [hairer2]; rodas42: the second set of the published code, for the same conditions; rodas4p (RODASP):
// G. Steinebach, preprint 1741, TH Darmstadt 1995, and rodas4p2 (RODASP2): G. Steinebach, in Progress in
// Differential-Algebraic Equations II, Springer 2020; these two keep their order on parabolic and Prothero-Robinson
// problems.
#include <algorithm>
#include <stdexcept>

#include "implicit.hpp"
#include "newton.hpp"
#include "step_size.hpp"

namespace linkwork {

namespace {

constexpr int stages = 6;
constexpr double gamma = 0.25; // of all variants

struct RodasTable {
    double c[stages], d[stages];
    double a[stages - 1][stages - 2]; // the sixth row is the fifth and a 1
    double rates[stages][stages - 1]; // c_ij
    double dense[2][stages - 1];
};

// clang-format off
constexpr RodasTable rodas4{
    {0, 0.386, 0.21, 0.63, 1, 1},
    {0.25, -0.1043, 0.1035, -0.0362, 0, 0},
    {{},
     {1.544},
     {0.9466785280815826, 0.2557011698983284},
     {3.314825187068521, 2.896124015972201, 0.9986419139977817},
     {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895}},
    {{},
     {-5.6688},
     {-2.430093356833875, -0.2063599157091915},
     {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
     {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616},
     {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054}},
    {{10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662},
     {-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872}}};

constexpr RodasTable rodas42{
    {0, 0.3507221, 0.2557041, 0.681779, 1, 1},
    {0.25, -0.0690221, -0.0009672, -0.087979, 0, 0},
    {{},
     {1.4028884},
     {0.6581212688557198, -1.320936088384301},
     {7.131197445744498, 16.02964143958207, -5.561572550509766},
     {22.73885722420363, 67.38147284535289, -31.2187749303856, 0.7285641833203814}},
    {{},
     {-5.1043536},
     {-2.899967805418783, 4.040399359702244},
     {-32.64449927841361, -99.35311008728094, 49.99119122405989},
     {-76.46023087151691, -278.5942120829058, 153.9294840910643, 10.97101866258358},
     {-76.29701586804983, -294.2795630511232, 162.0029695867566, 23.6516690309527, -7.652977706771382}},
    {{-38.71940424117216, -135.8025833007622, 64.51068857505875, -4.192663174613162, -2.53193205033506},
     {-14.99268484949843, -76.30242396627033, 58.65928432851416, 16.61359034616402, -0.6758691794084156}}};

constexpr RodasTable rodas4p{
    {0, 0.75, 0.21, 0.63, 1, 1},
    {0.25, -0.5, -0.023504, -0.0362, 0, 0},
    {{},
     {3},
     {1.831036793486759, 0.4955183967433795},
     {2.304376582692669, -0.05249275245743001, -1.176798761832782},
     {-7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401}},
    {{},
     {-12},
     {-8.791795173947035, -2.207865586973518},
     {10.81793056857153, 6.780270611428266, 19.5348594464241},
     {34.19095006749676, 15.49671153725963, 54.7476087596413, 14.16005392148534},
     {34.62605830930532, 15.30084976114473, 56.99955578662667, 18.40807009793095, -5.714285714285717}},
    {{25.09876703708589, 11.62013104361867, 28.49148307714626, -5.664021568594133, 0},
     {1.638054557396973, -0.7373619806678748, 8.47791821923899, 15.9925314877952, -1.882352941176471}}};

constexpr RodasTable rodas4p2{
    {0, 0.75, 0.321448134013046, 0.519745732277726, 1, 1},
    {0.25, -0.5, -0.189532918363016, 0.085612108792769, 0, 0},
    {{},
     {3},
     {0.906377755268814, -0.189707390391685},
     {3.758617027739064, 1.161741776019525, -0.849258085312803},
     {7.089566927282776, 4.573591406461604, -8.423496976860259, -0.959280113459775}},
    {{},
     {-12},
     {-6.354581592719008, 0.338972550544623},
     {-8.575016317114033, -7.606483992117508, 12.22499765012482},
     {-5.888975457523102, -8.15739661784182, 24.805546872612922, 12.79040151279698},
     {-4.408651676063871, -6.692003137674639, 24.625568527593117, 16.627521966636085, -5.714285714285718}},
    {{-5.323528268423303, -10.042123754867493, 17.175254928256965, -5.079931171878093, -0.016185991706112},
     {6.984505741529879, 6.914061169603662, -0.849178943070653, 18.104410789349338, -3.516963011559032}}};
// clang-format on

class Rodas final : public Integrator {
public:
    Rodas(const RodasTable& table, int size, const Tolerances& tolerances)
        : table_(table), size_(size), tolerances_(tolerances), x_(size), candidate_(size), rate_(size), slope_(size),
          u_(static_cast<std::size_t>(stages) * size), dense_(static_cast<std::size_t>(2) * size) {}

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
    double* u(int stage) { return u_.data() + static_cast<std::size_t>(stage) * size_; }
    Status prepare(Implicit& ode);
    Status solve_stage(Implicit& ode, int stage);
    void add_stages(const double* weights, int count, double factor, double* sum);
    void build_dense();

    const RodasTable& table_;
    const int size_;
    const Tolerances tolerances_;
    Linearization linearization_;
    PredictiveControl control_{0.2, 6};
    std::vector<double> x_, candidate_;
    std::vector<double> rate_, slope_; // f and f_t at (t_n, x_n)
    std::vector<double> u_;            // [stages * size]
    std::vector<double> dense_;        // [2 * size]
    double t_ = 0, h_ = 0;
    bool dense_known_ = false;
    bool slope_known_ = false;
    bool retry_ = false; // a step from here was attempted before
};

Status Rodas::start(Implicit& ode, double t, const double* x, double t_end, double& h) {
    std::copy(x, x + size_, x_.data());
    t_ = t;
    retry_ = slope_known_ = false;
    linearization_.forget();
    if (h == 0) control_.restart();
    const Status status = ode.calc_rate(t_, x_.data(), rate_.data());
    if (status != Status::success || h > 0) return status;
    return find_first_step(ode, tolerances_, 4, t_, t_end, x_.data(), rate_.data(), candidate_.data(), u(0), h);
}

Attempt Rodas::attempt(Implicit& ode, double h, bool fixed) {
    Attempt result;
    h_ = h;
    result.next = std::abs(h);
    dense_known_ = false;
    const bool retry = retry_;
    retry_ = true;

    // stages; the last one is the error of the embedded solution
    result.status = prepare(ode);
    for (int stage = 0; stage < stages && result.status == Status::success; ++stage)
        result.status = solve_stage(ode, stage);
    if (result.status != Status::success) return result;
    const double* error = u(stages - 1);
    for (int i = 0; i < size_; ++i) candidate_[i] += error[i];
    result.error = std::sqrt(calc_squared_norm(tolerances_, error, x_.data(), candidate_.data()));
    if (!std::isfinite(result.error)) result.status = Status::not_finite;
    if (fixed || result.status != Status::success) return result;

    result.next = control_.calc_step(h, std::max(result.error, 1e-10), 0.9);
    if (retry && result.error <= 1) result.next = std::min(result.next, std::abs(h));
    return result;
}

// J and f_t at the beginning of the step, c I - J for this step. f_t by a difference so long that round-off of f is
// small beside h f, so short that its own error stays below that of the method.
Status Rodas::prepare(Implicit& ode) {
    Status status = linearization_.prepare(ode, t_, x_.data(), 1 / (h_ * gamma));
    if (slope_known_ || status != Status::success) return status;
    if (!ode.depends_on_time()) {
        std::fill(slope_.begin(), slope_.end(), 0.0);
        slope_known_ = true;
        return status;
    }
    const double step = std::max(1e-6 * std::abs(h_), 1e-12 * std::abs(t_)), t = t_ + std::copysign(step, h_);
    status = ode.calc_rate(t, x_.data(), slope_.data());
    for (int i = 0; i < size_; ++i) slope_[i] = (slope_[i] - rate_[i]) / (t - t_);
    slope_known_ = status == Status::success;
    return status;
}

Status Rodas::solve_stage(Implicit& ode, int stage) {
    double* unknown = u(stage);
    if (stage == 0) {
        std::copy(rate_.begin(), rate_.end(), unknown);
    } else {
        // the argument: that of the last stage is the one before with u_5 added
        if (stage < stages - 1) {
            std::copy(x_.begin(), x_.end(), candidate_.begin());
            add_stages(table_.a[stage], stage, 1, candidate_.data());
        } else {
            const double* last = u(stage - 1);
            for (int i = 0; i < size_; ++i) candidate_[i] += last[i];
        }
        const Status status = ode.calc_rate(t_ + table_.c[stage] * h_, candidate_.data(), unknown);
        if (status != Status::success) return status;
        add_stages(table_.rates[stage], stage, 1 / h_, unknown);
    }
    const double slope_weight = h_ * table_.d[stage];
    if (slope_weight != 0)
        for (int i = 0; i < size_; ++i) unknown[i] += slope_weight * slope_[i];
    ode.solve(unknown);
    return Status::success;
}

// sum += factor * (weights . u)
void Rodas::add_stages(const double* weights, int count, double factor, double* sum) {
    for (int j = 0; j < count; ++j) {
        const double weight = factor * weights[j];
        const double* stage = u(j);
        for (int i = 0; i < size_; ++i) sum[i] += weight * stage[i];
    }
}

// x(t_n + s h) = (1 - s) x_n + s (x_{n+1} + (1 - s) (k_1 + s k_2))
void Rodas::build_dense() {
    std::fill(dense_.begin(), dense_.end(), 0.0);
    for (int row = 0; row < 2; ++row)
        add_stages(table_.dense[row], stages - 1, 1, dense_.data() + static_cast<std::size_t>(row) * size_);
    dense_known_ = true;
}

Status Rodas::interpolate(Implicit&, double t, double* x) {
    if (!dense_known_) build_dense();
    const double s = (t - t_) / h_;
    const double *k1 = dense_.data(), *k2 = k1 + size_;
    for (int i = 0; i < size_; ++i) x[i] = (1 - s) * x_[i] + s * (candidate_[i] + (1 - s) * (k1[i] + s * k2[i]));
    return Status::success;
}

Status Rodas::accept(Implicit& ode, bool, double&) {
    const Status status = ode.calc_rate(t_ + h_, candidate_.data(), rate_.data());
    if (status != Status::success) return status;
    std::swap(x_, candidate_);
    t_ += h_;
    retry_ = slope_known_ = false;
    linearization_.grow_old(false);
    control_.accept();
    return status;
}

} // namespace

std::unique_ptr<Integrator> build_rodas(const std::string& variant, int size, const Tolerances& tolerances) {
    if (variant.empty() || variant == "rodas4") return std::make_unique<Rodas>(rodas4, size, tolerances);
    if (variant == "rodas42") return std::make_unique<Rodas>(rodas42, size, tolerances);
    if (variant == "rodas4p") return std::make_unique<Rodas>(rodas4p, size, tolerances);
    if (variant == "rodas4p2") return std::make_unique<Rodas>(rodas4p2, size, tolerances);
    throw std::invalid_argument("rodas has no variant '" + variant +
                                "': take 'rodas4', 'rodas42', 'rodas4p' or 'rodas4p2'");
}

} // namespace linkwork
