"""Spaces some of whose values are other domains: laws, brute force on small ones, conditions across parts, refusals."""

import itertools
import math
import re

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import (
    INFINITE,
    AtLeast,
    DomainError,
    Exact,
    Infeasible,
    PointError,
    PredicateError,
    SpaceExhausted,
)
from bostruct.domains.mixed import MixedSpace
from bostruct.domains.space.space import Space
from bostruct.language import D, SearchSpace, siso_module, siso_optional, siso_sequential
from bostruct.methods import METHODS
from bostruct.searchers.baselines import HillClimbing
from bostruct.testing import check_domain
from bostruct.testing.change_laws import check_neighbors
from bostruct.testing.searcher_laws import check_searcher
from tests.architectures import SMALL_CNN, SMALL_MLP
from tests.methods.mixed_space import NESTED, nested_objective

WIDE = bo.OneOf({"depth": 2, "wide": True}, {"depth": 3, "wide": True})


def is_deep(part: dict) -> bool:
    return part["depth"] > 1


def agrees(point: dict) -> bool:
    return point["optimizer"] == "adam" or not point["inner"]["wide"]


INNER = {"depth": [1, 2, 3], "wide": bool}
MOMENTUM = bo.Ordinal([0.0, 0.5, 0.9], when={"optimizer": "sgd", "inner": is_deep})
RATE = bo.Categorical(["low", "high"], when={"inner": WIDE})
SMALL = bo.Space({"optimizer": ["sgd", "adam"], "inner": INNER, "momentum": MOMENTUM, "rate": RATE}, [agrees])
LOG_RATE, BATCH = bo.Real(1e-5, 1e-1, log=True), bo.Integer(1, 100_000, log=True)
DECAY = bo.Real(0.0, 1.0, when={"network": lambda network: len(network.layers) > 6})
TRAINED = bo.Space({"rate": LOG_RATE, "network": SMALL_CNN, "decay": DECAY, "batch": BATCH})
SPARSE = bo.Space({"k": list(range(900)), "inner": {"b": bool}}, [lambda point: point["k"] % 400 == 0])


def endless():
    layer = siso_module("Layer", {"units": D(list(range(200)))})
    return siso_sequential([layer, siso_optional(endless, D([0, 1]))])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def list_by_hand() -> list[dict]:
    """The valid points of SMALL, from what its conditions and its constraint say."""
    found = []
    for optimizer, depth, wide in itertools.product(["sgd", "adam"], [1, 2, 3], [False, True]):
        inner = {"depth": depth, "wide": wide}
        momenta = [0.0, 0.5, 0.9] if optimizer == "sgd" and depth > 1 else [None]
        rates = ["low", "high"] if wide and depth > 1 else [None]
        for momentum, rate in itertools.product(momenta, rates):
            point = {"optimizer": optimizer, "inner": inner, "momentum": momentum, "rate": rate}
            found.append({name: value for name, value in point.items() if value is not None})
    return [point for point in found if agrees(point)]


