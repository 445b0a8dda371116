#include "sparse_system.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace linkwork {

namespace {

constexpr double threshold = 0.1;       // of pivots, against the largest entry of their column
constexpr double most_multiplier = 1e6; // beyond it the order is found again
constexpr int columns_searched = 4;     // for each pivot, those with the fewest entries

// a b and a -= b c, without the care that complex products of the language take of infinities
using Complex = std::complex<double>;
double multiply(double a, double b) { return a * b; }
Complex multiply(const Complex& a, const Complex& b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
void subtract_product(double& a, double b, double c) { a -= b * c; }
void subtract_product(Complex& a, const Complex& b, const Complex& c) {
    a = {a.real() - b.real() * c.real() + b.imag() * c.imag(), a.imag() - b.real() * c.imag() - b.imag() * c.real()};
}
double calc_size(double a) { return std::abs(a); }
double calc_size(const Complex& a) { return std::max(std::abs(a.real()), std::abs(a.imag())); }

// What is left to eliminate: the rows, sorted, and the rows of each column. Columns stand in buckets by their number of
// entries; one that has changed its number since is found there to be out of date.
template <class Scalar> class Remainder {
public:
    struct Number {
        int column;
        Scalar value;
    };
    using Row = std::vector<Number>;

    explicit Remainder(int size) : rows(size), columns(size), done(size, 0), buckets(size + 1) {}
    void begin() {
        for (std::size_t j = 0; j < columns.size(); ++j) put_in_bucket(static_cast<int>(j));
    }

    // The pivot that makes the least fill among those that are large enough; false: none.
    bool find_pivot(int& row, int& column) {
        double least = -1, largest_found = 0;
        int searched = 0;
        for (std::size_t count = 1; count < buckets.size() && searched < columns_searched && least != 0; ++count) {
            std::vector<int>& bucket = buckets[count];
            for (std::size_t n = 0; n < bucket.size() && searched < columns_searched && least != 0;) {
                const int j = bucket[n];
                if (done[j] || columns[j].size() != count || in_bucket_[j] != static_cast<int>(count)) {
                    bucket[n] = bucket.back();
                    bucket.pop_back();
                    continue;
                }
                ++n;
                searched += examine(j, least, largest_found, row, column);
            }
        }
        return least >= 0;
    }

    // Takes row and column of the pivot out and subtracts multiples of the row from those below.
    void eliminate(int row, int column) {
        done[column] = 1;
        const Row& pivot_row = rows[row];
        const Scalar pivot = find(pivot_row, column)->value;
        for (const Number& e : pivot_row) {
            std::vector<int>& list = columns[e.column];
            *std::find(list.begin(), list.end(), row) = list.back();
            list.pop_back();
        }
        for (const int i : columns[column]) subtract(pivot_row, find(rows[i], column)->value / pivot, i, column);
        for (const Number& e : pivot_row)
            if (e.column != column) put_in_bucket(e.column);
        columns[column].clear();
    }

    std::vector<Row> rows;
    std::vector<std::vector<int>> columns;

private:
    static typename Row::const_iterator find(const Row& row, int column) {
        return std::lower_bound(row.begin(), row.end(), column, [](const Number& e, int j) { return e.column < j; });
    }

    void put_in_bucket(int j) {
        const int count = static_cast<int>(columns[j].size());
        in_bucket_.resize(columns.size(), -1);
        if (in_bucket_[j] == count) return;
        in_bucket_[j] = count;
        buckets[count].push_back(j);
    }

    // Whether column j may give a pivot at all; keeps the best one so far.
    bool examine(int j, double& least, double& largest_found, int& row, int& column) const {
        double largest = 0;
        for (const int i : columns[j]) largest = std::max(largest, std::abs(find(rows[i], j)->value));
        if (!(largest > 0) || !std::isfinite(largest)) return false;
        for (const int i : columns[j]) {
            const double size = std::abs(find(rows[i], j)->value) / largest;
            if (size < threshold) continue;
            const double fill =
                (static_cast<double>(rows[i].size()) - 1) * (static_cast<double>(columns[j].size()) - 1);
            if (least >= 0 && (fill > least || (fill == least && size <= largest_found))) continue;
            least = fill, largest_found = size;
            row = i, column = j;
        }
        return true;
    }

    // rows[i] -= factor * pivot_row, without the column of the pivot
    void subtract(const Row& pivot_row, const Scalar& factor, int i, int column) {
        merged_.clear();
        const Row& row = rows[i];
        auto own = row.begin();
        auto other = pivot_row.begin();
        while (own != row.end() || other != pivot_row.end()) {
            const bool has_own = own != row.end() && (other == pivot_row.end() || own->column <= other->column);
            const bool has_other = other != pivot_row.end() && (own == row.end() || other->column <= own->column);
            const int j = has_own ? own->column : other->column;
            if (j != column) {
                merged_.push_back(
                    {j, (has_own ? own->value : Scalar(0)) - (has_other ? factor * other->value : Scalar(0))});
                if (!has_own) columns[j].push_back(i);
            }
            own += has_own, other += has_other;
        }
        rows[i] = merged_;
    }

    std::vector<char> done;
    std::vector<std::vector<int>> buckets;
    std::vector<int> in_bucket_; // per column: the bucket it was put into last
    Row merged_;
};

} // namespace

template <class Scalar> void SparseSystem<Scalar>::begin(int size) {
    next_ = 0;
    late_.clear();
    if (analysed_)
        std::fill(values_.begin(), values_.end(), Scalar(0));
    else
        entries_.clear();
    size_ = size;
}

template <class Scalar> void SparseSystem<Scalar>::find_pattern() {
    places_.clear();
    for (const Entry& e : entries_) places_.emplace_back(e.row, e.column);
    std::sort(places_.begin(), places_.end());
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
    place_.clear();
    for (const Entry& e : entries_) {
        const auto found = std::lower_bound(places_.begin(), places_.end(), std::pair{e.row, e.column});
        place_.push_back(static_cast<int>(found - places_.begin()));
    }
    slot_of_.assign(places_.size(), -1);
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].value != Scalar(0)) late_.push_back({place_[i], entries_[i].value});
    entries_ = {};
    first_.assign(size_ + 1, 0);
    scale_.assign(size_, 1.0);
    work_.assign(size_, Scalar(0));
    analysed_ = true;
}

