"""Values on their way through a program: the plan, what a backend is given, how arguments are bound."""

import weakref

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language.compilers import flow
from bostruct.domains.language.program import Backend
from bostruct.language import CompileError, SearchSpace
from tests.domains.language.compilers.arithmetic import expression, scaled


class Formula(Backend):
    """A backend: programs as text."""

    def make(self, node, inputs):
        if node.kind == "Scale":
            return f"{node.values['by']}*{inputs['in']}"
        return f"({inputs['a']} {node.values['sign']} {inputs['b']})"


class Depth(Backend):
    """A backend: how many modules lie on the longest path."""

    def make(self, node, inputs):
        del node
        return 1 + max(inputs.values())


def test_a_backend_that_is_not_made_of_the_base_is_refused():
    program = SearchSpace(expression).specify([1, "sub", 3, 7]).program()
    with pytest.raises(TypeError, match=r"^backend: expected a .*\.Backend \(subclass it\), got object"):
        program.compile(object(), {"in": "x"})
    with pytest.raises(TypeError, match="abstract"):
        Backend()


def test_a_backend_of_ones_own_is_one_class():
    space = SearchSpace(expression)
    program = space.specify([1, "sub", 3, 7]).program()
    assert program.compile(Formula(), {"in": "x"}) == {"out": "(3*x sub 7*x)"}
    assert program.compile(Depth(), {"in": 0}) == {"out": 2}
    with pytest.raises(CompileError, match="inputs: expected in; got x"):
        program.compile(Formula(), {"x": "x"})


def test_identities_with_hyperparameters_are_not_the_backends_business():
    def builder():
        carrier = lang.hyperparameter_aggregator({"rate": lang.D([1, 2])})
        return lang.siso_sequential([carrier, scaled(2)])

    program = SearchSpace(builder).specify([1]).program()
    assert (len(program), program.to_function()(21)) == (2, 42)
    assert program.compile(Depth(), {"in": 0}) == {"out": 1}


def test_values_are_forgotten_once_nothing_reads_them():
    """In a chain of ten, never more than two intermediate values are alive."""

    class Big:
        pass

    alive = weakref.WeakSet()
    most = []

    def fn(values, x):
        del values, x
        made = Big()
        alive.add(made)
        most.append(len(alive))
        return made

    chain = SearchSpace(lambda: lang.siso_sequential([lang.function_module("Link", fn) for _ in range(10)]))
    assert isinstance(chain.program().to_function()(0), Big)
    assert (len(most), max(most)) == (10, 2)


def test_a_function_of_several_outputs_that_lacks_one_is_named():
    def builder():
        return lang.function_module("Pair", lambda _values, _x: {"q": 1}, {}, ["in"], ["q", "r"])

    with pytest.raises(CompileError, match=r"Pair-0: expected a mapping with the outputs q, r; got q"):
        SearchSpace(builder).program().to_function()(1)


@pytest.mark.parametrize("seed", range(5))
def test_each_value_is_dropped_by_its_last_reader_and_outputs_are_kept(seed):
    space = SearchSpace(expression)
    program = space.present(space.sample(1, np.random.default_rng(seed))[0])
    steps = flow.plan(program).steps
    assert [step.path for step in steps] == [node.path for node in program.nodes]
    dropped = {gone: position for position, step in enumerate(steps) for gone in step.drops}
    kept = {source.node for source in program.outputs.values()}
    assert set(dropped) == set(range(len(program))) - kept
    for position, step in enumerate(steps):
        read = {source.node for source in step.reads.values()} - {None}
        assert all(dropped[source] >= position for source in read if source not in kept)
        assert set(step.drops) <= read | {position}


def test_the_same_plan_carries_other_values():
    program = SearchSpace(expression).specify([1, "mul", 3, 7]).program()
    wiring = flow.plan(program)
    visited = []

    def join(position, given):
        visited.append(position)
        return f"{wiring.steps[position].path}({', '.join(given.values())})"

    joined = "SISORepeat-0/Combine-0(SISORepeat-0/Scale-0(x), SISORepeat-0/Scale-1(x))"
    assert flow.propagate(wiring, join, {"in": "x"}) == {"out": joined}
    assert visited == [0, 1, 2]


def test_a_program_without_modules_hands_on_its_input():
    program = SearchSpace(lang.identity).program()
    assert flow.compile_program(program, Formula(), {"in": "x"}) == {"out": "x"}
    assert flow.plan(program).steps == ()


def test_a_node_of_several_outputs_gives_them_by_name():
    def split():
        halves = lang.siso_module("Head")
        inputs, outputs = lang.module("Split", {}, ["in"], ["first", "second"])
        halves[0]["in"].connect(outputs["second"])
        return inputs, {"a": outputs["first"], "b": halves[1]["out"]}

    class Slices(Backend):
        def __init__(self, second):
            self.second = second

        def make(self, node, inputs):
            text = inputs["in"]
            if node.kind == "Head":
                return text[0]
            return {"first": text[:2], self.second: text[2:], "unused": None}

    program = SearchSpace(split).program()
    assert flow.compile_program(program, Slices("second"), {"in": "abcd"}) == {"a": "ab", "b": "c"}
    with pytest.raises(CompileError, match="Split-0: expected a mapping with the outputs first, second; got first, x"):
        flow.compile_program(program, Slices("x"), {"in": "abcd"})


def test_arguments_are_bound_by_position_or_by_name_and_each_once():
    names = ("a", "b", "c")
    for given, named in (((1, 2, 3), {}), ((1,), {"c": 3, "b": 2}), ((), {"c": 3, "a": 1, "b": 2})):
        assert flow.bind_arguments(names, given, named) == {"a": 1, "b": 2, "c": 3}
    for given, named, got in (
        ((1, 2), {}, "2 by position$"),
        ((1, 2, 3, 4), {}, "4 by position$"),
        ((1, 2, 3), {"c": 3}, "3 by position and c"),
        ((1, 2), {"a": 3}, "2 by position and a"),
        ((), {"a": 1, "b": 2, "d": 3}, "0 by position and a, b, d"),
    ):
        with pytest.raises(TypeError, match=f"expected one argument for each of the inputs a, b, c; got {got}"):
            flow.bind_arguments(names, given, named)
    assert flow.bind_arguments((), (), {}) == {}


def test_one_thing_is_unwrapped_and_several_are_not():
    assert flow.unwrap_single({"out": None}) is None
    assert flow.unwrap_single(both := {"a": 1, "b": 2}) is both


def test_messages_name_a_module_with_its_values():
    (node,) = SearchSpace(lambda: lang.siso_module("M", {"b": "x" * 99, "a": 1})).program().nodes
    assert flow.describe_node(node).startswith("M-0(a=1, b='xxx")
    assert len(flow.describe_node(node)) < 60
    error = flow.wrong_module(node, "to_song", "songs")
    assert isinstance(error, CompileError)
    assert str(error) == f"{flow.describe_node(node)}: to_song compiles songs; its implementation is missing"
    (other,) = SearchSpace(lambda: scaled(1)).program().nodes
    assert "its implementation is PlainFunction(" in str(flow.wrong_module(other, "to_song", "songs"))
