"""Impacts, stops, and joints switched on and off: balances across every event, with every formulation and integrator.

What is shown: M dv + J^T impulses = 0 and what follows from it (momentum by the forces that views show, kinetic energy
by the work of the impulses), Newton's law at every stop, joints kept; forces of stops that push and gaps that are not
negative; the same motion by every method; closed forms where there are any.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.compile import compile_model
from linkwork.impacts import solve_complementarity, solve_slip
from linkwork.jacobian import build_jacobian_pattern, calc_jacobian
from linkwork.methods import LEGAL

G = 9.81
Z = (0.0, 0.0, 1.0)
FAMILIES = (
    "dopri5", "dop853", "adams", "phem56", "sdirk4", "radau5", "rodas", "bdf", "hht", "generalized_alpha", "mexx",
    "scipy:Radau", "ida",
)  # fmt: skip
METHODS = [f"{formulation}/{i}" for formulation, legal in LEGAL.items() for i in FAMILIES if i in legal]
LOW_ORDER = ("hht", "generalized_alpha")


def drop(restitution: float, friction: float = 0.0, speed: float = 0.0) -> lw.Model:
    model = lw.Model("ball", gravity=(0, 0, -G))
    model.add(lw.PointMass("ball", 2.0, position=(0, 0, 1.0), velocity=(speed, 0, 0)))
    along = ("ball.x", "ball.y") if friction else None
    model.add(lw.Stop("floor", on="ball.z", restitution=restitution, friction=friction, along=along))
    return model


def hinge(
    model: lw.Model, name: str, mass: float, inertia: float, x: float, point: float, before: object, spin: float = 0.0
) -> object:
    link = model.add(lw.PlanarBody(name, mass, inertia, position=(x, 0.0), angular_velocity=spin))
    model.add(lw.Revolute(f"pin_{name}", before, link, point=(point, 0, 0), axis=Z))
    return link


# --- balances ---------------------------------------------------------------------------------------------------------
def check_balances(result: object, name: str) -> int:
    """Every hit with impulses: momentum, energy, Newton's law and the joints, to 1e-10; returns how many there are."""
    compiled, system = result.compiled, result.compiled.system
    pattern, mass = build_jacobian_pattern(compiled.tables), np.asarray(system.mass())
    count = 0
    for hit in result.events:
        if hit.impulse is None:
            continue
        count += 1
        before, after, rows = hit.state.v, hit.after.v, hit.impulse.lambda_
        jacobian = calc_jacobian(system, pattern, hit.t, hit.after.q, hit.after.memory[0]).toarray()
        target = np.asarray(system.velocity_target(hit.t, hit.after.q, hit.after.memory[0]))
        scale = max(1.0, np.abs(mass @ before).max())
        assert np.abs(mass @ (after - before) + jacobian.T @ rows).max() < 1e-10 * scale, (name, hit.name, hit.t)
        # joints are kept
        engaged = hit.after.engaged[0]
        assert np.abs(engaged * (jacobian @ after - target)).max() < 1e-10 * max(1.0, np.abs(before).max())
        # kinetic energy changes by the work of the impulses at the mean velocity
        work = -rows @ jacobian @ (0.5 * (before + after))
        energies = [0.5 * v @ mass @ v for v in (before, after)]
        assert energies[1] - energies[0] == pytest.approx(work, abs=1e-10 * max(1.0, energies[0]))
        assert energies[1] <= energies[0] + 1e-10 * max(1.0, energies[0])
        # the forces that the views show explain the momentum of every body
        for body in result.bodies:
            dp = float(compiled.tables["bodies"][compiled.bodies[body]]["mass"]) * (
                hit.after[body].velocity - hit.state[body].velocity
            )
            total = np.zeros(3)
            for joint, info in compiled.joints.items():
                if info.block >= 0 and compiled.bodies[body] in (info.body_a, info.body_b):
                    total += calc_push(hit.impulse, joint, compiled.bodies[body])
            assert np.abs(total - dp).max() < 1e-10 * scale
    return count