// The pattern of before with its values, and what was zero until now. The order of pivots stays.
template <class Scalar> void SparseSystem<Scalar>::widen_pattern() {
    ++analyses_;
    std::vector<Scalar> values(places_.size(), Scalar(0));
    for (std::size_t p = 0; p < places_.size(); ++p)
        if (slot_of_[p] >= 0) values[p] = values_[slot_of_[p]];
    for (const Late& late : late_) values[late.place] += late.value, slot_of_[late.place] = 0;
    late_.clear();
    first_.assign(size_ + 1, 0);
    column_.clear(), values_.clear();
    for (std::size_t p = 0; p < places_.size(); ++p) {
        if (slot_of_[p] < 0) continue;
        slot_of_[p] = static_cast<int>(column_.size());
        column_.push_back(places_[p].second);
        values_.push_back(values[p]);
        first_[places_[p].first + 1] = static_cast<int>(column_.size());
    }
    for (int i = 0; i < size_; ++i) first_[i + 1] = std::max(first_[i + 1], first_[i]);
    slots_.clear();
    for (const int p : place_) slots_.push_back(slot_of_[p]);
    taken_ = taken_ || ordered_;
}

// Eliminates with values, to find the order.
template <class Scalar> bool SparseSystem<Scalar>::find_order() {
    ++analyses_;
    Remainder<Scalar> left(size_);
    for (int i = 0; i < size_; ++i)
        for (int k = first_[i]; k < first_[i + 1]; ++k) {
            left.rows[i].push_back({column_[k], scale_[i] * values_[k]});
            left.columns[column_[k]].push_back(i);
        }
    left.begin();
    row_of_.clear(), column_of_.clear();
    for (int step = 0; step < size_; ++step) {
        int row = -1, column = -1;
        if (!left.find_pivot(row, column)) return false;
        row_of_.push_back(row), column_of_.push_back(column);
        left.eliminate(row, column);
    }
    return true;
}

