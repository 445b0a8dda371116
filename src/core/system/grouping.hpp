// Columns of a sparse Jacobian that can be differenced together: no row may depend on two columns of one group, so that
// one evaluation with all columns of a group moved tells the slopes of each.
//
// Curtis, Powell, Reid, On the estimation of sparse Jacobian matrices, J. Inst. Math. Appl. 13 (1974) 117-119: columns
// in turn join the first group where no row objects. Coleman, More, Estimation of sparse Jacobian matrices and graph
// coloring problems, SIAM J. Numer. Anal. 20 (1983) 187-209: that is greedy colouring of the graph of columns that
// share a row; orders that look at its degrees need fewer groups. The longest row bounds them from below.
#pragma once

#include <vector>

namespace linkwork {

enum class ColumnOrder : int {
    natural = 0,   // as they come: Curtis, Powell, Reid
    largest_first, // by falling degree
    smallest_last, // the column of least degree goes last, then the same without it
    incidence,     // next the column with most neighbours already ordered
    column_orders
};

struct Grouping {
    std::vector<int> group_of; // per column
    int groups = 0;
};

// rows: the columns that each row depends on
Grouping find_groups(int columns, const std::vector<std::vector<int>>& rows, ColumnOrder order);
// The fewest groups that any of the orders gives.
Grouping find_groups(int columns, const std::vector<std::vector<int>>& rows);

} // namespace linkwork
