"""What a user should know of a run although it may have succeeded: jumps, singular positions, corrected starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .jacobian import build_jacobian_pattern, calc_jacobian, find_crossings, find_regular_rows, find_weak_joints
from .report import OPEN
from .states import States

if TYPE_CHECKING:
    from .compile import Compiled
    from .initial import Assembly

Array = NDArray[np.float64]
NEAR_SINGULAR = 1e-4  # smallest eigenvalue of J M^-1 J^T against its largest in the run: warned of when below


def find_weakest(compiled: Compiled, steps: States, k: int) -> list[str]:
    """The joints behind the smallest singular value of J at stored state k."""
    t, q, memory = float(steps._t[k]), steps._q[k], steps.memory[k]
    pattern = build_jacobian_pattern(compiled.tables)
    jacobian = calc_jacobian(compiled.system, pattern, t, q, memory, steps.engaged[k])
    return find_weak_joints(compiled, jacobian, find_regular_rows(compiled, steps, k))


def find_jumps(compiled: Compiled, steps: States) -> list[str]:
    """Steps whose positions do not fit the velocities at their ends: the run has changed to another branch there.

    Checked with the corrected trapezoidal rule, q1 - q0 = h/2 (q0' + q1') + h^2/12 (q0'' - q1'') + O(h^5).
    """
    from .results import calc_position_rates

    if len(steps._t) < 2 or not np.all(np.isfinite(steps.accelerations)):
        return []
    first, second = calc_position_rates(compiled, steps._q, steps._v, steps.accelerations)
    h = np.diff(steps._t)[:, None]
    fitted = 0.5 * h * (first[1:] + first[:-1]) + h * h / 12.0 * (second[:-1] - second[1:])
    moved = np.diff(steps._q, axis=0)
    misfit = np.abs(moved - fitted).max(axis=1)
    size = np.maximum(np.abs(moved).max(axis=1), np.abs(fitted).max(axis=1))
    bad = np.flatnonzero((misfit > 0.2 * size) & (misfit > 1e-2) & (h[:, 0] > 0.0))
    if not len(bad):
        return []
    k, more = int(bad[0]), f" and in {len(bad) - 1} other steps" if len(bad) > 1 else ""
    return [
        f"positions jump between t = {steps._t[k]:.6g} and {steps._t[k + 1]:.6g} s{more}: the steps "
        "are too long for the motion or another branch was taken; set max_step"
    ]


def find_singular(compiled: Compiled, steps: States, facts: dict[str, Any]) -> list[str]:
    """Whether the run went through a singular position, or came near one: when, and the joints concerned."""

    def list_names(joints: list[str]) -> str:
        return f" (joints {', '.join(map(repr, joints))})" if joints else ""

    warnings = []
    if facts.get("rank_changes", 0):
        warnings.append(
            f"the run began in a singular position{list_names(find_weakest(compiled, steps, 0))}, where rows depend on "
            "each other that do not elsewhere: the branch taken is one of several; compare with another start"
        )
    crossings = find_crossings(compiled, steps, np.asarray(facts.get("suspects", ())))
    if crossings:
        t, joints = crossings[0]
        times = f" and at {len(crossings) - 1} later times" if len(crossings) > 1 else ""
        warnings.append(
            f"the run passed a singular position at t = {t:.6g} s{times}{list_names(joints)}: the branch taken there "
            "is one of several; compare with a tighter rtol or another start"
        )
    elif facts.get("closest_pivot", 1.0) < NEAR_SINGULAR and steps.count > 1:
        t = facts["closest_pivot_time"]
        joints = find_weakest(compiled, steps, int(np.argmin(np.abs(steps._t - t))))
        warnings.append(
            f"the run came near a singular position at t = {t:.6g} s{list_names(joints)}: what follows depends on "
            "small errors there; compare with a tighter rtol or other lengths"
        )
    return warnings


def find_warnings(compiled: Compiled, steps: States, assembly: Assembly, facts: dict[str, Any]) -> list[str]:
    """What the user should know although the run may have succeeded."""
    warnings = []
    if assembly.largest > OPEN:
        moved = max((pair[0] for pair in assembly.displacement.values()), default=0.0)
        turned = max((pair[1] for pair in assembly.displacement.values()), default=0.0)
        speed = max((max(pair) for pair in assembly.velocity_correction.values()), default=0.0)
        warnings.append(
            f"the initial state was corrected by at most {moved:.3g} m, {turned:.3g} rad and {speed:.3g} m/s or rad/s; "
            "see result.initial_correction, or use initial='refuse'"
        )
    warnings += find_jumps(compiled, steps)
    warnings += find_singular(compiled, steps, facts)
    dropped = facts.get("dropped_violation", 0.0)
    if dropped > OPEN:
        warnings.append(
            f"redundant rows that were dropped are violated by up to {dropped:.3g}: the dependence did not last; "
            "compare with method 'tangent_plane/dopri5', or remove the redundant joint rows (model.check() names them)"
        )
    return warnings


def find_accumulations(hits: list[tuple[str, float]], t_end: float) -> list[str]:
    """Events that come ever faster, as bounces that die out: infinitely many, of which the last ones are missed."""
    warnings = []
    for name in dict.fromkeys(name for name, _ in hits):
        times = np.array([t for other, t in hits if other == name])
        gaps = np.diff(times)[-6:]
        if len(gaps) == 6 and np.all(gaps[1:] < 0.97 * gaps[:-1]) and gaps[-1] < 1e-3 * (t_end - times[-1]):
            warnings.append(
                f"event '{name}' accumulates near t = {times[-1]:.6g} s, {len(times)} times in all, and is missed "
                "afterwards: let its action call state.stop(), or stop the motion there, once the intervals are short"
            )
    return warnings
