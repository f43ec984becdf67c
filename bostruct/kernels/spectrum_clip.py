"""A similarity that may be indefinite, made a kernel of the points that a model was trained on.

Negative eigenvalues of the Gram matrix of the training points are set to 0, and what candidates have in common with
those points is projected onto the eigenvectors that are left, so that training and prediction speak of one kernel
(Chen et al. 2009, section 2.2, calls it spectrum clip). The released NASBOT code clips the former and forgets the
latter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf  # pyright: ignore[reportAttributeAccessIssue]

from bostruct.contracts import Array, Batch, HasGradient, HasLine, Parameter, Prepared

NEGLIGIBLE = 1e-9  # of the mean diagonal: a negative eigenvalue as small as this is left to the jitter


class Similarity(HasLine, HasGradient, Protocol):
    """What a kernel offers, its matrices perhaps indefinite."""


class SpectrumClipPair(NamedTuple):
    """own: of the training points with themselves. across: of others with them; None for the training points."""

    own: Prepared
    across: Prepared | None


class Spectrum(NamedTuple):
    """Of a symmetric matrix: eigenvalues (n,) ascending, eigenvectors (n, n), columns."""

    values: Array
    vectors: Array


@dataclass(frozen=True)
class SpectrumClip:
    """The second batch of `prepare` are the training points; of them with themselves, the same object is both.

    Where the Gram matrix is positive semi-definite, this is the similarity itself.
    """

    similarity: Similarity

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.similarity.parameters

    def prepare(self, xs: Batch, ys: Batch) -> SpectrumClipPair:
        own = self.similarity.prepare(ys, ys)
        return SpectrumClipPair(own, None if xs is ys else self.similarity.prepare(xs, ys))

    def gram(self, theta: Array, prepared: SpectrumClipPair) -> Array:
        """(p,) -> (n, m)."""
        own = self.similarity.gram(theta, prepared.own)
        across = None if prepared.across is None else self.similarity.gram(theta, prepared.across)
        return clip(own, across)

    def diag(self, theta: Array, xs: Batch) -> Array:
        """That of the similarity (n,): without training points nothing is clipped; see `gram_and_diag`."""
        return self.similarity.diag(theta, xs)

    def gram_and_diag(self, theta: Array, xs: Batch, prepared: SpectrumClipPair) -> tuple[Array, Array]:
        """What xs, the first batch of `prepare`, have in common with the training points (n, m) and themselves (n,)."""
        diag = self.similarity.diag(theta, xs)
        own = self.similarity.gram(theta, prepared.own)
        across = own if prepared.across is None else self.similarity.gram(theta, prepared.across)
        spectrum = indefinite_spectrum(own)
        if spectrum is None:
            return across, diag
        return project(across, spectrum), diag + clip_surplus(across, spectrum)

    def line(
        self, theta: Array, i: int, prepared: SpectrumClipPair, gram: Array | None = None
    ) -> Callable[[float], Array]:
        """The Gram matrix along theta_i."""
        del gram  # what was clipped from it is not known
        own = self.similarity.line(theta, i, prepared.own)
        if prepared.across is None:
            return lambda value: clip(own(value))
        across = self.similarity.line(theta, i, prepared.across)
        return lambda value: clip(own(value), across(value))

    def gram_and_pullback(self, theta: Array, prepared: SpectrumClipPair) -> tuple[Array, Callable[[Array], Array]]:
        """K, and the map from G (n, m) to the gradient of sum(G * K); for training points alone, else ValueError."""
        if prepared.across is not None:
            raise ValueError("prepared: expected training points with themselves, got others with them")
        own, pullback = self.similarity.gram_and_pullback(theta, prepared.own)
        spectrum = indefinite_spectrum(own)
        if spectrum is None:
            return own, pullback
        values, vectors = spectrum
        kept = np.maximum(values, 0.0)
        gap = values[:, None] - values
        apart = np.abs(gap) > 1e-12 * np.max(np.abs(values))
        slopes = np.broadcast_to((values > 0.0).astype(np.float64), gap.shape)
        ratio = np.divide(kept[:, None] - kept, gap, out=slopes.copy(), where=apart)  # Daleckii and Krein 1965

        def through(cotangent: Array) -> Array:
            symmetric = 0.5 * (cotangent + cotangent.T)
            return pullback(vectors @ (ratio * (vectors.T @ symmetric @ vectors)) @ vectors.T)

        return (vectors * kept) @ vectors.T, through


def clip(own: Array, across: Array | None = None) -> Array:
    """`own` (n, n) without its negative eigenvalues; or `across` (m, n), projected onto the eigenvectors kept."""
    spectrum = indefinite_spectrum(own)
    if spectrum is None:
        return own if across is None else across
    if across is not None:
        return project(across, spectrum)
    kept = spectrum.vectors[:, spectrum.values > 0.0]
    return (kept * spectrum.values[spectrum.values > 0.0]) @ kept.T


def project(across: Array, spectrum: Spectrum) -> Array:
    """Rows (m, n) of similarities to the training points, onto the eigenvectors with positive eigenvalues."""
    kept = spectrum.vectors[:, spectrum.values > 0.0]
    return (across @ kept) @ kept.T


def clip_surplus(across: Array, spectrum: Spectrum) -> Array:
    """What clipping adds to the similarity of points with themselves (m,), from that to the training points (m, n).

    Along each eigenvector v that was removed, (v' k)^2 / |l|: of a training point its diagonal entry of the matrix
    removed. Of other points small |l| make rubbish of it, so they get at most the most that a training point gets.
    """
    removed = spectrum.values < -NEGLIGIBLE * float(np.mean(spectrum.values))
    vectors, sizes = spectrum.vectors[:, removed], -spectrum.values[removed]
    most = float(np.max(np.square(vectors) @ sizes))
    return np.minimum(np.square(across @ vectors) @ (1.0 / sizes), most)


def indefinite_spectrum(gram: Array) -> Spectrum | None:
    """The spectrum of a symmetric matrix (n, n) with an eigenvalue that is negative and not negligible, else None."""
    tolerance = NEGLIGIBLE * float(np.mean(gram.diagonal()))
    if not np.all(np.isfinite(gram)) or dpotrf(gram + tolerance * np.eye(len(gram)), 1, 0, 1)[1] == 0:
        return None  # the surrogate refuses what is not finite
    spectrum = Spectrum(*np.linalg.eigh(gram))
    return spectrum if spectrum.values[0] < -tolerance else None
