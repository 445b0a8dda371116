// Scalar functions of the user: expressions, splines and callables, on any scalar.
//
// An expression is a list of words for a small stack machine, written by `functions.py`; a word is an operation code,
// or for `push` and `load` a code followed by an index. A spline is a piecewise cubic: `count` knots x_i at
// numbers[first], then 4 (count - 1) coefficients c0..c3 per interval in powers of (x - x_i). Outside the knots it goes
// on as the straight line of its end slope, or starts over if it is periodic. A callable knows no derivatives: on dual
// scalars it is differenced with steps scaled to its argument.
#pragma once

#include "../system/tables.hpp"
#include "algebra.hpp"

namespace linkwork {

enum Word : std::int32_t { // one operand fewer on the stack per extra argument
    word_push = 0,         // + index into numbers
    word_load,             // + index of the argument
    word_add,
    word_sub,
    word_mul,
    word_div,
    word_neg,
    word_power, // exponent must be a constant pushed last, or both positive: exp(b log a)
    word_sin,
    word_cos,
    word_tan,
    word_asin,
    word_acos,
    word_atan,
    word_atan2,
    word_sinh,
    word_cosh,
    word_tanh,
    word_exp,
    word_log,
    word_sqrt,
    word_abs,
    word_sign,
    word_min,
    word_max,
    word_less, // 1 or 0
    word_less_equal,
    word_where,  // condition, then, else
    word_step,   // x, x0, h0, x1, h1: smooth cubic step h0 -> h1
    word_spline, // + index of a spline function: value at the top of the stack
    word_and,
    word_or,
    word_not,
    word_power_integer, // + the exponent itself
};

// Value and first two derivatives of a spline at x.
template <class T>
inline void calc_spline(const Tables& tables, const Function& f, const T& argument, T& y, T& y1, T& y2) {
    const double* knots = tables.numbers.data() + f.first;
    const int n = f.count;
    const double* coefficients = knots + n;
    T x = argument;
    if (f.kind == function_periodic) {
        const double period = knots[n - 1] - knots[0];
        x = x - T(period * std::floor((plain(x) - knots[0]) / period));
    }
    const double at = plain(x);
    if (at < knots[0]) { // straight continuation
        const double* c = coefficients;
        y = T(c[0]) + T(c[1]) * (x - T(knots[0])), y1 = T(c[1]), y2 = T(0.0);
        return;
    }
    int low = 0, high = n - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        (at < knots[middle] ? high : low) = middle;
    }
    const double* c = coefficients + 4 * low;
    if (at > knots[n - 1]) {
        const double h = knots[n - 1] - knots[n - 2];
        const double end = c[0] + h * (c[1] + h * (c[2] + h * c[3])), slope = c[1] + h * (2 * c[2] + 3 * h * c[3]);
        y = T(end) + T(slope) * (x - T(knots[n - 1])), y1 = T(slope), y2 = T(0.0);
        return;
    }
    const T d = x - T(knots[low]);
    y = T(c[0]) + d * (T(c[1]) + d * (T(c[2]) + d * T(c[3])));
    y1 = T(c[1]) + d * (T(2 * c[2]) + T(3 * c[3]) * d);
    y2 = T(2 * c[2]) + T(6 * c[3]) * d;
}

template <class T> T calc_expression(const Tables& tables, const Function& f, const T* arguments);
template <class T> T calc_callback(const Tables& tables, const Function& f, const T* arguments);

template <class T> inline T calc_function(const Tables& tables, int index, const T* arguments) {
    const Function& f = tables.functions[index];
    switch (f.kind) {
    case function_expression:
        return calc_expression(tables, f, arguments);
    case function_spline:
    case function_periodic: {
        T y, y1, y2;
        calc_spline(tables, f, arguments[0], y, y1, y2);
        return y;
    }
    default:
        return calc_callback(tables, f, arguments);
    }
}

} // namespace linkwork

#include "expressions.hpp"
