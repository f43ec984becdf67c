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

ROOM = 1e-6  # of a standard deviation, and of a variance: what a prediction in another batch may differ by
STEP = 1e-5  # of central differences, in standard deviations and in variances

# From continuous coordinates as shares (m, c), as of `Domain.shares`, to m values (m,) and their gradients (m, c).
VariedValues: TypeAlias = Callable[[Array], tuple[Array, Array]]


class Term(NamedTuple):
    """A product of indicators of choices, and samples of its coefficient.

    Attributes
    ----------
    choices : tuple of tuple of (int, int)
        Position of a variable, and of its choice, for each indicator.
    coefficients : Array
        Of the posterior samples (s,), in the units of the values.
    """

    choices: tuple[tuple[int, int], ...]
    coefficients: Array


class Regression(ABC):
    """A regression of values on choices, of which posterior samples are drawn."""

    @abstractmethod
    def __call__(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Callable[[Batch], Array], State, Info]:
        """Draw one posterior sample, a function of m points; raise NumericalError if it cannot.

        xs: n points.
        values: (n,), minimized.
        state: None at the first call, then what the last call returned.
        rng: random number generator.

        Returns the function, the state for the next call, and the info to record.
        """

    def sample_terms(self, xs: Batch, values: Array, state: State, rng: np.random.Generator) -> list[Term]:
        """Return samples of the coefficients of its terms; none by default.

        Parameters
        ----------
        xs : Batch
            n points.
        values : Array
            (n,), minimized.
        state : State
            None, or what the last call returned.
        rng : Generator
            Random number generator.
        """
        return []


class Prediction(NamedTuple):
    """A prediction of the latent objective at m points.

    Attributes
    ----------
    mean : Array
        (s, m), of s posterior samples; s = 1 for a point estimate.
    variance : Array
        (s, m).
    """

    mean: Array
    variance: Array


# From shares (m, c) to a prediction, and to the map from cotangents of mean and variance, (s, m) each, to the gradient
# in the shares (m, c).
VariedPrediction: TypeAlias = Callable[[Array], tuple[Prediction, Callable[[Prediction], Array]]]


class HeldOut(NamedTuple):
    """Predictions of the observed values, each from all others.

    Attributes
    ----------
    xs : Batch
        The n points.
    values : Array
        Of them (n,), up to rounding.
    prediction : Prediction
        Of each value, its noise included, (s, n) each.
    """

    xs: Batch
    values: Array
    prediction: Prediction


class HyperparameterSamples(NamedTuple):
    """Posterior samples of one hyperparameter.

    Attributes
    ----------
    name : str
        Of the hyperparameter; before a colon that of the part of the domain, if it has several.
    variable : int, str, or None
        The variable that it belongs to, by its position or by name; None for one of the whole model.
    values : Array
        Of each sample (s,); s = 1 for a point estimate.
    has_sign : bool, default False
        True for one in the units of the objective, which changes its sign if that is maximized.
    """

    name: str
    variable: int | str | None
    values: Array
    has_sign: bool = False


