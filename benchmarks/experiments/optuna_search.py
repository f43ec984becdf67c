"""Samplers of Optuna, which observe limits as constraints, and a failure as a further violated constraint."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from benchmarks.experiments.digits import Digits
from benchmarks.experiments.instances import Instance, Measured
from benchmarks.experiments.telling import Record
from benchmarks.peers.tasks import Point

BROKEN = "broken"  # the user attribute of a trial that stores the violations


class OptunaSearch:
    """A sampler of Optuna with its defaults.

    sampler: "TPE", "GP" or "NSGA-II".
    instance: instance of the problem.
    initial: initial points.
    seed: seed of the sampler.
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
        for observed in self.record.add(point, measured):
            trial = self._trials[observed.n]
            trial.set_user_attr(BROKEN, [*observed.violations, *self._constrain_failure(observed.failed)])
            self.study.tell(trial, list(observed.objectives))

    def _constrain_failure(self, failed: bool) -> list[float]:
        return [1.0 if failed else -1.0] if self.record.instance.may_fail else []

    def recommend(self) -> Point:
        return self.record.find_best()
