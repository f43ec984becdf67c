"""The curves of the figures: mean best values against trials and against seconds, and gaps averaged over problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """

    x: np.ndarray
    mean: np.ndarray


def read_best(found: Found, at: np.ndarray, positions: Sequence[float] | None = None) -> np.ndarray:
    """Return the best value of a run at some positions (k,); infinite before its first value.

    found: the run.
    at: positions that are asked for (k,).
    positions: of its improvements, one each; None for their trials.
    """
    places = [n for n, _ in found["improvements"]] if positions is None else positions
    values = np.array([np.inf, *(value for _, value in found["improvements"])])
    return values[np.searchsorted(np.asarray(places, dtype=float), at, side="right")]


def list_seconds(found: Found) -> list[float]:
    """Return the CPU seconds that a run had spent on suggestions at each improvement, from the initial points on.

    found: the run; where it has no seconds of its improvements, each suggestion counts as its mean.
    """
    if "improvement_seconds" in found:
        return found["improvement_seconds"]
    return [max(n - N_INITIAL, 0) * found["seconds"] for n, _ in found["improvements"]]


def space_trials(last: float) -> np.ndarray:
    """Return whole numbers of trials from the initial points to the last, evenly spaced on a logarithmic axis.

    last: of the trials.
    """
    return np.unique(np.round(np.geomspace(N_INITIAL, last, N_POINTS)))


def curve_by_trials(runs: Sequence[Found]) -> Curve:
    """Return the curve of a search from its initial points to the last trial that all its runs have.

    runs: at least one.
    """
    last = max(min(found["evaluated"] for found in runs), N_INITIAL + 1)
    at = space_trials(last)
    return Curve(at, np.mean([read_best(found, at) for found in runs], axis=0))


def curve_by_seconds(runs: Sequence[Found]) -> Curve:
    """Return the curve of a search from its first suggestion after the initial points to the end of its longest run.

    runs: at least one.
    """
    first = max(float(np.mean([found["seconds"] for found in runs])), PRECISION)
    ends = [found["seconds"] * (found["evaluated"] - N_INITIAL) for found in runs]
    at = np.geomspace(first, max(*ends, 2.0 * first), N_POINTS)
    return Curve(at, np.mean([read_best(found, at, list_seconds(found)) for found in runs], axis=0))


def find_errors(runs: Mapping[str, Mapping[int, Found]], search: str, at: np.ndarray) -> np.ndarray:
    """Return the standard error of a search's mean best value without what all searches share on a seed (k,).

    From each value the mean over searches of their deviations on that seed is subtracted, and the error is scaled by
    sqrt(m / (m - 1)) for m searches (Morey 2008, within-subject intervals). Where there is one search, nothing is
    subtracted. The error is 0 where there is one seed, or a value is infinite.

    runs: by search and seed.
    search: one of them.
    at: trials (k,).
    """
    deviations: dict[int, list[np.ndarray]] = {}
    for own in runs.values():
        values = {seed: read_best(found, at) for seed, found in own.items()}
        mean = np.mean(list(values.values()), axis=0)
        for seed, value in values.items():
            deviations.setdefault(seed, []).append(_subtract(value, mean))
    own, m = runs[search], len(runs)
    if len(own) < 2:
        return np.zeros(len(at))
    shared = {seed: np.mean(deviations[seed], axis=0) if m > 1 else np.zeros(len(at)) for seed in own}
    kept = [_subtract(read_best(found, at), shared[seed]) for seed, found in own.items()]
    with np.errstate(invalid="ignore"):  # infinities have no spread
        error = np.std(kept, axis=0, ddof=1) * (m / max(m - 1, 1) / len(kept)) ** 0.5
    return np.where(np.isfinite(error), error, 0.0)


def _subtract(value: np.ndarray, mean: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # of infinities, the difference is NaN
        return value - mean


def find_gaps(index: Index, problem: str, search: str, at: np.ndarray) -> np.ndarray | None:
    """Return what a search has still to gain on a problem, as a share of what there was after the initial points (k,).

    The gap of a run is its best value minus the lowest value known of the same instance; gaps are averaged over seeds
    and divided by the average of random search after the initial points. Seeds whose initial points all failed have no
    such gap, and are left out. None where fewer than `LEAST_SEEDS` seeds have the search and random search to the end.

    index: of the runs.
    problem, search: names.
    at: trials (k,).
    """
    own, base = (index.get((problem, name), {}) for name in (search, BASELINE))
    known = find_best_known(index, problem)
    start = np.array([float(N_INITIAL)])
    seeds = [
        seed
        for seed in own.keys() & base.keys()
        if own[seed]["evaluated"] >= at[-1] and np.isfinite(read_best(base[seed], start)).all()
    ]
    if len(seeds) < LEAST_SEEDS:
        return None

    def gap(found: Found, seed: int, where: np.ndarray) -> np.ndarray:
        return read_best(found, where) - known[seed]

    whole = np.mean([gap(base[seed], seed, start) for seed in seeds])
    return np.mean([gap(own[seed], seed, at) for seed in seeds], axis=0) / whole if whole > 0.0 else None


def average_gaps(index: Index, problems: Sequence[str], search: str, at: np.ndarray) -> np.ndarray | None:
    """Return the mean of a search's gaps over problems (k,), None where a problem has too few seeds with a value.

    index: of the runs.
    problems: names, at least one.
    search: its name.
    at: trials (k,).
    """
    gaps = [find_gaps(index, problem, search, at) for problem in problems]
    whole = [gap for gap in gaps if gap is not None]
    return np.mean(whole, axis=0) if len(whole) == len(gaps) and np.isfinite([gap[-1] for gap in whole]).all() else None
