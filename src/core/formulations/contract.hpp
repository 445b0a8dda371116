// The formulation contract: the equations of motion as x' = f(t, x), and the way back to bodies and joints.
//
// A formulation owns the workspace and the linear solvers of a run. Integrators see `Ode` and nothing else; the driver
// sees `Formulation`. Evaluations are kept: asking again for the same (t, x) costs a comparison.
#pragma once

#include <algorithm>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "../system/tables.hpp"
#include "../system/workspace.hpp"

namespace linkwork {

// How an evaluation, a step or a run ended. The texts with the cure are in results.py (class Status).
enum class Status : int {
    success = 0,
    stopped,        // an event asked for it
    interrupted,    // Ctrl-C
    step_too_small, // the step fell below round-off of t
    too_many_steps,
    singular_position, // constraint Jacobian lost rank
    position_lost,     // positions could not be brought back onto the constraints
    not_finite,        // a force or an acceleration is not a finite number
    user_error,        // a function of the user raised
    no_convergence,    // the iteration of an implicit integrator failed down to the smallest step
    open_joint,        // a joint that an event switches on is not closed there
};

struct Ode {
    virtual ~Ode() = default;
    virtual int size() const = 0;
    virtual Status calc_rate(double t, const double* x, double* rate) = 0; // rate = f(t, x)
};

// What half-explicit integrators need of the index-2 equations, x = (q, v): forces of one point, velocity constraints
// of another. v' and lambda with M v' + J(q)^T lambda = f come from J(q*) (v* + step v') = -Phi_t(t*).
struct HalfExplicit {
    virtual ~HalfExplicit() = default;
    virtual int positions() const = 0; // how many of x are q
    // The error of v* + step v' may be a small fraction of atol + rtol |v*|; atol as of x.
    virtual void set_accuracy(double rtol, const double* atol) = 0;
    // f and J at (t, x) = (t, q, v); writes q' = N(q) v.
    virtual Status open_stage(double t, const double* x, double* position_rate) = 0;
    // v' of the opened stage for the constraints at (t*, x*) = (t*, q*, v*).
    virtual Status close_stage(double t, const double* x, double step, double* acceleration) = 0;
    // v' of the opened stage (q, v) whose directions are J(q)^T and whose constraints are those of velocities between
    // two points: J(q) v' = -[(J(q1) - J(q0)) v + Phi_t(t1) - Phi_t(t0)] / (t1 - t0). May be asked again.
    virtual Status close_stage_between(double t0, const double* x0, double t1, const double* x1,
                                       double* acceleration) = 0;
};

// What formulas that tie the two halves of x = (y, u), y' = u, u' = f(t, y, u), to each other need: solutions of half
// the size, with J1 = f_y and J2 = f_u of the last calc_linearization.
struct SecondOrder {
    virtual ~SecondOrder() = default;
    virtual Status factor_half(double c_a, double c_v) = 0; // c_a I - c_v J2 - J1
    virtual void solve_half(double* r) = 0;                 // r := (c_a I - c_v J2 - J1)^-1 r
};

// What formulas of second order need of the equations as they stand (index 3), x = (q, v, lambda):
//     M v' + J(q)^T lambda = f(t, q, v),      Phi(t, q) = 0.
// Displacements d are in velocity coordinates: q moves by them as along q' = N(q) d in a unit of time, d constant.
struct Descriptor {
    virtual ~Descriptor() = default;
    virtual int positions() const = 0;  // how many of x are q,
    virtual int velocities() const = 0; // and how many are v
    virtual void displace(const double* q, const double* d, double* moved) const = 0;
    // What displacing by d and then by e has over the other order: d x e of turns, 0 of shifts.
    virtual void calc_bracket(const double* d, const double* e, double* bracket) const = 0;
    virtual void calc_position_change(const double* q, const double* d, double* change) const = 0; // N(q) d
    // v' = a, and lambda into x, so that the constraints hold at the level of accelerations too.
    virtual Status make_consistent(double t, double* x, double* a) = 0;
    // (f - J^T lambda - M a, -Phi): velocities first, then rows
    virtual Status calc_residual(double t, const double* x, const double* a, double* residual) = 0;
    // Of the last calc_linearization, K = (f - J^T lambda)_q and C = f_v: [c_a M - c_v C - K, J^T; J, 0], with M d
    // for M (d + turn [v, d])
    virtual Status factor_descriptor(double c_a, double c_v, double turn) = 0;
    virtual void solve_descriptor(double* r) = 0;
    // v moved, by the least kinetic energy, to where J v = -Phi_t + of_jerk J v'' + of_turn J [v, v'], with the v''
    // that the constraints prescribe. span: time over which differences may look ahead.
    virtual Status offset_velocity(double t, const double* x, const double* a, double span, double of_jerk,
                                   double of_turn, double* v) = 0;
};

// What implicit integrators need on top: the linearization J = f_x at one state, kept until asked for again, and
// solutions with c B - J. How J comes about (analytic, differences, products only) is the formulation's choice of
// solver.
//
// The equations are B x' = f(t, x). B = I unless `has_mass`; then it is constant, symmetric and block diagonal with
// zeros for the algebraic entries of x (multipliers), so that calc_rate gives f, a residual with nothing solved for,
// and B x' - f is the residual of the whole. Which entries are algebraic is told by Formulation::fill_kinds; they
// stay out of error norms. start() writes consistent ones.
struct Implicit : Ode {
    virtual bool has_mass() const { return false; }
    virtual void apply_mass(const double* x, double* out) { std::copy_n(x, size(), out); } // out = B x
    // r := x' with B x' = r where x has a derivative, 0 in the algebraic entries.
    virtual void solve_mass(double* r) { static_cast<void>(r); }
    // J at (t, x).
    virtual Status calc_linearization(double t, const double* x) = 0;
    // Makes c B - J ready to be solved with; the real and the complex one are kept side by side (radau5 needs both).
    virtual Status factor(double c) = 0;
    virtual Status factor(std::complex<double> c) = 0;
    // Whether f depends on t by itself; rodas needs f_t and is spared a difference quotient where it is zero.
    virtual bool depends_on_time() const = 0;
    // r := (c B - J)^-1 r
    virtual void solve(double* r) = 0;
    virtual void solve(std::complex<double>* r) = 0;
    // Half-explicit stages, where the formulation has them.
    virtual HalfExplicit* half_explicit() { return nullptr; }
    // How good solutions have to be where they are found by iteration: errors are measured by 1 / w_i (`inverse`), the
    // residual is wanted this small relative to the right side, or as an error in x.
    virtual void set_scale(const double* inverse, double relative, double absolute) {
        static_cast<void>(inverse), static_cast<void>(relative), static_cast<void>(absolute);
    }
    virtual SecondOrder* second_order() { return nullptr; } // where x has such halves
    virtual Descriptor* descriptor() { return nullptr; }    // where x is (q, v, lambda)
    // Takes out of an error in x what the constraints do not let happen; asked near the state evaluated last.
    virtual void project_error(double* error) { static_cast<void>(error); }
};

// What an entry of x is. Angles are positions whose size counts up to one turn; those of arbitrary zero count as one
// turn, whatever they read. Multipliers are scaled so that one unit changes velocities (or positions) at the rate of
// one unit per second; so an integrator can compare h times a multiplier with its tolerance for velocities (positions).
enum EntryKind : int {
    entry_position = 0,
    entry_velocity,
    entry_multiplier,
    entry_multiplier_of_position,
    entry_angle,
    entry_angle_of_any_zero,
};

struct Motion { // one state in full, valid until the next call
    const double *q, *v, *a, *lambda;
};

enum class Change { none, small, chart }; // what `correct` did: nothing; moved x a little; x means something else now

struct FormulationFacts {
    long evaluations = 0, linearizations = 0, factorizations = 0, linear_solves = 0, repartitions = 0, rank_changes = 0;
    long position_iterations = 0;
    long projections = 0;             // accepted steps brought back onto the constraints
    long constraint_jacobians = 0;    // of half-explicit stages: evaluations of J
    long krylov_vectors = 0;          // products with J that solver = "krylov" made
    long analyses = 0, fallbacks = 0; // elimination orders found, factorizations left to the pivoting fallback
    long difference_sweeps = 0;       // over all elements, for slopes by differences
    double condition = 0;             // last condition estimate of the partition (partitioning) or of the chart
    // How near the run came to a singular position, and when: smallest eigenvalue of J M^-1 J^T relative to the largest
    // such value of the run (rank_watch.hpp).
    double closest_pivot = 1, closest_pivot_time = 0;
    double dropped_violation = 0; // largest violation met of rows that were dropped as dependent and are not
    std::vector<double> suspects; // ends of the steps that may have led past a singular position
};

struct Formulation : Implicit {
    // Opens the run (or a new chart) at a state that satisfies the constraints; writes x.
    virtual Status start(double t, const double* q, const double* v, double* x) = 0;
    // q, v, a, lambda of (t, x)
    virtual Status lift(double t, const double* x, Motion& motion) = 0;
    // Called once per accepted step: updates the memory, projects, repartitions. May change x; says what it did.
    virtual Status correct(double t, double* x, Change& change) = 0;
    // The J of the last calc_linearization, dense, row-major size x size, for codes that want it whole.
    virtual Status fill_jacobian(double* J) = 0;
    // What each entry of x is, an EntryKind, for tolerances per kind.
    virtual void fill_kinds(int* kinds) const = 0;
    virtual FormulationFacts facts() const = 0;
    virtual Workspace& workspace() = 0;
};

struct FormulationOptions {
    std::string linear = "topology";
    std::string solver = "newton";       // of implicit integrators: "newton", "newton_fd", "krylov", "fixed_point"
    std::string preconditioner = "none"; // of krylov: "none", "block", "kept"
    int block_size = 6;                  // of the blocks of coordinates that "block" keeps
    int iom = 0;                         // of krylov: vectors that a new one is made orthogonal to; 0: all
    int dense_limit =
        30; // degrees of freedom up to which iteration matrices are dense and reduced; beyond: descriptor form
    bool half_explicit = false;         // index2: the integrator is a half-explicit one
    bool project = true;                // index2: accepted steps are brought back onto the constraints
    double constraint_tolerance = 0;    // projection, index2: violations up to which accepted steps are left alone
    bool project_error = false;         // projection: errors are measured along the constraints
    bool refuse = true;                 // and steps of extreme violations are refused
    bool grouped = true;                // slopes by differences: bodies that share no element move together
    std::string formalism = "residual"; // index2, ggl: M v' = ..., or "explicit": v' = M^-1 (...)
    std::string invariants = "both";    // projected_invariants: "both", or "positions" alone
    bool curvature = false;             // projected_invariants: L^T tau of [petzold (23)]
    double baumgarte_alpha = 10, baumgarte_beta = 10; // Phi'' + 2 alpha Phi' + beta^2 Phi = 0
    double position_tolerance = 1e-12;                // on corrections of positions, relative to 1 m or 1 rad
    double rank_tolerance = 1e-9;
    std::string redundant = "eliminate"; // index1, baumgarte, projection: dependent rows; or "regularize" all
    double repartition_growth = 1.25;    // the 25 % rule
};

// The most entries that x may have, before `size` is known.
inline int calc_most_entries(const Tables& tables) { return 2 * (tables.nq + tables.nv + tables.rows_count); }

// name: "partitioning", "tangent_plane", "recursive", "index1", "baumgarte", "projection", "index2", "index3", "ggl",
// "projected_invariants", "odae"
std::unique_ptr<Formulation> build_formulation(const std::string& name, const Tables& tables,
                                               const FormulationOptions& options);

} // namespace linkwork
