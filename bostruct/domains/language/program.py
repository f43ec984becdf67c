"""Define programs: graphs that compilers read, and programs with open choices."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from bostruct.checks import check_choice, check_integer, check_part, load_by_name, optional_import, short_repr
from bostruct.contracts import AtLeast, Count, Exact, Json
from bostruct.display import render_svg
from bostruct.domains.language import drawing, fingerprints, sampling
from bostruct.domains.language.changes import depth_first, shortest_first
from bostruct.domains.language.combinators import IDENTITY
from bostruct.domains.language.counting import count
from bostruct.domains.language.errors import LanguageError, NoneFeasible, TraceError
from bostruct.domains.language.graph import Builder, Discrete, Input, Module, Output
from bostruct.domains.language.sampling import replay
from bostruct.domains.language.values import Trace, Value, stored_value
from bostruct.domains.language.walk import Walk, begin

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline
    from torch import Tensor, nn

    from bostruct.domains.architecture.layers import Family
    from bostruct.domains.architecture.value import Architecture

T = TypeVar("T")
Example: TypeAlias = "tuple[int, ...] | Tensor"  # a shape including the batch, or a tensor of that shape and type
MAX_DEPTH = 400  # maximum nesting of substitutions in any space
REPR_CHARACTERS = 200  # characters of a trace in a program's repr
NO_NAMES: Mapping[str, Value] = MappingProxyType({})
COMPILERS = "bostruct.domains.language.compilers"  # imports this file, torch or scikit-learn


class Source(NamedTuple):
    """The source of an input: an output of a node, or an input of the program.

    node: position of the node, None for an input of the program.
    """

    node: int | None
    port: str


class Node(NamedTuple):
    """One basic module of a program."""

    path: str
    kind: str
    values: dict[str, Any]
    implementation: Any
    sources: dict[str, Source]
    outputs: tuple[str, ...]
    names: Mapping[str, Value] = NO_NAMES


class Backend(ABC, Generic[T]):
    """The base class of compilation targets, which compile a program node by node."""

    @abstractmethod
    def make(self, node: Node, inputs: dict[str, T]) -> T | Mapping[str, T]:
        """Return the result of a node: one object if it has one output, otherwise a mapping by output name."""


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A graph of basic modules: the argument of an objective.

    Programs are equal if their graphs and values are equal, even if their choices differ. Identity modules without
    hyperparameters are omitted.

    Parameters
    ----------
    nodes : tuple of Node
        Nodes in a topological order that is the same in every process.
    inputs : tuple of str
        The names of the program's own inputs.
    outputs : dict of str to Source
        The source of each output, by name.
    trace : Trace
        The choices that define the program.
    builder : Builder
        The function of the space. It rebuilds the program in another process.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: dict[str, Source]
    trace: Trace
    builder: Builder

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that are equal for programs with equal graphs, values and implementations.

        They do not depend on the process or machine. Graphs are equal if they are isomorphic. A function is identified
        by its module, its name, and the strings, numbers and functions that it contains. Lambdas and nested functions,
        whose names are not unique, are also identified by their code, which depends on the version of Python. Functions
        that contain lists, dicts or objects of your own classes are equal only at the same path.
        """
        return self._digest(_traits)

    @property
    def fingerprint_by_names(self) -> str:
        """The fingerprint without the code of functions; stored studies identify their spaces by it."""
        return self._digest(lambda _: [])

    def _digest(self, traits_of: Callable[[Node], list[str | None]]) -> str:
        """Return the hash of a JSON array: sources of the outputs, a row for each node, and names of the inputs.

        traits_of: function that returns additional data for a node's row. None in the data adds the node's path.
        """
        rows: list[str] = []
        number_of: dict[Hashable, int] = {}  # of implementations, by the object, and by its contents
        known: dict[Hashable, tuple[str, str, bool]] = {}  # most modules of a program share their contents
        for node in map(self.nodes.__getitem__, self._canonical_numbers):
            implementation = id(node.implementation)
            if implementation not in number_of:
                parts = fingerprints.identify_parts(node.implementation)
                number_of[implementation] = number_of.setdefault(parts, len(number_of))
            if (content := (number_of[implementation], _identify_values(node))) not in known:
                values = [
                    [name, fingerprints.canonical_value(f"{node.path}: {name}", value, node.names.get(name))]
                    for name, value in sorted(node.values.items())
                ]
                head, traits = [node.kind, values, fingerprints.identity_of(node.implementation)], traits_of(node)
                known[content] = json.dumps(head)[:-1], "".join(f", {_to_json(one)}" for one in traits), None in traits
            head_text, traits_text, is_unknown = known[content]
            path = f", {json.dumps(node.path)}" if is_unknown else ""  # identifies nodes with unknown contents
            rows.append(f"{head_text}, {self._write_sources(node.sources)}{traits_text}{path}]")
        text = f"[{self._write_sources(self.outputs)}, [{', '.join(rows)}], {json.dumps(sorted(self.inputs))}]"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Program) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Program({len(self)} modules, {short_repr(dict(self.trace), REPR_CHARACTERS)})"

    def __str__(self) -> str:
        """Return the whole trace, which `repr` truncates."""
        return f"Program({len(self)} modules, {dict(self.trace)})"

    def __reduce__(self) -> tuple[object, ...]:
        return rebuild_program, (self.builder, self.trace)  # nodes contain functions, which cannot be pickled

    def compile(self, backend: Backend[T], inputs: Mapping[str, T]) -> dict[str, T]:
        """Compile the program with a custom backend.

        Parameters
        ----------
        backend : Backend
            A backend, whose ``make(node, inputs)`` receives a `Node` and the results that it reads, by input name. It
            returns the result of the node, or a mapping by output name if there are several outputs.
        inputs : mapping of str to T
            The backend's value for each input of the program, by name.

        Returns
        -------
        dict of str to T
            The results of the backend, by the names of the program's outputs.

        Raises
        ------
        CompileError, TypeError
            If `backend` is not a `Backend`, or the program cannot be compiled.
        """
        check_part("backend", backend, Backend)
        return load_by_name(f"{COMPILERS}.flow:compile_program")(self, backend, inputs)

    def to_torch(self, input_shapes: Example | Mapping[str, Example] | None = None) -> nn.Module:
        """Return the program as a `torch.nn.Module`, with parameters named by the paths of their modules.

        Shapes are inferred before any parameter is allocated. Parameters are initialized with torch's global generator:
        call ``torch.manual_seed`` first.

        Parameters
        ----------
        input_shapes : Example or mapping of str to Example, optional
            The shape of each input by name, or the shape itself if there is one input. A shape includes the batch, such
            as (8, 3, 32, 32). A tensor of that shape and type may replace it.

        Raises
        ------
        CompileError
            If the shapes do not match; the message names the module, its values and the shapes.
        MissingExtra
            If torch is not installed.
        """
        optional_import("torch")
        return load_by_name(f"{COMPILERS}.networks:torch_network")(self, {} if input_shapes is None else input_shapes)

    def to_sklearn(self) -> Pipeline:
        """Return the program as an unfitted scikit-learn `Pipeline`.

        Steps are named by the paths of the modules. Branches that are joined by a `feature_union` become a
        `FeatureUnion`. A step before several branches that do not all join in one union is fitted once in each branch.

        Raises
        ------
        CompileError
            If scikit-learn cannot express the program.
        """
        return load_by_name(f"{COMPILERS}.pipelines:pipeline")(self)

    def to_function(self) -> Callable[..., Any]:
        """Return the program as a function with one argument for each of its inputs, by position or by name.

        The function returns the program's output, or a dict by name if it has several outputs.

        Raises
        ------
        CompileError
        """
        return load_by_name(f"{COMPILERS}.flow:Calculation")(self)

    def to_architecture(self, family: Family | str | None = None, decision: str = "softmax") -> Architecture:
        """Return the layers of the program as an `Architecture`, for `otmann` and the method ``nasbot``.

        Modules without a layer are contracted: their readers read their inputs. Input and output layers are added.

        Parameters
        ----------
        family : Family or str, optional
            As in `Architecture`.
        decision : str, default "softmax"
            The label of the decision layer that is added if the program does not end with a decision layer.

        Raises
        ------
        CompileError
            If the layers do not form a valid `Architecture`.
        """
        return load_by_name(f"{COMPILERS}.architectures:build_architecture")(self, family, decision)

    def to_text(self) -> str:
        """Describe the modules, their sources and their values."""
        return drawing.view_text(drawing.view(self._walk()))

    def to_json(self) -> dict[str, Any]:
        """Return the program as JSON data for other tools. A space can rebuild it from the trace.

        A source is the path of a node, or None for the program, and the name of its output or of the program's input.
        Values that JSON does not support are represented by their names.

        Returns
        -------
        dict of str to Any
            ``fingerprint``; ``trace``; ``inputs``, a list of names; ``nodes``, a list in topological order of dicts
            with ``path``, ``kind``, ``values`` by local name, ``sources`` by input name, and ``outputs``, a list of
            names; and ``outputs``, the sources by name.
        """
        paths = [node.path for node in self.nodes]
        return {
            "fingerprint": self.fingerprint,
            "trace": self.trace.to_json(),
            "inputs": list(self.inputs),
            "nodes": [_json_node(node, paths) for node in self.nodes],
            "outputs": _json_sources(self.outputs, paths),
        }

    def to_dot(self) -> str:
        """Return the program in the DOT language of Graphviz."""
        return drawing.view_dot(drawing.view(self._walk()))

    def to_svg(self) -> str:
        """Draw the program as SVG.

        Raises
        ------
        MissingExtra
            If the extra ``plot`` or the Graphviz program is not installed.
        """
        return render_svg(self.to_dot())

    def _walk(self) -> Walk:
        return replay(begin(self.builder, MAX_DEPTH), self.trace)

    @cached_property
    def _canonical_numbers(self) -> dict[int, int]:
        """The position of each node in a depth-first traversal from the outputs, with ports in order of their names.

        Every input has one source, and an output depends on every node. A node is therefore identified by the names of
        the ports that lead to it, and graphs are isomorphic if and only if they are equal in this order.
        """
        numbers: dict[int, int] = {}
        stack = [self.outputs[name].node for name in sorted(self.outputs, reverse=True)]
        while stack:
            position = stack.pop()
            if position is not None and position not in numbers:
                numbers[position] = len(numbers)
                sources = self.nodes[position].sources
                stack += [sources[name].node for name in sorted(sources, reverse=True)]
        return numbers

    def _write_sources(self, sources: Mapping[str, Source]) -> str:
        numbers = self._canonical_numbers
        found = ""
        for name, (node, port) in sorted(sources.items()) if len(sources) > 1 else sources.items():
            number = "null" if node is None else numbers[node]
            found += f"{', ' if found else ''}[{_to_json(name)}, {number}, {_to_json(port)}]"
        return f"[{found}]"


