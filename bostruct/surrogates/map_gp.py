"""Gaussian processes at the mode of their hyperparameters (maximum a posteriori), found with closed-form gradients.

`NoiseSelection` selects one of two models: one expects noise, the other expects almost no noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from bostruct.checks import ROUNDING, SMALLEST_SCALE, check_integer, check_number, check_part, has_hardly_grown
from bostruct.contracts import ADDED_LATER, Array, IntArray, Kernel, NumericalError, Prior, Surrogate
from bostruct.contracts.types import Batch, Info, Prepared, State
from bostruct.surrogates.gaussian import cholesky, evidence_from, inverse_from_cholesky, log_determinant
from bostruct.surrogates.hyperparameters import Hyperparameters, check_values, make_initial_theta
from bostruct.surrogates.posterior import GaussianPosterior, PosteriorSample, TrainingMeans, posterior_sample_from_gram
from bostruct.surrogates.standardization import (
    check_variances,
    find_known_variances,
    standardize,
    standardize_variances,
)

LOG_NOISE_RANGE = (math.log(1e-6), math.log(10.0))  # of standardized values
THETA_REACH = 8.0  # maximum distance of a kernel parameter from its initial value
LBFGSB_TOLERANCE = 1e7 * float(np.finfo(np.float64).eps)  # the default of L-BFGS-B, for moderate accuracy
BLOCK_NUMBERS = 2**17  # numbers in points compared at a time: they fit into the cache of a processor
LEAST_LEAD = 4.0  # nats by which the quiet model has to be more probable to predict alone
CENTERS = 5  # number of best points with neighbors: as many as an acquisition search starts from


class TrainingData(NamedTuple):
    """Training data on the model's scale.

    values: standardized values (n,).
    noise: known noise variance of each value (n,), NaN if learned; None if all are learned.
    """

    kernel: Kernel
    prepared: Prepared
    values: Array
    xs: Batch
    shift: float
    scale: float
    noise: Array | None
    all_points: Batch

    @property
    def usual_noise(self) -> float | None:
        """The median of the noise variances, if all are known; None if some are learned.

        The mean would be dominated by a single value with huge noise.
        """
        return None if self.noise is None or np.isnan(self.noise).any() else float(np.median(self.noise))


class Mode(NamedTuple):
    """A mode of the hyperparameters.

    packed: log noise variance and theta (1 + p,).
    """

    packed: Array
    info: Info


@dataclass(frozen=True)
class MAPGP(Surrogate):
    """A Gaussian process at the mode of its hyperparameters (maximum a posteriori).

    Values are standardized, the amplitude is 1, and the mean is profiled out.

    Parameters
    ----------
    kernel : Kernel
        Kernel on the points; the fit is fast if the kernel has its own gradient.
    join : callable
        The domain's `join`, which adds running points to the training points.
    noise_prior : Prior
        Prior of the log noise variance of standardized values.
    initial_log_noise : float
        Initial log noise variance of standardized values.
    most_steps : int, default 60
        Maximum number of L-BFGS steps, at least 1.
    tolerance : float
        Relative increase of the log density in one step at or below which the fit stops, at least 0.
    most : int or None
        Maximum number of training points, at least 2; `choose_local` selects them. None uses all.
    latest : int
        Number of the latest points that are always used, at least 0 and at most half of `most`; 0 without `most`.
    most_fitted : int or None
        Maximum number of training points to which the hyperparameters are fitted, at least 2; they are spread evenly
        in order of time. None uses all.
    near_zero : bool
        True if the values nearest to 0 are selected as the best, because 0 is the boundary of a constraint.
    variances : Array or None
        Known noise variances of the values, as in `with_variances`; None if all are learned.

    Raises
    ------
    TypeError, ValueError
        If `most_steps`, `tolerance`, `most`, `latest` or `most_fitted` is invalid.
    """

    kernel: Kernel
    join: Callable[..., Batch]
    noise_prior: Prior
    initial_log_noise: float
    most_steps: int = 60
    tolerance: float = field(default=LBFGSB_TOLERANCE, metadata=ADDED_LATER)
    most: int | None = field(default=None, metadata=ADDED_LATER)
    latest: int = field(default=0, metadata=ADDED_LATER)
    most_fitted: int | None = field(default=None, metadata=ADDED_LATER)
    near_zero: bool = field(default=False, metadata=ADDED_LATER)
    variances: Array | None = field(default=None, metadata=ADDED_LATER, compare=False)

    def __post_init__(self) -> None:
        check_integer("most_steps", self.most_steps, 1)
        check_number("tolerance", self.tolerance, 0.0)
        for name in ("most", "most_fitted"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 2)
        check_integer("latest", self.latest, 0, 0 if self.most is None else self.most // 2)
        check_part("kernel", self.kernel, Kernel)
        check_part("noise_prior", self.noise_prior, Prior)

    def with_variances(self, variances: Array) -> MAPGP:
        """Return the model with known noise of the values that it is conditioned on next.

        If all noise variances are known, the noise variance of a new value is their median.
        """
        return replace(self, variances=check_variances(variances))

    def for_violation(self, warp: Callable[[Surrogate], Surrogate]) -> Surrogate:
        return warp(replace(self, near_zero=True))

    def with_kernel(self, change: Callable[[Kernel], Kernel], join: Callable[..., Batch]) -> MAPGP:
        return replace(self, kernel=change(self.kernel), join=join, most=None, latest=0)

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[GaussianPosterior, State, Info]:
        """Climb to a mode from the last mode, or from the prior's mode if its density is higher."""
        del rng  # the climb is deterministic
        fit = self.prepare(xs, values)
        mode = self.find_mode(fit, state)
        posterior, info = self.posterior_at(fit, mode)
        return posterior, mode.packed.tolist(), info

    def condition_at(self, xs: Batch, values: Array, state: State) -> GaussianPosterior | None:
        if not self.accepts(state):
            return None
        return self.posterior_at(self.prepare(xs, values), Mode(np.array(state), {}))[0]

    def prepare(self, xs: Batch, values: Array) -> TrainingData:
        """Standardize the values and prepare the points, a step that models of the same kernel and data share.

        Parameters
        ----------
        xs : Batch
            n points.
        values : array of shape (n,)
            Values in the user's units.
        """
        check_values(values)
        variances = find_known_variances(self.variances, len(values))
        all_points = xs
        if self.most is not None and len(all_points) > self.most:
            ranked = np.abs(values) if self.near_zero else values
            kept = choose_local(self.kernel, self.join, xs, ranked, self.most, self.latest)
            xs, values = self.join([xs[i] for i in kept]), values[kept]
            variances = None if variances is None else variances[kept]
        standard, shift, scale = standardize(values, ROUNDING, variances)
        noise = None if variances is None else standardize_variances(variances, scale)
        return TrainingData(self.kernel, self.kernel.prepare(xs), standard, xs, shift, scale, noise, all_points)

    def accepts(self, state: State) -> bool:
        """Return whether a state is a mode of this model; an earlier version's kernel may have had other parameters.

        Parameters
        ----------
        state : State
            None, which is not a mode, or a list of the log noise variance and theta.
        """
        return state is not None and len(state) == 1 + sum(block.size for block in self.kernel.parameters)

    def find_mode(self, fit: TrainingData, state: State) -> Mode:
        """Optimize from the last mode, or from the prior's mode if its density is higher.

        Parameters
        ----------
        fit : TrainingData
            The training data.
        state : State
            None, or the last mode; a state is ignored if `accepts` returns False.
        """
        if self.most_fitted is not None and len(fit.values) > self.most_fitted:
            kept = np.linspace(0, len(fit.values) - 1, self.most_fitted).round().astype(np.int64)
            xs, noise = self.join([fit.xs[i] for i in kept]), None if fit.noise is None else fit.noise[kept]
            fit = fit._replace(prepared=self.kernel.prepare(xs), values=fit.values[kept], xs=xs, noise=noise)
        prior_mode = np.concatenate([[self.initial_log_noise], make_initial_theta(self.kernel)])
        starts = [prior_mode, *([np.array(state)] if self.accepts(state) else [])]
        log_noises = LOG_NOISE_RANGE
        if (usual := fit.usual_noise) is not None:
            fixed = float(np.clip(math.log(max(usual, SMALLEST_SCALE)), *LOG_NOISE_RANGE))
            log_noises = (fixed, fixed)
            for start in starts:
                start[0] = fixed
        return Mode(*self._maximize(fit, starts, log_noises))

    def posterior_at(self, fit: TrainingData, mode: Mode) -> tuple[GaussianPosterior, Info]:
        """Return the posterior at a mode, and the info to record.

        If it uses only some of the observations, ``info["learned_from"]`` is their number.

        Parameters
        ----------
        fit : TrainingData
            The training data.
        mode : Mode
            Mode of the hyperparameters.

        Raises
        ------
        NumericalError
            If the Gram matrix is not positive definite.
        """
        log_noise, theta = float(mode.packed[0]), mode.packed[1:]
        gram = self.kernel.gram(theta, fit.prepared)
        hyper = Hyperparameters(0.0, 0.0, log_noise, theta)
        one = posterior_sample_from_gram(gram, fit.values, hyper, 0.0, fit.noise)
        ones = one.whitener.T @ one.whitener.sum(axis=1)  # (K + noise I)^-1 1
        mean = float(ones @ fit.values) / float(ones.sum())  # of the largest evidence
        one = one._replace(hyper=hyper._replace(mean=mean), weights=one.weights - mean * ones)
        ratio = hyper.ratio(0.0, fit.noise) + one.jitter
        means = fit.values - ratio * one.weights  # because (K + ratio I) weights = values - mean
        info = mode.info | {"largest_jitter": one.jitter, "noise": math.exp(log_noise)}
        info |= {"learned_from": len(fit.values)} if len(fit.xs) < len(fit.all_points) else {}
        known = TrainingMeans(fit.all_points, means[None])
        found = GaussianPosterior(self.kernel, fit.xs, self.join, [one], 0.0, fit.shift, fit.scale, fit.noise, known)
        return found, info

    def log_posterior(self, fit: TrainingData, packed: Array) -> tuple[float, Array]:
        """Return the log posterior of the hyperparameters, and its gradient; Rasmussen and Williams 2006, (5.9).

        Parameters
        ----------
        fit : TrainingData
            The training data.
        packed : array of shape (1 + p,)
            Log noise variance and theta.

        Returns
        -------
        tuple of (float, Array)
            The log density, up to a constant, and its gradient (1 + p,).

        Raises
        ------
        NumericalError
            If the Gram matrix is not positive definite.
        """
        noise, theta = math.exp(packed[0]), packed[1:]
        gram, pullback = self.kernel.gram_and_pullback(theta, fit.prepared)
        lower, _ = cholesky(gram.copy, noise if fit.noise is None else np.where(np.isnan(fit.noise), noise, fit.noise))
        determinant, inverse = log_determinant(lower), inverse_from_cholesky(lower)
        sums = inverse.sum(axis=1)
        mean = float(sums @ fit.values) / float(sums.sum())  # of the largest evidence: (2.41) for one constant basis
        residual = fit.values - mean
        weights = inverse @ residual
        evidence = evidence_from(determinant, float(residual @ weights), len(residual), 0.0)
        cotangent = np.outer(weights, weights)
        cotangent -= inverse
        cotangent *= 0.5
        prior, noise_gradient = self.noise_prior.value_and_grad(packed[:1])
        gradients, first = [noise_gradient], 1
        for block in self.kernel.parameters:
            value, gradient = block.prior.value_and_grad(packed[first : first + block.size])
            prior += value
            gradients.append(gradient)
            first += block.size
        learned = np.trace(cotangent) if fit.noise is None else cotangent.diagonal()[np.isnan(fit.noise)].sum()
        of_evidence = np.concatenate([[noise * learned], pullback(cotangent)])
        return evidence + prior, np.concatenate(gradients) + of_evidence

    def _maximize(self, fit: TrainingData, starts: list[Array], log_noises: tuple[float, float]) -> tuple[Array, Info]:
        calls, at_starts = 0, dict[bytes, tuple[float, Array]]()

        def loss(packed: Array) -> tuple[float, Array]:
            nonlocal calls
            if (key := packed.tobytes()) not in at_starts:
                calls += 1
                value, gradient = self.log_posterior(fit, packed)
                return -value, -gradient
            value, gradient = at_starts[key]
            return value, gradient.copy()

        prior_mode = starts[0]
        options = {"maxiter": self.most_steps, "ftol": self.tolerance}
        bounds = [log_noises, *((t - THETA_REACH, t + THETA_REACH) for t in prior_mode[1:])]
        try:
            at_starts |= {start.tobytes(): loss(start) for start in starts}  # the climb needs one of them again
            start = min(starts, key=lambda packed: loss(packed)[0])
            found = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        except NumericalError as error:
            return prior_mode, {"fit": f"prior mode, because {error}", "likelihoods": calls}
        return found.x, {"fit": "mode", "likelihoods": calls, "log_posterior": -float(found.fun)}


