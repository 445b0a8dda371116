// An elimination order compiled to a flat static program over tiles.
//
// Nodes eliminated together form a group of at most eight scalars; each scalar has its group and its lane for good. A
// tile (I, J) holds block A_IJ of the matrix as columns of eight lanes: lane = scalar of the later group I, column =
// scalar of the group J that is eliminated first. All products are then columns times numbers, without any gathering.
// Later couplings of bodies with bodies (springs' dF/dq) are nothing but further fills of such tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "elimination.hpp"
#include "lanes.hpp"

namespace linkwork {

enum FillKind : std::uint8_t {
    fill_zero,        // columns = 0
    fill_constant,    // columns from the constants (masses of bodies that are not leaves)
    fill_rigid,       // six columns: diag(m I, inertia) from m and the upper triangle of the inertia
    fill_natural,     // `columns` rows of J with `count` numbers, each a column of the tile, zeros behind
    fill_natural_add, // the same, added from lane on
    fill_transposed,  // `count` rows of J with `columns` numbers, each one lane of the tile, from lane on
    fill_transposed_add,
};

struct Fill {            // gives a tile its original values just before the first update reaches it
    std::int32_t target; // first column, in the arena
    std::int32_t source; // in J, or in the constants
    FillKind kind;
    std::uint8_t columns, count, lane;
};

enum PivotKind : std::uint8_t { pivot_general, pivot_rigid, pivot_diagonal }; // the last two: leaves

// The lists of the program are run through from front to back, or from back to front, so that pivots need only counts.
// The group of pivot i has lanes 8 i .. 8 i + 7 in vectors.
struct Pivot {
    PivotKind kind;
    std::uint8_t size;
    std::int32_t diagonal; // general: tile of D, then of D^-1, in the arena; leaf: inverse mass in the constants
    std::int32_t fills;    // to be run before it
    std::int32_t borders;  // later groups it is coupled with; targets: all pairs of them, A_ab for b <= a
};

struct Border {
    std::int32_t tile;       // A_IJ in the arena
    std::int32_t vector;     // first lane of I in vectors
    std::uint8_t begin, end; // lanes of I that are not all zero
};

struct Program {
    std::vector<Pivot> pivots;
    std::vector<Fill> fills;
    std::vector<Border> borders;
    std::vector<std::int32_t> targets;
    std::vector<double> constants;
    std::vector<int> lane_of_velocity, lane_of_row; // places of x and y in vectors
    int arena_size = 0, vector_size = 0;            // doubles
    int general = 0;                                // pivots that are no leaves
    double multiply_adds = 0;                       // of one factorization, without the padding of the lanes
};

Program build_program(const Pattern& pattern, const Elimination& elimination);

} // namespace linkwork
