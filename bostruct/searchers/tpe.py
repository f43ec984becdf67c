"""The tree-structured Parzen estimator (Bergstra et al. 2011) of Optuna."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bostruct.checks import check_integer, optional_import
from bostruct.contracts import Choice, HistoryView, Infeasible, Point, Searcher, State, Suggestion, TreeDomain
from bostruct.searchers.proposals import fall_back

ASKS = 32


@dataclass(frozen=True)
class TPE(Searcher):
    """Optuna's `TPESampler` as a searcher; each suggestion passes it all trials, and running trials count as bad.

    Ordered choices become integers, and continuous choices floats. A choice whose number of values depends on other
    choices becomes one Optuna parameter per number. At most 32 suggestions are drawn until one is unseen and valid.

    n_startup: number of initial random points, at least 1; 10 as in Optuna.

    Raises TypeError, ValueError, and MissingExtra if Optuna is not installed.
    """

    domain: TreeDomain
    n_startup: int = 10

    def __post_init__(self) -> None:
        check_integer("n_startup", self.n_startup, 1)
        optional_import("optuna", "optuna")

    @property
    def n_initial(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.n_startup

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_startup:
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "initial"})
        for x in self._ask_optuna(history, rng):
            if self.domain.key(x) not in history.seen:
                return Suggestion(x, state, {"origin": "model"})
        why = f"{ASKS} suggestions of the sampler were seen or break constraints"
        return fall_back(self.domain, history, state, rng, why)

    def _ask_optuna(self, history: HistoryView, rng: np.random.Generator) -> Iterator[Point]:
        """Yield Optuna's suggestions that are valid points."""
        import optuna

        levels = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            seed = int(rng.integers(2**31))
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=self.n_startup, constant_liar=True)
            study = optuna.create_study(sampler=sampler)
            counts: dict[str, float] = {}
            known = [(x, float(value)) for x, value in zip(history.completed, history.values, strict=True)]
            for x, value in [*known, *((x, None) for x in history.running)]:
                study.add_trial(_as_trial(self.domain.coordinates(x), value, counts))
        finally:
            optuna.logging.set_verbosity(levels)
        for _ in range(ASKS):
            trial, made = study.ask(), list[int]()
            while (one := self.domain.choice_after(made)) is not None:
                made.append(self.domain.decide(one.path, _suggest_with_optuna(trial, one, counts)))
            try:
                yield self.domain.roll_out(made, rng)
            except Infeasible:
                continue


def _distribution(one: Choice) -> Any:
    import optuna

    if math.isinf(one.count):
        return optuna.distributions.FloatDistribution(0.0, 1.0)
    last = int(one.count) - 1
    if one.ordered:
        return optuna.distributions.IntDistribution(0, last)
    return optuna.distributions.CategoricalDistribution(range(last + 1))


def _parameter(one: Choice, counts: dict[str, float]) -> str:
    """Return Optuna's name of a choice: its path, with its number of values if an earlier choice had another number.

    counts: the number of values of the first choice at each path; this function adds to it.
    """
    is_first = counts.setdefault(one.path, one.count) == one.count
    return one.path if is_first else f"{one.path} of {one.count:g}"


def _suggest_with_optuna(trial: Any, one: Choice, counts: dict[str, float]) -> float:
    """Suggest a value of one coordinate by Optuna."""
    name = _parameter(one, counts)
    if math.isinf(one.count):
        return trial.suggest_float(name, 0.0, 1.0)
    last = int(one.count) - 1
    return trial.suggest_int(name, 0, last) if one.ordered else trial.suggest_categorical(name, range(last + 1))


def _as_trial(choices: Any, value: float | None, counts: dict[str, float]) -> Any:
    import optuna

    running = optuna.trial.TrialState.RUNNING
    return optuna.trial.create_trial(
        state=running if value is None else optuna.trial.TrialState.COMPLETE,
        value=value,
        params={_parameter(one, counts): one.value if math.isinf(one.count) else int(one.value) for one in choices},
        distributions={_parameter(one, counts): _distribution(one) for one in choices},
    )
