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


def curve_by_trials(runs: Mapping[int, Found], base: Mapping[int, Found]) -> Curve:
    """Return the curve of a search from its initial points to the last trial that all its runs have.

    runs: by seed, at least one.
    base: the runs of `auto`, as for `average_values`; where they have other seeds, they have the last trial, too.
    """
    every = [*runs.values()] if runs.keys() == base.keys() else [*runs.values(), *base.values()]
    at = space_trials(max(min(found["evaluated"] for found in every), N_INITIAL + 1))
    values = {seed: read_best(found, at) for seed, found in runs.items()}
    return Curve(at, average_values(values, dict.fromkeys(runs, at), base))


def curve_by_seconds(runs: Mapping[int, Found], base: Mapping[int, Found]) -> Curve:
    """Return the curve of a search from its first suggestion after the initial points to the end of its longest run.

    Each run is moved by as much as after the trials that it has at that time, so that a search ends where its curve
    against trials ends.

    runs: by seed, at least one.
    base: the runs of `auto`, as for `average_values`.
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
    """Return the trials that a run has had at some CPU seconds (k,), also parts of them, evenly between improvements.

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
    """Return the mean over the seeds of a search (k,), as if it had those of `auto`.

    Where the seeds differ, the mean is that of `auto` over all its seeds plus the mean difference of the two searches
    over the seeds of this one. So two curves differ by what the paired tables say, however hard their instances are.

    values: of the search by seed (k,), at least one.
    trials: after which a seed has these values (k,).
    base: the runs of `auto`, which have all seeds of the search; empty where there are none, and nothing is paired.
    """
    if not base or values.keys() == base.keys():
        return np.mean(list(values.values()), axis=0)
    mean = np.mean([value + _find_move(base, seed, trials[seed]) for seed, value in values.items()], axis=0)
    return np.where(np.isfinite(mean), mean, np.inf)


def _find_move(base: Mapping[int, Found], seed: int, trials: np.ndarray) -> np.ndarray:
    """Return the mean of `auto` over all its seeds minus its value on one of them (k,)."""
    at = np.minimum(trials, min(found["evaluated"] for found in base.values()))
    return _subtract(np.mean([read_best(found, at) for found in base.values()], axis=0), read_best(base[seed], at))


def find_errors(runs: Mapping[str, Mapping[int, Found]], search: str, at: np.ndarray) -> np.ndarray:
    """Return the standard error of a search's mean best value without what all searches share on a seed (k,).

    From each value the mean over searches of their deviations on that seed is subtracted, and the error is scaled by
    sqrt(m / (m - 1)) for m searches (Morey 2008, within-subject intervals). Where there is one search, nothing is
    subtracted. The error is 0 where there is one seed, or a value is infinite.

    runs: by search and seed; where `auto` is among them, it has the seeds of all others.
    search: one of them.
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
    with np.errstate(invalid="ignore"):  # infinities have no spread
        error = np.std(kept, axis=0, ddof=1) * (m / max(m - 1, 1) / len(kept)) ** 0.5
    return np.where(np.isfinite(error), error, 0.0)


def _subtract(value: np.ndarray, mean: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # of infinities, the difference is NaN
        return value - mean


def find_gaps(index: Index, problem: str, search: str, at: np.ndarray) -> np.ndarray | None:
    """Return what a search has still to gain on a problem, as a share of what there was after the initial points (k,).

    The gap is the mean best value minus the mean of the lowest values known of the same instances, divided by that of
    random search after the initial points. All searches share the instances: where a search has fewer than `auto`, its
    mean is that of `average_values`. Seeds whose initial points all failed have no such gap, and are left out. None
    where fewer than `LEAST_SEEDS` seeds have the search to the end, `auto` to the end and random search.

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
    """Return the mean of a search's gaps over problems (k,), None where a problem has too few seeds with a value.

    index: of the runs.
    problems: names, at least one.
    search: its name.
    at: trials (k,).
    """
    gaps = [find_gaps(index, problem, search, at) for problem in problems]
    whole = [gap for gap in gaps if gap is not None]
    return np.mean(whole, axis=0) if len(whole) == len(gaps) and np.isfinite([gap[-1] for gap in whole]).all() else None