class Posterior(ABC):
    """A surrogate conditioned on the history, in the user's units, minimized.

    Only `predict` must be written. Bounds are by default predictions with room for rounding.

    Attributes
    ----------
    unused : tuple of str, default ()
        The names of variables on which no prediction depends; none by default.
    """

    unused: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[Posterior, ...]:
        """The posteriors of all outputs, independent of each other; a posterior predicts the first of its outputs."""
        return (self,)

    @property
    def noise(self) -> Array | None:
        """The variance of the noise of a value under each sample (s, 1), in the user's units squared, or None.

        It is at least 0. None is for a posterior that does not know how noisy values are.
        """
        return None

    def list_hyperparameters(self) -> list[HyperparameterSamples]:
        """Return samples of the hyperparameters that it was made with, in the user's units; none by default."""
        return []

    @abstractmethod
    def predict(self, xs: Batch) -> Prediction:
        """Return mean and variance of the latent objective, (s, m) each, the variance above 0.

        Parameters
        ----------
        xs : Batch
            m points.
        """

    def screen(self, xs: Batch) -> Prediction:
        """Predict cheaply and optimistically: a mean never above, a variance never below, that of `predict`.

        The mean is close to that of `predict`, since estimates are made of it.

        Parameters
        ----------
        xs : Batch
            m points. Returns mean and variance, (s, m) each.
        """
        return _widen(self.predict(xs), -1.0)

    def bound(self, xs: Batch) -> Prediction:
        """Return bounds as `screen` does, quicker, tighter, or both, whose mean may be no estimate.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return self.screen(xs)

    def upper_bound(self, xs: Batch) -> Prediction:
        """Return a mean and a variance that are never below those of `predict`, (s, m) each.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return _widen(self.predict(xs), 1.0)

    def believe(self, xs: Batch) -> Posterior:
        """Return the posterior conditioned on its own mean at each of xs, with the noise of a new value.

        The mean stays, the variance shrinks. This is the kriging believer, `fantasize` in BoTorch. By default nothing
        changes, which is right where nobody knows how points depend on each other: a posterior with covariances has to
        override it.

        Parameters
        ----------
        xs : Batch
            Points that are being evaluated; none change nothing.
        """
        return self

    def covariance(self, xs: Batch) -> Array | None:
        """Return the covariances of the latent objective among m points (s, m, m), in the user's units squared.

        Each is positive semi-definite. The diagonals are the variances of `predict`. None, by default, is for a
        posterior that predicts each point on its own: Thompson sampling, repeats and regret bounds need covariances.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return None

    @property
    def gaussian(self) -> Any | None:
        """The Gaussian process that draws latent values, if believed points do not change its kernel; else None."""
        return None

    def leave_one_out(self) -> HeldOut | None:
        """Predict each value that it learned from, given all others; None if it cannot without new fits.

        The hyperparameters stay as they are.
        """
        return None

    def find_training_means(self, xs: Batch) -> Array:
        """Return the mean at those of the points that it learned from (s, k), in the order of the points.

        Parameters
        ----------
        xs : Batch
            Points that the surrogate was conditioned on, of which it may have learned from a part. Of other points, and
            by default, the means of `screen` are returned.
        """
        return self.screen(xs).mean

    def input_vjp(self, xs: Batch) -> VariedPrediction | None:
        """Return the prediction at m points as a function of their continuous coordinates, with gradients.

        None, by default, is for a posterior without gradients, whose points climb from neighbor to neighbor.

        Parameters
        ----------
        xs : Batch
            m points, whose other coordinates stay.
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
        """The number of outputs q of a surrogate whose values are (n, q); None for one output, with values (n,)."""
        return None

    @property
    def has_covariance(self) -> bool:
        """False if it is known, before it learns anything, that its posterior has no covariances."""
        return True

    def initial_state(self) -> State:
        """Return the state for the first call of `condition`, plain JSON."""
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
        values : Array
            (n,), in the user's units, minimized; (n, q) where `n_outputs` is q.
        state : State
            Of `initial_state`, or what the last call returned.
        rng : Generator
            Random number generator.

        Returns
        -------
        tuple of (Posterior, State, Info)
            The posterior, the state for the next call, and the info to record.

        Raises
        ------
        NumericalError
        """

    def condition_at(self, xs: Batch, values: Array, state: State) -> Posterior | None:
        """Return the posterior at the hyperparameters of a state, without a fit.

        None if the state holds no hyperparameters of this surrogate, and by default: then `condition` is called.

        Parameters
        ----------
        xs : Batch
            n points.
        values : Array
            (n,), in the user's units, minimized.
        state : State
            Of `initial_state`, or what `condition` returned, here or of another version of the surrogate.

        Raises
        ------
        NumericalError
        """
        return None

    def with_variances(self, variances: Array) -> Surrogate:
        """Return the surrogate that knows the noise of the values that it is conditioned on next.

        By default it is the surrogate itself, which learns the noise, or does without.

        Parameters
        ----------
        variances : Array
            Of the noise of each value (n,), at least 0, in the user's units squared; NaN if it is to be learned.

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        return self

    def restore_units(self, prediction: Prediction, values: Array) -> Prediction:
        """Return a prediction of its posterior in the user's units, for a surrogate that learns values on other ones.

        Parameters
        ----------
        prediction : Prediction
            Of the posterior that was conditioned on the values.
        values : Array
            (n,), in the user's units.
        """
        return prediction

    def around(self, change: Callable[[Surrogate], Surrogate]) -> Surrogate:
        """Return the surrogate whose model is changed; a surrogate that warps values changes the model inside.

        Parameters
        ----------
        change : callable
            From the model to another one.
        """
        return change(self)

    def warp(self, values: Array) -> Array:
        """Return values as the model inside learns them (n,); by default as they are.

        Parameters
        ----------
        values : Array
            (n,), in the user's units.
        """
        return values

    def compress_less(self) -> Surrogate:
        """Return the surrogate of one of several objectives, which compresses less; by default itself."""
        return self

    def on_all_variables(self) -> Surrogate:
        """Return the surrogate that learns from all variables; by default itself."""
        return self

    def for_violation(self, warp: Callable[[Surrogate], Surrogate]) -> Surrogate:
        """Return the surrogate of the violation of a limit, without what holds for objectives alone.

        Parameters
        ----------
        warp : callable
            Puts the warping of violations around the model.
        """
        return warp(self)

    def with_kernel(self, change: Callable[[Kernel], Kernel], join: Callable[..., Batch]) -> Surrogate | None:
        """Return the surrogate with other kernels, fitted to all data each time, so that evidence can be compared.

        None, by default, is for a surrogate without kernels.

        Parameters
        ----------
        change : callable
            From a kernel to another one.
        join : callable
            Of the batches that the other kernels see.
        """
        return None


