"""Drift: how far a four-bar linkage comes apart in half a minute, formulation by formulation.

index1 asks for accelerations only, and the errors of two integrations pile up; baumgarte pulls the violations back;
index2 asks for velocities, and with project=False nothing is repaired; ggl asks for positions and velocities at once.
"""

import numpy as np

import linkwork as lw

METHODS = {
    "index1/dopri5": lw.Method("index1", "dopri5"),
    "baumgarte/dopri5": lw.Method("baumgarte", "dopri5"),
    "index2/bdf, not projected": lw.Method("index2", "bdf", project=False),
    "index2/radau5, not projected": lw.Method("index2", "radau5", project=False),
    "ggl/bdf": lw.Method("ggl", "bdf"),
    "index2/bdf": lw.Method("index2", "bdf"),
}


def find_violations(t_end: float, tolerance: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Largest violation of a joint so far [m or rad] over time."""
    curves = {}
    for name, method in METHODS.items():
        result = lw.models.four_bar().simulate(t_end, method=method, rtol=tolerance, atol=tolerance)
        worst = np.max([np.abs(np.reshape(result[joint].violation, (len(result.t), -1))).max(axis=1)
                        for joint in result.joints], axis=0)  # fmt: skip
        curves[name] = (result.t, np.maximum.accumulate(worst))
        s = result.statistics
        print(f"{name:30s} {s.steps:5d} steps, {s.evaluations:6d} evaluations, apart by {worst.max():.1e}")
    return curves


def draw(curves: dict, tolerance: float, path: str) -> None:
    """Violations over time, where matplotlib is installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(8, 4.5))
    FigureCanvasAgg(figure)
    panel = figure.subplots()
    for name, (t, worst) in curves.items():
        panel.loglog(t[1:], np.maximum(worst[1:], 1e-17), label=name)
    panel.axhline(tolerance, color="0.5", linestyle=":", label="tolerance")
    panel.set(xlabel="time [s]", ylabel="largest violation of a joint so far [m]", xlim=(0.1, None), ylim=(1e-17, 1))
    panel.legend(fontsize=8, ncol=2, loc="center left", bbox_to_anchor=(0.0, 0.3))
    panel.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(find_violations(30.0, 1e-5), 1e-5, "drift_of_formulations.png")
