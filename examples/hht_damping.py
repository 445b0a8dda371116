"""Numerical damping: a stiff oscillation under several alpha, and the flexible pendulum of the TLISMNI paper.

A steel bar, 0.4 m long and 40 mm square, is let go from the horizontal: it falls as a pendulum and trembles at 934 Hz
by half a micrometre. Here it is a chain of rigid segments on bending springs. What is drawn is the deflection of its
middle from the chord; explicit methods follow every tremble, HHT wipes it out and leaves the motion.
"""

import numpy as np

import linkwork as lw


def build_bar(segments: int = 8, length: float = 0.4, side: float = 0.04) -> lw.Model:
    """The bar of steel as planar segments; springs of stiffness E I / length of a segment bend between them."""
    piece, stiffness = length / segments, 2e11 * side**4 / 12 * segments / length
    mass = 7200 * side * side * piece
    model = lw.Model("bar", gravity=(0, -9.81, 0))
    previous = model.ground
    for k in range(segments):
        body = model.add(lw.PlanarBody(f"s{k}", mass, mass * piece * piece / 12, position=((k + 0.5) * piece, 0)))
        model.add(lw.Revolute(f"j{k}", previous, body, point=(k * piece, 0, 0), axis=(0, 0, 1)))
        if k > 0:
            model.add(lw.RotationalSpring(f"bend{k}", on=f"j{k}", stiffness=stiffness))
        previous = body
    return model


def calc_deflection(result: lw.Result, segments: int = 8, length: float = 0.4) -> np.ndarray:
    """Distance of the middle from the straight line between pin and tip [m], in the direction the bar turns to."""
    half = 0.5 * length / segments
    tip = result[f"s{segments - 1}"].point((half, 0, 0))
    middle = result[f"s{segments // 2 - 1}"].point((half, 0, 0))
    return (tip[:, 0] * middle[:, 1] - tip[:, 1] * middle[:, 0]) / np.hypot(tip[:, 0], tip[:, 1])


def build_oscillator(frequency: float) -> lw.Model:
    """A wheel on a spring, turned by 0.1 rad, without any damping of its own."""
    model = lw.Model("oscillator", gravity=(0, 0, 0))
    wheel = model.add(lw.PlanarBody("wheel", mass=1, inertia=1, angle=0.1))
    model.add(lw.Revolute("pin", model.ground, wheel, point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.RotationalSpring("coil", on="pin", stiffness=(2 * np.pi * frequency) ** 2, free_angle=-0.1))
    return model


def find_decays(alphas: tuple[float, ...]) -> dict[float, tuple[np.ndarray, np.ndarray]]:
    """Energy over 100 periods in steps of a tenth of a period, relative to that of the start."""
    curves = {}
    for alpha in alphas:
        method = lw.Method("partitioning", "hht", "krylov", alpha=alpha)
        run = build_oscillator(1000.0).simulate(0.1, method=method, step=1e-4)
        curves[alpha] = (run.t, run.energy.total / run.energy.total[0])
    return curves


def find_deflections(variants: tuple[tuple[str, float], ...], t_end: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Deflection of the bar by dop853, and by HHT in steps of a quarter of the period of its tremble.

    variants: the formulation, and alpha. On index3 the joints between the segments are constraints of the formula.
    """
    bar = build_bar()
    exact = bar.simulate(t_end, method="partitioning/dop853", rtol=1e-10, atol=1e-12)
    curves = {"dop853": (exact.t, calc_deflection(exact))}
    print(f"partitioning/dop853: {exact.statistics.steps} steps for {t_end} s")
    for formulation, alpha in variants:
        solver = "krylov" if formulation == "partitioning" else "newton_fd"  # neither asks a force for derivatives
        method = lw.Method(formulation, "hht", solver, alpha=alpha)
        run = bar.simulate(t_end, method=method, step=2.5e-4, rtol=1e-10, atol=1e-10)
        tremble = calc_deflection(run)
        late = run.t > 0.8 * t_end
        lost = np.abs(run["s7"].position[-1] - exact["s7"].position[-1]).max()
        print(
            f"{formulation}, alpha = {alpha:5.2f}: the tremble is {1e9 * np.ptp(tremble[late]):6.1f} nm wide "
            f"at the end, the bar is {1e6 * lost:.2g} um away"
        )
        curves[f"{formulation}/hht, alpha = {alpha:.2g}"] = (run.t, tremble)
    return curves


def draw(decays: dict, deflections: dict, path: str) -> None:
    """Two panels, where matplotlib is installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(11, 4.2))
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for alpha, (t, energy) in decays.items():
        left.semilogy(1e3 * t, np.maximum(energy, 1e-16), label=f"alpha = {alpha:.2g}")
    left.set(
        xlabel="time [ms]",
        ylabel="energy / energy at the start",
        title="oscillation of 1 kHz, steps of 0.1 ms",
        ylim=(3e-3, 2),
    )
    for name, (t, deflection) in deflections.items():
        exact = name == "dop853"
        style = {"linewidth": 0.5, "color": "0.6"} if exact else {"linewidth": 1.3}
        if name.startswith("index3"):
            style |= {"linestyle": "--", "color": "k"}
        right.plot(1e3 * t, 1e6 * deflection, label=name, **style)
    right.set(xlabel="time [ms]", ylabel="deflection of the middle [um]", title="falling bar, steps of 0.25 ms")
    for panel in (left, right):
        panel.legend(fontsize=8, loc="lower left")
        panel.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    decays = find_decays((0.0, -0.05, -0.1, -0.2, -1 / 3))
    for alpha, (_, energy) in decays.items():
        print(f"alpha = {alpha:5.2f}: {energy[-1]:.2g} of the energy is left after 100 periods")
    variants = (("partitioning", -0.05), ("partitioning", -1 / 3), ("index3", -1 / 3))
    draw(decays, find_deflections(variants, 0.04), "hht_damping.png")
