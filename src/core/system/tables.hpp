// The compiled model: flat, typed, immutable tables. Written once by `compile.py`, read by everything below.
//
// Each record is mirrored byte for byte by a NumPy structured dtype of the same name in `src/linkwork/tables.py`; the
// bindings refuse tables whose item size differs. Units are SI. Axes: "ground" is the inertial frame, "body" the
// centre-of-mass frame of the body. Body 0 is the ground; it owns no coordinates.
//
// Coordinates. A body has position coordinates q and velocity coordinates v:
//   rigid   q = (r, p) 7: centre of mass and Euler parameters; v = (r-dot in ground axes, w in body axes) 6
//   planar  q = (x, y, angle) 3;                               v = (x-dot, y-dot, angle-dot) 3
//   point   q = r 3;                                           v = r-dot 3
// Every body is seen by joints and forces as a spatial one with six velocity coordinates, of which `columns` names
// those it really has: planar 0, 1, 5 and point 0, 1, 2. The normalization of Euler parameters lives inside the body
// [serban (14)-(16)]: p-dot = 1/2 G^T w spans exactly its null space, so no constraint row and no multiplier is spent
// on it.
#pragma once

#include <cstdint>
#include <vector>

#include "../kernels/algebra.hpp"

namespace linkwork {

enum BodyKind : std::int32_t { body_ground = 0, body_rigid = 1, body_planar = 2, body_point = 3 };

struct Body {
    std::int32_t kind;       // BodyKind
    std::int32_t q, nq;      // first position coordinate, count
    std::int32_t v, nv;      // first velocity coordinate, count
    std::int32_t columns[6]; // spatial velocity index of each own velocity coordinate
    std::int32_t spare;
    double mass; // kg
    Mat inertia; // kg m^2, about the centre of mass, body axes
    Mat inertia_inverse;
};

// A scalar coordinate between two bodies, or (coincident) a vector of them. Points and directions are body-fixed.
enum PrimitiveKind : std::int32_t {
    primitive_coincident = 0, // 3 rows  P_b - P_a, ground axes
    primitive_coincident2,    // 2 rows  the same, x and y only (both bodies planar)
    primitive_dot1,           // d_a . d_b
    primitive_dot2,           // d_a . (P_b - P_a)
    primitive_distance,       // |P_b - P_a|
    primitive_angle,          // angle of d_b from d_a towards e_a, continuous over turns (memory: last accepted angle)
    primitive_curve, // signed distance of P_b from a curve in the plane (d_a, e_a) of a (memory: curve parameter)
    primitive_kinds
};

struct Primitive {
    std::int32_t kind;
    std::int32_t row;            // constraint row it adds to; -1 when it serves a force or an output
    std::int32_t part_a, part_b; // Jacobian parts of body_a and body_b in the row's block; -1 without row
    std::int32_t body_a, body_b;
    std::int32_t memory;   // entry of the memory array, -1 none
    std::int32_t function; // curve: first of two splines x(s), y(s) (the second follows); else -1
    double coefficient;    // Phi[row] += coefficient * coordinate
    Vec s_a, s_b;          // points in body axes
    Vec d_a, e_a, d_b;     // directions in body axes (unit)
};

struct Row { // Phi[row] = sum of primitives - constant - function(t)
    std::int32_t block;
    std::int32_t function; // of t; -1 none
    std::int32_t engaged;  // 1: the row holds from the start; 0: until its joint is switched on, it does not
    std::int32_t spare;
    double constant;
};

struct Block {                // the constraint rows of one joint or driver
    std::int32_t row, rows;   // first row, count (at most 6)
    std::int32_t part, parts; // first Jacobian part, count
};

struct Part { // the Jacobian of one block with respect to one body: rows x nv, row-major, at jacobian[offset]
    std::int32_t block, body;
    std::int32_t offset, spare; // ground parts point at a scratch area behind the used ones
};

enum FunctionKind : std::int32_t { function_expression = 0, function_spline, function_callback, function_periodic };

struct Function { // a scalar function of up to four arguments
    std::int32_t kind;
    std::int32_t first,
        count; // expression: code words; spline, periodic spline: knots; callback: index of the callable, 1
    std::int32_t arguments; // number of arguments
};

struct CoordinateForce {       // generalized force -h along a coordinate s, h = k (s - s0) + c s' + friction + function
    Primitive coordinate;      // row = -1
    double stiffness, damping; // k, c
    double free;               // s0
    double friction;           // Coulomb level; friction = level tanh(s' / slip)
    double slip;               // velocity scale of the friction law
    std::int32_t function;     // of (t, s, s'); -1 none
    std::int32_t spare;
};

struct Load { // prescribed force or torque on one body
    std::int32_t body;
    std::int32_t torque;      // 0 force, 1 torque
    std::int32_t body_axes;   // 0 ground axes, 1 body axes
    std::int32_t function[3]; // of t; -1 constant only
    Vec constant;
    Vec s; // point of application, body axes
};

struct Bushing { // three springs along and three about the axes of a frame on body a
    std::int32_t body_a, body_b;
    Vec s_a, s_b;          // frame origins, body axes
    double p_a[4], p_b[4]; // frame orientations in the bodies, Euler parameters
    double stiffness[6], damping[6];
};

struct Tire { // vertical spring and damper between a wheel centre and the road z = function(x, y) below it
    std::int32_t body;
    std::int32_t road;       // function of (x, y); -1 flat at z = 0
    std::int32_t unilateral; // 1: never pulls
    std::int32_t spare;
    double stiffness, damping, radius;
    Vec s; // wheel centre, body axes
};

struct Kink { // a plane at which a force on a body loses smoothness (the foot of a bump): x of a body-fixed point
              // equals `at`
    std::int32_t body, spare;
    double at;
    Vec s;
};

struct UserForce { // wrenches on a list of bodies from a callable
    std::int32_t callback;
    std::int32_t first, count; // into user_bodies
    std::int32_t spare;
};

// The spanning tree of joint coordinates, one link per body, parents first (kernels/tree.hpp). Rows of constraints that
// the motions of the tree do not satisfy by themselves are the closures.
struct TreeLink { // a body and how it hangs on its parent
    std::int32_t body, parent;
    std::int32_t motion, motions; // first elementary motion = joint coordinate, count (at most 6)
    std::int32_t block;           // the joint's constraint rows, -1 none
    std::int32_t spare;
    Mat E; // from the axes behind the last motion to body axes
    Vec s; // where the last motion ends, body axes
};

struct TreeMotion { // about and along the z axis of its frame
    Mat R;          // from the axes before it to those of its frame
    Vec s;          // its point from where the motion before it ends (or the parent's centre of mass), axes before it
    double turn;    // 1: turns by the coordinate
    double slide;   // metres along the axis per unit of the coordinate
    std::int32_t group; // > 0: first of so many turns through one point whose zero may be anywhere
    std::int32_t spare;
};

// A callable of the user: `call(context, arguments, n, out, m)` returns false when it raised.
struct Callback {
    bool (*call)(void* context, const double* arguments, int n, double* out, int m) = nullptr;
    void* context = nullptr;
};

struct Tables {
    std::vector<Body> bodies;          // [0] is the ground
    std::vector<Primitive> primitives; // sorted by kind
    std::vector<Row> rows;
    std::vector<Block> blocks;
    std::vector<Part> parts;
    std::vector<Function> functions;
    std::vector<std::int32_t> code;                 // expression words, see kernels/functions.hpp
    std::vector<double> numbers;                    // expression constants; spline knots and coefficients
    std::vector<CoordinateForce> coordinate_forces; // sorted by coordinate.kind
    std::vector<Load> loads;
    std::vector<Bushing> bushings;
    std::vector<Tire> tires;
    std::vector<Kink> kinks;
    std::vector<UserForce> user_forces;
    std::vector<std::int32_t> user_bodies;
    std::vector<TreeLink> links;        // parents first
    std::vector<TreeMotion> motions;    // in the order of the links
    std::vector<std::int32_t> closures; // rows that close loops of the tree, ascending
    std::vector<Callback> callbacks;
    Vec gravity{};
    int nq = 0, nv = 0, rows_count = 0, jacobian_size = 0, memory_size = 0;
    int primitive_first[primitive_kinds + 1] = {}; // range of each kind in `primitives`
    int coordinate_force_first[primitive_kinds + 1] = {};
};

} // namespace linkwork
