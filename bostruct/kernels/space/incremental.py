"""What is made for one call and serves the next ones: of the same two batches, or of the same parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from bostruct.contracts import Array, IntArray

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
