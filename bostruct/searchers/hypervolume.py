"""Scores of several objectives: the hypervolume by which a point is expected to improve the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from bostruct.checks import has_capability, require_gradient
from bostruct.contracts import (
    Array,
    Batch,
    HasOutputs,
    HasPredictionGradient,
    HistoryView,
    Posterior,
    Prediction,
)
from bostruct.goals.boxes import Boxes, divide_nondominated
from bostruct.goals.pareto import choose_spread, distant_reference, find_nondominated
from bostruct.searchers.scores import bound_prediction

MOST_FRONT = 100  # points of a front of up to four objectives, which then has some 600 boxes
FEWEST_FRONT = 12  # points that count in any case


class FrontAcquisition(Protocol):
    """A function from the predictions of several objectives to the logarithm of what they add to a front."""

    def __call__(self, predictions: Sequence[Prediction]) -> Array: ...

    def upper_bounds(self, predictions: Sequence[Prediction]) -> Array: ...

    def worth_and_slopes(self, predictions: Sequence[Prediction]) -> tuple[Array, list[Prediction]]: ...


@dataclass(frozen=True, eq=False)
class FrontScore:
    """The score of a point by what the predictions of its objectives add to a front.

    posteriors: of each objective.
    acquisition: from their predictions to the logarithm of a worth.
    """

    posteriors: Sequence[Posterior]
    acquisition: FrontAcquisition

    def __call__(self, xs: Batch) -> Array:
        """Return the score of each of m points (m,)."""
        return self.acquisition([one.predict(xs) for one in self.posteriors])

    def upper_bounds(self, xs: Batch) -> Array:
        """Return bounds never below the score, without the O(n^2) cost of a variance (m,).

        xs: m points.
        """
        return self.acquisition.upper_bounds([bound_prediction(one, xs) for one in self.posteriors])

    def believe(self, xs: Batch) -> FrontScore:
        """Return the score of posteriors that were told their means at points that are being evaluated: `CanBelieve`.

        xs: these points.
        """
        return replace(self, posteriors=[one.believe(xs) for one in self.posteriors])

    def vary_shares(self, xs: Batch) -> Callable[[Array], tuple[Array, Array]]:
        """Return the score of m points as a function of their continuous coordinates: `HasScoreGradient`.

        xs: m points, whose other coordinates stay.

        Raises TypeError where a posterior has no gradients.
        """
        varied = [require_gradient("posterior", one, HasPredictionGradient).vary_shares(xs) for one in self.posteriors]

        def at_shares(shares: Array) -> tuple[Array, Array]:
            predictions, pulls = zip(*(vary(shares) for vary in varied), strict=True)
            worth, slopes = self.acquisition.worth_and_slopes(predictions)
            return worth, np.sum([pull(slope) for pull, slope in zip(pulls, slopes, strict=True)], axis=0)

        return at_shares


@dataclass(frozen=True)
class HypervolumeImprovement:
    """A builder of scores: the logarithm of the hypervolume by which a point is expected to improve the front.

    The front is that of the posterior means at the completed points, and at the running ones, which are believed. They
    are on the scale of the predictions, on which a surrogate may compress values, and noise does not flatter them. The
    reference point is `bostruct.goals.pareto.distant_reference` of them. Of a long front the points count that cover it
    best: up to four objectives 100 of them, with each further objective half as many.

    acquisition: boxes of the region that no point dominates -> the acquisition, such as `LogHypervolumeImprovement`.
    n_objectives: the number of outputs that are objectives, at least 1.
    """

    acquisition: Callable[[Boxes], FrontAcquisition]
    n_objectives: int

    @property
    def is_logarithm(self) -> bool:
        return True

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> FrontScore:
        """Return the score of a posterior; raises TypeError for a posterior of one output.

        posterior: of several outputs, `HasOutputs`.
        history: all that was told so far, at least one value.
        rng: unused.
        """
        del rng
        if not has_capability(posterior, HasOutputs):
            raise TypeError(f"posterior: objectives need one of several outputs, got {type(posterior).__name__}")
        objectives = posterior.outputs[: self.n_objectives]
        known = np.vstack([_predict_means(objectives, xs) for xs in (history.completed, history.running) if len(xs)])
        most = max(MOST_FRONT >> max(self.n_objectives - 4, 0), FEWEST_FRONT)
        front = choose_spread(known[find_nondominated(known)], most)
        return FrontScore(objectives, self.acquisition(divide_nondominated(front, distant_reference(known))))


def _predict_means(posteriors: Sequence[Posterior], xs: Batch) -> Array:
    """Return the mean of each objective at m points (m, k)."""
    return np.stack([one.screen(xs).mean.mean(axis=0) for one in posteriors], axis=1)  # O(n) a point
