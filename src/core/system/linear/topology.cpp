// Block L D L^T over the graph of bodies and constraint blocks, in an order found once with values.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "backward_error.hpp"
#include "kernels.hpp"
#include "solvers.hpp"

namespace linkwork {
namespace {

constexpr double sound = 1e-2;     // rows may keep this part of J D^-1 J^T, now or after their pivots have decayed
constexpr double hopeless = 1e-9;  // rows that keep less even in the best order: the pivoting fallback does better
constexpr double exact = 1e-12;    // backward error at which an order is taken without looking further
constexpr double refinable = 1e-6; // backward error that one step of refinement makes exact
constexpr int patience = 100;      // factorizations left to the fallback before an order is looked for again
constexpr EliminationRule rules[] = {{1e-3, 1e-3}, {1e-2, 1.0}, {5e-2, 5e-2}, {0.25, 1.0}}; // cheapest orders first

// Calls `function` with the size of the pivot as a compile-time number and its inverse.
template <class Function>
inline void with_inverse(const Pivot& pivot, const double* arena, const double* constants, const Function& function) {
    const auto general = [&]<int P>() { function.template operator()<P>(GeneralInverse<P>{arena + pivot.diagonal}); };
    if (pivot.kind == pivot_rigid) return function.template operator()<6>(RigidInverse{constants + pivot.diagonal});
    if (pivot.kind == pivot_diagonal)
        return function.template operator()<3>(DiagonalInverse{constants + pivot.diagonal});
    switch (pivot.size) {
    case 1:
        return general.template operator()<1>();
    case 2:
        return general.template operator()<2>();
    case 3:
        return general.template operator()<3>();
    case 4:
        return general.template operator()<4>();
    case 5:
        return general.template operator()<5>();
    case 6:
        return general.template operator()<6>();
    case 7:
        return general.template operator()<7>();
    default:
        return general.template operator()<8>();
    }
}

// Rows of J in lanes: with the length of a row known, the loops unroll.
template <int N> inline void fill_lanes(const Fill& fill, const double* source, double* target) {
    for (int i = 0; i < fill.count; ++i)
        for (int c = 0; c < N; ++c) target[c * lanes + i] = source[i * N + c];
}

inline void fill_mass(const double* mass, double* target) {
    const Lanes zero = broadcast(0.0);
    const double* w = mass + 1;
    store(target, replace<0>(zero, mass[0]));
    store(target + lanes, replace<1>(zero, mass[0]));
    store(target + 2 * lanes, replace<2>(zero, mass[0]));
    store(target + 3 * lanes, replace<5>(replace<4>(replace<3>(zero, w[0]), w[1]), w[2]));
    store(target + 4 * lanes, replace<5>(replace<4>(replace<3>(zero, w[1]), w[3]), w[4]));
    store(target + 5 * lanes, replace<5>(replace<4>(replace<3>(zero, w[2]), w[4]), w[5]));
}

void run_fill(const Fill& fill, const double* jacobian, const double* constants, double* arena) {
    double* target = arena + fill.target;
    const double* source = jacobian + fill.source;
    const int columns = fill.columns, count = fill.count;
    switch (fill.kind) {
    case fill_zero:
        for (int c = 0; c < columns; ++c) store(target + c * lanes, broadcast(0.0));
        break;
    case fill_constant:
        for (int c = 0; c < columns; ++c) store(target + c * lanes, load(constants + fill.source + c * lanes));
        break;
    case fill_rigid:
        fill_mass(constants + fill.source, target);
        break;
    case fill_natural:
        for (int c = 0; c < columns; ++c) store(target + c * lanes, load_first(source + c * count, count));
        break;
    case fill_natural_add:
        for (int c = 0; c < columns; ++c)
            for (int i = 0; i < count; ++i) target[c * lanes + fill.lane + i] += source[c * count + i];
        break;
    case fill_transposed:
        (columns == 6 ? fill_lanes<6> : fill_lanes<3>)(fill, source, target + fill.lane);
        break;
    case fill_transposed_add:
        for (int i = 0; i < count; ++i)
            for (int c = 0; c < columns; ++c) target[c * lanes + fill.lane + i] += source[i * columns + c];
    }
}

// Storage for tiles that begins on a cache line.
class Arena {
public:
    void resize(int size) { numbers_.assign(size + lanes, 0.0); }
    double* data() {
        const auto address = reinterpret_cast<std::uintptr_t>(numbers_.data());
        return numbers_.data() + (64 - address % 64) % 64 / sizeof(double);
    }

private:
    std::vector<double> numbers_;
};

class Topology final : public LinearSolver {
public:
    explicit Topology(const Pattern& pattern)
        : pattern_(pattern), active_(pattern.rows, 1.0), f_(pattern.nv), g_(pattern.rows) {
        for (const Part& part : pattern.parts) {
            const int nv = pattern.bodies[part.body].nv;
            if (nv > 0) jacobian_size_ = std::max(jacobian_size_, part.offset + pattern.blocks[part.block].rows * nv);
        }
    }