def calc_push(state: object, joint: str, body: int) -> np.ndarray:
    from linkwork.views import calc_joint_wrench

    return calc_joint_wrench(state, joint, body)[0][0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("machine", ("dead_stop", "geneva", "bouncing_block"))
def test_every_method_agrees_on_motion_events_and_impulses(machine: str, method: str, motions: dict) -> None:
    t_end = {"dead_stop": 1.5, "geneva": 0.6, "bouncing_block": 1.0}[machine]
    low = method.endswith(LOW_ORDER)
    tolerance = 1e-6 if low else 1e-8
    model = getattr(lw.models, machine)()
    if machine == "bouncing_block" and (low or method == "ggl/ida"):
        t_end = 0.42  # low rebounds: what is called none depends on the tolerance, and steps get very short
    result = model.simulate(t_end, method=method, rtol=tolerance, atol=tolerance, progress=False)
    assert result.status.success and not result.warnings, (result.status, result.warnings)
    reference = motions[machine]
    # friction and a chain of thirty impacts magnify errors
    near = 2e-3 if low else 5e-4 if machine == "bouncing_block" else 3e-5
    for body in result.bodies:
        there = reference.at(t_end)[body]
        assert np.allclose(result[body].position[-1], there.position, atol=near)
        assert np.allclose(result[body].velocity[-1], there.velocity, atol=10 * near)
    if not low:
        kinds = [(hit.name, hit.kind) for hit in result.events if hit.kind != "impact"]
        assert kinds == [(hit.name, hit.kind) for hit in reference.events if hit.t <= t_end and hit.kind != "impact"]
    assert check_balances(result, f"{machine} {method}") >= 2
    for stop in model.stops:
        closed = result[stop].closed
        assert result[stop].gap.min() > -5 * max(tolerance, 1e-7) and result[stop].contact_force.min() > -1e-5
        assert np.all(result[stop].contact_force[~closed] == 0.0)
    if not method.startswith(("index1", "baumgarte")):
        near = 1e-6 if method.startswith(("ggl", "projected_invariants")) else 5 * tolerance
        fast = 1e-3 if method.startswith("index3") else 10 * near  # index 3 leaves velocities as they come
        assert result.violations.largest[1] < near and result.violations.largest_velocity[1] < fast


@pytest.fixture(scope="module")
def motions() -> dict:
    """Each machine by one accurate run."""
    return {
        name: getattr(lw.models, name)().simulate(
            t_end, method="tangent_plane/dop853", rtol=1e-11, atol=1e-8, progress=False
        )
        for name, t_end in (("dead_stop", 1.5), ("geneva", 0.6), ("bouncing_block", 1.0))
    }


# --- stops ------------------------------------------------------------------------------------------------------------
def test_bounces_accumulate_and_end_in_contact() -> None:
    """Infinitely many bounces within 3 sqrt(2 h / g): what is left of them is contact, with the weight as its force."""
    result = drop(0.5).simulate(3.0, rtol=1e-9, atol=1e-9)
    assert result.status.success and not result.warnings
    kinds = [hit.kind for hit in result.events]
    assert kinds == ["impact"] * (len(kinds) - 1) + ["contact"] and len(kinds) > 10
    assert result.events[-1].t == pytest.approx(3 * np.sqrt(2 / G), abs=1e-3)
    assert result["floor"].contact_force[-1] == pytest.approx(2.0 * G, rel=1e-12)
    assert abs(result["ball"].position[-1, 2]) < 1e-9 and abs(result["ball"].velocity[-1, 2]) < 1e-12
    total = sum(hit.impulse["floor"].contact_force for hit in result.events)
    assert total == pytest.approx(2.0 * G * result.events[-1].t, abs=1e-4), "the impulses carry the weight"


def test_the_height_that_counts_as_none_can_be_given() -> None:
    model = lw.Model("ball", gravity=(0, 0, -G))
    model.add(lw.PointMass("ball", 1.0, position=(0, 0, 1.0)))
    model.add(lw.Stop("floor", on="ball.z", restitution=0.5, rest=0.1))
    result = model.simulate(2.0)
    # rebounds of 1/4, 1/16: the second is lower than 0.1 m
    assert [hit.kind for hit in result.events] == ["impact", "contact"]


@pytest.mark.parametrize("side", ("lower", "upper"))
def test_a_stop_works_on_both_sides(side: str) -> None:
    sign = 1.0 if side == "lower" else -1.0
    model = lw.Model("ball", gravity=(0, 0, -sign * G))
    model.add(lw.PointMass("ball", 2.0, position=(0, 0, sign), velocity=(0, 0, 0)))
    model.add(lw.Stop("floor", on="ball.z", at=0.25 * sign, side=side, restitution=0.8))
    result = model.simulate(0.6)
    assert result.events[0].t == pytest.approx(np.sqrt(1.5 / G), abs=1e-9)
    assert result.events[0].after["ball"].velocity[2] == pytest.approx(sign * 0.8 * np.sqrt(1.5 * G), rel=1e-9)
    assert result["floor"].gap == pytest.approx(sign * result["ball"].position[:, 2] - 0.25, abs=1e-12)


def test_a_closed_dead_stop_moves_as_a_welded_joint_and_opens_where_its_force_ends(motions: dict) -> None:
    result = motions["dead_stop"]
    shut, opened = (next(hit for hit in result.events if hit.kind == kind) for kind in ("contact", "release"))
    force = result["kneecap"].contact_force
    last = np.flatnonzero(result["kneecap"].closed)[-1]
    assert result.t[last] == opened.t and abs(force[last]) < 1e-9 and force[last - 1] > 0.0
    # the same leg without a knee, from the state after the impact
    welded = lw.Model("welded", gravity=(0, -G, 0))
    for name in ("thigh", "shank"):
        b = shut.after[name]
        record = result.compiled.records[name]
        welded.add(
            lw.PlanarBody(
                name, record.mass, record.inertia, b.position[:2], b.angle, b.velocity[:2], b.angular_velocity[2]
            )
        )
    welded.add(lw.Revolute("hip", welded.ground, "thigh", point=(0, 0, 0), axis=Z))
    welded.add(lw.Fixed("knee", "thigh", "shank"))
    other = welded.simulate(opened.t - shut.t, method="tangent_plane/dop853", rtol=1e-11, atol=1e-11)
    for name in ("thigh", "shank"):
        assert np.allclose(other[name].position[-1], opened.state[name].position, atol=1e-8)
    # the stop's torque is what the weld transmits about the knee
    knee = shut.after["knee"]
    assert other["knee"].torque.shape == (other.count, 3) and np.ndim(knee.coordinate) == 0


def test_a_block_comes_to_rest_upon_two_corners_that_carry_it() -> None:
    result = lw.models.bouncing_block(friction=0.0).simulate(3.0, rtol=1e-9, atol=1e-9)
    assert result.status.success and result.t[-1] == 3.0
    forces = np.array([result[f"floor{k}"].contact_force[-1] for k in range(1, 5)])
    assert np.sort(forces) == pytest.approx([0, 0, G / 2, G / 2], rel=1e-9)
    assert np.allclose(result["block"].velocity[-1], (1, 0, 0), atol=1e-9), "nothing acts along the floor"


def test_a_ball_in_a_groove_is_caught_by_both_walls_at_once() -> None:
    """Two stops struck at one instant, and a third plane through the same line that is not needed."""
    model = lw.Model("groove", gravity=(0, 0, -G))
    model.add(lw.PointMass("ball", 1.0, position=(0, 0, 1.0)))
    for k, axis in enumerate(((1, 0, 1), (-1, 0, 1), (0, 0, 1))):
        model.add(lw.Gap(f"gap{k}", model.ground, "ball", point=(0, 0, 1.0), plane=(0, 0, 0), axis=axis))
        model.add(lw.Stop(f"wall{k}", on=f"gap{k}"))
    result = model.simulate(1.0)
    assert result.status.success and np.allclose(result["ball"].velocity[-1], 0, atol=1e-10)
    lift = sum(result[f"wall{k}"].contact_force[-1] * z for k, z in enumerate((np.sqrt(0.5), np.sqrt(0.5), 1.0)))
    assert lift == pytest.approx(G, rel=1e-9)
    check_balances(result, "groove")


def test_a_spatial_table_on_four_feet_stands_although_three_would_do() -> None:
    model = lw.Model("table", gravity=(0, 0, -G))
    model.add(lw.Body("table", 3.0, (0.2, 0.2, 0.3), position=(0, 0, 0.5), velocity=(0, 0, -1.0)))
    for k, (x, y) in enumerate(((-0.4, -0.3), (0.4, -0.3), (0.4, 0.3), (-0.4, 0.3))):
        model.add(lw.Gap(f"leg{k}", model.ground, "table", point=(x, y, 0.1), plane=(0, 0, 0), axis=Z))
        model.add(lw.Stop(f"foot{k}", on=f"leg{k}", restitution=0.2))
    for method in ("partitioning/dopri5", "projection/dop853", "tangent_plane/radau5"):
        result = model.simulate(1.0, method=method)
        assert result.status.success, result.status
        assert np.allclose(result["table"].position[-1], (0, 0, 0.4), atol=1e-6)
        assert sum(result[f"foot{k}"].contact_force[-1] for k in range(4)) == pytest.approx(3.0 * G, rel=1e-6)
        assert min(result[f"foot{k}"].contact_force[-1] for k in range(4)) >= 0.0


def test_a_stop_at_rest_under_load_is_closed_from_the_start_and_opens_when_it_is_unloaded() -> None:
    """A mass on the floor, pulled up by a force that grows: it lifts off where the force passes its weight."""
    model = lw.Model("lift", gravity=(0, 0, -G))
    model.add(lw.PointMass("mass", 2.0, position=(0, 0, 0)))
    model.add(lw.PointForce("pull", "mass", force=(0, 0, "10*t")))
    model.add(lw.Stop("floor", on="mass.z"))
    result = model.simulate(3.0, rtol=1e-9, atol=1e-9)
    assert [(hit.name, hit.kind) for hit in result.events] == [("floor", "release")]
    t0 = 2.0 * G / 10.0
    assert result.events[0].t == pytest.approx(t0, abs=1e-9)
    assert result["mass"].position[-1, 2] == pytest.approx(10 / 2.0 / 6 * (3 - t0) ** 3, abs=1e-8)
    assert result["floor"].contact_force[0] == pytest.approx(2.0 * G) and bool(result["floor"].closed[0])


@pytest.mark.parametrize("friction", (0.1, 0.4))
def test_friction_of_an_impact_is_coulombs(friction: float) -> None:
    """A sliding impact takes mu (1 + e) u from the slip, one that would take more ends it."""
    e, u, slip = 0.5, np.sqrt(2 * G), 2.0
    result = drop(e, friction, slip).simulate(0.5)
    (hit,) = result.events
    lost = min(friction * (1 + e) * u, slip)
    assert hit.after["ball"].velocity == pytest.approx((slip - lost, 0, e * u), abs=1e-8)
    assert hit.impulse["floor"].effort == pytest.approx((2.0 * (1 + e) * u, -2.0 * lost, 0), abs=1e-7)
    check_balances(result, "friction")


def test_restitution_and_friction_together_do_not_add_energy() -> None:
    """A rod that slides into the floor at its lower end: with Newton's law it would leave with more than it had.

    Its tip sticks. With W = [a b; b c] of normal and slip, e^2 > 1 - b^2 / (a c) adds energy for the slip -b / a.
    """
    model = lw.Model("rod", gravity=(0, 0, 0))
    angle, half = 0.25 * np.pi, 0.5
    x, y = -half * np.cos(angle), -half * np.sin(angle)
    rod = model.add(
        lw.PlanarBody("rod", 1.0, 1.0 / 12, position=(0, 0.5), angle=angle, velocity=(0.6, -1.0), angular_velocity=0.0)
    )
    end = {"point": (x, 0.5 + y, 0), "plane": (0, 0, 0), "axis": (0, 1, 0), "reference": (1, 0, 0)}
    model.add(lw.Gap("end", model.ground, rod, **end))
    model.add(lw.Stop("floor", on="end", restitution=0.9, friction=1.2))
    result = model.simulate(0.2)
    (hit,) = result.events
    check_balances(result, "rod")
    jacobian = result.compiled.system.jacobian(hit.t, hit.state.q, hit.state.memory[0])
    u = [float(jacobian[0] @ s.v) for s in (hit.state, hit.after)]
    assert hit.after.energy.kinetic == pytest.approx(hit.state.energy.kinetic, abs=1e-9), "just no more"
    # u+^T W^-1 u+ = u-^T W^-1 u- with u+ = (e, 0), a = c = 2.5 and b = -1.5
    assert u == pytest.approx([-1.0, 0.8], abs=1e-9)


def test_an_impact_spreads_through_the_joints_of_a_linkage() -> None:
    """Two links in line, struck at the tip by a stop: velocities after it against the generalized momenta."""
    model = lw.Model("flail", gravity=(0, 0, 0))
    one = hinge(model, "one", 2.0, 0.3, 0.5, 0.0, model.ground)
    two = hinge(model, "two", 1.0, 0.1, 1.5, 1.0, one, spin=-2.0)
    model.add(lw.Gap("tip", model.ground, two, point=(2, 0, 0), plane=(0, -0.2, 0), axis=(0, 1, 0)))
    model.add(lw.Stop("anvil", on="tip", restitution=0.6))
    model.add(lw.Driver("swing", on="pin_one", function="-0.2*t"))
    result = model.simulate(2.0, rtol=1e-10, atol=1e-10)
    (hit,) = [hit for hit in result.events if hit.kind == "impact"][:1]
    assert check_balances(result, "flail") >= 1
    # the driver's torque impulse keeps the first link turning at its speed
    assert hit.after["one"].angular_velocity[2] == pytest.approx(-0.2, abs=1e-10)
    assert abs(hit.impulse["swing"].effort[0]) > 1e-3
    tip = [s["two"].point_velocity((0.5, 0, 0))[1] for s in (hit.state, hit.after)]
    assert tip[1] == pytest.approx(-0.6 * tip[0], rel=1e-9)


# --- switching --------------------------------------------------------------------------------------------------------
def build_clutch(tolerance: float = 1e-6) -> lw.Model:
    """Two wheels on one axis; the second waits, the first reaches it at t = 0.5 and takes it along until t = 1."""
    model = lw.Model("clutch", gravity=(0, 0, 0))
    model.add(lw.PlanarBody("driving", 1.0, 0.5, angular_velocity=2.0, angle=-1.0))
    model.add(lw.PlanarBody("driven", 1.0, 0.3))
    for name in ("driving", "driven"):
        model.add(lw.Revolute(f"axle_{name}", model.ground, name, point=(0, 0, 0), axis=Z))
    along = (np.cos(1.0), -np.sin(1.0), 0.0)  # x of the driving wheel
    model.add(lw.Perpendicular("clutch", "driving", "driven", axis_a=along, axis_b=(0, 1, 0), engaged=False))
    model.add(lw.Event("meet", "driving.angle", 1, lw.Switch(on="clutch", tolerance=tolerance)))
    model.add(lw.Event("part", lambda t, s: t - 1.0, 1, lw.Switch(off=["clutch"])))
    return model


@pytest.mark.parametrize("method", METHODS)
def test_a_clutch_keeps_angular_momentum_and_loses_what_two_bodies_lose(method: str) -> None:
    result = build_clutch().simulate(1.5, method=method, rtol=1e-8, atol=1e-8)
    assert result.status.success, result.status
    meet, part = result.events
    assert meet.t == pytest.approx(0.5, abs=1e-8) and part.t == pytest.approx(1.0, abs=1e-12)
    after = 0.5 * 2.0 / 0.8
    for name in ("driving", "driven"):
        assert meet.after[name].angular_velocity[2] == pytest.approx(after, abs=1e-9)
        assert result[name].angular_velocity[-1, 2] == pytest.approx(after, abs=1e-6)
    assert abs(meet.impulse["clutch"].effort[0]) == pytest.approx(0.3 * after, abs=1e-9)
    loss = meet.state.energy.kinetic - meet.after.energy.kinetic
    assert loss == pytest.approx(0.5 * 0.5 * 0.3 / 0.8 * 2.0**2, abs=1e-9)
    assert part.impulse is not None and np.abs(part.impulse.lambda_).max() < 1e-9, "letting go is no impact"
    k = np.searchsorted(result.t, 0.75)
    assert bool(result["clutch"].closed[k]) and not bool(result["clutch"].closed[-1])
    check_balances(result, method)


def test_the_geneva_drive_keeps_its_energy_and_locks_the_wheel_at_quarter_turns() -> None:
    result = lw.models.geneva().simulate(4.0, rtol=1e-10, atol=1e-10)
    energy = result.energy.total
    assert np.ptp(energy) < 1e-8 * energy[0]
    assert [hit.name for hit in result.events] == ["in", "out"] * 4
    for turns, hit in enumerate((hit for hit in result.events if hit.name == "out"), start=1):
        assert hit.after["wheel"].angle == pytest.approx(-0.5 * np.pi * turns, abs=1e-9)
    assert all(np.abs(hit.impulse.lambda_).max() < 1e-8 for hit in result.events), "the pin enters along the slot"


def test_a_support_is_released_by_its_own_force() -> None:
    """A user's event on a reaction: the rope of a swinging weight is let go when its pull falls below a limit."""
    model = lw.Model("rope", gravity=(0, 0, -G))
    model.add(lw.PointMass("bob", 1.0, position=(1.0, 0, 0)))
    model.add(lw.Distance("rope", model.ground, "bob", point_a=(0, 0, 0), point_b=(1.0, 0, 0)))
    pull = lambda s: float(np.linalg.norm(s["rope"].force)) - 15.0  # noqa: E731
    model.add(lw.Event("let go", pull, direction=-1, action=lw.Switch(off="rope")))
    result = model.simulate(1.5, rtol=1e-9, atol=1e-9)
    (hit,) = result.events
    # the pull is 3 m g cos(angle from the vertical)
    height = -hit.state["bob"].position[2]
    assert 3 * G * height == pytest.approx(15.0, rel=1e-7)
    t = result.t[-1] - hit.t
    flight = hit.after["bob"].position + hit.after["bob"].velocity * t + 0.5 * np.array([0, 0, -G]) * t * t
    assert np.allclose(result["bob"].position[-1], flight, atol=1e-7)


def test_results_know_what_was_switched_on_at_output_times_and_between() -> None:
    grid = np.linspace(0.0, 1.5, 16)
    result = build_clutch().simulate(1.5, output=grid)
    closed = result["clutch"].closed
    assert np.array_equal(closed, (grid > 0.5) & (grid <= 1.0))
    assert not bool(result.at(0.4)["clutch"].closed) and bool(result.at(0.7)["clutch"].closed)
    assert np.abs(result.at(0.7).lambda_).max() < 1e-9
    again = pickle.loads(pickle.dumps(result))
    assert again.events[0].impulse["clutch"].effort == pytest.approx(result.events[0].impulse["clutch"].effort)


def test_rows_that_are_off_do_not_count_in_the_check() -> None:
    report = build_clutch().check()
    assert report.ok and (report.rows, report.dof) == (4, 2), str(report)


# --- the parts --------------------------------------------------------------------------------------------------------
def test_complementarity_holds_also_where_contacts_are_redundant() -> None:
    random = np.random.default_rng(3)
    for size, rank in ((1, 1), (3, 3), (5, 2), (8, 4)):
        F = random.normal(size=(rank, size))
        W, b = F.T @ F, F.T @ random.normal(size=rank)
        p = solve_complementarity(W, b)
        w = W @ p + b
        assert p.min() >= 0.0 and w.min() > -1e-10 and abs(p @ w) < 1e-10


def test_slips_end_or_meet_the_limit_against_the_slip_left() -> None:
    W, free = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([1.0, -2.0])
    stuck = solve_slip(W, free, 100.0)
    assert np.allclose(W @ stuck + free, 0)
    p = solve_slip(W, free, 0.5)
    left = W @ p + free
    assert np.linalg.norm(p) == pytest.approx(0.5) and p[0] * left[1] - p[1] * left[0] == pytest.approx(0.0, abs=1e-9)
    assert p @ left < 0


# --- messages ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "build, words",
    (
        (lambda: lw.Stop("s", on="ball.z", restitution=1.5), "restitution 1.5 must lie between 0"),
        (lambda: lw.Stop("s", on="ball.z", side="left"), "side 'left' is not one of 'lower', 'upper'"),
        (lambda: lw.Stop("s", on="ball.z", friction=-1), "friction -1 must not be negative"),
        (lambda: lw.Stop("s", on="ball.z", rest=0.0), "rest 0 must be positive"),
        (lambda: lw.Stop("s", on="ball.z", along=("a.x", "b.y", "c.z")), "along has 3 coordinates"),
        (lambda: lw.Stop("s", on="ball.z", engaged=False), "engaged=False means nothing for a stop"),
        (lambda: lw.Stop("s", on=3.0), "does not name a coordinate"),
        (lambda: lw.Switch(), "it switches nothing"),
        (lambda: lw.Switch(on="a", off=("b", "a")), "'a' is switched on and off at once"),
        (lambda: lw.Switch(on=3), "on 3 does not name joints"),
        (lambda: lw.Switch(on="a", tolerance=0), "tolerance 0 must be positive"),
        (lambda: lw.Revolute("r", "a", "b", point=(0, 0, 0), axis=Z, engaged=2), "engaged 2 is not one of"),
    ),
)
def test_records_say_what_is_wrong(build: object, words: str) -> None:
    with pytest.raises(lw.ModelError, match=words.replace("(", r"\(")):
        build()


