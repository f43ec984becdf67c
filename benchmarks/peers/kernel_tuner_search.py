"""Strategies of Kernel Tuner (van Werkhoven 2019) as searches that respect the conditions of a kernel.

They draw their own points, so they cannot start with the initial points of the other searches. They handle a failed
configuration as an error, like a configuration that does not compile.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.searches import Point, Steps, Task, list_unconditional
from benchmarks.peers.stepping import step_through

BUDGET = 10_000  # evaluations, more than a run takes


def kernel_tuner(strategy: str, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by a strategy of Kernel Tuner with its defaults, restarted when it ends.

    strategy: the name of its module.
    task: its variables are choices without conditions.
    initial: not used, because the strategy draws its own points.
    seed: of the global random generators.
    """
    del initial
    from kernel_tuner.interface import Options
    from kernel_tuner.searchspace import Searchspace
    from kernel_tuner.util import ErrorConfig, TuningBudget

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the state that this peer draws from
    choices = {name: list(variable.choices) for name, variable in list_unconditional(task.space)}
    names = list(choices)
    configurations = (dict(zip(names, own, strict=True)) for own in itertools.product(*choices.values()))
    allowed = [own for own in configurations if all(allows(own) for allows in task.space.constraints)]
    cache = {"tune_params": choices, "cache": dict(enumerate(allowed))}
    space = Searchspace(None, None, None, from_cache=cache)
    tune = import_module(f"kernel_tuner.strategies.{strategy}").tune

    def run(value_of: Callable[[Point], float]) -> None:
        while True:
            options = Options(
                strategy_options=Options(),
                objective=["time"],
                objective_higher_is_better=[False],
                budget=TuningBudget(max_fevals=BUDGET),
                verbose=False,
            )
            tune(space, _Runner(names, value_of, ErrorConfig), options)

    yield from step_through(run)


class _Runner:
    """Measures configurations for a strategy and caches the results, as Kernel Tuner's cache does."""

    def __init__(self, names: Sequence[str], value_of: Callable[[Point], float], failed: Callable[[], Any]) -> None:
        self.names, self.value_of, self.failed = names, value_of, failed
        self.cache: dict[tuple[Any, ...], dict[str, Any]] = {}

    def add_strategy_time(self, seconds: float) -> None:
        """Ignore the seconds that a strategy took."""

    def run(self, configurations: Sequence[Sequence[Any]], options: Any) -> list[dict[str, Any]]:
        """Return the result of each configuration."""
        return [self._measure(tuple(own), options) for own in configurations]

    def _measure(self, own: tuple[Any, ...], options: Any) -> dict[str, Any]:
        if own not in self.cache:
            point = dict(zip(self.names, own, strict=True))
            value = self.value_of(point)
            options.budget.add_evaluations(1)
            self.cache[own] = point | ({"__error__": self.failed()} if math.isnan(value) else {"time": value})
        return dict(self.cache[own])
