"""Scores of several outputs: objectives and outcome constraints.

Expected hypervolume improvement of the Pareto front, random scalarization, and the probability of feasibility.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from bostruct.checks import check_part
from bostruct.contracts import (
    AcquisitionFunction,
    Array,
    Batch,
    Domain,
    Feasibility,
    HistoryView,
    Json,
    Posterior,
    Score,
    ScoreBuilder,
    Searcher,
    State,
    Suggestion,
    VariedValues,
)
from bostruct.goals.hypervolume import Boxes, LogHypervolumeImprovement, divide_nondominated
from bostruct.goals.pareto import choose_spread, constrained_rank, distant_reference, find_nondominated, is_feasible
from bostruct.searchers.scores import AcquisitionScore, ProductScore, ScoredFeasibility

SUM_WEIGHT = 0.05  # of the weighted sum relative to the weighted maximum, as published
MOST_FRONT = 100  # points of a front with up to three objectives: 200 boxes, and 300 with four to six objectives
FEWEST_FRONT = 8  # minimum of this number for more objectives
Take = Callable[[Batch, Sequence[int]], Batch]
BOUND = 0.0  # of a violation: a constraint is satisfied at and below it
LEAST_CHANCE = 0.1  # of satisfying a constraint that was observed as satisfied, since a noisy value is uncertain


@dataclass(frozen=True)
class HypervolumeImprovement(ScoreBuilder):
    """A builder of scores: the logarithm of the expected hypervolume improvement of the Pareto front.

    The front is found among the posterior means at the completed points and at the running points, whose values are
    assumed to equal the means. Means are on the scale of the predictions, on which a surrogate may compress values, and
    are not biased by noise. The reference point is their `bostruct.goals.pareto.distant_reference`. Only the points
    that cover a long front best count: 100 for up to three objectives, then half as many per objective, at least 8.

    n_objectives: the number of outputs that are objectives, at least 1.
    """

    acquisition: Callable[[Boxes], LogHypervolumeImprovement]
    n_objectives: int

    @property
    def is_logarithm(self) -> bool:
        return True

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> FrontScore:
        """Return the score of a posterior; raises TypeError for a posterior with one output.

        history: all observations, at least one value.
        """
        if len(posterior.outputs) < self.n_objectives:
            raise TypeError(f"posterior: expected an output for each objective, got {type(posterior).__name__}")
        objectives = posterior.outputs[: self.n_objectives]
        known = np.vstack([_predict_means(objectives, xs) for xs in (history.completed, history.running) if len(xs)])
        return FrontScore(objectives, Front(_keep_nondominated(known), distant_reference(known), self.acquisition))


@dataclass(frozen=True, eq=False)
class FrontScore(Score):
    """The score of a point: the expected improvement of a front by its predicted objectives."""

    posteriors: Sequence[Posterior]
    front: Front

    def __call__(self, xs: Batch) -> Array:
        return self.front.acquisition([one.predict(xs) for one in self.posteriors])

    def upper_bounds(self, xs: Batch) -> Array:
        """Return upper bounds of the score, without the O(n^2) cost of a variance (m,)."""
        return self.front.acquisition.upper_bounds([one.bound(xs) for one in self.posteriors])

    def believe(self, xs: Batch) -> FrontScore:
        """Return the score conditioned on the posterior means at points that are being evaluated.

        The means join the front, so that their volume is not counted twice. The points are assumed to be feasible.
        """
        believing = [one.believe(xs) for one in self.posteriors]
        return FrontScore(believing, self.front.extend(_predict_means(self.posteriors, xs)))

    def input_vjp(self, xs: Batch) -> VariedValues | None:
        varied = [one for posterior in self.posteriors if (one := posterior.input_vjp(xs)) is not None]
        if len(varied) < len(self.posteriors):
            return None

        def at_shares(shares: Array) -> tuple[Array, Array]:
            predictions, pulls = zip(*(vary(shares) for vary in varied), strict=True)
            value, gradients = self.front.acquisition.value_and_gradient(predictions)
            return value, np.sum([pull(one) for pull, one in zip(pulls, gradients, strict=True)], axis=0)

        return at_shares


@dataclass(frozen=True, eq=False)
class Front:
    """Nondominated means, and the acquisition function of further points.

    means: posterior means of each objective (n, k).
    reference: upper corner of the hypervolume (k,).
    """

    means: Array
    reference: Array
    build: Callable[[Boxes], LogHypervolumeImprovement]

    @cached_property
    def acquisition(self) -> LogHypervolumeImprovement:
        """Return the log expected hypervolume improvement as a function of the predicted objectives."""
        k = self.means.shape[1]
        spread = choose_spread(self.means, max(MOST_FRONT >> max(k - 3, 0), FEWEST_FRONT))
        return self.build(divide_nondominated(spread, self.reference))

    def extend(self, means: Array) -> Front:
        """Return the front with further means and the same reference.

        means: posterior means of m points (m, k).
        """
        return replace(self, means=_keep_nondominated(np.vstack([self.means, means])))


def _keep_nondominated(means: Array) -> Array:
    return means[find_nondominated(means)]


def _predict_means(posteriors: Sequence[Posterior], xs: Batch) -> Array:
    """Return the mean of each objective at m points (m, k)."""
    return np.stack([one.screen(xs).mean.mean(axis=0) for one in posteriors], axis=1)  # O(n) per point


@dataclass(frozen=True)
class Scalarized(Searcher):
    """A single-objective searcher that finds nondominated points by random scalarization.

    Each suggestion draws weights of the objectives uniformly, and the searcher minimizes their augmented Chebyshev
    norm: the largest weighted objective plus 0.05 times the weighted sum, with objectives scaled by their ranges.
    Infeasible points rank after all others, by `bostruct.goals.pareto.constrained_rank`.

    Source: ParEGO (Knowles 2006), equation 2.
    """

    searcher: Searcher

    def __post_init__(self) -> None:
        check_part("searcher", self.searcher, Searcher)

    @property
    def domain(self) -> Domain:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.searcher.domain

    @property
    def n_initial(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.searcher.n_initial

    def settings(self) -> Mapping[str, Json]:
        return self.searcher.settings()

    def initial_state(self) -> State:
        return self.searcher.initial_state()

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        weights = rng.dirichlet(np.ones(history.objectives.shape[1]))
        values = scalarize(history.objectives, history.violations, weights)
        return self.searcher.suggest(revalue(history, values), state, rng)


def scalarize(objectives: Array, violations: Array, weights: Array) -> Array:
    """Return the augmented Chebyshev norm of each point (n,), feasible points first.

    objectives: objectives to minimize (n, k).
    violations: violations of the constraints (n, c).
    weights: at least 0, with the sum 1 (k,).
    """
    if not len(objectives):
        return np.zeros(0)
    feasible = is_feasible(violations)
    known = 0.5 * (objectives[feasible] if feasible.any() else objectives)  # ranges of the largest floats overflow
    low, range_ = known.min(axis=0), np.ptp(known, axis=0)
    weighted = weights * (0.5 * objectives - low) / np.where(range_ > 0.0, range_, 1.0)
    return constrained_rank((weighted.max(axis=1) + SUM_WEIGHT * weighted.sum(axis=1))[:, None], violations)


@dataclass(frozen=True)
class WithinLimits(ScoreBuilder):
    """A builder of scores that multiplies an acquisition value by the probability of feasibility.

    Improvements are relative to the feasible points (Gelbart et al. 2014, Gardner et al. 2014) of `find_kept`. While no
    point is feasible, only the probability is the score.

    score: builder of the objectives' scores from the feasible points; these scores must be logarithms.
    chance: log P(f < incumbent) of a violation f and the incumbent 0, such as `ProbabilityOfImprovement`; a logarithm.
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
                raise ValueError(f"{name}: expected a logarithm, because probabilities are multiplied; got {one}")

    @property
    def is_logarithm(self) -> bool:
        return True

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score of a posterior; raises NumericalError, and TypeError for a posterior with one output.

        history: all observations, at least one value.
        """
        violations = self._violations_of(posterior)
        probabilities = self._score_feasibility(violations)
        kept = find_kept(violations, history, self.take)
        if not kept:
            return ProductScore(probabilities)
        target = posterior.outputs[0] if self.n_objectives == 1 else posterior
        running = []  # points that are predicted to be feasible
        if len(history.running):
            means = [violation.predict(history.running).mean.mean(axis=0) for violation in violations]
            running = np.flatnonzero(np.all(np.array(means) <= BOUND, axis=0)).tolist()
        view = keep(history, kept, running, self.take)
        return ProductScore([self.score(target, view, rng), *probabilities])

    def learn_feasibility(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> Feasibility | None:
        """Return the probability of feasibility; raises TypeError for one output."""
        return ScoredFeasibility(ProductScore(self._score_feasibility(self._violations_of(posterior))))

    def _violations_of(self, posterior: Posterior) -> tuple[Posterior, ...]:
        if len(posterior.outputs) <= self.n_objectives:
            raise TypeError(f"posterior: expected outputs for outcome constraints, got {type(posterior).__name__}")
        return posterior.outputs[self.n_objectives :]

    def _score_feasibility(self, violations: Sequence[Posterior]) -> list[Score]:
        return [AcquisitionScore(violation, self.chance, BOUND) for violation in violations]


def find_kept(violations: Sequence[Posterior], history: HistoryView, take: Take) -> list[int]:
    """Return the positions of the completed points that are observed as feasible, and are plausibly so by the model.

    A noisy measurement may satisfy its constraint by luck. By the model, each constraint must therefore be satisfied
    with a probability of at least a tenth, which keeps points on the bound, and tolerates most errors of a model of a
    rough constraint. If no feasible point passes, all feasible points are returned.

    history: at least one completed point.
    """
    feasible = np.flatnonzero(is_feasible(history.violations))
    if not len(feasible):
        return []
    xs = take(history.completed, feasible.tolist())
    found = [violation.predict(xs) for violation in violations]
    below = [scipy.special.ndtr((BOUND - one.mean) / np.sqrt(one.variance)).mean(axis=0) for one in found]
    probabilities = np.array(below).reshape(len(violations), len(feasible))  # P(violation <= 0)
    likely = np.all(probabilities >= LEAST_CHANCE, axis=0)
    return (feasible[likely] if likely.any() else feasible).tolist()


def keep(history: HistoryView, completed: Sequence[int], running: Sequence[int], take: Take) -> HistoryView:
    """Return a history with some of its completed and running points."""
    kept = list(completed)
    names = ("values", "objectives", "violations", *([] if history.variances is None else ["variances"]))
    of_kept: Any = {name: getattr(history, name)[kept] for name in names}
    points = {"completed": take(history.completed, kept), "running": take(history.running, running)}
    return replace(history, whole=None, **points, **of_kept)


def revalue(history: HistoryView, values: Array) -> HistoryView:
    """Return the history with other values of a single objective.

    values: one value for each completed point, to minimize (n,).
    """
    # the known noise belongs to the original values
    return replace(history, values=values, objectives=values[:, None], variances=None, whole=None)
