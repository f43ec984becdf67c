"""The searches that are compared, ours and peers': each is a generator that yields points and is sent their values.

A search starts with the initial points of its seed, unless it has to draw its own. Peers are imported inside functions,
because they may be installed in a separate environment.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from benchmarks.peers.tasks import Point, Task

Steps = Generator[Point, float, None]
Search = Callable[[Task, Sequence[Point], int], Steps]  # of a task, the initial points and a seed


def ours(method: str, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by a method of this package."""
    return ask_and_tell(bo.Study(task.space, method=method, seed=seed, initial_points=initial))


def ask_and_tell(study: bo.Study) -> Steps:
    """Yield the points that a study suggests, and tell it their values, or that a point is infeasible."""
    while True:
        trial = study.ask()
        value = yield trial.point
        if math.isnan(value):
            study.tell(trial, infeasible="no value")
        else:
            study.tell(trial, value)


def penalize(search: Search, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by a peer that supports no failures: a failure is reported as the worst value so far, or 0 if none."""
    steps = search(task, initial, seed)
    point, worst = next(steps), -math.inf
    while True:
        value = yield point
        worst = worst if math.isnan(value) else max(worst, value)
        reported = value if not math.isnan(value) else worst if math.isfinite(worst) else 0.0
        point = steps.send(reported)


def exists(space: bo.Space, name: str, point: Point) -> bool:
    """Return whether a variable is active, given a point with the variables before it; conditions are values here."""
    return all(parent in point and point[parent] == value for parent, value in space.variables[name].when.items())


def optuna(sampler: str, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by a sampler of Optuna, with a define-by-run search space."""
    import optuna as peer

    peer.logging.set_verbosity(peer.logging.ERROR)
    warnings.simplefilter("ignore")
    options = {"multivariate": True, "group": True} if sampler == "TPESampler" else {}
    study = peer.create_study(
        sampler=getattr(peer.samplers, sampler)(seed=seed, n_startup_trials=len(initial), **options)
    )
    variables = task.space.variables
    for point in initial:
        study.enqueue_trial({name: _to_optuna(variables[name], value) for name, value in point.items()})
    while True:
        trial = study.ask()
        found: dict[str, Any] = {}
        for name, variable in variables.items():
            if exists(task.space, name, found):
                found[name] = _suggest(trial, name, variable)
        study.tell(trial, (yield found))


class Range(NamedTuple):
    """A variable that is a number.

    low, high: its bounds.
    log: True if its scale is logarithmic.
    """

    low: float
    high: float
    log: bool

    def at(self, share: float, kind: str) -> float | int:
        """Return the number at a share of the range, on its scale; an integer if the kind is "Integer"."""
        low, high = (np.log(v) if self.log else v for v in (self.low, self.high))
        value = low + min(max(share, 0.0), 1.0) * (high - low)
        value = float(min(max(np.exp(value) if self.log else value, self.low), self.high))
        return round(value) if kind == "Integer" else value


def range_of(variable: Any) -> Range | None:
    """Return the range of a number; None for any other variable."""
    if variable.kind not in ("Real", "Integer"):
        return None
    described = variable.describe()
    return Range(described["low"], described["high"], described.get("log", False))


def _suggest(trial: Any, name: str, variable: Any) -> Any:
    if own := range_of(variable):
        suggest = trial.suggest_float if variable.kind == "Real" else trial.suggest_int
        return suggest(name, own.low, own.high, log=own.log)
    if variable.ordered:  # this peer represents orders by integers
        return variable.choices[trial.suggest_int(name, 0, variable.size - 1)]
    return trial.suggest_categorical(name, variable.choices)


def _to_optuna(variable: Any, value: Any) -> Any:
    return variable.choices.index(value) if range_of(variable) is None and variable.ordered else value


def list_unconditional(space: bo.Space) -> list[tuple[str, Any]]:
    """Return the variables of a space with their names; raise ValueError if a variable has a condition."""
    variables = list(space.variables.items())
    if any(variable.when for _, variable in variables):
        raise ValueError("this peer has no conditions")
    return variables


def is_order(variable: Any) -> bool:
    """Return whether a peer treats a variable as a number: an order, or a bit, which is 0 or 1."""
    return variable.ordered or variable.size == 2


class Coder:
    """Points as vectors: numbers and orders as shares of their range, on their scale; categories by their position.

    categories: the number of choices of each category, by its index in the vector.
    orders: the values that each order takes in a vector, by its index in the vector.
    bounds: least and greatest value at each index.
    """

    def __init__(self, space: bo.Space) -> None:
        self.variables = list_unconditional(space)
        chosen = {i: v for i, (_, v) in enumerate(self.variables) if range_of(v) is None}
        self.categories = {i: v.size for i, v in chosen.items() if not is_order(v)}
        self.orders = {i: np.linspace(0.0, 1.0, v.size).tolist() for i, v in chosen.items() if is_order(v)}
        self.bounds = [(0.0, self.categories.get(i, 2) - 1.0) for i in range(len(self.variables))]

    def list_choices(self) -> list[np.ndarray]:
        """Return the values at each index of a vector; an empty list if a variable is a number."""
        own = self.orders | {i: list(range(n)) for i, n in self.categories.items()}
        return [np.array(own[i], dtype=np.float64) for i in range(len(own))] if len(own) == len(self.bounds) else []

    def encode(self, point: Point) -> np.ndarray:
        """Return the vector of a point (d,)."""
        return np.array([self._encode(i, variable, point[name]) for i, (name, variable) in enumerate(self.variables)])

    def decode(self, vector: np.ndarray) -> dict[str, Any]:
        """Return the point nearest to a vector (d,)."""
        return {name: self._decode(v, float(x)) for (name, v), x in zip(self.variables, vector, strict=True)}

    def _encode(self, i: int, variable: Any, value: Any) -> float:
        if (own := range_of(variable)) is None:
            position = list(variable.choices).index(value)
            return self.orders[i][position] if i in self.orders else float(position)  # exact: peers compare them
        low, high, x = (np.log(v) if own.log else v for v in (own.low, own.high, value))
        return float((x - low) / (high - low))

    @staticmethod
    def _decode(variable: Any, x: float) -> Any:
        if (own := range_of(variable)) is None:
            return variable.choices[round(x * (variable.size - 1) if is_order(variable) else x)]
        return own.at(x, variable.kind)


def smac(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by SMAC3's facade for hyperparameters, without its own initial design."""
    import tempfile
    from pathlib import Path

    import ConfigSpace as peer_space
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialInfo, TrialValue

    variables = {name: _smac_variable(peer_space, name, v) for name, v in task.space.variables.items()}
    configurations = peer_space.ConfigurationSpace(seed=seed)
    configurations.add(list(variables.values()))
    for name, variable in task.space.variables.items():
        for parent, value in variable.when.items():
            configurations.add(peer_space.EqualsCondition(variables[name], variables[parent], value))
    scenario = Scenario(
        configurations, deterministic=True, n_trials=10_000, seed=seed, output_directory=Path(tempfile.mkdtemp())
    )
    facade = HyperparameterOptimizationFacade(
        scenario,
        _never_called,
        initial_design=HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=0),
        logging_level=50,
    )
    for point in initial:
        configuration = peer_space.Configuration(configurations, values=dict(point))
        facade.tell(TrialInfo(configuration, seed=0), TrialValue(cost=(yield point)), save=False)
    while True:
        info = facade.ask()
        point = {name: _to_plain(value) for name, value in dict(info.config).items()}
        facade.tell(info, TrialValue(cost=(yield point)), save=False)


def _never_called(configuration: Any, seed: int = 0) -> float:
    raise RuntimeError(f"SMAC3 evaluated {configuration} with seed {seed} itself")


def _smac_variable(peer: Any, name: str, variable: Any) -> Any:
    if own := range_of(variable):
        make = peer.UniformFloatHyperparameter if variable.kind == "Real" else peer.UniformIntegerHyperparameter
        return make(name, own.low, own.high, log=own.log)
    make = peer.OrdinalHyperparameter if variable.ordered else peer.CategoricalHyperparameter
    return make(name, list(variable.choices))


def _to_plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


OWN: dict[str, Search] = {name: partial(ours, name) for name in ("auto", "smac", "evolution", "random")}
PEERS: dict[str, Search] = {  # by the name of their package, with at most one word more
    "Optuna TPE": partial(penalize, partial(optuna, "TPESampler")),
    "Optuna GP": partial(penalize, partial(optuna, "GPSampler")),
    "SMAC3": partial(penalize, smac),
}
ON_CHOICES: dict[str, Search] = {
    name: partial(ours, name) for name in ("combo", "bocs", "hill-climbing", "annealing")
}  # in addition to the others, on problems without numbers
