"""Sample walks through a space: by choice, uniformly over all programs, or along a trace.

If parts contain themselves, random values may open more choices than they close, and a draw may not terminate. Once a
draw has grown large, each further choice takes a value that needs the fewest nested substitutions to finish. Uniform
draws use the counts of the parts of a space.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from operator import getitem
from typing import TypeAlias

import numpy as np

from bostruct.contracts import AtLeast, DomainError, Infeasible, Infinite
from bostruct.domains.language.counting import CountRow, NotFactorable, ProgramCounter, count, signature
from bostruct.domains.language.errors import NoneFeasible, TooDeep, TraceError
from bostruct.domains.language.graph import Discrete, Fragment, Module
from bostruct.domains.language.hyperparameters import independent_ancestors
from bostruct.domains.language.values import Trace, Value, stored_value
from bostruct.domains.language.walk import Walk, opens_choices


class EvenDraws:
    """A sampler of equally likely traces, from the outermost part inwards.

    Parts that share no hyperparameter are sampled independently. Each group of parts is weighted by the number of
    programs for each assignment of its hyperparameters. Counts of parts are cached. `is_possible` is False if counts
    cannot be factored, or depend on enclosing choices that a part does not name.
    """

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._counter = ProgramCounter(walk, sys.maxsize, 0)
        self._outermost: tuple[list[list[CountRow]], dict[Discrete, None]] | None = None
        self.is_possible = True

    def values(self, rng: np.random.Generator) -> dict[str, Value] | None:
        """Return the values of a random trace by path, unordered; None if uniform draws are not possible.

        Raises NoneFeasible.
        """
        chosen = dict(self._walk.values)
        left = [self._walk.root]
        try:
            while left and self.is_possible:
                left += self._draw_part(left.pop(), chosen, rng)
        except NotFactorable:
            self.is_possible = False
        return chosen if self.is_possible else None

    def _draw_part(self, fragment: Fragment, chosen: dict[str, Value], rng: np.random.Generator) -> list[Fragment]:
        """Sample all open choices of one part; return the parts that then replace its substitution modules."""
        groups, plain = self._choices_of(fragment, chosen)
        if any(setting for rows in groups for row in rows for setting in row.table):
            self.is_possible = False
            return []
        for rows in groups:
            row = rows[_draw_by_size([sum(row.table.values()) for row in rows], rng)]
            chosen.update((h.path, value) for h, value in row.chosen.items())
        for h in plain:
            if h.path not in chosen:
                chosen[h.path] = h.values[int(rng.integers(len(h.values)))]
        reader = Walk(fragment, self._walk.max_depth, chosen)
        parts = [reader.expansion(module) for module in fragment.modules if opens_choices(module)]
        return [part for part in parts if part is not None]

    def _choices_of(
        self, fragment: Fragment, chosen: dict[str, Value]
    ) -> tuple[list[list[CountRow]], dict[Discrete, None]]:
        if fragment is self._walk.root and self._outermost is not None:
            return self._outermost
        self._counter.values = chosen
        waiting, plain = self._counter.open_parts(fragment)
        found = list(self._counter.components(waiting)), plain
        if fragment is self._walk.root:
            self._outermost = found
        return found


def _draw_by_size(sizes: Sequence[int], rng: np.random.Generator) -> int:
    """Return a random position with probability proportional to its size; sizes may exceed the range of floats."""
    whole = sum(sizes)
    if not whole:
        raise NoneFeasible("no choice leads to a program")
    weights = np.array([size / whole for size in sizes])
    return int(rng.choice(len(sizes), p=weights / weights.sum()))


OVERGROWN_DEPTH = 8  # nested substitutions, and
OVERGROWN_CHOICES = 100  # choices, beyond which a draw is terminated
MAX_STEPS_TO_END = 40  # maximum nesting of substitutions until termination
SEARCH_BUDGET = 2_000  # parts per choice
SETTINGS_TRIED_AT_MOST = 256  # assignments of the hyperparameters of one module


def is_overgrown(h: Discrete, walk: Walk) -> bool:
    """Return whether a draw that reaches h should be terminated."""
    depth = h.fragment.depth
    return depth > OVERGROWN_DEPTH and (len(walk) > OVERGROWN_CHOICES or depth > walk.max_depth // 2)


def draw_terminating_value(h: Discrete, walk: Walk, rng: np.random.Generator) -> Value:
    """Return a random value of h among those that terminate soonest; raises NoneFeasible if none terminates soon."""
    touched = [module for module in walk.waiting() if opens_choices(module) and h in module_ancestors(module)]
    search = TerminationSearch(walk.max_depth, walk.values)
    for steps in range(MAX_STEPS_TO_END + 1):
        values = [v for v in h.values if all(search.can_end_within(m, {h.path: v}, steps) for m in touched)]
        if values:
            return values[int(rng.integers(len(values)))]
        if search.budget <= 0:
            break
    raise NoneFeasible(
        f"{h.path}: no value was found that ends the program within {MAX_STEPS_TO_END} more substitutions"
    )


@dataclass
class TerminationSearch:
    """A search for the nearest termination. It does not anticipate infeasible dependent values."""

    max_depth: int
    values: Mapping[str, Value]
    budget: int = SEARCH_BUDGET
    known: dict[Hashable, bool] = field(default_factory=dict)

    def can_end_within(self, module: Module, chosen: dict[str, Value], steps: int) -> bool:
        """Return whether a module can be replaced with at most this nesting of substitutions.

        steps: int, the number of substitutions.
        """
        if steps == 0:
            return False
        values = {**self.values, **chosen}
        free = tuple(h for h in module_ancestors(module) if h.path not in values)
        key = signature(module, free, values), steps
        if key not in self.known:
            self.known[key] = any(
                self._fits(module, chosen | {h.path: v for h, v in zip(free, setting, strict=True)}, steps)
                for setting in islice(product(*[h.values for h in free]), SETTINGS_TRIED_AT_MOST)
            )
        return self.known[key]

    def _fits(self, module: Module, chosen: dict[str, Value], steps: int) -> bool:
        if self.budget <= 0:
            return False
        self.budget -= 1
        reader = Walk(module.fragment, self.max_depth, {**self.values, **chosen})
        try:
            part = reader.expansion(module)
        except (Infeasible, TooDeep):
            return False
        inner = [one for one in part.modules if opens_choices(one)] if part is not None else []
        return all(self.can_end_within(one, chosen, steps - 1) for one in inner)


def module_ancestors(module: Module) -> dict[Discrete, None]:
    """Return the independent hyperparameters that the values of a module depend on."""
    return {one: None for h in module.hyperparameters.values() for one in independent_ancestors(h)}


FEASIBLE_TRIES = 10_000  # draws for a feasible program; one in 150 draws of a NAS-Bench-101 cell is feasible
TOO_DEEP_TRIES = 20
COMPLETION_TRIES = 100  # draws for a program with all requested keys
Policy: TypeAlias = Callable[[Discrete, Walk], Value]


def follow(walk: Walk, choose: Policy, max_decisions: int) -> Walk:
    """Return the finished walk in which `choose` makes the choices.

    Raises Infeasible and TooDeep.
    """
    walk = walk.copy()
    walk.finish(choose, max_decisions)
    return walk


def sample_walk(walk: Walk, rng: np.random.Generator, max_decisions: int) -> Walk:
    """Return a finished walk with uniform choices; choices that are open at once are sampled together.

    Once the walk has grown large, the values that terminate it soonest are equally likely. Raises Infeasible, TooDeep
    and NoneFeasible.
    """
    walk = walk.copy()
    while walk.next() is not None:
        now = walk.open_choices()
        if len(walk) + len(now.choices) > max_decisions:
            raise TooDeep(f"a program needs more than {max_decisions} choices")
        drawn = map(getitem, now.values, (rng.random(len(now.choices)) * now.sizes).astype(np.int64).tolist())
        if now.deepest > OVERGROWN_DEPTH:
            pairs = zip(now.choices, list(drawn), strict=True)
            drawn = (draw_terminating_value(h, walk, rng) if is_overgrown(h, walk) else value for h, value in pairs)
        walk.assign_open(now, drawn)
    return walk


def retry_until_feasible(draw: Callable[[], Walk], tries: int | None = None) -> Walk:
    """Return the first feasible draw; raises NoneFeasible.

    tries: int, the maximum number of draws; None for 10,000.
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
    """Return a policy with equally likely values.

    Programs with short traces are more likely than programs with long ones.
    """

    def choose(h: Discrete, walk: Walk) -> Value:
        if is_overgrown(h, walk):
            return draw_terminating_value(h, walk, rng)
        return h.values[int(rng.random() * len(h.values))]  # several times as fast as rng.integers

    return choose


