"""SMAC3's facade for hyperparameters, with ParEGO for several objectives (Knowles 2006)."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.experiments.digits import Digit, Digits
from benchmarks.experiments.instances import Instance, Measured
from benchmarks.experiments.telling import Record
from benchmarks.peers.tasks import Point


class SMACSearch:
    """SMAC3 without its own initial design; it does not observe limits, since it does not support them.

    instance: instance of the problem.
    initial: initial points.
    seed: seed of the facade.
    """

    def __init__(self, instance: Instance, initial: Sequence[Point], seed: int) -> None:
        import ConfigSpace as peer_space
        from smac import HyperparameterOptimizationFacade as Facade
        from smac import Scenario
        from smac.multi_objective.parego import ParEGO

        warnings.simplefilter("ignore")
        self.record, self.digits = Record(instance), Digits(instance.space)
        self.space = peer_space.ConfigurationSpace(seed=seed)
        self.space.add([_make_variable(peer_space, f"d{i}", one) for i, one in enumerate(self.digits.digits)])
        self.names = [f"o{k}" for k in range(instance.n_objectives)]
        scenario = Scenario(
            self.space,
            deterministic=True,
            n_trials=10_000,
            seed=seed,
            objectives=self.names,
            output_directory=Path(tempfile.mkdtemp()),
        )
        several: dict[str, Any] = {"multi_objective_algorithm": ParEGO(scenario)} if len(self.names) > 1 else {}
        design = Facade.get_initial_design(scenario, n_configs=0)
        self.facade = Facade(scenario, _never_called, initial_design=design, logging_level=50, **several)
        self._initial = list(initial)
        self._asked: list[Any] = []

    def ask(self) -> Point:
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo

        if self._initial:
            row = self.digits.encode(self._initial.pop(0))
            values = {f"d{i}": number for i, number in enumerate(row)}
            asked: Any = TrialInfo(Configuration(self.space, values=values), seed=0)
        else:
            asked = self.facade.ask()
        self._asked.append(asked)
        return self.digits.decode([int(asked.config[f"d{i}"]) for i in range(len(self.digits.digits))])

    def tell(self, point: Point, measured: Measured | None) -> None:
        from smac.runhistory.dataclasses import TrialValue

        for observed in self.record.add(point, measured):
            costs: Any = list(observed.objectives) if len(self.names) > 1 else observed.objectives[0]
            self.facade.tell(self._asked[observed.n], TrialValue(cost=costs), save=False)

    def recommend(self) -> Point:
        return self.record.find_best()


def _make_variable(peer: Any, name: str, digit: Digit) -> Any:
    if digit.is_ordered:
        return peer.UniformIntegerHyperparameter(name, 0, digit.size - 1)
    return peer.CategoricalHyperparameter(name, list(range(digit.size)))


def _never_called(configuration: Any, seed: int = 0) -> float:
    raise RuntimeError(f"SMAC3 asked for the value of {configuration} under seed {seed} itself")