class TestLaws:
    @pytest.mark.parametrize("space", [SMALL, TRAINED, bo.Space({"a": SMALL_MLP, "b": SMALL_CNN, "c": bool}), NESTED])
    def test_a_mixed_space_is_a_domain(self, space, rng):
        assert isinstance(space, MixedSpace)
        check_domain(space, rng, rebuildable=not space.constraints and not space.tests)

    def test_the_points_are_those_listed_by_hand(self, rng):
        expected = [SMALL.key(SMALL.parse(point)) for point in list_by_hand()]
        assert SMALL.count() == Exact(len(expected))
        seen: set = set()
        for _ in expected:
            x = SMALL.sample_unseen(frozenset(seen), rng)
            SMALL.check(x)
            seen.add(x.key)
        assert seen == set(expected)
        with pytest.raises(SpaceExhausted, match=f"no unseen point of the space was found; {len(seen)} were seen"):
            SMALL.sample_unseen(frozenset(seen), rng)
        assert set(SMALL.keys(SMALL.sample(1_000, rng))) == set(expected)

    def test_neighbors_are_valid_and_differ_in_one_part(self, rng):
        for x in SMALL.sample(30, rng):
            check_neighbors(SMALL, x, rng)
            shown = SMALL.present(x)
            for other in map(SMALL.present, SMALL.neighbors(x)):
                if shown["inner"] == other["inner"]:
                    assert sum(shown[name] != other[name] for name in shown.keys() & other.keys()) <= 1

    def test_all_decisions_lead_to_all_points(self, rng):
        """The tree of decisions, walked whole; leaves that break the constraint are refused."""
        found, begun = [], [()]
        while begun:
            made = begun.pop()
            if n := SMALL.options(made):
                begun += [(*made, one) for one in range(n)]
                continue
            try:
                found.append(SMALL.roll_out(made, rng))
            except Infeasible:
                continue
            assert SMALL.decisions(found[-1]) == made
        expected = [SMALL.key(SMALL.parse(point)) for point in list_by_hand()]
        assert sorted(SMALL.keys(found)) == sorted(expected)

    def test_choices_go_by_the_names_of_their_parts(self, rng):
        x = SMALL.parse({"optimizer": "sgd", "inner": {"depth": 2, "wide": False}, "momentum": 0.5})
        assert SMALL.names(x) == ("optimizer", "momentum", "inner.depth", "inner.wide")
        y = SMALL.resample(x, ["inner.depth"], rng)
        assert SMALL.present(y)["inner"]["depth"] in (1, 3)
        assert SMALL.present(y).get("momentum", 0.5) == 0.5

    def test_names_with_dots_are_told_apart(self, rng):
        space = bo.Space({"a.b": [1, 2], "a": {"b": [3, 4], "c.d": bool}, "a.c": {"d": [5, 6]}})
        check_domain(space, rng)
        x = space.parse({"a.b": 1, "a": {"b": 3, "c.d": True}, "a.c": {"d": 5}})
        assert space.names(x) == ("a.b", "a..b", "a..c.d", "a.c..d")
        assert space.present(space.resample(x, ["a..b"], rng))["a"]["b"] == 4

    def test_a_child_has_the_values_of_its_parents(self, rng):
        space = bo.Space({"inner": INNER, "rate": bo.Ordinal(list(range(50)), when={"inner": is_deep})})
        x = space.parse({"inner": {"depth": 1, "wide": False}})
        y = space.parse({"inner": {"depth": 3, "wide": True}, "rate": 37})
        rates = [space.present(space.crossover(x, y, rng)).get("rate") for _ in range(40)]
        assert set(rates) == {None, 37}

    def test_neighbors_of_a_large_part_are_drawn_without_listing_them(self, rng):
        space = bo.Space({"program": SearchSpace(endless), "b": bool})
        x = space.sample(1, rng)[0]
        drawn = space.sample_neighbors(x, 16, rng)
        assert len({y.key for y in drawn}) == 16

    def test_all_valid_neighbors_are_drawn_however_few_they_are(self, rng):
        space, x = SPARSE, SPARSE.sample(1, rng)[0]
        near = {y.key for y in space.neighbors(x)}
        assert len(near) == 3
        for _ in range(30):
            assert {y.key for y in space.sample_neighbors(x, 16, rng)} == near
            assert len({y.key for y in space.sample_neighbors(x, 2, rng)} & near) == 2

    def test_no_more_neighbors_of_programs_are_drawn_than_that(self, rng):
        asked = []
        space = bo.Space({"program": SearchSpace(endless), "b": bool}, [lambda _: asked.append(0) or len(asked) == 1])
        x = space.sample(1, rng)[0]
        assert space.sample_neighbors(x, 16, rng) == []
        assert len(asked) < 3_000

    def test_a_climb_visits_all_valid_neighbors_before_it_starts_again(self):
        for seed in range(5):
            climb = HillClimbing(SPARSE, n_initial=1)
            result = bo.minimize(lambda point: point["k"] + point["inner"]["b"], SPARSE, 6, method=climb, seed=seed)
            for i, trial in enumerate(result.trials):
                if trial.info["origin"] == "random":
                    before = [SPARSE.parse(one.point) for one in result.trials[:i]]
                    best = SPARSE.parse(min(result.trials[:i], key=lambda one: one.value).point)
                    assert set(SPARSE.keys(SPARSE.neighbors(best))) <= set(SPARSE.keys(before))

    def test_branches_have_equal_chance(self, rng):
        """Whether momentum exists depends on a part; its three values are equally likely where it does."""
        free = bo.Space({"inner": INNER, "momentum": bo.Ordinal([0.0, 0.5, 0.9], when={"inner": is_deep})})
        found = [free.present(x).get("momentum") for x in free.sample(3_000, rng)]
        counts = [found.count(value) for value in (None, 0.0, 0.5, 0.9)]
        assert counts[0] == pytest.approx(1_000, abs=110)  # four standard deviations
        assert counts[1:] == pytest.approx([667] * 3, abs=100)


