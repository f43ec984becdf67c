"""Ways through a space: random ones, and ones that follow a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import getitem
from typing import TypeAlias

import numpy as np

from bostruct.contracts import DomainError, Infeasible
from bostruct.domains.language.counting import AtLeast, Infinite, count
from bostruct.domains.language.ending import NESTED, ending, is_overgrown
from bostruct.domains.language.errors import NoneFeasible, TooDeep, TraceError
from bostruct.domains.language.graph import Discrete
from bostruct.domains.language.trace import Trace
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk

TRIES = 10_000  # for a feasible program; of the cells of NAS-Bench-101, one in 150 draws is
TRIES_TOO_DEEP = 20
COMPLETIONS = 100  # drawn for one that has all keys asked for
Choice: TypeAlias = Callable[[Discrete, Walk], Value]


def followed(walk: Walk, choose: Choice, max_decisions: int) -> Walk:
    """The end of the way on which `choose` decides; raises Infeasible, TooDeep."""
    walk = walk.copy()
    walk.finish(choose, max_decisions)
    return walk


def at_random(walk: Walk, rng: np.random.Generator, max_decisions: int) -> Walk:
    """The end of a way on which each value is equally likely; a round of choices is drawn at once.

    From where a way is overgrown, values that end it soon are. Raises Infeasible, TooDeep, NoneFeasible.
    """
    walk = walk.copy()
    while walk.next() is not None:
        now = walk.round()
        if len(walk) + len(now.choices) > max_decisions:
            raise TooDeep(f"more than {max_decisions} choices, and no end")
        drawn = map(getitem, now.values, (rng.random(len(now.choices)) * now.sizes).astype(np.int64).tolist())
        if now.deepest > NESTED:
            pairs = zip(now.choices, list(drawn), strict=True)
            drawn = (ending(h, walk, rng) if is_overgrown(h, walk) else value for h, value in pairs)
        walk.assign_round(now, drawn)
    return walk


def feasible(draw: Callable[[], Walk]) -> Walk:
    """The first of several draws that is feasible; raises NoneFeasible."""
    why, too_deep = "", 0
    for tried in range(1, TRIES + 1):
        try:
            return draw()
        except Infeasible as error:
            why = str(error)
        except TooDeep as error:
            why, too_deep = str(error), too_deep + 1
        if tried == TRIES or too_deep == TRIES_TOO_DEEP:
            break
    raise NoneFeasible(f"none of {tried} draws was feasible; the last one: {why}")


def uniformly(rng: np.random.Generator) -> Choice:
    """Each value equally likely: programs of short traces are likelier than those of long ones."""

    def choose(h: Discrete, walk: Walk) -> Value:
        if is_overgrown(h, walk):
            return ending(h, walk, rng)
        return h.values[int(rng.random() * len(h.values))]  # several times as fast as rng.integers

    return choose


def evenly(rng: np.random.Generator, budget: int) -> Choice:
    """Each program equally likely; raises DomainError where they cannot be counted."""

    def choose(h: Discrete, walk: Walk) -> Value:
        if walk.is_settled():
            return h.values[int(rng.integers(len(h.values)))]
        sizes = []
        for value in h.values:
            child = walk.copy()
            child.assign(h, value)
            size = count(child, budget)
            if isinstance(size, Infinite | AtLeast):
                raise DomainError(f"by: 'architecture' needs a space whose size is known; it is {size}")
            sizes.append(size.count)
        return _drawn(h.values, sizes, rng)

    return choose


def _drawn(values: tuple[Value, ...], sizes: list[int], rng: np.random.Generator) -> Value:
    if not any(sizes):
        raise NoneFeasible("no choice leads to a program")
    largest = max(sizes)  # sizes may be beyond what a float can hold
    weights = np.array([size / largest for size in sizes])
    return values[int(rng.choice(len(values), p=weights / weights.sum()))]


def keeping(trace: Mapping[str, Value], otherwise: Choice) -> Choice:
    """The value that a trace has wherever it has one that is allowed."""

    def choose(h: Discrete, walk: Walk) -> Value:
        value = trace.get(h.path, _ABSENT)
        return value if value is not _ABSENT and value in h.positions else otherwise(h, walk)

    return choose


_ABSENT = object()


def strictly(trace: Mapping[str, Value]) -> Choice:
    """What a trace says; raises TraceError where it says nothing."""

    def choose(h: Discrete, walk: Walk) -> Value:
        del walk
        if h.path not in trace:
            raise TraceError(f"trace: no value for {h.path}, one of {list(h.values)}")
        return trace[h.path]

    return choose


def replayed(walk: Walk, trace: Mapping[str, Value]) -> Walk:
    """The end that a trace leads to; raises TraceError where a key is unknown or missing."""
    end = followed(walk, strictly(trace), len(trace) + 1)
    if len(end) < len(trace):
        unknown = ", ".join(key for key in trace if key not in end.values)
        raise TraceError(f"trace: {unknown}: no such choice in the program that the others lead to")
    return end


def specified(walk: Walk, values: Sequence[Value]) -> Walk:
    """The end that values in the order of choice lead to; raises TraceError unless they are as many as choices."""
    walk = walk.copy()
    for position, value in enumerate(values):
        h = walk.next()
        if h is None:
            raise TraceError(f"values: expected {position}, got {len(values)}")
        walk.assign(h, Trace({h.path: value})[h.path])
    if (h := walk.next()) is not None:
        raise TraceError(f"values: expected more than {len(values)}; the next is that of {h.path}")
    return walk


def completed(walk: Walk, trace: Trace, rng: np.random.Generator, max_decisions: int) -> Walk:
    """An end that has the values of a trace, all else drawn. Raises TraceError where no draw has all, NoneFeasible."""
    choose = keeping(trace, uniformly(rng))
    unused: list[str] = []
    for _ in range(COMPLETIONS):
        end = feasible(lambda: followed(walk, choose, max_decisions))
        unused = [key for key, value in trace.items() if key not in end.values or end.values[key] != value]
        if not unused:
            return end
    raise TraceError(f"trace: {', '.join(unused)}: no such choice or value in {COMPLETIONS} programs with the others")


def along(walk: Walk, made: Sequence[int]) -> Walk:
    """The walk after choices by position; raises TraceError where there are no such."""
    walk = walk.copy()
    for position in made:
        h = walk.next()
        if h is None or not 0 <= position < len(h.values):
            raise TraceError(f"decisions: {tuple(made)} leave the space at {len(walk)}")
        walk.assign(h, h.values[position])
    return walk
