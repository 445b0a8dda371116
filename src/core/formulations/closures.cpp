#include "closures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "../system/linear/lanes.hpp"

namespace linkwork {

Closures::Closures(const Tables& tables, Tree& tree) : rows(tables.closures), tables(tables), tree(tree) {
    if (!rows.empty()) {
        std::vector<char> closing(tables.rows_count, 0);
        for (const int row : rows) closing[row] = 1;
        own = tables;
        own.primitives.clear();
        for (const Primitive& p : tables.primitives)
            if (p.row >= 0 && closing[p.row]) own.primitives.push_back(p);
        finish_tables(own);
        std::vector<int> local;
        for (std::size_t i = 0; i < rows.size();) {
            const int block = tables.rows[rows[i]].block;
            local.clear();
            for (; i < rows.size() && tables.rows[rows[i]].block == block; ++i)
                local.push_back(rows[i] - tables.blocks[block].row);
            build_chain(block, local);
        }
    }
    build_groups();
    const std::size_t m = rows.size();
    schur.resize(m * m);
    side.resize(m);
    dense.assign(m > 0 ? lanes * tree.motions.size() : 0, 0.0);
    active.assign(m, 1);
    std::size_t most = 0;
    for (const Chain& c : chains) most = std::max(most, c.steps.size());
    forces.resize(most * 6 * lanes);
}

// The links between the bodies of a block and the root; those above all of its bodies have no part in its rows.
void Closures::build_chain(int block, const std::vector<int>& local) {
    Chain chain;
    chain.first = chains.empty() ? 0 : chains.back().first + chains.back().count;
    chain.count = static_cast<int>(local.size());
    chain.group = -1;
    chain.local = local;
    const Block& b = tables.blocks[block];
    std::vector<int> seen(tree.links.size(), 0);
    int bodies = 0;
    for (int p = b.part; p < b.part + b.parts; ++p) {
        ++bodies;
        for (int i = tree.link_of[tables.parts[p].body]; i >= 0; i = tree.link_of[tree.links[i].parent]) ++seen[i];
    }
    std::vector<int> step_of(tree.links.size(), -1);
    for (int i = static_cast<int>(tree.links.size()); i-- > 0;) {
        if (seen[i] == 0) continue;
        step_of[i] = static_cast<int>(chain.steps.size());
        chain.steps.push_back({i, -1, seen[i] < bodies});
        for (int k = 0; k < tree.links[i].motions; ++k) chain.coordinates.push_back(tree.links[i].motion + k);
    }
    for (Step& s : chain.steps) {
        const int parent = tree.link_of[tree.links[s.link].parent];
        s.next = parent < 0 ? -1 : step_of[parent];
    }
    for (int p = b.part; p < b.part + b.parts; ++p) {
        const int link = tree.link_of[tables.parts[p].body];
        if (link < 0) continue;
        chain.part.push_back(p);
        chain.step.push_back(step_of[link]);
    }
    chain.w.resize(lanes * chain.coordinates.size());
    chains.push_back(std::move(chain));
}

// Chains that share a coordinate belong together.
void Closures::build_groups() {
    place.assign(tree.motions.size(), -1);
    std::vector<int> root(chains.size()), owner(tree.motions.size(), -1);
    std::iota(root.begin(), root.end(), 0);
    const auto find_root = [&](int i) {
        while (root[i] != i) i = root[i] = root[root[i]];
        return i;
    };
    const auto for_each_own = [&](const Chain& chain, auto&& visit) {
        for (const Step& s : chain.steps)
            for (int k = 0; s.own && k < tree.links[s.link].motions; ++k) visit(tree.links[s.link].motion + k);
    };
    for (std::size_t c = 0; c < chains.size(); ++c)
        for_each_own(chains[c], [&](int k) {
            if (owner[k] < 0)
                owner[k] = static_cast<int>(c);
            else
                root[find_root(static_cast<int>(c))] = find_root(owner[k]);
        });
    std::vector<int> group_of(chains.size(), -1);
    for (std::size_t c = 0; c < chains.size(); ++c) {
        int& group = group_of[find_root(static_cast<int>(c))];
        if (group < 0) {
            group = static_cast<int>(groups.size());
            groups.emplace_back();
        }
        chains[c].group = group;
        Group& g = groups[group];
        chains[c].row = static_cast<int>(g.rows.size());
        for (int i = 0; i < chains[c].count; ++i) g.rows.push_back(chains[c].first + i);
        for_each_own(chains[c], [&](int k) {
            if (place[k] >= 0) return;
            place[k] = static_cast<int>(g.columns.size());
            g.columns.push_back(k);
        });
    }
    for (Group& g : groups) {
        g.G.assign(g.rows.size() * g.columns.size(), 0.0);
        g.lu.resize(g.rows.size() * g.rows.size());
        g.side.resize(g.rows.size());
        g.order.resize(g.rows.size());
    }
    for (int k = 0; k < tree.size(); ++k) independent.push_back(k);
}

namespace {

// A force of every row of a chain side by side, one row per lane: torque and force, ground axes.
struct Forces {
    Lanes f[6];
};
inline Forces load_forces(const double* at) {
    Forces F;
    for (int c = 0; c < 6; ++c) F.f[c] = load(at + c * lanes);
    return F;
}
inline Lanes project(const Forces& F, const Vec& angular, const Vec& linear) {
    const Lanes a = add_product(add_product(F.f[0] * angular.x, F.f[1], angular.y), F.f[2], angular.z);
    return add_product(add_product(add_product(a, F.f[3], linear.x), F.f[4], linear.y), F.f[5], linear.z);
}
// next += F about a point back by d
inline void add_shifted(const Forces& F, const Vec& d, double* next) {
    const Lanes up[6] = {subtract_product(add_product(F.f[0], F.f[5], d.y), F.f[4], d.z),
                         subtract_product(add_product(F.f[1], F.f[3], d.z), F.f[5], d.x),
                         subtract_product(add_product(F.f[2], F.f[4], d.x), F.f[3], d.y),
                         F.f[3],
                         F.f[4],
                         F.f[5]};
    for (int c = 0; c < 6; ++c) store(next + c * lanes, load(next + c * lanes) + up[c]);
}

} // namespace

// The rows of J of one chain as forces on its bodies.
void Closures::load_rows(const Chain& chain, const Workspace& w) {
    std::fill_n(forces.begin(), chain.steps.size() * 6 * lanes, 0.0);
    for (std::size_t p = 0; p < chain.part.size(); ++p) {
        const Part& part = tables.parts[chain.part[p]];
        Body body = tables.bodies[part.body];
        body.v = 0; // a row begins at J
        double* F = forces.data() + chain.step[p] * 6 * lanes;
        for (int r = 0; r < chain.count; ++r) {
            Twist<double> row;
            calc_twist(body, w.jacobian.data() + part.offset + chain.local[r] * body.nv, row);
            const Vec torque = w.pose[part.body].A * row.w;
            for (int c = 0; c < 3; ++c) F[c * lanes + r] = torque[c], F[(3 + c) * lanes + r] = row.v[c];
        }
    }
}

// What hangs on a point cannot turn it.
bool Closures::is_point(const Step& step) const { return tables.bodies[tree.links[step.link].body].kind == body_point; }

void Closures::calc_jacobian(Workspace& w) {
    linkwork::calc_jacobian(own, w);
    for (const Chain& chain : chains) {
        load_rows(chain, w);
        Group& g = groups[chain.group];
        const std::size_t n = g.columns.size();
        double row[lanes];
        for (std::size_t s = 0; s < chain.steps.size(); ++s) {
            const Step& step = chain.steps[s];
            if (!step.own) continue;
            const TreeLink& link = tree.links[step.link];
            Forces F = load_forces(forces.data() + s * 6 * lanes);
            if (is_point(step)) F.f[0] = F.f[1] = F.f[2] = broadcast(0.0);
            for (int k = link.motion; k < link.motion + link.motions; ++k) {
                const MotionAxes<double>& S = tree.axes_of(k);
                store(row, project(F, S.e, S.l));
                for (int r = 0; r < chain.count; ++r) g.G[(chain.row + r) * n + place[k]] = row[r];
            }
            if (step.next >= 0) add_shifted(F, tree.step_of(step.link), forces.data() + step.next * 6 * lanes);
        }
    }
}

// Elimination with full pivoting in units of `scale`, rows of unit length: what is left of a row that depends on others
// is below the tolerance.
void Closures::choose_group(Group& g, const std::vector<double>& scale, double tolerance,
                            const std::vector<double>& engaged) {
    const int m = static_cast<int>(g.rows.size()), n = static_cast<int>(g.columns.size());
    std::vector<double> A(g.G);
    for (int i = 0; i < m; ++i) {
        double length = 0;
        for (int j = 0; j < n; ++j) A[i * n + j] *= scale[g.columns[j]], length += A[i * n + j] * A[i * n + j];
        for (int j = 0; j < n && length > 0; ++j) A[i * n + j] /= std::sqrt(length);
    }
    std::vector<char> row_done(m, 0), column_done(n, 0);
    for (int i = 0; i < m; ++i) row_done[i] = engaged[rows[g.rows[i]]] == 0.0; // switched off
    g.kept.clear(), g.dependent.clear(), g.others.clear();
    for (int step = 0; step < std::min(m, n); ++step) {
        int row = -1, column = -1;
        double best = tolerance;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n && !row_done[i]; ++j)
                if (!column_done[j] && std::abs(A[i * n + j]) > best)
                    best = std::abs(A[i * n + j]), row = i, column = j;
        if (row < 0) break;
        row_done[row] = column_done[column] = 1;
        g.kept.push_back(row), g.dependent.push_back(column);
        for (int i = 0; i < m; ++i) {
            if (row_done[i]) continue;
            const double f = A[i * n + column] / A[row * n + column];
            for (int j = 0; j < n; ++j) A[i * n + j] -= f * A[row * n + j];
            A[i * n + column] = 0;
        }
    }
    for (int j = 0; j < n; ++j)
        if (!column_done[j]) g.others.push_back(j);
}