// The places that fill, by the order alone: entries that happen to be zero now keep theirs. One bit per column.
template <class Scalar> void SparseSystem<Scalar>::fill_order() {
    const std::size_t words = (static_cast<std::size_t>(size_) + 63) / 64;
    std::vector<std::uint64_t> row(words);
    const auto put = [&](int j) { row[static_cast<std::size_t>(j) / 64] |= std::uint64_t{1} << (j % 64); };
    position_.assign(size_, 0);
    for (int k = 0; k < size_; ++k) position_[column_of_[k]] = k;
    begin_.clear(), diagonal_.clear(), columns_.clear();
    for (int k = 0; k < size_; ++k) {
        begin_.push_back(static_cast<int>(columns_.size()));
        diagonal_.push_back(-1);
        for (int n = first_[row_of_[k]]; n < first_[row_of_[k] + 1]; ++n) put(position_[column_[n]]);
        put(k);
        for (std::size_t word = 0; word < words; ++word)
            while (row[word] != 0) { // ascending: what an earlier pivot adds comes after it
                const int j = static_cast<int>(64 * word) + std::countr_zero(row[word]);
                row[word] &= row[word] - 1;
                if (j == k) {
                    diagonal_[k] = static_cast<int>(columns_.size());
                    continue;
                }
                columns_.push_back(j);
                if (j > k) continue;
                for (int n = diagonal_[j]; n < begin_[j + 1]; ++n) put(columns_[n]);
            }
    }
    begin_.push_back(static_cast<int>(columns_.size()));
    numbers_.assign(columns_.size(), Scalar(0));
    inverse_.assign(size_, Scalar(0));
    ordered_ = true;
    taken_ = false;
}

template <class Scalar> bool SparseSystem<Scalar>::factor() {
    if (!analysed_) find_pattern();
    if (!late_.empty()) widen_pattern();
    for (int i = 0; i < size_; ++i) {
        double largest = 0;
        for (int k = first_[i]; k < first_[i + 1]; ++k) largest = std::max(largest, calc_size(values_[k]));
        if (!(largest > 0) || !std::isfinite(largest)) return false;
        scale_[i] = 1 / largest;
    }
    double largest = 0;
    if (taken_) fill_order();
    if (ordered_ && eliminate(largest) && largest < most_multiplier) return true;
    ordered_ = false;
    if (!find_order()) return false;
    fill_order();
    return eliminate(largest);
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
            const Scalar factor = multiply(w[j], inverse_[j]);
            numbers_[n] = factor;
            if (factor == Scalar(0)) continue;
            largest = std::max(largest, calc_size(factor));
            for (int u = diagonal_[j]; u < begin_[j + 1]; ++u) subtract_product(w[columns_[u]], factor, numbers_[u]);
        }
        for (int n = diagonal_[k]; n < begin_[k + 1]; ++n) numbers_[n] = w[columns_[n]];
        const double pivot = calc_size(w[k]);
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
        for (int n = begin_[k]; n < diagonal_[k]; ++n) subtract_product(sum, numbers_[n], w[columns_[n]]);
        w[k] = sum;
    }
    for (int k = size_ - 1; k >= 0; --k) {
        Scalar sum = w[k];
        for (int n = diagonal_[k]; n < begin_[k + 1]; ++n) subtract_product(sum, numbers_[n], w[columns_[n]]);
        w[k] = multiply(sum, inverse_[k]);
    }
    for (int k = 0; k < size_; ++k) r[column_of_[k]] = w[k];
}

template class SparseSystem<double>;
template class SparseSystem<std::complex<double>>;

} // namespace linkwork
