"""Andrews' mechanism beside Exudyn, where that is installed: CPU time against error in metres, one machine, one run."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import models
from ..states import States
from .runs import find_start, run_timed
from .table import show_table
from .work_precision import find_cost

NAME = "peers"
DESCRIPTION = "Andrews' mechanism in Exudyn and here: CPU time at equal error"
INSTALL = "pip install exudyn"

T_END = 0.05  # s
TIMES = T_END * np.arange(1, 11) / 10  # at which positions are compared
METHODS = (
    "partitioning/dopri5", "partitioning/dop853", "projection/dopri5", "projection/dop853", "projection/adams",
    "index2/phem56", "index2/mexx",
)  # fmt: skip
PARTITIONED = "index2/"  # half-explicit integrators, which are compared with the first method
TOLERANCES = tuple(10.0**k for k in range(-3, -11, -1))
STEPS = (500, 1000, 2000, 4000, 8000, 16000)  # of Exudyn, equal ones: its implicit solvers have no error control
LEVELS = (1e-4, 1e-5, 1.4e-6, 1e-7)  # m

Array = NDArray[np.float64]
Points = list[dict[str, float]]


def run(json: bool = False) -> dict[str, Any]:
    """Print what each error costs in both codes, for planar and for spatial bodies."""
    if importlib.util.find_spec("exudyn") is None:
        if not json:
            print(f"\nExudyn is not installed, so there is nothing to compare with; `{INSTALL}` installs it")
        return {"exudyn": None}
    figures = {form: measure_form(form) for form in ("planar", "spatial")}
    if not json:
        for form, curves in figures.items():
            show_form(form, curves)
        print("Exudyn's explicit solvers refuse mechanisms with closed loops, so only its implicit ones are here")
    return figures


def measure_form(form: str, steps: tuple[int, ...] = STEPS) -> dict[str, Points]:
    """Curves of our methods and of Exudyn's solvers: the largest error of a centre of mass at TIMES, CPU time."""
    model = models.andrews(form=form)
    start, names = find_start(model), list(model.bodies)
    reference = find_reference(model)
    curves: dict[str, Points] = {}
    for method in METHODS:
        curves[method] = []
        for tolerance in TOLERANCES:
            done = run_timed(start, method, tolerance, T_END, output=TIMES, repeats=5)
            error = float(np.abs(_find_positions(done.output, names) - reference).max())
            curves[method].append({"steps": float(done.statistics["steps"]), "error": error, "cpu": done.cpu})
    for solver in ("GeneralizedAlpha", "TrapezoidalIndex2"):
        for matrix in ("EXUdense", "EigenSparse"):
            curves[f"Exudyn {solver}, {matrix}"] = measure_peer(model, reference, solver, matrix, steps)
    return curves


def find_reference(model: Any) -> Array:
    """(times, bodies, 2): centres of mass at TIMES to round-off."""
    tight = run_timed(find_start(model), "partitioning/dop853", 1e-12, T_END, output=TIMES)
    return _find_positions(tight.output, list(model.bodies))


def _find_positions(states: States | None, names: list[str]) -> Array:
    assert states is not None
    return np.stack([states[name].position[:, :2] for name in names], axis=1)


