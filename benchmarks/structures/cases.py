"""The problems of the comparison by group: how each is made, its trials, its searches and what `auto` must reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.tasks import Task
from benchmarks.structures import job_shop, orders

Maker = Callable[[int, Path | None], Task]  # of a seed and the folder of the data; FileNotFoundError where it is needed


@dataclass(frozen=True)
class Group:
    """Problems that are compared in the same way.

    title: of its section.
    text: what the problems are, in Markdown.
    trials: evaluations in all, the initial points included.
    problems: how each is made, by name.
    searches: names, `auto` first.
    optima: least values that are proved, by problem; of all seeds.
    half_of: the search whose mean gap to the optima `auto` must halve, and be worse than on no problem; where there is
        none, `auto` must be ahead of each search on each problem by its interval.
    """

    title: str
    text: str
    trials: int
    problems: Mapping[str, Maker]
    searches: tuple[str, ...]
    optima: Mapping[str, float] = field(default_factory=dict)
    half_of: str | None = None


ON_ORDERS = ("auto", "climbing by swaps", "hill-climbing", "annealing", "evolution", "Optuna TPE", "random")
GROUPS: dict[str, Group] = {
    "job shop": Group("Job shop", job_shop.TEXT, 300, job_shop.JOB_SHOPS, ON_ORDERS, job_shop.OPTIMA, ON_ORDERS[1]),
    "orders": Group("Assignments, tours and rankings", orders.TEXT, 200, orders.ORDERS, ON_ORDERS),
}
PROBLEMS = {name: group for group in GROUPS.values() for name in group.problems}


def make_task(problem: str, seed: int, data: Path | None) -> Task:
    """Make an instance of a problem.

    problem: one of `PROBLEMS`.
    seed: of the instance, from 0.
    data: the folder of the files; None for none.

    Raises FileNotFoundError where the problem is a file that is not there.
    """
    return PROBLEMS[problem].problems[problem](seed, data)
