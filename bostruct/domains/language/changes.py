"""Enumerate the traces of a space, and derive traces from others: neighbors, mutations and crossovers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from itertools import count, islice, product

import numpy as np

from bostruct.contracts import DomainError, Infeasible
from bostruct.domains.language.errors import NoneFeasible, TooDeep, TraceError
from bostruct.domains.language.graph import Discrete
from bostruct.domains.language.hyperparameters import count_other_values, other_values
from bostruct.domains.language.sampling import follow, retry_until_feasible, trace_policy, uniform_policy
from bostruct.domains.language.values import Trace, Value
from bostruct.domains.language.walk import Walk


def depth_first(walk: Walk) -> Iterator[Trace]:
    """Yield all traces in depth-first order, with the values of each hyperparameter in their given order."""
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
            stack += reversed(at.children(h))


def shortest_first(walk: Walk) -> Iterator[Trace]:
    """Yield all traces in order of length, so that each program of an infinite space is reached.

    Branches of equal length alternate. The open branches are kept in memory.
    """
    turn = count()
    front: list[tuple[int, int, Walk | Iterator[Trace]]] = [(0, next(turn), walk.copy())]
    while front:
        length, _, at = heappop(front)
        if isinstance(at, Walk):
            for least, branch in _next_steps(at):
                heappush(front, (least, next(turn), branch))
        elif (trace := next(at, None)) is not None:
            yield trace
            heappush(front, (length, next(turn), at))


def _next_steps(at: Walk) -> Iterator[tuple[int, Walk | Iterator[Trace]]]:
    """Yield the next steps of a walk, each with a lower bound on the number of choices of its programs.

    For traces, the bound is their length.
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
        yield from ((least, child) for child in at.children(h))


def _combinations(at: Walk, remaining: list[Discrete]) -> Iterator[Trace]:
    """Yield all combinations of the remaining choices, which build no new parts."""
    paths = tuple(h.path for h in remaining)
    for values in product(*[h.values for h in remaining]):
        trace = dict(at.values)
        trace.update(zip(paths, values, strict=True))
        yield Trace.from_valid(trace)


LISTING_WORK = 20_000  # modules of the neighbors, one for each other value, if all neighbors are listed
OPENED_WORK = 200_000  # modules of all listed neighbors
DRAWING_WORK = 200_000  # modules of all sampled neighbors


def changeable_choices(end: Walk, fixed: Mapping[str, Value]) -> dict[str, Discrete]:
    """Return the hyperparameters of a finished walk that could have another value, by path, in order."""
    return {h.path: h for h in end.chosen if len(h.values) > 1 and h.path not in fixed}


def neighbors(walk: Walk, end: Walk) -> Iterator[Trace]:
    """Yield all traces that differ from the trace of `end` in exactly one of the shared keys, by one change.

    The relation is symmetric and the order is fixed.
    """
    kept = end.values
    for path, h in changeable_choices(end, walk.values).items():
        for value in other_values(h, kept[path]):
            yield from completions(walk, {**kept, path: value})


def completions(walk: Walk, fixed: Mapping[str, Value]) -> Iterator[Trace]:
    """Yield all traces that agree with the fixed values in all shared keys.

    Yield nothing if one of the values is not possible.
    """
    stack = [walk.copy()]
    while stack:
        at = stack.pop()
        try:
            h = at.next()
            while h is not None and h.path in fixed:
                at.assign(h, fixed[h.path])
                h = at.next()
            settled = h is not None and at.is_settled()
        except (Infeasible, TooDeep, TraceError):
            continue
        if h is None:
            yield at.trace()
        elif settled:
            yield from _settled_completions(at, fixed)
        else:
            stack += reversed(at.children(h))


def _settled_completions(at: Walk, fixed: Mapping[str, Value]) -> Iterator[Trace]:
    given = [h for h in at.remaining() if h.path in fixed]
    if any(fixed[h.path] not in h.positions for h in given):
        return iter(())
    for h in given:
        at.assign(h, fixed[h.path])
    return depth_first(at)


