"""List all programs of a space, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count, product

from bostruct.contracts import Infeasible
from bostruct.domains.language.graph import Discrete
from bostruct.domains.language.trace import Trace
from bostruct.domains.language.walk import Walk


def depth_first(walk: Walk) -> Iterator[Trace]:
    """Yield all traces in the order of choice, each hyperparameter running through its values as they were given.

    walk: `Walk` to go on from.
    """
    stack = [walk.copy()]
    while stack:
        at = stack.pop()
        try:
            h = at.next()
            settled = h is None or at.is_settled()
        except Infeasible:
            continue
        if settled:
            yield from _combinations(at, at.remaining() if h is not None else [])
        elif h is not None:
            stack += reversed(_children(at, h))


def shortest_first(walk: Walk) -> Iterator[Trace]:
    """Yield all traces by the number of choices, so that each program of an infinite space has its turn.

    walk: `Walk` to go on from.

    Ways to equally many choices take turns. Keeps the front in memory.
    """
    turn = count()
    front: list[tuple[int, int, Walk | Iterator[Trace]]] = [(0, next(turn), walk.copy())]
    while front:
        length, _, at = heappop(front)
        if isinstance(at, Walk):
            for least, way in _next_steps(at):
                heappush(front, (least, next(turn), way))
        elif (trace := next(at, None)) is not None:
            yield trace
            heappush(front, (length, next(turn), at))


def _next_steps(at: Walk) -> Iterator[tuple[int, Walk | Iterator[Trace]]]:
    """Yield the next steps of a walk, each with a number of choices that no program there is below.

    Of traces that number is their own.
    """
    try:
        h = at.next()
        settled = h is None or at.is_settled()
    except Infeasible:
        return
    if settled:
        remaining = at.remaining() if h is not None else []
        yield len(at) + len(remaining), _combinations(at, remaining)
    elif h is not None:
        least = at.least_length()
        yield from ((least, child) for child in _children(at, h))


def _children(at: Walk, h: Discrete) -> list[Walk]:
    children = []
    for value in h.values:
        child = at.copy()
        child.assign(h, value)
        children.append(child)
    return children


def _combinations(at: Walk, remaining: list[Discrete]) -> Iterator[Trace]:
    """Yield all combinations of choices that are left and open nothing, without another look at the space."""
    places = tuple(h.path for h in remaining)
    for values in product(*[h.values for h in remaining]):
        trace = dict(at.values)
        trace.update(zip(places, values, strict=True))
        yield Trace.from_valid(trace)