bool Closures::choose(const std::vector<double>& scale, double tolerance, const std::vector<double>& engaged) {
    std::vector<char> dependent(tree.motions.size(), 0);
    std::fill(active.begin(), active.end(), 0);
    for (Group& g : groups) {
        choose_group(g, scale, tolerance, engaged);
        for (const int i : g.kept) active[g.rows[i]] = 1;
        for (const int j : g.dependent) dependent[g.columns[j]] = 1;
    }
    independent.clear();
    for (int k = 0; k < tree.size(); ++k)
        if (!dependent[k]) independent.push_back(k);
    return factor();
}

// LU decomposition with row pivoting of the kept rows and dependent columns.
bool Closures::factor_group(Group& g) {
    const int m = static_cast<int>(g.kept.size()), n = static_cast<int>(g.columns.size());
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) g.lu[i * m + j] = g.G[g.kept[i] * n + g.dependent[j]];
    for (int k = 0; k < m; ++k) {
        int pivot = k;
        for (int i = k + 1; i < m; ++i)
            if (std::abs(g.lu[i * m + k]) > std::abs(g.lu[pivot * m + k])) pivot = i;
        g.order[k] = pivot;
        if (pivot != k) std::swap_ranges(&g.lu[k * m], &g.lu[k * m] + m, &g.lu[pivot * m]);
        if (!(std::abs(g.lu[k * m + k]) > 1e-14)) return false;
        const double inverse = 1 / g.lu[k * m + k];
        for (int i = k + 1; i < m; ++i) {
            const double f = g.lu[i * m + k] *= inverse;
            if (f == 0.0) continue;
            for (int j = k + 1; j < m; ++j) g.lu[i * m + j] -= f * g.lu[k * m + j];
        }
    }
    return true;
}
void Closures::solve_group(const Group& g, double* x) const {
    const int m = static_cast<int>(g.kept.size());
    for (int k = 0; k < m; ++k) std::swap(x[k], x[g.order[k]]);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < i; ++j) x[i] -= g.lu[i * m + j] * x[j];
    for (int i = m; i-- > 0;) {
        for (int j = i + 1; j < m; ++j) x[i] -= g.lu[i * m + j] * x[j];
        x[i] /= g.lu[i * m + i];
    }
}

