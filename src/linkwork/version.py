"""The version of the installed package, written into every result."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("linkwork")
except PackageNotFoundError:  # run from a source tree that is not installed
    VERSION = "unknown"
