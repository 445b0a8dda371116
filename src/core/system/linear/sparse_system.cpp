#include "sparse_system.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace linkwork {

namespace {

constexpr double threshold = 0.1;       // of pivots, against the largest entry of their column
constexpr double most_multiplier = 1e6; // beyond it the order is found again
constexpr int columns_searched = 4;     // for each pivot, those with the fewest entries

// What is left to eliminate, by rows and the rows of each column.
template <class Scalar> struct Remainder {
    std::vector<std::map<int, Scalar>> rows;
    std::vector<std::set<int>> columns;
    std::set<std::pair<int, int>> shortest; // (entries, column)

    void take(int row, int column) {
        shortest.erase({static_cast<int>(columns[column].size()), column});
        columns[column].erase(row);
        shortest.insert({static_cast<int>(columns[column].size()), column});
    }
    void put(int row, int column) {
        shortest.erase({static_cast<int>(columns[column].size()), column});
        columns[column].insert(row);
        shortest.insert({static_cast<int>(columns[column].size()), column});
    }

    // The pivot that makes the least fill among those that are large enough; false: none.
    bool find_pivot(int& row, int& column) const {
        double least = -1, largest_found = 0;
        int searched = 0;
        for (const auto& [count, j] : shortest) {
            if (count == 0) continue;
            double largest = 0;
            for (const int i : columns[j]) largest = std::max(largest, std::abs(rows[i].at(j)));
            if (!(largest > 0) || !std::isfinite(largest)) continue;
            for (const int i : columns[j]) {
                const double size = std::abs(rows[i].at(j)) / largest;
                if (size < threshold) continue;
                const double fill = (static_cast<double>(rows[i].size()) - 1) * (count - 1);
                if (least >= 0 && (fill > least || (fill == least && size <= largest_found))) continue;
                least = fill, largest_found = size;
                row = i, column = j;
            }
            if (++searched == columns_searched || least == 0) break;
        }
        return least >= 0;
    }
};

} // namespace

template <class Scalar> void SparseSystem<Scalar>::begin(int size) {
    next_ = 0;
    if (analysed_)
        std::fill(values_.begin(), values_.end(), Scalar(0));
    else
        entries_.clear();
    size_ = size;
}

template <class Scalar> void SparseSystem<Scalar>::find_pattern() {
    std::vector<std::map<int, int>> place(size_);
    for (const Entry& e : entries_) place[e.row].emplace(e.column, 0);
    first_.assign(1, 0);
    column_.clear();
    for (auto& row : place) {
        for (auto& [column, slot] : row) {
            slot = static_cast<int>(column_.size());
            column_.push_back(column);
        }
        first_.push_back(static_cast<int>(column_.size()));
    }
    values_.assign(column_.size(), Scalar(0));
    slots_.clear();
    for (const Entry& e : entries_) {
        slots_.push_back(place[e.row].at(e.column));
        values_[slots_.back()] += e.value;
    }
    entries_ = {};
    scale_.assign(size_, 1.0);
    work_.assign(size_, Scalar(0));
    analysed_ = true;
}