_to_json = lru_cache(maxsize=1024, typed=True)(json.dumps)  # of names and traits, which recur in many modules


def build_program(walk: Walk, builder: Builder) -> Program:
    """Build the program of a finished walk."""
    order = [module for module in walk.reading_order() if not _is_contracted(module)]
    places = {module: position for position, module in enumerate(order)}

    def source(output: Output | None, port: Input) -> Source:
        while output is not None and _is_contracted(output.module):
            port = output.module.inputs["in"]
            output = walk.source(port)
        return (
            Source(None, walk.root_input_name(port)) if output is None else Source(places[output.module], output.name)
        )

    nodes = []
    for module in order:
        sources = {name: source(walk.source(port), port) for name, port in module.inputs.items()}
        values = walk.properties(module)
        outputs, names = tuple(module.outputs), walk.value_names(module)
        nodes.append(Node(module.path, module.kind, values, module.implementation, sources, outputs, names))
    outputs = {}
    for name in sorted(walk.root.outputs):
        output = walk.resolve(walk.root.outputs[name], None)
        outputs[name] = source(output, next(iter(output.module.inputs.values()), None))  # type: ignore[arg-type]
    return Program(tuple(nodes), tuple(walk.root.inputs), outputs, walk.trace(), builder)


def _is_contracted(module: Module) -> bool:
    return module.implementation is IDENTITY and not module.hyperparameters


