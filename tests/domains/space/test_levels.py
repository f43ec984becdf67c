"""Listed numbers that meet floats: which number counts as a level, wherever a user gives one."""

import json
import time
import warnings
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.clauses import AllOf, Compare, IsIn, Not, ValueOf
from bostruct.domains.space.levels import Levels, accept_rounded, is_level, note_under, read_exact

TENTHS = np.linspace(0, 1, 11).tolist()  # of which the fourth is 0.30000000000000004
SUM = 0.1 + 0.2


def path(numbers):
    return nx.path_graph(numbers)


KINDS = [
    bo.Ordinal(TENTHS),
    bo.Categorical(TENTHS),
    bo.Categorical([None, "auto", *TENTHS]),
    bo.Fidelity([0.1, 0.2, 0.30000000000000004, 0.4]),
    bo.Graph(path(TENTHS)),
    bo.Candidates({"label": TENTHS, "x": range(11)}, label="label"),
]


@pytest.mark.parametrize("variable", KINDS, ids=lambda one: f"{one.kind}{one.size}")
@pytest.mark.parametrize(
    "given", [0.3, SUM, np.float64(0.3), np.float32(0.3), Decimal("0.3"), Fraction(3, 10), 0.3 + 9e-8]
)
def test_a_number_that_floats_moved_is_the_level(variable, given):
    level = variable.choices.index(0.30000000000000004)
    assert variable.parse(given) == [level]
    assert variable.present(variable.parse(given)) == 0.30000000000000004
    space = bo.Space({"x": variable})
    assert space.key(space.parse({"x": given})) == space.key(space.parse({"x": 0.30000000000000004}))
    assert space.decode({"x": 0.3}).tolist() == [level]


@pytest.mark.parametrize("variable", KINDS, ids=lambda one: f"{one.kind}{one.size}")
@pytest.mark.parametrize("given", [0.3 + 1.1e-7, 0.31, -0.3, 0.35])
def test_anything_between_is_refused_and_the_nearest_is_named(variable, given):
    nearest = min((one for one in variable.choices if isinstance(one, float)), key=lambda one: abs(one - given))
    with pytest.raises(PointError, match=rf"got {given!r}; the nearest is {nearest!r}"):
        variable.parse(given)


@pytest.mark.parametrize("given", ["0.3", None, float("nan"), float("inf"), 3 + 0j, [0.3], np.array([0.3])])
def test_what_is_no_number_is_no_level(given):
    with pytest.raises(PointError, match="expected one of"):
        bo.Ordinal(TENTHS).parse(given)
    assert Levels(TENTHS).find_nearest(given) is None


SCALES = [
    ([0, 1e-300, 2e-300], 1e-300 * (1 + 1e-9), 1),
    ([0, 1e-300, 2e-300], 1e-300 * (1 + 1e-5), None),
    ([5e-324, 1e-323], 1.5e-323, None),
    ([-1.7e308, 1.7e308], 1.7e308 * (1 - 1e-9), 1),  # a gap beyond float64
    ([-(10**400), 0, 10**400], 10**400 + 1, 2),
    ([-0.3, -0.2, -0.1], -0.1 - 0.2, 0),
    ([1.0, 1.0 + 1e-9], np.float32(1.0), 0),  # exact
    ([1.0, 1.0 + 1e-9], 1.0 + 4e-10, None),  # float32 does not tell the levels apart
    ([0.1, 0.1 + 1e-5], np.float32(0.1).item(), 0),  # by float32 alone
    ([16777217, 16777219], 16777216, None),  # an integer, which nothing rounded
    ([16777217, 16777219], np.int64(16777216), None),
    ([16777217, 16777219], np.float32(16777217), 0),
    ([0, 1e-50], 1e-51, None),  # zero in float32, as the levels are
    ([1e300, 1.1e300], 1.05e300, None),  # infinite in float32
    (["a", 0.3], SUM, 1),  # one number has no gap
    (["a", 0.3], 0.3001, None),
    ([0.0, float("inf")], 1e-9, None),
    ([True, False, 0.5], 0.9999999999, None),  # a bool is no level
    ([1, 2, 4], 2.0000001, 1),
    (["1", "2"], 1.0, None),
    ([Fraction(1, 3), Fraction(2, 3)], 1 / 3, 0),
    ([Decimal("0.1"), Decimal("0.2")], 0.1, 0),
]


