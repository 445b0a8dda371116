// Kernels of the block factorization A = L D L^T on tiles of eight lanes.
//
// A pivot of P scalars with neighbours a: D^-1 in place of D; then for each a the rows L_a = A_a D^-1, held in
// registers, and A_ab -= L_a A_b^T for the pairs b <= a. A_a itself stays: the solutions use A_a and D^-1.
#pragma once

#include <cstddef>
#include <utility>

#include "program.hpp"

namespace linkwork {

// One step of Gauss-Jordan elimination of a symmetric definite matrix with its columns in registers. Rows before K are
// done; column entries of done and open rows differ in sign only, so row K is read from column K. Only the pivot's
// reciprocal, one product and one update lie between one pivot and the next.
template <int K, int C> inline void clear_column(Lanes* column, const Lanes& v, const Lanes& scaled) {
    if constexpr (C != K) {
        const Lanes cleared = replace<K>(column[C], 0.0);
        const Lanes factor = spread<C>(v);
        column[C] = C < K ? add_product(cleared, scaled, factor) : subtract_product(cleared, scaled, factor);
    }
}

template <int P, int K> inline void invert_step(Lanes* column, double* pivots) {
    const Lanes pivot = spread<K>(column[K]);
    pivots[K] = first(pivot);
    const Lanes v = replace<K>(column[K], -1.0);
    const Lanes scaled = v * reciprocal(pivot);
    [&]<std::size_t... C>(std::index_sequence<C...>) {
        (clear_column<K, static_cast<int>(C)>(column, v, scaled), ...);
    }(std::make_index_sequence<P>());
    column[K] = scaled * -1.0;
}

// D becomes D^-1; pivots[k]: the k-th pivot, whose sign and size tell the health of the factorization.
template <int P> inline void invert(double* diagonal, double* pivots) {
    Lanes column[P];
    for (int c = 0; c < P; ++c) column[c] = load(diagonal + c * lanes);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
        (invert_step<P, static_cast<int>(K)>(column, pivots), ...);
    }(std::make_index_sequence<P>());
    for (int c = 0; c < P; ++c) store(diagonal + c * lanes, column[c]);
}

// columns := columns D^-1
template <int P> struct GeneralInverse {
    const double* inverse;
    void right_multiply(const Lanes* a, Lanes* l) const {
        for (int c = 0; c < P; ++c) {
            Lanes sum = a[0] * inverse[c * lanes];
            for (int k = 1; k < P; ++k) sum = add_product(sum, a[k], inverse[c * lanes + k]);
            l[c] = sum;
        }
    }
    Lanes times(const double* z) const {
        Lanes sum = load(inverse) * z[0];
        for (int k = 1; k < P; ++k) sum = add_product(sum, load(inverse + k * lanes), z[k]);
        return sum;
    }
    // the same for eight right sides at once: one per lane, a Lanes per scalar
    void times_wide(const Lanes* z, Lanes* y) const {
        for (int r = 0; r < P; ++r) {
            y[r] = z[0] * inverse[r];
            for (int k = 1; k < P; ++k) y[r] = add_product(y[r], z[k], inverse[k * lanes + r]);
        }
    }
};

// diag(1/m I, inertia^-1) of a leaf
struct RigidInverse {
    const double* inverse; // 1/m, upper triangle of the 3x3
    void right_multiply(const Lanes* a, Lanes* l) const {
        const double* w = inverse + 1;
        for (int c = 0; c < 3; ++c) l[c] = a[c] * inverse[0];
        l[3] = add_product(add_product(a[3] * w[0], a[4], w[1]), a[5], w[2]);
        l[4] = add_product(add_product(a[3] * w[1], a[4], w[3]), a[5], w[4]);
        l[5] = add_product(add_product(a[3] * w[2], a[4], w[4]), a[5], w[5]);
    }
    Lanes times(const double* z) const {
        const double* w = inverse + 1;
        alignas(64) double y[lanes] = {};
        for (int c = 0; c < 3; ++c) y[c] = inverse[0] * z[c];
        y[3] = w[0] * z[3] + w[1] * z[4] + w[2] * z[5];
        y[4] = w[1] * z[3] + w[3] * z[4] + w[4] * z[5];
        y[5] = w[2] * z[3] + w[4] * z[4] + w[5] * z[5];
        return load(y);
    }
    void times_wide(const Lanes* z, Lanes* y) const { right_multiply(z, y); } // the matrix is symmetric
};

