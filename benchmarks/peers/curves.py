"""The curves of the figures: mean best values against trials and against seconds, and gaps averaged over problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.peers.groups import OURS
from benchmarks.peers.run import N_INITIAL
from benchmarks.peers.verdicts import BASELINE, LEAST_SEEDS, Found, Index, find_best_known

N_POINTS = 20  # of a curve
PRECISION = 1e-5  # of the seconds in the file


class Curve(NamedTuple):
    """Mean best values of a search, which are infinite until all its runs have a value.

    x: trials, or CPU seconds (k,).
    mean: mean over the seeds (k,).
    """

    x: np.ndarray
    mean: np.ndarray


def read_best(found: Found, at: np.ndarray, positions: Sequence[float] | None = None) -> np.ndarray:
    """Return the best value of a run at some positions (k,); infinite before its first value.

    found: the run.
    at: positions at which the best value is returned (k,).
    positions: the position of each improvement of the run; None for their trials.
    """
    steps = [n for n, _ in found["improvements"]] if positions is None else positions
    values = np.array([np.inf, *(value for _, value in found["improvements"])])
    return values[np.searchsorted(np.asarray(steps, dtype=float), at, side="right")]


def list_seconds(found: Found) -> list[float]:
    """Return the CPU seconds that a run had spent on suggestions after the initial points, at each improvement.

    found: the run; if it has no seconds of its improvements, each suggestion takes the mean seconds.
    """
    if "improvement_seconds" in found:
        return found["improvement_seconds"]
    return [max(n - N_INITIAL, 0) * found["seconds"] for n, _ in found["improvements"]]


def space_trials(last: float) -> np.ndarray:
    """Return whole numbers of trials from the initial points to the last, evenly spaced on a logarithmic axis.

    last: the last trial.
    """
    return np.unique(np.round(np.geomspace(N_INITIAL, last, N_POINTS)))


def curve_by_trials(runs: Mapping[int, Found], base: Mapping[int, Found]) -> Curve:
    """Return the curve of a search from its initial points to the last trial that all its runs have.

    runs: by seed, at least one.
    base: the runs of `auto`, see `average_values`; if their seeds differ, they also limit the last trial.
    """
    every = [*runs.values()] if runs.keys() == base.keys() else [*runs.values(), *base.values()]
    at = space_trials(max(min(found["evaluated"] for found in every), N_INITIAL + 1))
    values = {seed: read_best(found, at) for seed, found in runs.items()}
    return Curve(at, average_values(values, dict.fromkeys(runs, at), base))


def curve_by_seconds(runs: Mapping[int, Found], base: Mapping[int, Found]) -> Curve:
    """Return the curve of a search from its first suggestion after the initial points to the end of its longest run.

    Each run is shifted by the shift for the number of trials that it has at that time, so that a search ends at the
    value at which its curve against trials ends.

    runs: by seed, at least one.
    base: the runs of `auto`, see `average_values`.
    """
    first = max(float(np.mean([found["seconds"] for found in runs.values()])), PRECISION)
    at = np.geomspace(first, max(*map(find_end, runs.values()), 2.0 * first), N_POINTS)
    values = {seed: read_best(found, at, list_seconds(found)) for seed, found in runs.items()}
    trials = {seed: count_trials(found, at) for seed, found in runs.items()}
    return Curve(at, average_values(values, trials, base))


def find_end(found: Found) -> float:
    """Return the CPU seconds that all suggestions of a run after the initial points took."""
    return max(found["seconds"] * (found["evaluated"] - N_INITIAL), *list_seconds(found)[-1:], 0.0)


def count_trials(found: Found, at: np.ndarray) -> np.ndarray:
    """Return the trials that a run has had at some CPU seconds (k,), interpolated linearly between improvements.

    found: the run.
    at: CPU seconds of suggestions after the initial points (k,).
    """
    late = [(second, n) for second, (n, _) in zip(list_seconds(found), found["improvements"], strict=True)]
    late = [(0.0, N_INITIAL), *(one for one in late if one[1] > N_INITIAL), (find_end(found), found["evaluated"])]
    seconds, trials = np.array(late, dtype=float).T
    return np.interp(at, seconds, trials)


def average_values(
    values: Mapping[int, np.ndarray], trials: Mapping[int, np.ndarray], base: Mapping[int, Found]
) -> np.ndarray:
    """Return the mean over the seeds of a search (k,), as if it had the seeds of `auto`.

    If the seeds differ, the mean is the mean of `auto` over all its seeds plus the mean difference of the two searches
    over the seeds of this search. So two curves differ as in the paired tables, however hard their instances are.

    values: of the search by seed (k,), at least one.
    trials: after which a seed has these values (k,).
    base: the runs of `auto`, which have all seeds of the search; if empty, nothing is paired.
    """
    if not base or values.keys() == base.keys():
        return np.mean(list(values.values()), axis=0)
    mean = np.mean([value + _compute_shift(base, seed, trials[seed]) for seed, value in values.items()], axis=0)
    return np.where(np.isfinite(mean), mean, np.inf)


def _compute_shift(base: Mapping[int, Found], seed: int, trials: np.ndarray) -> np.ndarray:
    """Return the mean of `auto` over all its seeds minus its value on one seed (k,)."""
    at = np.minimum(trials, min(found["evaluated"] for found in base.values()))
    return _subtract(np.mean([read_best(found, at) for found in base.values()], axis=0), read_best(base[seed], at))


def find_errors(runs: Mapping[str, Mapping[int, Found]], search: str, at: np.ndarray) -> np.ndarray:
    """Return the standard error of a search's mean best value without what all searches share on a seed (k,).

    The mean over searches of their deviations on that seed is subtracted from each value, and the error is scaled by
    sqrt(m / (m - 1)) for m searches (Morey 2008, within-subject intervals). If there is only one search, nothing is
    subtracted. The error is 0 if there is only one seed, or if a value is infinite.

    runs: by search and seed; if `auto` is among the searches, it has the seeds of all others.
    search: one of the searches.
    at: trials (k,).
    """
    deviations: dict[int, list[np.ndarray]] = {}
    for own in runs.values():
        values = {seed: read_best(found, at) for seed, found in own.items()}
        mean = average_values(values, dict.fromkeys(own, at), runs.get(OURS, {}))
        for seed, value in values.items():
            deviations.setdefault(seed, []).append(_subtract(value, mean))
    own, m = runs[search], len(runs)
    if len(own) < 2:
        return np.zeros(len(at))
    shared = {seed: np.mean(deviations[seed], axis=0) if m > 1 else np.zeros(len(at)) for seed in own}
    kept = [_subtract(read_best(found, at), shared[seed]) for seed, found in own.items()]
    with np.errstate(invalid="ignore"):  # infinite values have no standard deviation
        error = np.std(kept, axis=0, ddof=1) * (m / max(m - 1, 1) / len(kept)) ** 0.5
    return np.where(np.isfinite(error), error, 0.0)


def _subtract(value: np.ndarray, mean: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # the difference of infinities is NaN
        return value - mean


def find_gaps(index: Index, problem: str, search: str, at: np.ndarray) -> np.ndarray | None:
    """Return the gap that a search leaves on a problem, as a share of the gap after the initial points (k,).

    The gap is the mean best value minus the mean of the lowest values known of the same instances, divided by the gap
    of random search after the initial points. All searches share the instances: if a search has fewer than `auto`, its
    mean is from `average_values`. Seeds whose initial points all failed have no gap, and are left out. Return None if
    fewer than `LEAST_SEEDS` seeds have complete runs of the search and of `auto`, and a run of random search.

    index: of the runs.
    problem, search: names.
    at: trials (k,).
    """
    own, ours, base = (index.get((problem, name), {}) for name in (search, OURS, BASELINE))
    start = np.array([float(N_INITIAL)])
    first = {seed: read_best(found, start)[0] for seed, found in base.items()}
    ours = {n: found for n, found in ours.items() if found["evaluated"] >= at[-1] and np.isfinite(first.get(n, np.inf))}
    values = {n: read_best(found, at) for n, found in own.items() if n in ours and found["evaluated"] >= at[-1]}
    if len(values) < LEAST_SEEDS:
        return None
    known = find_best_known(index, problem)
    least = np.mean([known[seed] for seed in ours])
    whole = np.mean([first[seed] for seed in ours]) - least
    return (average_values(values, dict.fromkeys(values, at), ours) - least) / whole if whole > 0.0 else None


def average_gaps(index: Index, problems: Sequence[str], search: str, at: np.ndarray) -> np.ndarray | None:
    """Return the mean of a search's gaps over problems (k,); None if a problem has too few seeds with a value.

    index: of the runs.
    problems: names, at least one.
    search: its name.
    at: trials (k,).
    """
    gaps = [find_gaps(index, problem, search, at) for problem in problems]
    whole = [gap for gap in gaps if gap is not None]
    return np.mean(whole, axis=0) if len(whole) == len(gaps) and np.isfinite([gap[-1] for gap in whole]).all() else None
