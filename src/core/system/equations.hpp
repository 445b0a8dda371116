// The equations of motion on one state: each function is one stage, reads the stages above it and writes its own
// arrays.
//
//   M v' + J^T lambda = f(t, q, v)        J = Phi_q N(q), q' = N(q) v
//   J v' = gamma(t, q, v)                 [serban (3), (23): the Euler parameters' normalization eliminated inside the
//   body]
//
// M is constant and block diagonal in these coordinates: diag(m I, inertia) per body.
#pragma once

#include "tables.hpp"
#include "workspace.hpp"

namespace linkwork {

// Fills the derived fields of the tables (sizes, ranges per kind) once they are loaded.
void finish_tables(Tables& tables);

// Whether time may appear in the equations by itself: drivers, loads and laws that are functions, forces of the user.
bool depends_on_time(const Tables& tables);

void set_position(const Tables& tables, const double* q, Workspace& w);     // pose
void set_velocity(const Tables& tables, const double* v, Workspace& w);     // twist
void calc_constraints(const Tables& tables, double t, Workspace& w);        // phi
void calc_jacobian(const Tables& tables, Workspace& w);                     // jacobian
void calc_velocity_target(const Tables& tables, double t, Workspace& w);    // target = -Phi_t
void calc_gamma(const Tables& tables, double t, Workspace& w);              // gamma
void calc_jacobian_and_gamma(const Tables& tables, double t, Workspace& w); // both in one sweep, for the hot path
void calc_body_wrenches(const Tables& tables, double t, Workspace& w);      // wrench
void calc_forces(const Tables& tables, double t, Workspace& w);             // wrench, force

// The wrenches of one callable of the user on its bodies, in their order; false: it raised.
inline constexpr int most_user_bodies = 16;
bool calc_user_force(const Tables& tables, const UserForce& f, double t, const Pose<double>* poses,
                     const Twist<double>* twists, SpatialRow<double>* wrenches);

// y += J x and x += J^T y with a block Jacobian; y += M x
void add_jacobian_times(const Tables& tables, const double* jacobian, const double* x, double* y);
void add_transpose_times(const Tables& tables, const double* jacobian, const double* y, double* x);
void add_mass_times(const Tables& tables, const double* x, double* y);

// Entry (i, j) of a body's mass matrix in its own velocity coordinates.
inline double calc_mass_entry(const Body& body, int i, int j) {
    const int r = body.columns[i], c = body.columns[j];
    if (r < 3 || c < 3) return r == c ? body.mass : 0.0;
    return body.inertia[r - 3][c - 3];
}

// rate = N(q) v for all bodies; q moved by the displacement d (in velocity coordinates), Euler parameters renormalized
void calc_position_rate(const Tables& tables, const double* q, const double* v, double* rate);
void move(const Tables& tables, const double* d, double* q);
// the displacement d (in velocity coordinates) with N(q) d = change, up to changes of the length of Euler parameters
void calc_displacement(const Tables& tables, const double* q, const double* change, double* d);
// Makes the length of Euler parameters 1; whether that changed anything.
bool normalize(const Tables& tables, double* q);

// Angles and curve parameters at the current pose, on the branch nearest to the old memory.
void update_memory(const Tables& tables, Workspace& w);

// Outputs at the current pose and twist: a coordinate and its rate; s, s', h of every coordinate force (n x 3);
// energies.
double calc_coordinate(const Tables& tables, const Primitive& p, const Workspace& w);
double calc_coordinate_rate(const Tables& tables, const Primitive& p, const Workspace& w);
void calc_coordinate_forces(const Tables& tables, double t, const Workspace& w, double* out);

// Signed distances from the kinks at the current pose, one per kink.
void calc_kinks(const Tables& tables, const Workspace& w, double* values);

struct Energy {
    double kinetic, potential; // potential: gravity, linear springs, bushings, springs of tires
};
Energy calc_energy(const Tables& tables, const double* v, const Workspace& w);

} // namespace linkwork
