"""A similarity that may be indefinite, made a kernel of the points that a model was trained on.

Negative eigenvalues of the Gram matrix of the training points are set to 0, and what candidates have in common with
those points is projected onto the eigenvectors that are left, so that training and prediction speak of one kernel
(Chen et al. 2009, section 2.2, calls it spectrum clip). The released NASBOT code clips the former and forgets the
latter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf  # pyright: ignore[reportAttributeAccessIssue]

from bostruct.checks import check_part
from bostruct.contracts import Array, Batch, Kernel, Parameter, Prepared, Pullback

NEGLIGIBLE = 1e-9  # of the mean diagonal: a negative eigenvalue as small as this is left to the jitter


class SpectrumClipPair(NamedTuple):
    """Prepared batches. own: training points with themselves. across: others with them; None for training points."""

    own: Prepared
    across: Prepared | None


class Eigensystem(NamedTuple):
    """The eigenvalues and eigenvectors of a symmetric matrix.

    values: eigenvalues (n,), ascending.
    vectors: eigenvectors (n, n), in columns.
    """

    values: Array
    vectors: Array


@dataclass(frozen=True)
class SpectrumClip(Kernel):
    """The kernel that spectrum clipping makes of a similarity (Chen et al. 2009, section 2.2).

    The second batch of `prepare` is the training points; the first alone are these with themselves. Where
    the Gram matrix of the training points is positive semi-definite, this is the similarity itself.

    similarity: a kernel but that its Gram matrices may be indefinite.
    """

    similarity: Kernel
    depends_on_training = True

    def __post_init__(self) -> None:
        check_part("similarity", self.similarity, Kernel)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.similarity.parameters

    def around(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        return SpectrumClip(self.similarity.around(change))

    def prepare(self, xs: Batch, ys: Batch | None = None) -> SpectrumClipPair:
        if ys is None:
            return SpectrumClipPair(self.similarity.prepare(xs), None)
        return SpectrumClipPair(self.similarity.prepare(ys), self.similarity.prepare(xs, ys))

    def gram(self, theta: Array, prepared: SpectrumClipPair) -> Array:
        own = self.similarity.gram(theta, prepared.own)
        across = None if prepared.across is None else self.similarity.gram(theta, prepared.across)
        return clip(own, across)

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return the similarity's own diagonal (n,), nothing clipped from it; `gram_and_diag` gives the kernel's.

        theta: (p,).
        xs: n points.
        """
        return self.similarity.diag(theta, xs)

    def gram_and_diag(self, theta: Array, xs: Batch, prepared: SpectrumClipPair) -> tuple[Array, Array]:
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
        del gram  # what was clipped from it is not known
        own = self.similarity.line(theta, i, prepared.own)
        if prepared.across is None:
            return lambda value: clip(own(value))
        across = self.similarity.line(theta, i, prepared.across)
        return lambda value: clip(own(value), across(value))

    def gram_and_pullback(self, theta: Array, prepared: SpectrumClipPair) -> tuple[Array, Pullback]:
        """Return the Gram matrix K (n, n), and the map from G (n, n) to the gradient of sum(G * K) in theta (p,).

        theta: (p,).
        prepared: of training points with themselves.

        Raises ValueError for other points. Source: the derivative of a spectral function, Daleckii and Krein 1965.
        """
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
    """Return `own` without its negative eigenvalues, or `across` projected onto the eigenvectors kept.

    own: (n, n), symmetric.
    across: (m, n), similarities to the same points; None for `own` itself.
    """
    spectrum = indefinite_spectrum(own)
    if spectrum is None:
        return own if across is None else across
    if across is not None:
        return project(across, spectrum)
    kept = spectrum.vectors[:, spectrum.values > 0.0]
    return (kept * spectrum.values[spectrum.values > 0.0]) @ kept.T


def project(across: Array, spectrum: Eigensystem) -> Array:
    """Project similarities to the training points onto the eigenvectors with positive eigenvalues (m, n).

    across: (m, n), one row a point.
    spectrum: of the training points' matrix.
    """
    kept = spectrum.vectors[:, spectrum.values > 0.0]
    return (across @ kept) @ kept.T


def clip_surplus(across: Array, spectrum: Eigensystem) -> Array:
    """Return what clipping adds to the similarity of m points with themselves (m,).

    Along each eigenvector v that was removed, (v' k)^2 / |l|: of a training point its diagonal entry of the matrix
    removed. Of other points small |l| make rubbish of it, so they get at most the most that a training point gets.

    across: (m, n), similarities to the n training points.
    spectrum: of the training points' matrix.
    """
    removed = spectrum.values < -NEGLIGIBLE * float(np.mean(spectrum.values))
    vectors, sizes = spectrum.vectors[:, removed], -spectrum.values[removed]
    most = float(np.max(np.square(vectors) @ sizes))
    return np.minimum(np.square(across @ vectors) @ (1.0 / sizes), most)


def indefinite_spectrum(gram: Array) -> Eigensystem | None:
    """Return the spectrum of a matrix with a negative eigenvalue that is not negligible, else None.

    gram: (n, n), symmetric; None also for one that is not finite.
    """
    tolerance = NEGLIGIBLE * float(np.mean(gram.diagonal()))
    if not np.all(np.isfinite(gram)) or dpotrf(gram + tolerance * np.eye(len(gram)), 1, 0, 1)[1] == 0:
        return None  # the surrogate refuses what is not finite
    spectrum = Eigensystem(*np.linalg.eigh(gram))
    return spectrum if spectrum.values[0] < -tolerance else None
