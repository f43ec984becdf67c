"""Compile programs to `torch.nn.Module`s."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bostruct.checks import short_repr
from bostruct.domains.language.compilers import flow
from bostruct.domains.language.compilers.implementations import TorchLayer
from bostruct.domains.language.errors import CompileError
from bostruct.domains.language.program import Backend, Example, Node, Program


class Operation(nn.Module):
    """A function of tensors, as a module without parameters."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *inputs: Tensor) -> Tensor | Mapping[str, Tensor]:
        return self.fn(*inputs)

    def extra_repr(self) -> str:
        return getattr(self.fn, "__name__", repr(self.fn))


class Network(nn.Module):
    """A program as a torch module.

    layers: the modules by path, with ``%2E`` for each dot, which torch does not allow in names, and ``%25`` for each
        percent sign.

    It is called with one tensor for each input of the program, by position in the program's order or by name. It
    returns a tensor, or a dict by name if the program has several outputs.
    """

    def __init__(self, wiring: flow.Plan, layers: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.wiring = wiring
        self.layers = nn.ModuleDict(layers)
        self.keys = [key if (key := torch_name(step.path)) in layers else None for step in wiring.steps]

    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor | Mapping[str, Tensor]:
        given = flow.bind_arguments(self.wiring.inputs, inputs, named)
        return flow.unwrap_single(flow.propagate(self.wiring, self._run_step, given))

    def _run_step(self, position: int, given: dict[str, Tensor]) -> Tensor | Mapping[str, Tensor]:
        key = self.keys[position]
        return given["in"] if key is None else self.layers[key](*given.values())


def torch_network(program: Program, input_shapes: Example | Mapping[str, Example]) -> Network:
    """Return the program as a torch module.

    Raises CompileError if a layer does not accept the shapes of its inputs.
    """
    inference = ShapeInference({})
    flow.compile_program(program, inference, meta_tensors(program, input_shapes))
    shapes = inference.shapes
    built = [node for node in program.nodes if node.path in shapes]
    return Network(flow.plan(program), {torch_name(one.path): build_layer(one, shapes[one.path]) for one in built})


@dataclass(frozen=True)
class ShapeInference(Backend[Tensor]):
    """The backend that infers shapes on the meta device, without computing values."""

    shapes: dict[str, dict[str, tuple[int, ...]]]

    def make(self, node: Node, inputs: dict[str, Tensor]) -> Tensor | Mapping[str, Tensor]:
        shapes = self.shapes[node.path] = {name: shape_of(node, name, given) for name, given in inputs.items()}
        try:
            with torch.device("meta"), torch.no_grad():
                return build_layer(node, shapes).eval()(*inputs.values())
        except CompileError:
            raise
        except Exception as error:
            why = str(error) if isinstance(error, RuntimeError | ValueError) else repr(error)
            given = ", ".join(f"{name} of shape {shape}" for name, shape in shapes.items()) or "no inputs"
            raise CompileError(f"{flow.describe_node(node)} cannot take {given}: {why}") from error


def build_layer(node: Node, shapes: dict[str, tuple[int, ...]]) -> nn.Module:
    """Build the torch module of a node; raises CompileError."""
    if not isinstance(node.implementation, TorchLayer):
        raise flow.wrong_module(node, "to_torch", "modules made by torch_module and similar functions")
    layer = node.implementation.build(node.values.copy(), shapes.copy())
    if isinstance(layer, nn.Module):
        return layer
    if not callable(layer):
        raise CompileError(
            f"{flow.describe_node(node)}: expected a torch.nn.Module or a function, got {short_repr(layer)}"
        )
    return Operation(layer)


def torch_name(path: str) -> str:
    """Write a path as a name that torch allows; different paths have different names."""
    return path.replace("%", "%25").replace(".", "%2E")


def meta_tensors(program: Program, given: Any) -> dict[str, Tensor]:
    """Return tensors without data, by the names of the program's inputs; raises CompileError."""
    if not isinstance(given, Mapping):
        if len(program.inputs) != 1:
            names = ", ".join(program.inputs) or "none"
            raise CompileError(
                f"input_shapes: expected a dict with the program's inputs ({names}), got {short_repr(given)}"
            )
        given = {program.inputs[0]: given}
    return {name: _meta_tensor(name, one) for name, one in given.items()}


def _meta_tensor(name: str, given: Example) -> Tensor:
    if isinstance(given, Tensor):
        return torch.empty_like(given, device="meta")
    try:
        return torch.empty(tuple(given), device="meta")
    except (TypeError, RuntimeError):
        raise CompileError(f"input_shapes: {name}: expected a shape or a tensor, got {short_repr(given)}") from None


def shape_of(node: Node, name: str, given: object) -> tuple[int, ...]:
    """Return the shape of an input; raises CompileError if it is not a tensor."""
    if not isinstance(given, Tensor):
        raise CompileError(f"{node.path}: its input {name}: expected a tensor, got {short_repr(given)}")
    return tuple(given.shape)
