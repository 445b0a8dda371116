"""Progress bar of long runs: shown when standard error is a terminal, or when asked for."""

from __future__ import annotations

import sys
from typing import Any

from .status import MissingExtra


class Progress:
    """A bar over [t_start, t_end]; `update(t)` moves it. Does nothing when it is not shown."""

    def __init__(self, t_start: float, t_end: float, title: str, show: bool | None) -> None:
        self._t = t_start
        self._bar: Any = None
        wanted = sys.stderr.isatty() if show is None else show
        if not wanted:
            return
        try:
            from tqdm import tqdm
        except ImportError:
            if show:
                raise MissingExtra("tqdm", "cli", "the progress bar") from None
            return
        bar = "{desc}: {percentage:3.0f}%|{bar}| t = {n:.4g}/{total:.4g} s [{elapsed}<{remaining}]"
        self._bar = tqdm(total=t_end - t_start, desc=title, bar_format=bar, file=sys.stderr, leave=False)

    def update(self, t: float) -> None:
        if self._bar is not None:
            self._bar.update(max(t - self._t, 0.0))
            self._t = max(t, self._t)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
