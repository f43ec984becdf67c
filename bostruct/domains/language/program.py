"""Define programs, as graphs that compilers read, and programs with choices left open."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from bostruct.checks import check_choice, check_integer, check_part, load_by_name, optional_import, short_repr
from bostruct.contracts import AtLeast, Count, Exact, Json
from bostruct.domains.graphviz import render_svg
from bostruct.domains.language import drawing, fingerprints, sampling
from bostruct.domains.language.changes import depth_first, shortest_first
from bostruct.domains.language.combinators import IDENTITY
from bostruct.domains.language.counting import count
from bostruct.domains.language.errors import LanguageError, NoneFeasible, TraceError
from bostruct.domains.language.graph import Builder, Discrete, Input, Module, Output
from bostruct.domains.language.sampling import replay
from bostruct.domains.language.trace import Trace, stored_value
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk, begin

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline
    from torch import Tensor, nn

    from bostruct.domains.architecture.layers import Family
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
    """A target that a program is compiled for, node by node: the base of all backends."""

    @abstractmethod
    def make(self, node: Node, inputs: dict[str, T]) -> T | Mapping[str, T]:
        """Return what the node gives: one thing if it has one output, else a mapping by the names of its outputs."""


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A graph of basic modules, which is what an objective receives.

    Equal to any that has the same graph and the same values, by whatever choices. Identities without hyperparameters
    are left out.

    Parameters
    ----------
    nodes : tuple of Node
        Tuple of `Node` in a topological order, the same in every process.
    inputs : tuple of str
        The names of the program's own inputs.
    outputs : dict of str to Source
        Name of an output -> what it reads.
    trace : Trace
        The choices that led here.
    builder : Builder
        The function of the space, which rebuilds the program in another process.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: dict[str, Source]
    trace: Trace
    builder: Builder

    @cached_property
    def fingerprint(self) -> str:
        """The 32 hexadecimal digits that programs share where graphs, values and implementations are equal.

        They are the same everywhere. Graphs are equal if they are isomorphic. Functions count by their module, their
        name, and the text, numbers and functions that they hold. Lambdas and functions made inside functions share
        names, and count by their code too, which another version of Python may write otherwise. What holds lists,
        dicts or objects of your own counts as equal only at the same place.
        """
        return self._digest(_traits)

    @property
    def fingerprint_by_names(self) -> str:
        """The fingerprint where functions count without their code: stored studies know their spaces by it."""
        return self._digest(lambda _: [])

    def _digest(self, traits_of: Callable[[Node], list[str | None]]) -> str:
        """Return the hash of a JSON array: what the outputs read, a row a node, and the names of the inputs.

        traits_of: returns what is added to the row of a node; with its path if something is unknown, a None.
        """
        rows: list[str] = []
        known: dict[Hashable, tuple[str, list[str | None]]] = {}  # most modules of a program share their parts
        for node in map(self.nodes.__getitem__, self._canonical_numbers):
            if (content := _identify_content(node)) not in known:
                values = [
                    [name, fingerprints.canonical_value(f"{node.path}: {name}", value, node.names.get(name))]
                    for name, value in sorted(node.values.items())
                ]
                head = [node.kind, values, fingerprints.identity_of(node.implementation)]
                known[content] = json.dumps(head)[:-1], traits_of(node)
            head_text, traits = known[content]
            place = [node.path] if None in traits else []  # its choices lead there alone
            rows.append(f"{head_text}, {json.dumps([self._sources(node.sources), *traits, *place])[1:]}")
        text = f"[{json.dumps(self._sources(self.outputs))}, [{', '.join(rows)}], {json.dumps(sorted(self.inputs))}]"
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
        """Return all of its trace, which `repr` cuts."""
        return f"Program({len(self)} modules, {dict(self.trace)})"

    def __reduce__(self) -> tuple[object, ...]:
        return rebuild_program, (self.builder, self.trace)  # nodes hold functions, which do not travel

    def compile(self, backend: Backend[T], inputs: Mapping[str, T]) -> dict[str, T]:
        """Compile the program with a backend of your own.

        Parameters
        ----------
        backend : Backend
            A `Backend`, whose ``make(node, inputs)`` gets a `Node` and what was made of the nodes that it reads, by the
            names of its inputs; it returns what the node gives, a mapping if that has several outputs.
        inputs : mapping of str to T
            Name -> what stands for each of the program's own inputs.

        Returns
        -------
        dict of str to T
            What the backend makes, by the names of the program's outputs.

        Raises
        ------
        CompileError, TypeError
            For a backend that is not made of the base.
        """
        check_part("backend", backend, Backend)
        return load_by_name(f"{COMPILERS}.flow:compile_program")(self, backend, inputs)

    def to_torch(self, input_shapes: Example | Mapping[str, Example] | None = None) -> nn.Module:
        """Return the program as a `torch.nn.Module`, its parameters named by the places of their modules.

        Shapes are inferred before anything is allocated; raises CompileError if they do not fit, which names the
        module, its values and the shapes. Parameters are drawn from torch's own generator: call ``torch.manual_seed``
        before.

        Parameters
        ----------
        input_shapes : Example or mapping of str to Example, optional
            The shape of each of the program's inputs by name, or the shape itself if there is one input; each with the
            batch, such as (8, 3, 32, 32), or a tensor of that shape and type.

        Raises
        ------
        MissingExtra
            Without torch.
        """
        optional_import("torch")
        return load_by_name(f"{COMPILERS}.networks:torch_network")(self, {} if input_shapes is None else input_shapes)

    def to_sklearn(self) -> Pipeline:
        """Return the program as a scikit-learn `Pipeline`, not fitted.

        Steps are named by the places of the modules. Branches that meet in a `feature_union` become a `FeatureUnion`; a
        step in front of several branches that do not all meet in one union is fitted once in each.

        Raises
        ------
        CompileError
            Which names what scikit-learn cannot express.
        """
        return load_by_name(f"{COMPILERS}.pipelines:pipeline")(self)

    def to_function(self) -> Callable[..., Any]:
        """Return the program as a function with one argument for each of its inputs, by position or by name.

        The function gives the program's output, or a dict by name if it has several.

        Raises
        ------
        CompileError
        """
        return load_by_name(f"{COMPILERS}.flow:Calculation")(self)

    def to_architecture(self, family: Family | str | None = None, decision: str = "softmax") -> Architecture:
        """Return the modules that stand for a layer as an `Architecture`, for `otmann` and the method ``nasbot``.

        Modules that stand for no layer are contracted: what reads them reads what they read. Input and output are
        added.

        Parameters
        ----------
        family : Family or str, optional
            As in `Architecture`.
        decision : str, default "softmax"
            The label of the decision layer that is added if the program does not end in one.

        Raises
        ------
        CompileError
            If `Architecture` refuses what is found.
        """
        return load_by_name(f"{COMPILERS}.architectures:build_architecture")(self, family, decision)

    def to_text(self) -> str:
        """Describe the modules, what they read, and their values."""
        return drawing.view_text(drawing.view(self._walk()))

    def to_json(self) -> dict[str, Any]:
        """Describe the program as JSON data, for tools that read graphs; a space rebuilds it from its trace alone.

        A source is the path of a node, or None for the program itself, and the name of the output, or of the program's
        input. Values that JSON lacks are there by name: functions, dicts that were chosen, anything named.

        Returns
        -------
        dict of str to Any
            A dict: ``fingerprint``; ``trace``; ``inputs``, names; ``nodes``, a list in a topological order of dicts
            with ``path``, ``kind``, ``values`` by local name, ``sources`` by the names of the inputs, and ``outputs``,
            names; ``outputs``, sources by name.
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
        """Draw the program as SVG.

        Raises
        ------
        MissingExtra
            Without the extra ``plot`` or the Graphviz program.
        """
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

    def _sources(self, sources: Mapping[str, Source]) -> list[Json]:
        found = sorted(sources.items())
        return [[name, None if node is None else self._canonical_numbers[node], port] for name, (node, port) in found]


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
    """Build a program anew from what can be sent to another process."""
    return build_program(replay(begin(builder, MAX_DEPTH), trace), builder)


