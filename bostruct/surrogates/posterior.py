"""The posterior of a Gaussian process under several samples of its hyperparameters.

Bounds in single precision: if k are the covariances of a point with n training points, S = K + ratio I, and w are the
weights, the mean is w'k, and the explained variance is k'S^-1 k. Rounding changes a sum of n products by at most n + 4
roundings of the sum of their magnitudes, which is also computed. And k'S^-1 k is at least |B k|^2 for rows B with
B S B' = I, because all components explain at least as much as r components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from bostruct.contracts import SINGLE_ROUNDING, Array, Batch, Kernel, Pullback, SingleGram
from bostruct.contracts.model import HeldOut, HyperparameterSamples, Posterior, Prediction, VariedPrediction
from bostruct.surrogates.gaussian import cholesky, inverse_lower
from bostruct.surrogates.hyperparameters import Hyperparameters

SMALLEST_VARIANCE = 1e-8  # of the latent value, on the scale of the model: as published
SCREEN_ROUNDING = 1e-13
SINGLE_BLOCK = 2**18  # covariances at a time in single precision
MOST_COMPARED = 50  # number of training points whose variables are changed one at a time
WHITENER_ROWS = 128  # at a time: they stay in cache for two products
BLOCK = 1024  # candidates at a time: their covariances with the training points stay in cache


@dataclass(frozen=True, eq=False)
class GaussianPosterior(Posterior):
    """The posterior of a Gaussian process under several samples of its hyperparameters.

    known: noise variance of each training value (n,) on the model's scale; NaN, or None for all, to use the sample's.
    find_alternatives: finds the samples of other models for `average_models`; None if there are none.
    """

    kernel: Kernel
    xs: Batch
    join: Callable[..., Batch]
    samples: Sequence[PosteriorSample]
    nugget: float
    shift: float = 0.0
    scale: float = 1.0
    known: Array | None = None
    training_means: TrainingMeans | None = None
    unused: tuple[str, ...] = ()
    find_alternatives: Callable[[], Sequence[PosteriorSample]] | None = None

    @property
    def noise(self) -> Array:
        return self.scale**2 * np.exp([[one.hyper.log_noise] for one in self.samples])

    def list_hyperparameters(self) -> list[HyperparameterSamples]:
        """Return the relevance of each variable, mean, standard deviations of signal and noise, and theta.

        The relevance is 1 - r for the mean correlation r of two points that differ only in this variable.
        """
        hypers = [one.hyper for one in self.samples]
        spread, noise = (
            self.scale * np.exp(0.5 * np.array([getattr(one, name) for one in hypers]))
            for name in ("log_amplitude", "log_noise")
        )
        mean = self.shift + self.scale * np.array([one.mean for one in hypers])
        found = [HyperparameterSamples("relevance", v, values) for v, values in self._find_relevances().items()]
        found.append(HyperparameterSamples("mean", None, mean, has_sign=True))
        found.append(HyperparameterSamples("signal standard deviation", None, spread))
        found.append(HyperparameterSamples("noise standard deviation", None, noise))
        names = [block.name for block in self.kernel.parameters for _ in range(block.size)]
        thetas = np.array([one.theta for one in hypers]).reshape(len(hypers), -1).T
        for name, variable, theta in zip(names, self.kernel.parameter_variables, thetas, strict=True):
            part, _, own = name.rpartition(": ")
            is_logarithm = own.startswith("log") and own[3:4] in ("_", " ") and not own.startswith("log_odds")
            label = f"{part}: {own[4:]}" if part and is_logarithm else own[4:] if is_logarithm else name
            values = np.exp(theta) if is_logarithm else theta
            found.append(HyperparameterSamples(label.replace("_", " "), variable, values))
        return found

    def _find_relevances(self) -> dict[int, Array]:
        """Return 1 - r of each variable (s,), between some training points with and without another point's value."""
        columns = self.kernel.variable_columns
        if not columns or len(self.xs) < 2:
            return {}
        rows = np.asarray(self.xs)[:MOST_COMPARED]
        others, found = np.roll(rows, len(rows) // 2, axis=0), dict[int, Array]()
        for variable in sorted(columns):
            own = list(columns[variable])
            differs = (rows[:, own] != others[:, own]).any(axis=1)
            if not differs.any():
                continue
            before, after = rows[differs], rows[differs].copy()
            after[:, own] = others[differs][:, own]
            pair, values = self.kernel.prepare(before, after), list[float]()
            for theta in (one.hyper.theta for one in self.samples):
                sizes = self.kernel.diag(theta, before) * self.kernel.diag(theta, after)
                values.append(1.0 - float(np.mean(self.kernel.gram(theta, pair).diagonal() / np.sqrt(sizes))))
            found[variable] = np.array(values)
        return found

    @property
    def gaussian(self) -> GaussianPosterior | None:
        return None if self.kernel.depends_on_training else self

    def predict(self, xs: Batch) -> Prediction:
        """Return latent mean and variance, (s, m) each; on the model's scale, at least `SMALLEST_VARIANCE`."""
        return self._predict_in_blocks(xs, explained_variance)

    def screen(self, xs: Batch) -> Prediction:
        """Return the mean, in O(n) per point, and the variance given only the most informative training point."""
        return self._allow_for_rounding(
            self._predict_in_blocks(xs, lambda one, gram: np.square(np.max(gram * one.reach, axis=1)))
        )

    def bound(self, xs: Batch) -> Prediction:
        """Return bounds of mean and variance, in single precision if the kernel supports it.

        The variance is the smaller of the variance given only the most informative training point, and the variance
        given the leading principal components of the training points.
        """
        return self.bound_and_reach(xs)[0]

    def bound_and_reach(self, xs: Batch) -> tuple[Prediction, npt.NDArray[np.bool_] | None]:
        grams_with = self._single_grams
        if grams_with is None:
            return self.screen(xs), None
        mean, variance = np.empty((len(self.samples), len(xs))), np.empty((len(self.samples), len(xs)))
        unreached, size = np.ones(len(xs), dtype=bool), max(SINGLE_BLOCK // len(self.xs), 1)
        for first in range(0, len(xs), size):
            block = xs[first : first + size]
            if (grams := grams_with(block)) is None:
                return self.screen(xs), None
            own = slice(first, first + len(block))
            for s, (one, gram) in enumerate(zip(self._single_samples, grams, strict=True)):
                hyper = self.samples[s].hyper
                lowest, explained, total = bound_sample(one, gram)
                diag = self.kernel.diag(hyper.theta, block)
                prior = diag + self.nugget
                mean[s, own] = hyper.mean + lowest
                variance[s, own] = np.maximum(np.exp(hyper.log_amplitude) * (prior - explained), SMALLEST_VARIANCE)
                unreached[own] &= (diag == 1.0) & (one.scale * total < LOST * abs(hyper.mean))
                unreached[own] &= np.square(one.norm * total) < LOST * prior
        bounds = Prediction(self.shift + self.scale * mean, self.scale**2 * variance)
        return self._allow_for_rounding(bounds), unreached

    def upper_bound(self, xs: Batch) -> Prediction:
        found = self._negative.bound(xs)
        return Prediction(-found.mean, found.variance)

    @cached_property
    def _negative(self) -> GaussianPosterior:
        """The posterior of the negative objective, so that lower bounds become upper bounds."""
        samples = [s._replace(hyper=s.hyper._replace(mean=-s.hyper.mean), weights=-s.weights) for s in self.samples]
        return replace(self, samples=samples, shift=-self.shift, training_means=None, find_alternatives=None)

    def _allow_for_rounding(self, prediction: Prediction) -> Prediction:
        """Widen bounds by the possible rounding differences of `predict` between blocks of points."""
        sums = [abs(s.hyper.mean) + float(np.abs(s.weights).sum() / np.square(s.reach.min())) for s in self.samples]
        margin = SCREEN_ROUNDING * (abs(self.shift) + abs(self.scale) * np.array(sums)[:, None])
        return Prediction(prediction.mean - margin, prediction.variance * (1.0 + SCREEN_ROUNDING))

    def covariance(self, xs: Batch) -> Array:
        """Return the covariances of the latent objective among m points (s, m, m), with `predict`'s variances.

        A kernel that depends on the training points may be indefinite among other points. Its negative eigenvalues are
        then set to 0, and the variances are unchanged.
        """
        if not len(xs):
            return np.empty((len(self.samples), 0, 0))
        xs = self.join(xs)
        variance = self.predict(xs).variance / self.scale**2
        across, among = self.kernel.prepare(xs, self.xs), self.kernel.prepare(xs, xs)
        found = np.empty((len(self.samples), len(xs), len(xs)))
        for s, one in enumerate(self.samples):
            white = self.kernel.gram_and_diag(one.hyper.theta, xs, across)[0] @ one.whitener.T
            left = np.exp(one.hyper.log_amplitude) * (self.kernel.gram(one.hyper.theta, among) - white @ white.T)
            if self.kernel.depends_on_training:
                values, vectors = np.linalg.eigh(0.5 * (left + left.T))
                left = _scale_to_variances((vectors * np.maximum(values, 0.0)) @ vectors.T, variance[s])
            np.fill_diagonal(left, variance[s])
            found[s] = left
        return self.scale**2 * found

    def input_vjp(self, xs: Batch) -> VariedPrediction | None:
        xs = self.join(xs)
        if (grams := self.vary_grams(xs)) is None:
            return None
        varied = list(zip(grams, self.samples, strict=True))
        diags = [self.kernel.diag(one.hyper.theta, xs) for one in self.samples]

        def at_shares(shares: Array) -> tuple[Prediction, Callable[[Prediction], Array]]:
            mean, variance = np.empty((len(varied), len(shares))), np.empty((len(varied), len(shares)))
            solved = []
            for s, ((vary, one), diag) in enumerate(zip(varied, diags, strict=True)):
                gram, pull = vary(shares)
                white, explains = whiten_twice(one.whitener, gram)
                mean[s] = one.hyper.mean + gram @ one.weights
                left = diag + self.nugget - np.einsum("mn,mn->m", white, white)
                variance[s] = np.exp(one.hyper.log_amplitude) * left
                solved.append((explains, pull))
            is_floor = variance <= SMALLEST_VARIANCE
            found = Prediction(mean, np.maximum(variance, SMALLEST_VARIANCE))

            def pullback(cotangents: Prediction) -> Array:
                gradient = np.zeros(shares.shape)
                for s, (_, one) in enumerate(varied):
                    explains, pull = solved[s]
                    of_variance = np.where(is_floor[s], 0.0, cotangents.variance[s]) * self.scale**2
                    of_variance *= -2.0 * np.exp(one.hyper.log_amplitude)
                    of_mean = self.scale * cotangents.mean[s]
                    gradient += pull(of_mean[:, None] * one.weights + of_variance[:, None] * explains)
                return gradient

            return Prediction(self.shift + self.scale * found.mean, self.scale**2 * found.variance), pullback

        return at_shares

    def vary_grams(self, xs: Batch) -> list[Callable[[Array], tuple[Array, Pullback]]] | None:
        """Return the Gram matrix with the training points under each sample, as in `Kernel.input_vjp`.

        Returns None if the kernel has no gradient in the continuous coordinates of the points.
        """
        found = [self.kernel.input_vjp(one.hyper.theta, xs, self.xs) for one in self.samples]
        known = [vary for vary in found if vary is not None]
        return known if len(known) == len(found) else None

    def believe(self, xs: Batch) -> Posterior:
        """Return the posterior conditioned on a value equal to the mean at each of xs, with the noise of a new value.

        This is the kriging believer, `fantasize` in BoTorch. Believed points do not change the mean, because their
        weights are 0. They reduce the variance, and reduce it less if values are noisy.
        """
        if not len(xs):
            return self
        believed = self.with_points(xs)
        return FantasizedPosterior(self, believed) if self.kernel.depends_on_training else believed

    def with_points(self, xs: Batch) -> GaussianPosterior:
        """Return the posterior with more training points, whose weights are 0.

        xs: at least one point.
        """
        augmented = self.join(self.xs, xs)
        known = None if self.known is None else np.concatenate([self.known, np.full(len(xs), np.nan)])
        samples = [
            fit_posterior_sample(self.kernel, augmented, None, one.hyper, self.nugget, known)._replace(
                weights=np.concatenate([one.weights, np.zeros(len(xs))])
            )
            for one in self.samples
        ]
        return replace(self, xs=augmented, samples=samples, known=known, find_alternatives=None)

    def average_models(self) -> GaussianPosterior:
        others = self.find_alternatives() if self.find_alternatives else ()
        return replace(self, samples=[*self.samples, *others], training_means=None, find_alternatives=None)

    def find_training_means(self, xs: Batch) -> Array:
        known = self.training_means
        if known is None or known.all_points is not xs:
            return self.screen(xs).mean
        return self.shift + self.scale * known.means

    def leave_one_out(self) -> HeldOut:
        """Predict each training value given all others.

        The hyperparameters are unchanged, and so is the Gram matrix of a kernel that depends on the training points.
        """
        values = self.shift + self.scale * read_values(self.samples[0])
        found = [predict_left_out(one) for one in self.samples]
        mean, variance = (np.stack(rows) for rows in zip(*found, strict=True))
        prediction = Prediction(self.shift + self.scale * mean, self.scale**2 * variance)
        return HeldOut(self.xs, values, prediction)

    def _predict_in_blocks(self, xs: Batch, explained: Callable[[PosteriorSample, Array], Array]) -> Prediction:
        mean = np.empty((len(self.samples), len(xs)))
        variance = np.empty_like(mean)
        for block, s, gram, diag in self.iterate_grams(xs):
            one = self.samples[s]
            mean[s, block] = one.hyper.mean + gram @ one.weights
            left = np.exp(one.hyper.log_amplitude) * (diag + self.nugget - explained(one, gram))
            variance[s, block] = np.maximum(left, SMALLEST_VARIANCE)
        return Prediction(self.shift + self.scale * mean, self.scale**2 * variance)

    def iterate_grams(self, xs: Batch) -> Iterator[tuple[slice, int, Array, Array]]:
        """Yield the Gram matrix with the training points, and k(x, x), for blocks of points under each sample.

        Each item is the slice of the block, the position of the sample, the matrix (b, n), and the diagonal (b,).
        """
        for first in range(0, len(xs), BLOCK):
            block = slice(first, min(first + BLOCK, len(xs)))
            prepared = self.kernel.prepare(xs[block], self.xs)
            for s, one in enumerate(self.samples):
                yield block, s, *self.kernel.gram_and_diag(one.hyper.theta, xs[block], prepared)

    @cached_property
    def _single_grams(self) -> Callable[[Batch], Iterator[SingleGram] | None] | None:
        return self.kernel.single_grams([one.hyper.theta for one in self.samples], self.xs)

    @cached_property
    def _single_samples(self) -> list[SinglePosteriorSample]:
        prepared = lru_cache(lambda: self.kernel.prepare(self.xs))
        return [
            prepare_sample(
                lambda theta=one.hyper.theta: self.kernel.gram(theta, prepared()), one, self.nugget, self.known
            )
            for one in self.samples
        ]


@dataclass(frozen=True, eq=False)
class FantasizedPosterior(Posterior):
    """A posterior with believed points, for a kernel that depends on the training points and so changes with them.

    observed, augmented: without and with the believed points; the former's mean and the smaller variance are used.
    """

    observed: GaussianPosterior
    augmented: GaussianPosterior

    @property
    def noise(self) -> Array:
        return self.observed.noise

    def predict(self, xs: Batch) -> Prediction:
        return _smaller_variance(self.observed.predict(xs), self.augmented.predict(xs))

    def screen(self, xs: Batch) -> Prediction:
        return _smaller_variance(self.observed.screen(xs), self.augmented.screen(xs))

    def covariance(self, xs: Batch) -> Array:
        return _scale_to_variances(self.augmented.covariance(xs), self.predict(xs).variance)

    def believe(self, xs: Batch) -> Posterior:
        if not len(xs):
            return self
        believed = self.augmented.xs[len(self.observed.xs) :]
        return self.observed.believe(self.observed.join(believed, xs))


class TrainingMeans(NamedTuple):
    """The posterior mean at the points that a model learned from.

    all_points: all completed points, compared by identity.
    means: means at the k points that the model learned from (s, k), on the scale of the model.
    """

    all_points: Batch
    means: Array


class PosteriorSample(NamedTuple):
    """One sample of the hyperparameters, with the quantities that predictions need.

    weights: (K + ratio I)^-1 (y - mean), (n,); empty if no values were given.
    whitener: inverse of the Cholesky factor of K + ratio I, (n, n).
    reach: 1 / sqrt of the diagonal of K + ratio I, (n,); (k reach)^2 is the variance that one point explains.
    jitter: number added to the diagonal of K, 0 if none was needed.
    """

    hyper: Hyperparameters
    weights: Array
    whitener: Array
    reach: Array
    jitter: float


def fit_posterior_sample(
    kernel: Kernel, xs: Batch, residual: Array | None, hyper: Hyperparameters, nugget: float, known: Array | None = None
) -> PosteriorSample:
    """Factor the Gram matrix of training points under one sample of the hyperparameters; raises NumericalError.

    residual: values less the mean (n,); None leaves the weights empty.
    nugget: share of the amplitude added to the diagonal of K, at least 0.
    """
    return posterior_sample_from_gram(kernel.gram(hyper.theta, kernel.prepare(xs)), residual, hyper, nugget, known)


def posterior_sample_from_gram(
    gram: Array, residual: Array | None, hyper: Hyperparameters, nugget: float, known: Array | None = None
) -> PosteriorSample:
    """Factor the Gram matrix of training points under one sample of the hyperparameters; raises NumericalError.

    gram: K (n, n) at the sample's theta, which is only read.
    residual: values less the mean (n,); None leaves the weights empty.
    nugget: share of the amplitude added to the diagonal of K, at least 0.
    """
    ratio = hyper.ratio(nugget, known)
    lower, jitter = cholesky(gram.copy, ratio)
    whitener = inverse_lower(lower)
    weights = np.empty(0) if residual is None else whitener.T @ (whitener @ residual)
    return PosteriorSample(hyper, weights, whitener, 1.0 / np.sqrt(gram.diagonal() + ratio + jitter), jitter)


def predict_left_out(one: PosteriorSample) -> Prediction:
    """Return mean and variance of each training value given all others, (n,) each, on the scale of the model.

    The variance includes the noise of the value. For C = K + ratio I and the residual r = C w, the mean is
    value - w_i / (C^-1)_ii and the variance amplitude / (C^-1)_ii (Rasmussen and Williams 2006, (5.10) to (5.12)).
    """
    precision = np.square(one.whitener).sum(axis=0)
    return Prediction(read_values(one) - one.weights / precision, np.exp(one.hyper.log_amplitude) / precision)


def read_values(one: PosteriorSample) -> Array:
    """Return the n values from which the weights of a sample were computed (n,), on the model's scale, up to rounding.

    They are mean + C w; the whitener is the inverse of the lower Cholesky factor of C.
    """
    half = scipy.linalg.solve_triangular(one.whitener, one.weights, lower=True, trans=1)
    return one.hyper.mean + scipy.linalg.solve_triangular(one.whitener, half, lower=True)


MAX_COMPONENTS = 32
FEWEST_COMPONENTS = 24  # with about 200 training points; with fewer points, an exact variance is as fast
POINTS_PER_COMPONENT = 8  # training points per component, so that a bound is faster than an exact variance
POWER_ITERATIONS = 2
LEAST_EIGENVALUE = 0.3  # of a component that is worth its cost, in units of a variance
LOST = 2.0**-55  # relative: smaller terms change no digit of a double
NEGLIGIBLE = 1e-11  # smaller coefficients are set to 0: their products with small covariances would be slow denormals
COMPONENT_ROUNDING = 1e-6  # relative: rounding error of B S B' = I


class SinglePosteriorSample(NamedTuple):
    """One sample of a posterior in single precision.

    rows: the weights over their scale, the magnitudes of these, ones, and the components B (3 + r, n).
    scale: the largest magnitude of a weight. spread: Frobenius norm of the components.
    norm: Frobenius norm of the whitener; norm^2 k'k is at least the variance explained by covariances k.
    """

    rows: npt.NDArray[np.float32]
    scale: float
    spread: float
    norm: float
    reach: npt.NDArray[np.float32]


def prepare_sample(
    build: Callable[[], Array], one: PosteriorSample, nugget: float, known: Array | None = None
) -> SinglePosteriorSample:
    """Return a sample in single precision, for its bounds.

    build: () -> K of the training points under the sample (n, n); called only if components save time.
    """
    n = len(one.weights)
    most = min(MAX_COMPONENTS, n // POINTS_PER_COMPONENT)
    components = np.empty((0, n))
    if most >= FEWEST_COMPONENTS:
        components = leading_components(build(), one.hyper.ratio(nugget, known) + one.jitter, most)
    scale = float(np.max(np.abs(one.weights))) or 1.0
    weights = one.weights / scale
    rows = np.vstack([weights, np.abs(weights), np.ones(n), components])
    rows[np.abs(rows) < NEGLIGIBLE] = 0.0
    is_level = float(np.ptp(one.reach)) <= SINGLE_ROUNDING * float(one.reach[0])
    reach = (one.reach[:1] if is_level else one.reach).astype(np.float32)
    spread, norm = float(np.linalg.norm(components)), float(np.linalg.norm(one.whitener))
    return SinglePosteriorSample(rows.astype(np.float32), scale, spread, norm, reach[:, None])


def leading_components(gram: Array, ridge: float | Array, most: int) -> Array:
    """Return rows B (r, n) with B (K + ridge I) B' = I that approximately span the leading eigenvectors of K.

    gram: K (n, n).
    ridge: a number, or an array (n,), to add to the diagonal, at least 0.
    most: maximum of r, from 1 to n.

    Source: Halko, Martinsson and Tropp 2011, algorithm 4.4, started at columns of K.
    """
    n = len(gram)
    basis = gram[:, np.linspace(0, n - 1, most).astype(np.int64)]
    for _ in range(POWER_ITERATIONS):
        basis = gram @ np.linalg.qr(basis)[0]
    basis = np.linalg.qr(basis)[0]
    values, vectors = np.linalg.eigh(basis.T @ (gram @ basis + np.reshape(ridge, (-1, 1)) * basis))
    kept = values >= LEAST_EIGENVALUE * (float(np.mean(gram.diagonal())) + float(np.mean(ridge)))
    return ((basis @ vectors[:, kept]) / np.sqrt(values[kept])).T


def bound_sample(one: SinglePosteriorSample, single: SingleGram) -> tuple[Array, Array, Array]:
    """Return lower bounds of the weighted sum w'k and of the explained variance, and an upper bound of the sum of k.

    Each has the shape (m,), for m points.

    single: covariances of the n training points with the m points (n, m).
    """
    gram, n = single.gram, len(single.gram)
    share = (n + 4) * SINGLE_ROUNDING + single.error
    share = share / (1.0 - share) if share < 0.5 else 2.0 * share  # of the computed sum instead of the true sum
    found = one.rows @ gram
    weighted, magnitude, total = found[:3].astype(np.float64)
    nearest = gram.max(axis=0).astype(np.float64)
    reached = nearest * one.reach[0] if len(one.reach) == 1 else (gram * one.reach).max(axis=0)
    lowest = weighted - share * (1.0 + share) * magnitude - NEGLIGIBLE * (1.0 + share) * total
    explained = max(1.0 - share - 4.0 * SINGLE_ROUNDING, 0.0) * reached
    if len(components := found[3:]):
        length = np.sqrt(nearest * total) * (1.0 + share)  # at least |k|
        projected = np.sqrt(np.einsum("rm,rm->m", components, components, dtype=np.float64))
        projected -= (share * one.spread + NEGLIGIBLE * n) * length
        np.maximum(explained, (1.0 - COMPONENT_ROUNDING) * projected, out=explained)
    return one.scale * lowest, np.square(explained), (1.0 + share) * total


def explained_variance(one: PosteriorSample, gram: Array) -> Array:
    """Return the prior variance explained by the training points (m,); a triangular product takes half the time.

    gram: kernel between m points and the training points (m, n).
    """
    white = scipy.linalg.blas.dtrmm(1.0, one.whitener.T, gram.T, lower=0, trans_a=1)  # views in Fortran's order; (n, m)
    return np.einsum("nm,nm->m", white, white)


def whiten_twice(whitener: Array, gram: Array) -> tuple[Array, Array]:
    """Return gram W' and gram W' W (m, n), from one pass over the lower triangle of W, in parts that stay in cache.

    whitener: W (n, n), lower triangular.
    gram: few rows (m, n).
    """
    white, twice = np.empty(gram.shape), np.zeros(gram.shape)
    for first in range(0, len(whitener), WHITENER_ROWS):
        end = min(first + WHITENER_ROWS, len(whitener))
        rows = whitener[first:end, :end]
        white[:, first:end] = gram[:, :end] @ rows.T
        twice[:, :end] += white[:, first:end] @ rows
    return white, twice


def _scale_to_variances(covariance: Array, variance: Array) -> Array:
    """Return covariances with the same correlations and other variances (..., m, m); variance: (..., m)."""
    own = np.einsum("...ii->...i", covariance)
    ratio = np.sqrt(np.divide(variance, own, out=np.zeros_like(variance), where=own > 0.0))
    return covariance * ratio[..., :, None] * ratio[..., None, :]


def _smaller_variance(observed: Prediction, augmented: Prediction) -> Prediction:
    return Prediction(observed.mean, np.minimum(observed.variance, augmented.variance))
