// Solutions with c B - J for implicit integrators, J = f_x of an Ode, by the solver the user chose.
//
//   newton     J from the formulation's analytic derivatives, LU decomposition
//   newton_fd  J by forward differences of f, LU decomposition
//   krylov     no J: restarted GMRES with products J r = (f(x + s r) - f(x)) / s
//
// Second-order form. Where x = (y, u) and x' = (u, f(t, y, u)), J = [0 I; J1 J2] and only f's derivatives are kept:
//   c dy - du = r1,  -J1 dy + (c - J2) du = r2   =>   (c^2 I - c J2 - J1) dy = r2 + (c - J2) r1,  du = c dy - r1,
// which halves the size of the decomposition [negrut (42)-(46): this matrix is Pi / gamma^2 h^2].
#pragma once

#include <Eigen/Dense>
#include <complex>
#include <string>
#include <vector>

#include "contract.hpp"

namespace linkwork {

class ImplicitSolver {
public:
    using Matrix = Eigen::MatrixXd;
    using ComplexMatrix = Eigen::MatrixXcd;

    // second_order: x has the two halves above. mode: "newton", "newton_fd" or "krylov".
    void resize(int size, bool second_order, const std::string& mode);
    bool wants_analytic() const { return mode_ == Mode::analytic; }
    bool is_sized() const { return size_ > 0; }

    // J itself, or J1 and J2 in second-order form: to be filled by the formulation when analytic.
    Matrix J, J1, J2;

    // B of equations B x' = f, left empty where B = I; not with krylov, not in second-order form.
    Matrix mass;

    // Differences of f around (t, x), or for krylov just the state to take products at.
    Status calc_differences(Ode& ode, double t, const double* x);

    // The whole J, row-major; with krylov it is differenced for the purpose.
    Status fill_jacobian(Ode& ode, double* out);

    Status factor(double c);
    Status factor(std::complex<double> c);
    void solve(Ode& ode, double* r);
    void solve(Ode& ode, std::complex<double>* r);

private:
    enum class Mode { analytic, differences, krylov };
    template <class Scalar, class Decomposition, class Work>
    void solve_dense(Scalar c, Decomposition& lu, Work& w, Scalar* r);
    template <class Scalar> void solve_krylov(Ode& ode, Scalar c, Scalar* r);
    template <class Scalar> void calc_product(Ode& ode, Scalar c, const Scalar* r, Scalar* out);
    void calc_direction(Ode& ode, const double* r, double* out);
    template <class Scalar> static bool is_regular(const Eigen::PartialPivLU<Eigen::Matrix<Scalar, -1, -1>>& lu);

    Mode mode_ = Mode::analytic;
    int size_ = 0, half_ = 0;
    bool second_order_ = false;
    double c_ = 0;
    std::complex<double> complex_c_ = 0;
    Matrix real_;
    ComplexMatrix complex_;
    Eigen::PartialPivLU<Matrix> lu_;
    Eigen::PartialPivLU<ComplexMatrix> complex_lu_;
    Eigen::VectorXd side_;
    Eigen::VectorXcd complex_side_;
    // state of the last linearization, and work of differences and products
    double t_ = 0;
    std::vector<double> x_, f_, moved_, slope_, direction_;
};

} // namespace linkwork
