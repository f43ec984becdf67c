"""The mechanics of a space: what is visible once some hyperparameters have values, and what is chosen next.

A space is its outermost part and a dict of values. All else follows: a substitution module whose hyperparameters have
values stands for the part that its function builds of them, and edges are followed through such modules in both
directions, so that nothing is ever rewired. Parts are kept at their modules, by values, since equal values build equal
parts; a walk that fails leaves nothing behind but parts that are right.

The order of choice is that of Negrinho et al. 2019, algorithms 2 and 5, as their code has it: modules breadth-first
from the outputs backwards, inputs in the order they were declared in, hyperparameters of a module by local name, each
dependent one followed by those it depends on; when all that was visible has values, once more from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bostruct.checks import shown
from bostruct.contracts import Infeasible
from bostruct.domains.language.agenda import Agenda
from bostruct.domains.language.errors import LanguageError, PortNames, SubstitutionError, TooDeep, TraceError
from bostruct.domains.language.expansion import expansion
from bostruct.domains.language.fragments import Fragment, Input, Output
from bostruct.domains.language.hyperparameters import (
    DependentHyperparameter,
    Discrete,
    Hyperparameter,
    Value,
    as_value,
    independent,
)
from bostruct.domains.language.modules import Module

MISSING: Any = object()  # None is a value


class Walk:
    """One way through a space, under way. values: of independent hyperparameters, in the order of choice."""

    __slots__ = (
        "agenda",
        "chosen",
        "cursor",
        "derived",
        "derives",
        "expanded",
        "max_depth",
        "root",
        "values",
        "waiting",
    )

    def __init__(self, root: Fragment, max_depth: int) -> None:
        self.root = root
        self.max_depth = max_depth
        self.values: dict[str, Value] = {}
        self.chosen: list[Discrete] = []  # the hyperparameters that have these values
        self.derived: dict[str, Value] = {}
        self.expanded: dict[Module, Fragment] = {}
        self.agenda = Agenda([], 0)
        self.cursor = 0
        self.waiting: list[Module] | None = None  # substitution modules that nothing stood for when last looked at
        self.derives = False  # whether a dependent hyperparameter was visible then whose function was not asked yet

    def copy(self) -> Walk:
        other = Walk.__new__(Walk)
        other.root, other.max_depth = self.root, self.max_depth
        other.values, other.chosen = self.values.copy(), self.chosen.copy()
        other.derived = self.derived.copy()
        other.expanded = self.expanded.copy()
        other.agenda, other.cursor = self.agenda, self.cursor  # agendas are replaced, never changed
        other.waiting, other.derives = self.waiting, self.derives
        return other

    def next(self) -> Discrete | None:
        """What is to be chosen now; None where all is. Raises Infeasible, LanguageError."""
        while True:
            choices = self.agenda.choices
            while self.cursor < len(choices):
                if (h := choices[self.cursor]).path not in self.values:
                    return h
                self.cursor += 1
            if self._opens_nothing():
                return None
            self.agenda, self.cursor = Agenda(self.unassigned(), len(self.values)), 0
            if not self.agenda.choices:
                return None

    def _opens_nothing(self) -> bool:
        """Whether all that was waiting is now known to hold no choice: most ends are seen so, without a traversal."""
        if self.waiting is None or self.derives:
            return False
        expanded = [self.expansion(module) for module in self.waiting if opens_choices(module)]
        return all(fragment is not None and fragment.is_plain for fragment in expanded)

    def round(self) -> Agenda:
        """All that can be chosen before anything more is built."""
        if self.cursor == 0 and len(self.values) == self.agenda.known:
            return self.agenda
        left = [h for h in self.agenda.choices[self.cursor :] if h.path not in self.values]
        return Agenda(left, len(self.values))

    def assign(self, h: Discrete, value: Value) -> None:
        """Raises TraceError for a value that is not allowed."""
        position = h.positions.get(value)
        if position is None:
            raise TraceError(f"{h.path}: expected one of {shown(list(h.values))}, got {shown(value)}")
        self.chosen.append(h)
        self.values[h.path] = h.values[position]  # 1 and 1.0 and True are one value, spelled as the space has it

    def finish(self, choose: Callable[[Discrete, Walk], Value], most: int) -> None:
        """Choose until nothing is left; raises TooDeep beyond `most` choices."""
        while (h := self.next()) is not None:
            if len(self.values) >= most:
                raise TooDeep(f"more than {most} choices, and no end")
            self.assign(h, choose(h, self))

    def unassigned(self) -> list[Discrete]:
        """All visible independent hyperparameters without a value, in order.

        Where there are none, what depends on others is computed too: raises Infeasible where that leads nowhere.
        """
        found: dict[str, Discrete] = {}
        modules = self.modules()
        self.waiting = [module for module in modules if module.substitution is not None]
        for module in modules:
            for h in module.hyperparameters.values():
                for one in independent(h):
                    if one.path not in self.values:
                        found.setdefault(one.path, one)
        asked = list(self._underived(modules))
        self.derives = bool(found) and bool(asked)
        for h in () if found else asked:
            self.value(h)
        return list(found.values())

    def _underived(self, modules: list[Module]) -> Iterator[DependentHyperparameter]:
        """The dependent hyperparameters of these that no substitution will ask for, and nobody asked for yet."""
        for module in modules:
            if not opens_choices(module):
                for h in module.hyperparameters.values():
                    if isinstance(h, DependentHyperparameter) and h.path not in self.derived:
                        yield h

    def left(self) -> list[Discrete]:
        """What is to be chosen yet, in order, where the walk is settled: also of what was visible and is no more."""
        found = {h.path: h for h in self.agenda.choices[self.cursor :] if h.path not in self.values}
        return list((found | {h.path: h for h in self.unassigned() if h.path not in found}).values())

    def is_settled(self) -> bool:
        """Whether no choice that is left opens another, or may lead nowhere."""
        modules = self.modules()
        return not any(map(opens_choices, modules)) and next(self._underived(modules), None) is None

    def modules(self) -> list[Module]:
        """Those visible, in order: basic ones, and substitution modules that nothing stands for yet."""
        found: dict[Module, None] = {}
        for name in sorted(self.root.outputs):
            found.setdefault(self.behind(self.root.outputs[name], None).module)
        queue = list(found)
        for module in queue:  # grows as it goes
            for port in module.inputs.values():
                output = self.source(port)
                if output is not None and output.module not in found:
                    found[output.module] = None
                    queue.append(output.module)
        return queue

    def source(self, port: Input) -> Output | None:
        """What an input reads; None for an input of the whole space."""
        reader = port
        while port.source is None:
            host = port.module.fragment.host
            if host is None:
                return None
            port = host.inputs[port.border]  # type: ignore[index]  # a closed part has no other unconnected input
        return self.behind(port.source, reader)

    def terminal(self, port: Input) -> str:
        """The name of the input of the whole space that an input stands for, where `source` is None."""
        while port.module.fragment.host is not None:
            port = port.module.fragment.host.inputs[port.border]  # type: ignore[index]
        return str(port.border)

    def behind(self, output: Output, reader: Input | None) -> Output:
        """The output of a visible module that an output stands for."""
        while output.module.substitution is not None:
            fragment = self.expansion(output.module)
            if fragment is None:
                break
            if output.name not in fragment.outputs:
                raise PortNames(f"{reader or 'the whole space'} reads {output}, which {fragment} does not have")
            output = fragment.outputs[output.name]
        return output

    def expansion(self, module: Module) -> Fragment | None:
        """What stands for a substitution module; None where it still waits for values."""
        fragment = self.expanded.get(module)
        if fragment is None:
            given = []
            for h in module.hyperparameters.values():
                value = self.values.get(h.path, MISSING) if type(h) is Discrete else self.value(h)
                if value is MISSING:
                    return None
                given.append(value)
            fragment = self.expanded[module] = expansion(module, tuple(given), self.max_depth)
        return fragment

    def value(self, h: Hyperparameter) -> Value:
        """MISSING where it has none yet."""
        if isinstance(h, Discrete):
            return self.values.get(h.path, MISSING)
        stack: list[Hyperparameter] = [h]  # no recursion: chains of them may be long
        while (value := self._known(stack[-1])) is MISSING or len(stack) > 1:
            one = stack[-1]
            if value is MISSING and isinstance(one, DependentHyperparameter):
                given = {name: self._known(parent) for name, parent in one.parents.items()}
                waits = [one.parents[name] for name, part in given.items() if part is MISSING]
                if not waits:
                    self.derived[one.path] = derive(one, given)
                stack += waits
            elif value is MISSING:
                return MISSING
            else:
                stack.pop()
        return value

    def _known(self, h: Hyperparameter) -> Value:
        return (self.values if isinstance(h, Discrete) else self.derived).get(h.path, MISSING)

    def properties(self, module: Module) -> dict[str, Value]:
        """Local name -> value of a module whose hyperparameters all have values."""
        return module.constants | {name: self.value(h) for name, h in module.hyperparameters.items()}


def opens_choices(module: Module) -> bool:
    """Whether a visible module may yet bring choices that are not visible."""
    return module.substitution is not None and module.substitution.opens_choices


def derive(h: DependentHyperparameter, given: dict[str, Value]) -> Value:
    try:
        return as_value(h.path, h.fn(given))
    except (LanguageError, Infeasible):
        raise
    except Exception as error:
        raise SubstitutionError(f"{h.path}: its function failed for {given}: {error!r}") from error
