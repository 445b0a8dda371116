// The reduced matrix B = J M^-1 J^T [serban (6)-(8), (23)], assembled joint by joint into a scalar envelope.
//
// Euler parameters live inside the bodies, so J is already [Phi_r, Phi_pi'] of (23) and M is diag(m I, inertia).
#pragma once

#include <vector>

#include "masses.hpp"
#include "numbering.hpp"

namespace linkwork {

class ReducedSystem {
public:
    ReducedSystem(const Pattern& pattern, std::vector<int> order);

    void assemble(const double* jacobian, const double* active);              // B, with unit pivots for inactive rows
    void copy_matrix(const ReducedSystem& other) { values_ = other.values_; } // B of the same numbering
    bool factor();                    // B = L L^T within the envelope; false: not definite
    void solve_rows(double* y) const; // y (numbered rows) becomes B^-1 y
    void solve(double* x, double* y); // the whole system (3)

    const Envelope& envelope() const { return envelope_; }
    int rows() const { return pattern_.rows; }
    const Pattern& pattern() const { return pattern_; }
    int first(int row) const { return first_[row]; } // first column of a numbered row's envelope
    double entry(int row, int column) const { return values_[start_[row] + column]; } // first(row) <= column <= row
    double smallest_pivot() const { return smallest_; } // of L, relative to the diagonal of B

private:
    struct Product { // B[row.., column..] += J_a M^-1 J_b^T
        int a, b;    // offsets of the Jacobian parts
        int rows_a, rows_b, nv, row, column;
    };
    struct Factor { // of one part
        int offset, rows, body, row;
    };

    Pattern pattern_;
    Envelope envelope_;
    std::vector<int> number_;                         // numbered row of each row
    std::vector<int> first_;                          // first column of each numbered row
    std::vector<std::ptrdiff_t> start_;               // values_[start_[row] + column]
    std::vector<double> values_, diagonal_, inverse_; // envelope; of B; 1 / diagonal of L
    std::vector<Factor> parts_;
    std::vector<Product> products_;
    std::vector<double> inverse_masses_; // 36 per body
    std::vector<double> jacobian_;       // J with inactive rows zero
    std::vector<double> product_;        // J M^-1, laid out as J
    std::vector<double> active_, rhs_;
    double smallest_ = 1.0;
};

} // namespace linkwork
