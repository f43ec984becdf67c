"""Define programs: search spaces with nothing left to choose, as graphs that compilers read."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from bostruct.checks import check_part, load_by_name, optional_import, short_repr
from bostruct.contracts import Json
from bostruct.domains.graphviz import render_svg
from bostruct.domains.language import drawing
from bostruct.domains.language.beginning import begin
from bostruct.domains.language.combinators import IDENTITY
from bostruct.domains.language.fingerprints import (
    canonical_value,
    identity_of,
    readable_data,
    traits_beyond_name,
    traits_of_value,
)
from bostruct.domains.language.graph import Builder, Input, Module, Output
from bostruct.domains.language.sampling import replay
from bostruct.domains.language.trace import Trace
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline
    from torch import Tensor, nn

    from bostruct.domains.architecture.labels import Family
    from bostruct.domains.architecture.value import Architecture

T = TypeVar("T")
Example: TypeAlias = "tuple[int, ...] | Tensor"  # a shape, the batch included, or a tensor of that shape and type
MAX_DEPTH = 400  # substitutions around each other that a space may allow
REPR_CHARACTERS = 200  # characters of a trace, in a program's repr
NO_NAMES: Mapping[str, Value] = MappingProxyType({})
COMPILERS = "bostruct.domains.language.compilers"  # which import this file, torch or scikit-learn


class Source(NamedTuple):
    """The place that an input reads: an output of a node, or an input of the program.

    node: position of the node, None for an input of the program.
    port: name of the node's output, or of the program's input.
    """

    node: int | None
    port: str


class Node(NamedTuple):
    """One basic module of a program.

    path: str, its place, unique and the same in every process.
    kind: str, what the user called it.
    values: local name -> value of its hyperparameters and constants.
    implementation: what compilers turn it into.
    sources: name of an input -> what it reads, in the order they were declared in.
    outputs: names of its outputs.
    names: local name -> name, or a tuple with names, of those values that traces know by a name, such as functions.
    """

    path: str
    kind: str
    values: dict[str, Any]
    implementation: Any
    sources: dict[str, Source]
    outputs: tuple[str, ...]
    names: Mapping[str, Value] = NO_NAMES


class Backend(ABC, Generic[T]):
    """A target that a program is compiled for, node by node: the base of all backends."""

    @abstractmethod
    def make(self, node: Node, inputs: dict[str, T]) -> T | Mapping[str, T]:
        """Return what the node gives: one thing where it has one output, else a mapping by the names of its outputs.

        node: to compile.
        inputs: what reaches the node, by the names of its inputs, in the order they were declared in.
        """


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A graph of basic modules, which is what an objective receives.

    nodes: tuple of `Node` in a topological order, the same in every process.
    inputs: the names of the program's own inputs.
    outputs: name of an output -> what it reads.
    trace: the choices that led here.
    builder: the function of the space, which rebuilds the program in another process.

    Equal to any that has the same graph and the same values, by whatever choices. Identities without hyperparameters
    are left out.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: dict[str, Source]
    trace: Trace
    builder: Builder

    @cached_property
    def fingerprint(self) -> str:
        """The 32 hexadecimal digits that programs share where graphs, values and implementations are equal.

        They are the same everywhere. Graphs are equal where they are isomorphic. Functions count by their module, their
        name, and the text, numbers and functions that they hold. Lambdas and functions made inside functions share
        names, and count by their code too, which another version of Python may write otherwise. What holds lists,
        dicts or objects of your own counts as equal only at the same place.
        """
        nodes = [self.nodes[position] for position in self._canonical_numbers]
        return self._digest([[*row, *_traits(node)] for row, node in zip(self._rows(), nodes, strict=True)])

    @property
    def fingerprint_by_names(self) -> str:
        """The fingerprint where functions count without their code: stored studies know their spaces by it."""
        return self._digest(self._rows())

    def _digest(self, rows: list[list[Json]]) -> str:
        data = [self._sources(self.outputs), rows, sorted(self.inputs)]
        return hashlib.blake2b(json.dumps(data).encode(), digest_size=16).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Program) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Program({len(self)} modules, {short_repr(dict(self.trace), REPR_CHARACTERS)})"

    def __str__(self) -> str:
        """Return all of its trace, which `repr` cuts."""
        return f"Program({len(self)} modules, {dict(self.trace)})"

    def __reduce__(self) -> tuple[object, ...]:
        return rebuild_program, (self.builder, self.trace)  # nodes hold functions, which do not travel

    def compile(self, backend: Backend[T], inputs: Mapping[str, T]) -> dict[str, T]:
        """Compile the program with a backend of your own.

        backend: a `Backend`, whose ``make(node, inputs)`` gets a `Node` and what was made of the nodes that it
            reads, by the names of its inputs; it returns what the node gives, a mapping where that has several outputs.
        inputs: name -> what stands for each of the program's own inputs.

        Returns what the backend makes, by the names of the program's outputs. Raises CompileError, TypeError for a
        backend that is not made of the base.
        """
        check_part("backend", backend, Backend)
        return load_by_name(f"{COMPILERS}.flow:compile_program")(self, backend, inputs)

    def to_torch(self, input_shapes: Example | Mapping[str, Example] | None = None) -> nn.Module:
        """Return the program as a `torch.nn.Module`, its parameters named by the places of their modules.

        input_shapes: the shape of each of the program's inputs by name, or the shape itself where there is one input;
            each with the batch, such as (8, 3, 32, 32), or a tensor of that shape and type.

        Shapes are inferred before anything is allocated; raises CompileError where they do not fit, which names the
        module, its values and the shapes. Parameters are drawn from torch's own generator: call ``torch.manual_seed``
        before. Raises MissingExtra without torch.
        """
        optional_import("torch")
        return load_by_name(f"{COMPILERS}.networks:torch_network")(self, {} if input_shapes is None else input_shapes)

    def to_sklearn(self) -> Pipeline:
        """Return the program as a scikit-learn `Pipeline`, not fitted.

        Steps are named by the places of the modules. Branches that meet in a `feature_union` become a `FeatureUnion`; a
        step in front of several branches that do not all meet in one union is fitted once in each. Raises CompileError,
        which names what scikit-learn cannot express.
        """
        return load_by_name(f"{COMPILERS}.pipelines:pipeline")(self)

    def to_function(self) -> Callable[..., Any]:
        """Return the program as a function with one argument for each of its inputs, by position or by name.

        The function gives the program's output, or a dict by name where it has several. Raises CompileError.
        """
        return load_by_name(f"{COMPILERS}.functions:Calculation")(self)

    def to_architecture(self, family: Family | str | None = None, decision: str = "softmax") -> Architecture:
        """Return the modules that stand for a layer as an `Architecture`, for `otmann` and the method ``nasbot``.

        family: as of `Architecture`.
        decision: str, the label of the decision layer that is added where the program does not end in one.

        Modules that stand for no layer are contracted: what reads them reads what they read. Input and output are
        added. Raises CompileError where `Architecture` refuses what is found.
        """
        return load_by_name(f"{COMPILERS}.architectures:build_architecture")(self, family, decision)

    def to_text(self) -> str:
        """Describe the modules, what they read, and their values."""
        return drawing.view_text(drawing.view(self._walk()))

    def to_json(self) -> dict[str, Any]:
        """Describe the program as JSON data, for tools that read graphs; a space rebuilds it from its trace alone.

        Returns a dict: ``fingerprint``; ``trace``; ``inputs``, names; ``nodes``, a list in a topological order of dicts
        with ``path``, ``kind``, ``values`` by local name, ``sources`` by the names of the inputs, and ``outputs``,
        names; ``outputs``, sources by name. A source is the path of a node, or None for the program itself, and the
        name of the output, or of the program's input. Values that JSON lacks are there by name: functions, dicts that
        were chosen, anything named.
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
        """Return the program in Graphviz's language."""
        return drawing.view_dot(drawing.view(self._walk()))

    def to_svg(self) -> str:
        """Draw the program as SVG; raises MissingExtra without the extra ``plot`` or the Graphviz program."""
        return render_svg(self.to_dot())

    def _walk(self) -> Walk:
        return replay(begin(self.builder, MAX_DEPTH), self.trace)

    @cached_property
    def _canonical_numbers(self) -> dict[int, int]:
        """The number of each node's position: when the node is met from the outputs, by the names of ports.

        Every input reads one thing, and every node is read on the way to an output: so nodes are known by the names of
        the ports that lead there, and graphs are isomorphic exactly where they are alike in this order.
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

    def _rows(self) -> list[list[Json]]:
        nodes = [self.nodes[position] for position in self._canonical_numbers]
        return [
            [node.kind, _fingerprint_values(node), identity_of(node.implementation), self._sources(node.sources)]
            for node in nodes
        ]

    def _sources(self, sources: Mapping[str, Source]) -> list[Json]:
        found = sorted(sources.items())
        return [[name, None if node is None else self._canonical_numbers[node], port] for name, (node, port) in found]


def build_program(walk: Walk, builder: Builder) -> Program:
    """Build the program of a finished walk.

    walk: `Walk` with nothing left to choose.
    builder: the function of the space.
    """
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
    """Build a program anew from what can be sent to another process.

    builder: the function of the space.
    trace: the choices that lead to the program.
    """
    return build_program(replay(begin(builder, MAX_DEPTH), trace), builder)


def _fingerprint_values(node: Node) -> list[Json]:
    values = sorted(node.values.items())
    return [[name, canonical_value(f"{node.path}: {name}", value, node.names.get(name))] for name, value in values]


def _traits(node: Node) -> list[Json]:
    """Return what names do not tell of a node, with its place where not all is known: its choices lead there alone."""
    found = [*traits_beyond_name(node.implementation)]
    for name, value in sorted(node.values.items()):
        if name not in node.names:
            found += traits_of_value(value)
    return [*found, node.path] if None in found else [*found]


def _json_node(node: Node, paths: Sequence[str]) -> Json:
    values = {**node.values, **node.names}
    return {
        "path": node.path,
        "kind": node.kind,
        "values": {name: readable_data(f"{node.path}: {name}", value) for name, value in values.items()},
        "sources": _json_sources(node.sources, paths),
        "outputs": list(node.outputs),
    }


def _json_sources(sources: Mapping[str, Source], paths: Sequence[str]) -> Json:
    return {name: [None if node is None else paths[node], port] for name, (node, port) in sources.items()}
