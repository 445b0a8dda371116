#include "groups.hpp"

#include <algorithm>
#include <set>

namespace linkwork {
namespace {

// A model whose tiles fit into this many columns of eight lanes stays in the first cache, however it is ordered.
constexpr int small_model = 2048;

class Builder {
public:
    Builder(const Pattern& pattern, const Elimination& elimination) : pattern_(pattern), elimination_(elimination) {
        const std::size_t count = pattern.bodies.size() + pattern.blocks.size();
        place_.assign(count, -1);
        set_of_.assign(count, -1);
        for (std::size_t k = 0; k < elimination.order.size(); ++k) place_[elimination.order[k]] = static_cast<int>(k);
    }

    Grouping build() {
        merge();
        schedule();
        fill_in();
        return std::move(result_);
    }

private:
    struct Set { // a group in the making
        std::vector<int> nodes;
        std::set<int> border; // nodes
        int size = 0;
    };

    int node_size(int node) const {
        const int bodies = static_cast<int>(pattern_.bodies.size());
        return node < bodies ? pattern_.bodies[node].nv : pattern_.blocks[node - bodies].rows;
    }

    double calc_cost(int size, const std::set<int>& border) const {
        std::vector<int> tiles;
        int columns = 0;
        for (int node : border) {
            tiles.push_back(set_of_[node]);
            columns += node_size(node);
        }
        std::sort(tiles.begin(), tiles.end());
        const auto count = std::unique(tiles.begin(), tiles.end()) - tiles.begin();
        return calc_pivot_cost(size, false, static_cast<int>(count), columns);
    }

    // Last eliminated first: each node joins the set of its parent, the first of its neighbours to follow it, when one
    // pivot of both is cheaper than two. Nodes between them are no neighbours, so the numbers stay the same.
    void merge() {
        for (int k = static_cast<int>(elimination_.order.size()) - 1; k >= 0; --k) {
            const int node = elimination_.order[k];
            const std::vector<int>& list = elimination_.border[node];
            std::set<int> border(list.begin(), list.end());
            if (!list.empty() && !elimination_.leaf[node]) {
                const int parent =
                    *std::min_element(list.begin(), list.end(), [&](int a, int b) { return place_[a] < place_[b]; });
                Set& set = sets_[set_of_[parent]];
                if (try_merge(node, border, set)) continue;
            }
            set_of_[node] = static_cast<int>(sets_.size());
            sets_.push_back({{node}, std::move(border), node_size(node)});
        }
    }

    bool try_merge(int node, const std::set<int>& border, Set& set) {
        const int size = node_size(node);
        if (set.size + size > lanes || elimination_.leaf[set.nodes.front()]) return false;
        std::set<int> together = set.border;
        together.insert(border.begin(), border.end());
        for (int member : set.nodes) together.erase(member);
        const double apart = calc_cost(size, border) + calc_cost(set.size, set.border);
        if (calc_cost(set.size + size, together) >= apart) return false;
        set_of_[node] = set_of_[set.nodes.front()];
        set.nodes.insert(set.nodes.begin(), node);
        set.border = std::move(together);
        set.size += size;
        return true;
    }

    // Small models: all leaves, then level by level, so that independent pivots follow each other and overlap in the
    // processor. Large ones: as eliminated, each leaf as late as possible, so that tiles are used while in the cache.
    void schedule() {
        const int count = static_cast<int>(sets_.size());
        std::vector<int> rank(count), level(count, 0);
        int columns = 0;
        for (int s = 0; s < count; ++s) {
            rank[s] = s;
            columns += sets_[s].size * (1 + static_cast<int>(sets_[s].border.size()));
        }
        std::sort(rank.begin(), rank.end(),
                  [&](int a, int b) { return place_[sets_[a].nodes.back()] < place_[sets_[b].nodes.back()]; });
        std::vector<int> order;
        if (columns <= small_model) {
            for (int s : rank)
                for (int node : sets_[s].border) level[set_of_[node]] = std::max(level[set_of_[node]], level[s] + 1);
            order = rank;
            std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return level[a] < level[b]; });
        } else {
            std::vector<std::vector<int>> leaves(count);
            std::vector<char> placed(count, 0);
            for (int s : rank)
                if (elimination_.leaf[sets_[s].nodes.front()])
                    for (int node : sets_[s].border) leaves[set_of_[node]].push_back(s);
            const auto place = [&](int s) {
                if (!placed[s]) order.push_back(s);
                placed[s] = 1;
            };
            for (int s : rank) {
                if (elimination_.leaf[sets_[s].nodes.front()]) continue;
                for (int other : leaves[s]) place(other);
                place(s);
            }
            for (int s : rank) place(s);
        }
        write(order);
    }

    void write(const std::vector<int>& order) {
        result_.group_of.assign(place_.size(), -1);
        result_.lane_of.assign(place_.size(), 0);
        for (int s : order) {
            Group group;
            group.nodes = sets_[s].nodes;
            group.leaf = elimination_.leaf[group.nodes.front()] != 0;
            for (int node : group.nodes) {
                result_.group_of[node] = static_cast<int>(result_.groups.size());
                result_.lane_of[node] = group.size;
                group.size += node_size(node);
            }
            result_.groups.push_back(std::move(group));
        }
    }

    // Symbolic elimination: neighbours by J, then all pairs of neighbours of an eliminated group.
    void fill_in() {
        for (const Part& part : pattern_.parts) {
            const int block = static_cast<int>(pattern_.bodies.size()) + part.block;
            const int a = result_.group_of[part.body], b = result_.group_of[block];
            if (a < 0 || a == b) continue;
            const int late = a > b ? part.body : block;
            const int lane = result_.lane_of[late];
            result_.groups[std::min(a, b)].border[std::max(a, b)].include(lane, lane + node_size(late));
        }
        for (Group& group : result_.groups)
            for (auto first = group.border.begin(); first != group.border.end(); ++first)
                for (auto second = std::next(first); second != group.border.end(); ++second)
                    result_.groups[first->first].border[second->first].include(second->second.begin,
                                                                               second->second.end);
    }

    const Pattern& pattern_;
    const Elimination& elimination_;
    std::vector<int> place_, set_of_;
    std::vector<Set> sets_;
    Grouping result_;
};

} // namespace

Grouping build_groups(const Pattern& pattern, const Elimination& elimination) {
    return Builder(pattern, elimination).build();
}

} // namespace linkwork
