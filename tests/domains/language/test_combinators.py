"""Larger parts made of smaller ones: which modules there are, what each reads, and what is refused."""

from itertools import islice, permutations
from math import factorial

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language import combinators
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.graph import Fragment, build_into
from bostruct.domains.language.program import Backend
from bostruct.language import D, OneOfKFactorial, SearchSpace, module, siso_module
from examples.language_figures import conv2d
from tests.domains.language.refusals import check_refusal


def named(*names):
    return [lambda name=name: siso_module(name) for name in names]


class Formula(Backend):
    """A backend that writes what a program computes: each module as a function of what it reads."""

    def make(self, node, inputs):
        return f"{node.kind}({', '.join(inputs.values())})"


def formulas(builder):
    """What each program of a space computes from x, in the order of choice."""
    space = SearchSpace(builder)
    return [space.present(x).compile(Formula(), {"in": "x"})["out"] for x in space.enumerate("depth")]


def join(n):
    return combinators.combiner(n, "Join")


def test_parts_in_a_row_feed_each_other():
    assert formulas(lambda: combinators.siso_sequential([make() for make in named("A", "B", "C")])) == ["C(B(A(x)))"]
    assert formulas(lambda: combinators.siso_sequential([siso_module("A")])) == ["A(x)"]
    assert formulas(lambda: combinators.preproc_apply_postproc(*named("A", "B", "C"))) == ["C(B(A(x)))"]
    check_refusal(lambda: combinators.siso_sequential([]), "io_lst: expected at least one part, got none")


def test_an_identity_hands_on_its_input_and_may_carry_a_hyperparameter():
    assert (formulas(combinators.identity), repr(combinators.IDENTITY)) == (["x"], "identity")
    assert formulas(lambda: combinators.hyperparameter_aggregator({"rate": D([1, 2])})) == ["x", "x"]


def test_one_part_is_chosen_by_position_or_by_key():
    assert formulas(lambda: combinators.siso_or(named("A", "B"), D([1, 0]))) == ["B(x)", "A(x)"]
    by_key = dict(zip("pqr", named("A", "B", "C"), strict=True))
    assert formulas(lambda: combinators.siso_or(by_key, D(["r", "p"]))) == ["C(x)", "A(x)"]

    def several():
        inputs, outputs = combinators.mimo_or(
            [lambda name=name: lang.module(name, {}, ["a", "b"], ["c"]) for name in "AB"], D([1]), ["a", "b"], ["c"]
        )
        return inputs, {"out": outputs["c"]}

    program = SearchSpace(several).specify([1]).program()
    assert program.compile(Formula(), {"a": "x", "b": "y"}) == {"out": "B(x, y)"}


def test_parts_are_repeated_or_left_out():
    assert formulas(lambda: combinators.siso_repeat(named("A")[0], D([3, 1]))) == ["A(A(A(x)))", "A(x)"]
    for values in ([1, 0], [True, False]):
        assert formulas(lambda values=values: combinators.siso_optional(named("A")[0], D(values))) == ["A(x)", "x"]


def test_a_part_grows_by_a_function_of_what_there_is():
    def grow(inputs, outputs):
        join_inputs, join_outputs = join(2)
        for i in range(2):
            join_inputs[f"in{i}"].connect(outputs["out"])
        return inputs, join_outputs

    expected = ["A(x)", "Join(A(x), A(x))", "Join(Join(A(x), A(x)), Join(A(x), A(x)))"]
    assert formulas(lambda: combinators.siso_nested_repeat(named("A")[0], grow, D([1, 2, 3]))) == expected
    ports = (["in"], ["out"])
    assert formulas(lambda: combinators.mimo_nested_repeat(named("A")[0], grow, D([1, 2, 3]), *ports)) == expected


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_all_orders_come_sorted(k):
    found = formulas(lambda: combinators.siso_permutation(named(*"ABCD"[:k]), OneOfKFactorial(k)))
    orders = ["".join(letter for letter in formula if letter.isupper())[::-1] for formula in found]
    assert (orders, len(orders)) == (sorted(set(orders)), factorial(k))


def test_parallel_parts_read_one_input():
    splits = formulas(lambda: combinators.siso_split_combine(named("A")[0], join, D([1, 3])))
    assert splits == ["Join(A(x))", "Join(A(x), A(x), A(x))"]
    assert formulas(lambda: combinators.siso_residual(*named("A", "B"), lambda: join(2))) == ["Join(A(x), B(x))"]


def test_each_application_in_a_dense_block_reads_all_before_it():
    def block(n, end):
        return formulas(lambda: combinators.dense_block(D([n]), D([end]), named("A")[0], join))

    assert (block(1, 0), block(1, 1), block(2, 0)) == (["A(x)"], ["Join(x, A(x))"], ["A(Join(x, A(x)))"])
    assert block(2, 1) == ["Join(x, A(x), A(Join(x, A(x))))"]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_combiner_has_so_many_inputs(n):
    with build_into(Fragment("", None)):
        inputs, outputs = join(n)
    assert list(inputs) == [f"in{i}" for i in range(n)]
    assert list(outputs) == ["out"]


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "3"])
def test_bad_repeat_counts(count):
    check_refusal(lambda: lang.siso_repeat(lambda: conv2d(1), D([count])), "SISORepeat: expected a number")

    def dependent():
        h = D([5, 6])
        return lang.siso_repeat(lambda: conv2d(1), lang.DependentHyperparameter(lambda _: count, {"h": h}))

    with pytest.raises(LanguageError, match=r"SISORepeat: expected a number"):
        SearchSpace(dependent).sample(1, np.random.default_rng(0))


