// The tree of joint coordinates at one state: coordinates to poses, rates to twists, forces to accelerations, each in
// one sweep over the links, O(n).
//
// Vectors in velocity coordinates (v of tables.hpp) and vectors of joint coordinates are mapped into each other by the
// recursion, never by a matrix: d = H z moves the bodies.
#pragma once

#include <vector>

#include "../kernels/planar_tree.hpp"
#include "linear/lanes.hpp"
#include "tables.hpp"
#include "workspace.hpp"

namespace linkwork {

struct WideMotion { // spatial vectors of several directions side by side, about the origin of the ground
    Vec3<Lanes> angular, linear;
};

class Tree {
public:
    explicit Tree(const Tables& tables);

    int size() const { return static_cast<int>(motions.size()); } // coordinates

    // The way down: from z to w.pose; from rate to w.twist.
    void set_position(Workspace& w);
    void set_velocity(Workspace& w);
    // The way up: frees all motions under the wrenches in w. False: a motion that nothing resists.
    bool calc_pivots(const Workspace& w);
    // The way down again: z'' and the accelerations of bodies from the pivots.
    void calc_second();

    // The state in the coordinates of the bodies; q keeps the signs of its Euler parameters.
    void write_position(const Workspace& w, double* q) const;
    void write_velocity(const Workspace& w, double* v) const;
    void write_acceleration(const Workspace& w, double* a) const;

    // The way back: z of given bodies, and rate of given v, where the joints of the tree hold. False: no such z found.
    bool find_position(const double* q, Workspace& w);
    void find_rate(const Workspace& w, const double* v);
    // Turns of arbitrary zero start from where they are once one has gone far; rates have to be found anew.
    bool wants_new_zero() const;
    void take_new_zero(Workspace& w);

    // d = H dz and dz with H dz = d, in velocity coordinates, at the position of the last set_position
    void calc_displacement(const Workspace& w, const double* dz, double* d);
    void calc_coordinates(const Workspace& w, const double* d, double* dz);
    // What of d one link's coordinates are, d of its body and its parent: row k of `inverse` ([motions][6]) times the
    // relative motion. For many d at one position.
    void calc_link_inverse(int link, double* inverse) const;
    void calc_link_coordinates(const Workspace& w, int link, const double* inverse, const double* d, double* dz) const;

    // What of changes u, b of velocities and accelerations comes from displacing coordinates by dz and rates by drate
    // (null: none) with z'' kept: of `count` <= directions pairs at once, one after the other.
    static constexpr int directions = lanes;
    void calc_slopes(const Workspace& w, int count, const double* dz, const double* drate, double* u, double* b);

    // what closed loops need, see closures.hpp
    const MotionAxes<double>& axes_of(int k) const { return axes[k]; }
    MotionPivot<double>& pivot_of(int k) { return pivots[k]; }
    const MotionPivot<double>& pivot_of(int k) const { return pivots[k]; }
    const Spatial<double>& bias_of(int link) const { return bias[link]; }
    const Vec& step_of(int link) const { return steps[link]; }

    const Tables& tables;
    std::vector<TreeLink> links;     // parents first
    std::vector<TreeMotion> motions; // own: zeros of turns move
    std::vector<int> link_of;        // of each body, -1 the ground
    std::vector<double> z, rate, second;

private:
    void find_planar_links();
    bool is_point(const TreeLink& link) const { return tables.bodies[link.body].kind == body_point; }
    void begin_inertia(int link, const Workspace& w);
    bool find_link_position(const TreeLink& link, const Workspace& w, const Pose<double>& target);
    void solve_link(const TreeLink& link, const Spatial<double>& motion, double* dz) const;
    Spatial<double> read(const Workspace& w, int body, const double* v) const;
    Spatial<double> read_relative(const Workspace& w, int link, const double* d) const;
    void write(const Workspace& w, int body, const Spatial<double>& s, double* v) const;
    void write_slopes(const Workspace& w, const TreeLink& link, int first, int count, const Vec3<Lanes>& s,
                      double* out) const;
    double calc_planar_turn(const double* q, const TreeLink& link) const;

    std::vector<char> leaf, opens;   // no link hangs on it; it is the first to add to its parent in the sweep upwards
    std::vector<double> planar_zero; // of each link
    // Links of planar bodies on planar bodies or the ground take the short way (planar_tree.hpp); `bare`: all that
    // hangs on the body does.
    std::vector<char> planar, bare;
    std::vector<PlanarLink> planar_links;
    std::vector<PlanarMotion> planar_motions;
    std::vector<MotionAxes<double>> axes;
    std::vector<MotionPivot<double>> pivots;
    std::vector<Articulated<double>> inertia;
    std::vector<Vec> steps;                                                // d of each link
    std::vector<Spatial<double>> velocity, bias, acceleration, work;       // velocity, acceleration, work: per body
    std::vector<WideMotion> displaced, velocity_slope, acceleration_slope; // of calc_slopes, per body
};

} // namespace linkwork
