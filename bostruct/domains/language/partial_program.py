"""A program with choices left open, as a value: what is chosen, what is open, what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, Self, TypeAlias

import numpy as np

from bostruct.checks import check_choice, check_integer, short_repr
from bostruct.domains.counts import AtLeast, Count, Exact
from bostruct.domains.graphviz import render_svg
from bostruct.domains.language import drawing, sampling
from bostruct.domains.language.beginning import begin
from bostruct.domains.language.counting import count
from bostruct.domains.language.enumeration import depth_first, shortest_first
from bostruct.domains.language.errors import LanguageError, NoneFeasible, TraceError
from bostruct.domains.language.graph import Builder, Discrete
from bostruct.domains.language.program import MAX_DEPTH, Program, build_program
from bostruct.domains.language.trace import Trace, stored_value
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk

Render: TypeAlias = Callable[[str], str]
COUNT_BUDGET = 80_000  # modules looked at, for a size: about a second
PROOF_DRAWS = 100  # for one program of a space of which none was counted


class PartialProgram:
    """A program with choices left open, or with none. It never changes: to assign a value makes another.

    builder: function that returns (inputs, outputs).
    max_depth: int, 1 to 400, the most substitutions around each other.
    max_decisions: int >= 1, the most choices of one program.

    Raises LanguageError, which names what is wrong.
    """

    def __init__(self, builder: Builder, *, max_depth: int = 200, max_decisions: int = 10_000) -> None:
        if not callable(builder):
            raise LanguageError(
                f"builder: expected a function that returns (inputs, outputs), got {short_repr(builder)}"
            )
        self.builder = builder
        self.max_depth = check_integer("max_depth", max_depth, 1, MAX_DEPTH)
        self.max_decisions = check_integer("max_decisions", max_decisions, 1)
        self._walk = begin(builder, self.max_depth)

    def _with_walk(self, walk: Walk) -> Self:
        space = type(self).__new__(type(self))
        vars(space).update(builder=self.builder, max_depth=self.max_depth, max_decisions=self.max_decisions, _walk=walk)
        return space

    @cached_property
    def hyperparameters(self) -> tuple[Discrete, ...]:
        """The hyperparameters that are visible and have no value, in the order of choice."""
        return tuple(self._walk.open_hyperparameters())

    @cached_property
    def trace(self) -> Trace:
        """The values that were assigned."""
        return self._walk.trace()

    @property
    def is_terminal(self) -> bool:
        """True where nothing is left to choose."""
        return not self.hyperparameters

    def assign(self, hyperparameter: Discrete | str, value: Value) -> Self:
        """Return the space where a visible hyperparameter has this value. This space stays as it is.

        hyperparameter: one of `hyperparameters`, or its place as text.
        value: one of its values.

        Raises TraceError; Infeasible where that leads nowhere; LanguageError where a function that builds what follows
        is wrong.
        """
        if not isinstance(hyperparameter, str | Discrete):
            raise TraceError(f"hyperparameter: expected one, or its place as text, got {short_repr(hyperparameter)}")
        path = hyperparameter if isinstance(hyperparameter, str) else hyperparameter.path
        found = {h.path: h for h in self.hyperparameters}
        if path not in found:
            why = "it has a value already" if path in self._walk.values else f"open are {', '.join(found) or 'none'}"
            raise TraceError(f"{path}: no hyperparameter that could be assigned now; {why}")
        walk = self._walk.copy()
        walk.assign(found[path], stored_value(path, value))
        walk.open_hyperparameters()  # build what this opens now, so that this call is the one that fails
        return self._with_walk(walk)

    def specify(self, values: Sequence[Value]) -> Self:
        """Return the terminal space of values in the order of choice.

        values: list of values, as many as there are choices.

        Raises TraceError.
        """
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise TraceError(f"values: expected a list of values in the order of choice, got {short_repr(values)}")
        return self._with_walk(sampling.specify(self._walk, list(values)))

    def replay(self, trace: Mapping[str, Value]) -> Self:
        """Return the terminal space of a trace.

        trace: mapping from the places of hyperparameters to values.

        Raises TraceError where a key is unknown or missing, and Infeasible.
        """
        return self._with_walk(sampling.replay(self._walk, self.trace | Trace(trace)))

    def complete(self, trace: Mapping[str, Value], rng: np.random.Generator) -> Self:
        """Return a terminal space that has the values of a trace; all else is drawn.

        trace: mapping from the places of some hyperparameters to values.
        rng: `numpy.random.Generator`.

        Raises TraceError where no draw has one of its keys with such a value, and NoneFeasible.
        """
        return self._with_walk(sampling.complete(self._walk, Trace(trace), check_generator(rng), self.max_decisions))

    def program(self) -> Program:
        """Build the program of a terminal space; raises LanguageError for any other."""
        if not self.is_terminal:
            raise LanguageError(f"not all is chosen: {', '.join(h.path for h in self.hyperparameters[:5])} ...")
        return build_program(self._walk, self.builder)

    def count(self, budget: int = COUNT_BUDGET) -> Count:
        """Count the traces: `Exact`, `AtLeast` once the budget is spent, or `INFINITE`.

        budget: int >= 1, the work: modules of the space to look at, and pairs of partial counts to join; 80,000 take
            about a second.

        Traces that build equal programs count apart, so that different programs may be fewer. `AtLeast(1)` may mean
        that nothing was counted in time, but a program drawn; `AtLeast(0)` that none was drawn either.
        """
        found = count(self._walk, check_integer("budget", budget, 1))
        return AtLeast(1) if found == AtLeast(0) and self._has_program else found

    @cached_property
    def _has_program(self) -> bool:
        """Tell whether one of a hundred draws is feasible; False leaves it open whether there is a program."""
        rng = np.random.default_rng(0)
        draw = partial(sampling.sample_walk, self._walk, rng, self.max_decisions)
        try:
            sampling.retry_until_feasible(draw, PROOF_DRAWS)
        except NoneFeasible:
            return False
        return True

    def enumerate(self, order: Literal["depth", "length"] | None = None) -> Iterator[Trace]:
        """Yield all traces.

        order: ``depth`` for the order of choice, ``length`` for shorter ones first, which infinite spaces need; by
            default ``depth`` where all programs were counted, else ``length``.
        """
        if order is None:
            order = "depth" if isinstance(self.count(), Exact) else "length"
        walk = depth_first if check_choice("order", order, ("depth", "length")) == "depth" else shortest_first
        return walk(self._walk)

    def to_text(self) -> str:
        """Describe the visible modules: what they read, and their hyperparameters with values or what these may be."""
        return drawing.view_text(drawing.view(self._walk))

    def to_dot(self) -> str:
        """Return the space in Graphviz's language.

        Modules are boxes, gray while they wait; hyperparameters are ellipses.
        """
        return drawing.view_dot(drawing.view(self._walk))

    def to_svg(self) -> str:
        """Draw the space as SVG; raises MissingExtra without the extra ``plot`` or the Graphviz program."""
        return render_svg(self.to_dot())

    def transitions(
        self, trace: Mapping[str, Value], path: str | Path, render: Render = render_svg, *, overwrite: bool = False
    ) -> Path:
        """Write a page, one HTML file, that shows the space after each choice of a trace.

        trace: mapping from the places of hyperparameters to values, which leads to an end.
        path: str or `Path`, the file. An earlier page of bostruct is replaced.
        render: function that turns Graphviz's language into SVG.
        overwrite: True also replaces a file that bostruct did not write, but never a database.

        What is new is green, what was just given a value red. Returns the path; raises TraceError, MissingExtra, and
        OutputRefused, a FileExistsError, for a file that it must not replace.
        """
        chosen = self.replay(trace).trace
        frames = drawing.frames(self._walk, chosen)
        return drawing.write_page(path, repr(self), frames, render, overwrite=overwrite)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartialProgram):
            return NotImplemented
        return self.builder is other.builder and self.trace == other.trace

    def __hash__(self) -> int:
        return hash((self.builder, self.trace))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.builder, self.max_depth, self.max_decisions, self.trace)

    def __repr__(self) -> str:
        name = getattr(self.builder, "__qualname__", short_repr(self.builder))
        return f"{type(self).__name__}({name}{', ' + str(dict(self.trace)) if self.trace else ''})"


def check_generator(rng: object) -> np.random.Generator:
    """Return a numpy Generator; raises TypeError for anything else.

    rng: as given.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng: expected a numpy Generator, such as np.random.default_rng(0); got {short_repr(rng)}")
    return rng


def _rebuild(
    kind: type[PartialProgram], builder: Builder, max_depth: int, max_decisions: int, trace: Trace
) -> PartialProgram:
    space = kind(builder, max_depth=max_depth, max_decisions=max_decisions)
    for path, value in trace.items():
        space = space.assign(path, value)
    return space
