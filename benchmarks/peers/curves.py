"""The curves of the figures: mean best values against trials and against seconds, and gaps averaged over problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.peers.run import N_INITIAL
from benchmarks.peers.verdicts import BASELINE, LEAST_SEEDS, Found, Index, find_best_known

N_POINTS = 20  # of a curve
PRECISION = 1e-5  # of the seconds in the file


class Curve(NamedTuple):
    """Mean best values of a search, which are infinite before all its runs have one.

    x: trials, or CPU seconds (k,).
    mean: over the seeds (k,).
    error: standard error of the mean gap to the lowest value known of each instance, 0 for one seed (k,).
    """

    x: np.ndarray
    mean: np.ndarray
    error: np.ndarray


def read_best(found: Found, at: np.ndarray, positions: Sequence[float]) -> np.ndarray:
    """Return the best value of a run at some positions (k,); infinite before its first value.

    found: the run.
    at: positions that are asked for (k,).
    positions: of its improvements, one each.
    """
    values = np.array([np.inf, *(value for _, value in found["improvements"])])
    return values[np.searchsorted(np.asarray(positions, dtype=float), at, side="right")]


def list_seconds(found: Found) -> list[float]:
    """Return the CPU seconds that a run had spent on suggestions at each improvement, from the initial points on.

    found: the run; where it has no seconds of its improvements, each suggestion counts as its mean.
    """
    if "improvement_seconds" in found:
        return found["improvement_seconds"]
    return [max(n - N_INITIAL, 0) * found["seconds"] for n, _ in found["improvements"]]


def curve_by_trials(runs: Mapping[int, Found], known: Mapping[int, float]) -> Curve:
    """Return the curve of a search from its initial points to the last trial that all its runs have.

    runs: by seed, at least one.
    known: the lowest value known, by seed.
    """
    last = max(min(found["evaluated"] for found in runs.values()), N_INITIAL + 1)
    at = np.unique(np.round(np.geomspace(N_INITIAL, last, N_POINTS)))
    return _average(at, runs, known, lambda found: [n for n, _ in found["improvements"]])


def curve_by_seconds(runs: Mapping[int, Found], known: Mapping[int, float]) -> Curve:
    """Return the curve of a search from its first suggestion after the initial points to the end of its longest run.

    runs: by seed, at least one.
    known: the lowest value known, by seed.
    """
    first = max(float(np.mean([found["seconds"] for found in runs.values()])), PRECISION)
    ends = [found["seconds"] * (found["evaluated"] - N_INITIAL) for found in runs.values()]
    return _average(np.geomspace(first, max(*ends, 2.0 * first), N_POINTS), runs, known, list_seconds)


def _average(
    at: np.ndarray, runs: Mapping[int, Found], known: Mapping[int, float], place: Callable[[Found], list[float]]
) -> Curve:
    values = np.array([read_best(found, at, place(found)) for found in runs.values()])
    gaps = values - np.array([[known[seed]] for seed in runs])
    with np.errstate(invalid="ignore"):  # infinities have no spread
        error = gaps.std(axis=0, ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else np.zeros(len(at))
    return Curve(at, values.mean(axis=0), np.where(np.isfinite(error), error, 0.0))


def find_gaps(index: Index, problem: str, search: str, at: np.ndarray) -> np.ndarray | None:
    """Return what a search has still to gain on a problem, as a share of what there was after the initial points (k,).

    The gap of a run is its best value minus the lowest value known of the same instance; gaps are averaged over seeds
    and divided by the average of random search after the initial points. None where fewer than `LEAST_SEEDS`
    seeds have the search and random search to the end.

    index: of the runs.
    problem, search: names.
    at: trials (k,).
    """
    own, base = (index.get((problem, name), {}) for name in (search, BASELINE))
    known = find_best_known(index, problem)
    seeds = [seed for seed in own.keys() & base.keys() if own[seed]["evaluated"] >= at[-1]]
    if len(seeds) < LEAST_SEEDS:
        return None
    start = np.array([float(N_INITIAL)])

    def gap(found: Found, seed: int, where: np.ndarray) -> np.ndarray:
        return read_best(found, where, [n for n, _ in found["improvements"]]) - known[seed]

    whole = np.mean([gap(base[seed], seed, start) for seed in seeds])
    return np.mean([gap(own[seed], seed, at) for seed in seeds], axis=0) / whole if whole > 0.0 else None


def average_gaps(index: Index, problems: Sequence[str], search: str, at: np.ndarray) -> np.ndarray | None:
    """Return the mean of a search's gaps over problems (k,), None where a problem has too few seeds.

    index: of the runs.
    problems: names, at least one.
    search: its name.
    at: trials (k,).
    """
    gaps = [find_gaps(index, problem, search, at) for problem in problems]
    whole = [gap for gap in gaps if gap is not None]
    return np.mean(whole, axis=0) if len(whole) == len(gaps) else None