bool Closures::factor() {
    bool good = true;
    for (Group& g : groups) good = factor_group(g) && good;
    return good;
}

void Closures::complete(const double* r, double* dz) {
    for (Group& g : groups) {
        const std::size_t n = g.columns.size();
        for (std::size_t i = 0; i < g.kept.size(); ++i) {
            const double* row = g.G.data() + g.kept[i] * n;
            double s = r ? r[g.rows[g.kept[i]]] : 0.0;
            for (const int j : g.others) s -= row[j] * dz[g.columns[j]];
            g.side[i] = s;
        }
        solve_group(g, g.side.data());
        for (std::size_t j = 0; j < g.dependent.size(); ++j) dz[g.columns[g.dependent[j]]] = g.side[j];
    }
}

double Closures::calc_condition(const std::vector<double>& scale) {
    double sum = 0;
    for (Group& g : groups) {
        const std::size_t n = g.columns.size();
        for (const int j : g.others) {
            for (std::size_t i = 0; i < g.kept.size(); ++i) g.side[i] = g.G[g.kept[i] * n + j];
            solve_group(g, g.side.data());
            for (std::size_t i = 0; i < g.kept.size(); ++i)
                sum += std::abs(g.side[i]) * scale[g.columns[j]] / scale[g.columns[g.dependent[i]]];
        }
    }
    return std::isfinite(sum) ? 1 + sum : std::numeric_limits<double>::infinity();
}

void Closures::calc_residual(const Workspace& w, const double* values, const double* x, double* r) const {
    for (const Chain& chain : chains)
        for (int i = 0; i < chain.count; ++i) {
            double s = values ? values[rows[chain.first + i]] : 0.0;
            for (const int p : chain.part) {
                const Part& part = tables.parts[p];
                const Body& body = tables.bodies[part.body];
                const double* J = w.jacobian.data() + part.offset + chain.local[i] * body.nv;
                for (int c = 0; c < body.nv; ++c) s -= J[c] * x[body.v + c];
            }
            r[chain.first + i] = s;
        }
}

