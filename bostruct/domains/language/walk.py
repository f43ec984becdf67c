"""Traverse a space: which modules are visible after some choices, and which hyperparameter is next.

The state is the outermost part and a dict of values. A substitution module whose hyperparameters have values is
replaced by the part that its function builds, and edges are followed through these modules in both directions, so no
edge is ever rewired. Parts are cached at their modules by values, because equal values build equal parts. A failed walk
leaves only valid parts in the cache.

The order of choice follows the code of Negrinho et al. 2019, algorithms 2 and 5: modules breadth-first from the outputs
backward, inputs in their declared order, the hyperparameters of a module by local name, and each dependent
hyperparameter followed by its parents. When all visible hyperparameters have values, the traversal restarts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bostruct.checks import short_repr
from bostruct.contracts import Infeasible
from bostruct.domains.language import errors
from bostruct.domains.language.build import ENDLESS_MESSAGE, close, expand_module
from bostruct.domains.language.graph import (
    Builder,
    DependentHyperparameter,
    Discrete,
    Fragment,
    Hyperparameter,
    Input,
    Module,
    Output,
    build_into,
)
from bostruct.domains.language.hyperparameters import independent_ancestors
from bostruct.domains.language.values import Trace, Value, has_names, name_value, reveal

MISSING: Any = object()  # None is a value


class OpenChoices:
    """Choices that can be made at once, in order, with cached data for sampling them."""

    def __init__(self, choices: list[Discrete], known: int) -> None:
        self.choices = choices
        self.known = known

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(h.path for h in self.choices)

    @cached_property
    def values(self) -> tuple[tuple[Value, ...], ...]:
        return tuple(h.values for h in self.choices)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.array([len(values) for values in self.values])

    @cached_property
    def deepest(self) -> int:
        """The number of substitutions around the innermost choice."""
        return max((h.fragment.depth for h in self.choices), default=0)


@dataclass(eq=False, repr=False, slots=True)
class Walk:
    """A partial or complete traversal of a space."""

    root: Fragment
    max_depth: int
    _values: dict[str, Value] = field(default_factory=dict)
    n_visible: int = 1  # modules that were visible when choices were last listed
    _chosen: list[Discrete] = field(default_factory=list)  # the hyperparameters of these values
    _derived: dict[str, Value] = field(default_factory=dict)
    _expanded: dict[Module, Fragment] = field(default_factory=dict)
    _open: OpenChoices = field(default_factory=lambda: OpenChoices([], 0))
    _cursor: int = 0
    _waiting: list[Module] | None = None  # substitution modules that were unexpanded at the last traversal
    _reads_outer: bool = False  # whether a part reads an output of an enclosing part
    _derives: bool = False  # whether a dependent hyperparameter without a computed value was visible then

    def copy(self) -> Walk:
        other = Walk.__new__(Walk)
        other.root, other.max_depth, other.n_visible = self.root, self.max_depth, self.n_visible
        other._values, other._chosen = self._values.copy(), self._chosen.copy()
        other._derived = self._derived.copy()
        other._expanded = self._expanded.copy()
        other._open, other._cursor = self._open, self._cursor  # open choices are replaced, never modified
        other._waiting, other._derives = self._waiting, self._derives
        other._reads_outer = self._reads_outer
        return other

    def __len__(self) -> int:
        """Return the number of choices made."""
        return len(self._values)

    @property
    def values(self) -> Mapping[str, Value]:
        """The chosen values by path, in the order of choice."""
        return self._values

    @property
    def chosen(self) -> Sequence[Discrete]:
        """The hyperparameters of the chosen values, in the same order."""
        return self._chosen

    def trace(self) -> Trace:
        """Return the chosen values as a trace."""
        return Trace.from_valid(self._values.copy())

    def next(self) -> Discrete | None:
        """Return the next hyperparameter to choose, or None if none is left; raises Infeasible and LanguageError."""
        while True:
            choices = self._open.choices
            while self._cursor < len(choices):
                if (h := choices[self._cursor]).path not in self._values:
                    return h
                self._cursor += 1
            if self._opens_nothing():
                return None
            self._list_open()
            if not self._open.choices:
                return None

    def _list_open(self) -> None:
        """List the visible choices, and record which modules may open more of them."""
        modules = self.modules()
        found, derives = self._find_open(modules)
        if self._reads_outer and not found:
            self.reading_order()  # edges between parts may form a cycle
        self._waiting = [module for module in modules if module.substitution is not None]
        self._derives = bool(found) and derives
        self.n_visible = len(modules)
        self._open, self._cursor = OpenChoices(found, len(self._values)), 0

    def _opens_nothing(self) -> bool:
        """Return whether no waiting module contains a choice.

        This detects most finished walks without a traversal.
        """
        if self._waiting is None or self._derives or self._reads_outer:
            return False
        expanded = [self.expansion(module) for module in self._waiting if opens_choices(module)]
        return all(fragment is not None and fragment.is_plain for fragment in expanded)

    def open_choices(self) -> OpenChoices:
        """Return all choices that are open before any more part is built."""
        if self._cursor == 0 and len(self._values) == self._open.known:
            return self._open
        remaining = [h for h in self._open.choices[self._cursor :] if h.path not in self._values]
        return OpenChoices(remaining, len(self._values))

    def assign_open(self, choices: OpenChoices, values: Iterable[Value]) -> None:
        """Assign values to all open choices; values may be computed lazily from earlier values."""
        self._chosen += choices.choices
        self._values.update(zip(choices.paths, values, strict=True))
        self._cursor = len(self._open.choices)

    def assign(self, h: Discrete, value: Value) -> None:
        """Assign a value; raises TraceError if it is not allowed."""
        position = h.positions.get(value)
        if position is None:
            raise errors.TraceError(f"{h.path}: expected one of {short_repr(list(h.values))}, got {short_repr(value)}")
        self._chosen.append(h)
        self._values[h.path] = h.values[position]  # 1, 1.0 and True are equal; the space's value is stored

    def children(self, h: Discrete) -> list[Walk]:
        """Return a copy of the walk for each value of a hyperparameter, in their order."""
        walks = [self.copy() for _ in h.values]
        for walk, value in zip(walks, h.values, strict=True):
            walk.assign(h, value)
        return walks

    def finish(self, choose: Callable[[Discrete, Walk], Value], most: int) -> None:
        """Make choices until none is left; raises TooDeep beyond `most` choices."""
        while (h := self.next()) is not None:
            if len(self._values) >= most:
                raise errors.TooDeep(f"a program needs more than {most} choices")
            self.assign(h, choose(h, self))

    def open_hyperparameters(self) -> list[Discrete]:
        """List all visible independent hyperparameters without a value, in order.

        If there are none, dependent values are computed: raises Infeasible if one is infeasible.
        """
        return self._find_open(self.modules())[0]

    def _find_open(self, modules: list[Module]) -> tuple[list[Discrete], bool]:
        """Return the open hyperparameters of visible modules, and whether dependent values are not yet computed."""
        found: dict[str, Discrete] = {}
        for module in modules:
            for h in module.hyperparameters.values():
                for one in independent_ancestors(h):
                    if one.path not in self._values:
                        found.setdefault(one.path, one)
        pending = list(self._pending_dependents(modules))
        for h in () if found else pending:
            self.value(h)
        return list(found.values()), bool(pending)

    def _pending_dependents(self, modules: list[Module]) -> Iterator[DependentHyperparameter]:
        """Yield the dependent hyperparameters of modules that no substitution uses and that are not yet computed."""
        for module in modules:
            if not opens_choices(module):
                for h in module.hyperparameters.values():
                    if isinstance(h, DependentHyperparameter) and h.path not in self._derived:
                        yield h

    def least_length(self) -> int:
        """Return a lower bound on the number of choices of the programs of this walk."""
        return len({h.path for h in self._open.choices[self._cursor :]} | self._values.keys())

    def remaining(self) -> list[Discrete]:
        """List the remaining choices of a settled walk in order, including those that are no longer visible."""
        found = {h.path: h for h in self._open.choices[self._cursor :] if h.path not in self._values}
        return list((found | {h.path: h for h in self.open_hyperparameters() if h.path not in found}).values())

    def is_settled(self) -> bool:
        """Return whether no remaining choice can open another or be infeasible."""
        modules = self.modules()
        return not any(map(opens_choices, modules)) and next(self._pending_dependents(modules), None) is None

    def modules(self) -> list[Module]:
        """List the visible modules in order: basic modules, and unexpanded substitution modules."""
        found: dict[Module, None] = {}
        for name in sorted(self.root.outputs):
            found.setdefault(self.resolve(self.root.outputs[name], None).module)
        queue = deque(found)
        while queue:
            for port in queue.popleft().inputs.values():
                output = self.source(port)
                if output is not None and output.module not in found:
                    found[output.module] = None
                    queue.append(output.module)
        return list(found)

    def reading_order(self) -> list[Module]:
        """List the visible modules in topological order; raises CycleError if there is a cycle."""
        done: dict[Module, None] = {}
        entered: dict[Module, None] = {}
        for name in sorted(self.root.outputs):
            stack = [(self.resolve(self.root.outputs[name], None).module, False)]
            while stack:
                module, is_entered = stack.pop()
                if is_entered:
                    done[module] = entered.pop(module)
                elif module in entered:
                    cycle = " <- ".join(one.path for one in [*entered, module])
                    raise errors.CycleError(f"modules of several parts feed each other in a cycle: {cycle}")
                elif module not in done:
                    entered[module] = None
                    stack.append((module, True))
                    read = [self.source(port) for port in module.inputs.values()]
                    stack += [(output.module, False) for output in reversed(read) if output is not None]
        return list(done)

    def source(self, port: Input) -> Output | None:
        """Return the output that an input reads; None for an input of the space."""
        reader = port
        while port.source is None:
            host = port.module.fragment.host
            if host is None:
                return None
            port = host.inputs[port.exposed_as]  # type: ignore[index]  # a closed part has no other unconnected input
        return self.resolve(port.source, reader)

    def root_input_name(self, port: Input) -> str:
        """Return the name of the space's input that an input reads.

        port: an input for which `source` returns None.
        """
        while port.module.fragment.host is not None:
            port = port.module.fragment.host.inputs[port.exposed_as]  # type: ignore[index]
        return str(port.exposed_as)

    def resolve(self, output: Output, reader: Input | None) -> Output:
        """Return the output of a visible module for any output.

        reader: the input that reads it, for messages; None for the space.

        Raises PortNames if a part that replaced a module lacks the output.
        """
        while output.module.substitution is not None:
            fragment = self.expansion(output.module)
            if fragment is None:
                break
            if output.name not in fragment.outputs:
                raise errors.PortNames(f"{reader or 'the whole space'} reads {output}, which {fragment} does not have")
            output = fragment.outputs[output.name]
        return output

    def expansion(self, module: Module) -> Fragment | None:
        """Return the part that replaces a substitution module; None if a hyperparameter has no value yet."""
        fragment = self._expanded.get(module)
        if fragment is None:
            given = []
            for h in module.hyperparameters.values():
                value = self._values.get(h.path, MISSING) if type(h) is Discrete else self.value(h)
                if value is MISSING:
                    return None
                given.append(value)
            fragment = self._expanded[module] = expand_module(module, tuple(given), self.max_depth)
            self._reads_outer = self._reads_outer or fragment.reads_outer
        return fragment

    def waiting(self) -> Sequence[Module]:
        """Return the substitution modules that were unexpanded when choices were last listed."""
        return self._waiting or ()

    def count_built(self) -> int:
        """Return the number of modules in the parts that were built to find choices."""
        opened = (fragment for module, fragment in self._expanded.items() if opens_choices(module))
        return len(self.root.modules) + sum(len(fragment.modules) for fragment in opened)

    def unbuilt(self) -> list[Module]:
        """Return the substitution modules of a finished walk whose parts no choice needed."""
        return [module for module in self.waiting() if module not in self._expanded]

    def fragments(self, *, build: bool = True) -> list[Fragment]:
        """Return all parts of a finished walk, outermost first; with `build` also those that no choice needed."""
        for module in self.unbuilt() if build else ():
            self.expansion(module)
        return [self.root, *self._expanded.values()]

    def value(self, h: Hyperparameter) -> Value:
        """Return the value of a hyperparameter, or MISSING."""
        if isinstance(h, Discrete):
            return self._values.get(h.path, MISSING)
        stack: list[Hyperparameter] = [h]  # no recursion: chains may be long
        while (value := self._lookup(stack[-1])) is MISSING or len(stack) > 1:
            one = stack[-1]
            if value is MISSING and isinstance(one, DependentHyperparameter):
                given = {name: self._lookup(parent) for name, parent in one.parents.items()}
                waits = [one.parents[name] for name, part in given.items() if part is MISSING]
                if not waits:
                    self._derived[one.path] = derive(one, given)
                stack += waits
            elif value is MISSING:
                return MISSING
            else:
                stack.pop()
        return value

    def _lookup(self, h: Hyperparameter) -> Value:
        return (self._values if isinstance(h, Discrete) else self._derived).get(h.path, MISSING)

    def properties(self, module: Module) -> dict[str, Value]:
        """Return the values of a module by local name; all its hyperparameters must have values."""
        return module.constants | {name: reveal(self.value(h)) for name, h in module.hyperparameters.items()}

    def value_names(self, module: Module) -> dict[str, Value]:
        """Return the stored form of named values of a module, by local name."""
        unsure = {n: h for n, h in module.hyperparameters.items() if not isinstance(h, Discrete) or h.is_named}
        return {name: value for name, h in unsure.items() if has_names(value := self.value(h))}


def opens_choices(module: Module) -> bool:
    """Return whether a visible module may open choices that are not visible yet."""
    return module.substitution is not None and module.substitution.opens_choices


def derive(h: DependentHyperparameter, given: dict[str, Value]) -> Value:
    """Return the value of a dependent hyperparameter.

    Raises Infeasible, SubstitutionError if the function fails, and LanguageError if its result is invalid.
    """
    try:
        return name_value(h.path, h.fn({name: reveal(value) for name, value in given.items()}))
    except (errors.LanguageError, Infeasible):
        raise
    except Exception as error:
        raise errors.SubstitutionError(f"{h.path}: its function failed for {given}: {error!r}") from error


def begin(builder: Builder, max_depth: int) -> Walk:
    """Build the outermost part of a space and return a walk without choices.

    Raises LanguageError.
    """
    root = Fragment("", None)
    try:
        with build_into(root):
            made = builder()
    except RecursionError as error:
        raise errors.LanguageError(f"builder: {ENDLESS_MESSAGE}") from error
    close(root, made)
    walk = Walk(root, max_depth)
    walk.next()
    return walk