# ---------------------------------------------------------------------------------------------------------------
# The same machine in Exudyn
# ---------------------------------------------------------------------------------------------------------------
def import_peer() -> Any:
    """Exudyn in its fast build, without range checks."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(io.StringIO()):
        return importlib.import_module("exudyn")


def measure_peer(model: Any, reference: Array, solver: str, matrix: str, steps: tuple[int, ...]) -> Points:
    """Least CPU time of three runs and error at each number of steps; runs that fail are left out."""
    exu = import_peer()
    points: Points = []
    for count in steps:
        spent, found = [], None
        for _ in range(3):
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # names of settings change between its versions
                system, sensors = build_peer(exu, model)
                settings = exu.SimulationSettings()
                settings.timeIntegration.numberOfSteps = count
                settings.timeIntegration.endTime = T_END
                settings.timeIntegration.newton.useModifiedNewton = True
                settings.timeIntegration.newton.modifiedNewtonContractivity = 0.1  # a fifth faster than by default
                settings.timeIntegration.newton.maxModifiedNewtonIterations = 20
                settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
                settings.solutionSettings.writeSolutionToFile = False
                settings.solutionSettings.sensorsWritePeriod = T_END / len(TIMES)
                settings.linearSolverType = getattr(exu.LinearSolverType, matrix)
                begin = time.process_time()
                try:
                    system.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, solver))
                except Exception:
                    break
                spent.append(time.process_time() - begin)
                rows = [np.asarray(system.GetSensorStoredData(sensor)) for sensor in sensors]
                found = np.stack([_find_rows(table) for table in rows], axis=1)
        if found is not None:
            error = float(np.abs(found - reference).max())
            points.append({"steps": float(count), "error": error, "cpu": min(spent)})
    return points


def _find_rows(table: Array) -> Array:
    """x and y of a sensor (t, x, y, z) at TIMES, which are among its rows."""
    nearest = np.abs(table[:, :1] - TIMES).argmin(axis=0)
    if np.abs(table[nearest, 0] - TIMES).max() > 1e-9:
        raise ValueError("the steps of the peer miss the times of comparison")
    return np.asarray(table[nearest, 1:3])


def build_peer(exu: Any, model: Any) -> tuple[Any, list[int]]:
    """The machine from the records of ours; one sensor per body for its centre of mass."""
    items = importlib.import_module("exudyn.itemInterface")
    system = exu.SystemContainer().AddSystem()
    objects = {"ground": system.AddObject(items.ObjectGround())}
    for name in model.bodies:
        body = model[name]
        if np.ndim(body.inertia) == 0:
            node = system.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*body.position, body.angle]))
            record = items.ObjectRigidBody2D(mass=body.mass, inertia=body.inertia, nodeNumber=node)
        else:
            turn = 2.0 * np.arctan2(body.orientation[3], body.orientation[0])
            node = system.AddNode(items.NodeRigidBodyRotVecLG(referenceCoordinates=[*body.position, 0.0, 0.0, turn]))
            inertia = [*np.diag(np.array(body.inertia)), 0.0, 0.0, 0.0]
            record = items.ObjectRigidBody(mass=body.mass, inertia=inertia, nodeNumber=node)
        objects[name] = system.AddObject(record)

    def mark(body: Any, point: Any) -> int:
        place = {"bodyNumber": objects[body.name], "localPosition": [float(x) for x in point]}
        return int(system.AddMarker(items.MarkerBodyPosition(**place)))

    planar = np.ndim(model[model.bodies[0]].inertia) == 0
    for name in model.joints:
        pin = model[name]
        sides = [(side.body, side.position) for side in (pin.a, pin.b)]
        if planar:
            marks = [mark(*side) for side in sides]
            system.AddObject(items.ObjectJointRevolute2D(markerNumbers=marks))
        else:  # out of the plane the mechanism cannot leave, so two translations are held
            marks = [
                system.AddMarker(items.MarkerBodyRigid(bodyNumber=objects[body.name], localPosition=list(point)))
                for body, point in sides
            ]
            system.AddObject(items.GenericJoint(markerNumbers=marks, constrainedAxes=[1, 1, 0, 0, 0, 0]))

    spring, motor = model["spring"], model["motor"]
    arm = model["K3"]
    turn = arm.angle if planar else 2.0 * np.arctan2(arm.orientation[3], arm.orientation[0])
    x, y = np.array(spring.point_a[:2]) - np.array(arm.position[:2])
    c, s = np.cos(turn), np.sin(turn)
    ends = [mark(arm, (c * x + s * y, c * y - s * x, 0.0)), mark(model.ground, spring.point_b)]
    record = items.ObjectConnectorSpringDamper(
        markerNumbers=ends, stiffness=spring.stiffness, referenceLength=spring.free_length
    )
    system.AddObject(record)
    crank = system.AddMarker(items.MarkerBodyRigid(bodyNumber=objects["K1"], localPosition=[0.0, 0.0, 0.0]))
    system.AddLoad(items.LoadTorqueVector(markerNumber=crank, loadVector=list(motor.torque)))
    sensors = [
        system.AddSensor(
            items.SensorBody(
                bodyNumber=objects[name], storeInternal=True, outputVariableType=exu.OutputVariableType.Position
            )
        )
        for name in model.bodies
    ]
    system.Assemble()
    return system, sensors


def find_least(curves: dict[str, Points], level: float, chosen: Callable[[str], bool]) -> float:
    """Least CPU time for this error among the curves whose title is chosen; nan where none reaches it."""
    costs = [find_cost(points, level) for title, points in curves.items() if chosen(title) and points]
    return float(np.nanmin(costs)) if np.isfinite(costs).any() else float("nan")


def find_gain(curves: dict[str, Points], level: float) -> float:
    """How many times less CPU time our best method takes than Exudyn's best setting for this error."""
    theirs = find_least(curves, level, lambda title: title.startswith("Exudyn"))
    return theirs / find_least(curves, level, lambda title: not title.startswith("Exudyn"))


def find_partitioned_gain(curves: dict[str, Points], level: float) -> float:
    """How many times less CPU time our best half-explicit method takes than partitioning/dopri5."""
    return find_least(curves, level, METHODS[0].__eq__) / find_least(
        curves, level, lambda title: title.startswith(PARTITIONED)
    )


def show_form(form: str, curves: dict[str, Points]) -> None:
    """Print what each error costs, and the ratio of the best to the best."""
    rows: list[list[object]] = []
    for title, points in curves.items():
        costs = [find_cost(points, level) for level in LEVELS] if points else [np.nan] * len(LEVELS)
        rows.append([title, *("" if np.isnan(cost) else 1e3 * cost for cost in costs)])
    rows.append(["best of Exudyn / our best", *(find_gain(curves, level) for level in LEVELS)])
    rows.append([f"{METHODS[0]} / best half-explicit", *(find_partitioned_gain(curves, level) for level in LEVELS)])
    header = ["code", *(f"{level:.1e} m" for level in LEVELS)]
    show_table(f"Andrews' mechanism of {form} bodies over {T_END:g} s: CPU time [ms] for an error of", header, rows)
