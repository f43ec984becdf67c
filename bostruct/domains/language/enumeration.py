"""All programs of a space, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product

from bostruct.contracts import Infeasible
from bostruct.domains.language.hyperparameters import Discrete
from bostruct.domains.language.trace import Trace
from bostruct.domains.language.walk import Walk


def depth_first(walk: Walk) -> Iterator[Trace]:
    """In the order of choice, each hyperparameter running through its values as they were given."""
    stack = [walk.copy()]
    while stack:
        at = stack.pop()
        yield from _ends(at, children := [])
        stack += reversed(children)


def shortest_first(walk: Walk) -> Iterator[Trace]:
    """By the number of choices, so that each program of an infinite space has its turn; keeps the front in memory."""
    queue = deque([walk.copy()])
    while queue:
        yield from _ends(queue.popleft(), children := [])
        queue += children


def _ends(at: Walk, children: list[Walk]) -> Iterator[Trace]:
    """The traces that end here; where there are none yet, `children` gets what the next choice leads to."""
    try:
        h = at.next()
        settled = h is not None and at.is_settled()
    except Infeasible:
        return
    if h is None:
        yield Trace.trusted(at.values.copy())
    elif settled:
        yield from _products(at, at.left())
    else:
        for value in h.values:
            child = at.copy()
            child.assign(h, value)
            children.append(child)


def _products(at: Walk, left: list[Discrete]) -> Iterator[Trace]:
    """What is left opens nothing: all combinations, without another look at the space."""
    places = tuple(h.path for h in left)
    for values in product(*[h.values for h in left]):
        trace = at.values.copy()
        trace.update(zip(places, values, strict=True))
        yield Trace.trusted(trace)
