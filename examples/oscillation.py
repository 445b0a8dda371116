"""Highly oscillatory motion: a pendulum hung on a mass that a stiff spring holds, integrated by every kind of method.

The spring trembles at a frequency nobody is interested in, by an amplitude that falls as it becomes stiffer. Explicit
methods follow every tremble; implicit ones may step over it, or not, depending on formula and formulation.
"""

import math

import linkwork as lw

STIFFNESSES = (1e2, 1e4, 1e6, 1e8)
TOLERANCE, T_END = 1e-3, 2.0
METHODS = {
    "partitioning/dopri5": lw.Method("partitioning", "dopri5"),
    "partitioning/bdf": lw.Method("partitioning", "bdf"),
    "ggl/bdf": lw.Method("ggl", "bdf"),
    "projected_invariants/bdf": lw.Method("projected_invariants", "bdf"),
    "the same with curvature": lw.Method("projected_invariants", "bdf", curvature=True),
    "odae/bdf": lw.Method("odae", "bdf"),
    "partitioning/radau5": lw.Method("partitioning", "radau5"),
    "ggl/radau5": lw.Method("ggl", "radau5"),
    "projected_invariants/radau5": lw.Method("projected_invariants", "radau5"),
    "index3/hht, alpha = -0.3": lw.Method("index3", "hht", alpha=-0.3),
}


def build_spring_pendulum(stiffness: float) -> lw.Model:
    """A mass on a spring of one metre, a pendulum of one metre below it, let go at one radian."""
    bob = (math.sin(1.0), -1 - math.cos(1.0), 0)
    model = lw.Model("pendulum on a spring", gravity=(0, -9.81, 0))
    slider = model.add(lw.PointMass("slider", 1.0, position=(0, -1, 0)))
    model.add(lw.PointMass("bob", 1.0, position=bob))
    model.add(lw.Distance("rod", slider, "bob", point_a=(0, -1, 0), point_b=bob))
    model.add(lw.Spring("spring", model.ground, slider, point_a=(0, 0, 0), point_b=(0, -1, 0), stiffness=stiffness))
    return model


def count_steps() -> dict[str, list[tuple[int, float]]]:
    """Steps and the error of the bob at the end [m], per method and stiffness."""
    counts: dict[str, list[tuple[int, float]]] = {name: [] for name in METHODS}
    for stiffness in STIFFNESSES:
        model = build_spring_pendulum(stiffness)
        exact = model.simulate(T_END, method="partitioning/radau5", rtol=1e-7, atol=1e-7)
        for name, method in METHODS.items():
            if name.endswith("dopri5") and stiffness > 1e6:
                continue  # ten thousand steps and more
            run = model.simulate(T_END, method=method, rtol=TOLERANCE, atol=TOLERANCE)
            error = abs(run["bob"].position[-1] - exact["bob"].position[-1]).max() if run.status.success else math.inf
            counts[name].append((run.statistics.steps + run.statistics.rejected, error))
    return counts


def draw(counts: dict[str, list[tuple[int, float]]], path: str) -> None:
    """Steps against stiffness, where matplotlib is installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(8, 4.8))
    FigureCanvasAgg(figure)
    panel = figure.subplots()
    for (name, found), marker in zip(counts.items(), "ovs^D*xP<+", strict=True):
        reached = [(k, steps) for k, (steps, error) in zip(STIFFNESSES, found, strict=False) if math.isfinite(error)]
        panel.loglog(*zip(*reached, strict=True), marker=marker, label=name, linewidth=1)
    panel.set(xlabel="stiffness of the spring [N/m]", ylabel="steps, rejected ones included")
    panel.set_title(f"pendulum on a spring, {T_END:g} s at a tolerance of {TOLERANCE:g}")
    panel.legend(fontsize=7)
    panel.grid(alpha=0.3, which="both")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    counts = count_steps()
    print(f"{'stiffness [N/m]':30s}" + "".join(f"{stiffness:>18.0e}" for stiffness in STIFFNESSES))
    for name, found in counts.items():
        print(f"{name:30s}" + "".join(f"{steps:8d} ({error:.0e})" for steps, error in found))
    draw(counts, "oscillation.png")
