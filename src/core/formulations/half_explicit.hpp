// Stages of half-explicit methods on the index-2 equations: forces at one position, velocity constraints at another.
//
// Given the forces f and the directions J^T = J(q)^T of an opened stage, wanted are v' = a and lambda with
//     M a + J^T lambda = f,      J* (v* + s a) = -Phi_t(t*),      J* = J(q*)                     [arnold (2), (4)]
// The matrix [M J^T; J* 0] is not symmetric. With the mean Jm = (J + J*) / 2 and half the difference D = (J - J*) / 2
// it is a symmetric one and a small antisymmetric one. Corrections
//     [M Jm^T; Jm 0] [da; dlambda] = [f - M a - J^T lambda; (-Phi_t - J* v*) / s - J* a]
// with one factorization lead from the a and lambda of the stage before to the solution. The two positions are O(s)
// apart, so each correction gains a factor O(s); where they are the same the first solution is exact. Corrections need
// not be refined: their errors are corrected by the next ones. (Only lambda iterated, with a = M^-1 (f - J^T lambda)
// exactly, converges more slowly: 5.3 solutions per stage instead of 4.4 on Andrews' mechanism at 1e-6.)
//
// Between two points (t0, q0) and (t1, q1) around the opened stage, the change of the velocity constraints with v held
// gives a system with one symmetric matrix, nothing to iterate and nothing to differentiate:
//     M a + J^T lambda = f,      J a = [(-Phi_t(t1) - J1 v) - (-Phi_t(t0) - J0 v)] / (t1 - t0).
// Along a chain of such stages each J is evaluated once and enters three systems: before, at and after its stage.
#pragma once

#include <algorithm>
#include <vector>

#include "accelerations.hpp"

namespace linkwork {

class HalfExplicitStages {
public:
    explicit HalfExplicitStages(Accelerations& engine);

    // Forgets the guess and the factorization: other rows may be active now.
    void restart();
    // The iteration ends when v* + s a is known to a small fraction of atol + rtol |v*|.
    void set_accuracy(double new_rtol, const double* new_atol);
    Status open(double t, const double* q, const double* v);
    Status close(double t, const double* q, const double* v, double step, double* acceleration);
    Status close_between(double t0, const double* q0, double t1, const double* q1, double* acceleration);

private:
    struct Evaluated { // J and where
        std::vector<double> q, jacobian;
        bool is_at(const double* other) const { return std::equal(q.begin(), q.end(), other); }
    };

    void evaluate(const double* q, Evaluated& e);
    const std::vector<double>& find_before(const double* q);
    Status find_acceleration(double step, const double* v);
    double iterate(double step, const double* v);

    const Tables& tables;
    Accelerations& engine;
    double rtol = 1e-6;
    std::vector<double> atol;             // [nv]
    std::vector<double> force, velocity;  // f and v of the opened stage
    Evaluated upper, lower;               // J of the opened stage; J* of the last one closed
    Evaluated previous, first;            // J of the stage opened before; of the first stage of chains
    std::vector<double> mean, difference; // Jm; J0 - J1
    std::vector<double> side;             // (-Phi_t - J* v*) / s
    std::vector<double> a, lambda;        // the iterate, kept as the guess of the next stage
    std::vector<double> x, y;             // corrections
    bool same = false;                    // J = J*: nothing to iterate
    bool factored = false;                // the solver holds the matrix with J of the opened stage
};

} // namespace linkwork
