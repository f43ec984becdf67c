"""Define the objects of a search space: parts, modules, ports and hyperparameters.

They refer to each other and therefore share one file. A part is the result of one call of a function: it is open while
the function runs, and fixed after the function has returned. Calls share no state: a context variable holds the part
under construction. Each module and hyperparameter is named by its path (the enclosing substitutions, then its name in
the part), never by a counter, so the same choices have the same names in every process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple, TypeAlias, TypeGuard, TypeVar

from bostruct.checks import short_repr
from bostruct.domains.language.errors import (
    AlreadyConnected,
    ForeignHyperparameter,
    ForeignPort,
    LanguageError,
    NameClash,
    PortNames,
)
from bostruct.domains.language.fingerprints import canonical_data
from bostruct.domains.language.values import Value, as_name, as_properties, has_names, name_value, name_values

MODULE_NAME = re.compile(r"[^/\[\].:\s]+")


class Input:
    """A port that a module reads. It has one incoming edge, or is one of the returned inputs of its part."""

    __slots__ = ("exposed_as", "module", "name", "source")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name
        self.source: Output | None = None
        self.exposed_as: str | None = None  # its name among the returned inputs

    def connect(self, output: Output) -> None:
        """Connect the input to an output; raises LanguageError, which names both ends."""
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
        """Connect the output to an input; raises LanguageError, which names both ends."""
        if not isinstance(input, Input):
            raise LanguageError(f"{self}: expected an input to connect to, got {show_port(input)}")
        input.connect(self)

    def __repr__(self) -> str:
        return f"{self.module.path}.out:{self.name}"


@dataclass(eq=False, repr=False, slots=True)
class Fragment:
    """The result of one call of a builder.

    host: the module that the part replaces, None for the whole space.

    `depth` is the number of enclosing substitutions. Inner parts may read `outer_outputs`. `shared` contains the
    hyperparameters that `HyperparameterSharer`s made for the part.
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
    tokens: bytes | None = None  # computed on first use
    is_plain: bool = False  # True if the part is complete and contains no choice
    outer_outputs: set[Output] = field(default_factory=set)
    reads_outer: bool = False  # True if a module of the part reads an output of an enclosing part
    hides_choices: bool = False  # True if only later parts may make some of its choices visible
    shared: dict[tuple[object, str], Hyperparameter] = field(default_factory=dict)  # by sharer, None for the part

    def __post_init__(self) -> None:
        self.depth = 0 if self.host is None else self.host.fragment.depth + 1

    def __repr__(self) -> str:
        return self.path or "the whole space"

    def child_path(self, name: str) -> str:
        """Return the path of an object defined in this part."""
        return f"{self.path}/{name}" if self.path else name

    def next_name(self, name: str) -> str:
        """Return the name of the next module of a type, such as ``Conv2D-0``, then ``Conv2D-1``."""
        n = self.numbers[name]
        self.numbers[name] = n + 1
        return f"{name}-{n}"

    def encloses(self, other: Fragment) -> bool:
        """Return whether functions that build `other` may use objects of this part."""
        while other.depth > self.depth and other.host is not None:
            other = other.host.fragment
        return other is self


def number_name(name: str, taken: Container[str]) -> str:
    """Return a name if it is free, otherwise with the first number from 1 onward that makes it unique."""
    if name not in taken:
        return name
    return next(numbered for n in count(1) if (numbered := f"{name}-{n}") not in taken)


class Discrete:
    """An independent hyperparameter with finitely many values.

    If the value encodes a permutation, `things` is the number of permuted items and `steps` are the hyperparameters
    that together encode it; otherwise they are 0 and empty. To share a hyperparameter, pass the same object to several
    modules.

    Parameters
    ----------
    values : iterable of Value or mapping of str to object
        At least one value, without duplicates. Each is None, a bool, a number, a string, or a tuple of these; a
        function or class, which traces represent by its ``__name__``; or a dict, which traces represent by its JSON. A
        mapping gives names to arbitrary objects.
    name : str, optional
        Its key in traces. Repeated names in a part are numbered: ``swap``, ``swap-1``. By default, the first module
        that uses it and its local name there, such as ``Conv2D-0.filters``.
    ordered : bool, default False
        True if neighboring values are similar.

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
            hint = ": name them, D({'name': value, ...})" if self.is_named else ""
            raise LanguageError(f"values: expected no duplicates, got {short_repr(self.values)}{hint}")
        self.path = ""  # set after the enclosing function has returned
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
    """A hyperparameter whose value is a function of others.

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
    """Return whether a value is a hyperparameter, independent or dependent."""
    return isinstance(value, Discrete | DependentHyperparameter)


Port = TypeVar("Port", Input, Output)


class Ports(dict[str, Port]):
    """The inputs or outputs of a module, by name."""

    def __missing__(self, name: object) -> Port:
        owners = [f"{one.module.path} has {short_repr(list(self))}" for one in self.values()] or ["the module has none"]
        raise PortNames(f"there is no port {short_repr(name)}; {owners[0]}")


