// Small fixed-size algebra on any scalar: 3-vectors, 3x3 matrices, Euler parameters, dual numbers.
//
// Everything here is a pure function of its arguments. The scalar T is double in the hot path and Dual<...> where
// derivatives are wanted, so a kernel is written once and differentiated exactly.
#pragma once

#include <cmath>
#include <type_traits>

namespace linkwork {

// ---------------------------------------------------------------------------------------------------------------
// Dual<T, N>: value and N directional derivatives. Nest it for higher orders: Dual<Dual<double, 1>, 12>.
// ---------------------------------------------------------------------------------------------------------------
template <class T, int N> struct Dual {
    T value{};
    T slope[N]{};
    Dual() = default;
    Dual(double x) : value(x) {}
    template <class U>
        requires(!std::is_arithmetic_v<U> && std::is_same_v<U, T>)
    Dual(const U& x) : value(x) {}
};

template <class T> inline double plain(const T& x) {
    if constexpr (requires { x.value; })
        return plain(x.value);
    else
        return x;
}

// f(a) with derivative df = f'(a)
template <class T, int N> inline Dual<T, N> chain(const Dual<T, N>& a, const T& f, const T& df) {
    Dual<T, N> c;
    c.value = f;
    for (int i = 0; i < N; ++i) c.slope[i] = df * a.slope[i];
    return c;
}

template <class T, int N> inline Dual<T, N> operator-(const Dual<T, N>& a) { return chain(a, -a.value, T(-1.0)); }
template <class T, int N> inline Dual<T, N> operator+(const Dual<T, N>& a, const Dual<T, N>& b) {
    Dual<T, N> c;
    c.value = a.value + b.value;
    for (int i = 0; i < N; ++i) c.slope[i] = a.slope[i] + b.slope[i];
    return c;
}
template <class T, int N> inline Dual<T, N> operator-(const Dual<T, N>& a, const Dual<T, N>& b) {
    Dual<T, N> c;
    c.value = a.value - b.value;
    for (int i = 0; i < N; ++i) c.slope[i] = a.slope[i] - b.slope[i];
    return c;
}
template <class T, int N> inline Dual<T, N> operator*(const Dual<T, N>& a, const Dual<T, N>& b) {
    Dual<T, N> c;
    c.value = a.value * b.value;
    for (int i = 0; i < N; ++i) c.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
    return c;
}
template <class T, int N> inline Dual<T, N> operator/(const Dual<T, N>& a, const Dual<T, N>& b) {
    Dual<T, N> c;
    const T inverse = T(1.0) / b.value;
    c.value = a.value * inverse;
    for (int i = 0; i < N; ++i) c.slope[i] = (a.slope[i] - c.value * b.slope[i]) * inverse;
    return c;
}
template <class T, int N> inline Dual<T, N> operator+(const Dual<T, N>& a, double b) { return a + Dual<T, N>(b); }
template <class T, int N> inline Dual<T, N> operator+(double a, const Dual<T, N>& b) { return Dual<T, N>(a) + b; }
template <class T, int N> inline Dual<T, N> operator-(const Dual<T, N>& a, double b) { return a - Dual<T, N>(b); }
template <class T, int N> inline Dual<T, N> operator-(double a, const Dual<T, N>& b) { return Dual<T, N>(a) - b; }
template <class T, int N> inline Dual<T, N> operator*(const Dual<T, N>& a, double b) { return a * Dual<T, N>(b); }
template <class T, int N> inline Dual<T, N> operator*(double a, const Dual<T, N>& b) { return Dual<T, N>(a) * b; }
template <class T, int N> inline Dual<T, N> operator/(const Dual<T, N>& a, double b) { return a / Dual<T, N>(b); }
template <class T, int N> inline Dual<T, N> operator/(double a, const Dual<T, N>& b) { return Dual<T, N>(a) / b; }
template <class T, int N> inline Dual<T, N>& operator+=(Dual<T, N>& a, const Dual<T, N>& b) { return a = a + b; }
template <class T, int N> inline Dual<T, N>& operator-=(Dual<T, N>& a, const Dual<T, N>& b) { return a = a - b; }

using std::abs;
using std::asin;
using std::atan;
using std::atan2;
using std::cos;
using std::exp;
using std::log;
using std::pow;
using std::sin;
using std::sqrt;
using std::tan;
using std::tanh;

template <class T, int N> inline Dual<T, N> sin(const Dual<T, N>& a) { return chain(a, sin(a.value), cos(a.value)); }
template <class T, int N> inline Dual<T, N> cos(const Dual<T, N>& a) { return chain(a, cos(a.value), -sin(a.value)); }
template <class T, int N> inline Dual<T, N> tan(const Dual<T, N>& a) {
    const T f = tan(a.value);
    return chain(a, f, T(1.0) + f * f);
}
template <class T, int N> inline Dual<T, N> asin(const Dual<T, N>& a) {
    return chain(a, asin(a.value), T(1.0) / sqrt(T(1.0) - a.value * a.value));
}
template <class T, int N> inline Dual<T, N> atan(const Dual<T, N>& a) {
    return chain(a, atan(a.value), T(1.0) / (T(1.0) + a.value * a.value));
}
template <class T, int N> inline Dual<T, N> sqrt(const Dual<T, N>& a) {
    const T f = sqrt(a.value);
    return chain(a, f, T(0.5) / f);
}
template <class T, int N> inline Dual<T, N> exp(const Dual<T, N>& a) {
    const T f = exp(a.value);
    return chain(a, f, f);
}
template <class T, int N> inline Dual<T, N> log(const Dual<T, N>& a) {
    return chain(a, log(a.value), T(1.0) / a.value);
}
template <class T, int N> inline Dual<T, N> tanh(const Dual<T, N>& a) {
    const T f = tanh(a.value);
    return chain(a, f, T(1.0) - f * f);
}
template <class T, int N> inline Dual<T, N> abs(const Dual<T, N>& a) { return plain(a) < 0.0 ? -a : a; }
template <class T, int N> inline Dual<T, N> pow(const Dual<T, N>& a, double n) {
    if (n == 0.0) return Dual<T, N>(1.0);
    return chain(a, pow(a.value, n), T(n) * pow(a.value, n - 1.0));
}
template <class T, int N> inline Dual<T, N> atan2(const Dual<T, N>& y, const Dual<T, N>& x) {
    const T rho = x.value * x.value + y.value * y.value;
    Dual<T, N> c;
    c.value = atan2(y.value, x.value);
    for (int i = 0; i < N; ++i) c.slope[i] = (x.value * y.slope[i] - y.value * x.slope[i]) / rho;
    return c;
}

// ---------------------------------------------------------------------------------------------------------------
// Vectors and matrices
// ---------------------------------------------------------------------------------------------------------------
template <class T> struct Vec3 {
    T x{}, y{}, z{};
    T& operator[](int i) { return (&x)[i]; }
    const T& operator[](int i) const { return (&x)[i]; }
};
using Vec = Vec3<double>;

template <class T> inline Vec3<T> operator+(const Vec3<T>& a, const Vec3<T>& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T> inline Vec3<T> operator-(const Vec3<T>& a, const Vec3<T>& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T> inline Vec3<T> operator-(const Vec3<T>& a) { return {-a.x, -a.y, -a.z}; }
template <class T> inline Vec3<T> operator*(const T& s, const Vec3<T>& a) { return {s * a.x, s * a.y, s * a.z}; }
template <class T> inline Vec3<T>& operator+=(Vec3<T>& a, const Vec3<T>& b) { return a = a + b; }
template <class T> inline Vec3<T>& operator-=(Vec3<T>& a, const Vec3<T>& b) { return a = a - b; }
template <class T> inline T dot(const Vec3<T>& a, const Vec3<T>& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <class T> inline Vec3<T> cross(const Vec3<T>& a, const Vec3<T>& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class T> inline T norm(const Vec3<T>& a) { return sqrt(dot(a, a)); }

// constants (double) seen as scalars of type T
template <class T> inline Vec3<T> cast(const Vec& a) { return {T(a.x), T(a.y), T(a.z)}; }
template <> inline Vec3<double> cast<double>(const Vec& a) { return a; }

template <class T> struct Mat3 { // row-major
    T m[3][3]{};
    T* operator[](int i) { return m[i]; }
    const T* operator[](int i) const { return m[i]; }
};
using Mat = Mat3<double>;

template <class T> inline Vec3<T> operator*(const Mat3<T>& A, const Vec3<T>& b) {
    return {A[0][0] * b.x + A[0][1] * b.y + A[0][2] * b.z, A[1][0] * b.x + A[1][1] * b.y + A[1][2] * b.z,
            A[2][0] * b.x + A[2][1] * b.y + A[2][2] * b.z};
}
template <class T> inline void scale(Mat3<T>& A, const T& s) {
    for (auto& row : A.m)
        for (T& entry : row) entry = s * entry;
}
// A^T b
template <class T> inline Vec3<T> transpose_times(const Mat3<T>& A, const Vec3<T>& b) {
    return {A[0][0] * b.x + A[1][0] * b.y + A[2][0] * b.z, A[0][1] * b.x + A[1][1] * b.y + A[2][1] * b.z,
            A[0][2] * b.x + A[1][2] * b.y + A[2][2] * b.z};
}
template <class T> inline Mat3<T> cast(const Mat& A) {
    Mat3<T> B;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) B[i][j] = T(A[i][j]);
    return B;
}

// ---------------------------------------------------------------------------------------------------------------
// Euler parameters p = (e0, e): A(p) is homogeneous quadratic, so it is a rotation times p.p (Haug 1989, 9.3).
// ---------------------------------------------------------------------------------------------------------------
template <class T> inline Mat3<T> calc_rotation(const T* p) {
    const T &e0 = p[0], &e1 = p[1], &e2 = p[2], &e3 = p[3];
    const T a = e0 * e0, b = e1 * e1, c = e2 * e2, d = e3 * e3;
    const T e12 = e1 * e2, e13 = e1 * e3, e23 = e2 * e3, e01 = e0 * e1, e02 = e0 * e2, e03 = e0 * e3;
    Mat3<T> A;
    A[0][0] = a + b - c - d;
    A[0][1] = (e12 - e03) + (e12 - e03);
    A[0][2] = (e13 + e02) + (e13 + e02);
    A[1][0] = (e12 + e03) + (e12 + e03);
    A[1][1] = a - b + c - d;
    A[1][2] = (e23 - e01) + (e23 - e01);
    A[2][0] = (e13 - e02) + (e13 - e02);
    A[2][1] = (e23 + e01) + (e23 + e01);
    A[2][2] = a - b - c + d;
    return A;
}

// p-dot = 1/2 G(p)^T w with w in body axes and G = [-e, -tilde(e) + e0 I]
template <class T> inline void calc_parameter_rate(const T* p, const Vec3<T>& w, T* rate) {
    const T half(0.5);
    rate[0] = half * (-p[1] * w.x - p[2] * w.y - p[3] * w.z);
    rate[1] = half * (p[0] * w.x - p[3] * w.y + p[2] * w.z);
    rate[2] = half * (p[3] * w.x + p[0] * w.y - p[1] * w.z);
    rate[3] = half * (-p[2] * w.x + p[1] * w.y + p[0] * w.z);
}

// w = 2 G(p) u: the body-axes rotation rate that belongs to p-dot = u, or the small rotation that belongs to u
template <class T> inline Vec3<T> calc_spin(const T* p, const T* u) {
    const T two(2.0);
    return {two * (-p[1] * u[0] + p[0] * u[1] + p[3] * u[2] - p[2] * u[3]),
            two * (-p[2] * u[0] - p[3] * u[1] + p[0] * u[2] + p[1] * u[3]),
            two * (-p[3] * u[0] + p[2] * u[1] - p[1] * u[2] + p[0] * u[3])};
}

// Euler parameters of a rotation matrix, of the sign nearer to those p holds; the largest is found first.
inline void calc_parameters(const Mat& A, double* p) {
    const double trace = A[0][0] + A[1][1] + A[2][2];
    const double squares[4] = {trace, 2 * A[0][0] - trace, 2 * A[1][1] - trace, 2 * A[2][2] - trace};
    int k = 0;
    for (int i = 1; i < 4; ++i)
        if (squares[i] > squares[k]) k = i;
    const double largest = 0.5 * std::sqrt(1 + squares[k]), f = 0.25 / largest;
    const double e01 = f * (A[2][1] - A[1][2]), e02 = f * (A[0][2] - A[2][0]), e03 = f * (A[1][0] - A[0][1]);
    const double e12 = f * (A[1][0] + A[0][1]), e13 = f * (A[0][2] + A[2][0]), e23 = f * (A[2][1] + A[1][2]);
    const double found[4][4] = {
        {largest, e01, e02, e03}, {e01, largest, e12, e13}, {e02, e12, largest, e23}, {e03, e13, e23, largest}};
    double along = 0, square = 0;
    for (int i = 0; i < 4; ++i) along += found[k][i] * p[i], square += found[k][i] * found[k][i];
    const double scale = (along < 0 ? -1 : 1) / std::sqrt(square);
    for (int i = 0; i < 4; ++i) p[i] = scale * found[k][i];
}

} // namespace linkwork
