#include "program.hpp"

#include <algorithm>

#include "groups.hpp"
#include "masses.hpp"

namespace linkwork {
namespace {

class Compiler {
public:
    Compiler(const Pattern& pattern, const Elimination& elimination)
        : pattern_(pattern), grouping_(build_groups(pattern, elimination)) {}

    Program compile() {
        place_tiles();
        collect_pieces();
        for (std::size_t g = 0; g < grouping_.groups.size(); ++g) emit(static_cast<int>(g));
        place_vectors();
        return std::move(program_);
    }

private:
    struct Piece { // part of J inside a tile
        bool transposed;
        int column, lane; // first ones in the tile
        int rows, nv, source;
    };
    struct Tile {
        int offset = -1; // in the arena
        bool filled = false;
        std::vector<Piece> pieces;
    };

    // Tiles in the order of elimination, so that a large model streams through memory.
    void place_tiles() {
        int offset = 0;
        diagonal_.resize(grouping_.groups.size());
        beside_.resize(grouping_.groups.size());
        for (std::size_t g = 0; g < grouping_.groups.size(); ++g) {
            const Group& group = grouping_.groups[g];
            if (!group.leaf) {
                diagonal_[g].offset = offset;
                offset += group.size * lanes;
            }
            for (const auto& [other, range] : group.border) {
                beside_[g][other].offset = offset;
                offset += group.size * lanes;
            }
        }
        program_.arena_size = offset;
        program_.vector_size = static_cast<int>(grouping_.groups.size()) * lanes;
    }

    // Where each part of J lies among the tiles: natural where the body comes later, transposed where the block does.
    void collect_pieces() {
        for (const Part& part : pattern_.parts) {
            const int body = part.body, block = static_cast<int>(pattern_.bodies.size()) + part.block;
            const int a = grouping_.group_of[body], b = grouping_.group_of[block];
            if (a < 0) continue;
            const int rows = pattern_.blocks[part.block].rows, nv = pattern_.bodies[body].nv;
            const Piece natural{false, grouping_.lane_of[block], grouping_.lane_of[body], rows, nv, part.offset};
            const Piece transposed{true, grouping_.lane_of[body], grouping_.lane_of[block], rows, nv, part.offset};
            if (a == b) {
                diagonal_[a].pieces.push_back(natural);
                diagonal_[a].pieces.push_back(transposed);
            } else if (a > b) {
                beside_[b][a].pieces.push_back(natural);
            } else {
                beside_[a][b].pieces.push_back(transposed);
            }
        }
    }

    void emit_fill(FillKind kind, int target, int source, int columns, int count = 0, int lane = 0) {
        program_.fills.push_back({target, source, kind, static_cast<std::uint8_t>(columns),
                                  static_cast<std::uint8_t>(count), static_cast<std::uint8_t>(lane)});
    }

    void emit_piece(const Tile& tile, const Piece& piece, bool add) {
        const int target = tile.offset + piece.column * lanes;
        if (piece.transposed)
            emit_fill(add ? fill_transposed_add : fill_transposed, target, piece.source, piece.nv, piece.rows,
                      piece.lane);
        else
            emit_fill(add ? fill_natural_add : fill_natural, target, piece.source, piece.rows, piece.nv, piece.lane);
    }

    void emit_zero(const Tile& tile, int begin, int end) {
        if (begin < end) emit_fill(fill_zero, tile.offset + begin * lanes, 0, end - begin);
    }

    static bool is_disjoint(const Tile& tile) {
        for (std::size_t i = 0; i < tile.pieces.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const Piece &a = tile.pieces[i], &b = tile.pieces[j];
                if (a.transposed != b.transposed || a.column == b.column) {
                    if (!a.transposed || !b.transposed || a.lane == b.lane) return false;
                }
            }
        return true;
    }

    // Original values of a tile beside the diagonal, by the cheapest fills that are right.
    void fill_beside(Tile& tile, const Group& group) {
        if (tile.filled) return;
        tile.filled = true;
        const bool disjoint = is_disjoint(tile);
        const bool all_natural = std::all_of(tile.pieces.begin(), tile.pieces.end(),
                                             [](const Piece& p) { return !p.transposed && p.lane == 0; });

        // a leaf's tiles are J^T alone: nothing else is ever written there
        if (group.leaf && disjoint) {
            for (const Piece& piece : tile.pieces) emit_piece(tile, piece, false);
            return;
        }
        if (all_natural && disjoint) {
            std::sort(tile.pieces.begin(), tile.pieces.end(),
                      [](const Piece& a, const Piece& b) { return a.column < b.column; });
            int column = 0;
            for (const Piece& piece : tile.pieces) {
                emit_zero(tile, column, piece.column);
                emit_piece(tile, piece, false);
                column = piece.column + piece.rows;
            }
            emit_zero(tile, column, group.size);
            return;
        }
        emit_zero(tile, 0, group.size);
        for (const Piece& piece : tile.pieces) emit_piece(tile, piece, true);
    }

