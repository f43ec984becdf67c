"""The compared searches, ours and those of peers: each suggests a point and then observes the measured numbers.

Peers are imported inside functions, because they may be installed in a separate environment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, Protocol

import bostruct as bo
from benchmarks.experiments.botorch_search import BoTorchSearch
from benchmarks.experiments.instances import Instance, Measured
from benchmarks.experiments.optuna_search import OptunaSearch
from benchmarks.experiments.smac_search import SMACSearch
from benchmarks.peers.before import BEFORE, AutoBefore
from benchmarks.peers.tasks import Point


class Search(Protocol):
    """A search, whose `ask` and `tell` are called in turn."""

    def ask(self) -> Point:
        """Return the next point."""
        ...

    def tell(self, point: Point, measured: Measured | None) -> None:
        """Observe the numbers measured at a point; None if the evaluation failed."""
        ...

    def recommend(self) -> Point:
        """Return the evaluated point that the search recommends."""
        ...


Make = Callable[[Instance, Sequence[Point], int], Search]  # takes an instance, the initial points and a seed


class Ours:
    """A method of this package.

    method: name of the method.
    instance: instance of the problem.
    initial: initial points.
    seed: seed of the study.
    """

    def __init__(self, method: str, instance: Instance, initial: Sequence[Point], seed: int) -> None:
        self.instance = instance
        self.study = open_study(instance, method, initial, seed)
        self._trial: Any = None

    def ask(self) -> Point:
        self._trial = self.study.ask()
        return self._trial.point

    def tell(self, point: Point, measured: Measured | None) -> None:
        del point  # the running trial has it
        tell_study(self.study, self._trial, self.instance, measured)

    def recommend(self) -> Point:
        return self.study.result.recommended.trial.point


class Before:
    """`auto` of an earlier revision, on an instance with one objective and no limits.

    instance, initial, seed: see `Ours`.
    """

    def __init__(self, instance: Instance, initial: Sequence[Point], seed: int) -> None:
        self._search = AutoBefore(instance.space, initial, seed)
        self.ask, self.recommend = self._search.ask, self._search.recommend

    def tell(self, point: Point, measured: Measured | None) -> None:
        del point  # the running trial has it
        self._search.tell(None if measured is None else measured.objectives[0])


def open_study(instance: Instance, method: str, initial: Sequence[Point], seed: int) -> bo.Study:
    """Open a study with the limits and the number of objectives of an instance.

    instance: instance of the problem.
    method: name of the method.
    initial: initial points.
    seed: seed of the study.
    """
    declared: dict[str, Any] = {}
    if instance.bounds:
        declared["constraints"] = {name: ("<=", bound) for name, bound in instance.bounds.items()}
    if instance.n_objectives > 1:
        declared["directions"] = ["minimize"] * instance.n_objectives
    return bo.Study(instance.space, method=method, seed=seed, initial_points=initial, **declared)


def tell_study(study: bo.Study, trial: Any, instance: Instance, measured: Measured | None) -> None:
    """Report the result of a running trial to a study.

    study: a study from `open_study`.
    trial: a running trial.
    instance: instance of the problem.
    measured: measured numbers; None if the evaluation failed.
    """
    if measured is None:
        study.tell(trial, infeasible="no value")
        return
    value: Any = measured.objectives if instance.n_objectives > 1 else measured.objectives[0]
    if instance.bounds:
        value = {"value": value, "constraints": dict(zip(instance.bounds, measured.limited, strict=True))}
    study.tell(trial, value)


def list_steps(search: Search) -> Generator[Point, Measured | None, None]:
    """Yield the points of a search, and report to it the numbers that are sent for each.

    search: a new search.
    """
    while True:
        point = search.ask()
        search.tell(point, (yield point))


OURS = ("auto", "evolution", "random")
SEARCHES: dict[str, Make] = {
    **{name: partial(Ours, name) for name in OURS},
    BEFORE: Before,
    **{f"Optuna {name}": partial(OptunaSearch, name) for name in ("TPE", "GP", "NSGA-II")},
    "BoTorch": BoTorchSearch,
    "SMAC3": SMACSearch,
}
