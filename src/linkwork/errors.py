"""The errors of linkwork: one line that says what happened, to which element, with which value, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class LinkworkError(Exception):
    """Base of every error raised by linkwork itself."""


class ModelError(LinkworkError, ValueError):
    """The description of a model is wrong; ``problems`` lists everything found, one line each."""

    def __init__(self, problems: str | Sequence[str], model: str | None = None):
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        self.model = model
        super().__init__(self.problems, model)

    def __str__(self) -> str:
        start = f"model '{self.model}': " if self.model is not None else ""
        if len(self.problems) == 1:
            return start + self.problems[0]
        return f"{start}{len(self.problems)} problems\n" + "\n".join(f"  {line}" for line in self.problems)


class AssemblyError(ModelError):
    """The joints cannot be closed; ``gaps`` maps each open joint to the residual left in it."""

    def __init__(self, problems: str | Sequence[str], model: str | None = None, gaps: dict[str, float] | None = None):
        super().__init__(problems, model)
        self.gaps = dict(gaps or {})

    def __reduce__(self) -> tuple:
        return type(self), (self.problems, self.model, self.gaps)


class MethodError(LinkworkError, ValueError):
    """A method that does not exist, or a pairing that is not legal."""


class FunctionError(LinkworkError, ValueError):
    """An expression, a table or a callable that cannot serve as a function."""


class SimulationError(LinkworkError, RuntimeError):
    """A run that failed while ``raise_on_failure=True``; ``result`` holds the part computed."""

    def __init__(self, message: str, result: object = None):
        super().__init__(message, result)
        self.result = result

    def __str__(self) -> str:
        return str(self.args[0])


def suggest(word: str, known: Iterable[str], noun: str = "names") -> str:
    """The cure for an unknown word: the nearest known one, or the list of them."""
    names = sorted(set(known))
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{near[0]}'?"
    if not names:
        return f"there are no {noun} yet"
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"known {noun}: {listed}"
