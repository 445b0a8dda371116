#include "dependent_columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace linkwork {

namespace {

struct Choice { // the best pivot of a row
    double fill = 0;
    int column = -1;
    auto operator<=>(const Choice&) const = default;
};

class Remainder {
public:
    Remainder(const std::vector<MatrixRow>& rows, int columns, double threshold)
        : threshold_(threshold), rows_(rows.size()), columns_(columns), choices_(rows.size()) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (const auto& [column, value] : rows[i]) {
                if (value == 0) continue;
                rows_[i][column] += value;
                columns_[column].insert(static_cast<int>(i));
            }
        for (std::size_t i = 0; i < rows.size(); ++i) choose(static_cast<int>(i));
    }

    std::vector<int> eliminate() {
        std::vector<int> pivots;
        while (!queue_.empty()) {
            const auto [choice, row] = *queue_.begin();
            queue_.erase(queue_.begin());
            pivots.push_back(choice.column);
            take(row, choice.column);
        }
        return pivots;
    }

private:
    // Enters the row's best pivot in the queue; a row with nothing left depended on the others.
    void choose(int row) {
        queue_.erase({choices_[row], row});
        choices_[row] = {};
        double largest = 0, of_choice = 0;
        for (const auto& [column, value] : rows_[row]) largest = std::max(largest, std::abs(value));
        if (!(largest > 0) || !std::isfinite(largest)) return;
        Choice best;
        for (const auto& [column, value] : rows_[row]) {
            const double size = std::abs(value);
            if (size < threshold_ * largest) continue;
            const double fill = static_cast<double>((rows_[row].size() - 1) * (columns_[column].size() - 1));
            if (best.column >= 0 && (fill > best.fill || (fill == best.fill && size <= of_choice))) continue;
            best = {fill, column}, of_choice = size;
        }
        queue_.insert({choices_[row] = best, row});
    }

    // Eliminates the pivot's column from the other rows.
    void take(int row, int pivot_column) {
        const std::map<int, double> pivot_row = std::move(rows_[row]);
        rows_[row].clear();
        std::set<int> touched; // rows whose entries, or the counts of whose columns, change
        for (const auto& [column, value] : pivot_row) {
            columns_[column].erase(row);
            touched.insert(columns_[column].begin(), columns_[column].end());
        }
        const double pivot = pivot_row.at(pivot_column);
        for (const int other : columns_[pivot_column]) {
            std::map<int, double>& entries = rows_[other];
            const double factor = entries.at(pivot_column) / pivot;
            entries.erase(pivot_column);
            for (const auto& [column, value] : pivot_row) {
                if (column == pivot_column) continue;
                double& entry = entries[column];
                const double before = std::abs(entry);
                entry -= factor * value;
                columns_[column].insert(other);
                if (std::abs(entry) <= round_off * before) { // cancelled: a zero, not a pivot
                    entries.erase(column);
                    columns_[column].erase(other);
                }
            }
        }
        columns_[pivot_column].clear();
        for (const int other : touched) choose(other);
    }

    static constexpr double round_off = 1e-13;
    const double threshold_;
    std::vector<std::map<int, double>> rows_;
    std::vector<std::set<int>> columns_;
    std::vector<Choice> choices_;            // per row
    std::set<std::pair<Choice, int>> queue_; // of the rows that are open
};

} // namespace

std::vector<int> find_dependent_columns(const std::vector<MatrixRow>& rows, int columns, double threshold) {
    return Remainder(rows, columns, threshold).eliminate();
}

} // namespace linkwork