COUNTS = [
    (TRAINED, INFINITE),
    (bo.Space({"rate": bo.Real(0.0, 1.0), "inner": INNER}), INFINITE),
    (bo.Space({"rate": bo.Real(0.0, 1.0), "inner": INNER}, [lambda _: True]), INFINITE),
    (bo.Space({"a": bool, "inner": {"pair": bo.joint_domain({"x": {"y": bo.Real(0.0, 1.0)}})}}), INFINITE),
    (bo.Space({"a": bool, "inner": {"x": bo.Real(0.0, 1.0)}}, [lambda _: True]), INFINITE),
    (bo.Space({"a": bo.Integer(1, 9, when={"p": lambda _: True}), "p": SearchSpace(endless)}), INFINITE),
    (bo.Space({"a": bool, "p": SearchSpace(endless)}, [lambda _: True]), AtLeast(1)),
    (bo.Space({"a": bo.Integer(1, 10**9, when={"inner": is_deep}), "inner": INNER}), AtLeast(1)),
    (bo.Space({"a": bo.Integer(1, 10**9), "inner": INNER}, [lambda _: True]), AtLeast(1)),
    (bo.Space({"a": bo.Integer(1, 10**9), "inner": INNER}), Exact(6 * 10**9)),
]


class TestForm:
    def test_a_point_is_one_dict_in_the_order_given(self, rng):
        for x in TRAINED.sample(20, rng):
            point = TRAINED.present(x)
            deep = len(point["network"].layers) > 6
            assert list(point) == ["rate", "network", *(["decay"] if deep else []), "batch"]

    @pytest.mark.parametrize(("space", "count"), COUNTS)
    def test_the_count_is_infinite_where_a_number_is_real(self, space, count):
        assert space.count() == count

    def test_a_notebook_shows_a_table(self):
        inner = {"flip": bool, "deep": {"<x>": [1, 2]}, "pair": bo.joint_domain({"end": {"y": bool}})}
        space = bo.Space({"network": SMALL_CNN, "b": bo.Binary(when={"network": lambda _: True}), "inner": inner})
        html = space._repr_html_()
        names = re.findall("<th>(.*?)</th>", html)
        assert names == ["network", "b", "inner", "flip", "deep", "&lt;x&gt;", "pair", "end", "y"]
        assert "<td>ArchitectureDomain(cnn, " in html
        assert "<td>Categorical([1, 2])</td>" in html
        assert "<caption>Space of 1 variables and 2 other domains</caption>" in html
        ruled = bo.Space({"a": bool, "b": [1, 2], "c": INNER}, [agrees])
        assert "2 variables and 1 other domains, 1 constraint</caption>" in ruled._repr_html_()

    def test_without_another_domain_it_is_a_space(self):
        assert type(bo.Space({"a": bool})) is Space
        assert not isinstance(SMALL, Space)

    def test_neighbors_are_there_where_all_parts_have_them(self):
        assert SMALL.traits.local is SMALL
        assert TRAINED.traits.mutable
        assert TRAINED.traits.local is None

    def test_rare_points_are_reached_by_changes(self, rng):
        def is_rare(point: dict) -> bool:
            return sum(point[f"b{i}"] for i in range(8)) == 8 and point["inner"]["depth"] > 1

        space = bo.Space({**{f"b{i}": bool for i in range(8)}, "inner": INNER, "rate": bo.Real(0.0, 1.0)}, [is_rare])
        drawn = space.sample(200, rng)
        assert all(is_rare(space.present(x)) for x in drawn)
        assert len({x.key for x in drawn}) > 100


