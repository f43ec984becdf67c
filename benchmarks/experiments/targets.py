"""Whether `auto` reaches the targets of a group, and where it is behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.experiments.batches import estimate_needed
from benchmarks.experiments.cases import OURS, Group
from benchmarks.peers.curves import read_best
from benchmarks.peers.verdicts import LEAST_SEEDS, Found, Index
from bostruct.analysis.differences import Difference, estimate_difference

Multiple = tuple[float, float, float]  # a ratio and its 95 % interval


def compare_measures(index: Index, problem: str, search: str, base: str, measure: str) -> np.ndarray:
    """Return a measure of a search minus that of another, one for each seed that both have (n,).

    index: of the runs.
    problem, search: names.
    base: the other search.
    measure: its name.
    """
    own, other = (index.get((problem, name), {}) for name in (search, base))
    return np.array(
        [
            own[seed]["measures"][measure] - other[seed]["measures"][measure]
            for seed in sorted(own.keys() & other.keys())
        ]
    )


def judge_targets(index: Index, group: Group) -> list[str]:
    """Return for each target of a group what it is and whether it is reached, once there are seeds.

    index: of the runs.
    group: of problems.
    """
    return [
        *_judge_rivals(index, group),
        *_judge_level(index, group),
        *_judge_means(index, group),
        *_judge_ratios(index, group),
    ]


def list_losses(index: Index, group: Group) -> list[str]:
    """Return a line that names all methods that `auto` is behind by the interval; none before there are seeds.

    index: of the runs.
    group: of problems that are compared with `auto`.
    """
    if group.searches[0] != OURS:
        return []
    found = list(_list_differences(index, group))
    if not found:
        return []
    behind = [f"{search} on {problem} ({measure})" for problem, search, measure, one in found if one.high < 0.0]
    ahead = sum(one.low > 0.0 for *_, one in found)
    return [f"`auto` is ahead in {ahead} of {len(found)} comparisons, behind {', '.join(behind) or 'none'}."]


def estimate_multiples(index: Index, group: Group, problem: str) -> dict[str, Multiple]:
    """Return how many times the evaluations of the first search each other one needs, by search.

    index: of the runs.
    group: whose evaluations are counted.
    problem: one of the group.

    Searches that share fewer than `LEAST_SEEDS` seeds with the first one are left out.
    """
    base, multiples = index.get((problem, group.searches[0]), {}), dict[str, Multiple]()
    for search in group.searches[1:]:
        own = index.get((problem, search), {})
        if len(seeds := sorted(own.keys() & base.keys())) >= LEAST_SEEDS:
            wide, narrow = ([runs[seed] for seed in seeds] for runs in (own, base))
            multiples[search] = estimate_needed(_list_best(wide), _list_best(narrow))
    return multiples


def _list_best(runs: Sequence[Found]) -> np.ndarray:
    """Return the best values of runs of one length after each trial (s, n)."""
    return np.array([read_best(found, np.arange(1.0, found["evaluated"] + 1.0)) for found in runs])


def _list_differences(index: Index, group: Group) -> Iterator[tuple[str, str, str, Difference]]:
    """Yield all differences to `auto` that have enough seeds: problem, search, measure, difference."""
    for problem in group.problems:
        for search in group.list_searches(problem)[1:]:
            for measure in group.measures:
                difference = estimate_difference(compare_measures(index, problem, search, OURS, measure))
                if difference is not None and difference.n >= LEAST_SEEDS:
                    yield problem, search, measure, difference


def _judge_rivals(index: Index, group: Group) -> list[str]:
    """Say on how many problems `auto` is ahead of all rivals, in all measures that are judged."""
    if not group.wanted:
        return []
    found = {(problem, search, name): one for problem, search, name, one in _list_differences(index, group)}
    by_interval, by_mean = list[str](), list[str]()
    complete = 0
    for problem in group.problems:
        keys = [
            (problem, search, name)
            for search in group.rivals
            if search in group.list_searches(problem)
            for name in group.judged
        ]
        if all(key in found for key in keys):
            complete += 1
            by_interval += [problem] if all(found[key].low > 0.0 for key in keys) else []
            by_mean += [problem] if all(found[key].mean > 0.0 for key in keys) else []
    if not complete:
        return []
    target = f"Target: ahead of {', '.join(group.rivals)} on {group.wanted} of {len(group.problems)} problems"
    told = f"{_say(len(by_interval) >= group.wanted)}, on {len(by_interval)} by the interval"
    return [f"{target}: {told} ({', '.join(by_interval) or 'none'}), on {len(by_mean)} by the mean."]


def _judge_level(index: Index, group: Group) -> list[str]:
    """Say which of the searches that `auto` must not be behind it is behind."""
    pairs = [
        (f"{search} on {problem}", difference)
        for problem, search in group.level
        if (difference := estimate_difference(compare_measures(index, problem, search, OURS, group.measures[0])))
        is not None
        if difference.n >= LEAST_SEEDS
    ]
    if not pairs:
        return []
    behind = [name for name, difference in pairs if difference.high < 0.0]
    told = f", behind {', '.join(behind)}" if behind else ""
    return [f"Target: not behind {', '.join(name for name, _ in pairs)}: {_say(not behind)}{told}."]


def _judge_means(index: Index, group: Group) -> list[str]:
    """Say which means of `auto` are small enough."""
    lines = []
    for (problem, measure), most in group.most.items():
        if runs := index.get((problem, OURS)):
            mean = float(np.mean([found["measures"][measure] for found in runs.values()]))
            lines.append(f"Target: {measure} on {problem} at most {most:g}: {_say(mean <= most + 1e-9)}, {mean:.3g}.")
    return lines


def _judge_ratios(index: Index, group: Group) -> list[str]:
    """Say whether multiples of the first search's number are small enough."""
    if not group.most_ratio:
        return []
    lines = []
    for problem in group.problems:
        ratios = _find_ratios(index, group, problem)
        for search, ratio in ratios.items():
            told = f"{_say(ratio <= group.most_ratio)}, {ratio:.2f} times"
            lines.append(
                f"Target: {search} at most {group.most_ratio:g} times {group.searches[0]} on {problem}: {told}."
            )
    return lines


def _find_ratios(index: Index, group: Group, problem: str) -> dict[str, float]:
    if not group.measures:
        return {search: multiple[0] for search, multiple in estimate_multiples(index, group, problem).items()}
    (measure,), base = group.measures, index.get((problem, group.searches[0]), {})
    ratios = {}
    for search in group.searches[1:]:
        own = index.get((problem, search), {})
        if seeds := own.keys() & base.keys():
            ours, theirs = (np.mean([runs[seed]["measures"][measure] for seed in seeds]) for runs in (own, base))
            ratios[search] = float(ours / theirs)
    return ratios


def _say(is_reached: bool) -> str:
    return "reached" if is_reached else "**not reached**"
