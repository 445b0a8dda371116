"""Methods: formulation / integrator / solver, their grammar and the table of legal pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import MethodError, suggest

FORMULATIONS = {
    "partitioning": "independent coordinates, repartitioned when their condition worsens by 25 %",
    "tangent_plane": "tangent coordinates of an orthonormal null-space basis",
    "recursive": "joint coordinates on a spanning tree, loops closed by constraints on them",
    "index1": "constraints at the acceleration level; drifts, for comparison",
    "baumgarte": "index 1 with feedback of the violations",
    "projection": "index 1 and projection onto position and velocity constraints after every step",
    "index2": "constraints at the velocity level, positions and velocities projected after every step",
    "ggl": "stabilized index 2 of Gear, Gupta and Leimkuhler: position and velocity constraints, two multipliers",
    "projected_invariants": "index 1, positions and velocities kept on their constraints by orthogonal projection",
    "odae": "all three levels of constraints at once, overdetermined, in the state-space sense",
    "index3": "the equations as they stand: positions and multipliers together, constraints on positions",
}
INTEGRATORS = {
    "auto": "adams or, where the motion is stiff, radau5 (bdf at loose tolerances), changed both ways as it goes",
    "dopri5": "explicit Runge-Kutta of Dormand and Prince, order 5(4)",
    "dop853": "explicit Runge-Kutta of Dormand and Prince, order 8(5,3)",
    "adams": "variable-order PECE of Shampine and Gordon, orders 1 to 12",
    "half_explicit_euler": "half-explicit Euler method, order 1",
    "phem56": "partitioned half-explicit Runge-Kutta of Murua, order 5(4)",
    "mexx": "half-explicit extrapolation in the manner of MEXX, orders 4 to 16",
    "sdirk4": "singly diagonally implicit Runge-Kutta, order 4(3), L-stable",
    "radau5": "implicit Runge-Kutta of Radau type, order 5(3), L-stable",
    "rodas": "Rosenbrock method, order 4(3), L-stable, no iteration",
    "bdf": "backward differentiation of variable order 1 to 5",
    "trapezoidal": "trapezoidal rule, order 2, A-stable, no damping",
    "bdf2": "backward differentiation of order 2, L-stable",
    "park": "Park's formula, order 2, stiffly stable, half the error of bdf2",
    "hht": "Hilber, Hughes and Taylor, order 2, numerical damping by alpha",
    "generalized_alpha": "generalized-alpha method, order 2, numerical damping by rho",
    "scipy:Radau": "scipy's implicit Runge-Kutta method of Radau type, order 5(3)",
    "scipy:BDF": "scipy's backward differentiation of variable order 1 to 5",
    "scipy:LSODA": "scipy's LSODA: Adams and backward differentiation, switching",
    "cvode": "CVODE of SUNDIALS, backward differentiation of variable order 1 to 5 (extra: sundials)",
    "ida": "IDA of SUNDIALS, the same for equations with multipliers among the unknowns (extra: sundials)",
}
AUTO = "auto"  # an explicit and an implicit integrator that change places, docs/auto.md
EXPLICIT = ("dopri5", "dop853", "adams")
HALF_EXPLICIT = ("half_explicit_euler", "phem56", "mexx")  # they need the index-2 equations
IMPLICIT = ("sdirk4", "radau5", "rodas", "bdf")
KEEPING = ("sdirk4", "radau5", "bdf")  # implicit methods that keep their Jacobian over several steps
LOW_ORDER = ("trapezoidal", "bdf2", "park", "hht", "generalized_alpha")  # the two-loop implicit method, tlismni.md
EMBEDDED_ODE = ("scipy:Radau", "scipy:BDF", "scipy:LSODA", "cvode")  # codes of others, see embed.py
EMBEDDED_DAE = ("ida",)  # of those that take a residual
EMBEDDED = EMBEDDED_ODE + EMBEDDED_DAE
STATE_SPACE = ("partitioning", "tangent_plane", "recursive")
LEGAL: dict[str, tuple[str, ...]] = {
    formulation: (AUTO, *EXPLICIT, *IMPLICIT, *LOW_ORDER, *EMBEDDED_ODE) if formulation in STATE_SPACE else EXPLICIT
    for formulation in FORMULATIONS
}
MULTIPLIERS = ("index2", "ggl")  # multipliers are unknowns: index 2, beyond the order conditions of rodas
LEGAL["ggl"] = ("bdf", "radau5", "sdirk4", *EMBEDDED_DAE, "bdf2", "park")  # formulas that damp multipliers
LEGAL["index2"] = HALF_EXPLICIT + LEGAL["ggl"]
LEGAL["index1"] += EMBEDDED_DAE
LEGAL["projected_invariants"] = tuple(i for i in LEGAL["ggl"] if i not in EMBEDDED_DAE)
LEGAL["odae"] = ("bdf", "bdf2", "park")  # multistep correctors, whose residual may remain normal to the constraints
LEGAL["index3"] = ("hht", "generalized_alpha")  # of those with damping: see docs/formulations/index3.md
NEWTON = {
    "newton": "Newton's method with analytic Jacobians",
    "newton_fd": "Newton's method with Jacobians by differences",
    "krylov": "Newton's method in Krylov subspaces, no Jacobian",
}
ITERATIONS = {**NEWTON, "fixed_point": "simple iteration, no Jacobian; converges while h eta |J| < 1"}
SOLVERS: dict[str, tuple[str, ...]] = {  # of the implicit integrators; the explicit ones take none
    **{integrator: tuple(NEWTON) for integrator in (AUTO, *IMPLICIT)},
    **{integrator: tuple(ITERATIONS) for integrator in LOW_ORDER},
}
REFUSED: dict[tuple[str, str], str] = {  # (formulation, integrator or solver) -> why, where it is not plain
    ("index3", "trapezoidal"): "without damping the least disturbance of its multipliers grows",
    **{
        ("odae", integrator): "its residual may remain normal to the constraints, which is for multistep correctors"
        for integrator in ("radau5", "sdirk4", "rodas")
    },
    ("odae", "fixed_point"): "positions are brought onto their constraints by its matrix",
    **{
        (formulation, "fixed_point"): "multipliers do not follow from an iteration without a matrix"
        for formulation in (*MULTIPLIERS, "index3", "projected_invariants")
    },
    **{
        (formulation, "trapezoidal"): "it does not damp multipliers, which ring from step to step"
        for formulation in (*MULTIPLIERS, "projected_invariants", "odae")
    },
    **{
        (formulation, integrator): "it ties positions to accelerations, which index3 does"
        for formulation in (*MULTIPLIERS, "projected_invariants", "odae")
        for integrator in ("hht", "generalized_alpha")
    },
    **{
        (formulation, "krylov"): "its matrix is indefinite, Krylov spaces without a matrix do not converge"
        for formulation in (*MULTIPLIERS, "index3", "projected_invariants", "odae")
    },
}
LINEAR = {
    "topology": "block-sparse, static elimination order from the mechanism's graph",
    "reduced_band": "band Cholesky on J M^-1 J^T with renumbered joints",
    "augmented_sparse": "sparse LU of the whole system",
    "augmented_dense": "dense factorization of the whole system",
}
CONSTRAINT_TOLERANCE = (
    "violation (m, rad, m/s, rad/s) up to which accepted steps are left as they are (every one is projected)"
)
REDUNDANT = "dependent rows: 'eliminate' them, or 'regularize' all rows ('eliminate')"
OPTIONS: dict[str, dict[str, str]] = {  # formulation -> option -> meaning
    "partitioning": {
        "repartition_growth": "growth of the grip of the independent coordinates that asks for a new partition (1.25)",
        "dense_limit": "degrees of freedom up to which iteration matrices are dense, beyond: descriptor form (30)",
    },
    "index1": {"redundant": REDUNDANT},
    "projection": {
        "redundant": REDUNDANT,
        "constraint_tolerance": CONSTRAINT_TOLERANCE,
        "project_error": "dopri5, dop853: errors of steps are measured along the constraints only (False)",
    },
    "index2": {
        "project": "whether accepted steps are brought back onto the constraints (True)",
        "constraint_tolerance": CONSTRAINT_TOLERANCE,
        "formalism": "'residual': M v' = f - J^T lambda, or 'explicit': v' = M^-1 (f - J^T lambda) ('residual')",
    },
    "ggl": {
        "formalism": "'residual': M v' = f - J^T lambda, or 'explicit': v' = M^-1 (f - J^T lambda) ('residual')",
    },
    "recursive": {
        "cut": "names of joints that close loops instead of carrying a body of the tree (none)",
        "repartition_growth": "growth of the grip of the independent coordinates that asks for other ones (1.25)",
        "dense_limit": "degrees of freedom up to which iteration matrices are dense, beyond: descriptor form (30)",
    },
    "projected_invariants": {
        "invariants": "'both' (positions and velocities) or 'positions' ('both')",
        "curvature": "whether positions answer to tau as well, the term L^T tau (False)",
    },
    "baumgarte": {
        "redundant": REDUNDANT,
        "baumgarte_alpha": "damping of the violation, 1/s (10)",
        "baumgarte_beta": "frequency of the violation, 1/s (10)",
    },
}
VARIANTS = {  # integrator -> its coefficient sets, the default first
    "sdirk4": ("4/15", "1/4"),
    "rodas": ("rodas4", "rodas42", "rodas4p", "rodas4p2"),
}
HIGHEST_ORDER = {"adams": 12, "bdf": 5, "mexx": 16}  # integrators that take max_order
DAMPING = {  # integrator -> its option, lowest and highest value, meaning
    "hht": ("alpha", -1 / 3, 0.0, "numerical damping, from -1/3 (most) to 0 (none) (-0.1)"),
    "generalized_alpha": ("rho", 0.0, 1.0, "factor by which the highest frequencies shrink in a step, 0 to 1 (0.8)"),
}
KRYLOV_OPTIONS = {  # of solver = "krylov"
    "preconditioner": "'none', 'kept' (the iteration matrix factored last) or 'block' (its diagonal blocks)",
    "block_size": "coordinates in a block of preconditioner 'block' (6)",
    "iom": "vectors that a new one is made orthogonal to, 0 for all (0)",
}
FORCING = "error of the solutions of solver 'krylov', as a part of what ends the outer iteration (0.05)"
GROUPED = "differences of solver 'newton_fd': bodies that share no element are moved together (True)"
KEEP_JACOBIAN = "the part of the iteration matrix that does not depend on the step outlives its changes (True)"
SWITCHES = ("project", "project_error", "grouped", "keep_jacobian", "curvature")
CHOICES = {
    "formalism": ("residual", "explicit"),
    "invariants": ("both", "positions"),
    "redundant": ("eliminate", "regularize"),
}
PRECONDITIONERS = ("none", "block", "kept")
INTEGRATOR_OPTIONS = ("variant", "max_order", "alpha", "rho", "forcing", "keep_jacobian")
COMMON_OPTIONS = {
    "position_tolerance": "tolerance of position corrections, m or rad (1e-12)",
    "rank_tolerance": "relative tolerance below which a constraint row counts as dependent (1e-9)",
}
DEFAULT = ("partitioning", AUTO)


@dataclass(frozen=True, init=False)
class Method:
    """How a model is integrated: ``Method("partitioning", "auto", linear="topology", **options)``.

    The same as text: ``Method.parse("partitioning/dopri5")``; parts left out take their defaults, "auto" takes all.
    ``options`` holds what differs from the defaults, by the names of the core's FormulationOptions. ``integrator`` may
    be a class with the protocol `linkwork.embed.OdeCode`; it is kept as ``code``.
    """

    formulation: str
    integrator: str
    solver: str | None
    linear: str
    options: tuple[tuple[str, Any], ...]
    code: Any

    def __init__(
        self,
        formulation: str = DEFAULT[0],
        integrator: Any = DEFAULT[1],
        solver: str | None = None,
        linear: str = "topology",
        **options: Any,
    ):
        if formulation not in FORMULATIONS:
            hint = (
                " (it is an integrator: write partitioning/" + formulation + ")" if formulation in INTEGRATORS else ""
            )
            cure = suggest(formulation, FORMULATIONS, "formulations")
            raise MethodError(f"unknown formulation '{formulation}'{hint}; {cure}")
        code, integrator = _read_code(formulation, integrator)
        if integrator == AUTO and AUTO not in LEGAL[formulation]:
            integrator = LEGAL[formulation][0]
        if code is None and integrator not in INTEGRATORS:
            raise MethodError(f"unknown integrator '{integrator}'; {suggest(integrator, INTEGRATORS, 'integrators')}")
        if code is None and integrator not in LEGAL[formulation]:
            partners = ", ".join(LEGAL[formulation])
            why = REFUSED.get((formulation, integrator))
            raise MethodError(
                f"'{formulation}' cannot be integrated by '{integrator}'{f': {why}' if why else ''}; "
                f"its integrators: {partners}"
            )
        solvers = list_solvers(formulation, integrator)
        if solver is not None and solver not in solvers:
            why = "is explicit" if integrator in EXPLICIT + HALF_EXPLICIT else "brings its own"
            where = f" on '{formulation}'" if solver in SOLVERS.get(integrator, ()) else ""
            reason = f" ({REFUSED[formulation, solver]})" if (formulation, solver) in REFUSED else ""
            cure = f"its solvers{where}: {', '.join(solvers)}" if solvers else f"it {why}; leave the solver out"
            raise MethodError(f"integrator '{integrator}' has no solver '{solver}'{where}; {cure}{reason}")
        if linear not in LINEAR:
            raise MethodError(f"unknown linear='{linear}'; {suggest(linear, LINEAR, 'linear solvers')}")
        if "cut" in options:
            cut = options["cut"]
            options["cut"] = (cut,) if isinstance(cut, str) else tuple(cut) if isinstance(cut, (list, set)) else cut
        _check_options(formulation, integrator, solver, options)
        if linear != "topology":
            options["linear"] = linear
        values = (formulation, integrator, solver, linear, tuple(sorted(options.items())), code)
        names = ("formulation", "integrator", "solver", "linear", "options", "code")
        for key, value in zip(names, values, strict=True):
            object.__setattr__(self, key, value)

    @classmethod
    def parse(cls, text: Any) -> Method:
        """A method from "formulation/integrator/solver", "auto", a Method, a mapping of its keywords, or a pair."""
        if isinstance(text, Method):
            return text
        if isinstance(text, (tuple, list)) and 2 <= len(text) <= 3:
            return cls(*text)
        if isinstance(text, Mapping):
            return cls(**text)
        if not isinstance(text, str) or not text.strip():
            raise MethodError(f"method {text!r} is not a text such as 'partitioning/dopri5'")
        parts = [part.strip() for part in text.strip().split("/")]
        if len(parts) > 3:
            raise MethodError(f"method '{text}' has {len(parts)} parts; write formulation/integrator/solver")
        formulation = parts[0] if parts[0] not in ("auto", "") else DEFAULT[0]
        integrator = parts[1] if len(parts) > 1 and parts[1] else DEFAULT[1]
        return cls(formulation, integrator, parts[2] if len(parts) > 2 and parts[2] else None)

    @property
    def formulation_options(self) -> dict[str, Any]:
        """What the formulation is built with."""
        own = {key: value for key, value in self.options if key not in (*INTEGRATOR_OPTIONS, "cut")}
        if self.integrator == "rodas":  # its order rests on the exact Jacobian, descriptor form leaves small terms out
            own["dense_limit"] = 1_000_000
        if self.integrator in HALF_EXPLICIT:
            own["half_explicit"] = True
        return {"linear": self.linear, **({"solver": self.solver} if self.solver else {}), **own}

    @property
    def cut(self) -> tuple[str, ...]:
        """The joints that the user wants to close loops, of recursive."""
        return tuple(dict(self.options).get("cut", ()))

    @property
    def integrator_options(self) -> dict[str, Any]:
        """What the integrator is built with."""
        own = {key: value for key, value in self.options if key in INTEGRATOR_OPTIONS}
        return {**({"solver": self.solver} if self.solver and self.integrator in LOW_ORDER else {}), **own}

    def __str__(self) -> str:
        return "/".join(part for part in (self.formulation, self.integrator, self.solver) if part)


def list_solvers(formulation: str, integrator: str) -> tuple[str, ...]:
    """The solvers of a legal pair; none where the equations are not solved for by iteration, or by the code itself."""
    return tuple(s for s in SOLVERS.get(integrator, ()) if (formulation, s) not in REFUSED)


def _check_options(formulation: str, integrator: str, solver: str | None, options: Mapping[str, Any]) -> None:
    """Options of the formulation are positive numbers; those of integrator and solver are of their own kinds."""
    variants, highest = VARIANTS.get(integrator, ()), HIGHEST_ORDER.get(integrator, 0)
    damping = DAMPING.get(integrator)
    own = {**({"variant": ""} if variants else {}), **({"max_order": ""} if highest else {})}
    own |= {damping[0]: damping[3]} if damping else {}
    own |= KRYLOV_OPTIONS if solver == "krylov" else {}
    own |= {"forcing": FORCING} if solver == "krylov" and integrator in LOW_ORDER else {}
    own |= {"grouped": GROUPED} if solver == "newton_fd" else {}
    own |= {"keep_jacobian": KEEP_JACOBIAN} if integrator in KEEPING else {}
    known = {**COMMON_OPTIONS, **OPTIONS.get(formulation, {}), **own}
    for key, value in options.items():
        if key not in known:
            raise MethodError(f"'{formulation}/{integrator}' has no option '{key}'; {suggest(key, known, 'options')}")
        if key == "variant":
            if value not in variants:
                raise MethodError(f"'{integrator}' has no variant {value!r}; its variants: {', '.join(variants)}")
        elif key in SWITCHES:
            if not isinstance(value, bool):
                raise MethodError(f"{key}={value!r} must be True or False")
        elif key in CHOICES:
            if value not in CHOICES[key]:
                raise MethodError(f"there is no {key} {value!r}; take {' or '.join(CHOICES[key])}")
        elif key == "cut":
            if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
                raise MethodError(f"cut={value!r} must be the names of joints")
        elif key == "dense_limit":
            if not isinstance(value, int) or value < 0:
                raise MethodError(f"dense_limit={value!r} must be a whole number of degrees of freedom")
        elif key == "max_order":
            if not isinstance(value, int) or not 1 <= value <= highest:
                raise MethodError(f"max_order={value!r} of '{integrator}' must be an integer from 1 to {highest}")
        elif key == "preconditioner":
            if value not in PRECONDITIONERS:
                raise MethodError(f"there is no preconditioner {value!r}; take {', '.join(PRECONDITIONERS)}")
        elif key in ("iom", "block_size"):
            if not isinstance(value, int) or value < (key == "block_size"):
                raise MethodError(f"{key}={value!r} must be a whole number of vectors or coordinates")
        elif damping and key == damping[0]:
            if not isinstance(value, (int, float)) or not damping[1] <= value <= damping[2]:
                raise MethodError(f"{key}={value!r} of '{integrator}' must be {damping[3]}")
            if formulation == "index3" and value == damping[2]:
                why = REFUSED["index3", "trapezoidal"]
                raise MethodError(f"'index3/{integrator}' needs damping, {key} below {value:g}: {why}")
        elif not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise MethodError(f"option {key}={value!r} must be a positive number")


def _read_code(formulation: str, integrator: Any) -> tuple[Any, str]:
    """(code, name) of an integrator: (None, name) of a known one, or a class, an object, a function that makes one."""
    if isinstance(integrator, str):
        return None, integrator
    name = getattr(integrator, "__name__", type(integrator).__name__)
    missing = [member for member in ("start", "step", "interpolate") if not hasattr(integrator, member)]
    makes = callable(integrator) and not isinstance(integrator, type)
    if missing and not (makes and len(missing) == 3):
        raise MethodError(
            f"integrator {name} has no {', '.join(missing)}; give a name, or a class with the protocol "
            "linkwork.embed.OdeCode (docs/embedding.md)"
        )
    if formulation in MULTIPLIERS and not hasattr(integrator, "mass"):
        raise MethodError(
            f"'{formulation}' cannot be integrated by {name}, which has no member 'mass' for B of B w' = f; "
            f"use {' or '.join(STATE_SPACE)}, or a code for such equations (docs/embedding.md)"
        )
    if formulation not in STATE_SPACE + MULTIPLIERS:
        raise MethodError(f"'{formulation}' cannot be integrated by embedded codes; use {' or '.join(STATE_SPACE)}")
    return integrator, name


def read_method(method: Any) -> Method:
    """What the user gave as a method, as a Method."""
    return Method.parse(method)


def method_table() -> list[dict[str, Any]]:
    """Every legal pair, for ``linkwork methods`` and the docs."""
    return [
        {
            "method": f"{formulation}/{integrator}",
            "formulation": formulation,
            "integrator": integrator,
            "solvers": list(list_solvers(formulation, integrator)),
            "default": (formulation, integrator) == DEFAULT,
            "about": f"{FORMULATIONS[formulation]}; {INTEGRATORS[integrator]}",
        }
        for formulation, integrators in LEGAL.items()
        for integrator in integrators
    ]