REFUSED = [
    ({"a": 7, "b": INNER}, "a: expected Binary.*another domain.*got 7"),
    ({"": INNER}, "variables: expected names that are non-empty strings, got ''"),
    ({"a": bo.Real(0, 1, when={"c": True}), "b": INNER}, "a: when: there is no variable 'c'"),
    (
        {"b": INNER, "a": bo.Real(0, 1, when={"b.wide": True}), "c": bool},
        r"^a: when: there is no variable 'b.wide' in its dict; expected one of \['b', 'c'\]; a condition uses names "
        r"of its own dict, and tests b as a whole, against a point or by a predicate$",
    ),
    (
        {"o": bool, "b": {"x": bo.Real(0, 1, when={"o": True}), "y": bool}},
        r"^b: x: when: there is no variable 'o' in its dict; expected one of \['y'\]; a condition uses names of its "
        "own dict$",
    ),
    (
        {"o": bool, "b": {"c": {"x": bo.Real(0, 1, when={"o": True})}}},
        "^b: c: x: when: there is no variable 'o' in its dict; its dict has no other names; a condition uses",
    ),
    ({"a": {}}, "^a: variables: expected 1 to 10000, got 0"),
    ({"a": {"b": []}}, "^a: b: Categorical: expected"),
    ({"a": {"b": {"c": 7}}}, "^a: b: c: expected Binary"),
    ({"a": bo.Real(0, 1, when={"b": {"depth": 9, "wide": True}}), "b": INNER}, "a: when: b: depth: expected one of"),
]


@pytest.mark.parametrize(("values", "words"), REFUSED)
def test_refused_values(values, words):
    with pytest.raises(DomainError, match=words):
        bo.Space(values)


def test_a_condition_that_fails_inside_a_dict_names_the_dict():
    with pytest.raises(PredicateError, match=r"^a: x: when: <lambda> failed for y = False: ZeroDiv") as caught:
        bo.Space({"a": {"y": bool, "x": bo.Real(0.0, 1.0, when={"y": lambda y: 1 / y})}})
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("values", [{"a": bool}, {"a": {"x": bool}}])
def test_a_space_takes_no_conditions(values):
    with pytest.raises(TypeError, match=r"^Space: when: .* takes no conditions.* variables in it, got \{'b': 1\}"):
        bo.Space(values, when={"b": 1})


ADAM = {"optimizer": "adam", "inner": {"depth": 1, "wide": False}}
REFUSED_POINTS = [
    (7, r"point: expected a dict with the keys \['optimizer', 'inner', 'momentum', 'rate'\], got 7"),
    ({"optimizer": "adam"}, "point: missing inner; expected"),
    (ADAM | {"optimiser": 1}, r"point: unknown name 'optimiser'.*Did you mean 'optimizer'"),
    (ADAM | {"momentum": 0.5}, "momentum: expected no value, because it exists if .*inner satisfies is_deep.*got 0.5"),
    (ADAM | {"inner": {"depth": 1}}, "inner: point: missing wide"),
    (ADAM | {"optimizer": "sgd", "inner": {"depth": 1, "wide": True}}, "breaks the constraint agrees"),
]


@pytest.mark.parametrize(("point", "words"), REFUSED_POINTS)
def test_refused_points(point, words):
    with pytest.raises(PointError, match=words):
        SMALL.parse(point)


def test_a_constraint_that_no_point_satisfies_and_one_that_fails(rng):
    never = bo.Space({"rate": bo.Real(0.0, 1.0), "inner": INNER}, [lambda _: False])
    with pytest.raises(DomainError, match=r"no valid point was found in 5\d\d\d draws"):
        never.sample(1, rng)
    rules = [lambda point: point["rate"] > 0.5]
    asks = bo.Space({"inner": INNER, "rate": bo.Real(0.0, 1.0, when={"inner": is_deep})}, rules)
    with pytest.raises(
        DomainError,
        match=r"reads rate, which .* lacks: it exists .*; use point.get\('rate', VALUE\)$",
    ):
        asks.sample(100, rng)


def test_a_constraint_that_reads_an_absent_variable_of_a_dict_says_how_to_ask_for_it(rng):
    inner = {"on": bool, "q": bo.Binary(when={"on": True})}
    asks = bo.Space({"b": bool, "a": inner, "c": {"d": inner}}, [lambda point: point["c"]["d"]["q"] or True])
    point = {"b": True, "a": {"on": True, "q": True}, "c": {"d": {"on": False}}}
    where = re.escape("reads q, which") + ".* lacks: it exists if on is True; use "
    with pytest.raises(PredicateError, match=where + r"point\['c'\]\['d'\]\.get\('q', VALUE\)$") as caught:
        asks.parse(point)
    assert isinstance(caught.value.__cause__, KeyError)
    either = r"point\['a'\].get\('q', VALUE\); or it exists if on is True; use point\['c'\]\['d'\]\.get\('q', VALUE\)$"
    with pytest.raises(PredicateError, match=where + either):
        asks.parse(point | {"a": {"on": False}})
    typo = bo.Space({"b": bool, "a": inner}, [lambda point: point["a"]["qq"]])
    with pytest.raises(PredicateError, match=r"failed on .*KeyError\('qq'\)$"):
        typo.sample(1, rng)


