"""Modules that are written alike: equal keys where the same would be built, other keys where it would not."""

from functools import partial

import pytest

from bostruct.domains.language.counting import IdentityKey, signature
from bostruct.domains.language.walk import begin
from bostruct.language import D, DependentHyperparameter, siso_module, siso_sequential, substitution_module


def part(fn, **properties):
    return substitution_module("S", fn, properties, ["in"], ["out"])


def signatures(*makers, values=None):
    """The keys of substitution modules in one space, none of whose choices is made but those in `values`."""
    modules = begin(lambda: siso_sequential([make() for make in makers]), 10).root.modules
    given = values or {}
    found = []
    for module in modules:
        own = tuple(h for h in module.hyperparameters.values() if h.path not in given)
        found.append(signature(module, own, given))
    return found


def plain(_):
    return siso_module("M")


def other(_):
    return siso_module("M")


def holding(thing):
    def fn(_):
        return siso_module("M", {"x": thing})

    return fn


EQUAL = [
    (plain, plain),
    (holding(1), holding(1)),
    (holding([1, {"a": (2,)}]), holding([1, {"a": (2,)}])),
    (partial(plain, 1), partial(plain, 1)),
    (partial(plain, k=holding(2)), partial(plain, k=holding(2))),
    (holding(plain), holding(plain)),
    (holding(frozenset({1, 2})), holding(frozenset({2, 1}))),
]
UNEQUAL = [
    (plain, other),
    (holding(1), holding(2)),
    (holding(1), holding(True)),
    (holding(1), holding(1.0)),
    (holding([1]), holding((1,))),
    (holding(object()), holding(object())),
    (holding(plain), holding(other)),
    (partial(plain, 1), partial(plain, 2)),
    (partial(plain, 1), plain),
]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_functions_of_one_code_that_hold_equal_things_are_alike(first, second):
    one, two = signatures(lambda: part(first, h=D([1, 2])), lambda: part(second, h=D([1, 2])))
    assert (one, hash(one)) == (two, hash(two))


@pytest.mark.parametrize(("first", "second"), UNEQUAL)
def test_other_functions_and_what_they_hold_are_not(first, second):
    one, two = signatures(lambda: part(first, h=D([1, 2])), lambda: part(second, h=D([1, 2])))
    assert one != two


def test_free_hyperparameters_count_by_their_values_and_chosen_ones_by_themselves():
    same, more = lambda: part(plain, h=D([1, 2])), lambda: part(plain, h=D([1, 2, 3]))
    one, two, three = signatures(same, same, more)
    assert one == two != three
    chosen = {"S-0.h": 1, "S-1.h": 1}
    one, two, _ = signatures(same, same, more, values=chosen)
    assert one != two  # other modules may see these hyperparameters too


def test_local_names_and_ports_are_part_of_the_key():
    def with_ports(names):
        inputs, outputs = substitution_module(
            "S", plain, {"h": D([1])}, ["in", *names], ["out"], allow_input_subset=True
        )
        return inputs, outputs

    def space():
        whole = [with_ports([]), with_ports(["a"]), part(plain, g=D([1]))]
        inputs, outputs = siso_sequential(whole)
        return inputs | {"a": whole[1][0]["a"]}, outputs

    keys = [signature(m, tuple(m.hyperparameters.values()), {}) for m in begin(space, 5).root.modules]
    assert len(set(keys)) == 3


def test_dependent_values_count_by_what_they_depend_on():
    def twice(h):
        return DependentHyperparameter(len, {"x": h})

    def space():
        a, b = D([1, 2]), D([1, 2])
        return siso_sequential([part(plain, h=a, d=twice(a)), part(plain, h=b, d=twice(b))])

    first, second = begin(space, 5).root.modules
    keys = [signature(m, (m.hyperparameters["h"],), {}) for m in (first, second)]
    assert keys[0] != keys[1]  # each function of a dependent value is known as itself alone


def test_a_function_that_holds_itself_is_alike_with_itself():
    def again(_):
        return part(again, h=D([0, 1]))

    one, two = signatures(lambda: part(again, h=D([0, 1])), lambda: part(again, h=D([0, 1])))
    assert one == two


def test_things_that_nothing_is_known_of_equal_themselves_alone():
    a, b = [1], [1]
    assert IdentityKey(a) == IdentityKey(a)
    assert hash(IdentityKey(a)) == hash(IdentityKey(a))
    assert IdentityKey(a) != IdentityKey(b)
    assert IdentityKey(a) != a


def test_basic_modules_have_no_signature():
    (module,) = begin(lambda: siso_module("M"), 5).root.modules
    with pytest.raises(TypeError, match="expected a substitution module, got Module M-0"):
        signature(module, (), {})
