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

struct EliminationRule {
    double good_pivot; // a constraint block is taken while each row has kept this part of what bodies have added to it
    double good_body;  // a body with more rows than freedoms is taken when the other bodies of each row add the part
                       // good_body^2 of what it adds; 1: only bodies with freedom for all their rows, as in a recursive
                       // algorithm from the tips to the base
};

Elimination find_elimination(const Pattern& pattern, const double* jacobian, const double* active,
                             const EliminationRule& rule);

} // namespace linkwork
