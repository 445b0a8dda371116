"""The stiff double pendulum of the negrut paper: errors at given tolerances, accepted steps, and the motion itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core, models
from ..results import calc_dense
from .figure import save_figure
from .runs import Timed, find_start, run_timed
from .table import show_table

NAME = "double-pendulum"
DESCRIPTION = "errors and steps of sdirk4 on the stiff double pendulum (negrut, tables II and III); draws figure 2"
FIGURE = "double_pendulum.png"

Array = NDArray[np.float64]

# Table II: exponent of the tolerance -> largest error of theta1 [rad] and its rate [rad/s]. The exact values that the
# paper's relative errors imply belong to an initial rate of 0 of the second rod, not to the 10 rad/s of its text.
PAPER_2 = {-2: (3.280e-2, 2.290e-1), -3: (3.787e-3, 3.131e-2), -4: (7.546e-4, 6.407e-3), -5: (1.706e-4, 1.485e-3)}
# Table III: accepted steps over 2 s with the two angles as coordinates, and with the paper's partition in space
PAPER_3_ANGLES = (31, 47, 76, 127, 223, 387, 682)
PAPER_3_SPACE = (29, 47, 75, 126, 219, 384, 678)

# theta1, its rate, theta2, its rate by a separate program of the two angles in extended precision, good to 1e-12:
# initial rate of the second rod -> time -> values
REFERENCE = {
    0.0: {
        0.002: (6.282313712592889, -0.5197661728916608, 6.0236275275100155, 1.035340176306196),
        0.1: (5.879332917021955, -7.157153497664994, 5.735831838678531, -6.294248154570107),
        0.5: (3.8333745088596025, 3.6682807656354255, 3.8201393421236065, 3.7462771524181395),
        1.0: (5.055276117600375, -3.9384591225831858, 5.0547509436836, -3.9349206242455477),
        2.0: (4.601880532081426, -1.3951565174107374, 4.601889039566138, -1.3955145921625383),
    },
    10.0: {
        0.002: (6.28679653599941, 1.728279384052927, 6.028209645044693, 3.282969991647398),
        0.1: (6.0670665130321675, -5.792112369181523, 5.923642439659943, -4.929275385396874),
        0.5: (3.7363754783893874, 2.525775552871166, 3.7231547756131196, 2.6034230911986103),
        1.0: (5.161439799330282, -3.6068031347480227, 5.160924184973401, -3.6030967486155965),
        2.0: (4.640478183221331, -1.6298924540837663, 4.640496701688532, -1.6302527153802555),
    },
}  # fmt: skip


def run(json: bool = False) -> dict[str, Any]:
    """Print tables II and III and draw figure 2 into double_pendulum.png."""
    forms = ("planar", "spatial")
    figures: dict[str, Any] = {
        "reference_error": measure_reference(0.0),
        "errors": {form: measure_errors(form, PAPER_2) for form in forms},
        "steps": {
            "two angles": [count_angle_steps(10.0**k) for k in range(-2, -9, -1)],
            **{form: [count_steps(form, 10.0**k) for k in range(-2, -9, -1)] for form in forms},
        },
    }
    if not json:
        show_errors(figures["errors"], figures["reference_error"])
        show_steps(figures["steps"])
        save_figure(FIGURE, draw_motion, rows=2)
    return figures


# ---------------------------------------------------------------------------------------------------------------
# Table II
# ---------------------------------------------------------------------------------------------------------------
def run_reference(angular_velocity: float) -> Timed:
    """The tight run that errors are measured against, as in the paper, but with another integrator than theirs."""
    start = find_start(models.double_pendulum(form="planar", angular_velocity=angular_velocity))
    return run_timed(start, "partitioning/radau5", 1e-12, 2.0, first_step=1e-7)


def read_first_rod(form: str, run: Timed) -> tuple[Array, Array, Array]:
    """t, theta1 and its rate at the accepted steps; theta1 counts from 2 pi at the start."""
    states, body = run.states, run.states["pin1"]
    return states._t, 2.0 * math.pi + body.coordinate, body.rate


def measure_reference(angular_velocity: float) -> float:
    """Largest difference between the tight run and the points of REFERENCE, angles and rates."""
    points = REFERENCE[angular_velocity]
    q, v = calc_dense(run_reference(angular_velocity).states, np.array(list(points)))
    found = np.stack([q[:, 2], v[:, 2], q[:, 5], v[:, 5]], axis=1)
    return float(np.abs(found - np.array(list(points.values()))).max())


def measure_errors(form: str, exponents: Any) -> dict[int, dict[str, float]]:
    """Largest and mean error of the first rod over the accepted steps, and the time of the largest one."""
    reference, figures = run_reference(0.0), {}
    start = find_start(models.double_pendulum(form=form, angular_velocity=0.0))
    for k in exponents:
        done = run_timed(start, "partitioning/sdirk4", 10.0**k, 2.0, first_step=1e-6)
        t, angle, rate = read_first_rod(form, done)
        q, v = calc_dense(reference.states, t)
        e, e_rate = np.abs(angle - q[:, 2]), np.abs(rate - v[:, 2])
        figures[k] = {
            "angle": float(e.max()),
            "t_angle": float(t[e.argmax()]),
            "mean_angle": float(np.sqrt(np.mean(e * e))),
            "rate": float(e_rate.max()),
            "t_rate": float(t[e_rate.argmax()]),
            "mean_rate": float(np.sqrt(np.mean(e_rate * e_rate))),
        }
    return figures


def show_errors(errors: dict[str, dict[int, dict[str, float]]], reference_error: float) -> None:
    """Print ours and the paper's largest errors side by side."""
    rows = []
    for form, figures in errors.items():
        for k, f in figures.items():
            rows.append(
                [form, f"1e{k}", f["t_angle"], f["angle"], PAPER_2[k][0], f["mean_angle"], f["t_rate"], f["rate"],
                 PAPER_2[k][1], f["mean_rate"]]
            )  # fmt: skip
    header = ["form", "tolerance", "t*", "error of theta1", "paper", "rms", "t*", "error of its rate", "paper", "rms"]
    show_table("Table II: errors over 2 s, partitioning/sdirk4", header, rows)
    print(f"the reference run differs from the reference points by {reference_error:.1e} at most")


