"""Spaces: the domain laws over every kind of variable, sampling under constraints, and every refusal by its words."""

import itertools
import math
import pickle
import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import bostruct as bo
from bostruct.contracts import DomainError, SpaceExhausted
from bostruct.domains.space.space import MAX_VARIABLES
from bostruct.domains.space.variable import MAX_ENUMERATED, Variable
from bostruct.testing.chance_laws import chi_square_is_plausible
from bostruct.testing.change_laws import check_mutation
from bostruct.testing.domain_laws import check_domain, check_enumeration
from tests.strategies import constrained_spaces, object_variables, rngs, spaces
from tests.wide_variable import Order

some_examples = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def bits(d: int, constraints=()) -> bo.Space:
    return bo.Space({f"x{i}": bool for i in range(d)}, constraints)


def exactly(k: int):
    return lambda point: sum(point.values()) == k


def all_different(point: dict) -> bool:
    return len(set(point.values())) == len(point)


@pytest.mark.parametrize("size", [2, 3, 51, 1000])
def test_variables_of_one_size_are_drawn_as_those_of_several_are(size):
    """NumPy draws the same numbers below one bound as below an array of equal bounds, and leaves itself as it does."""
    space = bo.Space({f"x{i}": list(range(size)) for i in range(7)})
    rng, again = np.random.default_rng(3), np.random.default_rng(3)
    rows = space.sample(101, rng)
    np.testing.assert_array_equal(rows, again.integers(0, np.full(7, size), size=(101, 7)))
    assert rng.bit_generator.state == again.bit_generator.state


EXTREMES = {
    "one variable": {"one": bool},
    "1000 choices": {"many": list(range(1000))},
    "1000 in a row": {"long": range(1000)},
    "400 variables": {f"x{i}": bool for i in range(400)},
    "large product": {f"x{i}": list(range(1000)) for i in range(3)},
    "large graph": {"path": bo.Graph(nx.path_graph(1000)), "ring": bo.Graph(nx.cycle_graph(7))},
}


class TestLaws:
    @some_examples
    @given(spaces(), rngs())
    def test_every_kind_of_variable(self, space, rng):
        check_domain(space, rng)

    @some_examples
    @given(spaces(2, object_variables()), rngs())
    def test_choices_that_are_objects(self, space, rng):
        check_domain(space, rng, rebuildable=False)

    @settings(parent=some_examples, max_examples=8)
    @given(constrained_spaces(3), rngs())
    def test_constraints(self, space, rng):
        check_domain(space, rng, rebuildable=False)

    @settings(parent=some_examples, max_examples=8)
    @given(spaces(2), rngs())
    def test_size_uniformity_and_exhaustion(self, space, rng):
        check_enumeration(space, space.enumerate(), rng)

    @settings(parent=some_examples, max_examples=8)
    @given(constrained_spaces(2), rngs())
    def test_size_uniformity_and_exhaustion_with_constraints(self, space, rng):
        check_enumeration(space, space.enumerate(), rng)

    @pytest.mark.parametrize("name", EXTREMES)
    def test_the_ends_of_what_is_allowed(self, name, rng):
        check_domain(bo.Space(EXTREMES[name]), rng, m=2)


class TestPoints:
    def test_shorthands(self):
        space = bo.Space({"a": bool, "b": ["x", "y"], "c": range(0, 9, 3), "d": ("u", "v")})
        kinds = [variable.kind for variable in space.variables.values()]
        assert kinds == ["Binary", "Categorical", "Ordinal", "Categorical"]
        assert space.variables["c"].choices == (0, 3, 6)

    def test_size(self):
        assert bo.Space({"a": bool, "b": [1, 2, 3], "c": bo.Integer(0, 4)}).size == 30
        assert bits(1000).size == 2**1000
        assert bits(5, [exactly(2)]).size == math.comb(5, 2)

    def test_neighbors_follow_the_graph_of_each_variable(self):
        ring = bo.Graph(nx.cycle_graph(4))
        space = bo.Space({"bit": bool, "cat": ["p", "q", "r"], "ord": range(3), "ring": ring})
        x = space.parse({"bit": False, "cat": "p", "ord": 0, "ring": 0})
        near = [space.present(y) for y in space.neighbors(x)]
        changes = [[(name, y[name]) for name in y if y[name] != space.present(x)[name]] for y in near]
        assert changes == [
            [("bit", True)], [("cat", "q")], [("cat", "r")], [("ord", 1)], [("ring", 1)], [("ring", 3)],
        ]  # fmt: skip

    def test_numpy_scalars_are_the_values_they_stand_for(self):
        space = bo.Space({"n": list(np.arange(3)), "f": bo.Ordinal(np.array([0.5, 1.5])), "b": bool})
        point = space.present(space.parse({"n": np.int32(2), "f": np.float64(1.5), "b": np.bool_(True)}))
        assert point == {"n": 2, "f": 1.5, "b": True}
        assert [type(value) for value in point.values()] == [int, float, bool]

    def test_binary_understands_zero_and_one(self):
        space = bo.Space({"b": bool})
        assert space.present(space.parse({"b": 1})) == {"b": True}
        assert space.present(space.parse({"b": 0}))["b"] is False

    def test_infinity_is_a_choice(self, rng):
        check_domain(bo.Space({"limit": bo.Ordinal([1, 10, math.inf]), "low": [-math.inf, 0.0]}), rng)

    def test_the_order_of_variables_counts(self):
        assert bo.Space({"a": bool, "b": bool}) != bo.Space({"b": bool, "a": bool})
        assert bo.Space({"a": bool}) == bo.Space({"a": bo.Binary()})
        assert bo.Space({"a": bo.Ordinal([1, 2], weight=2.0)}) != bo.Space({"a": bo.Ordinal([1, 2])})

    def test_unseen_points_are_found_among_many_seen(self, rng):
        """2^17 points are too many to enumerate; all but one are seen."""
        space = bits(17)
        rows = (np.arange(2**17)[:, None] >> np.arange(17)) & 1
        left = space.keys(rows)[12_345]
        seen = frozenset(space.keys(rows)) - {left}
        assert space.keys(space.sample_unseen(seen, rng)[None]) == [left]
        with pytest.raises(SpaceExhausted):
            space.sample_unseen(seen | {left}, rng)


