"""Evaluate the graph of a program (Negrinho et al. 2019, algorithm 4), and compile programs to functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from bostruct.checks import add_note, short_repr
from bostruct.domains.language.combinators import IDENTITY
from bostruct.domains.language.compilers.implementations import PlainFunction
from bostruct.domains.language.errors import CompileError
from bostruct.domains.language.program import Backend, Node, Program, Source

T = TypeVar("T")


class PlanStep(NamedTuple):
    """One node of a plan, without its implementation."""

    path: str
    reads: dict[str, Source]
    outputs: tuple[str, ...]
    drops: tuple[int, ...]


class Plan(NamedTuple):
    """The wiring of a program: steps that refer to each other by position."""

    inputs: tuple[str, ...]
    steps: tuple[PlanStep, ...]
    outputs: dict[str, Source]


def plan(program: Program) -> Plan:
    """Plan the order in which values are computed, and when each can be released."""
    last: dict[int, int] = {}
    for position, node in enumerate(program.nodes):
        last[position] = position
        for source in node.sources.values():
            if source.node is not None:
                last[source.node] = position
    kept = {source.node for source in program.outputs.values()}
    drops: list[list[int]] = [[] for _ in program.nodes]
    for position, reader in last.items():
        if position not in kept:
            drops[reader].append(position)
    pairs = zip(program.nodes, drops, strict=True)
    steps = tuple(PlanStep(node.path, node.sources, node.outputs, tuple(gone)) for node, gone in pairs)
    return Plan(program.inputs, steps, program.outputs)


def propagate(
    plan: Plan, apply: Callable[[int, dict[str, T]], T | Mapping[str, T]], inputs: Mapping[str, T]
) -> dict[str, T]:
    """Compute the outputs of a program from its inputs.

    Raises CompileError if a node does not return its outputs.
    """
    values: dict[int, Mapping[str, T]] = {}

    def read(source: Source) -> T:
        return inputs[source.port] if source.node is None else values[source.node][source.port]

    for position, step in enumerate(plan.steps):
        given = {name: read(source) for name, source in step.reads.items()}
        values[position] = _by_output_name(step, apply(position, given))
        for gone in step.drops:
            del values[gone]
    return {name: read(source) for name, source in plan.outputs.items()}


def compile_program(program: Program, backend: Backend[T], inputs: Mapping[str, T]) -> dict[str, T]:
    """Compile a program with a backend, and return the results by the names of the program's outputs.

    Identity modules with hyperparameters return their input and are not passed to the backend. Raises CompileError.
    """
    if set(inputs) != set(program.inputs):
        raise CompileError(f"inputs: expected {_join_names(program.inputs)}; got {_join_names(inputs)}")

    def apply(position: int, given: dict[str, T]) -> T | Mapping[str, T]:
        node = program.nodes[position]
        return given["in"] if node.implementation is IDENTITY else backend.make(node, given)

    return propagate(plan(program), apply, inputs)


def unwrap_single(named: Mapping[str, T]) -> T | Mapping[str, T]:
    """Unwrap a mapping with one item; return any other unchanged."""
    return next(iter(named.values())) if len(named) == 1 else named


def bind_arguments(names: Sequence[str], given: Sequence[T], named: Mapping[str, T]) -> dict[str, T]:
    """Return arguments by name; raises TypeError unless each input has exactly one."""
    inputs = dict(zip(names, given, strict=False)) | dict(named)
    if len(given) + len(named) != len(names) or set(inputs) != set(names):
        got = f"{len(given)} by position" + (f" and {_join_names(named)}" if named else "")
        raise TypeError(f"expected one argument for each of the inputs {_join_names(names)}; got {got}")
    return inputs


def describe_node(node: Node) -> str:
    """Describe a node in a message: its path and its values."""
    values = ", ".join(f"{name}={short_repr(value, 40)}" for name, value in node.values.items())
    return f"{node.path}({values})"


def wrong_module(node: Node, compiler: str, expected: str) -> CompileError:
    """Return the error for a module that a compiler does not support."""
    got = "missing" if node.implementation is None else short_repr(node.implementation)
    return CompileError(f"{describe_node(node)}: {compiler} compiles {expected}; its implementation is {got}")


def _by_output_name(step: PlanStep, made: Any) -> Mapping[str, Any]:
    if len(step.outputs) == 1:
        return {step.outputs[0]: made}
    if not isinstance(made, Mapping) or not set(step.outputs) <= set(made):
        got = _join_names(made) if isinstance(made, Mapping) else short_repr(type(made))
        raise CompileError(f"{step.path}: expected a mapping with the outputs {_join_names(step.outputs)}; got {got}")
    return made


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(map(str, names)) or "none"


class Calculation:
    """A program as a callable, with one argument for each of its inputs, by position or by name.

    A call returns the output, or a dict by name if there are several. Values are released as soon as no later module
    reads them.
    """

    def __init__(self, program: Program) -> None:
        for node in program.nodes:
            if node.implementation is not IDENTITY and not isinstance(node.implementation, PlainFunction):
                raise wrong_module(node, "to_function", "modules made by function_module")
        self.program = program
        self._plan = plan(program)

    def __call__(self, *inputs: object, **named: object) -> object:
        given = bind_arguments(self.program.inputs, inputs, named)
        return unwrap_single(propagate(self._plan, self._apply, given))

    def _apply(self, position: int, given: dict[str, object]) -> object:
        node = self.program.nodes[position]
        return given["in"] if node.implementation is IDENTITY else call_node(node, given)

    def __repr__(self) -> str:
        return f"Calculation({', '.join(self.program.inputs)}) of {len(self.program)} modules"


def call_node(node: Node, given: dict[str, object]) -> object:
    """Call the function of a node; its exceptions get a note with the path of the node."""
    try:
        return node.implementation.fn(node.values.copy(), *given.values())
    except Exception as error:
        add_note(error, f"in the module {node.path}")
        raise
