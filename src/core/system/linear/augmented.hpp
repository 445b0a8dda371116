// Entries of the augmented matrix [M J^T; J 0], and where their values come from.
#pragma once

#include <vector>

#include "../linear.hpp"
#include "masses.hpp"

namespace linkwork {

struct MassEntry {
    int row, column;
    double value;
};

struct JacobianEntry {
    int row, column; // of J
    int source;      // value = jacobian[source] * active[row]
};

struct AugmentedEntries {
    std::vector<MassEntry> mass;
    std::vector<JacobianEntry> jacobian;
};

inline AugmentedEntries build_augmented_entries(const Pattern& pattern) {
    AugmentedEntries entries;

    // M, body by body: the diagonal and what is not zero beside it
    double mass[36];
    for (const Body& body : pattern.bodies) {
        if (body.nv == 0) continue;
        calc_mass(body, mass);
        for (int i = 0; i < body.nv; ++i)
            for (int j = 0; j < body.nv; ++j)
                if (i == j || mass[i * body.nv + j] != 0.0)
                    entries.mass.push_back({body.v + i, body.v + j, mass[i * body.nv + j]});
    }

    // J, part by part
    for (const Part& part : pattern.parts) {
        const Body& body = pattern.bodies[part.body];
        const Block& block = pattern.blocks[part.block];
        for (int r = 0; r < block.rows && body.nv > 0; ++r)
            for (int c = 0; c < body.nv; ++c)
                entries.jacobian.push_back({block.row + r, body.v + c, part.offset + r * body.nv + c});
    }
    return entries;
}

} // namespace linkwork