@dataclass(frozen=True)
class NoiseSelection(Surrogate):
    """A choice between two models, each fitted at its mode: the model with the higher posterior density.

    This is the mode under a mixture of their priors; one climb starts in each component, so that neither is missed.

    A few noisy values cannot distinguish noise from a rough function, and the mode of many lengthscales explains noise
    by roughness. So a third model, which expects a smoother function, replaces the noisy model. And if the quiet model
    is more probable by at most 4 nats, `average_models` gives it and the model with noise equal weights.

    smooth: the third model, with another prior of the parameters of the same kernel; None for the noisy model itself.
    growth: relative growth of the data until which the last model and mode are used without a fit, at least 0; if 0,
        each call fits both models.

    Raises TypeError or ValueError for `log_odds` and `growth`.
    """

    quiet: MAPGP
    noisy: MAPGP
    log_odds: float = 0.0
    growth: float = field(default=0.0, metadata=ADDED_LATER)
    smooth: MAPGP | None = field(default=None, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        check_number("log_odds", self.log_odds, -math.inf)
        check_number("growth", self.growth, 0.0)
        if self.quiet.kernel is not self.noisy.kernel and self.quiet.kernel != self.noisy.kernel:
            raise ValueError("noisy: expected a model with the kernel of `quiet`, because both share their data")

    def with_variances(self, variances: Array) -> NoiseSelection:
        """Return the choice between models with known noise of the values that they are conditioned on next.

        If all noise variances are known, the two models are identical, and only the quiet model is fitted.
        """
        return self.change_models(lambda one: one.with_variances(variances))

    def for_violation(self, warp: Callable[[Surrogate], Surrogate]) -> Surrogate:
        return warp(self.change_models(lambda one: replace(one, near_zero=True)))

    def with_kernel(self, change: Callable[[Kernel], Kernel], join: Callable[..., Batch]) -> NoiseSelection:
        quiet, noisy = (one.with_kernel(change, join) for one in (self.quiet, self.noisy))
        return replace(self, quiet=quiet, noisy=noisy, smooth=None, growth=0.0)

    def change_models(self, change: Callable[[MAPGP], MAPGP]) -> NoiseSelection:
        """Return the choice between changed models.

        change: model -> changed model.
        """
        smooth = None if self.smooth is None else change(self.smooth)
        return replace(self, quiet=change(self.quiet), noisy=change(self.noisy), smooth=smooth)

    def initial_state(self) -> State:
        return [self.quiet.initial_state(), self.noisy.initial_state()]

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[GaussianPosterior, State, Info]:
        """Fit both models, each from its own last mode, and keep the more probable model.

        A failed fit counts as improbable. If the data have barely grown since the last fit, nothing is fitted.

        Returns the posterior, the state for the next call, and the info to record. Raises NumericalError.
        """
        del rng  # the climbs are deterministic
        fit = self.quiet.prepare(xs, values)  # for all models: their kernels differ only in priors
        final_noisy = self.noisy if self.smooth is None else self.smooth
        last = self._last_modes(state)
        if isinstance(state, dict) and has_hardly_grown([len(values)], [state["n"]], self.growth):
            model, own = (final_noisy, last[-1]) if state["is_noisy"] else (self.quiet, last[0])
            if model.accepts(own):
                posterior, info = model.posterior_at(fit, Mode(np.array(own), {"fit": "kept", "likelihoods": 0}))
                if state.get("is_close", False):
                    posterior = replace(posterior, find_alternatives=partial(self._find_alternatives, fit, last))
                return posterior, state, info
        if fit.usual_noise is not None:
            mode = self.quiet.find_mode(fit, last[0])
            posterior, info = self.quiet.posterior_at(fit, mode)
            return posterior, self._learned([mode.packed.tolist(), *last[1:]], len(values), -math.inf), info
        quiet, noisy = self.quiet.find_mode(fit, last[0]), self.noisy.find_mode(fit, last[1])
        gain = noisy.info.get("log_posterior", -math.inf) + self.log_odds - quiet.info.get("log_posterior", -math.inf)
        is_noisy = gain > 0.0
        likelihoods = quiet.info["likelihoods"] + noisy.info["likelihoods"]
        modes = [quiet.packed.tolist(), noisy.packed.tolist(), *last[2:]]
        model, mode = (self.noisy, noisy) if is_noisy else (self.quiet, quiet)
        if is_noisy and final_noisy is not self.noisy:
            model, mode = final_noisy, final_noisy.find_mode(fit, last[2])
            likelihoods += mode.info["likelihoods"]
            modes[2] = mode.packed.tolist()
        posterior, info = model.posterior_at(fit, mode)
        if is_close(gain):
            posterior = replace(posterior, find_alternatives=partial(self._find_alternatives, fit, modes))
        return posterior, self._learned(modes, len(values), gain), info | {"likelihoods": likelihoods}

    def _find_alternatives(self, fit: TrainingData, modes: list[State]) -> Sequence[PosteriorSample]:
        """Return the sample of the model with noise that is averaged with the quiet model; none if its fit fails."""
        if self.smooth is None:
            return self.noisy.posterior_at(fit, Mode(np.array(modes[1]), {}))[0].samples
        mode = self.smooth.find_mode(fit, modes[2])
        return self.smooth.posterior_at(fit, mode)[0].samples if "log_posterior" in mode.info else []

    def _learned(self, modes: State, n: int, gain: float) -> State:
        return {"modes": modes, "n": n, "is_noisy": gain > 0.0, "is_close": is_close(gain)} if self.growth else modes

    def _last_modes(self, state: State) -> list[State]:
        """Return the last mode of each model; the single mode of a study of version 0.1.0 is used for all models."""
        models = 2 if self.smooth is None else 3
        if state is None:
            return [None] * models
        modes = state["modes"] if isinstance(state, dict) else state
        is_list = all(mode is None or isinstance(mode, list) for mode in modes)
        return [*modes, None][:models] if is_list else [modes] * models


def is_close(gain: float) -> bool:
    """Return whether the quiet model is more probable, but hardly; the gain of the noisy model is in nats."""
    return -LEAST_LEAD <= gain <= 0.0


def choose_local(
    kernel: Kernel, join: Callable[..., Batch], xs: Batch, values: Array, most: int, latest: int = 0
) -> IntArray:
    """Return the positions of the points to learn from, ascending: the best half, and the nearest to the best five.

    Near means a large correlation under the kernel at its initial parameters. The best half shows large effects. The
    neighbors of the best five show the effects of small changes, which an acquisition search needs most.

    values: values to minimize (n,).
    most: number of points to keep, at least 2 and at most n.
    latest: number of the last points that are always kept, at most `most` // 2. If suggestions go far from the best
        points and fail, only the last points show this.
    """
    order = np.argsort(values, kind="stable")
    centers = join([xs[i] for i in order[:CENTERS]])
    theta = make_initial_theta(kernel)
    of_centers = kernel.diag(theta, centers)
    nearness = np.empty(len(values))
    block = max(1, BLOCK_NUMBERS // max(1, np.size(centers[0])))
    for first in range(0, len(values), block):
        some = xs[first : first + block]
        near = kernel.gram(theta, kernel.prepare(some, centers))
        near /= np.sqrt(np.outer(kernel.diag(theta, some), of_centers))
        nearness[first : first + block] = near.max(axis=1)
    is_kept = np.zeros(len(values), dtype=np.bool_)
    is_kept[order[: most - most // 2]] = True
    is_kept[len(values) - latest :] = True
    by_nearness = np.argsort(-nearness, kind="stable")
    is_kept[by_nearness[~is_kept[by_nearness]][: most - np.count_nonzero(is_kept)]] = True
    return np.flatnonzero(is_kept)
