"""Capabilities: which domain has which, and refusals that say what is missing."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import bostruct as bo
from bostruct import checks, contracts
from bostruct.checks import check_integer, check_number, has_capability, require, short_repr, try_mutation
from bostruct.contracts import Domain, DomainError, HasMutation, HasTokens, PredicateError
from bostruct.language import D, SearchSpace, siso_module
from tests.permutations import Described, Distant, Mutable, Permutations, Swaps

CAPABILITIES = {name[3:]: one for name, one in vars(contracts).items() if re.match("Has[A-Z]", name)}


def program():
    return siso_module("Dense", {"units": D([1, 2])})


SPACE = bo.Space({"a": bool, "b": range(4)})
NETWORKS = bo.mlp_domain()
BY_CHOICES = "Choices Crossover Decisions Mutation NamedDecisions Neighbors "
POSSESSIONS = [
    (
        SPACE,
        f"{BY_CHOICES} Candidates Combinations Continuous Listing Migration Neighborhoods QuickChanges ReadableKeys "
        "Tokens Variables",
    ),
    (NETWORKS, "Architectures Migration Mutation Pool"),
    (SearchSpace(program), f"{BY_CHOICES} Architectures CostlyTokens Spellings Tokens"),
    (bo.Space({"a": SPACE, "b": NETWORKS}), "Crossover Migration Mutation Parts Pool"),
    (bo.joint_domain({"a": SPACE, "b": SPACE}), f"{BY_CHOICES} Parts Pool"),
    (bo.joint_domain({"a": SPACE, "b": NETWORKS}), "Crossover Mutation Parts Pool"),
    (Permutations(4), ""),
    (Mutable(4), "Mutation"),
    (Swaps(4), "Mutation Neighbors"),
    (Distant(4), "Distances Mutation Neighbors"),
    (Described(4), "Features"),
]


@pytest.mark.parametrize(("domain", "expected"), POSSESSIONS, ids=lambda one: type(one).__name__)
def test_each_domain_has_its_capabilities_and_no_other(domain, expected):
    of_domains = {name for name, one in CAPABILITIES.items() if Domain in one.__mro__}
    assert {name for name in of_domains if has_capability(domain, CAPABILITIES[name])} == set(expected.split())
    assert checks.missing_members(domain, Domain) == []


def test_every_capability_of_the_page_is_runtime_checkable_and_says_what_is_needed():
    for capability in CAPABILITIES.values():
        assert not isinstance(object(), capability)
        assert not has_capability(object(), capability)
        assert capability.__doc__.startswith(("A ", "An ")), capability


def test_no_property_is_evaluated_to_find_out():
    class Costly(Mutable):
        @property
        def size(self):
            raise AssertionError("counted")

        @property
        def pool(self):
            raise AssertionError("drawn")

    assert has_capability(Costly(4), HasMutation)
    assert has_capability(Costly(4), contracts.HasPool)


def test_a_class_a_method_set_to_none_and_a_proxy():
    class Still(Swaps):
        mutate = None

    class Proxy:
        def __init__(self, domain):
            self._domain = domain

        def __getattr__(self, name):
            return getattr(self._domain, name)

    assert not has_capability(Swaps, contracts.HasNeighbors)
    assert not has_capability(Still(4), HasMutation)
    assert has_capability(Proxy(Swaps(4)), HasMutation)
    assert checks.missing_members(Proxy(Permutations(4)), HasMutation) == ["mutate"]


def test_a_refusal_names_method_domain_and_what_is_missing():
    assert require(SPACE, HasTokens, "smbo") is SPACE
    words = "^method: smbo needs a domain whose points have tokens, got Swaps, which lacks tokens$"
    with pytest.raises(DomainError, match=words):
        require(Swaps(4), HasTokens, "smbo")
    with pytest.raises(DomainError, match=r"which lacks coordinates, names, resample$"):
        require(Swaps(4), contracts.HasChoices, "wrs")


@pytest.mark.parametrize(
    ("method", "missing"),
    [
        ("annealing", "mutate"),
        ("evolution", "mutate"),
        ("regularized-evolution", "mutate"),
        ("hill-climbing", "mutate"),
        ("smbo", "tokens"),
        ("smac", "mutate"),
        ("wrs", "coordinates, names, resample"),
        ("mcts", "decisions, options, roll_out"),
    ],
)
def test_methods_refuse_at_the_door(method, missing):
    said = f"^method: {method} needs .*, got Permutations, which lacks {missing}; auto .*random search Permutations$"
    with pytest.raises(DomainError, match=said):
        bo.Study(Permutations(4), method=method)


def test_a_domain_that_is_not_finished_is_refused_by_what_it_lacks():
    class Half:
        def sample_unseen(self, seen, rng):
            raise AssertionError((seen, rng))

        def sample(self, m, rng):
            raise AssertionError((m, rng))

    with pytest.raises(TypeError, match=r"space: a domain has .*key, keys, take, join.*, which Half lacks"):
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
        (checks.check_choice, huge, ["a"]),
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
        ({"above": 0.0}, r"\(0.0, inf\)"),
        ({"low": 0.0, "below": 1.0}, r"\[0.0, 1.0\)"),
        ({"high": 1.0, "above": 0.0}, r"\(0.0, 1.0\]"),
        ({"below": 0.5, "high": 1.0}, r"\(-inf, 0.5\)"),
        ({"low": 2.0}, r"\[2.0, inf\)"),
    ],
)
def test_bounds_that_are_not_allowed_themselves(bounds, told):
    ends = [bounds[name] for name in ("above", "below") if name in bounds]
    for wrong in [*ends, *([bounds["low"] - 1.0] if "low" in bounds else []), *([2.0] if "high" in bounds else [])]:
        with pytest.raises(ValueError, match=rf"^x: expected a finite number in {told}, got {wrong}$"):
            check_number("x", wrong, **bounds)
    for end in ends:
        assert check_number("x", np.nextafter(end, 0.25), **bounds) == np.nextafter(end, 0.25)


def test_what_has_lines_is_told_in_one():
    assert short_repr(np.array([[1, 2], [3, 4]])) == "array([[1, 2], [3, 4]])"


@pytest.mark.parametrize("growth", [Fraction(1, 50), Fraction(1, 10), Fraction(1, 1)])
def test_counts_at_which_success_is_learned_anew(growth):
    learned, expected = [1], [1]
    for n in range(1, 2_000):
        if not checks.has_hardly_grown([n, 5], [learned[-1], 5], float(growth)):
            learned.append(n)
    while (after := max(math.ceil(expected[-1] * (1 + growth)), expected[-1] + 1)) < 2_000:
        expected.append(after)
    assert learned == expected
    assert growth != Fraction(1, 50) or learned[:50] == list(range(1, 51))
    assert not checks.has_hardly_grown([5, 9], [5, 10], float(growth))  # of other points than were learned from


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
    assert checks.has_spread(np.array(values), rounding) == expected
