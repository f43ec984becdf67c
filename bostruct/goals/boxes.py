"""The region that no point of a front dominates, as boxes that do not overlap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.goals.pareto import find_nondominated

Edges = tuple[tuple[int, int], ...]  # of a box: in each objective the positions of its lower and its upper edge


class Boxes(NamedTuple):
    """Boxes whose edges are coordinates of a front.

    edges: for each of k objectives its edges, ascending, from -inf to the reference (e,).
    lower, upper: positions of the edges of each of b boxes (b, k).
    """

    edges: tuple[Array, ...]
    lower: IntArray
    upper: IntArray


def divide_nondominated(front: Array, reference: Array) -> Boxes:
    """Return boxes that make up the points below a reference which no point of a front dominates.

    Slices along the last objective are divided in the same way; a box that goes on in the next slice is one box. Two
    objectives take one box more than the front has points, three about twice as many as it has points.

    front: (n, k), n may be 0; points that others dominate, or that are not below the reference in each objective, count
        for nothing.
    reference: (k,).
    """
    below = front[np.all(front < reference, axis=1)]
    below = below[find_nondominated(below)]
    found = [np.unique(column, return_inverse=True) for column in below.T]
    edges = tuple(
        np.concatenate([[-math.inf], values, [end]]) for (values, _), end in zip(found, reference.tolist(), strict=True)
    )
    rows = sorted({tuple(row) for row in np.stack([of.reshape(-1) + 1 for _, of in found], axis=1).tolist()})
    boxes = np.array(_divide(rows, tuple(len(one) - 1 for one in edges)), dtype=np.int64)
    return Boxes(edges, boxes[:, :, 0], boxes[:, :, 1])


def _divide(rows: list[tuple[int, ...]], ends: tuple[int, ...]) -> list[Edges]:
    """Return the boxes below `ends`, whose lowest edge is 0 everywhere, that no row dominates."""
    if len(ends) == 1:
        return [((0, min((row[0] for row in rows), default=ends[0])),)]
    open_since: dict[Edges, int] = {}
    closed: list[Edges] = []
    start = 0
    for stop in [*sorted({row[-1] for row in rows}), ends[-1]]:
        now = set(_divide(_minimal([row[:-1] for row in rows if row[-1] <= start]), ends[:-1]))
        closed += [(*box, (since, start)) for box, since in open_since.items() if box not in now]
        open_since = {box: open_since.get(box, start) for box in sorted(now)}
        start = stop
    return closed + [(*box, (since, start)) for box, since in open_since.items()]


def _minimal(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the rows that no other row dominates, each once; of few rows several times as fast as by arrays."""
    kept: list[tuple[int, ...]] = []
    for row in sorted(set(rows)):  # what dominates a row comes before it
        if not any(all(a <= b for a, b in zip(other, row, strict=True)) for other in kept):
            kept.append(row)
    return kept
