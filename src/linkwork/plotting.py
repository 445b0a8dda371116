"""Plots of channels over time, with matplotlib when it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .status import MissingExtra

if TYPE_CHECKING:
    from .results import Result

UNITS = {
    "position": "m", "velocity": "m/s", "acceleration": "m/s²", "angular_velocity": "rad/s",
    "angular_acceleration": "rad/s²", "angle": "rad", "length": "m", "kinetic": "J", "potential": "J", "total": "J",
    "linear": "N s", "angular": "N m s", "torque": "N m", "force": "N",
}  # fmt: skip


def plot_channels(
    result: Result,
    channels: Sequence[str],
    *,
    title: str | None = None,
    show: bool = False,
    path: str | Path | None = None,
) -> Any:
    """One panel per channel over time; vectors give one line per component. Returns the matplotlib figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "plotting") from None
    from .results import name_components

    if not channels:
        raise ValueError("plot needs at least one channel, such as 'arm.position.y'")
    values = [np.asarray(result.channel(text)).reshape(result.count, -1) for text in channels]
    figure, panels = plt.subplots(len(values), sharex=True, squeeze=False, figsize=(8, 1 + 2.4 * len(values)))
    for panel, text, value in zip(panels[:, 0], channels, values, strict=True):
        for k, component in enumerate(name_components(value.shape[1])):
            panel.plot(result.t, value[:, k], label=component if value.shape[1] > 1 else None)
        unit = next((UNITS[word] for word in text.split(".")[1:] if word in UNITS), "")
        panel.set_ylabel(f"{text} [{unit}]" if unit else text)
        panel.grid(alpha=0.3)
        if value.shape[1] > 1:
            panel.legend(loc="upper right")
    panels[-1, 0].set_xlabel("time [s]")
    figure.suptitle(title if title is not None else result.method)
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    if show:
        plt.show()
    return figure
