"""Programs as Python functions, and backends that a user writes."""

import operator
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct import language as lang
from bostruct.language import CompileError, SearchSpace

SIGNS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def scaled(by):
    return lang.function_module("Scale", lambda values, x: values["by"] * x, {"by": by})


def combined(sign):
    return lang.function_module("Combine", lambda values, a, b: SIGNS[values["sign"]](a, b), {"sign": sign}, ["a", "b"])


def expression():
    """x times one of three numbers, combined with another such product, up to three times in a row."""
    h_sign = lang.D(list(SIGNS))

    def step():
        inputs, outputs = lang.identity()
        one, two, both = scaled(lang.D([2, 3, 5])), scaled(lang.D([7, 11])), combined(h_sign)
        one[0]["in"].connect(outputs["out"])
        two[0]["in"].connect(outputs["out"])
        both[0]["a"].connect(one[1]["out"])
        both[0]["b"].connect(two[1]["out"])
        return inputs, both[1]

    return lang.siso_repeat(step, lang.D([1, 2, 3]))


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
    assert len(most) == 10
    assert max(most) == 2


def test_several_inputs_and_outputs():
    def builder():
        inputs, outputs = lang.function_module(
            "DivMod", lambda _values, a, b: {"q": a // b, "r": a % b}, {}, ["a", "b"], ["q", "r"]
        )
        return inputs, {"quotient": outputs["q"], "rest": outputs["r"]}

    f = SearchSpace(builder).program().to_function()
    assert f(17, 5) == f(b=5, a=17) == f(17, b=5) == {"quotient": 3, "rest": 2}
    with pytest.raises(TypeError, match="expected one argument for each of the inputs a, b; got 1 by position"):
        f(17)


def test_a_function_of_several_outputs_that_lacks_one_is_named():
    def builder():
        return lang.function_module("Pair", lambda _values, _x: {"q": 1}, {}, ["in"], ["q", "r"])

    with pytest.raises(CompileError, match=r"Pair-0: expected a mapping with the outputs q, r; got q"):
        SearchSpace(builder).program().to_function()(1)


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


class Formula:
    """A backend: programs as text."""

    def make(self, node, inputs):
        if node.kind == "Scale":
            return f"{node.values['by']}*{inputs['in']}"
        return f"({inputs['a']} {node.values['sign']} {inputs['b']})"


class Depth:
    """A backend: how many modules lie on the longest path."""

    def make(self, node, inputs):
        del node
        return 1 + max(inputs.values())


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
    assert len(program) == 2
    assert program.to_function()(21) == 42
    assert program.compile(Depth(), {"in": 0}) == {"out": 1}


@pytest.mark.parametrize(
    "make",
    [
        lambda: lang.function_module("F", 5),
        lambda: lang.torch_module("F", "conv"),
        lambda: lang.siso_torch_layer(None),
        lambda: lang.siso_torch_layer(lambda: None),
        lambda: lang.sklearn_module("F", "PCA"),
        lambda: lang.sklearn_module("F", dict),
    ],
)
def test_implementations_that_cannot_be_called_are_refused(make):
    with pytest.raises(lang.LanguageError, match=r"expected (a function|a name|an estimator)"):
        SearchSpace(make)
