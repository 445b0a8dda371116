// Stages of half-explicit methods on the index-2 equations: forces at one position, velocity constraints at another.
//
// Given the forces f and the directions J^T = J(q)^T of an opened stage, wanted are v' = a and lambda with
//     M a + J^T lambda = f,      J* (v* + s a) = -Phi_t(t*),      J* = J(q*)                     [arnold (2), (4)]
// The matrix [M J^T; J* 0] is not symmetric. With the mean Jm = (J + J*) / 2 and half the difference D = (J - J*) / 2
// it is a symmetric one and a small antisymmetric one, and
//     M a + Jm^T lambda = f - D^T lambda,      Jm a = (-Phi_t - J* v*) / s + D a
// is iterated with one factorization, from the a and lambda of the stage before. The two positions are O(s) apart, so
// every solution gains a factor O(s); where they are the same the first solution is exact.
#pragma once

#include <vector>

#include "accelerations.hpp"

namespace linkwork {

class HalfExplicitStages {
public:
    explicit HalfExplicitStages(Accelerations& engine);

    // The iteration ends when v* + s a is known to a small fraction of atol + rtol |v*|.
    void set_accuracy(double new_rtol, const double* new_atol);
    Status open(double t, const double* q, const double* v);
    Status close(double t, const double* q, const double* v, double step, double* acceleration);

private:
    bool has_lower(const double* q) const;
    Status find_acceleration(double step, const double* v);
    double iterate(double step, const double* v);

    const Tables& tables;
    Accelerations& engine;
    double rtol = 1e-6;
    std::vector<double> atol;                // [nv]
    std::vector<double> force, upper, lower; // f and J of the opened stage; J* of the last one closed
    std::vector<double> q_upper, q_lower;    // where they were evaluated
    std::vector<double> mean, difference;    // Jm, D
    std::vector<double> side;                // (-Phi_t - J* v*) / s
    std::vector<double> a, lambda;           // the iterate, kept as the guess of the next stage
    std::vector<double> x, y;                // the next iterate
    bool same = false;                       // J = J*: nothing to iterate
};

} // namespace linkwork
