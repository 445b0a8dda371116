#include "grouping.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace linkwork {

namespace {

using Graph = std::vector<std::vector<int>>;

// Columns that share a row with each column.
Graph find_neighbours(int columns, const std::vector<std::vector<int>>& rows) {
    Graph neighbours(columns);
    for (const auto& row : rows)
        for (const int i : row)
            for (const int j : row)
                if (i != j) neighbours[i].push_back(j);
    for (auto& list : neighbours) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return neighbours;
}

// Takes out the column of least weight again and again; `change` moves the weights of its neighbours that are left.
std::vector<int> take_by_weight(const Graph& neighbours, std::vector<int> weight, int change) {
    std::set<std::pair<int, int>> left; // weight, column
    for (std::size_t i = 0; i < weight.size(); ++i) left.emplace(weight[i], static_cast<int>(i));
    std::vector<int> taken;
    std::vector<char> is_taken(weight.size(), 0);
    while (!left.empty()) {
        const int column = left.begin()->second;
        left.erase(left.begin());
        taken.push_back(column);
        is_taken[column] = 1;
        for (const int j : neighbours[column]) {
            if (is_taken[j]) continue;
            left.erase({weight[j], j});
            weight[j] += change;
            left.emplace(weight[j], j);
        }
    }
    return taken;
}

std::vector<int> find_order(const Graph& neighbours, ColumnOrder order) {
    std::vector<int> degree;
    for (const auto& list : neighbours) degree.push_back(static_cast<int>(list.size()));
    if (order == ColumnOrder::incidence) return take_by_weight(neighbours, std::vector<int>(degree.size()), -1);
    if (order == ColumnOrder::smallest_last) {
        std::vector<int> taken = take_by_weight(neighbours, degree, -1);
        std::reverse(taken.begin(), taken.end());
        return taken;
    }
    std::vector<int> columns(degree.size());
    std::iota(columns.begin(), columns.end(), 0);
    if (order == ColumnOrder::largest_first)
        std::stable_sort(columns.begin(), columns.end(), [&](int i, int j) { return degree[i] > degree[j]; });
    return columns;
}

Grouping group_greedily(const Graph& neighbours, const std::vector<int>& order) {
    Grouping found;
    found.group_of.assign(neighbours.size(), -1);
    std::vector<int> objector; // per group, the column that was last kept out of it
    for (const int column : order) {
        for (const int j : neighbours[column])
            if (found.group_of[j] >= 0) objector[found.group_of[j]] = column;
        int group = 0;
        while (group < found.groups && objector[group] == column) ++group;
        if (group == found.groups) ++found.groups, objector.push_back(-1);
        found.group_of[column] = group;
    }
    return found;
}

} // namespace

Grouping find_groups(int columns, const std::vector<std::vector<int>>& rows, ColumnOrder order) {
    const Graph neighbours = find_neighbours(columns, rows);
    return group_greedily(neighbours, find_order(neighbours, order));
}

Grouping find_groups(int columns, const std::vector<std::vector<int>>& rows) {
    const Graph neighbours = find_neighbours(columns, rows);
    Grouping best;
    for (int k = 0; k < static_cast<int>(ColumnOrder::column_orders); ++k) {
        Grouping found = group_greedily(neighbours, find_order(neighbours, static_cast<ColumnOrder>(k)));
        if (k == 0 || found.groups < best.groups) best = std::move(found);
    }
    return best;
}

} // namespace linkwork
