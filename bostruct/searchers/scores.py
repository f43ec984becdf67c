"""Acquisition scores, the interface between model and maximizer, and the builders that derive them from a posterior.

A new form of score is a subclass of `Score`, with a subclass of `ScoreBuilder`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bostruct.checks import check_number, check_part, has_hardly_grown
from bostruct.contracts import (
    ADDED_LATER,
    AcquisitionFunction,
    Array,
    Batch,
    Feasibility,
    HistoryView,
    Posterior,
    Prediction,
    Score,
    ScoreBuilder,
    State,
    SuccessModel,
    VariedValues,
)

MOST_FAILED = 0.2  # share of failed points above which points with a probability of success below one half are avoided
CAUTION = 1_000.0  # multiplier of a log probability below one half, followed by
LOG_HALF = math.log(0.5)
PROBABILITY_ROUNDING = 1e-5  # relative: maximum difference of a probability between batches, in single precision

IncumbentRule = Callable[[HistoryView, Posterior], float]


def best_observed(history: HistoryView, posterior: Posterior) -> float:
    """Return the smallest observed value, including its noise.

    Parameters
    ----------
    history : HistoryView
        At least one completed point.
    posterior : Posterior
        The posterior of the model, which is ignored.
    """
    del posterior  # the incumbent is an observation, not a prediction
    return float(np.min(history.values))


def best_predicted(history: HistoryView, posterior: Posterior) -> float:
    """Return the smallest posterior mean at the completed points, which noise does not bias.

    If the posterior was conditioned on a subset of the completed points, the other points do not count, because it does
    not know their values; under constraints, they do count if the posterior cannot identify the subset. The running
    points never count, although they are conditioned on. A kriging believer would count them (Ginsbourger et al. 2010),
    but we measured no gain.

    history: at least one completed point.
    """
    return float(np.min(posterior.find_training_means(history.completed).mean(axis=0)))


@dataclass(frozen=True, eq=False)
class AcquisitionScore(Score):
    """The score of a point: an acquisition function of the posterior, averaged over posterior samples.

    incumbent: the value to improve on, in the user's units.
    """

    posterior: Posterior
    acquisition: AcquisitionFunction
    incumbent: float

    def __call__(self, xs: Batch) -> Array:
        return self.acquisition.average(self.acquisition(self.posterior.predict(xs), self.incumbent))

    def upper_bounds(self, xs: Batch) -> Array:
        """Return upper bounds of the score, without the O(n^2) cost of a variance (m,)."""
        found, unreached = self.posterior.bound_and_reach(xs)
        bounds = self.acquisition.average(self.acquisition.upper_bounds(found, self.incumbent))
        if unreached is not None and len(equal := np.flatnonzero(unreached)) > 1:
            bounds[equal] = self(xs[equal[:2]])[0]  # two points: samples of one point are averaged in another order
        return bounds

    def believe(self, xs: Batch) -> AcquisitionScore:
        """Return the score conditioned on the posterior means at points that are being evaluated.

        The incumbent does not change, while a kriging believer lowers it to these means (Ginsbourger et al. 2010).
        """
        return replace(self, posterior=self.posterior.believe(xs))

    def input_vjp(self, xs: Batch) -> VariedValues | None:
        acquisition, varied = self.acquisition, self.posterior.input_vjp(xs)
        if varied is None:
            return None

        def at_shares(shares: Array) -> tuple[Array, Array]:
            prediction, pull = varied(shares)
            values, of_mean, of_variance = acquisition.value_and_gradient(prediction, self.incumbent)
            value = acquisition.average(values)
            weight = (np.exp(values - value) if acquisition.is_logarithm else 1.0) / len(values)
            return value, pull(Prediction(weight * of_mean, weight * of_variance))

        return at_shares


@dataclass(frozen=True, eq=False)
class ProductScore(Score):
    """A product of acquisition values, as the sum of their logarithms.

    scores: one score for each factor, at least one; they must be logarithms.
    """

    scores: Sequence[Score]

    def __call__(self, xs: Batch) -> Array:
        return np.sum([score(xs) for score in self.scores], axis=0)

    def upper_bounds(self, xs: Batch) -> Array:
        return np.sum([score.upper_bounds(xs) for score in self.scores], axis=0)

    def believe(self, xs: Batch) -> ProductScore | None:
        believing = [one for score in self.scores if (one := score.believe(xs)) is not None]
        return ProductScore(believing) if len(believing) == len(self.scores) else None

    def input_vjp(self, xs: Batch) -> VariedValues | None:
        varied = [one for score in self.scores if (one := score.input_vjp(xs)) is not None]
        if len(varied) < len(self.scores):
            return None

        def at_shares(shares: Array) -> tuple[Array, Array]:
            values, gradients = zip(*(vary(shares) for vary in varied), strict=True)
            return np.sum(values, axis=0), np.sum(gradients, axis=0)

        return at_shares


@dataclass(frozen=True, eq=False)
class ScoredFeasibility(Feasibility):
    """A probability of feasibility whose logarithm is a score.

    score: the logarithm of a probability.
    """

    score: Score

    def log_probability(self, xs: Batch) -> Array:
        return self.score(xs)


@dataclass(frozen=True, eq=False)
class FeasibilityScore(Score):
    """A log probability as a score; conditioning on running points does not change it."""

    feasibility: Feasibility

    def __call__(self, xs: Batch) -> Array:
        return self.feasibility.log_probability(xs)

    def upper_bounds(self, xs: Batch) -> Array:
        return allow_for_rounding(self.feasibility.log_probability_bound(xs))

    def believe(self, xs: Batch) -> FeasibilityScore:
        return self

    def input_vjp(self, xs: Batch) -> VariedValues | None:
        return self.feasibility.log_probability_vjp(xs)


@dataclass(frozen=True, eq=False)
class CautiousFeasibility(Feasibility):
    """A probability that is lowered if it is below one half, so that points that rarely succeed are avoided."""

    feasibility: Feasibility

    def log_probability(self, xs: Batch) -> Array:
        """Return the log probability of each of m points (m,), lowered if it is below one half."""
        return _lower(self.feasibility.log_probability(xs))

    def log_probability_bound(self, xs: Batch) -> Array:
        return _lower(allow_for_rounding(self.feasibility.log_probability_bound(xs)))

    def log_probability_vjp(self, xs: Batch) -> VariedValues | None:
        vary = self.feasibility.log_probability_vjp(xs)
        if vary is None:
            return None

        def at_shares(shares: Array) -> tuple[Array, Array]:
            log_p, gradient = vary(shares)
            return _lower(log_p), gradient * np.where(log_p < LOG_HALF, 1.0 + CAUTION, 1.0)[:, None]

        return at_shares


def allow_for_rounding(log_bound: Array) -> Array:
    """Return bounds of log probabilities that also hold for the same points in other batches.

    log_bound: bounds of the log probabilities of m points in one batch (m,).
    """
    return log_bound + PROBABILITY_ROUNDING * (1.0 - log_bound)


def _lower(log_probability: Array) -> Array:
    """Lower log probabilities below one half, more so the smaller they are; their order is unchanged."""
    return log_probability + CAUTION * np.minimum(log_probability - LOG_HALF, 0.0)


@dataclass(frozen=True)
class Improvement(ScoreBuilder):
    """A builder of scores: an acquisition function of the posterior against an incumbent.

    Parameters
    ----------
    acquisition : AcquisitionFunction
        Function from predictions to acquisition values. If it depends on the noise, it receives the posterior's noise.
    incumbent : IncumbentRule, default best_observed
        Function of (history, posterior) that returns the value to improve on: `best_observed`, `best_predicted`, or
        your own.
    """

    acquisition: AcquisitionFunction
    incumbent: IncumbentRule = best_observed

    def __post_init__(self) -> None:
        check_part("acquisition", self.acquisition, AcquisitionFunction)

    @property
    def is_logarithm(self) -> bool:
        return self.acquisition.is_logarithm

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> AcquisitionScore:
        """Return the score of a posterior; rng is unused."""
        acquisition, noise = self.acquisition, posterior.noise
        if noise is not None:
            acquisition = acquisition.with_noise(noise)
        return AcquisitionScore(posterior, acquisition, self.incumbent(history, posterior))


@dataclass(frozen=True)
class Feasible(ScoreBuilder):
    """A builder of scores that learns the probability of success from failed points, which have no values.

    Parameters
    ----------
    score : ScoreBuilder
        Builder for the points that succeed; its scores must be logarithms.
    success : SuccessModel
        Model of the probability of success.
    join : callable
        The domain's `join` method.
    growth : float
        The success model is fitted again once the number of successes or failures has grown by this share, at least 0.
        With 0, it is fitted from scratch for each score.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    score: ScoreBuilder
    success: SuccessModel
    join: Callable[..., Batch]
    growth: float = field(default=0.0, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        check_number("growth", self.growth, 0.0)
        check_part("score", self.score, ScoreBuilder)
        check_part("success", self.success, SuccessModel)
        if not self.score.is_logarithm:
            raise ValueError(
                "score: a probability of success needs an acquisition that is a logarithm, such as "
                f"LogExpectedImprovement; got {self.score}"
            )

    @property
    def is_logarithm(self) -> bool:
        return True

    def around(self, change: Callable[[ScoreBuilder], ScoreBuilder]) -> Feasible:
        return replace(self, score=self.score.around(change))

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score times the probability of success, if a point has failed; raises NumericalError.

        posterior: posterior of the objective.
        history: all observations.
        rng: random number generator of the success model.
        """
        return self.build_from(posterior, history, None, rng)[0]

    def build_from(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> tuple[Score, State]:
        """Return the score and the state of the success model."""
        score = self.score(posterior, history, rng)
        success, state = self._learn_success(history, state, rng)
        if success is None:
            return score, state
        n_failed = len(history.failed)
        is_over = n_failed > MOST_FAILED * (n_failed + len(history.completed))
        return ProductScore([score, FeasibilityScore(CautiousFeasibility(success) if is_over else success)]), state

    def learn_feasibility(
        self, posterior: Posterior, history: HistoryView, state: State, rng: np.random.Generator
    ) -> Feasibility | None:
        """Return the probability of success, multiplied by the score's own; None for certainty."""
        inner = self.score.learn_feasibility(posterior, history, None, rng)
        found = [self._learn_success(history, state, rng)[0], inner]
        scores = [FeasibilityScore(one) for one in found if one is not None]
        return ScoredFeasibility(ProductScore(scores)) if scores else None

    def _learn_success(
        self, history: HistoryView, state: State, rng: np.random.Generator
    ) -> tuple[Feasibility | None, State]:
        """Return the probability of success and the next state; None if no point failed."""
        counts = [len(history.completed), len(history.failed)]
        if not counts[1]:
            return None, None
        points = self.join(history.completed, history.failed)
        succeeded = np.repeat([True, False], counts)
        last, before = (None, None) if state is None else (state["success"], state["counts"])
        keep = before is not None and has_hardly_grown(counts, before, self.growth)
        found, learned = self.success.condition(points, succeeded, last, rng, keep=keep)
        check_part("success: its result", found, Feasibility)
        return found, {"counts": before if keep else counts, "success": learned} if self.growth else None


LatentDraw = Callable[[Posterior, np.random.Generator], Posterior | None]


@dataclass(frozen=True)
class NoisyImprovement(ScoreBuilder):
    """A builder of scores: noisy expected improvement if values are noisy, otherwise another score.

    The latent objective is sampled at the observed points. Expected improvement on the smallest sampled value is
    averaged over samples. No method uses it by default, because it was not better than log EI on the best predicted
    mean (`python -m benchmarks.noisy_improvement`); pass it as the score of a `BayesianSearch`.

    draw: (posterior, rng) -> the posterior of the objective minus the best latent value, given samples of the latent
        values; None if it cannot sample.
    least_noise: minimum share of the noise in the variance of a value for values to count as noisy, from 0 to 1.

    Raises TypeError or ValueError for `least_noise`. Source: Letham et al. 2019; Ament et al. 2023 for logarithms.
    """

    plain: ScoreBuilder
    acquisition: AcquisitionFunction
    draw: LatentDraw
    least_noise: float

    def __post_init__(self) -> None:
        check_part("plain", self.plain, ScoreBuilder)
        check_part("acquisition", self.acquisition, AcquisitionFunction)
        check_number("least_noise", self.least_noise, 0.0, 1.0)

    @property
    def is_logarithm(self) -> bool:
        return self.plain.is_logarithm and self.acquisition.is_logarithm

    def without_draws(self) -> ScoreBuilder:
        return self.plain

    def __call__(self, posterior: Posterior, history: HistoryView, rng: np.random.Generator) -> Score:
        """Return the score of a posterior; raises NumericalError.

        history: at least one completed point.
        """
        is_noisy = noise_share(posterior, history) >= self.least_noise
        drawn = self.draw(posterior, rng) if is_noisy else None
        if drawn is None:
            return self.plain(posterior, history, rng)
        return AcquisitionScore(drawn, self.acquisition, 0.0)


def noise_share(posterior: Posterior, history: HistoryView) -> float:
    """Return the share of the noise in the variance of a value, by the posterior; 0 if the model has no noise.

    history: at least one completed point.
    """
    if posterior.noise is None:
        return 0.0
    noise = float(np.mean(posterior.noise))
    signal = float(np.var(posterior.screen(history.completed).mean.mean(axis=0)))
    return noise / (noise + signal) if noise > 0.0 else 0.0
