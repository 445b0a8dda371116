"""Benchmarks: each module prints a table of measured figures beside the papers' own, and returns them.

A module has ``NAME``, ``DESCRIPTION`` and ``run(json: bool) -> dict``. All ratios are formed within one run.
"""
