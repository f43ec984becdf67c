"""Models: surrogates, posteriors, and the acquisition value of a point."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.contracts.kernel import Kernel
from bostruct.contracts.types import Array, Batch, Info, State

ROOM = 1e-6  # maximum difference of predictions in two batches, relative to a standard deviation or a variance
STEP = 1e-5  # step of central differences, relative to a standard deviation or a variance

# A function from shares (m, c), see `Domain.shares`, to m values (m,) and their gradients (m, c).
VariedValues: TypeAlias = Callable[[Array], tuple[Array, Array]]


class Term(NamedTuple):
    """A product of indicators of choices, and samples of its coefficient.

    Attributes
    ----------
    choices : tuple of tuple of (int, int)
        The position of a variable, and of its choice, for each indicator.
    coefficients : array of shape (s,)
        Posterior samples of the coefficient, in the units of the values.
    """

    choices: tuple[tuple[int, int], ...]
    coefficients: Array


class Regression(ABC):
    """A regression of values on choices, with posterior samples."""

    @abstractmethod
    def __call__(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Callable[[Batch], Array], State, Info]:
        """Draw one posterior sample, a function of m points; raise NumericalError if it cannot.

        xs: n points.
        values: values to minimize (n,).
        state: None, or the state that the last call returned.
        rng: random number generator.

        Returns the function, the state for the next call, and the info to record.
        """

    def sample_terms(self, xs: Batch, values: Array, state: State, rng: np.random.Generator) -> list[Term]:
        """Return samples of the coefficients of the terms; none by default.

        Parameters
        ----------
        xs : Batch
            n points.
        values : array of shape (n,)
            Values to minimize.
        state : State
            None, or the state that the last call returned.
        rng : Generator
            Random number generator.
        """
        return []


class Prediction(NamedTuple):
    """A prediction of the latent objective at m points.

    Attributes
    ----------
    mean : array of shape (s, m)
        The mean under each of s posterior samples; s = 1 for a point estimate.
    variance : array of shape (s, m)
        The variance under each posterior sample.
    """

    mean: Array
    variance: Array


# A function from shares (m, c) to a prediction, and to the map from cotangents of mean and variance, (s, m) each, to
# the gradient in the shares (m, c).
VariedPrediction: TypeAlias = Callable[[Array], tuple[Prediction, Callable[[Prediction], Array]]]


class HeldOut(NamedTuple):
    """Leave-one-out predictions of the observed values.

    Attributes
    ----------
    xs : Batch
        The n points.
    values : array of shape (n,)
        The observed values, up to rounding.
    prediction : Prediction
        The prediction of each value including noise, (s, n) each.
    """

    xs: Batch
    values: Array
    prediction: Prediction


class HyperparameterSamples(NamedTuple):
    """Posterior samples of one hyperparameter.

    Attributes
    ----------
    name : str
        The name of the hyperparameter, prefixed by the name of the domain's part and a colon if there are several.
    variable : int, str, or None
        The position or name of the variable that it belongs to; None if it belongs to the whole model.
    values : array of shape (s,)
        The value in each sample; s = 1 for a point estimate.
    has_sign : bool, default False
        True if it has the units of the objective and changes sign if the objective is maximized.
    """

    name: str
    variable: int | str | None
    values: Array
    has_sign: bool = False


class Posterior(ABC):
    """A surrogate conditioned on the history, in the user's units, minimized.

    Only `predict` must be written. By default bounds are predictions with a margin for rounding.

    Attributes
    ----------
    unused : tuple of str, default ()
        The names of variables that do not affect predictions.
    """

    unused: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[Posterior, ...]:
        """The independent posteriors of all outputs; `predict` predicts the first of them."""
        return (self,)

    @property
    def noise(self) -> Array | None:
        """The noise variance of a value under each sample (s, 1), in squared units, at least 0; None if unknown."""
        return None

    def list_hyperparameters(self) -> list[HyperparameterSamples]:
        """Return samples of the hyperparameters of this posterior, in the user's units; none by default."""
        return []

    @abstractmethod
    def predict(self, xs: Batch) -> Prediction:
        """Return mean and variance of the latent objective, (s, m) each, with variance above 0.

        Parameters
        ----------
        xs : Batch
            m points.
        """

    def screen(self, xs: Batch) -> Prediction:
        """Predict cheaply and optimistically: the mean is never above, the variance never below, that of `predict`.

        The mean is close to that of `predict`, because it is used as an estimate.

        Parameters
        ----------
        xs : Batch
            m points. Mean and variance are (s, m) each.
        """
        return _widen(self.predict(xs), -1.0)

    def bound(self, xs: Batch) -> Prediction:
        """Return bounds as `screen` does, faster, tighter, or both; their mean may be no estimate.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return self.screen(xs)

    def bound_and_reach(self, xs: Batch) -> tuple[Prediction, npt.NDArray[np.bool_] | None]:
        """Return what `bound` returns, and the points that are predicted as the prior predicts them.

        Parameters
        ----------
        xs : Batch
            m points.

        Returns
        -------
        tuple of Prediction and array of shape (m,) or None
            The bounds; and whether the training points are too far from a point to change a digit of its mean and
            variance by `predict` (bool), so that all such points have equal predictions. None if that is unknown, or
            the points are not an array.
        """
        return self.bound(xs), None

    def upper_bound(self, xs: Batch) -> Prediction:
        """Return a mean and a variance, (s, m) each, that are never below those of `predict`.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return _widen(self.predict(xs), 1.0)

    def believe(self, xs: Batch) -> Posterior:
        """Return the posterior conditioned on its own mean at each of xs, with the noise of a new value.

        The mean stays and the variance shrinks: the kriging believer, `fantasize` in BoTorch. By default nothing
        changes; override it for a posterior with covariances.

        Parameters
        ----------
        xs : Batch
            Points that are being evaluated; may be empty.
        """
        return self

    def covariance(self, xs: Batch) -> Array | None:
        """Return the covariances of the latent objective among m points (s, m, m), in the user's units squared.

        Each matrix is positive semi-definite, with the variances of `predict` on its diagonal. The default, None, means
        that each point is predicted independently; Thompson sampling, repeats and regret bounds need covariances.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return None

    @property
    def gaussian(self) -> Any | None:
        """The Gaussian process that samples latent values, if fantasized points do not change its kernel; else None."""
        return None

    def leave_one_out(self) -> HeldOut | None:
        """Predict each training value from all others with fixed hyperparameters; None if that needs new fits."""
        return None

    def average_models(self) -> Posterior:
        """Return the average with models that explain the values nearly as well, for users; by default itself."""
        return self

    def find_training_means(self, xs: Batch) -> Array:
        """Return the mean at those of the points that were used for training (s, k), in the order of the points.

        Parameters
        ----------
        xs : Batch
            Points that the surrogate was conditioned on; it may have used only some of them. For other points, and by
            default, the means of `screen` are returned.
        """
        return self.screen(xs).mean

    def input_vjp(self, xs: Batch) -> VariedPrediction | None:
        """Return the prediction at m points as a function of their continuous coordinates, with gradients.

        The default, None, means that there are no gradients; points are then improved from neighbor to neighbor.

        Parameters
        ----------
        xs : Batch
            m points; their other coordinates are fixed.
        """
        return None


def _widen(prediction: Prediction, sign: float) -> Prediction:
    """Return a mean that is lower (-1) or higher (1), and a larger variance, than another batch may predict."""
    mean, variance = prediction
    room = ROOM * (np.sqrt(variance) + ROOM * np.abs(mean))
    return Prediction(mean + sign * room, variance * (1.0 + ROOM))


class Surrogate(ABC):
    """A model of the objective, which learns from evaluated points. Only `condition` must be written."""

    @property
    def n_outputs(self) -> int | None:
        """The number of outputs q if values are (n, q); None for one output, with values (n,)."""
        return None

    @property
    def has_covariance(self) -> bool:
        """False if it is known before conditioning that the posterior has no covariances."""
        return True

    def initial_state(self) -> State:
        """Return the state for the first call of `condition`, as plain JSON."""
        return None

    @abstractmethod
    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from evaluated points.

        Parameters
        ----------
        xs : Batch
            n points.
        values : array of shape (n,) or (n, q)
            Values in the user's units, minimized; (n, q) if `n_outputs` is q.
        state : State
            The result of `initial_state`, or the state that the last call returned.
        rng : Generator
            Random number generator.

        Returns
        -------
        tuple of (Posterior, State, Info)
            The posterior, the state for the next call, and the info to record.

        Raises
        ------
        NumericalError
            If the model cannot be fitted.
        """

    def condition_at(self, xs: Batch, values: Array, state: State) -> Posterior | None:
        """Return the posterior at the hyperparameters of a state, without a fit.

        The default, None, means that the state has no hyperparameters of this surrogate; then `condition` is called.

        Parameters
        ----------
        xs : Batch
            n points.
        values : array of shape (n,)
            Values in the user's units, minimized.
        state : State
            The state from `initial_state` or `condition`, possibly of another version of the surrogate.

        Raises
        ------
        NumericalError
            If a matrix is not positive definite.
        """
        return None

    def with_variances(self, variances: Array) -> Surrogate:
        """Return the surrogate with known noise of the values that it is conditioned on next.

        By default it is the surrogate itself, which learns the noise or ignores it.

        Parameters
        ----------
        variances : array of shape (n,)
            Noise variance of each value, at least 0, in the user's units squared; NaN if unknown.

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        return self

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        """Convert a prediction to the user's units, for a surrogate that learns values in other units.

        Parameters
        ----------
        prediction : Prediction
            A prediction of the posterior that was conditioned on the values.
        values : array of shape (n,)
            Values in the user's units.
        """
        return prediction

    def around(self, change: Callable[[Surrogate], Surrogate]) -> Surrogate:
        """Return the surrogate with its model changed; a surrogate that warps values changes the model inside.

        Parameters
        ----------
        change : callable
            Function from a model to its replacement.
        """
        return change(self)

    def warp(self, values: Array) -> Array:
        """Return values as the model inside learns them (n,); unchanged by default.

        Parameters
        ----------
        values : array of shape (n,)
            Values in the user's units.
        """
        return values

    def compress_less(self) -> Surrogate:
        """Return the surrogate for one of several objectives, which compresses values less; by default itself."""
        return self

    def on_all_variables(self) -> Surrogate:
        """Return the surrogate that learns from all variables; by default itself."""
        return self

    def for_violation(self, warp: Callable[[Surrogate], Surrogate]) -> Surrogate:
        """Return the surrogate of a constraint violation, without what applies to objectives alone.

        Parameters
        ----------
        warp : callable
            Function that wraps the model in the warping of violations.
        """
        return warp(self)

    def with_kernel(self, change: Callable[[Kernel], Kernel], join: Callable[..., Batch]) -> Surrogate | None:
        """Return the surrogate with other kernels, fitted to all data each time so that evidence can be compared.

        The default, None, means that the surrogate has no kernels.

        Parameters
        ----------
        change : callable
            Function from a kernel to its replacement.
        join : callable
            Function that joins batches for the other kernels.
        """
        return None


class AcquisitionGradient(NamedTuple):
    """The acquisition values of predictions, and their derivatives, (s, m) each.

    Attributes
    ----------
    value : Array
        The acquisition values, as the function returns them.
    mean : Array
        Derivatives in the mean.
    variance : Array
        Derivatives in the variance.
    """

    value: Array
    mean: Array
    variance: Array


class AcquisitionFunction(ABC):
    """A function from predictions to acquisition values, given an incumbent. Only a call must be written.

    Larger acquisition values are better; objective values are minimized. A lower mean or a larger incumbent must not
    decrease the acquisition value, unless the function looks for something other than small values, such as a level.

    Attributes
    ----------
    is_logarithm : bool, default False
        True if acquisition values are logarithms, so that the log probability of feasibility may be added.
    """

    is_logarithm: bool = False

    @abstractmethod
    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Return the acquisition value of each point under each posterior sample (s, m).

        prediction: mean and variance, (s, m) each.
        incumbent: the value to improve on, in the user's units.
        """

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        """Return upper bounds (s, m) for means no smaller, and variances no larger, than predicted.

        By default they are infinite, which is valid but slow: every point is predicted in full.

        Parameters
        ----------
        prediction : Prediction
            Mean and variance, (s, m) each, as from `Posterior.screen`.
        incumbent : float
            The value to improve on, in the user's units.
        """
        return np.full(prediction.mean.shape, np.inf)

    def average(self, scores: Array) -> Array:
        """Average the acquisition value of each point over posterior samples (m,), logarithms by log-mean-exp.

        Parameters
        ----------
        scores : array of shape (s, m)
            The result of a call.
        """
        if self.is_logarithm:
            return np.asarray(np.logaddexp.reduce(scores, axis=0)) - math.log(len(scores))
        return scores.mean(axis=0)

    def value_and_gradient(self, prediction: Prediction, incumbent: float) -> AcquisitionGradient:
        """Return the acquisition value of each point under each posterior sample, and its derivatives, (s, m) each.

        The derivatives are central differences by default.

        Parameters
        ----------
        prediction : Prediction
            Mean and variance, (s, m) each.
        incumbent : float
            The value to improve on, in the user's units.
        """
        mean, variance = prediction
        steps = STEP * np.sqrt(variance), STEP * variance
        derivatives = [
            (self(Prediction(mean + a, variance + b), incumbent) - self(Prediction(mean - a, variance - b), incumbent))
            / (2.0 * (a + b))
            for a, b in ((steps[0], 0.0), (0.0, steps[1]))
        ]
        return AcquisitionGradient(self(prediction, incumbent), *derivatives)

    def with_noise(self, noise: Array) -> AcquisitionFunction:
        """Return the function for values with this noise; by default itself, which ignores noise.

        Parameters
        ----------
        noise : array of shape (s, 1)
            Noise variance under each posterior sample, at least 0, in the user's units squared.
        """
        return self