def test_choices_outside_a_list_of_functions_are_refused_at_once():
    check_refusal(lambda: lang.siso_or([lambda: conv2d(1)], D([0, 1])), "SISOOr: idx: expected one of 0; got 1")
    check_refusal(lambda: lang.siso_permutation([lambda: conv2d(1)] * 2, D([2])), "perm_idx")


def test_parts_and_functions_that_build_them_are_told_apart():
    part = "expected a function that builds a part, got"
    check_refusal(lambda: lang.siso_repeat(conv2d(1), D([1])), f"SISORepeat: fn: {part}.*write `lambda: ...`")
    check_refusal(lambda: lang.siso_optional(conv2d(1), D([1])), f"SISOOptional: fn: {part}")
    check_refusal(lambda: lang.siso_or([conv2d(1)], D([0])), f"SISOOr: fn_lst: {part}")
    check_refusal(lambda: lang.siso_or([], D([0])), "SISOOr: fn_lst: expected at least one function")
    check_refusal(lambda: lang.siso_sequential([lambda: conv2d(1)]), "io_lst: expected parts.* at 0; call it")
    check_refusal(lambda: lang.siso_optional(lambda: conv2d(1), D(["no", "yes"])), "opt: expected True, False")
    nested = lambda: lang.siso_repeat(lambda: conv2d(1), lang.DependentHyperparameter(lambda _: 0, {"h": D([1])}))  # noqa: E731
    with pytest.raises(LanguageError, match="SISORepeat-0: SISORepeat: expected a number"):
        SearchSpace(nested).sample(1, np.random.default_rng(0))


def test_the_ends_of_a_chain_may_have_other_ports():
    def two_to_three():
        first, last = module("First", {}, ["in0", "in1"]), module("Last", {}, ["in"], ["out0", "out1", "out2"])
        inputs, outputs = combinators.siso_sequential([first, siso_module("Middle"), last])
        assert ([*inputs], [*outputs]) == (["in0", "in1"], ["out0", "out1", "out2"])
        return inputs, outputs

    program = SearchSpace(two_to_three).program()
    assert [node.kind for node in program.nodes] == ["First", "Middle", "Last"]
    assert program.inputs == ("in0", "in1")
    assert program.outputs == {f"out{i}": (2, f"out{i}") for i in range(3)}


def test_a_chain_may_begin_with_outputs_alone():
    def continued():
        inputs, outputs = siso_module("A")
        inputs_there, more = combinators.siso_sequential([(None, outputs), siso_module("B")])  # type: ignore[list-item]
        assert inputs_there is None
        return inputs, more

    assert formulas(continued) == ["B(A(x))"]


WITHOUT_PORTS = [
    (lambda: [siso_module("A"), module("B", {}, ["in0"])], 1),
    (lambda: [module("A", {}, ["in"], ["out0"]), siso_module("B")], 0),
    (lambda: [siso_module("A"), (None, siso_module("B")[1])], 1),
    (lambda: [(siso_module("A")[0], None), siso_module("B")], 0),
]


@pytest.mark.parametrize(("parts", "position"), WITHOUT_PORTS)
def test_parts_inside_a_chain_need_their_ports(parts, position):
    expected = rf"io_lst: expected an input 'in' of each part but the first and .*; got .* at {position}$"
    check_refusal(lambda: combinators.siso_sequential(parts()), expected)


def test_some_of_the_orders_are_those_of_these_positions():
    three = named("A", "B", "C")
    assert formulas(lambda: combinators.siso_permutation(three, D([0, 1]))) == ["C(B(A(x)))", "B(C(A(x)))"]
    assert formulas(lambda: combinators.siso_permutation(three, D([5, 2]))) == ["A(B(C(x)))", "C(A(B(x)))"]
    assert formulas(lambda: combinators.siso_permutation(named(*"ABCDEFGHIJ"), D([factorial(10) - 1]))) == [
        "A(B(C(D(E(F(G(H(I(J(x))))))))))"
    ]


def test_the_orders_of_many_parts_are_chosen_in_steps():
    space = SearchSpace(lambda: combinators.siso_permutation(named(*"ABCDEFGHI"), OneOfKFactorial(9)))
    assert [len(h.values) for h in space.hyperparameters] == [9, 8, 7, 6, 5, 4, 3, 2]
    orders = ["".join(node.kind for node in space.present(x).nodes) for x in islice(space.enumerate("depth"), 2_000)]
    assert orders == ["".join(order) for order in islice(permutations("ABCDEFGHI"), 2_000)]
    drawn = space.sample(200, np.random.default_rng(0))
    kinds = ["".join(node.kind for node in space.present(x).nodes) for x in drawn]
    assert all(sorted(order) == sorted("ABCDEFGHI") for order in kinds)
    firsts = [dict(x)["order_0"] for x in drawn]
    assert firsts == ["ABCDEFGHI".index(order[0]) for order in kinds]


def test_positions_that_are_no_order_are_refused():
    three = named("A", "B", "C")
    for value in (6, -1, True, 1.0, "0"):
        check_refusal(
            lambda value=value: combinators.siso_permutation(three, D([value])),
            r"SISOPermutation: perm_idx: expected an integer from 0 to 3! - 1, got ",
        )
