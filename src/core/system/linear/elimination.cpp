// Greedy elimination: always the cheapest node that is good, which depends on values.
//
// A constraint block's pivot is -J D^-1 J^T over those of its bodies that are gone, less what other constraints have
// used up of their freedoms: it is good while most of it is left. With loops, an order that looks at the graph alone
// takes joints after one of their bodies until that body has no freedom left, and breaks down: what is added to the
// other bodies, E^T K^-1 E, drowns their mass. When all its bodies are gone a block harms nobody: the rest is a
// Cholesky factorization of J M^-1 J^T.
//
// A body's pivot is M plus positive semidefinite terms, always definite. But a light body with more rows than freedoms
// fills J D^-1 J^T with large numbers that cancel later, and what the heavy bodies of these rows have added is lost: it
// is good while they add a fair part.
#include "elimination.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <unordered_map>

#include "masses.hpp"

namespace linkwork {

double calc_pivot_cost(int size, bool leaf, int tiles, int columns) {
    // inverse (none for a leaf), rows of L, updates of half the pairs of neighbours; fitted to measured cycles
    const double p = size;
    const double inverse = leaf ? 10.0 : 20.0 + 24.0 * p;
    const double rows = tiles * (6.0 + (leaf ? 1.5 * p : 0.6 * p * p));
    return inverse + rows + 0.5 * (tiles + 1) * (4.0 + columns * (1.5 + 0.6 * p));
}

namespace {

constexpr double least_pivot = 1e-13; // below this part of its full pivot a row counts as dependent

struct Node {
    int size = 0;
    bool body = false, leaf = false, done = false;
    int stamp = 0;
    std::vector<int> neighbours;
    std::vector<double> diagonal; // size x size
    std::vector<double> full;     // constraint rows: all that bodies have added to the diagonal of J D^-1 J^T so far
};

class Graph {
public:
    Graph(const Pattern& pattern, const double* jacobian, const double* active);
    Elimination eliminate_all(const EliminationRule& rule);

private:
    using Matrix = std::vector<double>; // row-major, rows of the node with the smaller index
    static std::uint64_t key(int a, int b) {
        return (static_cast<std::uint64_t>(std::min(a, b)) << 32) | static_cast<std::uint32_t>(std::max(a, b));
    }
    Matrix& edge(int a, int b);
    void add_mass(const Pattern& pattern);
    void add_part(const Pattern& pattern, const Part& part, const double* jacobian, const double* active);
    double calc_cost(const Node& node) const;
    double calc_quality(int index) const;
    double calc_row_quality(const Node& node) const;
    double calc_body_quality(int index) const;
    bool calc_inverse(const Node& node, Matrix& inverse) const;
    void calc_added(int body, int block, double* added) const;
    void eliminate(int index);
    void update(int a, const Matrix& left, int b, const Matrix& right, int size);

