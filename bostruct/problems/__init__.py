"""Benchmark problems: each has a domain, an objective, its known optimum and its source."""

from bostruct.problems.registry import load, names

__all__ = ["load", "names"]
