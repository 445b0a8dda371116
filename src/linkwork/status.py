"""How a run ended: a closed list of names, each with a message that contains the cure."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import LinkworkError

# Order and meaning are those of `enum class Status` in src/core/formulations/contract.hpp.
_TEXTS: tuple[tuple[str, bool, str], ...] = (
    ("success", True, "reached t = {t:.6g} s"),
    ("stopped", True, "an event stopped the run at t = {t:.6g} s"),
    (
        "interrupted",
        False,
        "interrupted at t = {t:.6g} s; the part computed so far is in the result, "
        "call simulate again with a smaller t_end to have a complete run",
    ),
    (
        "step_too_small",
        False,
        "the step fell below round-off at t = {t:.6g} s: the motion is discontinuous or too stiff for the method; "
        "smooth the force that switches there, locate it with an Event, loosen rtol and atol, or take another method",
    ),
    (
        "too_many_steps",
        False,
        "the step limit was reached at t = {t:.6g} s: raise max_steps, loosen rtol and atol, or soften stiff forces",
    ),
    (
        "singular_position",
        False,
        "the constraints lost rank at t = {t:.6g} s (a dead centre or a bifurcation): start from or drive through "
        "another configuration, or remove the joint rows named here",
    ),
    (
        "position_lost",
        False,
        "positions could not be brought back onto the constraints at t = {t:.6g} s: a mechanism has reached the end of "
        "its range or a driver asks for the impossible; check the drivers, or reduce max_step",
    ),
    (
        "not_finite",
        False,
        "a force or an acceleration was not a finite number at t = {t:.6g} s: check the force functions for division "
        "by zero and the domain of roots and logarithms",
    ),
    (
        "user_error",
        False,
        "a function given by the user raised at t = {t:.6g} s: correct the function; the exception is in "
        "result.status.exception",
    ),
    (
        "no_convergence",
        False,
        "the iteration of the implicit integrator did not converge at t = {t:.6g} s, however short the step: a force "
        "jumps there or its derivatives are wrong; smooth the force, check the derivatives given for user forces, "
        "locate the jump with an Event, or take an explicit integrator; at fixed step, shorten the step",
    ),
    (
        "open_joint",
        False,
        "a joint that an event switches on is open at t = {t:.6g} s: locate the event where the joint closes, or raise "
        "the tolerance of its Switch",
    ),
)

STATUS_NAMES: tuple[str, ...] = tuple(name for name, _, _ in _TEXTS)


@dataclass(frozen=True)
class Status:
    """How a run ended: `name` is one of STATUS_NAMES, `message` says where and what to do about it."""

    name: str
    success: bool
    message: str
    exception: BaseException | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


def build_status(name: str, t: float, detail: str = "", exception: BaseException | None = None) -> Status:
    """The status called `name` at time `t`; `detail` (joints, exception text) is added to the message."""
    for known, success, text in _TEXTS:
        if known == name:
            message = text.format(t=t)
            return Status(name, success, f"{message} ({detail})" if detail else message, exception)
    raise ValueError(f"unknown status {name!r}; known: {', '.join(STATUS_NAMES)}")


class MissingExtra(LinkworkError, ImportError):
    """An optional package is not installed; the message contains the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f'{purpose} needs {package}: run  python -m pip install "linkwork[{extra}]"')
