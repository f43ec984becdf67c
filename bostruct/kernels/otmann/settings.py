"""Settings of OTMANN, and the two published sets of settings.

`REFERENCE` has the settings of the released code of Kandasamy et al. 2018; `PAPER` reproduces Figure 1 of the paper.
They differ, as the paper's text and its figure do: the caption's distances follow from half the costs of its Table 1
between convolutions, with networks a and b exchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_bool, check_number, short_repr
from bostruct.contracts import ADDED_LATER, Array
from bostruct.domains.architecture.layers import KERNEL_SIZES, UNMATCHED, Family, check_triangles, kernel_size_costs
from bostruct.domains.architecture.validity import MAX_MASS
from bostruct.domains.architecture.value import DENSE_FACTOR, END_FLOOR, END_SHARE


def family_costs(family: Family) -> Array:
    """Return the family's own table of mismatch costs (labels, labels).

    Parameters
    ----------
    family : Family
        The family of layers.
    """
    return family.mismatch


def figure_costs(family: Family) -> Array:
    """Return the family's table with the costs of Figure 1 between published labels (labels, labels).

    The costs are 0.1 sqrt(|k - l| / 2) between convolutions of sizes k and l, the only formula that gives the caption's
    digits, and 0.25 between pools (Table 1). All other pairs cost as much as the cheapest path between their labels if
    that is less than in the family's table, which `Family.with_label` completed with higher costs.
    """
    table = family.mismatch.copy()
    between = (*kernel_size_costs(KERNEL_SIZES, 0.1 * float(np.sqrt(0.5))), ("max-pool", "avg-pool", 0.25))
    for first, second, cost in between:
        if {first, second} <= family.index.keys():
            i, j = family.index[first], family.index[second]
            table[i, j] = table[j, i] = cost
    for via in range(len(table)):  # shortest paths: Floyd 1962
        table = np.minimum(table, table[:, via, None] + table[via])
    return table


@dataclass(frozen=True)
class Otmann:
    """Settings of the OTMANN distance.

    Parameters
    ----------
    weights : tuple of float, default (0.1, 0.25, 0.61, 1.5)
        Structural weights nu >= 0, one distance for each.
    costs : callable, default family_costs
        Function from a family to the costs of matching labels (labels, labels).
    end_share, end_floor
        The input, the output, and all decision layers together have mass max(end_share * processing mass, end_floor)
        each; both settings are from 0 to 1e150.
    dense_factor : float, default DENSE_FACTOR
        Factor on the mass of layers of group ``fc``, 1e-12 to 1e150. The total mass of an architecture may be 1e150.
    attribute_costs : tuple of tuple of (str, float), default ()
        (name, cost) of matching layers that differ in an attribute, or in ``stride``; other attributes are ignored.
    group_paths : bool
        If True, the structural cost also averages the path lengths of each group of layers, as in the released code (24
        terms for CNNs); if False, it has the 6 terms of the paper's text.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    """

    weights: tuple[float, ...] = (0.1, 0.25, 0.61, 1.5)
    costs: Callable[[Family], Array] = family_costs
    end_share: float = END_SHARE
    end_floor: float = END_FLOOR
    dense_factor: float = DENSE_FACTOR
    attribute_costs: tuple[tuple[str, float], ...] = ()
    group_paths: bool = field(default=True, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        if not isinstance(self.weights, tuple):
            raise TypeError(f"weights: expected a tuple of numbers such as (0.1, 0.5), got {short_repr(self.weights)}")
        if not self.weights:
            raise ValueError("weights: expected at least one structural weight, got none")
        for weight in self.weights:
            check_number("weights", weight, 0.0)
        check_number("end_share", self.end_share, 0.0, MAX_MASS)
        check_number("end_floor", self.end_floor, 0.0, MAX_MASS)
        check_number("dense_factor", self.dense_factor, 1e-12, MAX_MASS)
        check_bool("group_paths", self.group_paths)
        if not callable(self.costs):
            raise TypeError(f"costs: expected a function from a family to its table, got {short_repr(self.costs)}")
        given = self.attribute_costs
        pairs = isinstance(given, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in given)
        if not pairs or not all(isinstance(name, str) for name, _ in given):
            allowed = "a tuple of (name, cost) such as (('stride', 0.3),)"
            raise TypeError(f"attribute_costs: expected {allowed}, got {short_repr(given)}")
        if len(dict(given)) != len(given):
            raise ValueError(f"attribute_costs: expected each attribute once, got {short_repr(given)}")
        for name, cost in given:
            check_number(f"attribute_costs[{name!r}]", cost, 0.0)


REFERENCE = Otmann()
PAPER = Otmann(weights=(0.5,), costs=figure_costs, end_floor=0.0, dense_factor=1.0)


class MatchingCosts(NamedTuple):
    """Costs of matching labels.

    mismatch: (labels, labels), the cost of a unit of mass, at most `UNMATCHED`.
    block: (labels,), the block of each label, from 0; labels of different blocks are never matched.
    n_blocks: number of blocks.
    """

    mismatch: Array
    block: npt.NDArray[np.int64]
    n_blocks: int


@lru_cache(maxsize=64)
def cost_table(family: Family, settings: Otmann) -> MatchingCosts:
    """Return the costs of matching labels, split into blocks that are transported independently.

    Raises ValueError for a table that is not symmetric, has a cost below 0 or a nonzero diagonal, or violates the
    triangle inequality.
    """
    mismatch = np.minimum(settings.costs(family), UNMATCHED)
    n = len(family.labels)
    if mismatch.shape != (n, n) or not np.array_equal(mismatch, mismatch.T) or not mismatch.min() >= 0.0:
        raise ValueError(f"costs: expected a symmetric, non-negative table of shape {(n, n)} for family {family.name}")
    if mismatch.diagonal().any():
        label = family.labels[int(mismatch.diagonal().argmax())].name
        raise ValueError(f"costs: expected 0 on the diagonal for family {family.name}, got {label} matched to itself")
    check_triangles([label.name for label in family.labels], mismatch)
    block = np.arange(n)
    for i, j in np.argwhere(mismatch < UNMATCHED):
        block[block == block[j]] = block[i]
    names, block = np.unique(block, return_inverse=True)
    mismatch.flags.writeable = False
    return MatchingCosts(mismatch, block.astype(np.int64), len(names))