class TestTightConstraints:
    def test_a_slow_constraint_is_not_asked_of_every_point(self, rng):
        asked = []
        space = bits(16, [lambda p: asked.append(p) is None and p["x0"]])
        space.sample(10, rng)
        assert len(asked) < 200

    def test_exactly_5_of_30_bits(self, rng):
        space = bits(30, [exactly(5)])
        started = time.process_time()
        xs = space.sample(3000, rng)
        assert time.process_time() - started < 3
        assert np.all(xs.sum(axis=1) == 5)
        assert len(set(space.keys(xs))) > 2500
        shares = xs.mean(axis=0)  # 1/6 each, were the draws independent, with a standard error of 0.007
        assert np.all(np.abs(shares - 1 / 6) < 0.05)

    def test_all_different(self, rng):
        small = bo.Space({f"c{i}": list(range(5)) for i in range(5)}, [all_different])
        check_enumeration(small, list(map(np.array, itertools.permutations(range(5)))), rng)
        large = bo.Space({f"c{i}": list(range(9)) for i in range(9)}, [all_different])
        assert len(set(large.keys(large.sample(100, rng)))) > 90

    def test_one_valid_point_in_a_million_when_split(self, rng):
        wanted = rng.integers(0, 2, 20)
        space = bits(20, [lambda p, i=i: p[f"x{i}"] == wanted[i] for i in range(20)])
        started = time.process_time()
        assert space.sample(3, rng).tolist() == [wanted.tolist()] * 3
        assert time.process_time() - started < 2
        with pytest.raises(SpaceExhausted):
            space.sample_unseen(frozenset(space.keys(wanted[None])), rng)

    def test_cardinality_far_from_half(self, rng):
        assert np.all(bits(200, [exactly(5)]).sample(3, rng).sum(axis=1) == 5)

    def test_one_hot_groups(self, rng):
        groups = [[f"x{i}" for i in range(10 * g, 10 * g + 10)] for g in range(6)]
        space = bits(60, [lambda p, names=names: sum(p[n] for n in names) == 1 for names in groups])
        assert np.all(space.sample(50, rng).reshape(50, 6, 10).sum(axis=2) == 1)

    def test_mutation_goes_further_where_no_single_change_is_valid(self, rng):
        for space in (bits(30, [exactly(5)]), bo.Space({f"c{i}": list(range(5)) for i in range(5)}, [all_different])):
            for x in space.sample(5, rng):
                assert len(space.neighbors(x)) == 0
                check_mutation(space, x, rng)

    def test_the_walk_is_uniform(self, rng):
        """2^17 points, too many to enumerate, of which the 17 * 8 with two bits set are valid."""
        space = bits(17, [exactly(2)])
        drawn = space.keys(space.sample(4000, rng))
        counts = {key: 0 for key in drawn}
        for key in drawn:
            counts[key] += 1
        assert len(counts) == math.comb(17, 2)
        assert chi_square_is_plausible(list(counts.values()), deviations=15)

    @pytest.mark.parametrize("d", [10, 30, 300])
    @pytest.mark.parametrize("n_constraints", [1, 5])
    def test_what_nobody_satisfies_is_refused_soon(self, d, n_constraints, rng):
        space = bits(d, [lambda p, i=i: p[f"x{i}"] and not p[f"x{i}"] for i in range(n_constraints)])
        started = time.process_time()
        with pytest.raises(DomainError, match=r"constraints: (none of the|no valid point was found)"):
            space.sample(1, rng)
        assert time.process_time() - started < 3

    def test_constraints_given_as_a_generator_are_not_lost(self, rng):
        space = bo.Space({"a": bool, "b": bool}, (rule for rule in [lambda p: p["a"]]))
        assert len(space.constraints) == 1
        assert np.all(space.sample(20, rng)[:, 0] == 1)

    def test_a_constraint_that_changes_its_argument_changes_nothing(self, rng):
        space = bits(30, [lambda p: p.pop("x0") is not None, lambda p: p.setdefault("x1", True) in (True, False)])
        assert space.sample(3, rng).shape == (3, 30)
        assert list(space.present(space.sample(1, rng)[0])) == list(space.variables)