    bool analyse(const double* jacobian, const double* active) override;
    bool factor(const double* jacobian, const double* active) override;
    void solve(double* x, double* y) override;
    void solve_unrefined(double* x, double* y) override;
    void solve_many(double* x, double* y, int count) override;
    double pivot_ratio() const override { return fallen_back_ ? fallback_->pivot_ratio() : ratio_; }
    LinearFacts facts() const override {
        LinearFacts facts;
        facts.multiply_adds = program_.multiply_adds;
        facts.analyses = analyses_;
        facts.fallbacks = fallbacks_;
        return facts;
    }

private:
    void note_active(const double* active);
    void allocate();
    const double* keep_jacobian(const double* jacobian);
    void solve_once(double* x, double* y);
    void solve_wide(double* x, double* y, int count);
    void run(const double* jacobian);
    bool try_order(const double* jacobian, const EliminationRule& rule);
    double find_backward_error(const double* jacobian);
    bool keep_reference();
    void watch_pivots();
    bool fall_back(const double* jacobian, const double* active);

    Pattern pattern_;
    Program program_;
    Arena arena_;                         // tiles
    Arena vector_;                        // right side and solution, by lanes
    Arena wide_;                          // eight right sides, by scalars
    Arena unit_;                          // -1 where a row is inactive, by lanes
    Arena pivots_, inverse_reference_;    // of all general pivots: last ones, and 1 / those at analysis
    std::vector<double> active_, masked_; // masked: J with inactive rows zero
    std::vector<double> f_, g_;           // right side, then residual, when solutions are refined
    int jacobian_size_ = 0;
    bool all_active_ = true, analysed_ = false, fallen_back_ = false, refine_ = false;
    double ratio_ = 1.0, least_ratio_ = 1.0; // of pivots; below least_ratio_ the order is found again
    int analyses_ = 0, fallbacks_ = 0, waited_ = 0;
    std::unique_ptr<LinearSolver> fallback_;
};

void Topology::note_active(const double* active) {
    std::copy(active, active + pattern_.rows, active_.begin());
    all_active_ = std::all_of(active_.begin(), active_.end(), [](double a) { return a != 0.0; });
    masked_.assign(jacobian_size_, 0.0);
}

// Orders by one rule after another until one solves a test system to rounding errors; else the best one found, with a
// step of refinement in each solution; else the fallback.
bool Topology::analyse(const double* jacobian, const double* active) {
    ++analyses_;
    analysed_ = fallen_back_ = refine_ = false;
    note_active(active);
    double best = refinable;
    const EliminationRule* best_rule = nullptr;
    for (const EliminationRule& rule : rules) {
        if (!try_order(jacobian, rule)) continue;
        const double error = find_backward_error(jacobian);
        if (error < best) {
            best = error;
            best_rule = &rule;
        }
        if (error <= exact) break;
    }
    if (!best_rule) return fall_back(jacobian, active);
    if (best > exact) {
        refine_ = try_order(jacobian, *best_rule);
        keep_jacobian(jacobian);
        if (find_backward_error(jacobian) > 10.0 * exact) return fall_back(jacobian, active);
    }
    analysed_ = true;
    return true;
}

bool Topology::factor(const double* jacobian, const double* active) {
    const bool same_rows = std::equal(active_.begin(), active_.end(), active);
    if (fallen_back_ && same_rows && ++waited_ < patience) {
        ++fallbacks_;
        return fallback_->factor(jacobian, active);
    }
    if (!analysed_ || !same_rows) return analyse(jacobian, active);
    run(jacobian);
    watch_pivots();
    return ratio_ >= least_ratio_ || analyse(jacobian, active);
}

bool Topology::try_order(const double* jacobian, const EliminationRule& rule) {
    const Elimination elimination = find_elimination(pattern_, jacobian, active_.data(), rule);
    if (elimination.quality < hopeless) return false;
    program_ = build_program(pattern_, elimination);
    allocate();
    least_ratio_ = std::clamp(sound / elimination.quality, 1e-2, 0.3);
    run(jacobian);
    return keep_reference();
}

double Topology::find_backward_error(const double* jacobian) {
    // any right side without a pattern
    std::vector<double> f(pattern_.nv), g(pattern_.rows);
    for (int i = 0; i < pattern_.nv; ++i) f[i] = std::sin(1.0 + 1.7 * i);
    for (int i = 0; i < pattern_.rows; ++i) g[i] = std::cos(2.0 + 2.3 * i);
    std::vector<double> x = f, y = g;
    solve(x.data(), y.data());
    return calc_backward_error(pattern_, jacobian, active_.data(), x.data(), y.data(), f.data(), g.data());
}

void Topology::allocate() {
    arena_.resize(program_.arena_size);
    vector_.resize(program_.vector_size);
    wide_.resize(lanes * program_.vector_size);
    unit_.resize(program_.vector_size);
    pivots_.resize(program_.general * lanes);
    inverse_reference_.resize(program_.general * lanes);
    std::fill_n(pivots_.data(), program_.general * lanes, 1.0);
    for (int i = 0; i < pattern_.rows; ++i)
        if (active_[i] == 0.0) unit_.data()[program_.lane_of_row[i]] = -1.0;
}

// J of this factorization, with the rows taken out set to zero
const double* Topology::keep_jacobian(const double* jacobian) {
    if (all_active_) {
        std::copy_n(jacobian, jacobian_size_, masked_.data());
        return masked_.data();
    }
    for (const Part& part : pattern_.parts) {
        const Block& block = pattern_.blocks[part.block];
        const int nv = pattern_.bodies[part.body].nv;
        for (int r = 0; r < block.rows; ++r)
            if (active_[block.row + r] != 0.0)
                std::copy_n(jacobian + part.offset + r * nv, nv, masked_.data() + part.offset + r * nv);
    }
    return masked_.data();
}

// The numeric factorization: the program from front to back.
void Topology::run(const double* jacobian) {
    if (!all_active_ || refine_) jacobian = keep_jacobian(jacobian);
    double* arena = arena_.data();
    double* values = pivots_.data();
    const double* unit = unit_.data();
    const double* constants = program_.constants.data();
    const Fill* fill = program_.fills.data();
    const Border* border = program_.borders.data();
    const std::int32_t* target = program_.targets.data();
    for (const Pivot& pivot : program_.pivots) {
        for (const Fill* end = fill + pivot.fills; fill < end; ++fill) run_fill(*fill, jacobian, constants, arena);
        if (!all_active_ && pivot.kind == pivot_general)
            for (int k = 0; k < pivot.size; ++k) arena[pivot.diagonal + k * (lanes + 1)] += unit[k];
        with_inverse(pivot, arena, constants, [&]<int P, class Inverse>(const Inverse& inverse) {
            if constexpr (std::is_same_v<Inverse, GeneralInverse<P>>) {
                invert<P>(arena + pivot.diagonal, values);
                values += lanes;
            }
            update_neighbours<P>(inverse, border, pivot.borders, target, arena);
        });
        unit += lanes;
        border += pivot.borders;
        target += pivot.borders * (pivot.borders + 1) / 2;
    }
}

// The pivots of this factorization are those that later ones are compared with.
bool Topology::keep_reference() {
    ratio_ = 1.0;
    for (int i = 0; i < program_.general * lanes; ++i) {
        const double pivot = pivots_.data()[i];
        if (!std::isfinite(pivot) || pivot == 0.0) return false;
        inverse_reference_.data()[i] = 1.0 / pivot;
    }
    return true;
}

// Smallest pivot relative to the one at analysis; a changed sign counts as negative, anything not a number as zero.
void Topology::watch_pivots() {
    const double *pivots = pivots_.data(), *inverse = inverse_reference_.data();
    double least[lanes];
    std::fill_n(least, lanes, 1e300);
    for (int i = 0; i < program_.general * lanes; i += lanes)
        for (int k = 0; k < lanes; ++k) {
            const double ratio = pivots[i + k] * inverse[i + k];
            least[k] = ratio > least[k] ? least[k] : ratio;
        }
    ratio_ = 1e300;
    for (double ratio : least) ratio_ = ratio > ratio_ ? ratio_ : ratio;
    if (!(ratio_ > 0.0)) ratio_ = 0.0;
}

bool Topology::fall_back(const double* jacobian, const double* active) {
    ++fallbacks_;
    fallen_back_ = true;
    waited_ = 0;
    if (!fallback_) fallback_ = build_augmented_sparse(pattern_);
    return fallback_->analyse(jacobian, active);
}

void Topology::solve(double* x, double* y) {
    if (fallen_back_) return fallback_->solve(x, y);
    if (!refine_) return solve_once(x, y);
    std::copy_n(x, pattern_.nv, f_.data());
    std::copy_n(y, pattern_.rows, g_.data());
    solve_once(x, y);
    subtract_product(pattern_, masked_.data(), active_.data(), x, y, f_.data(), g_.data());
    solve_once(f_.data(), g_.data());
    for (int i = 0; i < pattern_.nv; ++i) x[i] += f_[i];
    for (int i = 0; i < pattern_.rows; ++i) y[i] += g_[i];
}

void Topology::solve_unrefined(double* x, double* y) {
    if (fallen_back_) return fallback_->solve(x, y);
    solve_once(x, y);
}

void Topology::solve_many(double* x, double* y, int count) {
    if (fallen_back_) return fallback_->solve_many(x, y, count);
    const auto at = [](double* first, int k, int length) { return first + static_cast<std::ptrdiff_t>(k) * length; };
    const int step = refine_ ? 1 : lanes;
    for (int k = 0; k < count; k += step) {
        double *xk = at(x, k, pattern_.nv), *yk = at(y, k, pattern_.rows);
        refine_ ? solve(xk, yk) : solve_wide(xk, yk, std::min(lanes, count - k));
    }
}

void Topology::solve_once(double* x, double* y) {
    double* vector = vector_.data();
    const double* arena = arena_.data();
    const double* constants = program_.constants.data();

    // right side to lanes, forward, backward, and back
    const int *velocity = program_.lane_of_velocity.data(), *row = program_.lane_of_row.data();
    for (int i = 0; i < pattern_.nv; ++i) vector[velocity[i]] = x[i];
    for (int i = 0; i < pattern_.rows; ++i) vector[row[i]] = y[i];
    if (!all_active_)
        for (int i = 0; i < pattern_.rows; ++i)
            if (active_[i] == 0.0) vector[row[i]] = 0.0;
    const Border* border = program_.borders.data();
    double* z = vector;
    for (const Pivot& pivot : program_.pivots) {
        with_inverse(pivot, arena, constants, [&]<int P>(const auto& inverse) {
            solve_forward<P>(inverse, border, pivot.borders, arena, z, vector);
        });
        border += pivot.borders;
        z += lanes;
    }
    for (auto pivot = program_.pivots.rbegin(); pivot != program_.pivots.rend(); ++pivot) {
        border -= pivot->borders;
        z -= lanes;
        with_inverse(*pivot, arena, constants, [&]<int P>(const auto& inverse) {
            solve_backward<P>(inverse, border, pivot->borders, arena, z, vector);
        });
    }
    for (int i = 0; i < pattern_.nv; ++i) x[i] = vector[velocity[i]];
    for (int i = 0; i < pattern_.rows; ++i) y[i] = vector[row[i]];
}

// Up to eight right sides, one per lane.
void Topology::solve_wide(double* x, double* y, int count) {
    double* wide = wide_.data();
    const double* arena = arena_.data();
    const double* constants = program_.constants.data();
    const int nv = pattern_.nv, rows = pattern_.rows;

    const int *velocity = program_.lane_of_velocity.data(), *row = program_.lane_of_row.data();
    for (int i = 0; i < nv; ++i)
        for (int k = 0; k < lanes; ++k) wide[velocity[i] * lanes + k] = k < count ? x[k * nv + i] : 0.0;
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < lanes; ++k)
            wide[row[i] * lanes + k] = k < count && active_[i] != 0.0 ? y[k * rows + i] : 0.0;
    const Border* border = program_.borders.data();
    double* z = wide;
    for (const Pivot& pivot : program_.pivots) {
        with_inverse(pivot, arena, constants, [&]<int P>(const auto& inverse) {
            solve_forward_wide<P>(inverse, border, pivot.borders, arena, z, wide);
        });
        border += pivot.borders;
        z += lanes * lanes;
    }
    for (auto pivot = program_.pivots.rbegin(); pivot != program_.pivots.rend(); ++pivot) {
        border -= pivot->borders;
        z -= lanes * lanes;
        with_inverse(*pivot, arena, constants, [&]<int P>(const auto& inverse) {
            solve_backward_wide<P>(inverse, border, pivot->borders, arena, z, wide);
        });
    }
    for (int k = 0; k < count; ++k) {
        for (int i = 0; i < nv; ++i) x[k * nv + i] = wide[velocity[i] * lanes + k];
        for (int i = 0; i < rows; ++i) y[k * rows + i] = wide[row[i] * lanes + k];
    }
}

} // namespace

std::unique_ptr<LinearSolver> build_topology(const Pattern& pattern) { return std::make_unique<Topology>(pattern); }

} // namespace linkwork
