"""Draw ways through a space at random, or follow a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import getitem
from typing import TypeAlias

import numpy as np

from bostruct.contracts import DomainError, Infeasible
from bostruct.domains.counts import AtLeast, Infinite
from bostruct.domains.language.counting import count
from bostruct.domains.language.errors import NoneFeasible, TooDeep, TraceError
from bostruct.domains.language.graph import Discrete
from bostruct.domains.language.termination import OVERGROWN_DEPTH, draw_terminating_value, is_overgrown
from bostruct.domains.language.trace import Trace, stored_value
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk

FEASIBLE_TRIES = 10_000  # for a feasible program; of the cells of NAS-Bench-101, one in 150 draws is
TOO_DEEP_TRIES = 20
COMPLETION_TRIES = 100  # drawn for one that has all keys asked for
Policy: TypeAlias = Callable[[Discrete, Walk], Value]


def follow(walk: Walk, choose: Policy, max_decisions: int) -> Walk:
    """Return the end of the way on which `choose` decides.

    walk: `Walk` to go on from; it stays as it is.
    choose: function of a hyperparameter and the walk that returns a value.
    max_decisions: int, the most choices of the whole way.

    Raises Infeasible and TooDeep.
    """
    walk = walk.copy()
    walk.finish(choose, max_decisions)
    return walk


def sample_walk(walk: Walk, rng: np.random.Generator, max_decisions: int) -> Walk:
    """Return the end of a way on which each value is equally likely; a round of choices is drawn at once.

    walk: `Walk` to go on from; it stays as it is.
    rng: `numpy.random.Generator`.
    max_decisions: int, the most choices of the whole way.

    From where a way is overgrown, values that end it soon are equally likely. Raises Infeasible, TooDeep and
    NoneFeasible.
    """
    walk = walk.copy()
    while walk.next() is not None:
        now = walk.round()
        if len(walk) + len(now.choices) > max_decisions:
            raise TooDeep(f"more than {max_decisions} choices, and no end")
        drawn = map(getitem, now.values, (rng.random(len(now.choices)) * now.sizes).astype(np.int64).tolist())
        if now.deepest > OVERGROWN_DEPTH:
            pairs = zip(now.choices, list(drawn), strict=True)
            drawn = (draw_terminating_value(h, walk, rng) if is_overgrown(h, walk) else value for h, value in pairs)
        walk.assign_round(now, drawn)
    return walk


def retry_until_feasible(draw: Callable[[], Walk], tries: int | None = None) -> Walk:
    """Return the first of several draws that is feasible; raises NoneFeasible.

    draw: function without arguments that returns a finished walk, or raises Infeasible or TooDeep.
    tries: int, the most draws; None for 10,000.
    """
    tries = FEASIBLE_TRIES if tries is None else tries
    why, tried, too_deep = "", 0, 0
    for tried in range(1, tries + 1):
        try:
            return draw()
        except Infeasible as error:
            why = str(error)
        except TooDeep as error:
            why, too_deep = str(error), too_deep + 1
        if tried == tries or too_deep == TOO_DEEP_TRIES:
            break
    raise NoneFeasible(f"none of {tried} draws was feasible; the last one: {why}")


def uniform_policy(rng: np.random.Generator) -> Policy:
    """Return a policy under which each value is equally likely.

    rng: `numpy.random.Generator`.

    Programs of short traces are likelier than those of long ones.
    """

    def choose(h: Discrete, walk: Walk) -> Value:
        if is_overgrown(h, walk):
            return draw_terminating_value(h, walk, rng)
        return h.values[int(rng.random() * len(h.values))]  # several times as fast as rng.integers

    return choose


def refuse_uncounted(size: Infinite | AtLeast) -> DomainError:
    """Make the error for a space whose programs cannot be drawn evenly.

    size: what counting came to.
    """
    return DomainError(
        f"by: 'architecture' draws each program equally likely, which needs their number, but it is {size}; "
        "by='decision' draws the programs of any space"
    )


def program_uniform_policy(rng: np.random.Generator, budget: int) -> Policy:
    """Return a policy under which each program is equally likely.

    rng: `numpy.random.Generator`.
    budget: int, parts to look at for one count.

    Its choices raise DomainError where programs cannot be counted.
    """

    def choose(h: Discrete, walk: Walk) -> Value:
        if walk.is_settled():
            return h.values[int(rng.integers(len(h.values)))]
        sizes = []
        for value in h.values:
            child = walk.copy()
            child.assign(h, value)
            size = count(child, budget)
            if isinstance(size, Infinite | AtLeast):
                raise refuse_uncounted(size)
            sizes.append(size.count)
        return _draw_by_size(h.values, sizes, rng)

    return choose


def _draw_by_size(values: tuple[Value, ...], sizes: list[int], rng: np.random.Generator) -> Value:
    if not any(sizes):
        raise NoneFeasible("no choice leads to a program")
    largest = max(sizes)  # sizes may be beyond what a float can hold
    weights = np.array([size / largest for size in sizes])
    return values[int(rng.choice(len(values), p=weights / weights.sum()))]


def trace_policy(trace: Mapping[str, Value], otherwise: Policy) -> Policy:
    """Return a policy that takes the value of a trace wherever that has one that is allowed.

    trace: place -> value.
    otherwise: policy for all other choices.
    """

    def choose(h: Discrete, walk: Walk) -> Value:
        value = trace.get(h.path, _ABSENT)
        return value if value is not _ABSENT and value in h.positions else otherwise(h, walk)

    return choose


_ABSENT = object()


def strict_trace_policy(trace: Mapping[str, Value]) -> Policy:
    """Return a policy that takes the values of a trace; its choices raise TraceError where the trace has none.

    trace: place -> value.
    """

    def choose(h: Discrete, walk: Walk) -> Value:
        del walk
        if h.path not in trace:
            raise TraceError(f"trace: no value for {h.path}, one of {list(h.values)}")
        return trace[h.path]

    return choose


def replay(walk: Walk, trace: Mapping[str, Value]) -> Walk:
    """Return the end that a trace leads to.

    walk: `Walk` to go on from; it stays as it is.
    trace: place -> value of every choice.

    Raises TraceError where a key is unknown or missing, and Infeasible.
    """
    end = follow(walk, strict_trace_policy(trace), len(trace) + 1)
    if len(end) < len(trace):
        unknown = ", ".join(key for key in trace if key not in end.values)
        raise TraceError(f"trace: {unknown}: no such choice in the program that the others lead to")
    return end


def specify(walk: Walk, values: Sequence[Value]) -> Walk:
    """Return the end that values in the order of choice lead to.

    walk: `Walk` to go on from; it stays as it is.
    values: as many values as there are choices.

    Raises TraceError for any other number of them.
    """
    walk = walk.copy()
    for position, value in enumerate(values):
        h = walk.next()
        if h is None:
            raise TraceError(f"values: expected {position}, got {len(values)}")
        walk.assign(h, stored_value(h.path, value))
    if (h := walk.next()) is not None:
        raise TraceError(f"values: expected more than {len(values)}; the next is that of {h.path}")
    return walk


def complete(walk: Walk, trace: Trace, rng: np.random.Generator, max_decisions: int) -> Walk:
    """Return an end that has the values of a trace, all else drawn.

    walk: `Walk` to go on from; it stays as it is.
    trace: place -> value of some choices.
    rng: `numpy.random.Generator`.
    max_decisions: int, the most choices of the whole way.

    Raises TraceError where no draw has all of them, and NoneFeasible.
    """
    choose = trace_policy(trace, uniform_policy(rng))
    unused: list[str] = []
    for _ in range(COMPLETION_TRIES):
        end = retry_until_feasible(lambda: follow(walk, choose, max_decisions))
        unused = [key for key, value in trace.items() if key not in end.values or end.values[key] != value]
        if not unused:
            return end
    raise TraceError(
        f"trace: {', '.join(unused)}: no such choice or value in {COMPLETION_TRIES} programs with the others"
    )


def follow_decisions(walk: Walk, made: Sequence[int]) -> Walk:
    """Return the walk after choices by position; raises TraceError where there are no such.

    walk: `Walk` to go on from; it stays as it is.
    made: positions of the values chosen.
    """
    walk = walk.copy()
    for position in made:
        h = walk.next()
        if h is None or not 0 <= position < len(h.values):
            raise TraceError(f"decisions: {tuple(made)} leave the space at {len(walk)}")
        walk.assign(h, h.values[position])
    return walk