def affordable_listing(walk: Walk, end: Walk) -> int | None:
    """Return how many neighbors can be listed in about a second, or None if listing any would take too long.

    The cost is one walk per neighbor, through as many modules as `end` has.
    """
    at_least = sum(map(count_other_values, changeable_choices(end, walk.values).values()))
    size = end.count_built()
    return None if at_least * size > LISTING_WORK else OPENED_WORK // size


def affordable_draws(end: Walk) -> int:
    """Return how many neighbors can be sampled in a few seconds."""
    return max(1, DRAWING_WORK // end.count_built())


def count_differences(x: Mapping[str, Value], y: Mapping[str, Value]) -> int:
    """Count the shared keys whose values differ."""
    return sum(value != y[key] for key, value in x.items() if key in y)


def list_at_most(traces: Iterator[Trace], m: int) -> list[Trace] | None:
    """Return all traces if there are at most m, otherwise None.

    traces: an iterator, of which at most m + 1 are consumed.
    m: the maximum number of traces, at least 0.
    """
    found = list(islice(traces, m + 1))
    return found if len(found) <= m else None


def mutate(walk: Walk, end: Walk, rng: np.random.Generator, max_decisions: int) -> Walk:
    """Change one choice of `end`, sampled from those with a feasible change.

    Raises DomainError and NoneFeasible.
    """
    choices = list(changeable_choices(end, walk.values).values())
    if not choices:
        raise DomainError("no choice of this program has another value")
    for i in rng.permutation(len(choices)):
        try:
            return change(walk, end, choices[i], rng, max_decisions)
        except NoneFeasible:
            continue
    raise NoneFeasible(f"no feasible change of {end.trace()}")


def change(walk: Walk, end: Walk, h: Discrete, rng: np.random.Generator, max_decisions: int) -> Walk:
    """Change `end` to another value of h; existing keys keep their values, and new keys are sampled.

    A permutation changes to a distant one only if no nearby permutation is feasible. Raises NoneFeasible.
    """
    now = end.values[h.path]
    near = other_values(h, now)
    try:
        return _change_to_one(walk, end, h, list(near), rng, max_decisions)
    except NoneFeasible:
        known = {now, *near}
        far = [value for value in h.values if value not in known]
        if not far:
            raise
        return _change_to_one(walk, end, h, far, rng, max_decisions)


def _change_to_one(
    walk: Walk, end: Walk, h: Discrete, others: list[Value], rng: np.random.Generator, max_decisions: int
) -> Walk:
    """Change `end` to one of these values of h; try each only once if nothing else is sampled."""
    anything = uniform_policy(rng)
    fresh: list[Discrete] = []

    def draw_fresh(one: Discrete, at: Walk) -> Value:
        fresh.append(one)
        return anything(one, at)

    def draw() -> Walk:
        if not others:
            raise NoneFeasible(f"{h.path}: no other value is feasible with the values of the other choices")
        value = others[int(rng.integers(len(others)))]
        fresh.clear()
        try:
            return follow(walk, trace_policy({**end.values, h.path: value}, draw_fresh), max_decisions)
        except (Infeasible, TooDeep):
            if not fresh:
                others.remove(value)
            raise

    return retry_until_feasible(draw)


def cross_over(walk: Walk, x: Trace, y: Trace, rng: np.random.Generator, max_decisions: int) -> Walk:
    """Take each value from a random one of the two traces that have it; sample it if neither does.

    Raises NoneFeasible.
    """

    def choose(h: Discrete, at: Walk) -> Value:
        given = [trace[h.path] for trace in (x, y) if h.path in trace and trace[h.path] in h.positions]
        return given[int(rng.integers(len(given)))] if given else uniform_policy(rng)(h, at)

    return retry_until_feasible(lambda: follow(walk, choose, max_decisions))
