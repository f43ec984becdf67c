"""Parts of fast paths: values that serve the next calls, and look-ups of one table row for each change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray
from bostruct.kernels.space.factor import VariableChanges

CachedValue = TypeVar("CachedValue")


def look_up(rows: Array, columns: IntArray) -> Array:
    """Return rows[i, columns[i, j]] (r, m); `numpy.take_along_axis`, in half its time.

    rows: (r, k).
    columns: (r, m), which is overwritten.
    """
    columns += (np.arange(len(rows)) * rows.shape[1])[:, None]
    return rows.take(columns)


def count_disagreements(xs: IntArray, ys: IntArray, size: int) -> Array:
    """Return in how many variables two points differ (n, m).

    xs: choices of n points (n, c).
    ys: choices of m points (m, c).
    size: number of choices of each variable, at least 2.

    Sums of ones are exact in single precision up to 2^24 variables, and take half the time.
    """
    with np.errstate(invalid="ignore"):  # a BLAS may set the flag in lanes that it pads; the factors are finite
        if size == 2:
            agree = _signs(xs) @ _signs(ys).T  # less the number of disagreements
            return (0.5 * (xs.shape[1] - agree)).astype(np.float64)
        agree = np.zeros((len(xs), len(ys)), dtype=np.float32)
        for choice in range(size):
            agree += (xs == choice).astype(np.float32) @ (ys == choice).astype(np.float32).T
        return (xs.shape[1] - agree).astype(np.float64)


def _signs(xs: IntArray) -> npt.NDArray[np.float32]:
    """Return -1 and 1 for choices 0 and 1."""
    signs = xs.astype(np.float32)
    signs *= 2.0
    signs -= 1.0
    return signs


def disagreement_change(changes: VariableChanges, ys: IntArray) -> npt.NDArray[np.int8]:
    """Return the change, by each change, in whether its variable differs from y's: -1, 0 or 1 (r, m).

    changes: r changes of variables with one column.
    ys: choices of m points (m, c).
    """
    theirs = ys.T[changes.which]
    now = changes.after[:, :1] != theirs
    before = changes.before[:, :1] != theirs
    return now.view(np.int8) - before.view(np.int8)


class LastCall(Generic[CachedValue]):
    """The value that was made for the last arrays, which are told apart as objects and only read.

    make: one array or more -> value, which callers only read.

    Points are scored in many small batches, all of which need what was made of the training points, and single changes
    of one base what was made of the base. A pickle leaves the value out: the arrays that it was made for stay behind.
    """

    def __init__(self, make: Callable[..., CachedValue]) -> None:
        self._make = make
        self._last: tuple[tuple[IntArray, ...], CachedValue] | None = None

    def __call__(self, *arrays: IntArray) -> CachedValue:
        held = self._last
        if held is None or any(one is not other for one, other in zip(held[0], arrays, strict=True)):
            self._last = held = (arrays, self._make(*arrays))
        return held[1]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_last": None}


class LastThetas(Generic[CachedValue]):
    """The values that were made for the last few parameter vectors: a search asks for the same ones at every step.

    make: theta -> value, which callers only read.
    most: values that are kept, at least 1.

    A pickle leaves the values out.
    """

    def __init__(self, make: Callable[[Array], CachedValue], most: int) -> None:
        self._make, self._most = make, most
        self._known: OrderedDict[bytes, CachedValue] = OrderedDict()

    def __call__(self, theta: Array) -> CachedValue:
        key = theta.tobytes()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        value = self._known[key] = self._make(theta)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return value

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_known": OrderedDict()}