def _identify_content(node: Node) -> Hashable:
    """Return what nodes of one program share only if their kinds, values and implementations hold the same objects."""
    values = (*node.values.values(), *node.names.values())
    names = (node.kind, *node.values, None, *node.names)
    return names, *map(fingerprints.identify_object, values), fingerprints.identify_parts(node.implementation)


def _traits(node: Node) -> list[str | None]:
    """Return what names do not tell of a node, None for what is unknown."""
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
COUNT_BUDGET = 80_000  # modules looked at, for a size: about a second
PROOF_DRAWS = 100  # for one program of a space of which none was counted


class PartialProgram:
    """A program with choices left open, or with none. It never changes: to assign a value makes another.

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
        """True if nothing is left to choose."""
        return not self.hyperparameters

    def assign(self, hyperparameter: Discrete | str, value: Value) -> Self:
        """Return the space where a visible hyperparameter has this value. This space stays as it is.

        Parameters
        ----------
        hyperparameter : str
            The path of a hyperparameter in view.
        value : object
            One of its values.

        Raises
        ------
        TraceError
            If there is no such hyperparameter in view, or it has no such value.
        Infeasible
            If the value leads nowhere.
        LanguageError
            If a function that builds what follows is wrong.
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

        Parameters
        ----------
        values : sequence of Value
            The values in the order of choice.

        Raises
        ------
        TraceError
            If there are too few or too many, or one is not allowed.
        Infeasible
            If the values lead nowhere.
        """
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise TraceError(f"values: expected a list of values in the order of choice, got {short_repr(values)}")
        return self._with_walk(sampling.specify(self._walk, list(values)))

    def replay(self, trace: Mapping[str, Value]) -> Self:
        """Return the terminal space of a trace.

        Parameters
        ----------
        trace : mapping of str to Value
            The value of each hyperparameter by its path.

        Raises
        ------
        TraceError
            If a key is unknown or missing.
        Infeasible
            If the values lead nowhere.
        """
        return self._with_walk(sampling.replay(self._walk, self.trace | Trace(trace)))

    def complete(self, trace: Mapping[str, Value], rng: np.random.Generator) -> Self:
        """Return a terminal space that has the values of a trace; all else is drawn.

        Parameters
        ----------
        trace : mapping of str to Value
            Values by the path of the hyperparameter.
        rng : Generator
            Source of randomness.

        Raises
        ------
        TraceError
            If no draw has one of its keys with such a value.
        NoneFeasible
            If no draw is feasible.
        """
        return self._with_walk(sampling.complete(self._walk, Trace(trace), check_generator(rng), self.max_decisions))

    def program(self) -> Program:
        """Build the program of a terminal space.

        Raises
        ------
        LanguageError
            For any other.
        """
        if not self.is_terminal:
            raise LanguageError(f"not all is chosen: {', '.join(h.path for h in self.hyperparameters[:5])} ...")
        return build_program(self._walk, self.builder)

    def count(self, budget: int = COUNT_BUDGET) -> Count:
        """Count the traces: `Exact`, `AtLeast` once the budget is spent, or `INFINITE`.

        Traces that build equal programs count apart, so that different programs may be fewer. `AtLeast(1)` may mean
        that nothing was counted in time, but a program drawn; `AtLeast(0)` that none was drawn either.

        Parameters
        ----------
        budget : int, default COUNT_BUDGET
            The work, at least 1: modules of the space to look at, and pairs of partial counts to join; 80,000 take
            about a second.
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

        Parameters
        ----------
        order : {"depth", "length"}, optional
            ``depth`` for the order of choice, ``length`` for shorter ones first, which infinite spaces need; by default
            ``depth`` where all programs were counted, else ``length``.
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
        """Draw the space as SVG.

        Raises
        ------
        MissingExtra
            Without the extra ``plot`` or the Graphviz program.
        """
        return render_svg(self.to_dot())

    def transitions(
        self, trace: Mapping[str, Value], path: str | Path, render: Render = render_svg, *, overwrite: bool = False
    ) -> Path:
        """Write a page, one HTML file, that shows the space after each choice of a trace.

        What is new is green, what was just given a value red.

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
            If the trace is not one of the space.
        MissingExtra
            Without the extra ``plot`` or the Graphviz program.
        OutputRefused
            A FileExistsError, for a file that must not be replaced.
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
    """Return a numpy Generator; raises TypeError for anything else."""
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
