"""Samplers of Optuna, which are told limits as constraints, and a failure as one more that is broken."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from benchmarks.experiments.digits import Digits
from benchmarks.experiments.instances import Instance, Measured
from benchmarks.experiments.telling import Record
from benchmarks.peers.tasks import Point

BROKEN = "broken"  # the attribute of a trial that has the violations


class OptunaSearch:
    """A sampler of Optuna by its defaults.

    sampler: "TPE", "GP" or "NSGA-II".
    instance: of the problem.
    initial: points to begin with.
    seed: of the sampler.
    """

    def __init__(self, sampler: str, instance: Instance, initial: Sequence[Point], seed: int) -> None:
        import optuna as peer

        peer.logging.set_verbosity(peer.logging.ERROR)
        warnings.simplefilter("ignore")
        options: dict[str, Any] = {"seed": seed}
        if instance.bounds or instance.may_fail:
            options["constraints_func"] = lambda trial: trial.user_attrs[BROKEN]
        if sampler == "NSGA-II":
            made: Any = peer.samplers.NSGAIISampler(population_size=2 * len(initial), **options)
        elif sampler == "TPE":
            made = peer.samplers.TPESampler(n_startup_trials=len(initial), multivariate=True, **options)
        else:
            made = peer.samplers.GPSampler(n_startup_trials=len(initial), **options)
        directions: Any = ["minimize"] * instance.n_objectives
        self.study = peer.create_study(sampler=made, directions=directions)
        self.record, self.digits = Record(instance), Digits(instance.space)
        for point in initial:
            row = self.digits.encode(point)
            self.study.enqueue_trial({f"d{i}": number for i, number in enumerate(row)})
        self._trials: list[Any] = []

    def ask(self) -> Point:
        trial = self.study.ask()
        self._trials.append(trial)
        row = []
        for i, digit in enumerate(self.digits.digits):
            name = f"d{i}"
            row.append(
                trial.suggest_int(name, 0, digit.size - 1)
                if digit.is_ordered
                else trial.suggest_categorical(name, list(range(digit.size)))
            )
        return self.digits.decode(row)

    def tell(self, point: Point, measured: Measured | None) -> None:
        for told in self.record.add(point, measured):
            trial = self._trials[told.n]
            trial.set_user_attr(BROKEN, [*told.violations, *self._say_failed(told.failed)])
            self.study.tell(trial, list(told.objectives))

    def _say_failed(self, failed: bool) -> list[float]:
        return [1.0 if failed else -1.0] if self.record.instance.may_fail else []

    def recommend(self) -> Point:
        return self.record.find_best()
