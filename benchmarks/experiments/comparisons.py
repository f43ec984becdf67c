"""Compare the methods of a group with its first one: paired differences, Holm's correction, margins, multiples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.experiments.batches import estimate_needed
from benchmarks.experiments.cases import OURS, Group
from benchmarks.peers.curves import read_best
from benchmarks.peers.verdicts import (
    AHEAD,
    BASELINE,
    FEW,
    LEAST_SEEDS,
    MARGIN,
    UNCORRECTED,
    UNDECIDED,
    Found,
    Index,
)
from bostruct.comparison.statistics import LEVEL, Difference, correct_by_holm, estimate_difference

BEHIND = "*behind*"  # verdict on `auto`, like AHEAD
Multiple = tuple[float, float, float]  # a ratio and its 95% interval


class Row(NamedTuple):
    """The comparison of a method with the first method of its group.

    problem, search, measure: names.
    difference: the method minus the first method, paired by seed; None for fewer than two shared seeds.
    p: p-value corrected for the comparisons of the group; None for fewer than `LEAST_SEEDS` seeds.
    """

    problem: str
    search: str
    measure: str
    difference: Difference | None
    p: float | None

    @property
    def verdict(self) -> str:
        """The verdict on the first method; empty without a difference."""
        if self.difference is None:
            return ""
        if self.p is None:
            return FEW
        side = AHEAD if self.difference.low > 0.0 else BEHIND if self.difference.high < 0.0 else UNDECIDED
        return side if side == UNDECIDED or self.p < LEVEL else side + UNCORRECTED

    @property
    def name(self) -> str:
        """The name of the method with the problem and the measure."""
        return f"{self.search} on {self.problem} ({self.measure})"


def compare_group(index: Index, group: Group) -> list[Row]:
    """Compare the methods of a group with its first method, on each problem and in each measure.

    index: the runs.
    group: its comparisons with at least `LEAST_SEEDS` seeds are the family of Holm's correction.
    """
    keys = [
        (problem, search, measure)
        for problem in group.problems
        for search in group.list_searches(problem)[1:]
        for measure in group.measures
    ]
    differences = [estimate_difference(_list_differences(index, group.searches[0], *key)) for key in keys]
    ps = {i: _find_p(one) for i, one in enumerate(differences) if one is not None and one.n >= LEAST_SEEDS}
    corrected = dict(zip(ps, correct_by_holm(list(ps.values())), strict=True))
    return [Row(*key, differences[i], corrected.get(i)) for i, key in enumerate(keys)]


def _list_differences(index: Index, base: str, problem: str, search: str, measure: str) -> list[float]:
    """Return a measure of a search minus the measure of another search, for each shared seed (n,)."""
    own, other = (index.get((problem, name), {}) for name in (search, base))
    return [
        own[seed]["measures"][measure] - other[seed]["measures"][measure] for seed in sorted(own.keys() & other.keys())
    ]


def _find_p(difference: Difference) -> float:
    """Return the p-value of the t test, or of the sign test if all differences are equal and not zero."""
    return 2.0 ** (1 - difference.n) if difference.p is None else difference.p


def find_margin(index: Index, problem: str, measure: str) -> float:
    """Return the margin of a measure, `MARGIN` times random search's gap; 0 if random search has too few seeds.

    The gap is the mean over seeds of random search's value minus the lowest value of all searches on the same seed.

    index: the runs.
    problem, measure: names.
    """
    random = index.get((problem, BASELINE), {})
    if len(random) < LEAST_SEEDS:
        return 0.0
    every = [runs for (name, _), runs in index.items() if name == problem]
    gaps = [
        found["measures"][measure] - min(runs[seed]["measures"][measure] for runs in every if seed in runs)
        for seed, found in random.items()
    ]
    return MARGIN * float(np.mean(gaps))


def list_losses(index: Index, group: Group) -> list[str]:
    """Return a line that names all methods that are better than `auto`; empty if there are too few seeds.

    index: the runs.
    group: problems on which other methods are compared with `auto`.
    """
    rows = [row for row in compare_group(index, group) if row.p is not None]
    if group.searches[0] != OURS or not rows:
        return []
    sides = {side: [row.name for row in rows if row.verdict == side] for side in (BEHIND, BEHIND + UNCORRECTED)}
    ahead, barely = (sum(row.verdict == side for row in rows) for side in (AHEAD, AHEAD + UNCORRECTED))
    sentences = [
        f"`auto` is ahead in {ahead} of {len(rows)} comparisons, behind {', '.join(sides[BEHIND]) or 'none'}.",
        f"By the interval but not after Holm's correction, it is ahead in {barely}, "
        f"behind {', '.join(sides[BEHIND + UNCORRECTED]) or 'none'}.",
    ]
    return [" ".join(sentences)]


def estimate_multiples(index: Index, group: Group, problem: str) -> dict[str, Multiple]:
    """Return the evaluations that each other search needs as a multiple of those of the first search, by search.

    index: the runs.
    group: a group whose evaluations are counted.
    problem: a problem of the group.

    Searches that share fewer than `LEAST_SEEDS` seeds with the first search are omitted.
    """
    base, multiples = index.get((problem, group.searches[0]), {}), dict[str, Multiple]()
    for search in group.searches[1:]:
        own = index.get((problem, search), {})
        if len(seeds := sorted(own.keys() & base.keys())) >= LEAST_SEEDS:
            wide, narrow = ([runs[seed] for seed in seeds] for runs in (own, base))
            multiples[search] = estimate_needed(_list_best(wide), _list_best(narrow))
    return multiples


def _list_best(runs: Sequence[Found]) -> np.ndarray:
    """Return the best values after each trial of runs of equal length (s, n)."""
    return np.array([read_best(found, np.arange(1.0, found["evaluated"] + 1.0)) for found in runs])
