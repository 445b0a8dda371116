#include "rank_watch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../system/equations.hpp"

namespace linkwork {

namespace {

constexpr double turned_below = 0.1;     // eigenvalues of S below this are noted
constexpr double moved_above = 0.03;     // changes of S above this ask for new directions
constexpr int longest_idle = 8;          // and so many steps without
constexpr double near_below = 0.1;       // and steps that end or begin this close
constexpr std::size_t most_notes = 1024; // steps noted in one run, so that none allocates

double dot_product(const double* a, const double* b, int n) {
    double s = 0;
    for (int i = 0; i < n; ++i) s += a[i] * b[i];
    return s;
}

// Whether all eigenvalues of a matrix have positive real parts: Routh-Hurwitz for the characteristic polynomial of -S.
bool is_positive(const std::array<double, 9>& s, int n) {
    if (n == 1) return s[0] > 0;
    const double minor = s[0] * s[4] - s[1] * s[3];
    if (n == 2) return s[0] + s[4] > 0 && minor > 0;
    const double trace = s[0] + s[4] + s[8];
    const double minors = minor + s[0] * s[8] - s[2] * s[6] + s[4] * s[8] - s[5] * s[7];
    const double determinant =
        s[0] * (s[4] * s[8] - s[5] * s[7]) - s[1] * (s[3] * s[8] - s[5] * s[6]) + s[2] * (s[3] * s[7] - s[4] * s[6]);
    return trace > 0 && determinant > 0 && trace * minors > determinant;
}

} // namespace

bool has_loops(const Tables& tables) {
    std::vector<int> root(tables.bodies.size()), first(tables.blocks.size(), -1);
    std::iota(root.begin(), root.end(), 0);
    const auto find_root = [&](int body) {
        while (root[body] != body) body = root[body] = root[root[body]];
        return body;
    };
    for (const Part& part : tables.parts) {
        const int body = find_root(part.body);
        if (first[part.block] < 0) {
            first[part.block] = part.body;
            continue;
        }
        const int other = find_root(first[part.block]);
        if (other == body) return true;
        root[body] = other;
    }
    return false;
}

RankWatch::RankWatch(const Tables& tables) : tables(tables) {
    if (!has_loops(tables)) return;
    most = std::min(directions, tables.rows_count);
    const std::size_t n = most, rows = tables.rows_count;
    g.resize(n * rows);
    x.resize(n * static_cast<std::size_t>(tables.nv));
    y.resize(n * rows);
    work.resize(rows);
}

void RankWatch::look(double t, const double* jacobian, const double* active, LinearSolver& solver,
                     FormulationFacts& facts) {
    if (most == 0) return;
    if (fresh) {
        begin(active);
        fresh = false;
        facts.suspects.reserve(most_notes);
        for (int sweep = 0; sweep < 4; ++sweep) iterate(solver, facts);
        idle = 0;
        if (count == 0) return; // no row is engaged
    }
    const double before = closeness();
    calc_change(jacobian);
    const bool turned = !is_positive(change, count);
    if (has_moved() || ++idle >= longest_idle) {
        iterate(solver, facts);
        iterate(solver, facts);
        idle = 0;
    }
    largest = std::max(largest, weakest);
    if (turned || std::min(before, closeness()) < near_below) {
        if (facts.suspects.size() < most_notes) facts.suspects.push_back(t);
    }
    if (closeness() < facts.closest_pivot) facts.closest_pivot = closeness(), facts.closest_pivot_time = t;
}

// Directions without a pattern, for the iteration to start from.
void RankWatch::begin(const double* active) {
    const int rows = tables.rows_count;
    count = most;
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < rows; ++i) y[k * rows + i] = active[i] * std::sin(1.0 + 1.7 * k + (2.3 + 0.4 * k) * i);
}

// y := (J M^-1 J^T)^-1 g for g the orthonormalized y of before, and x = J^+ g.
void RankWatch::iterate(LinearSolver& solver, FormulationFacts& facts) {
    const int rows = tables.rows_count, nv = tables.nv;
    orthonormalize(y);
    if (count == 0) return restart();
    std::copy(y.begin(), y.end(), g.begin());
    std::fill(x.begin(), x.end(), 0.0);
    double longest = 0;
    for (int k = 0; k < count; ++k) {
        solver.solve(x.data() + k * nv, y.data() + k * rows);
        longest = std::max(longest, dot_product(y.data() + k * rows, y.data() + k * rows, rows));
        ++facts.linear_solves;
    }
    weakest = 1 / std::sqrt(longest);
}

// Modified Gram-Schmidt; keeps the vectors before the first that is of no use (few independent rows, overflow).
void RankWatch::orthonormalize(std::vector<double>& vectors) {
    const int rows = tables.rows_count;
    for (int k = 0; k < count; ++k) {
        double* v = vectors.data() + k * rows;
        const double before = std::sqrt(dot_product(v, v, rows));
        for (int pass = 0; pass < 2; ++pass)
            for (int j = 0; j < k; ++j) {
                const double* e = vectors.data() + j * rows;
                const double s = dot_product(e, v, rows);
                for (int i = 0; i < rows; ++i) v[i] -= s * e[i];
            }
        const double length = std::sqrt(dot_product(v, v, rows));
        if (!std::isfinite(length) || !(length > 1e-12 * before)) {
            count = k;
            return;
        }
        for (int i = 0; i < rows; ++i) v[i] /= length;
    }
}

// S - 0.1 I with S_jk = g_j^T J x_k
void RankWatch::calc_change(const double* jacobian) {
    const int rows = tables.rows_count, nv = tables.nv;
    for (int k = 0; k < count; ++k) {
        std::fill(work.begin(), work.end(), 0.0);
        add_jacobian_times(tables, jacobian, x.data() + k * nv, work.data());
        for (int j = 0; j < count; ++j)
            change[3 * j + k] = dot_product(g.data() + j * rows, work.data(), rows) - (j == k ? turned_below : 0.0);
    }
}

// Whether S is no longer near the identity.
bool RankWatch::has_moved() const {
    double most_moved = 0;
    for (int j = 0; j < count; ++j)
        for (int k = 0; k < count; ++k)
            most_moved = std::max(most_moved, std::abs(change[3 * j + k] - (j == k ? 1 - turned_below : 0.0)));
    return !(most_moved < moved_above);
}

} // namespace linkwork
