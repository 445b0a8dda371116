#include "implicit_solver.hpp"

#include <algorithm>
#include <cmath>

namespace linkwork {

namespace {

constexpr int krylov_size = 30, krylov_restarts = 4;
constexpr double krylov_tolerance = 1e-8; // of the residual, relative to the right side

double real_part(double s) { return s; }
double real_part(std::complex<double> s) { return s.real(); }
double imag_part(double) { return 0; }
double imag_part(std::complex<double> s) { return s.imag(); }

} // namespace

void ImplicitSolver::resize(int size, bool second_order, const std::string& mode) {
    mode_ = mode == "newton_fd" ? Mode::differences : mode == "krylov" ? Mode::krylov : Mode::analytic;
    size_ = size;
    second_order_ = second_order;
    half_ = second_order ? size / 2 : size;
    x_.assign(size, 0.0);
    f_ = moved_ = slope_ = direction_ = x_;
    if (mode_ == Mode::krylov) return;
    if (second_order)
        J1.setZero(half_, half_), J2.setZero(half_, half_);
    else
        J.setZero(size, size);
    real_.setZero(half_, half_);
    complex_.setZero(half_, half_);
    side_.setZero(half_);
    complex_side_.setZero(half_);
    lu_ = Eigen::PartialPivLU<Matrix>(half_);
    complex_lu_ = Eigen::PartialPivLU<ComplexMatrix>(half_);
}

// One column per entry of x; in second-order form only the lower half of f is looked at.
Status ImplicitSolver::calc_differences(Ode& ode, double t, const double* x) {
    t_ = t;
    std::copy(x, x + size_, x_.begin());
    Status status = ode.calc_rate(t, x, f_.data());
    if (status != Status::success || mode_ == Mode::krylov) return status;
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
        whole.resize(size_, second_order_, "newton_fd");
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

template <class Scalar> bool ImplicitSolver::is_regular(const Eigen::PartialPivLU<Eigen::Matrix<Scalar, -1, -1>>& lu) {
    const auto diagonal = lu.matrixLU().diagonal().cwiseAbs();
    return lu.matrixLU().rows() == 0 || (diagonal.minCoeff() > 0 && std::isfinite(diagonal.maxCoeff()));
}

Status ImplicitSolver::factor(double c) {
    c_ = c;
    if (mode_ == Mode::krylov) return Status::success;
    if (second_order_)
        real_ = -c * J2 - J1;
    else
        real_ = -J;
    if (mass.size() > 0)
        real_ += c * mass;
    else
        real_.diagonal().array() += second_order_ ? c * c : c;
    lu_.compute(real_);
    return is_regular<double>(lu_) ? Status::success : Status::not_finite;
}

Status ImplicitSolver::factor(std::complex<double> c) {
    complex_c_ = c;
    if (mode_ == Mode::krylov) return Status::success;
    if (second_order_)
        complex_ = (-c * J2.cast<std::complex<double>>()) - J1.cast<std::complex<double>>();
    else
        complex_ = -J.cast<std::complex<double>>();
    if (mass.size() > 0)
        complex_ += c * mass.cast<std::complex<double>>();
    else
        complex_.diagonal().array() += second_order_ ? c * c : c;
    complex_lu_.compute(complex_);
    return is_regular<std::complex<double>>(complex_lu_) ? Status::success : Status::not_finite;
}

template <class Scalar, class Decomposition, class Work>
void ImplicitSolver::solve_dense(Scalar c, Decomposition& lu, Work& side, Scalar* r) {
    Eigen::Map<Eigen::Matrix<Scalar, -1, 1>> upper(r, half_), lower(r + (second_order_ ? half_ : 0), half_);
    if (!second_order_) {
        side = lu.permutationP() * upper;
    } else {
        side.noalias() = -J2 * upper;
        side += lower + c * upper;
        lower = side;
        side = lu.permutationP() * lower;
    }
    lu.matrixLU().template triangularView<Eigen::UnitLower>().solveInPlace(side);
    lu.matrixLU().template triangularView<Eigen::Upper>().solveInPlace(side);
    if (second_order_) lower = c * side - upper;
    upper = side;
}

void ImplicitSolver::solve(Ode& ode, double* r) {
    if (mode_ == Mode::krylov) return solve_krylov(ode, c_, r);
    solve_dense(c_, lu_, side_, r);
}
void ImplicitSolver::solve(Ode& ode, std::complex<double>* r) {
    if (mode_ == Mode::krylov) return solve_krylov(ode, complex_c_, r);
    solve_dense(complex_c_, complex_lu_, complex_side_, r);
}

// J r by one difference along r, whose step moves x by about 1e-7 of its size
void ImplicitSolver::calc_direction(Ode& ode, const double* r, double* out) {
    double size = 0, scale = 1;
    for (int i = 0; i < size_; ++i) size += r[i] * r[i], scale += x_[i] * x_[i];
    if (size == 0) {
        std::fill_n(out, size_, 0.0);
        return;
    }
    const double step = 1e-7 * std::sqrt(scale / size);
    for (int i = 0; i < size_; ++i) moved_[i] = x_[i] + step * r[i];
    if (ode.calc_rate(t_, moved_.data(), slope_.data()) != Status::success)
        std::fill(slope_.begin(), slope_.end(), NAN);
    for (int i = 0; i < size_; ++i) out[i] = (slope_[i] - f_[i]) / step;
}

// out = (c I - J) r
template <class Scalar> void ImplicitSolver::calc_product(Ode& ode, Scalar c, const Scalar* r, Scalar* out) {
    std::vector<double>& part = direction_;
    std::vector<double> image(size_);
    for (int i = 0; i < size_; ++i) part[i] = real_part(r[i]);
    calc_direction(ode, part.data(), image.data());
    for (int i = 0; i < size_; ++i) out[i] = c * r[i] - image[i];
    if constexpr (!std::is_same_v<Scalar, double>) {
        for (int i = 0; i < size_; ++i) part[i] = imag_part(r[i]);
        calc_direction(ode, part.data(), image.data());
        for (int i = 0; i < size_; ++i) out[i] -= Scalar(0, image[i]);
    }
}

// GMRES with modified Gram-Schmidt and restarts [saad 6.5]; the small least-squares problem is solved densely.
template <class Scalar> void ImplicitSolver::solve_krylov(Ode& ode, Scalar c, Scalar* r) {
    using Dense = Eigen::Matrix<Scalar, -1, -1>;
    using Column = Eigen::Matrix<Scalar, -1, 1>;
    Eigen::Map<Column> side(r, size_);
    const double wanted = krylov_tolerance * side.norm();
    Column x = side / c, residual(size_), image(size_); // exact for J = 0
    const int most = std::min(krylov_size, size_);
    for (int restart = 0; restart < krylov_restarts; ++restart) {
        calc_product(ode, c, x.data(), image.data());
        residual = side - image;
        const double size = residual.norm();
        if (!(size > wanted)) break;
        Dense V = Dense::Zero(size_, most + 1), H = Dense::Zero(most + 1, most);
        V.col(0) = residual / size;
        int used = 0;
        Column y;
        for (int j = 0; j < most; ++j) {
            calc_product(ode, c, V.col(j).data(), image.data());
            for (int i = 0; i <= j; ++i) {
                H(i, j) = V.col(i).dot(image);
                image -= H(i, j) * V.col(i);
            }
            const double norm = image.norm();
            H(j + 1, j) = norm;
            used = j + 1;
            Column e = Column::Zero(used + 1);
            e(0) = size;
            y = H.topLeftCorner(used + 1, used).colPivHouseholderQr().solve(e);
            const double left = (e - H.topLeftCorner(used + 1, used) * y).norm();
            if (left <= wanted || norm < 1e-14 * size) break;
            V.col(j + 1) = image / norm;
        }
        x += V.leftCols(used) * y;
    }
    side = x;
}

} // namespace linkwork