class Score(ABC):
    """A function from points to acquisition values, which a maximizer maximizes without access to the model."""

    @abstractmethod
    def __call__(self, xs: Batch) -> Array:
        """Return the acquisition value of each of m points (m,)."""

    def upper_bounds(self, xs: Batch) -> Array:
        """Return bounds (m,) that are never below the acquisition value of the same point, and cheaper.

        By default they are infinite, which is valid but slow: every point is scored.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return np.full(len(xs), np.inf)

    def believe(self, xs: Batch) -> Score | None:
        """Return the score of the posterior that `Posterior.believe` returns for some points.

        The default, None, means that the score cannot be updated; each suggestion then has its own score.

        Parameters
        ----------
        xs : Batch
            Points that are being evaluated.
        """
        return None

    def input_vjp(self, xs: Batch) -> VariedValues | None:
        """Return the score of m points as a function of their continuous coordinates, with gradients.

        The default, None, means that there are no gradients; points are then improved from neighbor to neighbor.

        Parameters
        ----------
        xs : Batch
            m points; their other coordinates are fixed.
        """
        return None


class Maximizer(ABC):
    """A search for the points of a domain with the best scores."""

    @abstractmethod
    def __call__(self, score: Score, domain: Any, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        """Return local maxima of the score, best first, each once, and the info to record.

        score: function to maximize.
        domain: domain with the abilities that the maximizer needs, such as neighbors or mutations.
        starts: good points to start from, best first; may be empty.
        rng: random number generator.
        """


class Feasibility(ABC):
    """The probability that points are feasible, as predicted by a model of success."""

    @abstractmethod
    def log_probability(self, xs: Batch) -> Array:
        """Return the log probability that each of m points has a value (m,), at most 0.

        Parameters
        ----------
        xs : Batch
            m points.
        """

    def log_probability_bound(self, xs: Batch) -> Array:
        """Return upper bounds of the log probability of each point (m,), at most 0; by default itself.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return self.log_probability(xs)

    def log_probability_vjp(self, xs: Batch) -> VariedValues | None:
        """Return the log probability of m points as a function of their continuous coordinates, with gradients.

        The default, None, means that there are no gradients.

        Parameters
        ----------
        xs : Batch
            m points; their other coordinates are fixed.
        """
        return None


class SuccessModel(ABC):
    """A model of success, which learns from points that have a value and points that failed."""

    @abstractmethod
    def condition(
        self,
        points: Batch,
        succeeded: npt.NDArray[np.bool_],
        state: State,
        rng: np.random.Generator,
        *,
        keep: bool = False,
    ) -> tuple[Feasibility, State]:
        """Learn the probability that a point succeeds.

        Parameters
        ----------
        points : Batch
            n points.
        succeeded : bool array of shape (n,)
            Whether each point succeeded.
        state : State
            None, or the state that the last call returned, to start the fit from; plain JSON.
        rng : Generator
            Random number generator.
        keep : bool, default False
            If True, the hyperparameters of the state may be kept if a fit would take long.

        Returns
        -------
        tuple of (Feasibility, State)
            The probability, and the state for the next call.

        Raises
        ------
        NumericalError
            If the model cannot be fitted.
        """