def cost(point: dict) -> float:
    network = len(point["network"].layers)
    return abs(math.log10(point["rate"]) + 3.0) + 0.1 * abs(network - 6) + abs(point.get("decay", 0.3) - 0.2)


@pytest.mark.parametrize("method", ["auto", "random", "evolution", "regularized-evolution", "smac", "hill-climbing"])
def test_a_study_goes_on_from_disk(method, tmp_path):
    def run(n_trials, storage=None):
        return bo.minimize(cost, TRAINED, n_trials, method=method, seed=1, storage=storage, progress=False).trials

    run(12, tmp_path / "runs.db")
    assert [trial.point for trial in run(14, tmp_path / "runs.db")] == [trial.point for trial in run(14)]


@pytest.mark.parametrize("method", ["smac", "wrs", "tpe", "hill-climbing", "annealing"])
def test_methods_of_named_choices_keep_the_laws_of_searchers(method, rng):
    if method == "tpe":
        pytest.importorskip("optuna")
    check_searcher(METHODS[method], NESTED, nested_objective, rng, n_trials=12)


def test_a_file_tells_a_space_without_predicates_and_refuses_others(tmp_path):
    plain = bo.Space({"rate": bo.Real(0.0, 1.0), "network": SMALL_MLP, "inner": INNER})
    bo.minimize(lambda point: point["rate"], plain, 3, method="random", storage=tmp_path / "plain.db", progress=False)
    with bo.Study.load(tmp_path / "plain.db") as study:
        assert study.domain == plain
    bo.minimize(cost, TRAINED, 3, method="random", storage=tmp_path / "tests.db", progress=False)
    with pytest.raises(DomainError, match="the space has predicates, whose code cannot be stored"):
        bo.Study.load(tmp_path / "tests.db")


def test_constraints_may_come_one_by_one():
    assert len(bo.Space({"inner": INNER, "b": bool}, (rule for rule in [agrees])).constraints) == 1


def test_a_pool_keeps_its_networks_under_constraints():
    values = {"network": SMALL_MLP, "rate": bo.Real(0.0, 1.0)}
    free, tight = bo.Space(values), bo.Space(values, [lambda point: point["rate"] < 0.2])
    assert [x.parts[1] for x in tight.pool] == [x.parts[1] for x in free.pool]
    assert all(tight.present(x)["rate"] < 0.2 for x in tight.pool)


def test_counts_are_those_of_the_parts():
    inner = bo.Space({"i": {"k": [1, 2, 3]}, "b": [1, 2, 3]}, [lambda point: point["b"] == 1])
    assert bo.Space({"m": inner, "c": bool}).count() == Exact(6)
    assert bo.Space({"m": bo.joint_domain({"p": {"x": bo.Real(0.0, 1.0)}}), "b": bool}).count() == INFINITE
    tested = bo.Space({"a": bo.Integer(1, 10**9, when={"inner": is_deep}), "inner": INNER})
    assert bo.Space({"m": tested, "b": bool}).count() == AtLeast(2)


def test_a_neighbor_keeps_the_variables_that_a_part_brings():
    """The binary variable of a test is no choice of its own: nothing goes back to a fallback value."""
    deep = bo.Ordinal(list(range(20)), when={"inner": is_deep})
    space = bo.Space({"inner": INNER, "rate": deep, "momentum": deep})
    x = space.parse({"inner": {"depth": 2, "wide": False}, "rate": 17, "momentum": 2})
    near = [space.present(y) for y in space.neighbors(x) if space.present(y)["inner"] == {"depth": 2, "wide": False}]
    assert sorted((y["rate"], y["momentum"]) for y in near) == [(16, 2), (17, 1), (17, 3), (18, 2)]


def test_a_list_of_domains_is_no_choice():
    with pytest.raises(DomainError, match="network: expected choices that are values, got a list with a variable or a"):
        bo.Space({"network": [SMALL_MLP, SMALL_CNN]})


def test_a_method_that_cannot_search_names_some_that_can():
    with pytest.raises(DomainError, match=r"the part 'network', .* annealing, .* search a Space with another"):
        bo.minimize(cost, TRAINED, 1, method="wrs", progress=False)
