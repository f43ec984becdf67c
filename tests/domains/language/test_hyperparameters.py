"""Grids of numbers: inside their ranges, ascending, exact where they are integers."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.domains.language.errors import ForeignHyperparameter, NameClash
from bostruct.domains.language.graph import Fragment, build_into
from bostruct.domains.language.hyperparameters import (
    Bool,
    D,
    FloatRange,
    HyperparameterSharer,
    IntRange,
    OneOfK,
    OneOfKFactorial,
    independent_ancestors,
)
from bostruct.language import DependentHyperparameter, Exact, SearchSpace, siso_module, siso_optional, siso_sequential
from tests.domains.language.refusals import check_refusal


def values(make):
    return SearchSpace(lambda: siso_module("A", {"x": make()})).hyperparameters[0].values


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(FLOATS, FLOATS, st.integers(1, 9))
def test_floats_stay_in_their_range(a, b, steps):
    low, high = min(a, b), max(a, b)
    found = values(lambda: FloatRange(low, high, steps))
    assert all(x < y for x, y in pairwise(found))
    assert found[0] == low
    assert found[-1] == (high if steps > 1 else low)
    assert all(map(math.isfinite, found))


@given(st.integers(-(2**53), 2**53), st.integers(-(2**53), 2**53), st.integers(2, 9))
def test_integers_are_exact(a, b, steps):
    low, high = min(a, b), max(a, b)
    found = values(lambda: IntRange(low, high, steps))
    wanted = [low + Fraction((high - low) * i, steps - 1) for i in range(steps)]
    assert set(found) == {round(x) for x in wanted}
    assert list(found) == sorted(found)


@given(st.integers(1, 2**53), st.integers(1, 2**53), st.integers(1, 9))
def test_logarithmic_integers_stay_in_their_range(a, b, steps):
    low, high = min(a, b), max(a, b)
    found = values(lambda: IntRange(low, high, steps, log=True))
    assert found[0] == low
    assert found[-1] == (high if steps > 1 else low)
    assert list(found) == sorted(found)


VALUES = [
    (lambda: IntRange(10**12 + 1, 10**12 + 9, 3), (10**12 + 1, 10**12 + 5, 10**12 + 9)),
    (lambda: IntRange(2**53 - 2, 2**53, 3), (2**53 - 2, 2**53 - 1, 2**53)),
    (lambda: FloatRange(1e9 + 0.0001, 1e9 + 0.0003, 3), (1e9 + 0.0001, 1e9 + 0.0002, 1e9 + 0.0003)),
    (lambda: FloatRange(-1e308, 1e308, 3), (-1e308, 0.0, 1e308)),
    (lambda: FloatRange(1e-5, 0.1, 5, log=True), (1e-5, 1e-4, 1e-3, 1e-2, 0.1)),
    (lambda: IntRange(1, 1_000, 5, log=True), (1, 6, 32, 178, 1_000)),
]


@pytest.mark.parametrize(("make", "wanted"), VALUES)
def test_values(make, wanted):
    assert values(make) == wanted


def test_integers_too_many_to_list_are_refused():
    with pytest.raises(ValueError, match=r"steps: expected a number for 0 to 30000000"):
        values(lambda: IntRange(0, 30_000_000))


@given(st.integers(1, 8))
def test_choices_of_k_things_and_of_their_orders(k):
    assert values(lambda: OneOfK(k)) == tuple(range(k))
    if k < 6:
        assert values(lambda: OneOfKFactorial(k)) == tuple(range(math.factorial(k)))
    assert values(Bool) == (0, 1)


REFUSED_RANGES = [
    (lambda: OneOfK(0), "k: expected at least 1, got 0"),
    (lambda: OneOfKFactorial(101), "k: expected between 1 and 100, got 101"),
    (lambda: IntRange(3, 2), "high: expected between 3 and"),
    (lambda: IntRange(0, 5, log=True), "low with log=True: expected at least 1, got 0"),
    (lambda: IntRange(1, 5, 0), "steps: expected between 1 and"),
    (lambda: FloatRange(0.0, 1.0, 3, log=True), "low with log=True: expected a finite number above 0, got 0"),
    (lambda: FloatRange(1.0, 0.5, 3), "high: expected"),
    (lambda: FloatRange(0.0, float("inf"), 3), "high: expected"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED_RANGES)
def test_ranges_that_are_none_are_refused_by_the_argument(make, words):
    with pytest.raises(ValueError, match=words):
        values(make)


def test_the_ancestors_of_a_value_are_what_it_follows_from_each_once_and_nearest_first():
    with build_into(Fragment("", None)):
        a, b, c = D([1]), D([2]), D([3])
        near = DependentHyperparameter(sum, {"y": b, "x": a})
        far = DependentHyperparameter(sum, {"n": near, "c": c, "b": b})
    assert (independent_ancestors(a), independent_ancestors(near)) == ((a,), (a, b))
    assert independent_ancestors(far) == (b, c, a)


def test_long_chains_of_ancestors_are_followed_without_recursion():
    with build_into(Fragment("", None)):
        first = D([1])
        h = DependentHyperparameter(len, {"x": first})
        for _ in range(5_000):
            h = DependentHyperparameter(len, {"x": h})
    assert independent_ancestors(h) == (first,)


def test_a_shared_hyperparameter_belongs_to_the_part_that_registers_it():
    def space():
        sharer = HyperparameterSharer()
        sharer.register("rate", lambda: D([1, 2, 3]))
        sharer.register("scaled", lambda: DependentHyperparameter(lambda dh: 10 * dh["r"], {"r": sharer.get("rate")}))
        part = lambda: siso_module("A", {"rate": sharer.get("rate"), "scaled": sharer.get("scaled")})  # noqa: E731
        one, other = siso_optional(part, D([0, 1])), siso_optional(part, D([0, 1]))
        return siso_sequential([one, other])

    built = SearchSpace(space)
    traces = [*built.enumerate("depth")]
    assert len(traces) == 1 + 3 * 3
    assert {path for trace in traces for path in trace} == {"SISOOptional-0.opt", "SISOOptional-1.opt", "rate"}
    assert built.count() == Exact(10)
    for trace in traces:
        values = [node.values for node in built.present(trace).nodes]
        assert values == [{"rate": trace["rate"], "scaled": 10 * trace["rate"]}] * len(values) if values else True


def test_what_is_registered_outside_belongs_to_each_space_that_asks():
    sharer = HyperparameterSharer()
    sharer.register("rate", lambda: D([1, 2]))
    part = lambda: siso_module("A", {"rate": sharer.get("rate")})  # noqa: E731
    space = lambda: siso_sequential([siso_optional(part, D([0, 1])), siso_optional(part, D([0, 1]))])  # noqa: E731
    first, second = SearchSpace(space), SearchSpace(space)
    later = second.replay({"SISOOptional-0.opt": 0, "SISOOptional-1.opt": 1, "rate": 2})
    sooner = first.replay({"SISOOptional-0.opt": 1, "SISOOptional-1.opt": 0, "rate": 2})
    assert later.program() == sooner.program()
    assert first.count() == second.count() == Exact(1 + 3 * 2)


def test_sharers_refuse_what_has_no_home():
    def inside():
        sharer = HyperparameterSharer()

        def registering():
            sharer.register("rate", lambda: D([1, 2]))
            return siso_module("A", {"rate": sharer.get("rate")})

        reading = lambda: siso_module("B", {"rate": sharer.get("rate")})  # noqa: E731
        return siso_sequential([siso_optional(reading, D([1])), siso_optional(registering, D([1]))])

    with pytest.raises(ForeignHyperparameter, match=r"'rate' is registered in SISOOptional-1\[1\], which does not"):
        SearchSpace(inside).specify([1, 1, 1, 1])

    def twice():
        sharer = HyperparameterSharer()
        for _ in range(2):
            sharer.register("rate", lambda: D([1, 2]))
        return siso_module("A")

    check_refusal(twice, "'rate' is registered already in the whole space", NameClash)
    unknown = lambda: siso_module("A", {"x": HyperparameterSharer().get("rate")})  # noqa: E731
    check_refusal(unknown, r"expected a registered name \(none\), got 'rate'")
    check_refusal(lambda: HyperparameterSharer().register("a b", len), "name: expected letters")
    check_refusal(lambda: HyperparameterSharer().register("a", 3), "expected a name and a function")
    check_refusal(lambda: HyperparameterSharer().register("a", lambda: 3), "a function that makes a hyperparameter")