def test_friction_without_a_direction_is_refused() -> None:
    model = drop(0.5)
    model.add(lw.Stop("wall", on="ball.x", at=-1.0, friction=0.2))
    with pytest.raises(lw.ModelError, match=r"Stop 'wall': friction needs the coordinates of the slip: give along"):
        compile_model(model)


def test_a_stop_on_what_planar_motion_cannot_change_is_refused() -> None:
    model = lw.Model("flat", gravity=(0, 0, 0))
    model.add(lw.PlanarBody("disk", 1.0, 1.0))
    model.add(lw.Gap("up", model.ground, "disk", point=(0, 0, 0), axis=Z))
    model.add(lw.Stop("lid", on="up.gap", at=-1.0))
    with pytest.raises(lw.ModelError, match="'lid'"):
        compile_model(model)


def test_a_start_beyond_a_limit_is_refused_by_name() -> None:
    model = drop(0.5)
    model.add(lw.Stop("ceiling", on="ball.z", at=0.9, side="upper"))
    with pytest.raises(lw.ModelError, match=r"Stop 'ceiling': its coordinate is 0.1 m or rad beyond the limit"):
        model.simulate(1.0)


@pytest.mark.parametrize("method", ("partitioning/dopri5", "index1/dop853", "partitioning/scipy:Radau"))
def test_a_latch_that_is_open_is_a_status_with_joint_and_gap(method: str) -> None:
    model = build_clutch()
    model.add(lw.Event("early", lambda t, s: t - 0.25, 1, lw.Switch(on="clutch")))
    result = model.simulate(1.0, method=method)
    assert result.status.name == "open_joint" and not result.status.success
    assert "event 'early': joint 'clutch' cannot be switched on at t = 0.25 s" in result.status.message
    assert "open by 0.479" in result.status.message and result.t[-1] == pytest.approx(0.25)
    # a tolerance moves the wheels together
    closing = lw.Model("close", gravity=(0, 0, 0))
    for name in build_clutch():
        record = build_clutch()[name]
        closing.add(lw.Event("early", lambda t, s: t - 0.4, 1, lw.Switch(on="clutch", tolerance=0.3))
                    if name == "meet" else record)  # fmt: skip
    moved = closing.simulate(0.5, method=method)
    assert moved.status.success and abs(moved["driving"].angle[-1] - moved["driven"].angle[-1]) < 1e-8