# ---------------------------------------------------------------------------------------------------------------
# Table III
# ---------------------------------------------------------------------------------------------------------------
def count_steps(form: str, tolerance: float) -> int:
    """Accepted steps of the model over 2 s."""
    start = find_start(models.double_pendulum(form=form))
    return int(run_timed(start, "partitioning/sdirk4", tolerance, 2.0, first_step=1e-6).statistics["steps"])


def count_angle_steps(tolerance: float) -> int:
    """Accepted steps over 2 s of the equations of the two angles, integrated as any ordinary differential equation."""
    x0 = np.array([2.0 * math.pi, 23.0 * math.pi / 12.0, 0.0, 10.0])
    result = _core.solve_ode(
        calc_angle_rate, 0.0, x0, 2.0, "sdirk4", tolerance, tolerance, jacobian=calc_angle_jacobian,
        options={"first_step": 1e-6},
    )  # fmt: skip
    return int(result["steps"])


def calc_angle_rate(t: float, x: Array) -> Array:
    """x' of x = (theta1, theta2, theta1', theta2'), absolute angles: Lagrange's equations of the two rods.

    With d = theta1 - theta2 and half lengths L: the masses are [[J1 + (m1 + 4 m2) L1^2, b cos d], [b cos d, J2 + m2
    L2^2]], b = 2 m2 L1 L2, and J = m L^2 / 3.
    """
    m1, m2, L1, L2, g = 3.0, 0.3, 1.0, 1.5, 9.81
    angle1, angle2, rate1, rate2 = x
    d, b = angle1 - angle2, 2.0 * m2 * L1 * L2
    outer = 3e5 * (angle2 - angle1) + 5e4 * (rate2 - rate1)
    inner = 400.0 * (angle1 - 1.5 * math.pi) + 15.0 * rate1
    f1 = -b * np.sin(d) * rate2**2 - (m1 + 2.0 * m2) * g * L1 * np.cos(angle1) - inner + outer
    f2 = b * np.sin(d) * rate1**2 - m2 * g * L2 * np.cos(angle2) - outer
    M11, M12, M22 = 4.0 / 3.0 * m1 * L1**2 + 4.0 * m2 * L1**2, b * np.cos(d), 4.0 / 3.0 * m2 * L2**2
    determinant = M11 * M22 - M12**2
    return np.array([rate1, rate2, (M22 * f1 - M12 * f2) / determinant, (M11 * f2 - M12 * f1) / determinant])


def calc_angle_jacobian(t: float, x: Array) -> Array:
    """Its derivatives by complex steps, exact to round-off."""
    h = 1e-30
    return np.stack([calc_angle_rate(t, x + 1j * h * unit).imag / h for unit in np.eye(4)], axis=1)


def show_steps(steps: dict[str, list[int]]) -> None:
    """Print the accepted steps of the three descriptions and the paper's two rows."""
    rows: list[list[object]] = [
        ["the two angles", *steps["two angles"]],
        ["partitioning, planar", *steps["planar"]],
        ["paper, two angles", *PAPER_3_ANGLES],
        ["partitioning, spatial", *steps["spatial"]],
        ["paper, spatial", *PAPER_3_SPACE],
        ["ours / paper, spatial", *(a / b for a, b in zip(steps["spatial"], PAPER_3_SPACE, strict=True))],
    ]
    header = ["tolerance", *(f"1e{k}" for k in range(-2, -9, -1))]
    show_table("Table III: accepted steps over 2 s, sdirk4, first step 1e-6", header, rows)


# ---------------------------------------------------------------------------------------------------------------
# Figure 2
# ---------------------------------------------------------------------------------------------------------------
def draw_motion(panels: Any) -> None:
    """Angle and rate of the first rod; the accepted steps at 1e-3 on the line of the tight run."""
    start = find_start(models.double_pendulum(form="spatial", angular_velocity=0.0))
    done = run_timed(start, "partitioning/sdirk4", 1e-3, 2.0, first_step=1e-6)
    t, angle, rate = read_first_rod("spatial", done)
    fine = np.linspace(0.0, 2.0, 801)
    q, v = calc_dense(run_reference(0.0).states, fine)
    for panel, line, points, label in (
        (panels[0, 0], q[:, 2], angle, "angle of body 1 [rad]"),
        (panels[1, 0], v[:, 2], rate, "angular velocity of body 1 [rad/s]"),
    ):
        panel.plot(fine, line, linewidth=1, label="reference")
        panel.plot(t, points, "o", markersize=3, label="accepted steps of sdirk4 at 1e-3")
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
    panels[0, 0].legend()
    panels[1, 0].set_xlabel("time [s]")