def rebuild_program(builder: Builder, trace: Trace) -> Program:
    """Rebuild a program from data that can be sent to another process."""
    return build_program(replay(begin(builder, MAX_DEPTH), trace), builder)


def _identify_values(node: Node) -> tuple[Hashable, ...]:
    """Return a key that nodes share only if their types are equal and their values are the same objects."""
    values = (*node.values.values(), *node.names.values()) if node.names else node.values.values()
    return node.kind, *node.values, None, *node.names, None, *map(fingerprints.identify_object, values)


def _traits(node: Node) -> list[str | None]:
    """Return the identifying data of a node that names do not contain, None for unknown data."""
    found = [*fingerprints.traits_beyond_name(node.implementation)]
    for name, value in sorted(node.values.items()):
        if name not in node.names:
            found += fingerprints.traits_of_value(value)
    return found


def _json_node(node: Node, paths: Sequence[str]) -> Json:
    values = {**node.values, **node.names}
    return {
        "path": node.path,
        "kind": node.kind,
        "values": {name: fingerprints.readable_data(f"{node.path}: {name}", value) for name, value in values.items()},
        "sources": _json_sources(node.sources, paths),
        "outputs": list(node.outputs),
    }


def _json_sources(sources: Mapping[str, Source], paths: Sequence[str]) -> Json:
    return {name: [None if node is None else paths[node], port] for name, (node, port) in sources.items()}


