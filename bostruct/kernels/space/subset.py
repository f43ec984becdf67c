"""Subsets of items: how alike two of them are, as a factor of the product and as a linear effect.

Three kernels are multiplied, each with lengthscales of its own:

- the heat kernel of exchanges, which knows no item from another: of the Johnson graph where all subsets have one size,
  of the hypercube between allowed sizes where they have several;
- the heat kernel of the hypercube with a relevance of each item, up to 100 items, and, where sizes vary, a Gaussian of
  the size;
- where the items have a graph, the squared distance between subsets that the diffusion on the graph has smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import WeightedGraph
from bostruct.domains.space.subset import Subset
from bostruct.kernels.space.extent import Extent
from bostruct.kernels.space.factor import Factor
from bostruct.kernels.space.features import FeatureFactor
from bostruct.kernels.space.johnson import JohnsonFactor
from bostruct.kernels.space.pairs import FactorPair
from bostruct.kernels.space.spectra import DenseSpectrum, spectrum_of

MOST_RELEVANCES = 100  # items that have a lengthscale each
TIME = 3.0  # of diffusion on the graph of items, in units of 1 / mean degree


class SubsetShape(NamedTuple):
    """All that a kernel knows of a `Subset`, whatever its items are called.

    n_items: at least 2.
    sizes: the smallest and the largest number of items of a subset.
    share: the mean share of the items that a subset has, in (0, 1).
    graph: of the items; None for none.
    """

    n_items: int
    sizes: tuple[int, int]
    share: float
    graph: WeightedGraph | None

    @property
    def range(self) -> Extent | None:
        """The range of the sizes; None where there is one."""
        return Extent(*self.sizes, 0) if self.sizes[0] < self.sizes[1] else None

    @classmethod
    def of(cls, variable: Subset) -> SubsetShape:
        """Return the shape of a variable.

        variable: any subset.
        """
        return cls(variable.width, variable.sizes, variable.share, variable.graph)


def subset_factor(shape: SubsetShape, n_variables: int) -> Factor:
    """Build the factor of some variables.

    shape: of each.
    n_variables: how many, at least 1.
    """
    n, (smallest, largest), _, graph = shape
    exchanges = JohnsonFactor(n, smallest, n_variables) if smallest == largest else None
    features = SubsetFeatures(n, n <= MOST_RELEVANCES, exchanges is None, graph, shape.range)
    if exchanges is not None and not len(features.groups):
        return exchanges
    found = FeatureFactor(features, n_variables)
    return found if exchanges is None else FactorPair(exchanges, found)


@dataclass(frozen=True)
class SubsetFeatures:
    """The features of subsets of w items, for `FeatureFactor`: bits of the items, smooth ones on their graph, the size.

    width: w, at least 2.
    apart: True for a bit of each item with a lengthscale of its own.
    together: True for bits that share a lengthscale.
    graph: of the items, for w - 1 features that share a lengthscale; None for none.
    sizes: the range of the sizes, for a feature of its own; None for none.
    """

    width: int
    apart: bool
    together: bool
    graph: WeightedGraph | None = None
    sizes: Extent | None = None

    @property
    def groups(self) -> IntArray:
        """The group of each feature (q,)."""
        parts = [np.arange(self.width)] if self.apart else []
        parts += [np.zeros(self.width, dtype=np.int64)] if self.together else []
        parts += [np.zeros(self.width - 1, dtype=np.int64)] if self.graph is not None else []
        parts += [np.zeros(1, dtype=np.int64)] if self.sizes is not None else []
        starts = np.cumsum([0, *(int(part[-1]) + 1 for part in parts)])
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *(part + start for part, start in zip(parts, starts[:-1], strict=True))])

    def encode(self, xs: IntArray) -> Array:
        """Return the features of subsets (n, q).

        xs: bits (n, w).
        """
        bits = xs.astype(np.float64)
        parts = [bits] * (self.apart + self.together)
        if self.graph is not None:
            parts.append(bits @ _smoother(self.graph))
        if self.sizes is not None:
            parts.append(self.sizes.scale(xs)[:, None])
        return parts[0] if len(parts) == 1 else np.hstack(parts)


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

    Effects are 0 on average over draws, and the mean of the diagonal is 1.
    """

    width: int
    share: float

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between subsets (n, m).

        xs: bits (n, w).
        ys: bits (m, w).
        """
        return ((xs - self.share) / self._scale) @ (ys - self.share).T

    def diag(self, xs: IntArray) -> Array:
        """Return the kernel of each subset with itself (n,).

        xs: bits (n, w).
        """
        return (xs.sum(axis=1) * (1.0 - 2.0 * self.share) + self.width * self.share**2) / self._scale

    @property
    def _scale(self) -> float:
        return self.width * self.share * (1.0 - self.share)
