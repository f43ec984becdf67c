"""Models: surrogates, posteriors, and the acquisition value of a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from bostruct.contracts.types import Array, Batch, Info, State


class Prediction(NamedTuple):
    """A prediction of the latent objective at m points.

    mean: (s, m), of s posterior samples; s = 1 for a point estimate.
    variance: (s, m).
    """

    mean: Array
    variance: Array


class Posterior(Protocol):
    """The surrogate's belief once it has seen the history, in the user's units, minimized."""

    def predict(self, xs: Batch) -> Prediction: ...

    def screen(self, xs: Batch) -> Prediction:
        """Predict cheaply and optimistically: a mean never above, a variance never below, that of `predict`.

        xs: m points. Returns mean and variance, (s, m) each.
        """
        ...

    def believe(self, xs: Batch) -> Posterior:
        """Return the posterior once a value equal to the mean was told at each of xs, as noisy as any new value.

        The mean stays, the variance shrinks. This is the kriging believer, `fantasize` in BoTorch.

        xs: points that are being evaluated; none change nothing.
        """
        ...


@runtime_checkable
class HasBounds(Posterior, Protocol):
    """A posterior with bounds that are quicker than `screen`, tighter, or both, and whose mean is no estimate."""

    def bound(self, xs: Batch) -> Prediction:
        """Return a mean never above, and a variance never below, that of `predict`, (s, m) each.

        xs: m points.
        """
        ...


@runtime_checkable
class HasUpperBounds(Posterior, Protocol):
    """A posterior with quick bounds of the mean from above."""

    def bound_above(self, xs: Batch) -> Prediction:
        """Return a mean and a variance that are never below those of `predict`, (s, m) each.

        xs: m points.
        """
        ...


@runtime_checkable
class HasCovariance(Posterior, Protocol):
    """A posterior of many points together."""

    def covariance(self, xs: Batch) -> Array:
        """Return the covariances of the latent objective among m points (s, m, m), in the user's units squared.

        Each is positive semi-definite. The diagonals are the variances of `predict`.

        xs: m points.
        """
        ...


@runtime_checkable
class HasNoise(Posterior, Protocol):
    """A posterior that knows how noisy values are."""

    @property
    def noise(self) -> Array:
        """The variance of the noise of a value under each sample (s, 1), at least 0, in the user's units squared."""
        ...


@runtime_checkable
class HasLeaveOneOut(Posterior, Protocol):
    """A posterior that predicts each value that it learned from as if it had not."""

    @property
    def xs(self) -> Batch:
        """The n points that it learned from."""
        ...

    @property
    def values(self) -> Array:
        """The n values that it learned from (n,), up to rounding."""
        ...

    def leave_one_out(self) -> Prediction:
        """Return mean and variance of each value, its noise included, given all others, (s, n) each.

        The hyperparameters stay as they are.
        """
        ...


@runtime_checkable
class HasTrainingMeans(Posterior, Protocol):
    """A posterior that knows its mean at the points that it learned from, without predicting them."""

    def find_training_means(self, xs: Batch) -> Array | None:
        """Return the mean at those of the points that it learned from (s, k), in the order of the points.

        xs: points.

        Returns None unless xs is the very object that the surrogate was conditioned on: then `screen` is to be asked.
        """
        ...


@runtime_checkable
class HasPredictionGradient(Posterior, Protocol):
    """A posterior with gradients in the continuous coordinates of points."""

    def vary_shares(self, xs: Batch) -> Callable[[Array], tuple[Prediction, Callable[[Prediction], Array]]]:
        """Return the prediction at m points as a function of their continuous coordinates.

        xs: m points, whose other coordinates stay.

        Returns a function from shares (m, c), as of `Domain.shares`, to the prediction, (s, m) each, and to the map
        from cotangents of mean and variance, (s, m) each, to the gradient in the shares (m, c). Raises TypeError where
        a part of it has no gradient.
        """
        ...


class Surrogate(Protocol):
    """A model of the objective, which learns from evaluated points."""

    def initial_state(self) -> State: ...

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from evaluated points.

        xs: n points.
        values: (n,), in the user's units, minimized.
        state: of `initial_state`, or what the last call returned.
        rng: the only source of chance.

        Returns the posterior, the state for the next call, and what goes on record.
        """
        ...


@runtime_checkable
class KeepsHyperparameters(Surrogate, Protocol):
    """A surrogate that can be conditioned on more points at the hyperparameters that it has learned."""

    def accepts(self, state: State) -> bool:
        """Tell whether a state holds hyperparameters of this surrogate.

        state: of `initial_state`, or what `condition` returned, here or of another version of the surrogate.
        """
        ...

    def condition_at(self, xs: Batch, values: Array, state: State) -> Posterior:
        """Return the posterior at the hyperparameters of a state, without a fit; raises NumericalError.

        xs: n points.
        values: (n,), in the user's units, minimized.
        state: one that it accepts.
        """
        ...


@runtime_checkable
class LearnsNoise(Surrogate, Protocol):
    """A surrogate that can be told how noisy values are."""

    def with_variances(self, variances: Array) -> Surrogate:
        """Return the surrogate that knows the noise of the values that it is conditioned on next.

        variances: of the noise of each value (n,), at least 0, in the user's units squared; NaN where it is to be
            learned.
        """
        ...


@runtime_checkable
class LearnsOutputs(Surrogate, Protocol):
    """A surrogate of several outputs: its `condition` takes values (n, q), and its posterior is `HasOutputs`."""

    @property
    def n_outputs(self) -> int: ...


@runtime_checkable
class HasOutputs(Posterior, Protocol):
    """A posterior of several outputs, independent of each other; by itself it is that of the first."""

    @property
    def outputs(self) -> tuple[Posterior, ...]: ...


@runtime_checkable
class RestoresUnits(Surrogate, Protocol):
    """A surrogate that learns some values on a scale of its own, on which its posterior predicts them."""

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        """Return a prediction of its posterior in the user's units.

        prediction: of the posterior that was conditioned on the values.
        values: (n,), in the user's units.
        """
        ...


@runtime_checkable
class DeclaresCovariance(Surrogate, Protocol):
    """A surrogate that says, before it learns anything, whether its posterior is `HasCovariance`."""

    @property
    def has_covariance(self) -> bool:
        """True where its posterior has covariances."""
        ...


class Acquisition(Protocol):
    """A function from predictions to acquisition values: what an evaluation promises to somebody who holds `incumbent`.

    Larger is better. Values are minimized: a lower mean, or a larger incumbent, never makes a point worth less, unless
    the function looks for something else than small values, such as a level.

    is_logarithm: true where acquisition values are logarithms, to which that of a chance may be added.
    """

    @property
    def is_logarithm(self) -> bool: ...

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Return the acquisition value of each point under each posterior sample (s, m).

        prediction: mean and variance, (s, m) each.
        incumbent: the value to improve on, in the user's units.
        """
        ...

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        """Return the most it can be if means are no smaller, and variances no larger, than predicted (s, m).

        More than that costs time alone: +inf has every point predicted in full.

        prediction: mean and variance, (s, m) each, as of `Posterior.screen`.
        incumbent: the value to improve on, in the user's units.
        """
        ...

    def average(self, scores: Array) -> Array:
        """Average the acquisition value of each point over posterior samples (m,).

        scores: (s, m), what a call returned.
        """
        ...


