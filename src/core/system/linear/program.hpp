// An elimination order compiled to a flat static program over tiles.
//
// Nodes eliminated together form a group of at most eight scalars; each scalar has its group and its lane for good. A
// tile (I, J) holds block A_IJ of the matrix as columns of eight lanes: lane = scalar of the later group I, column =
// scalar of the group J that is eliminated first. All products are then columns times numbers, without any gathering.
// Later couplings of bodies with bodies (springs' dF/dq) are nothing but further fills of such tiles.
#pragma once

#include <vector>

#include "elimination.hpp"
#include "lanes.hpp"

namespace linkwork {

enum FillKind {
    fill_zero,           // columns = 0
    fill_constant,       // columns from the constants (mass of a body that is not a leaf)
    fill_natural,        // `columns` rows of J, each one column of the tile, zeros behind
    fill_natural_add,    // the same, added from lane on
    fill_transposed,     // column c, lanes from `lane` on: column c of J
    fill_transposed_add,
};

struct Fill {      // gives a tile its original values just before the first update reaches it
    int kind;
    int target;    // of its first column, in the arena
    int source;    // in J, or in the constants
    int columns;   // columns of the tile to be written
    int count;     // numbers per column
    int lane;
    int stride;    // nv: row length of J
};

enum PivotKind { pivot_general, pivot_rigid, pivot_diagonal }; // the last two: leaves with constant inverse mass

struct Pivot {
    int kind, size;
    int diagonal;             // general: tile of D, then of D^-1, in the arena; leaf: inverse mass in the constants
    int vector;               // first lane of the group in vectors
    int fill_begin, fill_end; // to be run before it
    int border, borders;
    int target;               // targets[target + a (a + 1) / 2 + b]: tile that A_a D^-1 A_b^T is subtracted from, b <= a
    int unused;
};

struct Border {
    int tile;       // A_IJ in the arena
    int vector;     // first lane of I in vectors
    int begin, end; // lanes of I that are not all zero
};

struct Program {
    std::vector<Pivot> pivots;
    std::vector<Fill> fills;
    std::vector<Border> borders;
    std::vector<int> targets;
    std::vector<double> constants;
    std::vector<int> lane_of_velocity, lane_of_row; // places of x and y in vectors
    int arena_size = 0, vector_size = 0;            // doubles
    double multiply_adds = 0;                       // of one factorization, without the padding of the lanes
};

Program build_program(const Pattern& pattern, const Elimination& elimination);

} // namespace linkwork
