"""Refusals say what is missing, and what was given."""

import math
from fractions import Fraction

import numpy as np
import pytest

import bostruct as bo
from bostruct.checks import (
    check_choice,
    check_integer,
    check_number,
    check_objective,
    has_hardly_grown,
    has_spread,
    require,
    short_repr,
    try_mutation,
)
from bostruct.contracts import (
    ChoiceDomain,
    DomainError,
    PredicateError,
    TreeDomain,
)
from tests.permutations import Permutations, Swaps

SPACE = bo.Space({"a": bool, "b": range(4)})


def test_a_refusal_names_method_domain_and_what_is_missing():
    assert require(SPACE.traits.tree, SPACE, TreeDomain, "mcts") is SPACE
    words = r"^method: wrs needs a domain of named choices, got Swaps, which is no bostruct\.contracts\.ChoiceDomain$"
    with pytest.raises(DomainError, match=words):
        require(Swaps(4).traits.choices, Swaps(4), ChoiceDomain, "wrs")
    orders = bo.Space({"a": bool, "order": bo.Permutation(["x", "y", "z"])})
    with pytest.raises(
        DomainError, match=r"got Space with the Permutation 'order' as the part 'p', which is not one choice$"
    ):
        require(orders.traits.tree, orders, TreeDomain, "mcts", " as the part 'p'")


@pytest.mark.parametrize(("method", "base"), [("wrs", "ChoiceDomain"), ("mcts", "TreeDomain"), ("tpe", "TreeDomain")])
def test_methods_refuse_at_the_door(method, base):
    said = rf"^method: {method} needs .*, got Permutations, which is no bostruct\.contracts\.{base}; auto, .* search"
    with pytest.raises(DomainError, match=said):
        bo.Study(Permutations(4), method=method)


def test_what_is_no_domain_is_refused_with_the_name_of_the_base():
    class Half:
        def sample(self, m, rng):
            raise AssertionError((m, rng))

    with pytest.raises(
        TypeError, match=r"space: expected .* or a bostruct\.contracts\.Domain \(subclass it\), got Half$"
    ):
        bo.Study(Half())


def test_a_point_without_another_has_no_mutation_and_a_predicate_that_fails_is_told():
    def broken(point):
        raise OSError(point)

    x = SPACE.sample(1, np.random.default_rng(0))[0]
    assert SPACE.key(try_mutation(SPACE, x, np.random.default_rng(0))) != SPACE.key(x)
    alone = bo.Space({"a": bool, "b": bool}, [lambda point: point["a"] and point["b"]])
    assert try_mutation(alone, np.array([1, 1]), np.random.default_rng(0)) is None
    with pytest.raises(PredicateError):
        try_mutation(bo.Space({"a": bool, "b": bool}, [broken]), np.array([1, 1]), np.random.default_rng(0))


def test_integers_of_more_digits_than_python_writes_are_refused_in_words():
    huge = 10**5000
    assert short_repr(huge).startswith("<int without a text: Exceeds the limit")
    assert len(short_repr([huge])) == 80
    for check, *given in (
        (check_integer, huge, 0, 5),
        (check_number, huge),
        (check_number, -huge, 0.0),
        (check_choice, huge, ["a"]),
    ):
        with pytest.raises(ValueError, match=r"^n: expected .* got <int without a text"):
            check("n", *given)


def test_a_faulty_repr_does_not_hide_the_refusal():
    class Faulty:
        def __repr__(self):
            raise RuntimeError("not yet built")

    with pytest.raises(TypeError, match=r"^n: expected an integer, got <Faulty without a text: not yet built>"):
        check_integer("n", Faulty(), 0)


@pytest.mark.parametrize(("value", "text"), [(np.float64("nan"), "nan"), (np.int64(7), "7.0"), (7, "7"), (2.5, "2.5")])
def test_numbers_are_refused_as_plain_numbers(value, text):
    with pytest.raises(ValueError, match=rf"x: expected a finite number in \[0.0, 1.0\], got {text}$"):
        check_number("x", value, 0.0, 1.0)


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({"above": 0.0}, "above 0"),
        ({"low": 0.0, "below": 1.0}, r"in \[0.0, 1.0\)"),
        ({"high": 1.0, "above": 0.0}, r"in \(0.0, 1.0\]"),
        ({"below": 0.5, "high": 1.0}, "below 0.5"),
        ({"low": 2.0}, "of at least 2"),
        ({"low": -math.inf, "high": 1.0}, "of at most 1"),
    ],
)
def test_bounds_that_are_not_allowed_themselves(bounds, told):
    ends = [bounds[name] for name in ("above", "below") if name in bounds]
    for wrong in [*ends, *([bounds["low"] - 1.0] if "low" in bounds else []), *([2.0] if "high" in bounds else [])]:
        with pytest.raises(ValueError, match=rf"^x: expected a finite number {told}, got {wrong}$"):
            check_number("x", wrong, **bounds)
    for end in ends:
        assert check_number("x", np.nextafter(end, 0.25), **bounds) == np.nextafter(end, 0.25)


def test_what_has_lines_is_told_in_one():
    assert short_repr(np.array([[1, 2], [3, 4]])) == "array([[1, 2], [3, 4]])"


@pytest.mark.parametrize("growth", [Fraction(1, 50), Fraction(1, 10), Fraction(1, 1)])
def test_counts_at_which_success_is_learned_anew(growth):
    learned, expected = [1], [1]
    for n in range(1, 2_000):
        if not has_hardly_grown([n, 5], [learned[-1], 5], float(growth)):
            learned.append(n)
    while (after := max(math.ceil(expected[-1] * (1 + growth)), expected[-1] + 1)) < 2_000:
        expected.append(after)
    assert learned == expected
    assert growth != Fraction(1, 50) or learned[:50] == list(range(1, 51))
    assert not has_hardly_grown([5, 9], [5, 10], float(growth))  # of other points than were learned from


@pytest.mark.parametrize(
    ("values", "rounding", "expected"),
    [
        ([5.0], 0.0, False),
        ([5.0, 5.0, 5.0], 0.0, False),
        ([1.0, 1.0 + 2.0**-50], 1e-13, False),
        ([1.0, 1.0 + 2.0**-50], 0.0, True),
        ([1e-200, 3e-200], 0.0, False),
        ([-1e300, 1e300], 1e-13, True),
    ],
)
def test_a_spread_is_more_than_rounding(values, rounding, expected):
    assert has_spread(np.array(values), rounding) == expected


def test_of_many_choices_the_first_are_listed():
    with pytest.raises(ValueError, match=r"^pair: expected one of b0, .*, b29 and 70 more; got 'b'\. Did you mean 'b"):
        check_choice("pair", "b", [f"b{i}" for i in range(100)])
    with pytest.raises(ValueError, match=r"^pair: expected one of b0, .*, b29; got 'x'$"):
        check_choice("pair", "x", {f"b{i}": i for i in range(30)})


def test_an_objective_is_one_of_those_declared():
    assert check_objective(1, 2) == 1
    for given, n, words in ((1, 1, "0, because there is one objective, got 1"), (2, 2, "between 0 and 1, got 2")):
        with pytest.raises(ValueError, match=f"^objective: expected {words}"):
            check_objective(given, n)
