"""Acquisition scores under outcome constraints: a score times the probability of feasibility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from bostruct.checks import check_part
from bostruct.contracts import AcquisitionFunction, Feasibility, HistoryView, Posterior, Score, ScoreBuilder, State
from bostruct.goals.pareto import is_feasible
from bostruct.searchers.scores import AcquisitionScore, ProductScore, ScoredFeasibility
from bostruct.searchers.views import Take, keep

BOUND = 0.0  # of a violation: a constraint is satisfied at and below it
LEAST_CHANCE = 0.1  # of satisfying a constraint that was observed as satisfied, since a noisy value is uncertain


@dataclass(frozen=True)
class WithinLimits(ScoreBuilder):
    """A builder of scores that multiplies an acquisition value by the probability of feasibility.

    Improvements are relative to the feasible points (Gelbart et al. 2014, Gardner et al. 2014) of `find_kept`. While no
    point is feasible, the probability alone is the score.

    score: of the objectives, given the feasible points; its scores must be logarithms.
    chance: log P(f < incumbent) of a violation and of the incumbent 0, such as `ProbabilityOfImprovement`; a logarithm.
    n_objectives: the number of outputs that are objectives, at least 1; all further outputs are violations.

    Raises ValueError if `score` or `chance` are not logarithms.
    """

    score: ScoreBuilder
    chance: AcquisitionFunction
    take: Take
    n_objectives: int = 1

    def __post_init__(self) -> None:
        check_part("score", self.score, ScoreBuilder)
        check_part("chance", self.chance, AcquisitionFunction)
        for name, one in (("score", self.score), ("chance", self.chance)):
            if not one.is_logarithm:
                raise ValueError(f"{name}: chances multiply what is a logarithm; got {one}")

    @property
    def is_logarithm(self) -> bool:
        return True

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score of a posterior; raises NumericalError, and TypeError for a posterior with one output.

        history: all observations, at least one value.
        """
        violations = self._violations_of(posterior)
        chances = self._score_chances(violations)
        kept = find_kept(violations, history, self.take)
        if not kept:
            return ProductScore(chances)
        target = posterior.outputs[0] if self.n_objectives == 1 else posterior
        running = []  # points that are predicted to be feasible
        if len(history.running):
            means = [violation.predict(history.running).mean.mean(axis=0) for violation in violations]
            running = np.flatnonzero(np.all(np.array(means) <= BOUND, axis=0)).tolist()
        view = keep(history, kept, running, self.take)
        return ProductScore([self.score(target, view, rng), *chances])

    def learn_feasibility(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> Feasibility | None:
        """Return the probability of feasibility; raises TypeError for one output."""
        return ScoredFeasibility(ProductScore(self._score_chances(self._violations_of(posterior))))

    def _violations_of(self, posterior: Posterior) -> tuple[Posterior, ...]:
        if len(posterior.outputs) <= self.n_objectives:
            raise TypeError(f"posterior: limits need one of several outputs, got {type(posterior).__name__}")
        return posterior.outputs[self.n_objectives :]

    def _score_chances(self, violations: Sequence[Posterior]) -> list[Score]:
        return [AcquisitionScore(violation, self.chance, BOUND) for violation in violations]


def find_kept(violations: Sequence[Posterior], history: HistoryView, take: Take) -> list[int]:
    """Return the positions of the completed points that are feasible as observed, and not unlikely so by the model.

    A noisy measurement may satisfy its constraint by luck. Each constraint must therefore be satisfied with a
    probability of at least a tenth by the model, which keeps points on the bound, and tolerates most errors of a model
    of a rough constraint. If no feasible point passes, all feasible points are returned.

    history: at least one completed point.
    """
    told = np.flatnonzero(is_feasible(history.violations))
    if not len(told):
        return []
    xs = take(history.completed, told.tolist())
    found = [violation.predict(xs) for violation in violations]
    below = [scipy.special.ndtr((BOUND - one.mean) / np.sqrt(one.variance)).mean(axis=0) for one in found]
    chances = np.array(below).reshape(len(violations), len(told))  # P(violation <= 0)
    likely = np.all(chances >= LEAST_CHANCE, axis=0)
    return (told[likely] if likely.any() else told).tolist()
