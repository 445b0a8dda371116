// The mutable half of a run: everything computed from (t, q, v), allocated once and overwritten at every evaluation.
#pragma once

#include <vector>

#include "../kernels/primitives.hpp"
#include "tables.hpp"

namespace linkwork {

struct Workspace {
    // written by the driver when a step is accepted, constant within a step
    std::vector<double> memory; // [memory_size] last accepted angle or curve parameter of primitives that need one
    std::vector<double> active; // [rows] 1: row is enforced, 0: dependent row, dropped (lambda = 0), or not engaged
    // written by the driver when joints are switched on or off: constant between events
    std::vector<double> engaged; // [rows] 1: row of a joint that is switched on, 0: off

    // set_position(q)
    std::vector<Pose<double>> pose; // [bodies]
    // calc_constraints(t), calc_jacobian()
    std::vector<double> phi;      // [rows] Phi(t, q)
    std::vector<double> jacobian; // [jacobian_size] Phi_q N, parts row-major rows x nv; ground parts in a scratch tail

    // set_velocity(v)
    std::vector<Twist<double>> twist; // [bodies]
    // calc_velocity_target(t): J v = target
    std::vector<double> target; // [rows] -Phi_t
    // calc_gamma(t): J v' = gamma
    std::vector<double> gamma; // [rows]
    // calc_forces(t): applied and gyroscopic forces
    std::vector<SpatialRow<double>> wrench; // [bodies] force in ground axes, torque in body axes
    std::vector<double> force;              // [nv]

    // solve_acceleration()
    std::vector<double> a;      // [nv] v'
    std::vector<double> lambda; // [rows] M v' + J^T lambda = force

    bool user_failed = false; // a callable of the user raised; the bindings hold the exception

    explicit Workspace(const Tables& tables);
};

} // namespace linkwork
