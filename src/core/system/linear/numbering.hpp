// Numbering of the joints for a small envelope of B = Phi M^-1 Phi^T [serban 4].
#pragma once

#include <vector>

#include "../linear.hpp"

namespace linkwork {

// Joints (blocks) as vertices, an edge where two of them are on one body [serban fig. 2].
using JointGraph = std::vector<std::vector<int>>;
JointGraph build_joint_graph(const Pattern& pattern);

struct Envelope { // [serban (24)-(27)], in blocks
    int bandwidth = 0, profile = 0, work = 0;
    double multiply_adds = 0; // of the scalar envelope Cholesky factorization
};
Envelope calc_envelope(const Pattern& pattern, const JointGraph& graph, const std::vector<int>& order);

// order[k] = the block numbered k; the cheapest of the given numbering, reverse Cuthill-McKee and King from several
// starts.
std::vector<int> find_numbering(const Pattern& pattern, const JointGraph& graph);

} // namespace linkwork
