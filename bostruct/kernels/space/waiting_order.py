"""A numbering of items that wait for each other which does not depend on how they were listed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from bostruct.contracts import IntArray

Colors: TypeAlias = list[int]


class Waits(NamedTuple):
    """The items that wait for each other, by what they share.

    resources: the number of the resource of each item (w,), from 0.
    chains: the number of the chain of each item (w,), from 0: occurrences of one item are a chain, in the order of
        their numbers.
    """

    resources: tuple[int, ...]
    chains: tuple[int, ...]


class Numbering(NamedTuple):
    """Items in an order of their own.

    items: the item in each place (w,).
    classes: the number of the class of each item (w,): items of one class wait alike, as far as refinement can tell.
    """

    items: IntArray
    classes: IntArray


@lru_cache(maxsize=32)
def number_items(waits: Waits) -> Numbering:
    """Return a numbering that follows the items where they, their resources and their chains are listed otherwise.

    Items are told apart by those before and after them in their chain and by those that share their resource, again and
    again (color refinement, Weisfeiler and Leman 1968). Of items that are still alike one is put first, and the others
    are told apart from it. Refinement can take items for alike that are not, as in strongly regular structures. There
    the numbering depends on the listing.

    waits: of the w items.
    """
    colors = classes = _refine(waits, [0] * len(waits.chains))
    while (tied := _find_tie(colors)) is not None:
        colors = [2 * color for color in colors]
        colors[tied] -= 1
        colors = _refine(waits, colors)
    return Numbering(np.argsort(colors), np.array(classes))


def _refine(waits: Waits, colors: Colors) -> Colors:
    """Return colors from 0 that tell items apart by those they wait for, until none is told apart any more."""
    before, after = _find_neighbors(waits.chains)
    n, colors = 0, _rank(colors)
    while n < (n := max(colors) + 1):
        shared: list[list[int]] = [[] for _ in range(max(waits.resources) + 1)]
        for color, resource in zip(colors, waits.resources, strict=True):
            shared[resource].append(color)
        users = _rank([tuple(sorted(own)) for own in shared])
        padded = [*colors, -1]  # what no item has
        colors = _rank(
            [
                (color, padded[before[item]], padded[after[item]], users[waits.resources[item]])
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