@pytest.mark.parametrize(("levels", "given", "expected"), SCALES)
def test_scales_and_types(levels, given, expected):
    variable = bo.Ordinal(levels)
    if expected is None:
        with pytest.raises(PointError):
            variable.parse(given)
    else:
        assert variable.parse(given) == [expected]


def test_a_level_that_is_given_exactly_is_itself_however_near_another_is():
    variable = bo.Ordinal([0.3, SUM, 1.0])
    assert [variable.parse(one) for one in (0.3, SUM)] == [[0], [1]]
    assert bo.Categorical([1, True and "yes", "1"]).parse(1.0) == [0]
    assert bo.Binary().parse(1) == [1]


@pytest.mark.parametrize("high", [9, 9000])
@pytest.mark.parametrize("log", [False, True])
def test_integers_follow_the_rule_whether_they_are_listed_or_not(high, log):
    variable = bo.Integer(1, high, log=log)
    assert variable.present(variable.parse(0.1 * 30)) == 3
    assert variable.parse(1 - 1e-9) == [0]
    for given in (2.99, 3.5, 0.4, high + 0.7, 10**400, float("nan"), float("inf")):
        with pytest.raises(PointError):
            variable.parse(given)


BETWEEN_INTEGERS = [
    ((0, 10**8), 9000000.4, 9000000),
    ((0, 10**8), 16777217.5, 16777218),
    ((1, 10**8), 99999999.7, 100000000),
    ((16777000, 16777500), 16777217.7, 16777218),  # listed
    ((0, 2**53), 2.0**51 + 0.5, 2**51),
]


@pytest.mark.parametrize(("bounds", "given", "nearest"), BETWEEN_INTEGERS)
@pytest.mark.parametrize("log", [False, True])
def test_numbers_between_integers_are_refused_however_large(bounds, given, nearest, log):
    variable = bo.Integer(max(bounds[0], 1), bounds[1], log=log)
    with pytest.raises(PointError, match=rf"got {given!r}; the nearest is {nearest}"):
        variable.parse(given)
    assert variable.present(variable.parse(nearest + 0.0)) == nearest


def test_a_number_that_is_listed_asks_for_no_levels():
    variable = bo.Ordinal(TENTHS)
    assert variable.parse(0.1) == [1]
    assert "_levels" not in vars(variable)


def test_ten_thousand_levels_are_not_compared_one_by_one():
    table = bo.Candidates({"x": np.arange(10_000.0)})
    begun = time.perf_counter()
    assert [table.parse(i + 1e-9)[0] for i in range(10_000)] == list(range(10_000))
    assert time.perf_counter() - begun < 5.0  # 10^8 comparisons take longer


def test_the_items_of_orders_subsets_and_sequences_are_levels():
    thirds = [1 / 3, 2 / 3, 0.30000000000000004]
    assert bo.Permutation(thirds).parse([0.3, 1 / 3, 2 / 3]) == [2, 0, 1]
    assert bo.Subset(thirds, size=1).parse([0.3]) == [0, 0, 1]
    assert bo.Sequence(thirds, length=2).parse([0.3, 1 / 3]) == [2, 0]
    assert bo.Permutation(thirds, resources={1 / 3: "a", 2 / 3: "a", 0.3: "b"}).resources == ("a", "a", "b")


@pytest.mark.parametrize("when", [0.3, bo.OneOf(0.3, 0.5), Compare("==", 0.3), IsIn((0.3,)), Compare("<=", 0.3)])
def test_conditions_name_levels(when):
    space = bo.Space({"x": bo.Ordinal(TENTHS), "y": bo.Categorical(["a", "b"], when={"x": when})})
    assert space.parse({"x": SUM, "y": "a"}).tolist() == [3, 0]
    with pytest.raises(PointError, match="y: expected no value"):
        space.parse({"x": 0.4, "y": "a"})
    again = bo.Space.from_json(json.loads(json.dumps(space.to_json())))
    assert again.n_points == space.n_points


