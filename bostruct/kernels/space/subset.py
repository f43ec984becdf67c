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
from typing import NamedTuple

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import WeightedGraph
from bostruct.domains.space.subset import Subset
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.extent import Extent
from bostruct.kernels.space.factor import Factor
from bostruct.kernels.space.features import FeatureFactor, SubsetFeatures
from bostruct.kernels.space.johnson import JohnsonFactor
from bostruct.kernels.space.pairs import FactorPair

MOST_RELEVANCES = 100  # items that have a lengthscale each


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
class SubsetEffect(EffectKernel):
    """The linear effect of a subset: each item that is in it adds its own.

    width: w, the number of items.
    share: the mean share of the items that a subset has, in (0, 1).

    Effects are 0 on average over draws, and the mean of the diagonal is 1.
    """

    width: int
    share: float

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        return ((xs - self.share) / self._scale) @ (ys - self.share).T

    def diag(self, xs: IntArray) -> Array:
        return (xs.sum(axis=1) * (1.0 - 2.0 * self.share) + self.width * self.share**2) / self._scale

    @property
    def _scale(self) -> float:
        return self.width * self.share * (1.0 - self.share)
