"""Define the objects that a search space is made of: parts, modules, their ports, hyperparameters.

They refer to each other, so they are one file. A part is what one call of a function builds: open while the function
runs, fixed once it has returned. Nothing is shared between calls: the part under construction is known through a
context variable, and each module and hyperparameter is named by its place (the substitutions that led to it, then its
name in the part), never by a counter. The same choices name the same things in every process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias, TypeGuard

from bostruct.checks import short_repr
from bostruct.domains.language.errors import AlreadyConnected, ForeignHyperparameter, ForeignPort, LanguageError
from bostruct.domains.language.fingerprints import canonical_data
from bostruct.domains.language.values import Value, as_name, as_properties, as_value

MODULE_NAME = re.compile(r"[^/\[\].:\s]+")


class Input:
    """A port that a module reads. It has one incoming edge, or is one of the inputs that its part returns.

    module: the module that reads.
    name: of the port, one of the module's input names.
    """

    __slots__ = ("exposed_as", "module", "name", "source")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name
        self.source: Output | None = None
        self.exposed_as: str | None = None  # its name among the inputs returned

    def connect(self, output: Output) -> None:
        """Read what the output gives; raises LanguageError, naming both ends.

        output: `Output` of a module of the same part.
        """
        if not isinstance(output, Output):
            raise LanguageError(f"{self}: expected an output to connect to, got {show_port(output)}")
        if self.source is not None:
            raise AlreadyConnected(f"{self} reads {self.source} already; it cannot read {output} too")
        here, there = self.module.fragment, output.module.fragment
        if here is not there or here.closed:
            why = "is finished" if here is there else f"is not the part of {output.module.path} ({there})"
            raise ForeignPort(f"{self} cannot read {output}: the part of the space it belongs to ({here}) {why}")
        self.source = output

    def __repr__(self) -> str:
        return f"{self.module.path}.in:{self.name}"


class Output:
    """A port that a module writes; any number of inputs may read it.

    module: the module that writes.
    name: of the port, one of the module's output names.
    """

    __slots__ = ("module", "name")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name

    def connect(self, input: Input) -> None:
        """Feed the input; raises LanguageError, naming both ends.

        input: `Input` of a module of the same part.
        """
        if not isinstance(input, Input):
            raise LanguageError(f"{self}: expected an input to connect to, got {show_port(input)}")
        input.connect(self)

    def __repr__(self) -> str:
        return f"{self.module.path}.out:{self.name}"


class Fragment:
    """The result of one call of a builder.

    path: str, the path of the substitution that it stands for, "" for the whole space.
    host: the module that it replaces, None for the whole space.

    `depth` is the number of substitutions around it.
    """

    __slots__ = (
        "closed",
        "depth",
        "host",
        "hyperparameters",
        "inputs",
        "is_plain",
        "modules",
        "numbers",
        "outputs",
        "path",
        "tokens",
    )

    def __init__(self, path: str, host: Module | None) -> None:
        self.path = path
        self.host = host
        self.depth: int = 0 if host is None else host.fragment.depth + 1
        self.modules: list[Module] = []
        self.hyperparameters: list[Hyperparameter] = []
        self.inputs: dict[str, Input] = {}
        self.outputs: dict[str, Output] = {}
        self.numbers: Counter[str] = Counter()
        self.closed = False
        self.tokens: bytes | None = None  # once somebody asks for them
        self.is_plain = False  # whether it is finished, and nothing in it depends on any choice

    def __repr__(self) -> str:
        return self.path or "the whole space"

    def child_path(self, name: str) -> str:
        """Return the place of something made in this part.

        name: of the module or hyperparameter, without its part.
        """
        return f"{self.path}/{name}" if self.path else name

    def next_name(self, name: str) -> str:
        """Return the name of the next module of one kind, ``Conv2D-0``, then ``Conv2D-1``.

        name: kind of the module.
        """
        n = self.numbers[name]
        self.numbers[name] = n + 1
        return f"{name}-{n}"

    def encloses(self, other: Fragment) -> bool:
        """Tell whether functions that build `other` may see what is made here.

        other: part of the same space.
        """
        while other.depth > self.depth and other.host is not None:
            other = other.host.fragment
        return other is self


class Discrete:
    """An independent hyperparameter: one of finitely many values.

    values: at least one, none twice; each None, a bool, a number, a string, or a tuple of these.
    name: str, its key in traces; by default the first module that it is given to and its local name there, as in
        ``Conv2D-0.filters``.
    ordered: bool, True where neighboring values are alike.

    To share a hyperparameter, pass the same object to several modules. Raises LanguageError.
    """

    __slots__ = ("fragment", "name", "ordered", "path", "positions", "values")

    def __init__(self, values: Iterable[Value], name: str | None = None, *, ordered: bool = False) -> None:
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise LanguageError(f"values: expected a sequence of values, got {short_repr(values)}")
        self.values = tuple(as_value("values", value) for value in values)
        self.name = as_name(name)
        self.ordered = ordered
        self.positions = {value: position for position, value in enumerate(self.values)}
        if not self.values:
            raise LanguageError("values: expected at least one, got none")
        if len(self.positions) < len(self.values):
            raise LanguageError(f"values: expected no two that are equal, got {short_repr(self.values)}")
        self.path = ""  # known once the function around it has returned
        self.fragment: Fragment = current_fragment("a hyperparameter")
        self.fragment.hyperparameters.append(self)

    def __repr__(self) -> str:
        return f"D({short_repr(list(self.values))}){' at ' + self.path if self.path else ''}"


class DependentHyperparameter:
    """A value that follows from others.

    fn: function of a dict from local names to values that returns the value.
    hyperps: local name -> hyperparameter, dependent or not; at least one.
    name: str, its key in drawings and errors, as of `Discrete`.

    Raises LanguageError.
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
    """Tell whether a value is a hyperparameter, independent or dependent.

    value: any.
    """
    return isinstance(value, Discrete | DependentHyperparameter)


