"""Draws of the latent objective at training points, and the posterior given each draw.

If the objective f is known at a point without noise, the observed value there adds no information. So a draw replaces
the values: the Gram matrix is unchanged, the noise of these rows is removed, and all draws share one factorization.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from bostruct.checks import check_integer
from bostruct.contracts import Array, Batch, IntArray, Posterior, Prediction, VariedPrediction
from bostruct.surrogates.posterior import (
    SCREEN_ROUNDING,
    SMALLEST_VARIANCE,
    GaussianPosterior,
    PosteriorSample,
    explained_variance,
    posterior_sample_from_gram,
    whiten_twice,
)

REST = 1e-6  # of the amplitude: the noise that a drawn value keeps, so that the Gram matrix can be factored
SAME = 1.0 - 1e-9  # correlation above which two points count as one


@dataclass(frozen=True, eq=False)
class LatentPosterior(Posterior):
    """The posterior of how far the objective is above the smallest of some drawn latent values, given the draws.

    It has D samples for each of the s samples of the posterior that was drawn from.

    posterior: posterior given latent values at some training points; only its variances are used.
    weights: weights of the training points under each of D draws, (n, D) for each posterior sample.
    lowest: smallest drawn value of each sample (s * D, 1), on the scale of the model.
    """

    posterior: GaussianPosterior
    weights: Sequence[Array]
    lowest: Array

    def predict(self, xs: Batch) -> Prediction:
        """Return mean and variance, (s * D, m) each."""
        return self._predict(xs, explained_variance)

    def screen(self, xs: Batch) -> Prediction:
        """Return the mean, and the variance given only the most informative training point."""
        mean, variance = self._predict(xs, lambda one, gram: np.square(np.max(gram * one.reach, axis=1)))
        sums = [
            abs(one.hyper.mean) + np.abs(weights).sum(axis=0) / np.square(one.reach.min())
            for one, weights in zip(self.posterior.samples, self.weights, strict=True)
        ]
        margin = SCREEN_ROUNDING * self.posterior.scale * (np.concatenate(sums)[:, None] + np.abs(self.lowest))
        return Prediction(mean - margin, variance * (1.0 + SCREEN_ROUNDING))

    def believe(self, xs: Batch) -> Posterior:
        if not len(xs):
            return self
        padded = [np.concatenate([one, np.zeros((len(xs), one.shape[1]))]) for one in self.weights]
        return replace(self, posterior=self.posterior.with_points(xs), weights=padded)

    def input_vjp(self, xs: Batch) -> VariedPrediction | None:
        posterior = self.posterior
        xs = posterior.join(xs)
        if (varied := posterior.vary_grams(xs)) is None:
            return None
        diags = [posterior.kernel.diag(one.hyper.theta, xs) for one in posterior.samples]

        def at_shares(shares: Array) -> tuple[Prediction, Callable[[Prediction], Array]]:
            found, solved = self._empty(len(shares)), []
            for s, (vary, one, diag) in enumerate(zip(varied, posterior.samples, diags, strict=True)):
                gram, pull = vary(shares)
                white, explains = whiten_twice(one.whitener, gram)
                is_floor = self._fill(found, s, slice(None), gram, diag - np.einsum("mn,mn->m", white, white))
                solved.append((explains, pull, is_floor))

            def pullback(cotangents: Prediction) -> Array:
                gradient = np.zeros(shares.shape)
                for s, (explains, pull, is_floor) in enumerate(solved):
                    own = self._rows(s)
                    of_variance = np.where(is_floor, 0.0, cotangents.variance[own].sum(axis=0)) * posterior.scale**2
                    of_variance *= -2.0 * np.exp(posterior.samples[s].hyper.log_amplitude)
                    of_mean = posterior.scale * cotangents.mean[own].T @ self.weights[s].T
                    gradient += pull(of_mean + of_variance[:, None] * explains)
                return gradient

            return found, pullback

        return at_shares

    def _predict(self, xs: Batch, explained: Callable[[PosteriorSample, Array], Array]) -> Prediction:
        found = self._empty(len(xs))
        for block, s, gram, diag in self.posterior.iterate_grams(xs):
            self._fill(found, s, block, gram, diag - explained(self.posterior.samples[s], gram))
        return found

    def _empty(self, m: int) -> Prediction:
        return Prediction(np.empty((len(self.lowest), m)), np.empty((len(self.lowest), m)))

    def _rows(self, s: int) -> slice:
        n_draws = self.weights[s].shape[1]
        return slice(s * n_draws, (s + 1) * n_draws)

    def _fill(self, found: Prediction, s: int, block: slice, gram: Array, left: Array) -> Array:
        """Write the prediction under one posterior sample, and return which variances are at the floor (m,).

        gram: kernel between the points and the training points (m, n). left: unexplained share of the amplitude (m,).
        """
        hyper, own, scale = self.posterior.samples[s].hyper, self._rows(s), self.posterior.scale
        found.mean[own, block] = scale * (hyper.mean + (gram @ self.weights[s]).T - self.lowest[own])
        variance = np.exp(hyper.log_amplitude) * (left + self.posterior.nugget)
        found.variance[own, block] = scale**2 * np.maximum(variance, SMALLEST_VARIANCE)
        return variance <= SMALLEST_VARIANCE


@dataclass(frozen=True)
class LatentSampler:
    """A rule that draws the objective without noise at training points, and conditions the posterior on the draws.

    most: maximum number of points, which have the smallest means, at least 1.
    n_draws: number of draws from each posterior sample, at least 1.

    Raises TypeError, ValueError. Source: Letham et al. 2019, section 3.
    """

    most: int
    n_draws: int

    def __post_init__(self) -> None:
        check_integer("most", self.most, 1)
        check_integer("n_draws", self.n_draws, 1)

    def __call__(self, posterior: Posterior, rng: np.random.Generator) -> LatentPosterior | None:
        """Return the posterior given the draws; None if the posterior is not a Gaussian process.

        Also None if the kernel depends on the training points, because believed points would change it and the draws.

        The draws are a Latin hypercube (McKay et al. 1979) in the principal coordinates of the joint posterior. Each
        coordinate is stratified; the latent values, which are sums of all coordinates, are not. Believed points are
        among the training points.

        rng: random number generator.

        Raises NumericalError.
        """
        gaussian: GaussianPosterior | None = posterior.gaussian
        if gaussian is None:
            return None
        kernel, samples = gaussian.kernel, gaussian.samples
        prepared = kernel.prepare(gaussian.xs)
        grams = [kernel.gram(one.hyper.theta, prepared) for one in samples]
        means = [one.hyper.mean + gram @ one.weights for one, gram in zip(samples, grams, strict=True)]
        rows = _choose_training_rows(np.mean(means, axis=0), grams[0], self.most)
        known = np.full(len(gaussian.xs), np.nan) if gaussian.known is None else gaussian.known.copy()
        amplitude = float(np.mean([np.exp(one.hyper.log_amplitude) for one in samples]))
        noise = np.where(np.isnan(known), np.mean([np.exp(one.hyper.log_noise) for one in samples]), known)
        known[rows] = np.minimum(noise[rows], REST * amplitude)
        drawn, weights, lowest = [], [], []
        for one, gram, mean in zip(samples, grams, means, strict=True):
            latent = mean[rows, None] + _draw_deviations(one, gram, rows, self.n_draws, rng)
            ratio = one.hyper.ratio(gaussian.nugget, gaussian.known) + one.jitter
            observed = gram @ one.weights + ratio * one.weights  # the values, less the mean
            residual = np.repeat(observed[:, None], self.n_draws, axis=1)
            residual[rows] = latent - one.hyper.mean
            fitted = posterior_sample_from_gram(gram, None, one.hyper, gaussian.nugget, known)
            drawn.append(fitted._replace(weights=one.weights))
            weights.append(fitted.whitener.T @ (fitted.whitener @ residual))
            lowest.append(latent.min(axis=0))
        return LatentPosterior(replace(gaussian, samples=drawn, known=known), weights, np.concatenate(lowest)[:, None])


def _choose_training_rows(means: Array, gram: Array, most: int) -> IntArray:
    """Return the positions of the training points with the smallest means, each distinct point once, by rank."""
    length = np.sqrt(gram.diagonal())
    chosen: list[int] = []
    for i in np.argsort(means, kind="stable").tolist():
        if len(chosen) == most:
            break
        if not np.any(gram[i, chosen] > SAME * length[i] * length[chosen]):
            chosen.append(i)
    return np.array(chosen)


def _draw_deviations(
    one: PosteriorSample, gram: Array, rows: IntArray, n_draws: int, rng: np.random.Generator
) -> Array:
    """Return draws of the latent values at some training points less their means (r, D); see `LatentSampler`."""
    white = gram[rows] @ one.whitener.T
    values, vectors = np.linalg.eigh(gram[np.ix_(rows, rows)] - white @ white.T)
    strata = rng.permuted(np.tile(np.arange(n_draws), (len(rows), 1)), axis=1)
    normals = scipy.special.ndtri((strata + rng.random(strata.shape)) / n_draws)
    spread = np.sqrt(np.exp(one.hyper.log_amplitude) * np.maximum(values, 0.0))
    return (vectors * spread) @ normals
