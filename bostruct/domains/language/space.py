"""Search spaces: programs with choices left open, as values and as a domain."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_choice, check_integer, shown
from bostruct.contracts import DomainError, Infeasible, Json, PointError, SpaceExhausted
from bostruct.domains.architecture.drawing import rendered_svg
from bostruct.domains.decisions import Coordinate
from bostruct.domains.language import changes, drawing, sampling
from bostruct.domains.language.closing import close
from bostruct.domains.language.counting import Exact, Infinite, Size, count
from bostruct.domains.language.enumeration import depth_first, shortest_first
from bostruct.domains.language.errors import LanguageError, NoneFeasible, TooDeep, TraceError
from bostruct.domains.language.expansion import ENDLESS
from bostruct.domains.language.features import Recent, coordinates, tokens
from bostruct.domains.language.graph import Builder, Discrete, Fragment, opened
from bostruct.domains.language.program import DEEPEST, Program, program
from bostruct.domains.language.trace import Trace
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk
from bostruct.domains.unseen import DRAWS_UNSEEN, draw_unseen

Render: TypeAlias = Callable[[str], str]
BUDGET = 100_000  # parts looked at, for a size
NEIGHBORS_LISTED = 100_000
NEIGHBORS_COUNTED = 2_000
NEIGHBORS_COUNTED_OF_ENDLESS = 100  # a change there may open any number of programs
LISTED = 2_000  # programs of a space whose unseen ones are known
SAMPLED = 8  # programs that a space's fingerprint looks at


class SearchSpace:
    """All programs that a function can build, or those of them that agree with what was assigned.

    builder: returns (inputs, outputs), as the functions of `bostruct.language` do. It is called once; functions inside
    are called when the choices they wait for are made, and must do the same whenever they get the same. max_depth: of
    substitutions around each other; max_decisions: of one program; beyond either a draw is given up. A space never
    changes: to assign a value makes another. Points are `Trace`s; an objective receives a `Program`. Raises
    LanguageError, which names what is wrong.
    """

    def __init__(self, builder: Builder, *, max_depth: int = 200, max_decisions: int = 10_000) -> None:
        if not callable(builder):
            raise LanguageError(f"builder: expected a function that returns (inputs, outputs), got {shown(builder)}")
        self.builder = builder
        self.max_depth = check_integer("max_depth", max_depth, 1, DEEPEST)
        self.max_decisions = check_integer("max_decisions", max_decisions, 1)
        root = Fragment("", None)
        try:
            with opened(root):
                made = builder()
        except RecursionError as error:
            raise LanguageError(f"builder: {ENDLESS}") from error
        close(root, made)
        self._walk = Walk(root, self.max_depth)
        self._walk.next()

    def _with(self, walk: Walk) -> SearchSpace:
        space = SearchSpace.__new__(SearchSpace)
        vars(space).update(builder=self.builder, max_depth=self.max_depth, max_decisions=self.max_decisions, _walk=walk)
        return space

    # A value: what is chosen, what is open, what follows.

    @cached_property
    def hyperparameters(self) -> tuple[Discrete, ...]:
        """Those that are visible and have no value, in the order of choice."""
        return tuple(self._walk.unassigned())

    @cached_property
    def trace(self) -> Trace:
        """What was assigned."""
        return self._walk.trace()

    @property
    def is_terminal(self) -> bool:
        """Whether nothing is left to choose."""
        return not self.hyperparameters

    def assign(self, hyperparameter: Discrete | str, value: Value) -> SearchSpace:
        """The space where a visible hyperparameter, or the one at this place, has this value.

        Raises TraceError; Infeasible where that leads nowhere; LanguageError where a function that builds what follows
        is wrong. This space stays as it is.
        """
        if not isinstance(hyperparameter, str | Discrete):
            raise TraceError(f"hyperparameter: expected one, or its place as text, got {shown(hyperparameter)}")
        path = hyperparameter if isinstance(hyperparameter, str) else hyperparameter.path
        found = {h.path: h for h in self.hyperparameters}
        if path not in found:
            why = "it has a value already" if path in self._walk.values else f"open are {', '.join(found) or 'none'}"
            raise TraceError(f"{path}: no hyperparameter that could be assigned now; {why}")
        walk = self._walk.copy()
        walk.assign(found[path], Trace({path: value})[path])
        walk.unassigned()  # build what this opens now, so that this call is the one that fails
        return self._with(walk)

    def specify(self, values: Sequence[Value]) -> SearchSpace:
        """The terminal space of values in the order of choice; raises TraceError unless they are as many as choices."""
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise TraceError(f"values: expected a list of values in the order of choice, got {shown(values)}")
        return self._with(sampling.specified(self._walk, list(values)))

    def replay(self, trace: Mapping[str, Value]) -> SearchSpace:
        """The terminal space of a trace; raises TraceError where a key is unknown or missing, Infeasible."""
        return self._with(sampling.replayed(self._walk, self.trace | Trace(trace)))

    def complete(self, trace: Mapping[str, Value], rng: np.random.Generator) -> SearchSpace:
        """A terminal space that has the values of a trace; all else is drawn.

        Raises TraceError where no draw has one of its keys with such a value, NoneFeasible.
        """
        return self._with(sampling.completed(self._walk, Trace(trace), _generator(rng), self.max_decisions))

    def program(self) -> Program:
        """Of a terminal space; raises LanguageError for any other."""
        if not self.is_terminal:
            raise LanguageError(f"not all is chosen: {', '.join(h.path for h in self.hyperparameters[:5])} ...")
        return program(self._walk, self.builder)

    def count(self, budget: int = BUDGET) -> Size:
        """How many programs there are, by choices: `Exact`, `AtLeast` once the budget is spent, or `INFINITE`.

        budget: of parts of the space looked at.
        """
        return count(self._walk, check_integer("budget", budget, 1))

    def enumerate(self, order: Literal["depth", "length"] | None = None) -> Iterator[Trace]:
        """All traces: in the order of choice (depth), or shorter ones first (length), which infinite spaces need."""
        if order is None:
            order = "depth" if isinstance(self.count(), Exact) else "length"
        walk = depth_first if check_choice("order", order, ("depth", "length")) == "depth" else shortest_first
        return walk(self._walk)

    # To look at.

    def to_text(self) -> str:
        """The modules that are visible: what they read, and their hyperparameters with values, or what these may be."""
        return drawing.text(drawing.view(self._walk))

    def to_dot(self) -> str:
        """The space in Graphviz's language: modules as boxes, grey while they wait, hyperparameters as ellipses."""
        return drawing.dot_source(drawing.view(self._walk))

    def to_svg(self) -> str:
        """A drawing, as SVG; raises MissingExtra without the extra ``plot`` or the Graphviz program."""
        return rendered_svg(self.to_dot())

    def transitions(self, trace: Mapping[str, Value], path: str | Path, render: Render = rendered_svg) -> Path:
        """Write a page, one HTML file, that shows the space after each choice of a trace: what is new in green, what
        was just given a value in red. render: of Graphviz's language, gives SVG. Raises TraceError, MissingExtra.
        """
        chosen = self.replay(trace).trace
        return drawing.write_page(path, repr(self), drawing.frames(self._walk, chosen), render)

    # A domain: what searchers need.

    @property
    def size(self) -> float:
        """The number of programs, by choices; ``math.inf`` where there is no end, or none was found."""
        return self._size

    @cached_property
    def _size(self) -> float:
        found = self.count()
        return found.count if isinstance(found, Exact) else math.inf

    @cached_property
    def _is_endless(self) -> bool:
        return isinstance(count(self._walk, LISTED), Infinite)

    @cached_property
    def _listed(self) -> tuple[Trace, ...] | None:
        """All programs where they are few and quickly counted, else None."""
        found = count(self._walk, LISTED)
        return tuple(self.enumerate("depth")) if isinstance(found, Exact) and found.count <= LISTED else None

    def sample(
        self, m: int, rng: np.random.Generator, by: Literal["decision", "architecture"] = "decision"
    ) -> list[Trace]:
        """m traces, independent. by: each value of each decision equally likely, or each program.

        A draw by decisions that has become large (nested more than 8 deep after 100 choices, or deeper than half of
        `max_depth`) takes from there on values that need the fewest substitutions to end, equally likely among these.

        Raises NoneFeasible, and DomainError where programs cannot be counted.
        """
        check_integer("m", m, 0)
        _generator(rng)
        evenly = check_choice("by", by, ("decision", "architecture")) == "architecture"

        def draw() -> Walk:
            if evenly:
                return sampling.followed(self._walk, sampling.evenly(rng, BUDGET), self.max_decisions)
            return sampling.at_random(self._walk, rng, self.max_decisions)

        return [self._trace(sampling.feasible(draw)) for _ in range(m)]

    def sample_unseen(self, seen: frozenset[Hashable], rng: np.random.Generator) -> Trace:
        """A trace that is not in `seen`; raises SpaceExhausted where there is none, or none is found.

        Drawn like those of `sample`; where few programs are left, each of them is equally likely.
        """
        if seen and self._listed is not None and 2 * len(seen) >= len(self._listed):
            return self._one_of([x for x in self._listed if x not in seen], rng)
        if (x := draw_unseen(self, seen, rng)) is not None:
            return x
        if self.size > NEIGHBORS_LISTED:
            raise SpaceExhausted(f"no unseen program in {DRAWS_UNSEEN} draws; {len(seen)} were seen")
        return self._one_of([x for x in self.enumerate("depth") if x not in seen], rng)

    def _one_of(self, left: list[Trace], rng: np.random.Generator) -> Trace:
        if not left:
            raise SpaceExhausted(f"all {int(self.size)} programs of the space have been seen")
        return left[int(rng.integers(len(left)))]

    def check(self, x: Any) -> None:
        """Raise PointError unless x is the trace of a program of this space."""
        if not isinstance(x, Trace):
            raise PointError(f"expected a Trace, got {shown(x)}")
        try:
            self._end(x)
        except Infeasible as error:
            raise PointError(f"{shown(x)} leads nowhere: {error}") from error

    def parse(self, point: Any) -> Trace:
        """A trace, a dict of one, a terminal space or a program."""
        if isinstance(point, SearchSpace | Program):
            point = point.trace
        return self.replay(point).trace

    def present(self, x: Mapping[str, Value]) -> Program:
        return program(self._end(x), self.builder)

    def encode(self, x: Trace) -> Json:
        return x.to_json()

    def decode(self, data: Json) -> Trace:
        return Trace.from_json(data)

    def keys(self, batch: Iterable[Trace]) -> list[Hashable]:
        return list(batch)

    def join(self, *batches: Iterable[Trace]) -> list[Trace]:
        return [x for batch in batches for x in batch]

    def mutate(self, x: Mapping[str, Value], rng: np.random.Generator) -> Trace:
        """Another value for one choice, drawn; all other keys keep theirs where they still exist and may have them.

        Raises DomainError where nothing can be chosen, NoneFeasible.
        """
        return self._trace(changes.mutated(self._walk, self._end(x), _generator(rng), self.max_decisions))

    def crossover(self, x: Mapping[str, Value], y: Mapping[str, Value], rng: np.random.Generator) -> Trace:
        """Each value from x or from y, by chance."""
        return self._trace(changes.crossed(self._walk, Trace(x), Trace(y), _generator(rng), self.max_decisions))

    def neighbors(self, x: Trace) -> list[Trace]:
        """All traces of which exactly one of the keys they share with x has another value, in a fixed order.

        Raises DomainError where these are more than 100,000.
        """
        found = changes.some(changes.neighbors(self._walk, self._end(x)), NEIGHBORS_LISTED)
        if found is None:
            raise DomainError(f"neighbors: more than {NEIGHBORS_LISTED}; use some_neighbors")
        return found

    def some_neighbors(self, x: Trace, m: int, rng: np.random.Generator) -> list[Trace]:
        """m neighbours, or all where they are fewer, in their order.

        Where they are more than 2,000 (in a space without end, more than 100), m different ones in the order drawn:
        changes evenly, what they open by chance.
        """
        counted = NEIGHBORS_COUNTED_OF_ENDLESS if self._is_endless else max(m, NEIGHBORS_COUNTED)
        found = changes.some(changes.neighbors(self._walk, self._end(x)), counted)
        if found is not None and len(found) <= m:
            return found
        if found is not None:
            return [found[i] for i in np.sort(rng.choice(len(found), size=m, replace=False, shuffle=False))]
        drawn: dict[Trace, None] = {}
        for _ in range(50 * m):
            if changes.differing(x, near := self.mutate(x, rng)) == 1:  # no other value had to give way
                drawn[near] = None
            if len(drawn) == m:
                break
        return list(drawn)

    def coordinates(self, x: Trace) -> tuple[Coordinate, ...]:
        """The choices of a trace, in order, as positions among their values."""
        return coordinates(self._end(x))

    def names(self, x: Trace) -> tuple[str, ...]:
        """The paths of the choices of a trace, in order."""
        return tuple(h.path for h in self._end(x).chosen)

    def redrawn(self, x: Trace, names: Sequence[str], rng: np.random.Generator) -> Trace:
        """These choices, and those that they open, drawn anew, all others kept where they still exist: `HasChoices`."""
        anew = set(names)
        kept = {path: value for path, value in x.items() if path not in anew}
        choose = sampling.keeping(kept, sampling.uniformly(rng))
        return self._trace(sampling.feasible(lambda: sampling.followed(self._walk, choose, self.max_decisions)))

    def tokens(self, xs: Iterable[Trace]) -> list[npt.NDArray[np.int64]]:
        """Of each trace the hashes of its modules, edges and choices: `HasTokens`."""
        return [self._tokens(x) for x in xs]

    def decisions(self, x: Trace) -> tuple[int, ...]:
        """The position of each choice that is open here among its values, in order: `HasDecisions`."""
        return tuple(int(one.value) for one in self.coordinates(x)[len(self._walk.chosen) :])

    def options(self, made: Sequence[int]) -> int:
        """How many values the next choice has after these; 0 at an end. Raises Infeasible, also where that is so only
        within `max_depth`.
        """
        with _dead_ends():
            h = sampling.along(self._walk, made).next()
        return 0 if h is None else len(h.values)

    def finished(self, made: Sequence[int], rng: np.random.Generator) -> Trace:
        """These choices, and random ones to the end. Raises Infeasible, as `options` does."""
        with _dead_ends():
            return self._trace(sampling.at_random(sampling.along(self._walk, made), rng, self.max_decisions))

    def _end(self, x: Mapping[str, Value]) -> Walk:
        """The finished walk of a trace; raises TraceError, Infeasible."""
        return self._ends(x if isinstance(x, Trace) else Trace(x))

    @cached_property
    def _ends(self) -> Recent[Trace, Walk]:
        return Recent(partial(sampling.replayed, self._walk))

    @cached_property
    def _tokens(self) -> Recent[Trace, npt.NDArray[np.int64]]:
        return Recent(lambda x: tokens(self._end(x)))

    def _trace(self, end: Walk) -> Trace:
        trace = end.trace()
        self._ends.add(trace, end)
        return trace

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits: others where a space differs in what it shows at once, or in eight drawn programs."""
        outermost = [[m.path, list(m.inputs), list(m.outputs)] for m in self._walk.modules()]
        choices = [[h.path, h.values] for h in self.hyperparameters]
        rng = np.random.default_rng(0)
        drawn = [self.present(x).fingerprint for x in self.sample(SAMPLED, rng)]
        data = json.dumps([outermost, choices, self.trace.to_json(), drawn])
        return hashlib.blake2b(data.encode(), digest_size=16).hexdigest()

    def to_json(self) -> Json:
        """Says which space it is; none can be rebuilt from it, since a space is a function."""
        name = getattr(self.builder, "__qualname__", type(self.builder).__qualname__)
        return {"domain": "language", "builder": name, "fingerprint": self.fingerprint}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchSpace):
            return NotImplemented
        return self.builder is other.builder and self.trace == other.trace

    def __hash__(self) -> int:
        return hash((self.builder, self.trace))

    def __reduce__(self) -> tuple[Any, ...]:
        return _assigned, (self.builder, self.max_depth, self.max_decisions, self.trace)

    def __repr__(self) -> str:
        name = getattr(self.builder, "__qualname__", shown(self.builder))
        return f"SearchSpace({name}{', ' + str(dict(self.trace)) if self.trace else ''})"


@contextmanager
def _dead_ends() -> Iterator[None]:
    """What nests too deeply is one, for who decides step by step."""
    try:
        yield
    except (TooDeep, NoneFeasible) as error:
        raise Infeasible(str(error)) from error


def _generator(rng: Any) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng: expected a numpy Generator, such as np.random.default_rng(0); got {shown(rng)}")
    return rng


def _assigned(builder: Builder, max_depth: int, max_decisions: int, trace: Trace) -> SearchSpace:
    space = SearchSpace(builder, max_depth=max_depth, max_decisions=max_decisions)
    for path, value in trace.items():
        space = space.assign(path, value)
    return space
