"""Define the objects that a search space is made of: parts, modules, their ports, hyperparameters.

They refer to each other, so they are one file. A part is what one call of a function builds: open while the function
runs, fixed once it has returned. Nothing is shared between calls: the part under construction is known through a
context variable, and each module and hyperparameter is named by its place (the substitutions that led to it, then its
name in the part), never by a counter. The same choices name the same things in every process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple, TypeAlias, TypeGuard

from bostruct.checks import short_repr
from bostruct.domains.language.errors import (
    AlreadyConnected,
    ForeignHyperparameter,
    ForeignPort,
    LanguageError,
    NameClash,
)
from bostruct.domains.language.fingerprints import canonical_data
from bostruct.domains.language.values import Value, as_name, as_properties, has_names, name_value, name_values

MODULE_NAME = re.compile(r"[^/\[\].:\s]+")


class Input:
    """A port that a module reads. It has one incoming edge, or is one of the inputs that its part returns."""

    __slots__ = ("exposed_as", "module", "name", "source")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name
        self.source: Output | None = None
        self.exposed_as: str | None = None  # its name among the inputs returned

    def connect(self, output: Output) -> None:
        """Read what the output gives; raises LanguageError, naming both ends."""
        if not isinstance(output, Output):
            raise LanguageError(f"{self}: expected an output to connect to, got {show_port(output)}")
        if self.source is not None:
            raise AlreadyConnected(f"{self} reads {self.source} already; it cannot read {output} too")
        here, there = self.module.fragment, output.module.fragment
        is_readable = here is there or (output in there.outer_outputs and there.encloses(here))
        if here.closed or not is_readable:
            why = "is finished" if is_readable else f"is not the part of {output.module.path} ({there})"
            hint = f"; {there} may declare the output by outer_output" if there.encloses(here) else ""
            raise ForeignPort(f"{self} cannot read {output}: the part of the space it belongs to ({here}) {why}{hint}")
        self.source = output

    def __repr__(self) -> str:
        return f"{self.module.path}.in:{self.name}"


class Output:
    """A port that a module writes; any number of inputs may read it."""

    __slots__ = ("module", "name")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name

    def connect(self, input: Input) -> None:
        """Feed the input; raises LanguageError, naming both ends."""
        if not isinstance(input, Input):
            raise LanguageError(f"{self}: expected an input to connect to, got {show_port(input)}")
        input.connect(self)

    def __repr__(self) -> str:
        return f"{self.module.path}.out:{self.name}"


@dataclass(eq=False, repr=False, slots=True)
class Fragment:
    """The result of one call of a builder.

    host: the module that it replaces, None for the whole space.

    `depth` is the number of substitutions around it, `outer_outputs` are the outputs that parts inside it may read, and
    `shared` holds what a `HyperparameterSharer` made for it.
    """

    path: str
    host: Module | None
    depth: int = field(init=False)
    modules: list[Module] = field(default_factory=list)
    hyperparameters: list[Hyperparameter] = field(default_factory=list)
    inputs: dict[str, Input] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    numbers: Counter[str] = field(default_factory=Counter)
    closed: bool = False
    tokens: bytes | None = None  # once somebody asks for them
    is_plain: bool = False  # whether it is finished, and nothing in it depends on any choice
    outer_outputs: set[Output] = field(default_factory=set)
    reads_outer: bool = False  # whether a module of it reads an output of a part around it
    hides_choices: bool = False  # whether only parts to come may make some of its choices visible
    shared: dict[tuple[object, str], Hyperparameter] = field(default_factory=dict)  # by sharer, None for the part's own

    def __post_init__(self) -> None:
        self.depth = 0 if self.host is None else self.host.fragment.depth + 1

    def __repr__(self) -> str:
        return self.path or "the whole space"

    def child_path(self, name: str) -> str:
        """Return the place of something made in this part."""
        return f"{self.path}/{name}" if self.path else name

    def next_name(self, name: str) -> str:
        """Return the name of the next module of one kind, ``Conv2D-0``, then ``Conv2D-1``."""
        n = self.numbers[name]
        self.numbers[name] = n + 1
        return f"{name}-{n}"

    def encloses(self, other: Fragment) -> bool:
        """Tell whether functions that build `other` may see what is made here."""
        while other.depth > self.depth and other.host is not None:
            other = other.host.fragment
        return other is self


def number_name(name: str, taken: Container[str]) -> str:
    """Return a name itself if it is free, else with the first number from 1 on that makes it so."""
    if name not in taken:
        return name
    return next(numbered for n in count(1) if (numbered := f"{name}-{n}") not in taken)


class Discrete:
    """An independent hyperparameter: one of finitely many values.

    Where the value tells an order, `things` is how many things it orders and `steps` are the hyperparameters that tell
    it together; else they are 0 and none. To share a hyperparameter, pass the same object to several modules.

    Parameters
    ----------
    values : iterable of Value or mapping of str to object
        At least one, none twice; each None, a bool, a number, a string, or a tuple of these. Also a function or class,
        which traces know by its ``__name__``, or a dict, which they know by its JSON. A dict given for `values` itself
        holds any objects by the names that traces know them by.
    name : str, optional
        Its key in traces, numbered from the second hyperparameter of one part and one name on, as in ``swap``,
        ``swap-1``; by default the first module that it is given to and its local name there, as in
        ``Conv2D-0.filters``.
    ordered : bool, default False
        True if neighboring values are alike.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """

    __slots__ = ("fragment", "is_named", "name", "ordered", "path", "positions", "steps", "things", "values")

    def __init__(
        self, values: Iterable[Value] | Mapping[str, object], name: str | None = None, *, ordered: bool = False
    ) -> None:
        self.values = _read_values(values)
        self.name = as_name(name)
        self.ordered = ordered
        self.positions = {value: position for position, value in enumerate(self.values)}
        self.is_named = any(map(has_names, self.values))
        self.things = 0
        self.steps: tuple[Discrete, ...] = ()
        if not self.values:
            raise LanguageError("values: expected at least one, got none")
        if len(self.positions) < len(self.values):
            way_out = ": name them, D({'name': value, ...})" if self.is_named else ""
            raise LanguageError(f"values: expected no two that are equal, got {short_repr(self.values)}{way_out}")
        self.path = ""  # known once the function around it has returned
        self.fragment: Fragment = current_fragment("a hyperparameter")
        self.fragment.hyperparameters.append(self)

    def __repr__(self) -> str:
        return f"D({short_repr(list(self.values))}){' at ' + self.path if self.path else ''}"


def _read_values(values: object) -> tuple[Value, ...]:
    """Return the values of a hyperparameter in their stored form."""
    if isinstance(values, Mapping):
        return name_values("values", values)
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise LanguageError(f"values: expected a sequence of values, got {short_repr(values)}")
    return tuple(name_value("values", value) for value in values)


class DependentHyperparameter:
    """A value that follows from others.

    Parameters
    ----------
    fn : callable
        Function of a dict from local names to values that returns the value.
    hyperps : mapping of str to Hyperparameter
        Local name -> hyperparameter, dependent or not; at least one.
    name : str, optional
        Its key in drawings and errors, as in `Discrete`.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """

    __slots__ = ("fn", "fragment", "name", "parents", "path")

    def __init__(
        self, fn: Callable[[dict[str, Value]], Value], hyperps: Mapping[str, Hyperparameter], name: str | None = None
    ) -> None:
        if not callable(fn):
            raise LanguageError(f"fn: expected a function of a dict, got {short_repr(fn)}")
        named = as_properties("hyperps", hyperps)
        if not named or not all(is_hyperparameter(h) for h in named.values()):
            raise LanguageError(f"hyperps: expected a dict from names to hyperparameters, got {short_repr(hyperps)}")
        self.fn = fn
        self.parents = {local: named[local] for local in sorted(named)}
        self.name = as_name(name)
        self.path = ""
        self.fragment: Fragment = current_fragment("a hyperparameter")
        self.fragment.hyperparameters.append(self)

    def __repr__(self) -> str:
        return f"DependentHyperparameter of {', '.join(self.parents)}{' at ' + self.path if self.path else ''}"


Hyperparameter: TypeAlias = Discrete | DependentHyperparameter


def is_hyperparameter(value: object) -> TypeGuard[Hyperparameter]:
    """Tell whether a value is a hyperparameter, independent or dependent."""
    return isinstance(value, Discrete | DependentHyperparameter)


IO: TypeAlias = tuple[dict[str, Input], dict[str, Output]]  # what every function that builds a part returns
Builder: TypeAlias = Callable[[], IO]


class Substitution(NamedTuple):
    """The way a substitution module is replaced.

    keyed_by: the local names whose values are part of the place of what is built; all where None.
    allow_input_subset: bool, True if what is built may lack inputs of the module.
    allow_output_subset: bool, True if what is built may lack outputs of the module.
    opens_choices: bool, False if what is built never holds a choice.
    """

    fn: Callable[[dict[str, Value]], IO]
    keyed_by: frozenset[str] | None
    allow_input_subset: bool
    allow_output_subset: bool
    opens_choices: bool


class Module:
    """A node with named inputs, outputs and hyperparameters.

    properties: local name -> hyperparameter or constant; kept apart, each sorted, in `hyperparameters` and `constants`.
    implementation: what compilers turn the module into; None for a node that nobody compiles.
    substitution: None for basic modules.

    `expansions` holds what took its place, or why there is nothing, by the values of its hyperparameters.
    """

    __slots__ = (
        "constants",
        "expansions",
        "fragment",
        "hyperparameters",
        "implementation",
        "inputs",
        "kind",
        "name",
        "outputs",
        "path",
        "substitution",
    )

    def __init__(
        self,
        kind: str,
        properties: Mapping[str, object],
        ports: tuple[Iterable[str], Iterable[str]],
        implementation: object = None,
        substitution: Substitution | None = None,
    ) -> None:
        if not isinstance(kind, str) or not MODULE_NAME.fullmatch(kind):
            raise LanguageError(f"name: expected text without spaces and any of / [ ] . :, got {short_repr(kind)}")
        fragment = current_fragment(f"the module {kind}")
        self.kind = kind
        self.fragment = fragment
        self.name = fragment.next_name(kind)
        self.path = fragment.child_path(self.name)
        self.inputs = {name: Input(self, name) for name in ports[0]}
        self.outputs = {name: Output(self, name) for name in ports[1]}
        self.hyperparameters: dict[str, Hyperparameter] = {}
        self.constants: dict[str, object] = {}
        self.implementation = implementation
        self.substitution = substitution
        self.expansions: dict[tuple[Value, ...], Fragment | str] = {}
        for name in sorted(properties):
            self._add_property(name, properties[name])
        fragment.modules.append(self)

    def _add_property(self, name: str, value: object) -> None:
        if not is_hyperparameter(value):
            if self.substitution is None:
                canonical_data(f"{self.path}: {name}", value)  # programs are told apart by it
            self.constants[name] = value
        elif value.fragment.encloses(self.fragment):
            self.hyperparameters[name] = value
        else:
            raise ForeignHyperparameter(
                f"{self.path}: {name} is {value}, made in {value.fragment}, which does not enclose {self.fragment}: "
                "make it in a part around both, or share it by a HyperparameterSharer"
            )

    def __repr__(self) -> str:
        return f"Module {self.path}"


def show_port(port: object) -> str:
    """Write a port as messages call it, and anything else by a short repr."""
    return str(port) if isinstance(port, Input | Output) else short_repr(port)


_OPEN: ContextVar[Fragment | None] = ContextVar("open_fragment", default=None)


def open_fragment() -> Fragment | None:
    """Return the part under construction, None outside the functions that build one."""
    return _OPEN.get()


def current_fragment(what: str) -> Fragment:
    """Return the part under construction; raises LanguageError outside the functions that build one."""
    fragment = _OPEN.get()
    if fragment is None:
        raise LanguageError(f"{what} belongs to a space: make it inside the function that is given to SearchSpace")
    return fragment


@contextmanager
def build_into(fragment: Fragment) -> Iterator[None]:
    """Add modules and hyperparameters made meanwhile to the fragment."""
    token = _OPEN.set(fragment)
    try:
        yield
    finally:
        _OPEN.reset(token)


def module(
    name: str,
    name_to_hyperp: Mapping[str, object] | None = None,
    input_names: Iterable[str] = (),
    output_names: Iterable[str] = ("out",),
    implementation: object = None,
) -> IO:
    """Return a basic module, as (inputs, outputs).

    Parameters
    ----------
    name : str
        Its name in paths.
    name_to_hyperp : mapping of str to object, optional
        Local name -> hyperparameter, or a constant: a value, an array, a function, or any object whose repr says what
        it holds.
    input_names : iterable of str, default ()
        Names of its inputs.
    output_names : iterable of str, default ("out",)
        Names of its outputs.
    implementation : object, optional
        What compilers make of it.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    properties = as_properties(f"{name}: name_to_hyperp", name_to_hyperp)
    made = Module(name, properties, _check_port_names(name, input_names, output_names), implementation)
    return made.inputs, made.outputs


