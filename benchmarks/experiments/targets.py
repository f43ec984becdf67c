"""Whether `auto` reaches the targets of a group, or why a target cannot be judged yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.experiments.cases import OURS, Group
from benchmarks.experiments.comparisons import BEHIND, Row, compare_group, estimate_multiples, find_margin
from benchmarks.peers.report import describe_difference
from benchmarks.peers.verdicts import AHEAD, LEAST_SEEDS, UNDECIDED, Index

REACHED, MISSED, UNJUDGED = "reached", "**not reached**", "not judged"


def judge_targets(index: Index, group: Group) -> list[str]:
    """Return a line for each target of a group: whether it is reached, or which runs are missing.

    index: the runs.
    group: the problems.
    """
    rows = compare_group(index, group)
    return [
        *_judge_rivals(index, group, rows),
        *_judge_level(index, group, rows),
        *_judge_means(index, group),
        *_judge_ratios(index, group),
    ]


def _judge_rivals(index: Index, group: Group, rows: Sequence[Row]) -> list[str]:
    """Describe on how many problems `auto` is ahead of all rivals in all judged measures."""
    if not group.wanted:
        return []
    rivals = {
        problem: [one for one in group.rivals if one in group.list_searches(problem)] for problem in group.problems
    }
    lacks = {problem: _list_lacks(index, OURS, problem, own) for problem, own in rivals.items() if own}
    whole = {
        problem: [row for row in rows if row.problem == problem and row.search in own and row.measure in group.judged]
        for problem, own in rivals.items()
        if own and not lacks[problem]
    }
    target = f"Target: ahead of {', '.join(group.rivals)} on {group.wanted} of {len(group.problems)} problems"
    lacking = _join_lacks(lacks)
    if not whole:
        return [f"{target}: {UNJUDGED}: {lacking}."]
    ahead = [problem for problem, own in whole.items() if all(row.verdict == AHEAD for row in own)]
    by_interval = sum(all(row.verdict.startswith(AHEAD) for row in own) for own in whole.values())
    by_mean = sum(
        all(row.difference is not None and row.difference.mean > 0.0 for row in own) for own in whole.values()
    )
    is_open = len(ahead) + len(lacks) - len(whole) >= group.wanted
    verdict = REACHED if len(ahead) >= group.wanted else UNJUDGED if is_open else MISSED
    counted = f"on {len(ahead)} after Holm's correction ({', '.join(ahead) or 'none'})"
    counted += f", on {by_interval} by the interval, on {by_mean} by the mean"
    return [f"{target}: {verdict}, {counted}{'; ' if lacking else ''}{lacking}."]


def _judge_level(index: Index, group: Group, rows: Sequence[Row]) -> list[str]:
    """Describe for each search of `level` whether `auto` is behind it by a margin in the first measure."""
    lines = []
    for problem, search in group.level:
        if lacks := _list_lacks(index, OURS, problem, [search]):
            text = f"{UNJUDGED}: {'; '.join(lacks)}"
        else:
            (row,) = (row for row in rows if row[:3] == (problem, search, group.measures[0]))
            margin = find_margin(index, problem, group.measures[0])
            text = f"{_judge_margin(row, margin)}, {describe_difference(row.difference)} with a margin of {margin:.3g}"
        lines.append(f"Target: not behind {search} on {problem}: {text}.")
    return lines


def _judge_margin(row: Row, margin: float) -> str:
    assert row.difference is not None
    if row.difference.low >= -margin:
        return REACHED
    return MISSED if row.verdict == BEHIND else UNDECIDED


def _judge_means(index: Index, group: Group) -> list[str]:
    """Describe which means of `auto` are small enough."""
    lines = []
    for (problem, measure), most in group.most.items():
        if lacks := _list_lacks(index, OURS, problem, []):
            verdict = f"{UNJUDGED}: {'; '.join(lacks)}"
        else:
            mean = float(np.mean([found["measures"][measure] for found in index[problem, OURS].values()]))
            verdict = f"{_judge(mean <= most + 1e-9)}, {mean:.3g}"
        lines.append(f"Target: {measure} on {problem} at most {most:g}: {verdict}.")
    return lines


def _judge_ratios(index: Index, group: Group) -> list[str]:
    """Describe whether the multiples of the first search's number are small enough."""
    if not group.most_ratio:
        return []
    lines, base = [], group.searches[0]
    for problem in group.problems:
        ratios = _find_ratios(index, group, problem)
        for search in group.searches[1:]:
            if search in ratios:
                verdict = f"{_judge(ratios[search] <= group.most_ratio)}, {ratios[search]:.2f} times"
            else:
                verdict = f"{UNJUDGED}: {'; '.join(_list_lacks(index, base, problem, [search]))}"
            lines.append(f"Target: {search} at most {group.most_ratio:g} times {base} on {problem}: {verdict}.")
    return lines


def _find_ratios(index: Index, group: Group, problem: str) -> dict[str, float]:
    """Return the multiple of each search that shares at least `LEAST_SEEDS` seeds with the first one."""
    if not group.measures:
        return {search: multiple[0] for search, multiple in estimate_multiples(index, group, problem).items()}
    (measure,), base = group.measures, index.get((problem, group.searches[0]), {})
    ratios = {}
    for search in group.searches[1:]:
        own = index.get((problem, search), {})
        if len(seeds := own.keys() & base.keys()) >= LEAST_SEEDS:
            ours, theirs = (np.mean([runs[seed]["measures"][measure] for seed in seeds]) for runs in (own, base))
            ratios[search] = float(ours / theirs)
    return ratios


def _list_lacks(index: Index, base: str, problem: str, others: Sequence[str]) -> list[str]:
    """List the searches without runs and with few seeds on a problem; empty if all can be judged.

    base: the search that must share seeds with the others.
    others: other searches; empty if only the base is judged.
    """
    seeds = {search: set(index.get((problem, search), {})) for search in (base, *others)}
    absent = [search for search, own in seeds.items() if not own]
    few = [
        search
        for search in others or [base]
        if not {search, base} & set(absent) and len(seeds[search] & seeds[base]) < LEAST_SEEDS
    ]
    shared = f"that {base} shares with" if others else "of"
    lacks = {"no runs of": absent, f"fewer than {LEAST_SEEDS} seeds {shared}": few}
    return [f"{why} {', '.join(searches)}" for why, searches in lacks.items() if searches]


def _join_lacks(lacks: dict[str, list[str]]) -> str:
    """Describe what is missing, with problems that lack the same together."""
    problems: dict[str, list[str]] = {}
    for problem, own in lacks.items():
        for why in own:
            problems.setdefault(why, []).append(problem)
    return "; ".join(f"{why} on {', '.join(names)}" for why, names in problems.items())


def _judge(is_reached: bool) -> str:
    return REACHED if is_reached else MISSED
