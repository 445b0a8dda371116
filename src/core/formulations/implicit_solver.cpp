#include "implicit_solver.hpp"

#include <algorithm>
#include <cmath>

namespace linkwork {

namespace {

constexpr double kept_range = 1.3; // ratio of c to that of the kept matrix, beyond which it is factored anew
// What preconditions is made anew when a solution takes more vectors than this many times those of the first one.
constexpr int kept_growth = 2, kept_vectors = 4;

double real_part(double s) { return s; }
double real_part(std::complex<double> s) { return s.real(); }
double imag_part(double) { return 0; }
double imag_part(std::complex<double> s) { return s.imag(); }

} // namespace

void ImplicitSolver::resize(int size, bool second_order, const FormulationOptions& options) {
    const std::string& mode = options.solver;
    mode_ = mode == "newton_fd" ? Mode::differences : mode == "krylov" ? Mode::krylov : Mode::analytic;
    size_ = size;
    second_order_ = second_order;
    half_ = second_order ? size / 2 : size;
    preconditions_ = mode_ == Mode::krylov && options.preconditioner != "none";
    stale_ = true;
    block_size_ = options.preconditioner == "block" ? options.block_size : 0;
    rule_.orthogonal = options.iom;
    x_.assign(size, 0.0);
    f_ = moved_ = slope_ = direction_ = image_ = x_;
    inverse_.assign(size, 1.0);
    matrix_inverse_.assign(half_, 1.0);
    resize_system<double>(rule_.vectors);
    resize_system<std::complex<double>>(rule_.vectors);
    if (mode_ == Mode::krylov && !preconditions_) return;
    if (second_order)
        J1.setZero(half_, half_), J2.setZero(half_, half_);
    else
        J.setZero(size, size);
}

template <class Scalar> void ImplicitSolver::resize_system(int vectors) {
    System<Scalar>& s = system<Scalar>();
    s.ready = false;
    s.side.setZero(half_);
    if (mode_ == Mode::krylov) s.krylov.resize(half_, vectors);
    if (mode_ == Mode::krylov && !preconditions_) return;
    s.matrix.setZero(half_, half_);
    s.lu = Eigen::PartialPivLU<MatrixOf<Scalar>>(half_);
}

void ImplicitSolver::set_scale(const double* inverse, double relative, double absolute) {
    std::copy_n(inverse, inverse_.size(), inverse_.begin());
    rule_.relative = relative;
    absolute_ = absolute;
}

// One column per entry of x; in second-order form only the lower half of f is looked at.
Status ImplicitSolver::calc_differences(Ode& ode, double t, const double* x) {
    t_ = t;
    std::copy(x, x + size_, x_.begin());
    Status status = ode.calc_rate(t, x, f_.data());
    if (status != Status::success) return status;
    if (mode_ == Mode::krylov) {
        double sum = 0;
        for (int i = 0; i < size_; ++i) sum += x[i] * inverse_[i] * x[i] * inverse_[i];
        size_of_x_ = std::sqrt(sum / std::max(size_, 1));
        return status;
    }
    moved_ = x_;
    for (int j = 0; j < size_; ++j) {
        const double step = std::sqrt(2.2e-16 * std::max(1e-5, std::abs(x[j])));
        moved_[j] = x[j] + step;
        status = ode.calc_rate(t, moved_.data(), slope_.data());
        if (status != Status::success) return status;
        const double inverse = 1 / (moved_[j] - x[j]);
        moved_[j] = x[j];
        if (!second_order_) {
            for (int i = 0; i < size_; ++i) J(i, j) = (slope_[i] - f_[i]) * inverse;
            continue;
        }
        Matrix& target = j < half_ ? J1 : J2;
        for (int i = 0; i < half_; ++i) target(i, j % half_) = (slope_[half_ + i] - f_[half_ + i]) * inverse;
    }
    return Status::success;
}

Status ImplicitSolver::fill_jacobian(Ode& ode, double* out) {
    if (mode_ == Mode::krylov) {
        ImplicitSolver whole;
        FormulationOptions options;
        options.solver = "newton_fd";
        whole.resize(size_, second_order_, options);
        const Status status = whole.calc_differences(ode, t_, x_.data());
        return status == Status::success ? whole.fill_jacobian(ode, out) : status;
    }
    for (int i = 0; i < size_; ++i)
        for (int j = 0; j < size_; ++j) {
            double& entry = out[static_cast<std::size_t>(i) * size_ + j];
            if (!second_order_)
                entry = J(i, j);
            else if (i < half_)
                entry = j == half_ + i ? 1.0 : 0.0;
            else
                entry = j < half_ ? J1(i - half_, j) : J2(i - half_, j - half_);
        }
    return Status::success;
}

template <class Scalar> Status ImplicitSolver::factor_any(Scalar c, Scalar c_a, Scalar c_v) {
    System<Scalar>& s = system<Scalar>();
    s.c = c, s.c_a = c_a, s.c_v = c_v;
    if (mode_ != Mode::krylov) return factor_matrix<Scalar>();
    if (!preconditions_) return Status::success;
    const double ratio = std::abs(c_a) / std::max(std::abs(s.factored_a), 1e-300);
    const double range = second_order_ ? kept_range * kept_range : kept_range;
    if (s.ready && !stale_ && ratio < range && ratio * range > 1) return Status::success;
    if (stale_) fresh_vectors_ = 0;
    stale_ = false;
    return factor_matrix<Scalar>();
}

template <class Scalar> Status ImplicitSolver::factor_matrix() {
    System<Scalar>& s = system<Scalar>();
    if (second_order_)
        s.matrix = -s.c_v * J2.cast<Scalar>() - J1.cast<Scalar>();
    else
        s.matrix = -J.cast<Scalar>();
    if (mass.size() > 0)
        s.matrix += s.c_a * mass.cast<Scalar>();
    else
        s.matrix.diagonal().array() += s.c_a;
    if (block_size_ > 0)
        for (int j = 0; j < half_; ++j)
            for (int i = 0; i < half_; ++i)
                if (i / block_size_ != j / block_size_) s.matrix(i, j) = 0;
    s.lu.compute(s.matrix);
    s.factored_a = s.c_a;
    const auto diagonal = s.lu.matrixLU().diagonal().cwiseAbs();
    s.ready = half_ == 0 || (diagonal.minCoeff() > 0 && std::isfinite(diagonal.maxCoeff()));
    return s.ready ? Status::success : Status::not_finite;
}

Status ImplicitSolver::factor(double c) { return factor_any(c, second_order_ ? c * c : c, c); }
Status ImplicitSolver::factor(std::complex<double> c) { return factor_any(c, second_order_ ? c * c : c, c); }
Status ImplicitSolver::factor_half(double c_a, double c_v) { return factor_any(c_v, c_a, c_v); }

void ImplicitSolver::solve_half(Ode& ode, double* r) { solve_matrix(ode, r); }
void ImplicitSolver::solve(Ode& ode, double* r) { solve_any(ode, r); }
void ImplicitSolver::solve(Ode& ode, std::complex<double>* r) { solve_any(ode, r); }

// In second-order form: dy from r2 + (c - J2) r1, du = c dy - r1
template <class Scalar> void ImplicitSolver::solve_any(Ode& ode, Scalar* r) {
    if (!second_order_) return solve_matrix(ode, r);
    System<Scalar>& s = system<Scalar>();
    Eigen::Map<Eigen::Matrix<Scalar, -1, 1>> upper(r, half_), lower(r + half_, half_);
    if (mode_ != Mode::krylov)
        s.side.noalias() = J2 * upper;
    else if (upper.isZero(0))
        s.side.setZero();
    else
        calc_slope(ode, r, Scalar(0), Scalar(1), s.side.data());
    lower += s.c * upper - s.side;
    solve_matrix(ode, lower.data());
    s.side = lower;
    lower = s.c * s.side - upper;
    upper = s.side;
}

template <class Scalar> void ImplicitSolver::solve_matrix(Ode& ode, Scalar* r) {
    mode_ == Mode::krylov ? solve_krylov(ode, r) : solve_lu(r);
}

template <class Scalar> void ImplicitSolver::solve_lu(Scalar* r) {
    System<Scalar>& s = system<Scalar>();
    Eigen::Map<Eigen::Matrix<Scalar, -1, 1>> side(r, half_);
    s.side = s.lu.permutationP() * side;
    s.lu.matrixLU().template triangularView<Eigen::UnitLower>().solveInPlace(s.side);
    s.lu.matrixLU().template triangularView<Eigen::Upper>().solveInPlace(s.side);
    side = s.side;
}

template <class Scalar> void ImplicitSolver::solve_krylov(Ode& ode, Scalar* r) {
    System<Scalar>& s = system<Scalar>();
    // dy comes with du = c_v dy: both are errors
    for (int i = 0; i < half_; ++i)
        matrix_inverse_[i] =
            second_order_ ? std::hypot(inverse_[i], std::abs(s.c_v) * inverse_[half_ + i]) : inverse_[i];
    KrylovRule rule = rule_;
    rule.absolute = absolute_ * std::abs(s.c_a);
    const auto product = [&](const Scalar* in, Scalar* out) {
        calc_slope(ode, in, Scalar(1), s.c_v, out);
        for (int i = 0; i < half_; ++i) out[i] = s.c_a * in[i] - out[i];
    };
    const auto precondition = [&](Scalar* v) {
        if (preconditions_) solve_lu(v);
    };
    const int made = s.krylov.solve(rule, matrix_inverse_.data(), product, precondition, r);
    vectors_ += made;
    if (fresh_vectors_ == 0) fresh_vectors_ = made;
    if (made > kept_growth * fresh_vectors_ + kept_vectors) stale_ = true;
}

// J1 (upper r) + J2 (lower r), or J r where x has no halves, by a difference for each part of the complex plane
template <class Scalar>
void ImplicitSolver::calc_slope(Ode& ode, const Scalar* r, Scalar upper, Scalar lower, Scalar* out) {
    constexpr bool real = std::is_same_v<Scalar, double>;
    for (int part = 0; part < (real ? 1 : 2); ++part) {
        for (int i = 0; i < half_; ++i) {
            direction_[i] = part == 0 ? real_part(upper * r[i]) : imag_part(upper * r[i]);
            if (second_order_) direction_[half_ + i] = part == 0 ? real_part(lower * r[i]) : imag_part(lower * r[i]);
        }
        calc_direction(ode, image_.data());
        const double* image = image_.data() + size_ - half_;
        for (int i = 0; i < half_; ++i) {
            if constexpr (real)
                out[i] = image[i];
            else
                out[i] = part == 0 ? Scalar(image[i], 0) : Scalar(out[i].real(), image[i]);
        }
    }
}

// J times direction_ by one difference. Its step moves x by 1e-7 of its size in units of the error weights: the root of
// what f is accurate to, so that neither curvature nor round-off spoils more than half of the digits.
void ImplicitSolver::calc_direction(Ode& ode, double* out) {
    double sum = 0;
    for (int i = 0; i < size_; ++i) sum += direction_[i] * inverse_[i] * direction_[i] * inverse_[i];
    if (sum == 0) {
        std::fill_n(out, size_, 0.0);
        return;
    }
    const double step = 1e-7 * (1 + size_of_x_) / std::sqrt(sum / size_);
    for (int i = 0; i < size_; ++i) moved_[i] = x_[i] + step * direction_[i];
    if (ode.calc_rate(t_, moved_.data(), slope_.data()) != Status::success)
        std::fill(slope_.begin(), slope_.end(), NAN);
    for (int i = 0; i < size_; ++i) out[i] = (slope_[i] - f_[i]) / step;
}

} // namespace linkwork
