// The order in which bodies and constraint blocks are eliminated from [M J^T; J 0], found once with values.
#pragma once

#include <vector>

#include "../linear.hpp"

namespace linkwork {

// Node i < bodies.size() is body i, node bodies.size() + k is constraint block k. The ground is no node of the order.
struct Elimination {
    std::vector<int> order;               // nodes, first eliminated first
    std::vector<std::vector<int>> border; // of each node: the neighbours left when it is eliminated
    std::vector<char> leaf;               // bodies that still have their own, constant mass when eliminated
    double quality = 1.0; // smallest part of J D^-1 J^T left as a pivot of rows that have bodies to harm
};

// Estimated cycles to eliminate `size` scalars that have `tiles` neighbours with `columns` scalars together.
double calc_pivot_cost(int size, bool leaf, int tiles, int columns);

// A constraint block is a good pivot when each of its rows has kept the part `good_pivot` of what bodies added to it; a
// body when other bodies add at least the part `good_pivot` squared to each of its rows, or it has freedom for all.
Elimination find_elimination(const Pattern& pattern, const double* jacobian, const double* active, double good_pivot);

} // namespace linkwork