IO: TypeAlias = tuple[dict[str, Input], dict[str, Output]]  # the return type of every function that builds a part
Builder: TypeAlias = Callable[[], IO]


class Substitution(NamedTuple):
    """How a substitution module is replaced.

    keyed_by: local names whose values are part of the path of the built part; all if None.
    allow_input_subset: bool, True if the part may lack inputs of the module.
    allow_output_subset: bool, True if the part may lack outputs of the module.
    opens_choices: bool, False if the part never contains a choice.
    """

    fn: Callable[[dict[str, Value]], IO]
    keyed_by: frozenset[str] | None
    allow_input_subset: bool
    allow_output_subset: bool
    opens_choices: bool


class Module:
    """A node with named inputs, outputs and hyperparameters.

    properties: hyperparameters and constants by local name, for `hyperparameters` and `constants`, each sorted.
    implementation: the module's implementation for compilers; None if it is never compiled.
    substitution: None for basic modules.

    `expansions` contains the parts that replace the module, or the reasons for infeasibility, by hyperparameter values.
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
            raise LanguageError(f"name: expected a string without spaces or any of / [ ] . :, got {short_repr(kind)}")
        fragment = current_fragment(f"the module {kind}")
        self.kind = kind
        self.fragment = fragment
        self.name = fragment.next_name(kind)
        self.path = fragment.child_path(self.name)
        self.inputs = Ports({name: Input(self, name) for name in ports[0]})
        self.outputs = Ports({name: Output(self, name) for name in ports[1]})
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
                canonical_data(f"{self.path}: {name}", value)  # part of a program's fingerprint
            self.constants[name] = value
        elif value.fragment.encloses(self.fragment):
            self.hyperparameters[name] = value
        else:
            raise ForeignHyperparameter(
                f"{self.path}: {name} is {value}, made in {value.fragment}, which does not enclose {self.fragment}: "
                "make it in a part that encloses both, or share it by a HyperparameterSharer"
            )

    def __repr__(self) -> str:
        return f"Module {self.path}"


def show_port(port: object) -> str:
    """Write a port as in messages, and any other object by a short repr."""
    return str(port) if isinstance(port, Input | Output) else short_repr(port)


_OPEN: ContextVar[Fragment | None] = ContextVar("open_fragment", default=None)


def open_fragment() -> Fragment | None:
    """Return the part under construction, or None outside of a builder."""
    return _OPEN.get()


def current_fragment(what: str) -> Fragment:
    """Return the part under construction; raises LanguageError outside of a builder."""
    fragment = _OPEN.get()
    if fragment is None:
        raise LanguageError(f"{what} belongs to a space: make it inside the function that you pass to SearchSpace")
    return fragment


@contextmanager
def build_into(fragment: Fragment) -> Iterator[None]:
    """Add modules and hyperparameters created in this context to the fragment."""
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
        The module's name in paths.
    name_to_hyperp : mapping of str to object, optional
        Hyperparameters or constants by local name. A constant is a value, an array, a function, or any object whose
        repr describes its contents.
    input_names : iterable of str, default ()
        Names of the inputs.
    output_names : iterable of str, default ("out",)
        Names of the outputs.
    implementation : object, optional
        The module's implementation for compilers.

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
        The module's name in paths.
    name_to_hyperp : mapping of str to object, optional
        Hyperparameters or constants by local name, as in `module`.
    implementation : object, optional
        The module's implementation for compilers.

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
    """Return a module that a part of the space replaces once all its hyperparameters have values.

    Parameters
    ----------
    name : str
        The module's name in paths.
    substitution_fn : callable
        Function of a dict from local names to values that returns (inputs, outputs) with the declared names, or some of
        them if a subset is allowed. It must be deterministic, because its results are cached. It raises
        `bostruct.Infeasible` if the values are infeasible.
    name_to_hyperp : mapping of str to object
        Hyperparameters or constants by local name.
    input_names : iterable of str
        Names of the inputs.
    output_names : iterable of str
        Names of the outputs.
    allow_input_subset : bool, default False
        True if the part may lack some of the inputs.
    allow_output_subset : bool, default False
        True if the part may lack some of the outputs.
    keyed_by : iterable of str, optional
        The local names whose values become part of paths. Inner hyperparameters keep their values when only other
        values change. By default, all local names.
    opens_choices : bool, default True
        False to promise that the part is always feasible and never contains a choice. The programs of the space can
        then be counted and sampled without building the part.

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
    """Declare that inner parts, built later, may read an output; return the output.

    Inner parts connect to it as to their own outputs. Its module need not lead to any other output.

    Parameters
    ----------
    output : Output
        Output of a module of the part under construction.

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
            raise NameClash(f"{name}: two of its {kind}s have the same name: {', '.join(map(str, given))}")
        both.append(given)
    return both[0], both[1]
