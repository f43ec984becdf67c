"""The groups of problems in the comparison: their instances, trials and searches, and the targets of `auto`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.experiments import batches, costs, failures, limits, noise, objectives
from benchmarks.experiments.instances import Instance
from benchmarks.experiments.judging import TAKE_FAILING, TAKE_FRONT, TAKE_LIMITED, TAKE_NOISY, Maker
from benchmarks.peers.before import BEFORE
from benchmarks.peers.run import Run

OURS = "auto"


@dataclass(frozen=True)
class Group:
    """Problems that are compared in the same way.

    title: title of the section on the page.
    text: description of the problems, in Markdown.
    trials: number of evaluations, including the initial points.
    makers: functions that make the instances of each problem, by name.
    taking: performs a run, given the maker and the arguments of `benchmarks.experiments.run.take`.
    searches: names of the searches; the others are compared with the first.
    measures: names of the compared numbers; empty if evaluations are counted.
    longer: number of evaluations of a search, if it is not `trials`.
    absent: searches that are not run, by problem.
    wanted: on how many problems `auto` must be ahead of all rivals by its interval; 0 for no such target.
    rivals: the searches of the target `wanted`.
    judged: the measures of the target `wanted`.
    level: problems and searches that `auto` must not be behind by its interval, in the first measure.
    most: the largest mean that `auto` may have, by problem and measure.
    most_ratio: the largest multiple of the first search's number that others may have; 0 for no such target.
    is_drawn: whether the best values on a problem are plotted.
    """

    title: str
    text: str
    trials: int
    makers: Mapping[str, Maker]
    taking: Callable[..., dict[str, Any]]
    searches: tuple[str, ...]
    measures: tuple[str, ...]
    longer: Mapping[str, int] = field(default_factory=dict)
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wanted: int = 0
    rivals: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    level: tuple[tuple[str, str], ...] = ()
    most: Mapping[tuple[str, str], float] = field(default_factory=dict)
    most_ratio: float = 0.0
    is_drawn: bool = True

    @property
    def problems(self) -> tuple[str, ...]:
        """The names of the problems."""
        return tuple(self.makers)

    def list_searches(self, problem: str) -> list[str]:
        """Return the searches that are run on a problem.

        problem: a problem of the group.
        """
        return [search for search in self.searches if search not in self.absent.get(problem, ())]

    def list_runs(self, problem: str, seed: int) -> list[Run]:
        """Return the runs on a problem with a seed.

        problem: a problem of the group.
        seed: seed of the instance and the initial points.
        """
        return [
            Run(problem, search, seed, self.longer.get(search, self.trials)) for search in self.list_searches(problem)
        ]


CONSTRAINED = ("Optuna TPE", "Optuna GP", "BoTorch", "evolution", "random")
FRONTS = ("BoTorch", "Optuna GP", "Optuna TPE", "Optuna NSGA-II", "SMAC3", "evolution", "random")
GROUPS: dict[str, Group] = {
    "noise": Group(
        "Noise",
        noise.TEXT,
        80,
        noise.NOISE,
        TAKE_NOISY,
        (OURS, BEFORE, "BoTorch", "evolution", "random"),
        ("recommended", "best told"),
        absent=dict.fromkeys(noise.QUIET, ("BoTorch", "evolution", "random")),
        wanted=len(noise.NOISY),
        rivals=(BEFORE,),
        judged=("recommended",),
        level=(*((name, "BoTorch") for name in noise.NOISY), *((name, BEFORE) for name in noise.QUIET)),
        is_drawn=False,
    ),
    "ehrlich": Group(
        "Failures: banned steps",
        failures.EHRLICH_TEXT,
        310,
        failures.EHRLICH,
        TAKE_FAILING,
        (OURS, BEFORE, "evolution", "Optuna TPE", "random"),
        ("best", "failed"),
        absent={"ehrlich holo 15": ("Optuna TPE",), "ehrlich holo 32": (BEFORE, "Optuna TPE")},
        most={
            ("ehrlich holo 15", "failed"): 0.2,
            ("ehrlich holo 15", "best"): -1.0,
            ("ehrlich holo 32", "best"): -0.5,
        },
    ),
    "kernels": Group(
        "Failures: hidden conditions",
        failures.KERNELS_TEXT,
        150,
        failures.KERNELS,
        TAKE_FAILING,
        (OURS, BEFORE, "evolution", "Optuna TPE", "Optuna GP", "random"),
        ("best", "failed"),
        wanted=len(failures.KERNELS),
        rivals=("evolution", "Optuna TPE"),
        judged=("best", "failed"),
    ),
    "limits": Group(
        "Outcome constraints",
        limits.TEXT,
        100,
        limits.LIMITS,
        TAKE_LIMITED,
        (OURS, *CONSTRAINED),
        ("best",),
        wanted=3,
        rivals=("Optuna GP", "BoTorch"),
        judged=("best",),
    ),
    "objectives": Group(
        "Two objectives",
        objectives.TWO_TEXT,
        100,
        objectives.TWO,
        TAKE_FRONT,
        (OURS, *FRONTS),
        ("hypervolume lost",),
        wanted=3,
        rivals=("BoTorch", "Optuna GP", "Optuna NSGA-II", "SMAC3"),
        judged=("hypervolume lost",),
    ),
    "three objectives": Group(
        "Three objectives",
        objectives.THREE_TEXT,
        100,
        objectives.THREE,
        TAKE_FRONT,
        (OURS, "BoTorch", "Optuna TPE", "Optuna NSGA-II", "evolution", "random"),
        ("hypervolume lost",),
    ),
    "batch": Group(
        "Batches of 8",
        batches.FEW_TEXT,
        100,
        batches.FEW,
        batches.take_batches,
        (batches.SEQUENTIAL, "batches of 8"),
        (),
        longer={"batches of 8": 160},
        most_ratio=1.15,
        is_drawn=False,
    ),
    "asynchronous": Group(
        "64 evaluations in flight",
        batches.MANY_TEXT,
        640,
        batches.MANY,
        batches.take_batches,
        (batches.SEQUENTIAL, "64 asynchronous"),
        (),
        longer={"64 asynchronous": 850},
        most_ratio=1.3,
        is_drawn=False,
    ),
    **{
        f"cost {n}": Group(
            f"Cost of a suggestion {name}",
            costs.TEXT,
            n + 1 + costs.N_TIMED,
            {name: costs.make_instance},
            partial(costs.take_seconds, n),
            costs.KINDS,
            ("seconds",),
            most_ratio=3.0,
            is_drawn=False,
        )
        for name, n in costs.COSTS.items()
    },
}
PROBLEMS = {name: group for group in GROUPS.values() for name in group.problems}
SEARCHES = tuple(dict.fromkeys(search for group in GROUPS.values() for search in group.searches))


def make_task(problem: str, seed: int, data: Path | None) -> Instance:
    """Make an instance of a problem.

    problem: one of `PROBLEMS`.
    seed: seed of the instance, from 0.
    data: folder of the data files, if any.

    Raises FileNotFoundError if the data file of the problem does not exist.
    """
    return PROBLEMS[problem].makers[problem](seed, data)