    void fill_diagonal(int g) {
        Tile& tile = diagonal_[g];
        if (tile.filled) return;
        tile.filled = true;
        const Group& group = grouping_.groups[g];
        const int bodies = static_cast<int>(pattern_.bodies.size());
        if (std::none_of(group.nodes.begin(), group.nodes.end(), [&](int node) { return node < bodies; })) {
            emit_zero(tile, 0, group.size);
        } else if (group.nodes.size() == 1 && group.size == 6) {
            const int source = static_cast<int>(program_.constants.size());
            double mass[36];
            calc_mass(pattern_.bodies[group.nodes.front()], mass);
            add_rigid(mass);
            emit_fill(fill_rigid, tile.offset, source, 6);
        } else {
            std::vector<double> columns(group.size * lanes, 0.0);
            for (int node : group.nodes) {
                if (node >= bodies) continue;
                const int lane = grouping_.lane_of[node], nv = pattern_.bodies[node].nv;
                double mass[36];
                calc_mass(pattern_.bodies[node], mass);
                for (int i = 0; i < nv; ++i)
                    for (int j = 0; j < nv; ++j) columns[(lane + j) * lanes + lane + i] = mass[i * nv + j];
            }
            const int source = static_cast<int>(program_.constants.size());
            program_.constants.insert(program_.constants.end(), columns.begin(), columns.end());
            emit_fill(fill_constant, tile.offset, source, group.size);
        }
        for (const Piece& piece : tile.pieces) emit_piece(tile, piece, true);
    }

    void emit(int g) {
        const Group& group = grouping_.groups[g];
        Pivot pivot{};
        pivot.size = static_cast<std::uint8_t>(group.size);
        pivot.borders = static_cast<int>(group.border.size());
        const std::size_t fills = program_.fills.size();

        // own tiles
        if (group.leaf) {
            emit_inverse_mass(pattern_.bodies[group.nodes.front()], pivot);
        } else {
            fill_diagonal(g);
            pivot.kind = pivot_general;
            pivot.diagonal = diagonal_[g].offset;
            ++program_.general;
        }
        for (const auto& [other, range] : group.border) {
            Tile& tile = beside_[g][other];
            fill_beside(tile, group);
            program_.borders.push_back({tile.offset, other * lanes, static_cast<std::uint8_t>(range.begin),
                                        static_cast<std::uint8_t>(range.end)});
        }

        // tiles of each pair of neighbours
        const double p = group.size;
        program_.multiply_adds += group.leaf ? 0.0 : p * p * p;
        for (auto a = group.border.begin(); a != group.border.end(); ++a) {
            const double count = a->second.end - a->second.begin;
            program_.multiply_adds += count * (group.leaf ? 2.0 * p : p * p);
            for (auto b = group.border.begin();; ++b) {
                program_.multiply_adds += p * count * (b->second.end - b->second.begin);
                if (a == b) break;
                Tile& tile = beside_[b->first][a->first];
                fill_beside(tile, grouping_.groups[b->first]);
                program_.targets.push_back(tile.offset);
            }
            fill_diagonal(a->first);
            program_.targets.push_back(diagonal_[a->first].offset);
        }
        pivot.fills = static_cast<int>(program_.fills.size() - fills);
        program_.pivots.push_back(pivot);
    }

    void add_rigid(const double* mass) { // diag(m I, inertia) or its inverse
        program_.constants.push_back(mass[0]);
        for (int i = 3; i < 6; ++i)
            for (int j = i; j < 6; ++j) program_.constants.push_back(mass[i * 6 + j]);
    }

    void emit_inverse_mass(const Body& body, Pivot& pivot) {
        double inverse[36];
        calc_inverse_mass(body, inverse);
        pivot.diagonal = static_cast<int>(program_.constants.size());
        pivot.kind = body.nv == 6 ? pivot_rigid : pivot_diagonal;
        if (pivot.kind == pivot_rigid) {
            add_rigid(inverse);
        } else {
            for (int i = 0; i < 3; ++i) program_.constants.push_back(inverse[i * 3 + i]);
        }
    }

    void place_vectors() {
        program_.lane_of_velocity.resize(pattern_.nv);
        program_.lane_of_row.resize(pattern_.rows);
        const auto place = [&](std::size_t node, std::vector<int>& places, int first, int count) {
            const int lane = grouping_.group_of[node] * lanes + grouping_.lane_of[node];
            for (int i = 0; i < count; ++i) places[first + i] = lane + i;
        };
        const std::size_t bodies = pattern_.bodies.size();
        for (std::size_t i = 0; i < bodies; ++i)
            if (pattern_.bodies[i].nv > 0)
                place(i, program_.lane_of_velocity, pattern_.bodies[i].v, pattern_.bodies[i].nv);
        for (std::size_t k = 0; k < pattern_.blocks.size(); ++k)
            place(bodies + k, program_.lane_of_row, pattern_.blocks[k].row, pattern_.blocks[k].rows);
    }

    const Pattern& pattern_;
    Grouping grouping_;
    std::vector<Tile> diagonal_;
    std::vector<std::map<int, Tile>> beside_;
    Program program_;
};

} // namespace

Program build_program(const Pattern& pattern, const Elimination& elimination) {
    return Compiler(pattern, elimination).compile();
}

} // namespace linkwork