def refuse_uncounted(size: Infinite | AtLeast) -> DomainError:
    """Return the error for a space whose programs cannot be sampled uniformly."""
    return DomainError(
        f"by: 'architecture' draws all programs with equal probability and needs their number, but it is {size}; "
        "by='decision' draws programs of any space"
    )


def program_uniform_policy(rng: np.random.Generator, budget: int) -> Policy:
    """Return a policy with equally likely programs.

    It raises DomainError if programs cannot be counted.
    """

    def choose(h: Discrete, walk: Walk) -> Value:
        if walk.is_settled():
            return h.values[int(rng.integers(len(h.values)))]
        sizes = []
        for child in walk.children(h):
            size = count(child, budget)
            if isinstance(size, Infinite | AtLeast):
                raise refuse_uncounted(size)
            sizes.append(size.count)
        return h.values[_draw_by_size(sizes, rng)]

    return choose


def trace_policy(trace: Mapping[str, Value], otherwise: Policy) -> Policy:
    """Return a policy that takes the values of a trace if they are allowed, and otherwise follows another policy."""

    def choose(h: Discrete, walk: Walk) -> Value:
        value = trace.get(h.path, _ABSENT)
        return value if value is not _ABSENT and value in h.positions else otherwise(h, walk)

    return choose


_ABSENT = object()


