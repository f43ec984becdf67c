"""Parts of a space: what one call of a function builds, open while it runs, fixed once it has returned.

Nothing here is shared between calls: the part under construction is known through a context variable, and each module
and hyperparameter is named by its place (the substitutions that led to it, then its name in the part), never by a
counter. The same choices name the same things in every process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from bostruct.checks import shown
from bostruct.domains.language.errors import (
    AlreadyConnected,
    CycleError,
    DanglingInput,
    DanglingModule,
    ForeignPort,
    LanguageError,
    NameClash,
    PortNames,
)

if TYPE_CHECKING:
    from bostruct.domains.language.hyperparameters import Hyperparameter
    from bostruct.domains.language.modules import Module


class Input:
    """Where a module reads. It has one incoming edge, or is one of the inputs that its part returns."""

    __slots__ = ("border", "module", "name", "source")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name
        self.source: Output | None = None
        self.border: str | None = None  # its name among the inputs returned

    def connect(self, output: Output) -> None:
        """Read what the output gives; raises LanguageError, naming both ends."""
        if not isinstance(output, Output):
            raise LanguageError(f"{self}: expected an output to connect to, got {_shown(output)}")
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
    """Where a module writes; any number of inputs may read it."""

    __slots__ = ("module", "name")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name

    def connect(self, input: Input) -> None:
        """Feed the input; raises LanguageError, naming both ends."""
        if not isinstance(input, Input):
            raise LanguageError(f"{self}: expected an input to connect to, got {_shown(input)}")
        input.connect(self)

    def __repr__(self) -> str:
        return f"{self.module.path}.out:{self.name}"


class Fragment:
    """What one call of a builder makes.

    path: of the substitution that it stands for, "" for the whole space. host: the module that it replaces. depth: how
    many substitutions lie around it.
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

    def place(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name

    def number(self, name: str) -> str:
        """The name of the next module that is called so."""
        n = self.numbers[name]
        self.numbers[name] = n + 1
        return f"{name}-{n}"

    def encloses(self, other: Fragment) -> bool:
        """Whether functions that build `other` may see what is made here."""
        while other.depth > self.depth and other.host is not None:
            other = other.host.fragment
        return other is self

    def close(self, made: Any) -> None:
        """Fix the part, of which `made` is what its function returned; raises LanguageError."""
        inputs, outputs = _returned(made, self)
        for name, port in [*inputs.items(), *outputs.items()]:
            if port.module.fragment is not self:
                raise ForeignPort(f"{self} returns {name!r}: {port}, which belongs to {port.module.fragment}")
        self._set_borders(inputs)
        self.inputs, self.outputs = dict(inputs), dict(outputs)
        self._check_edges()
        self._check_reached()
        self._name_hyperparameters()
        self.closed = True
        self.is_plain = all(m.substitution is None and not m.hyperparameters for m in self.modules)

    def _set_borders(self, inputs: Mapping[str, Input]) -> None:
        for name, port in inputs.items():
            if port.source is not None:
                raise AlreadyConnected(f"{self} returns {port} as its input {name!r}, but it reads {port.source}")
            if port.border is not None:
                raise NameClash(f"{self} returns {port} twice, as {port.border!r} and as {name!r}")
            port.border = name

    def _check_edges(self) -> None:
        for module in self.modules:
            for port in module.inputs.values():
                if port.source is None and port.border is None:
                    raise DanglingInput(f"{port} reads nothing: connect it, or return it among the inputs of {self}")

    def _check_reached(self) -> None:
        done: set[Module] = set()
        for output in self.outputs.values():
            _visit(output.module, done)
        for module in self.modules:
            if module not in done:
                _visit(module, set())  # a loop of its own is the better message
                raise DanglingModule(f"{module.path} leads to no output of {self}: connect it, or leave it out")

    def _name_hyperparameters(self) -> None:
        local: dict[int, str] = {}
        for module in self.modules:
            for name, h in module.hyperparameters.items():
                if h.fragment is self:
                    local.setdefault(id(h), f"{module.name}.{name}")
        taken: dict[str, Hyperparameter] = {}
        loose = 0
        for h in self.hyperparameters:
            name = h.name or local.get(id(h))
            if name is None:  # only functions to come use it
                name, loose = f"D-{loose}", loose + 1
            if name in taken:
                raise NameClash(f"two hyperparameters of {self} are called {name!r}: {taken[name]} and {h}")
            taken[name] = h
            h.path = self.place(name)


def _shown(port: Any) -> str:
    return str(port) if isinstance(port, Input | Output) else shown(port)


def _visit(start: Module, done: set[Module]) -> None:
    """Add to `done` all modules that `start` depends on; raises CycleError."""
    if start in done:
        return
    path = {start: None}  # from the start back to where the walk is
    stack = [iter(start.inputs.values())]
    while stack:
        port = next(stack[-1], None)
        if port is None:
            stack.pop()
            done.add(path.popitem()[0])
        elif port.source is not None and (module := port.source.module) not in done:
            if module in path:
                raise CycleError(f"{port} reads {port.source}, which depends on it: {_loop(path, module)}")
            path[module] = None
            stack.append(iter(module.inputs.values()))


def _loop(path: Mapping[Module, None], start: Module) -> str:
    order = list(path)
    return " <- ".join(module.path for module in [*order[order.index(start) :], start])


def _returned(made: Any, fragment: Fragment) -> tuple[Mapping[str, Input], Mapping[str, Output]]:
    is_pair = isinstance(made, tuple) and len(made) == 2 and all(isinstance(part, Mapping) for part in made)
    if not is_pair:
        raise PortNames(f"{fragment}: expected its function to return (inputs, outputs), two dicts; got {shown(made)}")
    inputs, outputs = made
    for kind, ports, cls in (("input", inputs, Input), ("output", outputs, Output)):
        for name, port in ports.items():
            if not isinstance(port, cls):
                raise PortNames(f"{fragment}: expected an {kind} as {name!r}, got {_shown(port)}")
    if not outputs:
        raise PortNames(f"{fragment}: expected at least one output, got none")
    return inputs, outputs


_OPEN: ContextVar[Fragment | None] = ContextVar("open_fragment", default=None)


def building(what: str) -> Fragment:
    """The part under construction; raises LanguageError outside the functions that build one."""
    fragment = _OPEN.get()
    if fragment is None:
        raise LanguageError(f"{what} belongs to a space: make it inside the function that is given to SearchSpace")
    return fragment


@contextmanager
def opened(fragment: Fragment) -> Iterator[None]:
    """Modules and hyperparameters made meanwhile belong to the fragment."""
    token = _OPEN.set(fragment)
    try:
        yield
    finally:
        _OPEN.reset(token)