@pytest.mark.parametrize("test", [Compare("==", 0.3), IsIn((0.3, 0.30000000000000004)), AllOf((Compare(">=", 0.25),))])
@pytest.mark.parametrize("is_mixed", [False, True])
def test_clauses_of_constraints_name_levels(test, is_mixed):
    others = {"inner": {"flag": bool}} if is_mixed else {"flag": bool}
    clause = Not(AllOf((ValueOf("x", test), ValueOf("x", Compare("<=", 0.3)))))
    space = bo.Space({"x": bo.Ordinal(TENTHS), **others}, [clause])
    values = {"inner": {"flag": True}} if is_mixed else {"flag": True}
    with pytest.raises(PointError, match="breaks the constraint"):
        space.parse({"x": 0.3, **values})
    assert space.present(space.parse({"x": 0.4, **values}))["x"] == 0.4
    if not is_mixed:
        assert bo.Space.from_json(json.loads(json.dumps(space.to_json()))) == space


def test_a_clause_between_levels_is_refused_and_one_of_an_order_is_not():
    space = {"x": bo.Ordinal(TENTHS), "flag": bool}
    with pytest.raises(DomainError, match=r"got 0\.35; the nearest is"):
        bo.Space(space, [ValueOf("x", Compare("==", 0.35))])
    assert bo.Space(space, [ValueOf("x", Compare("<", 0.35))]).size == 8


def test_defaults_initial_points_and_added_points_name_levels():
    space = bo.Space({"x": bo.Ordinal(TENTHS, default=0.3), "y": bo.Real(0, 1)})
    assert space.variables["x"].default_columns == (3,)
    study = bo.Study(space, method="random", seed=0, initial_points=[{"x": 0.3, "y": 0.5}])
    assert study.initial_points == ({"x": 0.30000000000000004, "y": 0.5},)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no second number on one step
        added = [study.add({"x": one, "y": 0.1}, 1.0) for one in (0.3, SUM, np.float32(0.3))]
    assert [trial.point["x"] for trial in added] == [0.30000000000000004] * 3
    assert all("given" not in trial.info for trial in added)
    assert study.result.predict is not None


def test_labels_of_descriptors_name_levels():
    import pandas as pd

    frame = pd.DataFrame({"size": [3.0, 2.0, 1.0]}, index=[0.3, 0.2, 0.1])
    variable = bo.Categorical([0.1, 0.2, SUM], descriptors=frame)
    assert variable.likeness.row(2) == (3.0,)


ROUNDED = [
    ([1 / 3, 2 / 3, 1.0], 0.33, 0),
    ([1 / 3, 2 / 3, 1.0], 0.7, 1),
    ([0.301, 0.299, 1.0], 0.3, None),  # two round to it
    ([1 / 3, 2 / 3], 0.34, None),  # none does
    ([0.125, 0.5], 0.13, 0),  # halves are rounded up and down
    ([0.125, 0.5], 0.12, 0),
    ([0.145, 0.5], 0.15, 0),
    ([-1 / 3, 1 / 3], -0.33, 0),
    ([0.9, 1.6], 1, None),  # an integer is written in full
    ([1e-5 / 3, 1e-3 / 3], 3.33e-06, 0),
    ([1 / 3, 2 / 3], np.float32(0.33).item(), 0),
]


@pytest.mark.parametrize(("levels", "given", "expected"), ROUNDED)
def test_rounded_numbers_are_levels_where_they_are_accepted(levels, given, expected):
    variable = bo.Ordinal(levels)
    with pytest.raises(PointError, match="the nearest is"):
        variable.parse(given)
    with accept_rounded() as rounded, note_under("x"):
        if expected is None:
            with pytest.raises(PointError, match="the nearest is"):
                variable.parse(given)
            assert not rounded.found
            return
        assert variable.parse(given) == variable.parse(given) == [expected]
    assert rounded.found["x"] == (2, given, levels[expected])
    assert str(rounded) == f"\n- x: 2 such, the first {given!r}, read as {levels[expected]!r}"
    with pytest.raises(PointError):
        variable.parse(given)  # the block is over


def test_a_level_beside_levels():
    assert is_level(3.0000001, 3, (2, 4))
    assert not is_level(3.00001, 3, (2, 4))
    assert not is_level("3", 3, (2, 4))
    assert read_exact(True) is None
    assert read_exact(np.longdouble(0.5)) == 0.5