double Closures::largest(const double* r) const {
    double most = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (active[i]) most = std::max(most, std::abs(r[i]));
    return most;
}

// w_ik: the rows as forces through the eliminations of the free tree, all the way to the root; and on the way
// J a0 = sum of F.c over the links, less w_ik w_k / D_k.
void Closures::calc_projections(Chain& chain) {
    std::size_t at = 0;
    Lanes sum = broadcast(0.0);
    for (std::size_t s = 0; s < chain.steps.size(); ++s) {
        const Step& step = chain.steps[s];
        const TreeLink& link = tree.links[step.link];
        Forces F = load_forces(forces.data() + s * 6 * lanes);
        if (is_point(step)) F.f[0] = F.f[1] = F.f[2] = broadcast(0.0);
        for (int k = link.motions; k-- > 0;) {
            const MotionAxes<double>& S = tree.axes_of(link.motion + k);
            const MotionPivot<double>& pivot = tree.pivot_of(link.motion + k);
            const Lanes w = project(F, S.e, S.l), part = w * pivot.inverse;
            store(chain.w.data() + (at + k) * lanes, w);
            sum = subtract_product(sum, part, pivot.w);
            for (int c = 0; c < 3; ++c) {
                F.f[c] = subtract_product(F.f[c], part, pivot.U.angular[c]);
                F.f[3 + c] = subtract_product(F.f[3 + c], part, pivot.U.linear[c]);
            }
        }
        const Spatial<double>& bias = tree.bias_of(step.link);
        sum = sum + project(F, bias.angular, bias.linear);
        if (step.next >= 0) add_shifted(F, tree.step_of(step.link), forces.data() + step.next * 6 * lanes);
        at += link.motions;
    }
    double free[lanes];
    store(free, sum);
    std::copy_n(free, chain.count, side.begin() + chain.first);
}

// S = W D^-1 W^T, rows without part in it replaced by those of the identity; Cholesky's decomposition in place.
bool Closures::factor_schur() {
    const int m = size();
    double sums[lanes];
    for (const Chain& one : chains) {
        for (std::size_t k = 0; k < one.coordinates.size(); ++k)
            store(dense.data() + one.coordinates[k] * lanes,
                  load(one.w.data() + k * lanes) * tree.pivot_of(one.coordinates[k]).inverse);
        for (const Chain& other : chains) {
            if (other.first > one.first) break;
            for (int c = 0; c < other.count; ++c) {
                Lanes s = broadcast(0.0);
                for (std::size_t k = 0; k < other.coordinates.size(); ++k)
                    s = add_product(s, load(dense.data() + other.coordinates[k] * lanes), other.w[k * lanes + c]);
                store(sums, s);
                const int j = other.first + c;
                for (int r = 0; r < one.count; ++r) {
                    const int i = one.first + r;
                    schur[i * m + j] = active[i] && active[j] ? sums[r] : i == j ? 1.0 : 0.0;
                }
            }
        }
        for (const int k : one.coordinates) std::fill_n(dense.begin() + k * lanes, lanes, 0.0);
    }
    for (int i = 0; i < m; ++i) {
        double* row = schur.data() + i * m;
        for (int j = 0; j < i; ++j) {
            const double* other = schur.data() + j * m;
            double s = row[j];
            for (int k = 0; k < j; ++k) s -= row[k] * other[k];
            row[j] = s * other[j];
        }
        double s = row[i];
        for (int k = 0; k < i; ++k) s -= row[k] * row[k];
        if (!(s > 0)) return false;
        row[i] = 1 / std::sqrt(s); // the reciprocal of the diagonal
    }
    return true;
}

bool Closures::close_accelerations(const Workspace& w) {
    const int m = size();
    for (Chain& chain : chains) {
        load_rows(chain, w);
        calc_projections(chain);
    }
    if (!factor_schur()) return false;
    for (int i = 0; i < m; ++i) {
        double s = active[i] ? w.gamma[rows[i]] - side[i] : 0.0;
        for (int k = 0; k < i; ++k) s -= schur[i * m + k] * side[k];
        side[i] = s * schur[i * m + i];
    }
    for (int i = m; i-- > 0;) {
        double s = side[i];
        for (int k = i + 1; k < m; ++k) s -= schur[k * m + i] * side[k];
        side[i] = s * schur[i * m + i];
    }
    for (const Chain& chain : chains)
        for (std::size_t k = 0; k < chain.coordinates.size(); ++k) {
            double s = 0;
            for (int r = 0; r < chain.count; ++r) s += side[chain.first + r] * chain.w[k * lanes + r];
            tree.pivot_of(chain.coordinates[k]).w -= s;
        }
    return true;
}

} // namespace linkwork
