#include "numbering.hpp"

#include <algorithm>
#include <numeric>

namespace linkwork {

JointGraph build_joint_graph(const Pattern& pattern) {
    // the joints of each body
    std::vector<std::vector<int>> joints(pattern.bodies.size());
    for (const Part& part : pattern.parts)
        if (pattern.bodies[part.body].nv > 0) joints[part.body].push_back(part.block);

    // joints of one body are neighbours
    JointGraph graph(pattern.blocks.size());
    for (const auto& list : joints)
        for (int a : list)
            for (int b : list)
                if (a != b) graph[a].push_back(b);
    for (auto& list : graph) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return graph;
}

Envelope calc_envelope(const Pattern& pattern, const JointGraph& graph, const std::vector<int>& order) {
    // first scalar row of each numbered block
    const int count = static_cast<int>(order.size());
    std::vector<int> number(count), start(count + 1, 0);
    for (int k = 0; k < count; ++k) {
        number[order[k]] = k;
        start[k + 1] = start[k] + pattern.blocks[order[k]].rows;
    }

    Envelope envelope;
    double work = 0.0;
    for (int k = 0; k < count; ++k) {
        int first = k;
        for (int other : graph[order[k]]) first = std::min(first, number[other]);
        const double width = k - first;
        envelope.bandwidth = std::max(envelope.bandwidth, k - first);
        envelope.profile += k - first;
        work += 0.5 * width * (width + 3.0);
        for (int row = start[k]; row < start[k + 1]; ++row) {
            const double length = row - start[first];
            envelope.multiply_adds += 0.5 * length * (length + 1.0);
        }
    }
    envelope.work = static_cast<int>(std::min(work, 2e9));
    return envelope;
}

namespace {

// Cuthill-McKee: breadth first, neighbours by ascending degree; appends the component of `start` to `order`.
void append_cuthill_mckee(const JointGraph& graph, int start, std::vector<char>& seen, std::vector<int>& order) {
    std::size_t head = order.size();
    order.push_back(start);
    seen[start] = 1;
    std::vector<int> next;
    for (; head < order.size(); ++head) {
        next.clear();
        for (int other : graph[order[head]])
            if (!seen[other]) next.push_back(other);
        std::stable_sort(next.begin(), next.end(), [&](int a, int b) { return graph[a].size() < graph[b].size(); });
        for (int other : next) seen[other] = 1;
        order.insert(order.end(), next.begin(), next.end());
    }
}

// King: of the vertices next to the numbered ones, the one that brings the fewest new neighbours with it.
void append_king(const JointGraph& graph, int start, std::vector<char>& seen, std::vector<int>& order) {
    std::vector<int> front{start}; // seen = 1: on the front, 2: numbered
    seen[start] = 1;
    while (!front.empty()) {
        std::size_t best = 0, best_new = graph.size() + 1;
        for (std::size_t i = 0; i < front.size(); ++i) {
            const auto& list = graph[front[i]];
            const std::size_t fresh = std::count_if(list.begin(), list.end(), [&](int v) { return !seen[v]; });
            if (fresh < best_new) {
                best = i;
                best_new = fresh;
            }
        }
        const int vertex = front[best];
        front.erase(front.begin() + static_cast<std::ptrdiff_t>(best));
        seen[vertex] = 2;
        order.push_back(vertex);
        for (int other : graph[vertex])
            if (!seen[other]) {
                seen[other] = 1;
                front.push_back(other);
            }
    }
}

// One end of a long shortest path through the component [Gibbs, Poole, Stockmeyer 1976]
int find_end(const JointGraph& graph, int start) {
    std::vector<char> seen(graph.size());
    std::vector<int> order;
    for (int pass = 0; pass < 3; ++pass) {
        std::fill(seen.begin(), seen.end(), 0);
        order.clear();
        append_cuthill_mckee(graph, start, seen, order);
        start = order.back();
    }
    return start;
}

using Append = void (*)(const JointGraph&, int, std::vector<char>&, std::vector<int>&);

// All components in turn; `first` opens its own one.
std::vector<int> number_from(const JointGraph& graph, int first, Append append) {
    std::vector<char> seen(graph.size(), 0);
    std::vector<int> order;
    append(graph, first, seen, order);
    for (int v = 0; v < static_cast<int>(graph.size()); ++v)
        if (!seen[v]) append(graph, graph.size() <= 400 ? find_end(graph, v) : v, seen, order);
    return order;
}

} // namespace

std::vector<int> find_numbering(const Pattern& pattern, const JointGraph& graph) {
    const int count = static_cast<int>(graph.size());
    std::vector<int> best(count);
    std::iota(best.begin(), best.end(), 0);
    if (count == 0) return best;
    double cost = calc_envelope(pattern, graph, best).multiply_adds;
    const auto keep_better = [&](const std::vector<int>& order) {
        const double other = calc_envelope(pattern, graph, order).multiply_adds;
        if (other < cost) {
            cost = other;
            best = order;
        }
    };

    // every start when there are few joints, else an end of the graph
    std::vector<int> starts{find_end(graph, 0)};
    if (count <= 64)
        for (int v = 0; v < count; ++v) starts.push_back(v);
    for (int start : starts)
        for (Append append : {append_cuthill_mckee, append_king}) {
            std::vector<int> order = number_from(graph, start, append);
            keep_better(order);
            std::reverse(order.begin(), order.end());
            keep_better(order);
        }
    return best;
}

} // namespace linkwork