class AcquisitionGradient(NamedTuple):
    """The acquisition values of predictions, and their derivatives, (s, m) each.

    Attributes
    ----------
    value : Array
        As the acquisition function returns it.
    mean : Array
        Its derivative in the mean.
    variance : Array
        Its derivative in the variance.
    """

    value: Array
    mean: Array
    variance: Array


class AcquisitionFunction(ABC):
    """A function from predictions to acquisition values, given an incumbent.

    Larger is better. Values are minimized: a lower mean, or a larger incumbent, never makes a point worth less, unless
    the function looks for something else than small values, such as a level. Only a call must be written.

    Attributes
    ----------
    is_logarithm : bool, default False
        True where acquisition values are logarithms, to which that of a chance may be added.
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

        By default it is infinite, which costs time alone: every point is predicted in full.

        Parameters
        ----------
        prediction : Prediction
            Mean and variance, (s, m) each, as of `Posterior.screen`.
        incumbent : float
            The value to improve on, in the user's units.
        """
        return np.full(prediction.mean.shape, np.inf)

    def average(self, scores: Array) -> Array:
        """Average the acquisition value of each point over posterior samples (m,), logarithms by log-mean-exp.

        Parameters
        ----------
        scores : Array
            (s, m), what a call returned.
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
        """Return the function for values of this noise; itself, by default, for one that does not depend on it.

        Parameters
        ----------
        noise : Array
            Variance under each posterior sample (s, 1), at least 0, in the user's units squared.
        """
        return self


class Score(ABC):
    """A function from points to acquisition values, the only thing that a maximizer knows of the model; maximized."""

    @abstractmethod
    def __call__(self, xs: Batch) -> Array:
        """Return the acquisition value of each of m points (m,)."""

    def upper_bounds(self, xs: Batch) -> Array:
        """Return bounds that are never below the acquisition value of the same point, and cheaper (m,).

        By default they are infinite, which costs time alone: every point is scored.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return np.full(len(xs), np.inf)

    def believe(self, xs: Batch) -> Score | None:
        """Return the score of the posterior that `Posterior.believe` gives at points.

        None, by default, is for a score that cannot be told: then each suggestion has a score of its own.

        Parameters
        ----------
        xs : Batch
            Points that are being evaluated.
        """
        return None

    def input_vjp(self, xs: Batch) -> VariedValues | None:
        """Return the score of m points as a function of their continuous coordinates, with gradients.

        None, by default, is for a score without gradients, whose points climb from neighbor to neighbor.

        Parameters
        ----------
        xs : Batch
            m points, whose other coordinates stay.
        """
        return None


class Maximizer(ABC):
    """A search for the points of a domain that score best."""

    @abstractmethod
    def __call__(self, score: Score, domain: Any, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        """Return local maxima of the score, best first, each once, and the info to record.

        score: the function to maximize.
        domain: has what the maximizer asks of it, neighbors or mutations.
        starts: good points to start from, best first; may be empty.
        rng: random number generator.
        """


class Feasibility(ABC):
    """The chance that points succeed, as a model of success believes."""

    @abstractmethod
    def log_probability(self, xs: Batch) -> Array:
        """Return the logarithm of the chance that each of m points has a value (m,), at most 0.

        Parameters
        ----------
        xs : Batch
            m points.
        """

    def log_probability_bound(self, xs: Batch) -> Array:
        """Return bounds that are never below the log chance of the same point, at most 0 (m,); by default itself.

        Parameters
        ----------
        xs : Batch
            m points.
        """
        return self.log_probability(xs)

    def log_probability_vjp(self, xs: Batch) -> VariedValues | None:
        """Return the log chance of m points as a function of their continuous coordinates, with gradients.

        None, by default, is for a chance without gradients.

        Parameters
        ----------
        xs : Batch
            m points, whose other coordinates stay.
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
        """Learn the chance that a point succeeds from all points.

        Parameters
        ----------
        points : Batch
            n points.
        succeeded : NDArray
            For each, whether it did (n,), bool.
        state : State
            None, or what the last call returned, if a fit may start; plain JSON.
        rng : Generator
            Random number generator.
        keep : bool, default False
            Whether the hyperparameters of the state serve, so that nothing is fitted if that takes long.

        Returns
        -------
        tuple of (Feasibility, State)
            The chance, and the state for the next call.

        Raises
        ------
        NumericalError
        """
