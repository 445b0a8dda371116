// Eight doubles that are worked on at once: the lanes of a tile. AVX-512 registers where the compiler targets them,
// else plain arrays in loops the compiler can vectorize for its machine.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define LINKWORK_AVX512 1
#include <immintrin.h>
#endif

namespace linkwork {

inline constexpr int lanes = 8;

#ifdef LINKWORK_AVX512

struct Lanes {
    __m512d v;
};

inline Lanes load(const double* p) { return {_mm512_loadu_pd(p)}; }
inline void store(double* p, const Lanes& a) { _mm512_storeu_pd(p, a.v); }
inline Lanes broadcast(double a) { return {_mm512_set1_pd(a)}; }
inline Lanes operator+(const Lanes& a, const Lanes& b) { return {_mm512_add_pd(a.v, b.v)}; }
inline Lanes operator-(const Lanes& a, const Lanes& b) { return {_mm512_sub_pd(a.v, b.v)}; }
inline Lanes operator*(const Lanes& a, const Lanes& b) { return {_mm512_mul_pd(a.v, b.v)}; }
inline Lanes operator*(const Lanes& a, double b) { return {_mm512_mul_pd(a.v, _mm512_set1_pd(b))}; }
// c + a b and c - a b
inline Lanes add_product(const Lanes& c, const Lanes& a, double b) {
    return {_mm512_fmadd_pd(a.v, _mm512_set1_pd(b), c.v)};
}
inline Lanes subtract_product(const Lanes& c, const Lanes& a, double b) {
    return {_mm512_fnmadd_pd(a.v, _mm512_set1_pd(b), c.v)};
}
inline Lanes add_product(const Lanes& c, const Lanes& a, const Lanes& b) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
inline Lanes subtract_product(const Lanes& c, const Lanes& a, const Lanes& b) {
    return {_mm512_fnmadd_pd(a.v, b.v, c.v)};
}
// the first `count` numbers at p, zeros behind
inline Lanes load_first(const double* p, int count) {
    return {_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1u), p)};
}
template <int K> inline Lanes replace(const Lanes& a, double value) {
    return {_mm512_mask_mov_pd(a.v, static_cast<__mmask8>(1u << K), _mm512_set1_pd(value))};
}
// lane K in all lanes
template <int K> inline Lanes spread(const Lanes& a) { return {_mm512_permutexvar_pd(_mm512_set1_epi64(K), a.v)}; }
inline Lanes reciprocal(const Lanes& a) { return {_mm512_div_pd(_mm512_set1_pd(1.0), a.v)}; }
inline double first(const Lanes& a) { return _mm512_cvtsd_f64(a.v); }
// lane j of the result is the sum of all lanes of columns[j]
inline Lanes sum_each(const Lanes columns[lanes]) {
    // pairs of columns, then fours, then all eight: adjacent lanes first, 128-bit quarters next
    __m512d pair[4];
    for (int i = 0; i < 4; ++i) {
        const __m512d a = columns[2 * i].v, b = columns[2 * i + 1].v;
        pair[i] = _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
    }
    const __m512d low =
        _mm512_add_pd(_mm512_shuffle_f64x2(pair[0], pair[1], 0x88), _mm512_shuffle_f64x2(pair[0], pair[1], 0xDD));
    const __m512d high =
        _mm512_add_pd(_mm512_shuffle_f64x2(pair[2], pair[3], 0x88), _mm512_shuffle_f64x2(pair[2], pair[3], 0xDD));
    return {_mm512_add_pd(_mm512_shuffle_f64x2(low, high, 0x88), _mm512_shuffle_f64x2(low, high, 0xDD))};
}

#else

struct Lanes {
    double v[lanes];
};

inline Lanes load(const double* p) {
    Lanes a;
    for (int i = 0; i < lanes; ++i) a.v[i] = p[i];
    return a;
}
inline void store(double* p, const Lanes& a) {
    for (int i = 0; i < lanes; ++i) p[i] = a.v[i];
}
inline Lanes broadcast(double value) {
    Lanes a;
    for (int i = 0; i < lanes; ++i) a.v[i] = value;
    return a;
}
inline Lanes operator+(const Lanes& a, const Lanes& b) {
    Lanes c;
    for (int i = 0; i < lanes; ++i) c.v[i] = a.v[i] + b.v[i];
    return c;
}
inline Lanes operator-(const Lanes& a, const Lanes& b) {
    Lanes c;
    for (int i = 0; i < lanes; ++i) c.v[i] = a.v[i] - b.v[i];
    return c;
}
inline Lanes operator*(const Lanes& a, const Lanes& b) {
    Lanes c;
    for (int i = 0; i < lanes; ++i) c.v[i] = a.v[i] * b.v[i];
    return c;
}
inline Lanes operator*(const Lanes& a, double b) {
    Lanes c;
    for (int i = 0; i < lanes; ++i) c.v[i] = a.v[i] * b;
    return c;
}
// c + a b and c - a b
inline Lanes add_product(const Lanes& c, const Lanes& a, double b) {
    Lanes d;
    for (int i = 0; i < lanes; ++i) d.v[i] = c.v[i] + a.v[i] * b;
    return d;
}
inline Lanes subtract_product(const Lanes& c, const Lanes& a, double b) {
    Lanes d;
    for (int i = 0; i < lanes; ++i) d.v[i] = c.v[i] - a.v[i] * b;
    return d;
}
inline Lanes add_product(const Lanes& c, const Lanes& a, const Lanes& b) {
    Lanes d;
    for (int i = 0; i < lanes; ++i) d.v[i] = c.v[i] + a.v[i] * b.v[i];
    return d;
}
inline Lanes subtract_product(const Lanes& c, const Lanes& a, const Lanes& b) {
    Lanes d;
    for (int i = 0; i < lanes; ++i) d.v[i] = c.v[i] - a.v[i] * b.v[i];
    return d;
}
// the first `count` numbers at p, zeros behind
inline Lanes load_first(const double* p, int count) {
    Lanes a;
    for (int i = 0; i < lanes; ++i) a.v[i] = i < count ? p[i] : 0.0;
    return a;
}
template <int K> inline Lanes replace(const Lanes& a, double value) {
    Lanes b = a;
    b.v[K] = value;
    return b;
}
// lane K in all lanes
template <int K> inline Lanes spread(const Lanes& a) { return broadcast(a.v[K]); }
inline Lanes reciprocal(const Lanes& a) {
    Lanes b;
    for (int i = 0; i < lanes; ++i) b.v[i] = 1.0 / a.v[i];
    return b;
}
inline double first(const Lanes& a) { return a.v[0]; }
// lane j of the result is the sum of all lanes of columns[j]
inline Lanes sum_each(const Lanes columns[lanes]) {
    Lanes sum;
    for (int j = 0; j < lanes; ++j) {
        const double* c = columns[j].v;
        sum.v[j] = ((c[0] + c[1]) + (c[2] + c[3])) + ((c[4] + c[5]) + (c[6] + c[7]));
    }
    return sum;
}

#endif

} // namespace linkwork
