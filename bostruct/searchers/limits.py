"""Scores under limits: what a point promises, times the chance that it keeps them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from bostruct.checks import has_capability, require_gradient
from bostruct.contracts import (
    Acquisition,
    Array,
    Batch,
    Chance,
    HasOutputs,
    HasScoreGradient,
    HistoryView,
    LogScoreBuilder,
    Posterior,
    Prediction,
    Score,
    State,
)
from bostruct.goals.pareto import is_feasible
from bostruct.searchers.scores import AcquisitionScore, believe_where_possible
from bostruct.searchers.views import Take, keep

BOUND = 0.0  # of a slack: a limit is kept at and below it
LEAST_CHANCE = 0.1  # that a limit is kept which was told to be: with noise a lucky number is no proof


@dataclass(frozen=True, eq=False)
class ProductScore:
    """A product of worths, as the sum of their logarithms.

    scores: of each worth, at least one; they must be logarithms.
    """

    scores: Sequence[Score]

    def __call__(self, xs: Batch) -> Array:
        """Return the score of each of m points (m,)."""
        return np.sum([score(xs) for score in self.scores], axis=0)

    def upper_bounds(self, xs: Batch) -> Array:
        """Return bounds never below the score (m,).

        xs: m points.
        """
        return np.sum([score.upper_bounds(xs) for score in self.scores], axis=0)

    def believe(self, xs: Batch) -> ProductScore:
        """Return the score once points are being evaluated: `CanBelieve`.

        xs: these points.
        """
        return ProductScore([believe_where_possible(score, xs) for score in self.scores])

    def vary_shares(self, xs: Batch) -> Callable[[Array], tuple[Array, Array]]:
        """Return the score of m points as a function of their continuous coordinates.

        xs: m points, whose other coordinates stay.

        Raises TypeError where a score has no gradient.
        """
        varied = [require_gradient("score", score, HasScoreGradient).vary_shares(xs) for score in self.scores]

        def at_shares(shares: Array) -> tuple[Array, Array]:
            values, gradients = zip(*(vary(shares) for vary in varied), strict=True)
            return np.sum(values, axis=0), np.sum(gradients, axis=0)

        return at_shares


@dataclass(frozen=True, eq=False)
class ScoredChance:
    """A chance whose logarithm is a score.

    score: the logarithm of a chance.
    """

    score: Score

    def log_chance(self, xs: Batch) -> Array:
        """Return the logarithm of the chance of each of m points (m,), at most 0.

        xs: m points.
        """
        return self.score(xs)


@dataclass(frozen=True)
class WithinLimits:
    """A builder of scores that multiplies what a point promises by the chance that it keeps all limits.

    What it promises is measured against the points that keep all limits (Gelbart et al. 2014, Gardner et al. 2014), as
    `find_kept` finds them. Where no point does yet, the chance alone is the score.

    score: of the objectives, given the points that keep all limits; its scores must be logarithms.
    chance: log P(f < incumbent) of a slack and of the incumbent 0, such as `ProbabilityOfImprovement`; a logarithm.
    take: the domain's, chooses points of a batch.
    n_objectives: the number of outputs that are objectives, at least 1; all further outputs are slacks.

    Raises ValueError where `score` or `chance` are no logarithms.
    """

    score: LogScoreBuilder
    chance: Acquisition
    take: Take
    n_objectives: int = 1

    def __post_init__(self) -> None:
        for name, one in (("score", self.score), ("chance", self.chance)):
            if not one.is_logarithm:
                raise ValueError(f"{name}: chances multiply what is a logarithm; got {one}")

    @property
    def is_logarithm(self) -> bool:
        return True

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score of a posterior; raises NumericalError, and TypeError for a posterior of one output.

        posterior: of objectives and slacks, `HasOutputs`.
        history: all that was told so far, at least one value.
        rng: given to the builder of the score.
        """
        outputs = _outputs_of(posterior)
        slacks = outputs[self.n_objectives :]
        chances = self._score_chances(slacks)
        kept = find_kept(slacks, history, self.take)
        if not kept:
            return ProductScore(chances)
        target = outputs[0] if self.n_objectives == 1 else posterior
        view = keep(history, kept, _believe_kept(slacks, history.running), self.take)
        return ProductScore([self.score(target, view, rng), *chances])

    def learn_chance(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> Chance | None:
        """Return the chance that points keep all limits: `LearnsChance`; raises TypeError for one output.

        posterior: of objectives and slacks, `HasOutputs`.
        history, state, rng: unused.
        """
        del history, state, rng  # the posterior knows all
        return ScoredChance(ProductScore(self._score_chances(_outputs_of(posterior)[self.n_objectives :])))

    def _score_chances(self, slacks: Sequence[Posterior]) -> list[Score]:
        return [AcquisitionScore(slack, self.chance, BOUND) for slack in slacks]


def find_kept(slacks: Sequence[Posterior], history: HistoryView, take: Take) -> list[int]:
    """Return the positions of the completed points that keep all limits, as told, and likely enough by the model.

    A number that was measured with noise may keep its limit by luck. So each limit has to be kept with a chance of at
    least a tenth by the model, which leaves in what lies on the limit, and most of what a rough limit makes the model
    wrong of. Where no point that was told to keep all does so, all of these are returned.

    slacks: the posterior of each slack.
    history: at least one completed point.
    take: the domain's, chooses points of a batch.
    """
    told = np.flatnonzero(is_feasible(history.slacks))
    if not len(told):
        return []
    xs = take(history.completed, told.tolist())
    chances = np.array([_chance_below(slack.predict(xs)) for slack in slacks]).reshape(len(slacks), len(told))
    likely = np.all(chances >= LEAST_CHANCE, axis=0)
    return (told[likely] if likely.any() else told).tolist()


def _chance_below(prediction: Prediction) -> Array:
    """Return the chance that a slack is at most 0 (m,)."""
    return np.asarray(ndtr((BOUND - prediction.mean) / np.sqrt(prediction.variance)).mean(axis=0))


def _outputs_of(posterior: Posterior) -> tuple[Posterior, ...]:
    if not has_capability(posterior, HasOutputs):
        raise TypeError(f"posterior: limits need one of several outputs, got {type(posterior).__name__}")
    return posterior.outputs


def _believe_kept(slacks: Sequence[Posterior], xs: Batch) -> list[int]:
    """Return the positions of the points that are believed to keep all limits."""
    if not len(xs):
        return []
    return np.flatnonzero(np.all([slack.predict(xs).mean.mean(axis=0) <= BOUND for slack in slacks], axis=0)).tolist()