IO: TypeAlias = tuple[dict[str, Input], dict[str, Output]]  # what every function that builds a part returns
Builder: TypeAlias = Callable[[], IO]


class Substitution(NamedTuple):
    """The way a substitution module is replaced.

    fn: function of a dict from local names to values that builds what takes the module's place.
    keyed_by: the local names whose values are part of the place of what is built; all where None.
    allow_input_subset: bool, True where what is built may lack inputs of the module.
    allow_output_subset: bool, True where what is built may lack outputs of the module.
    opens_choices: bool, False where what is built never holds a choice.
    """

    fn: Callable[[dict[str, Value]], IO]
    keyed_by: frozenset[str] | None
    allow_input_subset: bool
    allow_output_subset: bool
    opens_choices: bool


class Module:
    """A node with named inputs, outputs and hyperparameters.

    kind: str, its name without its number.
    properties: local name -> hyperparameter or constant; kept apart, each sorted, in `hyperparameters` and `constants`.
    ports: names of the inputs, names of the outputs.
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
                f"{self.path}: {name} is {value}, made in {value.fragment}, which does not enclose {self.fragment}"
            )

    def __repr__(self) -> str:
        return f"Module {self.path}"


def show_port(port: object) -> str:
    """Write a port as messages call it, and anything else by a short repr.

    port: what was given for a port.
    """
    return str(port) if isinstance(port, Input | Output) else short_repr(port)


_OPEN: ContextVar[Fragment | None] = ContextVar("open_fragment", default=None)


def current_fragment(what: str) -> Fragment:
    """Return the part under construction; raises LanguageError outside the functions that build one.

    what: names what is about to be made, and opens the message.
    """
    fragment = _OPEN.get()
    if fragment is None:
        raise LanguageError(f"{what} belongs to a space: make it inside the function that is given to SearchSpace")
    return fragment


@contextmanager
def build_into(fragment: Fragment) -> Iterator[None]:
    """Add modules and hyperparameters made meanwhile to the fragment.

    fragment: under construction, not closed.
    """
    token = _OPEN.set(fragment)
    try:
        yield
    finally:
        _OPEN.reset(token)
