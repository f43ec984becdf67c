"""The groups of problems in the comparison: their instances, trials and searches, and the targets of `auto`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.run import N_INITIAL, draw_initial
from benchmarks.peers.tasks import Point, Task
from benchmarks.structures import job_shop, orders, reactions, sequences, subsets

Maker = Callable[[int, Path | None], Task]  # takes a seed and the folder of the data; FileNotFoundError if it lacks it


def _draw_any(task: Task, seed: int) -> list[Point]:
    return draw_initial(task.space, seed)


@dataclass(frozen=True)
class Group:
    """Problems that are compared in the same way.

    title: title of the section on the page.
    text: description of the problems, in Markdown.
    trials: number of evaluations, including the initial points.
    problems: functions that make the instances of each problem, by name.
    searches: names of the searches, `auto` first.
    optima: proved optimal values, by problem; equal for all seeds.
    half_of: the search whose mean gap to the optima `auto` must halve without being worse on any problem; if None,
        `auto` must be ahead of each search on each problem by its interval.
    draw: draws the initial points, given an instance and a seed.
    """

    title: str
    text: str
    trials: int
    problems: Mapping[str, Maker]
    searches: tuple[str, ...]
    optima: Mapping[str, float] = field(default_factory=dict)
    half_of: str | None = None
    draw: Callable[[Task, int], list[Point]] = _draw_any


def _draw_valid(task: Task, seed: int) -> list[Point]:
    return sequences.draw_feasible(task, N_INITIAL, seed)


ON_ORDERS = ("auto", "climbing by swaps", "hill-climbing", "annealing", "evolution", "Optuna TPE", "random")
ON_SUBSETS = ("auto", "bits with a predicate", "hill-climbing", "annealing", "evolution", "random")
ON_SEQUENCES = ("auto", "hill-climbing", "annealing", "evolution", "random")
ON_ONE_LENGTH = (*ON_SEQUENCES, "Optuna TPE")
ON_REACTIONS = (
    *("auto", "auto on plain categories", "BoTorch Tanimoto", "Optuna GP", "Optuna TPE"),
    *("tpe", "evolution", "random"),
)
GROUPS: dict[str, Group] = {
    "job shop": Group("Job shop", job_shop.TEXT, 300, job_shop.JOB_SHOPS, ON_ORDERS, job_shop.OPTIMA, ON_ORDERS[1]),
    "orders": Group("Assignments, tours and rankings", orders.TEXT, 200, orders.ORDERS, ON_ORDERS),
    "subsets": Group("Features and nodes", subsets.TEXT, 70, subsets.SUBSETS, ON_SUBSETS),
    "motifs": Group("Hidden motifs", sequences.MOTIF_TEXT, 100, {"motifs": sequences.hidden_motif}, ON_SEQUENCES),
    "rna": Group("RNA inverse folding", sequences.RNA_TEXT, 310, sequences.RNA, ON_ONE_LENGTH),
    "ehrlich": Group(
        *("Banned steps", sequences.EHRLICH_TEXT, 310, sequences.EHRLICH, ON_ONE_LENGTH),
        optima=dict.fromkeys(sequences.EHRLICH, -1.0),
        draw=_draw_valid,
    ),
    "reactions": Group("Reactions", reactions.TEXT, 50, reactions.REACTIONS, ON_REACTIONS),
}
PROBLEMS = {name: group for group in GROUPS.values() for name in group.problems}


def make_task(problem: str, seed: int, data: Path | None) -> Task:
    """Make an instance of a problem.

    problem: one of `PROBLEMS`.
    seed: seed of the instance, from 0.
    data: folder of the data files, if any.

    Raises FileNotFoundError if the data file of the problem does not exist.
    """
    return PROBLEMS[problem].problems[problem](seed, data)