    std::vector<Node> nodes_;
    std::unordered_map<std::uint64_t, Matrix> edges_;
};

Graph::Graph(const Pattern& pattern, const double* jacobian, const double* active) {
    nodes_.resize(pattern.bodies.size() + pattern.blocks.size());
    edges_.reserve(4 * nodes_.size());
    add_mass(pattern);
    for (std::size_t k = 0; k < pattern.blocks.size(); ++k) {
        Node& node = nodes_[pattern.bodies.size() + k];
        node.size = pattern.blocks[k].rows;
        node.diagonal.assign(node.size * node.size, 0.0);
        node.full.assign(node.size, 0.0);
        for (int r = 0; r < node.size; ++r)
            if (active[pattern.blocks[k].row + r] == 0.0) {
                node.diagonal[r * node.size + r] = -1.0; // unit pivot of an inactive row
                node.full[r] = 1.0;
            }
    }
    for (const Part& part : pattern.parts)
        if (pattern.bodies[part.body].nv > 0) add_part(pattern, part, jacobian, active);
}

void Graph::add_mass(const Pattern& pattern) {
    for (std::size_t i = 0; i < pattern.bodies.size(); ++i) {
        const Body& body = pattern.bodies[i];
        Node& node = nodes_[i];
        node.body = node.leaf = true;
        node.size = body.nv;
        node.done = body.nv == 0;
        node.diagonal.resize(body.nv * body.nv);
        if (body.nv > 0) calc_mass(body, node.diagonal.data());
    }
}

void Graph::add_part(const Pattern& pattern, const Part& part, const double* jacobian, const double* active) {
    const Body& body = pattern.bodies[part.body];
    const Block& block = pattern.blocks[part.block];
    const int index = static_cast<int>(pattern.bodies.size()) + part.block, nv = body.nv;
    Matrix& matrix = edge(part.body, index); // nv x rows
    for (int r = 0; r < block.rows; ++r) {
        if (active[block.row + r] == 0.0) continue;
        const double* row = jacobian + part.offset + r * nv;
        for (int c = 0; c < nv; ++c) matrix[c * block.rows + r] += row[c];
    }
}

Graph::Matrix& Graph::edge(int a, int b) {
    Matrix& matrix = edges_[key(a, b)];
    if (matrix.empty()) {
        matrix.assign(nodes_[a].size * nodes_[b].size, 0.0);
        nodes_[a].neighbours.push_back(b);
        nodes_[b].neighbours.push_back(a);
    }
    return matrix;
}

double Graph::calc_cost(const Node& node) const {
    int columns = 0;
    for (int other : node.neighbours) columns += nodes_[other].size;
    return calc_pivot_cost(node.size, node.leaf, static_cast<int>(node.neighbours.size()), columns);
}

double Graph::calc_quality(int index) const {
    const Node& node = nodes_[index];
    if (!node.body) {
        const auto is_body = [&](int other) { return nodes_[other].body; };
        const bool harmless = std::none_of(node.neighbours.begin(), node.neighbours.end(), is_body);
        const double quality = calc_row_quality(node);
        return harmless && quality > least_pivot ? 1.0 : quality;
    }
    int rows = 0;
    for (int other : node.neighbours) rows += nodes_[other].body ? 0 : nodes_[other].size;
    return rows <= node.size ? 1.0 : 0.999 * std::sqrt(calc_body_quality(index));
}

// What a body would add to the diagonal of J D^-1 J^T of a block
void Graph::calc_added(int body, int block, double* added) const {
    Matrix inverse;
    if (!calc_inverse(nodes_[body], inverse)) return;
    const Matrix& a = edges_.at(key(body, block)); // nv x rows
    const int nv = nodes_[body].size, rows = nodes_[block].size;
    for (int r = 0; r < rows; ++r)
        for (int i = 0; i < nv; ++i)
            for (int j = 0; j < nv; ++j) added[r] += a[i * rows + r] * inverse[i * nv + j] * a[j * rows + r];
}

// Smallest part that the other bodies of a row add, relative to this one; rows without other bodies do not count.
double Graph::calc_body_quality(int index) const {
    double quality = 1.0;
    for (int block : nodes_[index].neighbours) {
        if (nodes_[block].body) continue;
        double added[6] = {}, rest[6] = {};
        calc_added(index, block, added);
        for (int other : nodes_[block].neighbours)
            if (nodes_[other].body && other != index) calc_added(other, block, rest);
        for (int r = 0; r < nodes_[block].size; ++r) {
            const double others = rest[r] + nodes_[block].full[r];
            if (others > 0.0 && added[r] > 0.0) quality = std::min(quality, others / added[r]);
        }
    }
    return quality;
}

// Smallest pivot of -D relative to the sum it is left of; rows in the order in which they will be eliminated.
double Graph::calc_row_quality(const Node& node) const {
    const int n = node.size;
    double a[64], quality = 1.0;
    for (int i = 0; i < n * n; ++i) a[i] = -node.diagonal[i];
    for (int k = 0; k < n; ++k) {
        const double pivot = a[k * n + k];
        quality = std::min(quality, node.full[k] > 0.0 ? pivot / node.full[k] : 0.0);
        if (!(quality > 0.0)) return 0.0;
        for (int i = k + 1; i < n; ++i)
            for (int j = k + 1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j] / pivot;
    }
    return quality;
}

// D^-1 by Gauss-Jordan elimination without exchanges: D is definite.
bool Graph::calc_inverse(const Node& node, Matrix& inverse) const {
    const int n = node.size;
    inverse = node.diagonal;
    for (int k = 0; k < n; ++k) {
        const double pivot = inverse[k * n + k];
        if (pivot == 0.0 || !std::isfinite(pivot)) return false;
        for (int j = 0; j < n; ++j)
            if (j != k) inverse[k * n + j] /= pivot;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n && i != k; ++j)
                if (j != k) inverse[i * n + j] -= inverse[i * n + k] * inverse[k * n + j];
        for (int i = 0; i < n; ++i)
            if (i != k) inverse[i * n + k] /= -pivot;
        inverse[k * n + k] = 1.0 / pivot;
    }
    return true;
}

// block (a, b) -= left right^T, left: a x size, right: b x size
void Graph::update(int a, const Matrix& left, int b, const Matrix& right, int size) {
    const int na = nodes_[a].size, nb = nodes_[b].size;
    Matrix& target = a == b ? nodes_[a].diagonal : edge(a, b);
    const bool stored = a <= b;
    for (int i = 0; i < na; ++i)
        for (int j = 0; j < nb; ++j) {
            double sum = 0.0;
            for (int k = 0; k < size; ++k) sum += left[i * size + k] * right[j * size + k];
            target[stored ? i * nb + j : j * na + i] -= sum;
        }
}

void Graph::eliminate(int index) {
    Node& node = nodes_[index];
    node.done = true;
    const int n = node.size, count = static_cast<int>(node.neighbours.size());
    Matrix inverse;
    if (!calc_inverse(node, inverse)) return;

    // A (neighbour x node) and L = A D^-1 of every neighbour; the node's edges go
    std::vector<Matrix> a(count), l(count);
    for (int k = 0; k < count; ++k) {
        const int other = node.neighbours[k], m = nodes_[other].size;
        const auto found = edges_.find(key(index, other));
        const Matrix& block = found->second;
        a[k].resize(m * n);
        l[k].assign(m * n, 0.0);
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) a[k][i * n + j] = index < other ? block[j * m + i] : block[i * n + j];
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j)
                for (int s = 0; s < n; ++s) l[k][i * n + j] += a[k][i * n + s] * inverse[s * n + j];
        edges_.erase(found);
        auto& list = nodes_[other].neighbours;
        list.erase(std::find(list.begin(), list.end(), index));
    }
    for (int k = 0; k < count; ++k) {
        Node& other = nodes_[node.neighbours[k]];
        other.leaf = false;
        for (int i = 0; i < other.size && node.body && !other.body; ++i)
            for (int j = 0; j < n; ++j) other.full[i] += l[k][i * n + j] * a[k][i * n + j];
        for (int s = k; s < count; ++s) update(node.neighbours[k], l[k], node.neighbours[s], a[s], n);
    }
}