// diagonal of a planar body or a point
struct DiagonalInverse {
    const double* inverse;
    void right_multiply(const Lanes* a, Lanes* l) const {
        for (int c = 0; c < 3; ++c) l[c] = a[c] * inverse[c];
    }
    Lanes times(const double* z) const {
        alignas(64) double y[lanes] = {};
        for (int c = 0; c < 3; ++c) y[c] = inverse[c] * z[c];
        return load(y);
    }
    void times_wide(const Lanes* z, Lanes* y) const { right_multiply(z, y); }
};

template <int P, class Inverse> inline void update_neighbours(const Inverse& inverse, const Border* border, int borders,
                                                              const std::int32_t* target, double* arena) {
    for (int i = 0; i < borders; ++i) {
        const double* tile = arena + border[i].tile;
        Lanes a[P], l[P];
        for (int c = 0; c < P; ++c) a[c] = load(tile + c * lanes);
        inverse.right_multiply(a, l);
        for (int j = 0; j <= i; ++j) {
            double* c = arena + *target++;
            const double* b = arena + border[j].tile;
            for (int k = border[j].begin; k < border[j].end; ++k) {
                Lanes sum = load(c + k * lanes);
                for (int s = 0; s < P; ++s) sum = subtract_product(sum, l[s], b[s * lanes + k]);
                store(c + k * lanes, sum);
            }
        }
    }
}

// z = D^-1 z here, z_a -= A_a z there
template <int P, class Inverse> inline void solve_forward(const Inverse& inverse, const Border* border, int borders,
                                                          const double* arena, double* z, double* vector) {
    store(z, inverse.times(z));
    for (int i = 0; i < borders; ++i) {
        const double* tile = arena + border[i].tile;
        double* other = vector + border[i].vector;
        Lanes sum = load(other);
        for (int c = 0; c < P; ++c) sum = subtract_product(sum, load(tile + c * lanes), z[c]);
        store(other, sum);
    }
}

// z -= D^-1 sum of A_a^T z_a
template <int P, class Inverse> inline void solve_backward(const Inverse& inverse, const Border* border, int borders,
                                                           const double* arena, double* z, const double* vector) {
    if (borders == 0) return;
    Lanes sum[lanes];
    for (int c = 0; c < lanes; ++c) sum[c] = broadcast(0.0);
    for (int i = 0; i < borders; ++i) {
        const double* tile = arena + border[i].tile;
        const Lanes other = load(vector + border[i].vector);
        for (int c = 0; c < P; ++c) sum[c] = add_product(sum[c], load(tile + c * lanes), other);
    }
    alignas(64) double product[lanes];
    store(product, sum_each(sum));
    store(z, load(z) + inverse.times(product) * -1.0);
}

// Both sweeps for eight right sides at once: vectors hold eight numbers per scalar, tiles are read number by number.
template <int P, class Inverse> inline void solve_forward_wide(const Inverse& inverse, const Border* border,
                                                               int borders, const double* arena, double* z,
                                                               double* wide) {
    Lanes in[P], y[P];
    for (int c = 0; c < P; ++c) in[c] = load(z + c * lanes);
    inverse.times_wide(in, y);
    for (int c = 0; c < P; ++c) store(z + c * lanes, y[c]);
    for (int i = 0; i < borders; ++i) {
        const double* tile = arena + border[i].tile;
        double* other = wide + border[i].vector * lanes;
        for (int r = border[i].begin; r < border[i].end; ++r) {
            Lanes sum = load(other + r * lanes);
            for (int c = 0; c < P; ++c) sum = subtract_product(sum, y[c], tile[c * lanes + r]);
            store(other + r * lanes, sum);
        }
    }
}
template <int P, class Inverse> inline void solve_backward_wide(const Inverse& inverse, const Border* border,
                                                                int borders, const double* arena, double* z,
                                                                const double* wide) {
    if (borders == 0) return;
    Lanes sum[P], y[P];
    for (int c = 0; c < P; ++c) sum[c] = broadcast(0.0);
    for (int i = 0; i < borders; ++i) {
        const double* tile = arena + border[i].tile;
        const double* other = wide + border[i].vector * lanes;
        for (int r = border[i].begin; r < border[i].end; ++r) {
            const Lanes v = load(other + r * lanes);
            for (int c = 0; c < P; ++c) sum[c] = add_product(sum[c], v, tile[c * lanes + r]);
        }
    }
    inverse.times_wide(sum, y);
    for (int c = 0; c < P; ++c) store(z + c * lanes, load(z + c * lanes) + y[c] * -1.0);
}

} // namespace linkwork
