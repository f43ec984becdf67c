"""Compile programs to Python functions."""

from __future__ import annotations

from bostruct.checks import add_note
from bostruct.domains.language.combinators import IDENTITY
from bostruct.domains.language.compilers.flow import bind_arguments, plan, propagate, unwrap_single, wrong_module
from bostruct.domains.language.compilers.implementations import PlainFunction
from bostruct.domains.language.program import Node, Program


class Calculation:
    """A program that can be called: with one argument for each of its inputs, by position or by name.

    program: `Program` of modules made by `function_module`.

    A call gives the output, or a dict by name where there are several. What no module reads any more is forgotten at
    once.
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
    """Call the function that a node stands for; what it raises gets a note of the place of the node.

    node: its implementation has the function, which takes the node's values first.
    given: name of an input -> value, in the order that the function takes them.
    """
    try:
        return node.implementation.fn(node.values.copy(), *given.values())
    except Exception as error:
        add_note(error, f"in the module {node.path}")
        raise
