"""Updates of a sum over variables when one variable changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from bostruct.contracts import IntArray
from bostruct.domains.space.single_changes import SingleChanges

CachedValue = TypeVar("CachedValue")


class LastCall(Generic[CachedValue]):
    """The value that was made for the last two arrays, which are told apart as objects and only read.

    Single changes of one base are scored in many small batches, all of which need what was made of the base. A pickle
    leaves the value out: the arrays that it was made for stay behind.
    """

    def __init__(self, make: Callable[[IntArray, IntArray], CachedValue]) -> None:
        self._make = make
        self._last: tuple[IntArray, IntArray, CachedValue] | None = None

    def __call__(self, xs: IntArray, ys: IntArray) -> CachedValue:
        held = self._last
        if held is None or held[0] is not xs or held[1] is not ys:
            self._last = held = (xs, ys, self._make(xs, ys))
        return held[2]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}


def rows_by_variable(which: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield each variable that is moved, with the rows that move it.

    which: the variable that each row moves (m,).
    """
    order = np.argsort(which, kind="stable")
    cuts = np.flatnonzero(np.diff(which[order])) + 1
    for rows in np.split(order, cuts) if len(order) else ():
        yield int(which[rows[0]]), rows


def disagreement_change(moves: SingleChanges, ys: IntArray) -> npt.NDArray[np.int8]:
    """Return the change, by each move, in whether its variable differs from y's: -1, 0 or 1 (m, n).

    moves: m single changes.
    ys: n points.
    """
    theirs = ys.T[moves.which]
    now = moves.vertices[:, None] != theirs
    before = moves.base[moves.of, moves.which][:, None] != theirs
    return now.view(np.int8) - before.view(np.int8)
