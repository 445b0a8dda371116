// Which nodes are eliminated together, in which order, and which tiles this fills.
#pragma once

#include <map>
#include <vector>

#include "elimination.hpp"
#include "lanes.hpp"

namespace linkwork {

struct LaneRange {
    int begin = lanes, end = 0;
    void include(int first, int last) {
        begin = begin < first ? begin : first;
        end = end > last ? end : last;
    }
};

struct Group {
    std::vector<int> nodes; // in the order of elimination
    int size = 0;
    bool leaf = false;
    std::map<int, LaneRange> border; // later groups and their lanes that are reached
};

struct Grouping {
    std::vector<Group> groups; // first eliminated first
    std::vector<int> group_of; // of each node; -1 ground
    std::vector<int> lane_of;  // first lane of each node in its group
};

Grouping build_groups(const Pattern& pattern, const Elimination& elimination);

} // namespace linkwork
