// Closed loops in joint coordinates z: the constraint rows that the tree's motions do not satisfy by themselves.
//
// With the Jacobian J of a row by its bodies and the tree's motions d = H z', the row reads G z' = target, G = J H: a
// force J^T on the bodies, summed up on its way to the root, does the work G_k on the motions it passes. Only the
// motions between the bodies of the row and the link that carries them all have a part in it, so rows fall into groups
// (local loops) that share no coordinate. In each group as many coordinates are dependent as it has independent rows,
// chosen by elimination with full pivoting; a small LU decomposition answers for positions and velocities
//     G_u dz_u = r - G_v dz_v.
// Accelerations: the recursion with free coordinates gives z0''. A unit of the multiplier of row i adds J_i^T to the
// forces; passing them up through the same eliminations leaves w_ik at the motion k of pivot D_k, and
//     S l = gamma - J a0,   S_ij = sum_k w_ik w_jk / D_k = (J M^-1 J^T of the tree),   z'' = z0'' from w_k - sum w_ik
//     l_i
// [featherstone 8; petzold 3.1.1]. Redundant rows are left out of all of this.
#pragma once

#include <vector>

#include "../system/equations.hpp"
#include "../system/tree.hpp"
#include "contract.hpp"

namespace linkwork {

class Closures {
public:
    Closures(const Tables& tables, Tree& tree);

    bool empty() const { return rows.empty(); }
    const Tables& own_tables() const { return own; } // the primitives of closing rows alone

    // G at the tree's position; J of the workspace is filled for it.
    void calc_jacobian(Workspace& w);
    // Chooses dependent coordinates and independent rows at this G; `scale` measures coordinates. False: not finite.
    bool choose(const std::vector<double>& scale, double tolerance, const std::vector<double>& engaged);
    bool factor();
    // Size of G_u^-1 G_v in scaled coordinates; infinite where G_u is singular.
    double calc_condition(const std::vector<double>& scale);

    // dz of the dependent coordinates from those of the independent ones: G dz = r, r by rows of the closures or null
    void complete(const double* r, double* dz);
    // residual r := values - J x for the closing rows, x in velocity coordinates
    void calc_residual(const Workspace& w, const double* values, const double* x, double* r) const;

    // Changes the projected forces of the freed tree so that the way down gives accelerations of closed loops. False:
    // singular.
    bool close_accelerations(const Workspace& w);

    int size() const { return static_cast<int>(rows.size()); }
    std::vector<int> rows;        // of the constraints, one per closing row
    std::vector<int> independent; // coordinates, ascending
    double largest(const double* r) const;

private:
    struct Step { // a link on the way of a block's forces to the root
        int link;
        int next; // step of the parent's link, -1: the root
        bool own; // its motions have a part in the rows
    };
    struct Chain {                    // the closing rows of one block
        int first, count, group, row; // closing rows; their group, and the place of the first in it
        std::vector<int> local;       // of the block's rows
        std::vector<int> part, step;  // of each moving body
        std::vector<Step> steps;      // children first
        std::vector<int> coordinates;
        std::vector<double> w; // [coordinates x lanes]
    };
    struct Group {
        std::vector<int> rows, columns;           // closing rows, coordinates
        std::vector<int> kept, dependent, others; // places in `rows` and `columns`
        std::vector<double> G, lu;                // [rows x columns], [kept x kept]
        std::vector<int> order;                   // of pivots
        std::vector<double> side;
    };
    void build_chain(int block, const std::vector<int>& local);
    void build_groups();
    void load_rows(const Chain& chain, const Workspace& w);
    bool is_point(const Step& step) const;
    void choose_group(Group& g, const std::vector<double>& scale, double tolerance, const std::vector<double>& engaged);
    bool factor_group(Group& g);
    void solve_group(const Group& g, double* x) const;
    void calc_projections(Chain& chain);
    bool factor_schur();

    const Tables& tables;
    Tables own;
    Tree& tree;
    std::vector<Chain> chains;
    std::vector<Group> groups;
    std::vector<int> place;                 // column of a coordinate in its group
    std::vector<double> forces;             // [steps x 6 x lanes] of one chain
    std::vector<double> schur, side, dense; // [n x n], [n], [coordinates x lanes]
    std::vector<char> active;               // of each closing row
};

} // namespace linkwork
