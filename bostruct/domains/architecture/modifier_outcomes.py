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
    """What modifiers use of a `numpy.random.Generator`, which gives what it is told, and then the first there is.

    told: of each draw the position among its outcomes. counts: of each draw so far, how many outcomes it has. Of
    `random`, which is compared with chances alone, there are two.
    """

    def __init__(self, script: Sequence[int]) -> None:
        self._script = script
        self.counts: list[int] = []

    def integers(self, high: int) -> int:
        position = len(self.counts)
        self.counts.append(high)
        return self._script[position] if position < len(self._script) else 0

    def random(self) -> float:
        return (0.0, NEARLY_ONE)[self.integers(2)]

    def choice(self, options: Any, p: Sequence[float] | None = None) -> Any:
        del p  # whatever can be drawn is
        listed = range(options) if isinstance(options, int) else options
        return listed[self.integers(len(listed))]

    def permutation(self, items: Sequence[Any]) -> list[Any]:
        left = list(items)
        return [left.pop(self.integers(len(left))) for _ in range(len(left))]


def enumerate_outcomes(draw: Callable[[Any], Architecture]) -> Iterator[Architecture | None]:
    """What a function of a generator returns, for each of the ways its draws can turn out; None where it raises
    PointError.
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
    """What one modifier can make of x, some of it more than once, within no bounds; None for a draw that leads nowhere.

    All of it: of an architecture that is listed in another order there may be others.
    """
    for modifier, _ in MODIFIERS:
        yield from enumerate_outcomes(partial(modifier, x))
