// A sparse square system, unsymmetric, real or complex, factored again and again with the same pattern.
//
// Entries are added in the same order every time: the first time finds the pattern, later ones only write numbers;
// entries at the same place add up. The order of pivots is found with values, by the rule of Markowitz among entries
// that are no less than a tenth of the largest of their column (rows scaled to the largest entry 1), and then kept: a
// factorization runs through a fixed list without search or allocation. Where a multiplier grows beyond what the kept
// order can be trusted with, the order is found again.
//
// I. S. Duff, A. M. Erisman, J. K. Reid, Direct Methods for Sparse Matrices, 2nd edition, 2017, chapters 5 to 7.
#pragma once

#include <complex>
#include <vector>

namespace linkwork {

template <class Scalar> class SparseSystem {
public:
    void begin(int size);
    void add(int row, int column, Scalar value) {
        if (analysed_)
            values_[slots_[next_++]] += value;
        else
            entries_.push_back({row, column, value});
    }
    // False: singular.
    bool factor();
    // r := A^-1 r
    void solve(Scalar* r);
    // Numbers in L and U.
    int fill() const { return static_cast<int>(columns_.size()); }

private:
    struct Entry {
        int row, column;
        Scalar value;
    };
    void find_pattern();
    bool find_order();
    bool eliminate(double& largest);

    int size_ = 0;
    bool analysed_ = false, ordered_ = false;
    std::size_t next_ = 0;
    std::vector<Entry> entries_; // of the first time
    std::vector<int> slots_;     // where each entry goes
    // A by rows
    std::vector<Scalar> values_;
    std::vector<int> first_, column_;
    std::vector<double> scale_; // of rows: 1 / their largest entry
    // pivot k stands in row row_of_[k] and column column_of_[k]; rows of L and U in pivot order, L first, then U
    std::vector<int> row_of_, column_of_, position_;
    std::vector<int> begin_, diagonal_, columns_; // columns by their pivots, ascending
    std::vector<Scalar> numbers_, inverse_;       // of L and U; 1 / pivots
    std::vector<Scalar> work_;
};

extern template class SparseSystem<double>;
extern template class SparseSystem<std::complex<double>>;

} // namespace linkwork