// Eliminates with values, to find the order and the places that fill; entries that happen to be zero now keep theirs.
template <class Scalar> bool SparseSystem<Scalar>::find_order() {
    Remainder<Scalar> left;
    left.rows.resize(size_), left.columns.resize(size_);
    for (int i = 0; i < size_; ++i)
        for (int k = first_[i]; k < first_[i + 1]; ++k) {
            left.rows[i][column_[k]] = scale_[i] * values_[k];
            left.columns[column_[k]].insert(i);
        }
    for (int j = 0; j < size_; ++j) left.shortest.insert({static_cast<int>(left.columns[j].size()), j});

    std::vector<std::vector<int>> lower(size_), upper(size_); // by row of A: columns of A
    row_of_.clear(), column_of_.clear();
    for (int step = 0; step < size_; ++step) {
        int row = -1, column = -1;
        if (!left.find_pivot(row, column)) return false;
        row_of_.push_back(row), column_of_.push_back(column);
        const Scalar pivot = left.rows[row].at(column);
        for (const auto& [j, value] : left.rows[row]) {
            if (j != column) upper[row].push_back(j);
            left.take(row, j);
        }
        const std::set<int> below = left.columns[column];
        for (const int i : below) {
            const Scalar factor = left.rows[i].at(column) / pivot;
            lower[i].push_back(column);
            left.rows[i].erase(column);
            for (const int j : upper[row]) {
                const auto [found, is_new] = left.rows[i].try_emplace(j, Scalar(0));
                found->second -= factor * left.rows[row].at(j);
                if (is_new) left.put(i, j);
            }
        }
        left.shortest.erase({static_cast<int>(left.columns[column].size()), column});
        left.columns[column].clear();
    }

    position_.assign(size_, 0);
    for (int k = 0; k < size_; ++k) position_[column_of_[k]] = k;
    begin_.clear(), diagonal_.clear(), columns_.clear();
    for (int k = 0; k < size_; ++k) {
        const int row = row_of_[k];
        for (auto* part : {&lower[row], &upper[row]}) {
            for (int& j : *part) j = position_[j];
            std::sort(part->begin(), part->end());
        }
        begin_.push_back(static_cast<int>(columns_.size()));
        columns_.insert(columns_.end(), lower[row].begin(), lower[row].end());
        diagonal_.push_back(static_cast<int>(columns_.size()));
        columns_.insert(columns_.end(), upper[row].begin(), upper[row].end());
    }
    begin_.push_back(static_cast<int>(columns_.size()));
    numbers_.assign(columns_.size(), Scalar(0));
    inverse_.assign(size_, Scalar(0));
    return true;
}

template <class Scalar> bool SparseSystem<Scalar>::factor() {
    if (!analysed_) find_pattern();
    for (int i = 0; i < size_; ++i) {
        double largest = 0;
        for (int k = first_[i]; k < first_[i + 1]; ++k) largest = std::max(largest, std::abs(values_[k]));
        if (!(largest > 0) || !std::isfinite(largest)) return false;
        scale_[i] = 1 / largest;
    }
    double largest = 0;
    if (ordered_ && eliminate(largest) && largest < most_multiplier) return true;
    ordered_ = find_order();
    return ordered_ && eliminate(largest);
}

// Row by row: w = row of A, less the multiples of earlier rows of U that its entries left of the pivot ask for.
template <class Scalar> bool SparseSystem<Scalar>::eliminate(double& largest) {
    largest = 0;
    Scalar* w = work_.data();
    for (int k = 0; k < size_; ++k) {
        const int row = row_of_[k];
        for (int n = begin_[k]; n < begin_[k + 1]; ++n) w[columns_[n]] = Scalar(0);
        w[k] = Scalar(0);
        for (int n = first_[row]; n < first_[row + 1]; ++n) w[position_[column_[n]]] = scale_[row] * values_[n];
        for (int n = begin_[k]; n < diagonal_[k]; ++n) {
            const int j = columns_[n];
            const Scalar factor = w[j] * inverse_[j];
            numbers_[n] = factor;
            if (factor == Scalar(0)) continue;
            largest = std::max(largest, std::abs(factor));
            for (int u = diagonal_[j]; u < begin_[j + 1]; ++u) w[columns_[u]] -= factor * numbers_[u];
        }
        for (int n = diagonal_[k]; n < begin_[k + 1]; ++n) numbers_[n] = w[columns_[n]];
        const double pivot = std::abs(w[k]);
        if (!(pivot > 0) || !std::isfinite(pivot)) return false;
        inverse_[k] = Scalar(1) / w[k];
    }
    return std::isfinite(largest);
}

template <class Scalar> void SparseSystem<Scalar>::solve(Scalar* r) {
    Scalar* w = work_.data();
    for (int k = 0; k < size_; ++k) {
        const int row = row_of_[k];
        Scalar sum = scale_[row] * r[row];
        for (int n = begin_[k]; n < diagonal_[k]; ++n) sum -= numbers_[n] * w[columns_[n]];
        w[k] = sum;
    }
    for (int k = size_ - 1; k >= 0; --k) {
        Scalar sum = w[k];
        for (int n = diagonal_[k]; n < begin_[k + 1]; ++n) sum -= numbers_[n] * w[columns_[n]];
        w[k] = sum * inverse_[k];
    }
    for (int k = 0; k < size_; ++k) r[column_of_[k]] = w[k];
}

template class SparseSystem<double>;
template class SparseSystem<std::complex<double>>;

} // namespace linkwork
