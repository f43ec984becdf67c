"""The tree-structured Parzen estimator (Bergstra et al. 2011), as Optuna has it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bostruct.checks import check_integer, optional_import, require
from bostruct.contracts import (
    Batch,
    Choice,
    HasChoices,
    HasContinuous,
    HasDecisions,
    HistoryView,
    Infeasible,
    Json,
    Point,
    State,
    Suggestion,
)
from bostruct.searchers.proposals import fall_back

ASKS = 32


class NamedDecisions(HasChoices, HasDecisions, Protocol):
    """A domain all of whose points have the same choices, decided in the same order."""


@dataclass(frozen=True)
class TPE:
    """Optuna's `TPESampler` as a searcher, told all trials anew at every suggestion; running trials count as bad.

    Ordered choices are integers there, continuous ones floats. Where a suggested point was seen or breaks a constraint,
    Optuna is asked again, 32 times at most.

    domain: its points all have the same choices, decided in the same order.
    n_startup: number of random points first, at least 1; 10 as in Optuna.

    Raises TypeError, ValueError, and MissingExtra without Optuna.
    """

    domain: NamedDecisions
    n_startup: int = 10

    def __post_init__(self) -> None:
        check_integer("n_startup", self.n_startup, 1)
        optional_import("optuna", "optuna")

    def settings(self) -> dict[str, Json]:
        return {"n_startup": self.n_startup}

    def initial_state(self) -> State:
        return None

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Return the next point to evaluate; raises SpaceExhausted when no unseen point is left.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        rng: the only source of chance.
        """
        if len(history.seen) < self.n_startup:
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "initial"})
        for x in self._ask_optuna(history, rng):
            if self.domain.key(x) not in history.seen:
                return Suggestion(x, state, {"origin": "model"})
        why = f"{ASKS} suggestions of the sampler were seen or break constraints"
        return fall_back(self.domain, history, state, rng, why)

    def _ask_optuna(self, history: HistoryView, rng: np.random.Generator) -> Iterator[Point]:
        """Yield the valid points among those that Optuna suggests."""
        import optuna

        levels = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            seed = int(rng.integers(2**31))
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=self.n_startup, constant_liar=True)
            study = optuna.create_study(sampler=sampler)
            known = [(x, float(value)) for x, value in zip(history.completed, history.values, strict=True)]
            for x, value in [*known, *((x, None) for x in history.running)]:
                study.add_trial(_as_trial(self.domain.coordinates(x), value))
        finally:
            optuna.logging.set_verbosity(levels)
        template = self.domain.sample(1, rng)
        choices = self.domain.coordinates(template[0])
        distributions = {one.path: _distribution(one) for one in choices}
        for _ in range(ASKS):
            found = study.ask(distributions).params
            try:
                yield self.domain.roll_out(self._decisions(choices, found, template), rng)
            except Infeasible:
                continue

    def _decisions(self, choices: Sequence[Choice], found: Mapping[str, float], template: Batch) -> list[int]:
        """Return the decision of each choice; template: a batch of one point, which says what a share stands for."""
        shares = [found[one.path] for one in choices if math.isinf(one.count)]
        if not shares:
            return [round(found[one.path]) for one in choices]
        numbers = require(self.domain, HasContinuous, "tpe").with_shares(template, np.array([shares]))
        at_numbers = self.domain.decisions(numbers[0])
        pairs = zip(choices, at_numbers, strict=True)
        return [at if math.isinf(one.count) else round(found[one.path]) for one, at in pairs]


def _distribution(one: Choice) -> Any:
    import optuna

    if math.isinf(one.count):
        return optuna.distributions.FloatDistribution(0.0, 1.0)
    last = int(one.count) - 1
    if one.ordered:
        return optuna.distributions.IntDistribution(0, last)
    return optuna.distributions.CategoricalDistribution(range(last + 1))


def _as_trial(choices: Any, value: float | None) -> Any:
    import optuna

    running = optuna.trial.TrialState.RUNNING
    return optuna.trial.create_trial(
        state=running if value is None else optuna.trial.TrialState.COMPLETE,
        value=value,
        params={one.path: one.value if math.isinf(one.count) else int(one.value) for one in choices},
        distributions={one.path: _distribution(one) for one in choices},
    )