Render: TypeAlias = Callable[[str], str]
COUNT_BUDGET = 80_000  # modules to visit for a size: about a second
PROOF_DRAWS = 100  # draws to find a program of a space for which none was counted


class PartialProgram:
    """A program with open choices, or with none. It is immutable: `assign` returns a new one.

    max_depth: int, 1 to 400, the maximum nesting of substitutions.
    max_decisions: int >= 1, the maximum number of choices of a program.

    Raises LanguageError if the space is invalid.
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
        """The visible hyperparameters without a value, in the order of choice."""
        return tuple(self._walk.open_hyperparameters())

    @cached_property
    def trace(self) -> Trace:
        """The assigned values."""
        return self._walk.trace()

    @property
    def is_terminal(self) -> bool:
        """True if no choice is left."""
        return not self.hyperparameters

    def assign(self, hyperparameter: Discrete | str, value: Value) -> Self:
        """Return a copy of the space in which a visible hyperparameter has this value.

        Parameters
        ----------
        hyperparameter : str
            The path of a visible hyperparameter.
        value : object
            One of its values.

        Raises
        ------
        TraceError
            If the hyperparameter is not visible or lacks the value.
        Infeasible
            If the value is infeasible.
        LanguageError
            If a function fails to build the next part.
        """
        if not isinstance(hyperparameter, str | Discrete):
            raise TraceError(f"hyperparameter: expected a hyperparameter or its path, got {short_repr(hyperparameter)}")
        path = hyperparameter if isinstance(hyperparameter, str) else hyperparameter.path
        found = {h.path: h for h in self.hyperparameters}
        if path not in found:
            why = "it already has a value" if path in self._walk.values else f"open: {', '.join(found) or 'none'}"
            raise TraceError(f"{path}: expected an open hyperparameter; {why}")
        walk = self._walk.copy()
        walk.assign(found[path], stored_value(path, value))
        walk.open_hyperparameters()  # build the new parts now, so that this call fails if they are invalid
        return self._with_walk(walk)

    def specify(self, values: Sequence[Value]) -> Self:
        """Return the terminal space for values in the order of choice.

        Parameters
        ----------
        values : sequence of Value
            The values in the order of choice.

        Raises
        ------
        TraceError
            If there are too few or too many values, or one is not allowed.
        Infeasible
            If the values are infeasible.
        """
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise TraceError(f"values: expected a list of values in the order of choice, got {short_repr(values)}")
        return self._with_walk(sampling.specify(self._walk, list(values)))

    def replay(self, trace: Mapping[str, Value]) -> Self:
        """Return the terminal space of a complete trace.

        Parameters
        ----------
        trace : mapping of str to Value
            The value of each hyperparameter by its path.

        Raises
        ------
        TraceError
            If a key is unknown or missing.
        Infeasible
            If the values are infeasible.
        """
        return self._with_walk(sampling.replay(self._walk, self.trace | Trace(trace)))

    def complete(self, trace: Mapping[str, Value], rng: np.random.Generator) -> Self:
        """Return a random terminal space that agrees with a partial trace.

        Parameters
        ----------
        trace : mapping of str to Value
            Values by the path of the hyperparameter.
        rng : Generator
            Source of randomness.

        Raises
        ------
        TraceError
            If no sample agrees with the trace.
        NoneFeasible
            If no sample is feasible.
        """
        return self._with_walk(sampling.complete(self._walk, Trace(trace), check_generator(rng), self.max_decisions))

    def program(self) -> Program:
        """Build the program of a terminal space.

        Raises
        ------
        LanguageError
            If the space is not terminal.
        """
        if not self.is_terminal:
            raise LanguageError(f"choices are open: {', '.join(h.path for h in self.hyperparameters[:5])} ...")
        return build_program(self._walk, self.builder)

    def count(self, budget: int = COUNT_BUDGET) -> Count:
        """Return the number of traces: `Exact`, `INFINITE`, or `AtLeast` once the budget is spent.

        Several traces may build equal programs, so there may be fewer programs. `AtLeast(1)` may mean that no program
        was counted within the budget but one was sampled; `AtLeast(0)`, that none was sampled.

        Parameters
        ----------
        budget : int, default COUNT_BUDGET
            Work limit, at least 1: modules to visit and pairs of partial counts to join. 80,000 take about a second.
        """
        found = count(self._walk, check_integer("budget", budget, 1))
        return AtLeast(1) if found == AtLeast(0) and self._has_program else found

    @cached_property
    def _has_program(self) -> bool:
        """Return whether one of a hundred samples is feasible; False is inconclusive."""
        rng = np.random.default_rng(0)
        draw = partial(sampling.sample_walk, self._walk, rng, self.max_decisions)
        try:
            sampling.retry_until_feasible(draw, PROOF_DRAWS)
        except NoneFeasible:
            return False
        return True

    def enumerate(self, order: Literal["depth", "length"] | None = None) -> Iterator[Trace]:
        """Yield all traces.

        Parameters
        ----------
        order : {"depth", "length"}, optional
            ``depth`` for depth-first order; ``length`` for shorter traces first, which infinite spaces need. By
            default, ``depth`` if all programs were counted, otherwise ``length``.
        """
        if order is None:
            order = "depth" if isinstance(self.count(), Exact) else "length"
        walk = depth_first if check_choice("order", order, ("depth", "length")) == "depth" else shortest_first
        return walk(self._walk)

    def to_text(self) -> str:
        """Describe the visible modules: their sources, and their hyperparameters with assigned or possible values."""
        return drawing.view_text(drawing.view(self._walk))

    def to_dot(self) -> str:
        """Return the space in the DOT language of Graphviz.

        Modules are boxes, gray if they are not yet expanded; hyperparameters are ellipses.
        """
        return drawing.view_dot(drawing.view(self._walk))

    def to_svg(self) -> str:
        """Draw the space as SVG.

        Raises
        ------
        MissingExtra
            If the extra ``plot`` or the Graphviz program is not installed.
        """
        return render_svg(self.to_dot())

    def transitions(
        self, trace: Mapping[str, Value], path: str | Path, render: Render = render_svg, *, overwrite: bool = False
    ) -> Path:
        """Write an HTML page that shows the space after each choice of a trace.

        New modules are green, and hyperparameters that were just assigned are red.

        Parameters
        ----------
        trace : mapping of str to Value
            The values of a terminal space, by the path of the hyperparameter.
        path : str or Path
            The HTML file to write.
        render : callable, default render_svg
            Draws a graph in Graphviz's language as SVG.
        overwrite : bool, default False
            True also replaces a file that bostruct did not write, but never a database.

        Returns
        -------
        Path
            The path of the page.

        Raises
        ------
        TraceError
            If the trace does not belong to the space.
        MissingExtra
            If the extra ``plot`` or the Graphviz program is not installed.
        OutputRefused
            If the file must not be replaced; a FileExistsError.
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
    """Return a NumPy generator; raises TypeError for any other object."""
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
