"""Programs as Python functions: what they compute, and what they raise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct import language as lang
from bostruct.domains.language.compilers.flow import Calculation, call_node
from bostruct.language import CompileError, SearchSpace
from tests.domains.language.compilers.arithmetic import SIGNS, expression, scaled


@given(st.integers(0, 2**32), st.integers(-5, 5))
def test_a_program_computes_what_its_choices_say(seed, x):
    space = SearchSpace(expression)
    trace = space.sample(1, np.random.default_rng(seed))[0]
    expected = x
    for step in range(trace["SISORepeat-0.num_reps"]):
        names = [f"SISORepeat-0/Scale-{2 * step + i}.by" for i in range(2)]
        sign = SIGNS[next(value for value in trace.values() if value in SIGNS)]
        expected = sign(*(trace[name] * expected for name in names))
    assert space.present(trace).to_function()(x) == expected


def test_several_inputs_and_outputs():
    def builder():
        fn = lambda _values, a, b: {"q": a // b, "r": a % b}  # noqa: E731
        inputs, outputs = lang.function_module("DivMod", fn, {}, ["a", "b"], ["q", "r"])
        return inputs, {"quotient": outputs["q"], "rest": outputs["r"]}

    f = SearchSpace(builder).program().to_function()
    assert f(17, 5) == f(b=5, a=17) == f(17, b=5) == {"quotient": 3, "rest": 2}
    with pytest.raises(TypeError, match="expected one argument for each of the inputs a, b; got 1 by position"):
        f(17)


def test_what_a_function_raises_is_raised_and_names_the_module():
    program = SearchSpace(lambda: lang.function_module("Inverse", lambda _values, x: 1 / x)).program()
    with pytest.raises(ZeroDivisionError) as raised:
        program.to_function()(0)
    assert raised.value.__notes__ == ["in the module Inverse-0"]


def test_modules_that_are_no_functions_are_refused_before_anything_runs():
    program = SearchSpace(lambda: lang.siso_sequential([scaled(2), lang.siso_module("Abstract")])).program()
    with pytest.raises(CompileError, match=r"Abstract-0\(\): to_function compiles modules made by function_module"):
        program.to_function()


def test_a_function_cannot_change_the_program():
    def greedy(values, x):
        return values.pop("by") * x

    program = SearchSpace(lambda: lang.function_module("Scale", greedy, {"by": 3})).program()
    f = program.to_function()
    assert (f(2), f(2)) == (6, 6)


def test_a_program_that_can_be_called_says_what_it_takes():
    program = SearchSpace(lambda: lang.siso_sequential([scaled(2), scaled(3)])).program()
    calculation = Calculation(program)
    assert repr(calculation) == "Calculation(in) of 2 modules"
    assert calculation(7) == calculation(**{"in": 7}) == 42


def test_a_node_is_called_with_its_values_and_its_inputs_in_their_order():
    (node,) = SearchSpace(
        lambda: lang.function_module("F", lambda values, *given: (values, given), {"k": 2}, ["b", "a"])
    ).program().nodes  # fmt: skip
    values, given = call_node(node, {"b": 1, "a": 3})
    assert (values, given) == ({"k": 2}, (1, 3))
    values["k"] = 5
    assert node.values == {"k": 2}