Elimination Graph::eliminate_all(const EliminationRule& rule) {
    struct Candidate {
        double cost; // for those that wait: the less, the better the pivot
        int node, stamp;
        bool operator<(const Candidate& other) const { // the cheapest on top, then the first
            return cost != other.cost ? cost > other.cost : node > other.node;
        }
    };
    std::priority_queue<Candidate> queue, waiting;
    const int count = static_cast<int>(nodes_.size());
    int left = 0;
    for (int i = 0; i < count; ++i)
        if (!nodes_[i].done) {
            queue.push({calc_cost(nodes_[i]), i, 0});
            ++left;
        }
    const auto take = [&](std::priority_queue<Candidate>& from) { // -1: none left that is still valid
        while (!from.empty()) {
            const Candidate top = from.top();
            from.pop();
            if (!nodes_[top.node].done && nodes_[top.node].stamp == top.stamp) return top.node;
        }
        return -1;
    };

    Elimination result;
    result.border.resize(count);
    result.leaf.assign(count, 0);
    while (left > 0) {
        // the cheapest good node; a bad one waits until a neighbour has gone. If all wait: the best of them
        int next = take(queue);
        double quality = next < 0 ? 0.0 : calc_quality(next);
        while (next >= 0 && quality < (nodes_[next].body ? rule.good_body : rule.good_pivot)) {
            waiting.push({-quality, next, nodes_[next].stamp});
            next = take(queue);
            quality = next < 0 ? 0.0 : calc_quality(next);
        }
        if (next < 0) {
            next = take(waiting);
            quality = calc_quality(next);
        }
        if (!nodes_[next].body) result.quality = std::min(result.quality, quality);
        if (!nodes_[next].body && quality < least_pivot) {
            result.quality = 0.0;
            return result;
        }
        result.order.push_back(next);
        result.border[next] = nodes_[next].neighbours;
        result.leaf[next] = nodes_[next].leaf;
        eliminate(next);
        --left;
        for (int other : nodes_[next].neighbours) queue.push({calc_cost(nodes_[other]), other, ++nodes_[other].stamp});
    }
    return result;
}

} // namespace

Elimination find_elimination(const Pattern& pattern, const double* jacobian, const double* active,
                             const EliminationRule& rule) {
    return Graph(pattern, jacobian, active).eliminate_all(rule);
}

} // namespace linkwork