def siso_module(name: str, name_to_hyperp: Mapping[str, object] | None = None, implementation: object = None) -> IO:
    """Return a basic module with one input, ``in``, and one output, ``out``.

    Parameters
    ----------
    name : str
        Its name in paths.
    name_to_hyperp : mapping of str to object, optional
        Local name -> hyperparameter or constant, as in `module`.
    implementation : object, optional
        What compilers make of it.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    return module(name, name_to_hyperp, ("in",), ("out",), implementation)


def substitution_module(
    name: str,
    substitution_fn: Callable[[dict[str, Value]], IO],
    name_to_hyperp: Mapping[str, object],
    input_names: Iterable[str],
    output_names: Iterable[str],
    *,
    allow_input_subset: bool = False,
    allow_output_subset: bool = False,
    keyed_by: Iterable[str] | None = None,
    opens_choices: bool = True,
) -> IO:
    """Return a module whose place a part of the space takes once all its hyperparameters have values.

    Parameters
    ----------
    name : str
        Its name in paths.
    substitution_fn : callable
        Function of a dict from local names to values that returns (inputs, outputs) with the names declared here, or
        some of them if a subset is allowed. It must do the same whenever it gets the same: what it builds is kept. It
        raises `bostruct.Infeasible` if the choices lead nowhere.
    name_to_hyperp : mapping of str to object
        Hyperparameters or constants by local name.
    input_names : iterable of str
        Names of its inputs.
    output_names : iterable of str
        Names of its outputs.
    allow_input_subset : bool, default False
        True if the part may have some of the inputs only.
    allow_output_subset : bool, default False
        True if the part may have some of the outputs only.
    keyed_by : iterable of str, optional
        The local names whose values tell apart what is built; hyperparameters inside keep their values when only others
        change. By default all do.
    opens_choices : bool, default True
        False to promise that what is built never holds a choice and is always feasible, so that spaces with many
        hyperparameters here are counted, and drawn from, without building it.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    if not callable(substitution_fn):
        raise LanguageError(f"substitution_fn: expected a function of a dict, got {short_repr(substitution_fn)}")
    properties = as_properties(f"{name}: name_to_hyperp", name_to_hyperp)
    keys = None if keyed_by is None else frozenset(keyed_by)
    if keys is not None and not keys <= properties.keys():
        raise LanguageError(
            f"keyed_by: expected some of {sorted(properties)}, got {short_repr(sorted(map(str, keys)))}"
        )
    substitution = Substitution(substitution_fn, keys, allow_input_subset, allow_output_subset, opens_choices)
    made = Module(name, properties, _check_port_names(name, input_names, output_names), substitution=substitution)
    return made.inputs, made.outputs


def outer_output(output: Output) -> Output:
    """Declare that parts built later, inside substitutions of this part, may read an output; return the output.

    A part inside connects to it as to an output of its own. The module may lead to no other output.

    Parameters
    ----------
    output : Output
        `Output` of a module of the part under construction.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    if not isinstance(output, Output):
        raise LanguageError(f"output: expected an output of a module, got {show_port(output)}")
    if output.module.fragment is not current_fragment(str(output)):
        raise ForeignPort(f"{output}: expected an output of the part under construction: declare it where it is made")
    output.module.fragment.outer_outputs.add(output)
    return output


def _check_port_names(
    name: str, inputs: Iterable[str], outputs: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    both = []
    for kind, names in (("input", inputs), ("output", outputs)):
        if isinstance(names, str):
            raise LanguageError(f"{name}: expected a sequence of {kind} names, got {names!r}")
        given = tuple(names)
        if len(set(given)) < len(given):
            raise NameClash(f"{name}: two of its {kind}s have one name: {', '.join(map(str, given))}")
        both.append(given)
    return both[0], both[1]