def test_names_in_a_switch_are_checked_before_the_run() -> None:
    for names, words in (("clotch", "there is no joint 'clotch' to switch.*clutch"), ("wall", "'wall' is a Stop")):
        model = build_clutch()
        model.add(lw.Stop("wall", on="driven.x", at=-1.0))
        model.add(lw.Event("bad", lambda t, s: t - 0.3, 1, lw.Switch(on=names)))
        with pytest.raises(lw.ModelError, match=f"event 'bad': {words}"):
            model.simulate(1.0)


def test_recursive_coordinates_refuse_to_switch_what_carries_bodies_unless_it_is_cut() -> None:
    model = lw.Model("rope", gravity=(0, 0, -G))
    model.add(lw.Body("bob", 1.0, (1, 1, 1), position=(1.0, 0, 0)))
    model.add(lw.Revolute("pin", model.ground, "bob", point=(0, 0, 0), axis=(0, 1, 0)))
    model.add(lw.Event("let go", lambda t, s: t - 0.2, 1, lw.Switch(off="pin")))
    with pytest.raises(lw.ModelError, match=r"event 'let go': joint 'pin' carries a body of the tree.*cut="):
        model.simulate(0.5, method="recursive/dopri5")
    free = model.simulate(0.5, method=lw.Method("recursive", "dopri5", cut=("pin",)), rtol=1e-9, atol=1e-9)
    other = model.simulate(0.5, method="partitioning/dopri5", rtol=1e-9, atol=1e-9)
    assert free.status.success and np.allclose(free["bob"].position[-1], other["bob"].position[-1], atol=1e-7)


def test_joints_are_switched_in_actions_only_and_gaps_belong_to_stops() -> None:
    def meddle(state: object) -> None:
        state.switch(off="clutch")

    result = build_clutch().simulate(1.0, callback=meddle)
    assert result.status.name == "user_error" and "only inside the action of an Event" in result.status.message
    with pytest.raises(AttributeError, match="joint 'clutch' is no Stop"):
        build_clutch().simulate(0.1)["clutch"].gap  # noqa: B018
