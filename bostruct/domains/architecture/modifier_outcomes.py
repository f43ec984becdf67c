"""All that random changes of architectures can lead to, listed rather than drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from bostruct.contracts import PointError
from bostruct.domains.architecture.modifiers import MODIFIERS
from bostruct.domains.architecture.value import Architecture

NEARLY_ONE = 1.0 - 2.0**-53


class ScriptedGenerator:
    """A stand-in for `numpy.random.Generator` that returns scripted outcomes, then the first outcome of every draw.

    It has the methods that modifiers use.

    script: for each draw, the position of the outcome among those it can have.

    `counts` holds, for each draw so far, how many outcomes it has. `random`, which modifiers only compare with chances,
    has two.
    """

    def __init__(self, script: Sequence[int]) -> None:
        self._script = script
        self.counts: list[int] = []

    def integers(self, high: int) -> int:
        """Return the scripted integer, 0 once the script has ended.

        high: number of outcomes, at least 1.
        """
        position = len(self.counts)
        self.counts.append(high)
        return self._script[position] if position < len(self._script) else 0

    def random(self) -> float:
        return (0.0, NEARLY_ONE)[self.integers(2)]

    def choice(self, options: Any, p: Sequence[float] | None = None) -> Any:
        """Return the scripted one of several options.

        options: a sequence, or the number of integers from 0.
        p: chances of the options, ignored: whatever can be drawn is.
        """
        del p  # whatever can be drawn is
        listed = range(options) if isinstance(options, int) else options
        return listed[self.integers(len(listed))]

    def permutation(self, items: Sequence[object]) -> list[Any]:
        """Return the items in the scripted order, drawn one by one without replacement.

        items: any, which stay as they are.
        """
        left = list(items)
        return [left.pop(self.integers(len(left))) for _ in range(len(left))]


def enumerate_outcomes(draw: Callable[[Any], Architecture]) -> Iterator[Architecture | None]:
    """Yield the result of a function of a generator for each way its draws can turn out.

    draw: function of a generator that returns an `Architecture`; None is yielded where it raises PointError.
    """
    script: list[int] = []
    while True:
        rng = ScriptedGenerator(script)
        try:
            yield draw(rng)
        except PointError:
            yield None
        script += [0] * (len(rng.counts) - len(script))
        while script and script[-1] + 1 == rng.counts[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1


def enumerate_changes(x: Architecture) -> Iterator[Architecture | None]:
    """Yield all that one modifier can make of x, some of it more than once, within no bounds; None where a draw fails.

    x: `Architecture`. One that is isomorphic but lists its layers in another order may have other changes.
    """
    for modifier, _ in MODIFIERS:
        yield from enumerate_outcomes(partial(modifier, x))
