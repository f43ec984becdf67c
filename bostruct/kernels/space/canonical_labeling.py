"""Canonical labeling of items that share resources and follow each other in chains, by color refinement."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from bostruct.contracts import IntArray

Colors: TypeAlias = list[int]


class Labeling(NamedTuple):
    """A canonical order of w items. Both arrays are only read.

    order: the item in each place (w,).
    classes: the number of the class of each item (w,): items of one class are alike, as far as refinement can tell.
    """

    order: IntArray
    classes: IntArray


@lru_cache(maxsize=32)
def label_canonically(resources: tuple[int, ...], chains: tuple[int, ...]) -> Labeling:
    """Return items in a canonical order: up to symmetries the same, however items, resources and chains are numbered.

    Color refinement (1-dimensional Weisfeiler and Leman 1968) tells items apart by those before and after them in their
    chain, and by those of their resource. Where some are still alike, one of them is put first, which tells others
    apart (individualization, McKay 1981). Refinement can take items for alike that no symmetry exchanges, as in
    strongly regular structures. There the order depends on the numbers of the items.

    resources: the number of the resource of each item (w,), from 0.
    chains: the number of the chain of each item (w,), from 0; items of a chain follow each other as they are numbered.
    """
    colors = classes = _refine(resources, chains, [0] * len(chains))
    while (tied := _find_tie(colors)) is not None:
        colors = [2 * color for color in colors]
        colors[tied] -= 1
        colors = _refine(resources, chains, colors)
    found = Labeling(np.argsort(colors), np.array(classes))
    for own in found:  # which is remembered
        own.flags.writeable = False
    return found


def _refine(resources: Sequence[int], chains: Sequence[int], colors: Colors) -> Colors:
    """Return colors from 0 that tell items apart by the colors of those around them, until none is told apart more."""
    before, after = _find_neighbors(chains)
    n, colors = 0, _rank(colors)
    while n < (n := max(colors) + 1):
        shared: list[list[int]] = [[] for _ in range(max(resources) + 1)]
        for color, resource in zip(colors, resources, strict=True):
            shared[resource].append(color)
        users = _rank([tuple(sorted(own)) for own in shared])
        padded = [*colors, -1]  # the color of no item, which ends of chains have beside them
        colors = _rank(
            [
                (color, padded[before[item]], padded[after[item]], users[resources[item]])
                for item, color in enumerate(colors)
            ]
        )
    return colors


def _find_neighbors(chains: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the items before and after each in its chain; -1 where there is none."""
    before, after, last = [-1] * len(chains), [-1] * len(chains), dict[int, int]()
    for item, chain in enumerate(chains):
        if chain in last:
            before[item], after[last[chain]] = last[chain], item
        last[chain] = item
    return before, after


def _rank(keys: Sequence[Hashable]) -> Colors:
    """Return the place of each key among the different ones, ascending."""
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}  # type: ignore[type-var]
    return [ranks[key] for key in keys]


def _find_tie(colors: Colors) -> int | None:
    """Return an item of the first color that several items have; None where each has its own."""
    first: dict[int, int] = {}
    tied = [(color, first[color]) for item, color in enumerate(colors) if first.setdefault(color, item) != item]
    return min(tied)[1] if tied else None
