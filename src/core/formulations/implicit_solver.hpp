// Solutions with c B - J for implicit integrators, J = f_x of an Ode, by the solver the user chose.
//
//   newton     J from the formulation's analytic derivatives, LU decomposition
//   newton_fd  J by forward differences of f, LU decomposition
//   krylov     no J: a Krylov subspace of products J r = (f(x + s r) - f(x)) / s (krylov.hpp)
//
// Second-order form. Where x = (y, u) and x' = (u, f(t, y, u)), J = [0 I; J1 J2] and only f's derivatives are kept:
//   c dy - du = r1,  -J1 dy + (c - J2) du = r2   =>   (c^2 I - c J2 - J1) dy = r2 + (c - J2) r1,  du = c dy - r1,
// which halves the size of the decomposition [negrut (42)-(46): this matrix is Pi / gamma^2 h^2]. Formulas that tie y
// to u ask for the matrix c_a I - c_v J2 - J1 itself.
//
// Preconditioning of krylov. "kept": the matrix of this kind factored last, from the analytic J, is solved with before
// each product; it serves until the vectors it saves are no longer worth it. "block": of it only the blocks on the
// diagonal, `block_size` coordinates each.
#pragma once

#include <Eigen/Dense>
#include <complex>
#include <string>
#include <vector>

#include "contract.hpp"
#include "krylov.hpp"

namespace linkwork {

class ImplicitSolver {
public:
    using Matrix = Eigen::MatrixXd;
    using ComplexMatrix = Eigen::MatrixXcd;

    // second_order: x has the two halves above. options: solver "newton", "newton_fd" or "krylov", and what it takes.
    void resize(int size, bool second_order, const FormulationOptions& options);
    // Whether J, J1, J2 have to be filled at the coming linearization: by the formulation, for the matrix itself or for
    // what preconditions.
    bool wants_analytic() const { return is_analytic() || (preconditions_ && stale_); }
    bool is_analytic() const { return mode_ == Mode::analytic; }
    bool is_krylov() const { return mode_ == Mode::krylov; }
    bool is_sized() const { return size_ > 0; }
    // krylov: 1 / w_i of the errors, and the residual wanted, relative to the right side or as an error in x
    void set_scale(const double* inverse, double relative, double absolute);
    long vectors() const { return vectors_; } // made so far by krylov

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
    // r := (c_a I - c_v J2 - J1)^-1 r, r of half the size
    Status factor_half(double c_a, double c_v);
    void solve_half(Ode& ode, double* r);

private:
    enum class Mode { analytic, differences, krylov };
    template <class Scalar> using MatrixOf = Eigen::Matrix<Scalar, -1, -1>;
    // Everything there is once for real and once for complex c.
    template <class Scalar> struct System {
        Scalar c = 0, c_a = 0, c_v = 0; // the matrix: c_a I - c_v J2 - J1, or c_a I - J where x has no halves
        Scalar factored_a = 0;          // c_a that lu was made for
        MatrixOf<Scalar> matrix;
        Eigen::PartialPivLU<MatrixOf<Scalar>> lu;
        Eigen::Matrix<Scalar, -1, 1> side;
        Krylov<Scalar> krylov;
        bool ready = false; // lu is there
    };
    template <class Scalar> System<Scalar>& system() {
        if constexpr (std::is_same_v<Scalar, double>)
            return real_;
        else
            return complex_;
    }
    template <class Scalar> void resize_system(int vectors);
    template <class Scalar> Status factor_any(Scalar c, Scalar c_a, Scalar c_v);
    template <class Scalar> Status factor_matrix();
    template <class Scalar> void solve_any(Ode& ode, Scalar* r);
    template <class Scalar> void solve_matrix(Ode& ode, Scalar* r);
    template <class Scalar> void solve_lu(Scalar* r);
    template <class Scalar> void solve_krylov(Ode& ode, Scalar* r);
    template <class Scalar> void calc_slope(Ode& ode, const Scalar* r, Scalar upper, Scalar lower, Scalar* out);
    void calc_direction(Ode& ode, double* out);

    Mode mode_ = Mode::analytic;
    int size_ = 0, half_ = 0; // half_: of the matrix that is solved with, the whole size where x has no halves
    bool second_order_ = false;
    bool preconditions_ = false, stale_ = true; // stale_: what preconditions has to be made anew
    int block_size_ = 0;                        // 0: the whole matrix preconditions
    int fresh_vectors_ = 0;                     // of the first solution with what preconditions now
    System<double> real_;
    System<std::complex<double>> complex_;
    KrylovRule rule_;
    double absolute_ = 0; // residual wanted as an error in x
    long vectors_ = 0;
    // state of the last linearization, and work of differences and products
    double t_ = 0, size_of_x_ = 0;
    std::vector<double> x_, f_, moved_, slope_, direction_, image_;
    std::vector<double> inverse_, matrix_inverse_; // 1 / w_i of x, and of what the matrix is applied to
};

} // namespace linkwork
