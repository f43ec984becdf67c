"""Multiple objectives: expected hypervolume improvement of the Pareto front, and random scalarization."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import (
    Array,
    Batch,
    Domain,
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
from bostruct.searchers.views import revalue

SUM_WEIGHT = 0.05  # of the weighted sum relative to the weighted maximum, as published
MOST_FRONT = 100  # points of a front with up to three objectives: 200 boxes, and 300 with four to six objectives
FEWEST_FRONT = 8  # points that count in any case


@dataclass(frozen=True)
class HypervolumeImprovement(ScoreBuilder):
    """A builder of scores: the logarithm of the expected hypervolume improvement of the Pareto front.

    The front is that of the posterior means at the completed points, and at the running points, which are assumed at
    their means. Means are on the scale of the predictions, on which a surrogate may compress values, and are not biased
    by noise. The reference point is their `bostruct.goals.pareto.distant_reference`. Of a long front, only the points
    that cover it best count: 100 for up to three objectives, then half as many per objective, and at least 8.

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
            raise TypeError(f"posterior: objectives need one of several outputs, got {type(posterior).__name__}")
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
            worth, slopes = self.front.acquisition.value_and_gradient(predictions)
            return worth, np.sum([pull(slope) for pull, slope in zip(pulls, slopes, strict=True)], axis=0)

        return at_shares


@dataclass(frozen=True, eq=False)
class Front:
    """Nondominated means, and the acquisition function of further points.

    means: of each objective (n, k).
    reference: upper corner of the hypervolume (k,).
    """

    means: Array
    reference: Array
    worth: Callable[[Boxes], LogHypervolumeImprovement]

    @cached_property
    def acquisition(self) -> LogHypervolumeImprovement:
        """Return the log expected hypervolume improvement as a function of the predicted objectives."""
        k = self.means.shape[1]
        spread = choose_spread(self.means, max(MOST_FRONT >> max(k - 3, 0), FEWEST_FRONT))
        return self.worth(divide_nondominated(spread, self.reference))

    def extend(self, means: Array) -> Front:
        """Return the front with further means and the same reference.

        means: of m points (m, k).
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

    objectives: (n, k), minimized.
    violations: (n, c).
    weights: at least 0, with the sum 1 (k,).
    """
    if not len(objectives):
        return np.zeros(0)
    feasible = is_feasible(violations)
    known = 0.5 * (objectives[feasible] if feasible.any() else objectives)  # ranges of the largest floats overflow
    low, range_ = known.min(axis=0), np.ptp(known, axis=0)
    weighted = weights * (0.5 * objectives - low) / np.where(range_ > 0.0, range_, 1.0)
    return constrained_rank((weighted.max(axis=1) + SUM_WEIGHT * weighted.sum(axis=1))[:, None], violations)
