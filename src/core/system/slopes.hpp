// The linearized equations of motion in sparse form, for Newton's method: computed at every new linearization of a run.
//
// Around a state (q, v, a, lambda), with displacements d, velocity changes u, acceleration changes b, multiplier
// changes y:
//   M b + J^T y = K d + C u          K = f_q - (J^T lambda)_q,  C = f_v
//   J b         = G d + H u          G = gamma_q - (J a)_q,     H = gamma_v
//   J u         = -(J v)_q d
// Row quantities have the layout of the block Jacobian; K and C are blocks of bodies that share an element. The same
// quantities as derivatives.hpp gives densely, which the tests compare.
#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "seeds.hpp"
#include "tables.hpp"
#include "workspace.hpp"

namespace linkwork {

class Slopes {
public:
    explicit Slopes(const Tables& tables);

    // At the pose, twist, a and lambda of the workspace.
    void calc(const Tables& tables, double t, const Workspace& w);

    // out += K x and out += C x for `columns` vectors at once, x and out row-major nv x columns
    void add_stiffness_times(const double* x, double* out, int columns) const { add_times(K, x, out, columns); }
    void add_damping_times(const double* x, double* out, int columns) const { add_times(C, x, out, columns); }

    // visit(row, column, entry of K, entry of C) for all entries of all blocks
    template <class Visit> void for_each_entry(Visit&& visit) const {
        for (const Coupling& c : couplings)
            for (int i = 0; i < count_v[c.a]; ++i)
                for (int j = 0; j < count_v[c.b]; ++j) {
                    const int k = c.offset + i * count_v[c.b] + j;
                    visit(first_v[c.a] + i, first_v[c.b] + j, K[k], C[k]);
                }
    }

    // Where the block of these rows and columns begins in K and C; both bodies must share an element.
    int find_offset(int row_body, int column_body) const { return offset_of.at({row_body, column_body}); }

    std::vector<double> Jv_q, G, H; // [jacobian_size]
    std::vector<double> K, C;       // blocks, row-major nv_a x nv_b

private:
    struct Coupling { // the block of rows of body a and columns of body b
        int a, b;
        int offset;
    };
    using Four = std::array<int, 4>; // offsets of the blocks aa, ab, ba, bb of one element

    Four find_blocks(const Tables& tables, int a, int b);
    void add_times(const std::vector<double>& blocks, const double* x, double* out, int columns) const;

    std::vector<Coupling> couplings;
    std::map<std::pair<int, int>, int> offset_of; // of the block (a, b)
    std::vector<Twist<double>> accelerations;     // spatial, per body
    std::vector<BodySeeds> seeds;                 // per body, at the state of the last calc
    int block_size = 0;                           // of all blocks so far
    std::vector<int> first_v, count_v;            // per body
    std::vector<Four> of_primitive, of_coordinate_force, of_bushing;
    std::vector<int> of_body; // diagonal block
    friend struct SlopeSweep;
};

// y += J x for several vectors at once, x and y row-major nv x columns and rows x columns
void add_jacobian_times(const Tables& tables, const double* jacobian, const double* x, double* y, int columns);

} // namespace linkwork