def strict_trace_policy(trace: Mapping[str, Value]) -> Policy:
    """Return a policy that takes the values of a trace; it raises TraceError if the trace lacks a value."""

    def choose(h: Discrete, walk: Walk) -> Value:
        del walk
        if h.path not in trace:
            raise TraceError(f"trace: no value for {h.path}, one of {list(h.values)}")
        return trace[h.path]

    return choose


def replay(walk: Walk, trace: Mapping[str, Value]) -> Walk:
    """Return the finished walk of a trace.

    Raises TraceError if a key is unknown or missing, and Infeasible.
    """
    end = follow(walk, strict_trace_policy(trace), len(trace) + 1)
    if len(end) < len(trace):
        unknown = ", ".join(key for key in trace if key not in end.values)
        raise TraceError(f"trace: {unknown}: no such choice in the program of the other values")
    return end


def specify(walk: Walk, values: Sequence[Value]) -> Walk:
    """Return the finished walk for values in the order of choice.

    Raises TraceError if there are too few or too many values.
    """
    walk = walk.copy()
    for position, value in enumerate(values):
        h = walk.next()
        if h is None:
            raise TraceError(f"values: expected {position}, got {len(values)}")
        walk.assign(h, stored_value(h.path, value))
    if (h := walk.next()) is not None:
        raise TraceError(f"values: expected more than {len(values)}; the next choice is {h.path}")
    return walk


def complete(walk: Walk, trace: Trace, rng: np.random.Generator, max_decisions: int) -> Walk:
    """Return a random finished walk that agrees with a trace.

    Raises TraceError if no draw agrees with the trace, and NoneFeasible.
    """
    choose = trace_policy(trace, uniform_policy(rng))
    unused: list[str] = []
    for _ in range(COMPLETION_TRIES):
        end = retry_until_feasible(lambda: follow(walk, choose, max_decisions))
        unused = [key for key, value in trace.items() if key not in end.values or end.values[key] != value]
        if not unused:
            return end
    raise TraceError(
        f"trace: {', '.join(unused)}: no such choice or value in {COMPLETION_TRIES} programs with the other values"
    )


def follow_decisions(walk: Walk, made: Sequence[int]) -> Walk:
    """Return the walk after choices by position; raises TraceError if a position is invalid."""
    walk = walk.copy()
    for position in made:
        h = walk.next()
        if h is None or not 0 <= position < len(h.values):
            raise TraceError(f"decisions: {tuple(made)} are not valid at position {len(walk)}")
        walk.assign(h, h.values[position])
    return walk
