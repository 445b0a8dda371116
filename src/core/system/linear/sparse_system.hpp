// A sparse square system, unsymmetric, real or complex, factored again and again with the same pattern.
//
// Entries are added in the same order every time: the first time finds the pattern, later ones only write numbers;
// entries at the same place add up. Places whose entries have all been zero so far are left out (of blocks of bodies,
// half and more); the pattern is widened when one of them ceases to be. The order of pivots is found with values, by
// the rule of Markowitz among entries that are no less than a tenth of the largest of their column (rows scaled to the
// largest entry 1), and then kept: a factorization runs through a fixed list without search or allocation. Where a
// multiplier grows beyond what the kept order can be trusted with, the order is found again.
//
// I. S. Duff, A. M. Erisman, J. K. Reid, Direct Methods for Sparse Matrices, 2nd edition, 2017, chapters 5 to 7.
#pragma once

#include <cmath>
#include <complex>
#include <utility>
#include <vector>

namespace linkwork {

template <class Scalar> class SparseSystem {
public:
    void begin(int size);
    void add(int row, int column, Scalar value) {
        if (!analysed_) return entries_.push_back({row, column, value});
        const int slot = slots_[next_++];
        if (slot >= 0)
            values_[slot] += value;
        else if (value != Scalar(0) && std::abs(value) * scale_[row] > negligible)
            late_.push_back({place_[next_ - 1], value});
    }
    // False: singular.
    bool factor();
    // r := A^-1 r
    void solve(Scalar* r);
    // The order of another system with the same entries serves this one as well.
    template <class Other> void take_order(const SparseSystem<Other>& other) {
        if (ordered_ || !other.ordered_) return;
        row_of_ = other.row_of_, column_of_ = other.column_of_;
        taken_ = true;
    }
    // How often the pattern or the order was found.
    int analyses() const { return analyses_; }
    // Numbers in L and U.
    int fill() const { return static_cast<int>(columns_.size()); }

private:
    struct Entry {
        int row, column;
        Scalar value;
    };
    struct Late {
        int place;
        Scalar value;
    };
    template <class Other> friend class SparseSystem;
    void find_pattern();
    void widen_pattern();
    bool find_order();
    void fill_order();
    bool eliminate(double& largest);

    int size_ = 0;
    // Relative to the largest of their row, what may be left out: round-off of what is zero by symmetry.
    static constexpr double negligible = 1e-13;

    bool analysed_ = false, ordered_ = false;
    bool taken_ = false; // the order is there, but not what it fills
    int analyses_ = 0;
    std::size_t next_ = 0;
    std::vector<Entry> entries_;              // of the first time
    std::vector<std::pair<int, int>> places_; // row and column of all entries, in order
    std::vector<int> place_;                  // per entry, in the order of adding
    std::vector<int> slot_of_;                // per place: where in values_; -1: left out
    std::vector<int> slots_;                  // per entry: the same
    std::vector<Late> late_;                  // values at places that were left out
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