def test_chi_square_tells_a_bias():
    """The law of uniformity can fail: one cell of eight with twice its share."""
    assert chi_square_is_plausible([100] * 8)
    assert not chi_square_is_plausible([200, *[85] * 7])


def test_enumerate_refuses_large_spaces():
    with pytest.raises(DomainError, match="only spaces of up to 100000 points"):
        bits(17).enumerate()
    assert bits(16).enumerable
    assert 2**16 <= MAX_ENUMERATED < 2**17


class Unlisted(Order):
    """A kind that does not write how its values are listed."""

    enumerate = Variable.enumerate


def test_a_kind_that_does_not_write_how_to_list_its_values_is_listed():
    space = bo.Space({"o": Unlisted("abc")}, constraints=[lambda point: point["o"][0] == "a"])
    assert sorted(space.present(x)["o"] for x in space.list_few(100)) == [("a", "b", "c"), ("a", "c", "b")]
    assert {space.present(x)["o"][0] for x in space.sample(5, np.random.default_rng(0))} == {"a"}


def test_a_space_has_at_most_ten_thousand_variables():
    assert bits(MAX_VARIABLES).d == MAX_VARIABLES
    with pytest.raises(DomainError, match="10000"):
        bits(MAX_VARIABLES + 1)


def test_changes_made_together_are_settled_and_valid():
    variables = {"a": bool, "b": bo.Categorical(list("xyz"), when={"a": True}), "c": range(4)}
    space = bo.Space(variables, constraints=[lambda p: p["c"] < 3 or not p["a"]])
    rng, x = np.random.default_rng(0), space.parse({"a": False, "c": 2})
    near = space.sample_neighborhoods(x[None], 100, rng)[0]
    assert list(map(space.present, near)) == [{"a": True, "b": "x", "c": 2}, {"a": False, "c": 1}, {"a": False, "c": 3}]
    together = space.combine(x, space.take(near, [0, 1, 2]), [1, 2, 7])
    expected = {"a": True, "b": "x", "c": 1}  # of two changes of c the first counts
    assert [space.present(one) for one in together] == [{"a": True, "b": "x", "c": 2}, expected, expected]
    assert [space.present(one) for one in space.combine(x, space.take(near, [2, 0]), [1, 2])] == [{"a": False, "c": 3}]


def test_every_valid_point_of_a_large_constrained_space_is_found():
    space, rng, seen = bits(17, [exactly(1)]), np.random.default_rng(0), set()
    for _ in range(17):
        seen.add(space.keys(space.sample_unseen(frozenset(seen), rng)[None])[0])
    assert len(seen) == 17
    with pytest.raises(SpaceExhausted, match="17 were seen; more may exist"):
        space.sample_unseen(frozenset(seen), rng)


def test_a_space_that_was_written_and_read_has_the_same_neighbors():
    """Its graphs lie at other addresses then, some of them where others lay before."""
    names = ["cycle", "star", "row", "list"]
    kinds = [bo.Graph(nx.cycle_graph(7)), bo.Graph(nx.star_graph(6)), range(7), list(range(7))]
    expected = bo.Space(dict(zip(names, kinds, strict=True)))
    for seed in range(300):
        space = pickle.loads(pickle.dumps(expected))
        xs = space.sample(20, np.random.default_rng(seed))
        for x in xs:
            space.neighbors(x)
        data = pickle.dumps(space)
        del space  # which leaves its places to others
        read = pickle.loads(data)
        assert all(np.array_equal(read.neighbors(x), expected.neighbors(x)) for x in xs)


def test_what_says_how_alike_values_are_is_shown():
    letters, matrix = list("abc"), 1.0 - np.eye(3)
    shown = {
        repr(bo.Subset(letters, size=1)): "Subset(['a', 'b', 'c'], size=1)",
        repr(
            bo.Subset(letters, size=1, graph=[("a", "b"), ("b", "c")])
        ): "Subset(['a', 'b', 'c'], size=1, graph=<2 edges>)",
        repr(bo.Categorical(letters, distances=matrix)): "Categorical(['a', 'b', 'c'], distances=<3 x 3>)",
        repr(bo.Categorical(letters, kernel=np.eye(3))): "Categorical(['a', 'b', 'c'], kernel=<3 x 3>)",
        repr(bo.Categorical(letters, descriptors={"n": [1.0, 2.0, 4.0]})): (
            "Categorical(['a', 'b', 'c'], descriptors=<1 column>)"
        ),
    }
    assert list(shown) == list(shown.values())


def test_one_constraint_is_shown_as_one():
    space = {"a": bool, "b": bool}
    assert str(bo.Space(space, constraints=[any])).endswith(", 1 constraint)")
    assert str(bo.Space(space, constraints=[any, len])).endswith(", 2 constraints)")
