"""Long runs against what must hold: constraints of the vehicle, energy of a four-bar, Andrews' reference values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import models
from .table import show_table

NAME = "accuracy"
DESCRIPTION = "violations of a vehicle run, energy drift of a four-bar, Andrews' mechanism against reference values"

# Test Set for IVP Solvers (Mazzia, Magherini), t = 0.03 s: beta, Theta, gamma, Phi, delta, Omega, epsilon
# (printed to 1.4e-9), by the joint that measures each angle
ANDREWS = {
    "O": 15.81077119629904, "F": -15.75637105984298, "B": 0.04082224013073101, "G": -0.5347301163226948,
    "A1": 0.5244099658805303, "H": 0.5347301163226948, "A2": 1.048080741042263,
}  # fmt: skip
RATE_O = 1139.920302151208


def run(json: bool = False) -> dict[str, Any]:
    """Print the three figures, each with the bound it is held to."""
    figures = {"hmmwv": run_vehicle(), "four_bar": run_four_bar(), "andrews": run_andrews()}
    if not json:
        rows = [[label, name, float(value), bound] for label, f in figures.items() for name, value, bound in f]
        show_table("Long runs", ["run", "figure", "measured", "bound"], rows)
    return {label: {name: value for name, value, _ in f} for label, f in figures.items()}


def run_vehicle() -> list[tuple[str, float, object]]:
    """5 s over the bump on soft bushings with partitioning/dopri5."""
    model = models.hmmwv(stiff=True, bushing_factor=0.01)
    result = model.simulate(5.0, method="partitioning/dopri5", rtol=1e-6, atol=1e-6, progress=False)
    violations = result.violations
    return [
        ("largest |Phi| [m]", float(np.max(violations.position)), 1e-10),
        ("largest |J v - target| [m/s]", float(np.max(violations.velocity)), 1e-9),
        ("steps", result.statistics.steps, ""),
        ("wall time [s]", result.statistics.wall_time, ""),
    ]


def run_four_bar() -> list[tuple[str, float, object]]:
    """Energy of the conservative four-bar over 100 s, relative to the range of its kinetic energy."""
    result = models.four_bar().simulate(100.0, method="partitioning/dopri5", rtol=1e-9, atol=1e-9, progress=False)
    energy = result.energy
    drift = np.ptp(energy.total) / np.ptp(energy.kinetic)
    return [("energy drift / range", float(drift), 1e-7), ("wall time [s]", result.statistics.wall_time, "")]


def run_andrews() -> list[tuple[str, float, object]]:
    """Angles at 0.03 s with adams at 1e-8 against the reference."""
    result = models.andrews().simulate(
        0.03, method="partitioning/adams", rtol=1e-8, atol=1e-8, output=[0.0, 0.03], progress=False
    )
    errors = {joint: abs(result[joint].coordinate[-1] - angle) for joint, angle in ANDREWS.items()}
    return [
        ("largest error of the angles [rad]", float(max(errors.values())), ""),
        ("largest relative error of the angles", max(errors[joint] / abs(ANDREWS[joint]) for joint in errors), 1e-6),
        ("relative error of the crank's rate", abs(result["O"].rate[-1] / RATE_O - 1), 1e-6),
        ("wall time [s]", result.statistics.wall_time, ""),
    ]