class WorthSlopes(NamedTuple):
    """The worth of predictions, and its derivatives, (s, m) each.

    worth: as the acquisition function returns it.
    mean: its derivative in the mean.
    variance: its derivative in the variance.
    """

    worth: Array
    mean: Array
    variance: Array


@runtime_checkable
class DependsOnNoise(Acquisition, Protocol):
    """An acquisition function that depends on how noisy values are."""

    def with_noise(self, noise: Array) -> Acquisition:
        """Return the function for values of this noise.

        noise: variance under each posterior sample (s, 1), at least 0, in the user's units squared.
        """
        ...


@runtime_checkable
class HasWorthGradient(Acquisition, Protocol):
    """An acquisition function with derivatives in mean and variance."""

    def worth_and_slopes(self, prediction: Prediction, incumbent: float) -> WorthSlopes:
        """Return the worth of each point under each posterior sample, and its derivatives, (s, m) each.

        prediction: mean and variance, (s, m) each.
        incumbent: the value to improve on, in the user's units.
        """
        ...


class Score(Protocol):
    """A function from points to acquisition values, the only thing that a maximizer knows of the model; maximized."""

    def __call__(self, xs: Batch) -> Array:
        """Return the acquisition value of each of m points (m,)."""
        ...

    def upper_bounds(self, xs: Batch) -> Array:
        """Return bounds that are never below the acquisition value of the same point, and cheaper (m,).

        xs: m points.
        """
        ...


@runtime_checkable
class CanBelieve(Score, Protocol):
    """A score that can be told which points are being evaluated."""

    def believe(self, xs: Batch) -> Score:
        """Return the score of a posterior that was told the mean at points, as `Posterior.believe` has it.

        xs: points that are being evaluated.
        """
        ...


@runtime_checkable
class HasScoreGradient(Score, Protocol):
    """A score with gradients in the continuous coordinates of points."""

    def vary_shares(self, xs: Batch) -> Callable[[Array], tuple[Array, Array]]:
        """Return the score of m points as a function of their continuous coordinates.

        xs: m points, whose other coordinates stay.

        Returns a function from shares (m, c), as of `Domain.shares`, to the scores (m,) and their gradients (m, c).
        Raises TypeError where a part of it has no gradient.
        """
        ...


class Chance(Protocol):
    """The chance that points succeed, as a model of success believes."""

    def log_chance(self, xs: Batch) -> Array:
        """Return the logarithm of the chance that each of m points has a value (m,), at most 0.

        xs: m points.
        """
        ...


@runtime_checkable
class HasChanceGradient(Chance, Protocol):
    """A chance of success with gradients in the continuous coordinates of points."""

    def vary_log_chance(self, xs: Batch) -> Callable[[Array], tuple[Array, Array]]:
        """Return the log chance of m points as a function of their continuous coordinates.

        xs: m points, whose other coordinates stay.

        Returns a function from shares (m, c), as of `Domain.shares`, to the log chances (m,) and their gradients
        (m, c). Raises TypeError where a part of it has no gradient.
        """
        ...


@runtime_checkable
class HasChanceBounds(Chance, Protocol):
    """A chance of success with bounds that are quicker."""

    def bound_log_chance(self, xs: Batch) -> Array:
        """Return bounds that are never below the log chance of the same point, at most 0 (m,).

        xs: m points.
        """
        ...


class SuccessModel(Protocol):
    """A model of success, which learns from points that have a value and points that failed."""

    def condition(
        self,
        points: Batch,
        succeeded: npt.NDArray[np.bool_],
        state: State,
        rng: np.random.Generator,
        *,
        keep: bool = False,
    ) -> tuple[Chance, State]:
        """Learn the chance that a point succeeds from all points; raises NumericalError.

        points: n points.
        succeeded: for each, whether it did (n,), bool.
        state: None, or what the last call returned, where a fit may start; plain JSON.
        rng: the only source of chance.
        keep: whether the hyperparameters of the state serve, so that nothing is fitted where that takes long.

        Returns the chance, and the state for the next call.
        """
        ...
