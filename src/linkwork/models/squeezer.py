"""Andrews' squeezing mechanism, the seven-body mechanism (IFToMM A03, Schiehlen 1990, serban paper)."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np

from ..bodies import Body, Frame, PlanarBody
from ..forces import PointTorque, Spring
from ..joints import Revolute
from ..model import Model
from .shapes import add_plane_body, calc_direction, calc_normal, check_choice, check_form

# Joint numberings for the band solver [serban, table 1]. The pictures of the paper's two numberings are lost; these are
# derived: "good" is a bandwidth minimum of the joint graph (half bandwidth 2 blocks), "bad" scatters neighbours (8
# blocks).
NUMBERINGS = {
    "good": ("O", "F", "E1", "B", "E2", "G", "E3", "A1", "H", "A2"),
    "bad": ("F", "B", "G", "A2", "E2", "O", "H", "A1", "E1", "E3"),
}


def andrews(form: str = "planar", numbering: str = "good", torque: float | None = None) -> Model:
    """Build Andrews' squeezing mechanism: seven bodies, ten revolutes, one freedom, driven by a motor from rest.

    Joint coordinates are the classical angles: ``O`` beta, ``F`` Theta, ``B`` gamma, ``G`` Phi, ``A1`` delta, ``H``
    Omega, ``A2`` epsilon. Planar: 21 coordinates, 20 rows. Spatial: 50 rows of rank 41. ``numbering`` is the order of
    the joints ("good" or "bad" for the bandwidth of the reduced matrix), ``torque`` [N m] of the motor on K1 (0.033 by
    default). Figures: Test Set for IVP Solvers (Mazzia and Magherini); the starting angles are its consistent ones.
    """
    check_form("andrews", form)
    check_choice("andrews", "numbering", numbering, tuple(NUMBERINGS))
    data = json.loads(files(__package__).joinpath("data/andrews.json").read_text(encoding="utf-8"))
    p, start = data["parameters"], data["start"]
    model = Model("andrews", gravity=(0.0, 0.0, 0.0))
    A, B, C = (np.array(p[name]) for name in ("A", "B", "C"))

    # absolute body angles; each body's frame has its origin in the centre of mass and its x axis along the angle
    turn = {
        "K1": start["beta"],
        "K2": start["beta"] + start["Theta"],
        "K3": start["gamma"],
        "K4": start["Phi"] + start["delta"],
        "K5": start["delta"],
        "K6": start["Omega"] + start["epsilon"],
        "K7": start["epsilon"],
    }
    # centre of mass and further points of each body from its first pin, in its own axes (x along the angle, y ahead)
    first_pin, centre, marks = _calc_geometry(p)
    F = _calc_world(np.zeros(2), turn["K1"], (p["rr"], 0.0))
    G, H = _calc_world(A, turn["K5"], (p["zt"], 0.0)), _calc_world(A, turn["K7"], (0.0, -p["u"]))
    pins = {"O": np.zeros(2), "F": F, "B": B, "G": G, "A": A, "H": H}

    bodies = {}
    for number, name in enumerate(turn, start=1):
        bodies[name] = add_plane_body(
            model, form, name, p[f"m{number}"], p[f"i{number}"],
            _calc_world(pins[first_pin[name]], turn[name], centre[name]), turn[name],
        )  # fmt: skip

    joints = _build_joint_frames(model, bodies, centre, marks, A, B)
    for name in NUMBERINGS[numbering]:
        model.add(Revolute(name, *joints[name]))

    D = _calc_world(B, turn["K3"], marks["K3"]["D"])
    model.add(
        Spring("spring", bodies["K3"], model.ground, point_a=(D[0], D[1], 0.0), point_b=(C[0], C[1], 0.0),
               stiffness=p["c0"], free_length=p["l0"])
    )  # fmt: skip
    model.add(PointTorque("motor", bodies["K1"], torque=(0.0, 0.0, p["mom"] if torque is None else torque)))
    return model


def _build_joint_frames(
    model: Model, bodies: dict[str, Body | PlanarBody], centre: dict, marks: dict, A: np.ndarray, B: np.ndarray
) -> dict[str, tuple[Frame, Frame]]:
    """Both frames of each revolute; the turn from the first to the second is the classical angle."""

    def fix(name: str, mark: str) -> Frame:
        """Frame on body ``name`` in its marked point, parallel to the body."""
        x, y = np.subtract(marks[name][mark], centre[name])
        return Frame(bodies[name], position=(float(x), float(y), 0.0))

    ground_A = Frame(model.ground, position=(A[0], A[1], 0.0))
    return {
        "O": (Frame(model.ground), fix("K1", "O")),
        "F": (fix("K1", "F"), fix("K2", "F")),
        "B": (Frame(model.ground, position=(B[0], B[1], 0.0)), fix("K3", "B")),
        "E1": (fix("K2", "E"), fix("K3", "E")),
        "E2": (fix("K3", "E"), fix("K4", "E")),
        "E3": (fix("K4", "E"), fix("K6", "E")),
        "G": (fix("K5", "G"), fix("K4", "G")),
        "A1": (ground_A, fix("K5", "A")),
        "H": (fix("K7", "H"), fix("K6", "H")),
        "A2": (ground_A, fix("K7", "A")),
    }


def _calc_world(origin: np.ndarray, angle: float, s: tuple[float, float]) -> np.ndarray:
    """Ground position of a point given from ``origin`` in axes turned by ``angle``."""
    return origin + s[0] * calc_direction(angle) + s[1] * calc_normal(angle)


def _calc_geometry(p: dict) -> tuple[dict, dict, dict]:
    """First pin, centre of mass and marked points of the seven bodies, in body axes from the first pin [Hairer and
    Wanner]."""
    first_pin = {"K1": "O", "K2": "F", "K3": "B", "K4": "G", "K5": "A", "K6": "H", "K7": "A"}
    centre = {
        "K1": (p["ra"], 0.0),
        "K2": (-p["da"], 0.0),
        "K3": (-p["sb"], -p["sa"]),
        "K4": (0.0, -(p["e"] - p["ea"])),
        "K5": (p["ta"], p["tb"]),
        "K6": (p["zf"] - p["fa"], 0.0),
        "K7": (-p["ub"], -p["ua"]),
    }
    marks = {
        "K1": {"O": (0.0, 0.0), "F": (p["rr"], 0.0)},
        "K2": {"F": (0.0, 0.0), "E": (-p["d"], 0.0)},
        "K3": {"B": (0.0, 0.0), "E": (0.0, -p["ss"]), "D": (p["sd"], -p["sc"])},
        "K4": {"G": (0.0, 0.0), "E": (0.0, -p["e"])},
        "K5": {"A": (0.0, 0.0), "G": (p["zt"], 0.0)},
        "K6": {"H": (0.0, 0.0), "E": (p["zf"], 0.0)},
        "K7": {"A": (0.0, 0.0), "H": (0.0, -p["u"])},
    }
    return first_pin, centre, marks
