"""Compile programs to `Architecture`s: the layers, units and edges that OTMANN compares."""

from __future__ import annotations

from itertools import chain
from typing import TypeAlias

from bostruct.contracts import PointError
from bostruct.domains.architecture.layers import BUILT_IN, CNN, Family, Layer, as_layer, family_from_json
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language.compilers.flow import compile_program, describe_node
from bostruct.domains.language.compilers.implementations import Labelled
from bostruct.domains.language.errors import CompileError
from bostruct.domains.language.program import Backend, Node, Program

LayerIndices: TypeAlias = tuple[int, ...]  # layers whose outputs reach a node


class ArchitectureBackend(Backend[LayerIndices]):
    """The backend for architectures: a node with a layer adds it; any other node returns the layers that it reads."""

    def __init__(self, input: str) -> None:
        self.layers = [Layer(input)]
        self.edges: list[tuple[int, int]] = []
        self.paths = {0: "the program's input"}

    def make(self, node: Node, inputs: dict[str, LayerIndices]) -> LayerIndices | dict[str, LayerIndices]:
        reached = tuple(dict.fromkeys(chain(*inputs.values())))
        if (layer := layer_of(node)) is not None:
            if not reached:
                raise CompileError(f"{describe_node(node)} is the layer {layer}, but no data from the input reach it")
            reached = self.add(layer, reached, node.path)
        return reached if len(node.outputs) == 1 else dict.fromkeys(node.outputs, reached)

    def add(self, layer: Layer, reads: LayerIndices, path: str) -> LayerIndices:
        """Add a layer and its edges, and return its position as a tuple of length one."""
        self.edges += [(u, len(self.layers)) for u in reads]
        self.paths[len(self.layers)] = path
        self.layers.append(layer)
        return (len(self.layers) - 1,)


def layer_of(node: Node) -> Layer | None:
    """Return the layer of a node, or None if it has no layer; raises CompileError."""
    if not isinstance(node.implementation, Labelled):
        return None
    try:
        given = node.implementation.layer_for(node.values.copy())
        return None if given is None else as_layer(given, node.path)
    except PointError as error:
        raise CompileError(str(error)) from error
    except Exception as error:
        raise CompileError(f"{describe_node(node)}: its function layer= failed: {error!r}") from error


def build_architecture(program: Program, family: Family | str | None, decision: str) -> Architecture:
    """Build an architecture of the program's layers.

    Raises CompileError.
    """
    given = family_from_json(family) if isinstance(family, str) else family
    found = ArchitectureBackend((given or CNN).input.name)
    ends = compile_program(program, found, dict.fromkeys(program.inputs, (0,)))
    if len(found.layers) == 1:
        kinds = ", ".join(dict.fromkeys(node.kind for node in program.nodes)) or "none"
        raise CompileError(f"no module has a layer; pass layer= when making some of: {kinds}")
    labels = {layer.label for layer in found.layers}
    known = given or next((family for family in BUILT_IN.values() if labels <= family.by_name.keys()), CNN)
    is_decision = {label.name: label.role == "decision" for label in known.labels}
    reached = tuple(dict.fromkeys(chain(*ends.values())))
    decided = tuple(u for u in reached if is_decision.get(found.layers[u].label, False))
    try:
        if open_ends := tuple(u for u in reached if u not in decided):
            decided += found.add(as_layer(decision, "decision"), open_ends, "the decision layer")
        found.add(Layer(known.output.name), decided, "the program's output")
        return Architecture(found.layers, found.edges, given)
    except PointError as error:
        positions = ", ".join(f"{u}: {path}" for u, path in found.paths.items())
        raise CompileError(f"the program is not a valid architecture: {error}. Its layers are {positions}") from error
