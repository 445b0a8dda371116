// The stack machine of the user's expressions and the differencing of callables (declared in functions.hpp).
//
// One source serves double and nested dual scalars. Comparisons and choices look at the plain value only, so a
// derivative is the one of the branch taken. The stack lives on the C++ stack; `functions.py` refuses expressions
// deeper than it.
#pragma once

#include <algorithm>
#include <limits>

#include "functions.hpp"

namespace linkwork {

constexpr int expression_stack = 32; // mirrored by STACK in functions.py

using std::acos;
using std::cosh;
using std::sinh;

template <class T, int N> inline Dual<T, N> acos(const Dual<T, N>& a) {
    return chain(a, acos(a.value), T(-1.0) / sqrt(T(1.0) - a.value * a.value));
}
template <class T, int N> inline Dual<T, N> cosh(const Dual<T, N>& a);
template <class T, int N> inline Dual<T, N> sinh(const Dual<T, N>& a) { return chain(a, sinh(a.value), cosh(a.value)); }
template <class T, int N> inline Dual<T, N> cosh(const Dual<T, N>& a) { return chain(a, cosh(a.value), sinh(a.value)); }

// a^b with both varying: exp(b log a) and so NaN for a < 0; on plain numbers the library's own power
template <class T> inline T calc_power(const T& a, const T& b) {
    if constexpr (std::is_arithmetic_v<T>)
        return pow(a, b);
    else
        return exp(b * log(a));
}

// a^n by repeated squaring: exact on dual scalars also where a = 0
template <class T> inline T calc_integer_power(T a, int n) {
    T result(1.0);
    for (unsigned k = n < 0 ? 0u - static_cast<unsigned>(n) : static_cast<unsigned>(n); k > 0; k >>= 1) {
        if (k & 1u) result = result * a;
        if (k > 1) a = a * a;
    }
    return n < 0 ? T(1.0) / result : result;
}

// h0 left of x0, h1 right of x1, and the cubic with level ends between them
template <class T> inline T calc_step(const T& x, const T& x0, const T& h0, const T& x1, const T& h1) {
    if (plain(x) <= plain(x0)) return h0;
    if (plain(x) >= plain(x1)) return h1;
    const T d = (x - x0) / (x1 - x0);
    return h0 + (h1 - h0) * d * d * (T(3.0) - T(2.0) * d);
}

// The operations with one operand, by their word.
template <class T> inline T calc_unary(std::int32_t word, const T& a) {
    switch (word) {
    case word_neg:
        return -a;
    case word_sin:
        return sin(a);
    case word_cos:
        return cos(a);
    case word_tan:
        return tan(a);
    case word_asin:
        return asin(a);
    case word_acos:
        return acos(a);
    case word_atan:
        return atan(a);
    case word_sinh:
        return sinh(a);
    case word_cosh:
        return cosh(a);
    case word_tanh:
        return tanh(a);
    case word_exp:
        return exp(a);
    case word_log:
        return log(a);
    case word_sqrt:
        return sqrt(a);
    case word_abs:
        return plain(a) < 0.0 ? T(-a) : a;
    case word_sign:
        return T(plain(a) > 0.0 ? 1.0 : plain(a) < 0.0 ? -1.0 : 0.0);
    case word_not:
        return T(plain(a) == 0.0 ? 1.0 : 0.0);
    default:
        return T(std::numeric_limits<double>::quiet_NaN());
    }
}

// The operations with two operands, by their word; `power` is settled by the caller.
template <class T> inline T calc_binary(std::int32_t word, const T& a, const T& b) {
    switch (word) {
    case word_add:
        return a + b;
    case word_sub:
        return a - b;
    case word_mul:
        return a * b;
    case word_div:
        return a / b;
    case word_atan2:
        return atan2(a, b);
    case word_min:
        return plain(b) < plain(a) ? b : a;
    case word_max:
        return plain(b) > plain(a) ? b : a;
    case word_less:
        return T(plain(a) < plain(b) ? 1.0 : 0.0);
    case word_less_equal:
        return T(plain(a) <= plain(b) ? 1.0 : 0.0);
    case word_and:
        return T(plain(a) != 0.0 && plain(b) != 0.0 ? 1.0 : 0.0);
    case word_or:
        return T(plain(a) != 0.0 || plain(b) != 0.0 ? 1.0 : 0.0);
    default:
        return T(std::numeric_limits<double>::quiet_NaN());
    }
}

template <class T> inline T calc_expression(const Tables& tables, const Function& f, const T* arguments) {
    T stack[expression_stack];
    T* top = stack;        // one past the last operand
    bool constant = false; // the last operand is a number of the text
    const std::int32_t *word = tables.code.data() + f.first, *end = word + f.count;
    while (word < end) {
        const std::int32_t code = *word++;
        const bool exponent_constant = constant;
        constant = code == word_push;
        switch (code) {
        case word_push:
            *top++ = T(tables.numbers[*word++]);
            break;
        case word_load:
            *top++ = arguments[*word++];
            break;
        case word_spline: {
            T y, slope, bend;
            calc_spline(tables, tables.functions[*word++], top[-1], y, slope, bend);
            top[-1] = y;
            break;
        }
        case word_power:
            --top;
            top[-1] = exponent_constant ? T(pow(top[-1], plain(top[0]))) : calc_power(top[-1], top[0]);
            break;
        case word_power_integer:
            top[-1] = calc_integer_power(top[-1], *word++);
            break;
        case word_where:
            top -= 2;
            top[-1] = plain(top[-1]) != 0.0 ? top[0] : top[1];
            break;
        case word_step:
            top -= 4;
            top[-1] = calc_step(top[-1], top[0], top[1], top[2], top[3]);
            break;
        case word_add:
        case word_sub:
        case word_mul:
        case word_div:
        case word_atan2:
        case word_min:
        case word_max:
        case word_less:
        case word_less_equal:
        case word_and:
        case word_or:
            --top;
            top[-1] = calc_binary(code, top[-1], top[0]);
            break;
        default:
            top[-1] = calc_unary(code, top[-1]);
        }
    }
    return top[-1];
}

// ---------------------------------------------------------------------------------------------------------------
// Callables: central differences, one level of dual numbers at a time.
//
// With an error e in the values of a level, the central difference with step h errs by e/h + h^2/6 f''', least near
// h = e^(1/3). Values: e = 2e-16, h = 6e-6, leaving e = 4e-11 in first derivatives; from these the next level takes
// h = 3e-4, leaving 1e-7 in second derivatives, and the third h = 5e-3. Steps are scaled to the argument, at least
// to 1.
// ---------------------------------------------------------------------------------------------------------------
template <class T> struct DualDepth {
    static constexpr int value = 0;
};
template <class T, int N> struct DualDepth<Dual<T, N>> {
    static constexpr int value = DualDepth<T>::value + 1;
};
constexpr double difference_step(int depth) { return depth <= 1 ? 6e-6 : depth == 2 ? 3e-4 : 5e-3; }

inline bool is_zero(double x) { return x == 0.0; }
template <class T, int N> inline bool is_zero(const Dual<T, N>& x) {
    for (int i = 0; i < N; ++i)
        if (!is_zero(x.slope[i])) return false;
    return is_zero(x.value);
}

inline double calc_callback_plain(const Tables& tables, const Function& f, const double* arguments) {
    const Callback& callback = tables.callbacks[f.first];
    double value = 0.0;
    if (!callback.call(callback.context, arguments, f.arguments, &value, 1))
        return std::numeric_limits<double>::quiet_NaN(); // the bindings keep the exception
    return value;
}

template <class T, int N>
inline Dual<T, N> calc_callback_dual(const Tables& tables, const Function& f, const Dual<T, N>* arguments) {
    T at[4];
    for (int k = 0; k < f.arguments; ++k) at[k] = arguments[k].value;
    Dual<T, N> result;
    result.value = calc_callback<T>(tables, f, at);
    for (int k = 0; k < f.arguments; ++k) {
        bool moves = false;
        for (int i = 0; i < N; ++i) moves = moves || !is_zero(arguments[k].slope[i]);
        if (!moves) continue;
        const T x = at[k];
        const double h = difference_step(DualDepth<Dual<T, N>>::value) * std::max(1.0, std::abs(plain(x)));
        at[k] = x + T(h);
        const T ahead = calc_callback<T>(tables, f, at);
        at[k] = x - T(h);
        const T slope = (ahead - calc_callback<T>(tables, f, at)) * T(0.5 / h);
        at[k] = x;
        for (int i = 0; i < N; ++i) result.slope[i] = result.slope[i] + slope * arguments[k].slope[i];
    }
    return result;
}

template <class T> inline T calc_callback(const Tables& tables, const Function& f, const T* arguments) {
    if constexpr (std::is_same_v<T, double>)
        return calc_callback_plain(tables, f, arguments);
    else
        return calc_callback_dual(tables, f, arguments);
}

} // namespace linkwork
