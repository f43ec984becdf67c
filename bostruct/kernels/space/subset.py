"""Subsets of items: features that tell subsets apart, as a factor of the product, and their linear effect.

The factor is the diffusion on the hypercube of all subsets, with a relevance of each item, between subsets of allowed
sizes (Kondor and Lafferty 2002, section 3; a lengthscale for each dimension as in Oh et al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import WeightedGraph
from bostruct.kernels.space.spectra import DenseSpectrum, spectrum_of

MOST_RELEVANCES = 100  # items that have a lengthscale each; more of them share one
TIME = 3.0  # of diffusion on the graph of items, in units of 1 / mean degree


@dataclass(frozen=True)
class SubsetFeatures:
    """The features of subsets of w items, for `FeatureFactor`: a bit for each item, and smooth ones on their graph.

    width: w, at least 2.
    share: the mean share of the items that a subset has, in (0, 1).
    graph: of the items; None for none.
    """

    width: int
    share: float
    graph: WeightedGraph | None = None

    @property
    def groups(self) -> IntArray:
        """The group of each feature: one an item up to 100 items, else one for all; and one for those of the graph."""
        own = np.arange(self.width) if self.width <= MOST_RELEVANCES else np.zeros(self.width, dtype=np.int64)
        return own if self.graph is None else np.concatenate([own, np.full(self.width - 1, own[-1] + 1)])

    def encode(self, xs: IntArray) -> Array:
        """Return the features of subsets (n, w), or (n, 2 w - 1) with a graph.

        xs: bits (n, w).
        """
        bits = xs.astype(np.float64)
        return bits if self.graph is None else np.hstack([bits, bits @ _smoother(self.graph)])


@lru_cache(maxsize=16)
def _smoother(graph: WeightedGraph) -> Array:
    """Return features whose inner products are the diffusion on a graph, without its constant part (w, w - 1).

    The time is 3 over the mean degree. The mean square of a feature is that of a bit.
    """
    spectrum = spectrum_of(graph)
    assert isinstance(spectrum, DenseSpectrum)
    decay = np.exp(-TIME * spectrum.values[1:] / spectrum.values.mean())
    return spectrum.vectors[:, 1:] * np.sqrt(decay * (len(decay) / decay.sum()))


@dataclass(frozen=True)
class SubsetEffect:
    """The linear effect of a subset: each item that is in it adds its own.

    width: w, the number of items.
    share: the mean share of the items that a subset has, in (0, 1).
    graph: of the items; None for none.

    Effects are 0 on average over all subsets, and the mean of the diagonal is 1.
    """

    width: int
    share: float
    graph: WeightedGraph | None = None

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between subsets (n, m).

        xs: bits (n, w).
        ys: bits (m, w).
        """
        return ((xs - self.share) @ (ys - self.share).T) / self._scale

    def diag(self, xs: IntArray) -> Array:
        """Return the kernel of each subset with itself (n,).

        xs: bits (n, w).
        """
        return np.square(xs - self.share).sum(axis=1) / self._scale

    @property
    def _scale(self) -> float:
        return self.width * self.share * (1.0 - self.share)
