"""Orders of items as a variable: the laws, what users write and read, refusals, and how orders are crossed."""

import math
from itertools import permutations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, Exact, PointError
from bostruct.domains.space.permutation import Permutation, list_rearrangements
from bostruct.testing import check_domain, check_variable

PASSES = bo.Permutation(["inline", "unroll", "gvn", "dce"])
SHOP = bo.Permutation({"a": 2, "b": 3})


@pytest.mark.parametrize("n", [2, 3, 4])
def test_laws(n):
    check_variable(Permutation(range(n)), np.random.default_rng(n))


def test_a_space_with_orders_obeys_the_laws():
    orders = {"p": PASSES, "c": list("abc"), "q": Permutation(list("xyz"), when={"c": "b"}), "r": bo.Real(0, 1)}
    check_domain(bo.Space(orders), np.random.default_rng(0))
    ruled = bo.Space({"p": PASSES, "b": bool}, [lambda point: point["p"][0] != "dce"])
    check_domain(ruled, np.random.default_rng(1), rebuildable=False)


def test_points_have_tuples_of_the_items():
    space = bo.Space({"passes": PASSES})
    point = space.present(space.sample(1, np.random.default_rng(0))[0])
    assert sorted(point["passes"]) == sorted(PASSES.items)
    assert isinstance(point["passes"], tuple)
    order = ("gvn", "dce", "inline", "unroll")
    assert space.present(space.parse({"passes": list(order)})) == {"passes": order}


def test_counts_and_lists_are_exact():
    assert PASSES.size == 24
    assert sorted(map(tuple, PASSES.enumerate().tolist())) == sorted(permutations(range(4)))
    assert bo.Space({"p": PASSES, "b": bool}).count() == Exact(48)
    assert bo.Space({"p": Permutation(range(30))}).n_points == math.factorial(30)
    with pytest.raises(DomainError, match="not listed"):
        Permutation(range(9)).enumerate()


REFUSED_ITEMS = [
    (["a"], r"Permutation: expected 2 to 500 items, got 1: \['a'\]$"),
    (["a", "b", "a"], r"Permutation: expected distinct items, got 'a' more than once"),
    ("abc", r"Permutation: expected a sequence of items, got 'abc'"),
    (range(501), r"Permutation: expected 2 to 500 items, got 501$"),
    (["my choice", "my choice"], r"Permutation: expected distinct items, got 'my choice' more than once"),
    ([1.0, float("nan")], r"Permutation: each item must equal itself and be comparable, got nan"),
    ({"a": 0, "b": 1}, r"Permutation: 'a': expected an integer from 1, the number of its occurrences, got 0"),
    ({"a": 1, "b": 1.5}, r"Permutation: 'b': expected an integer from 1, the number of its occurrences, got 1.5"),
    ({"a": 300, "b": 201}, r"Permutation: expected at most 500 places, got 501"),
    ({"a": 5}, r"Permutation: expected 2 to 500 items, got 1: \['a'\]"),
]


@pytest.mark.parametrize(("items", "message"), REFUSED_ITEMS)
def test_bad_items_and_counts_are_refused(items, message):
    with pytest.raises(DomainError, match=message):
        Permutation(items)


REFUSED_VALUES = [
    (PASSES, ["inline", "unroll", "gvn", "gvn"], "each item once, got 'gvn' more than once"),
    (PASSES, ["inline", "unroll", "gvn"], "all 4 items, got .* without 'dce'"),
    (PASSES, ["inline", "unroll", "gvn", "licm"], "expected one of .*, got 'licm'"),
    (PASSES, "inline", "a list or tuple of all items"),
    (PASSES, None, "a list or tuple of all items"),
    (SHOP, list("aaabb"), "expected 'a' 2 times, got it 3 times"),
    (SHOP, list("aabb"), "expected 'b' 3 times, got it 2 times"),
    (SHOP, list("abbb"), "expected 'a' 2 times, got it once"),
]


@pytest.mark.parametrize(("variable", "value", "message"), REFUSED_VALUES)
def test_bad_values_are_refused(variable, value, message):
    with pytest.raises(PointError, match=message):
        variable.parse(value)


def test_a_child_has_a_stretch_of_one_parent_and_the_order_of_the_other():
    rng, mine, theirs = np.random.default_rng(0), list(range(8)), list(range(7, -1, -1))
    for _ in range(50):
        child = PASSES.cross(mine, theirs, rng)
        assert sorted(child) == mine
        kept = [i for i, item in enumerate(child) if item == i]
        others = [item for item in child if item not in kept]
        assert others == sorted(others, reverse=True)
        assert kept


def test_trials_without_a_new_item_are_not_read(tmp_path):
    def run(items, n):
        return bo.minimize(lambda _: 0.0, {"p": Permutation(items)}, n, seed=0, storage=tmp_path / "runs.db", name="p")

    run(["a", "b"], 2)
    with pytest.warns(bo.SpaceChanged, match="all 3 items, got .* without 'c'"):
        after = run(["a", "b", "c"], 3)
    assert after.n_unread == 2


class TestRepeats:
    @pytest.mark.parametrize("counts", [{"a": 2, "b": 1}, {"a": 2, "b": 2}, {"a": 3, "b": 2, "c": 2}])
    def test_laws(self, counts):
        check_variable(bo.Permutation(counts), np.random.default_rng(0))

    def test_a_space_obeys_the_laws(self):
        check_domain(bo.Space({"p": SHOP}), np.random.default_rng(0))

    def test_orders_are_the_distinct_arrangements(self):
        values = {SHOP.present(columns) for columns in SHOP.enumerate()}
        assert (values, SHOP.size) == (set(permutations("aabbb")), 10)
        assert Permutation({j: 6 for j in range(6)}).size == math.factorial(36) // math.factorial(6) ** 6

    @pytest.mark.parametrize("counts", [{"a": 8, "b": 2}, {"a": 1, "b": 12}, {"a": 3, "b": 3, "c": 3}])
    def test_few_orders_of_many_places_are_listed(self, counts):
        order = bo.Permutation(counts)
        rows = order.enumerate()
        assert len({tuple(row) for row in rows.tolist()}) == len(rows) == order.size
        assert rows.tolist() == sorted(rows.tolist())
        for row in rows.tolist():
            order.check(row)

    @pytest.mark.parametrize("constraints", [[], [lambda point: point["p"][0] == "a"]])
    def test_all_points_of_a_small_space_are_visited(self, constraints):
        space = bo.Space({"p": bo.Permutation({"a": 8, "b": 2})}, constraints=constraints)
        result = bo.minimize(lambda point: point["p"].index("b"), space, 60, seed=0, method="random")
        assert len({trial.point["p"] for trial in result.trials}) == len(result.trials) == space.size

    def test_each_neighbor_is_listed_once_and_none_is_missing(self):
        """Brute force over all rearrangements of the letters."""
        shop = bo.Permutation({"a": 4, "b": 3, "c": 2})
        for columns in shop.sample(10, np.random.default_rng(0)):
            letters = shop.present(columns)
            every = {tuple(letters[i] for i in row) for row in list_rearrangements(9)} - {letters}
            near = [shop.present(row) for row in shop.neighbors(columns)]
            assert (len(near), set(near)) == (len(set(near)), every)

    def test_columns_are_occurrences_in_turn(self):
        assert SHOP.parse(list("babab")) == [2, 0, 3, 1, 4]
        with pytest.raises(PointError, match="occurrences of each item in turn"):
            SHOP.check([2, 1, 3, 0, 4])

    def test_a_mapping_of_ones_is_a_list_of_items(self):
        assert bo.Permutation({"a": 1, "b": 1}) == bo.Permutation(["a", "b"])
        assert bo.Permutation(["a", "b"]).describe() == {"items": ["a", "b"]}
        assert SHOP.describe() == {"items": ["a", "b"], "counts": [2, 3]}


def change_by_hand(value, items):
    """All orders that a swap, a move, a reversal, or an exchange of an item for an absent one makes of an order."""
    k, found = len(value), set()
    for i in range(k):
        for j in range(k):
            rest = value[:i] + value[i + 1 :]
            a, b = min(i, j), max(i, j)
            found.add((*rest[:j], value[i], *rest[j:]))
            found.add((*value[:a], *value[a : b + 1][::-1], *value[b + 1 :]))
            swapped = list(value)
            swapped[i], swapped[j] = value[j], value[i]
            found.add(tuple(swapped))
        for item in set(items) - set(value):
            found.add((*value[:i], item, *value[i + 1 :]))  # in its place
            found.add((*value[:i], item, *value[i:-1]))  # before it; the last one drops out
            found.add((*value[:i], *value[i + 1 :], item))  # without it, and another behind all
    return found - {value}


class TestLength:
    @pytest.mark.parametrize(("n", "k"), [(3, 2), (4, 3), (5, 2), (6, 4)])
    def test_laws(self, n, k):
        check_variable(Permutation(range(n), length=k), np.random.default_rng(n))

    def test_a_space_obeys_the_laws(self):
        some = {"p": Permutation(PASSES.items, length=2), "c": list("abc"), "r": bo.Real(0, 1)}
        some["q"] = Permutation(list("xyz"), length=2, when={"c": "b"})
        check_domain(bo.Space(some), np.random.default_rng(0))
        ruled = bo.Space(some, [lambda point: "dce" in point["p"] and point["p"][0] != "dce"])
        check_domain(ruled, np.random.default_rng(1), rebuildable=False)

    @pytest.mark.parametrize(("n", "k"), [(2, 2), (4, 2), (5, 3), (6, 6)])
    def test_values_are_the_orders_of_some_items(self, n, k):
        order = Permutation(range(n), length=k)
        assert [order.present(row) for row in order.enumerate().tolist()] == list(permutations(range(n), k))
        assert (order.size, order.width) == (math.perm(n, k), k)
        assert Permutation(range(300), length=9).size == math.perm(300, 9)

    def test_draws_are_uniform(self):
        order = Permutation(range(4), length=2)
        drawn = order.sample(12_000, np.random.default_rng(0)) @ [4, 1]
        counts = np.unique(drawn, return_counts=True)[1]
        assert (len(counts), ((counts - 1000) ** 2 / 1000).sum() < 31.3) == (12, True)  # chi squared, 11, 0.999

    @pytest.mark.parametrize(("n", "k"), [(3, 2), (5, 3), (9, 6)])
    def test_each_neighbor_is_listed_once_and_none_is_missing(self, n, k):
        order = Permutation(range(n), length=k)
        for value in order.sample(5, np.random.default_rng(0)).tolist():
            near = list(map(tuple, order.neighbors(value).tolist()))
            assert len(near) == len(set(near)) == order.count_neighbors(value)
            assert set(near) == change_by_hand(tuple(value), range(n))

    def test_of_very_many_exchanges_those_in_one_place_are_listed(self):
        order = Permutation(range(400), length=30)
        value = order.sample(1, np.random.default_rng(0))[0].tolist()
        exchanged = order.neighbors(value)[-30 * 370 :]
        assert set(np.count_nonzero(exchanged != value, axis=1).tolist()) == {1}
        assert len(order.sample_neighbors(value, 50, np.random.default_rng(0))) == 50

    def test_all_items_are_a_permutation(self):
        assert Permutation(list("abc"), length=3) == Permutation(list("abc"))
        assert repr(Permutation(list("abc"), length=2)) == "Permutation(['a', 'b', 'c'], length=2)"

    @pytest.mark.parametrize("length", [0, 1, 5, 2.0, True, "2", (1, 2)])
    def test_bad_lengths_are_refused(self, length):
        with pytest.raises(DomainError, match="length: expected an integer from 2 to 4, the number of items, got"):
            Permutation(list("abcd"), length=length)

    def test_repeats_and_resources_are_refused(self):
        with pytest.raises(DomainError, match="expected None for items that occur several times; use a Sequence"):
            Permutation({"a": 2, "b": 1}, length=2)
        with pytest.raises(DomainError, match="length: expected None for items with resources, got 2"):
            Permutation(["a", "b"], resources={"a": 1, "b": 1}, length=2)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (["gvn"], r"expected 2 of the 4 items, got 1: \['gvn'\]"),
            (list(PASSES.items), "expected 2 of the 4 items, got 4"),
            (["gvn", "gvn"], "each item once, got 'gvn' more than once"),
            ("gvn", "a list or tuple of 2 of the 4 items in some order, got 'gvn'"),
        ],
    )
    def test_bad_values_are_refused(self, value, message):
        with pytest.raises(PointError, match=message):
            Permutation(PASSES.items, length=2).parse(value)

    @pytest.mark.parametrize("columns", [[0], [0, 0], [0, 4], [0, 1, 2]])
    def test_bad_columns_are_refused(self, columns):
        with pytest.raises(PointError, match=r"expected 2 of 0\.\.3, each at most once"):
            Permutation(PASSES.items, length=2).check(columns)

    def test_a_child_has_items_of_both(self):
        rng, order = np.random.default_rng(0), Permutation(range(9), length=4)
        for mine, theirs in order.sample(60, rng).reshape(-1, 2, 4).tolist():
            child = order.cross(mine, theirs, rng)
            order.check(child)
            assert set(child) <= {*mine, *theirs}

    @pytest.mark.parametrize("method", ["auto", "evolution", "random"])
    def test_all_points_of_a_small_space_are_visited(self, method):
        space = bo.Space({"p": Permutation(range(4), length=2)})
        result = bo.minimize(lambda point: point["p"][0] - point["p"][1] / 9, space, 12, seed=0, method=method)
        assert len({trial.point["p"] for trial in result.trials}) == 12
        assert result.best_point == {"p": (0, 3)}


class Inserting(Permutation):
    """An order that is changed by insertions and never back."""

    def neighbors(self, columns, large_steps=False):
        return super().neighbors(columns, large_steps)[-(self.width - 1) * self.n_absent :]


class Lasting(Permutation):
    """An order whose draws prefer the items in front."""

    def sample(self, m, rng):
        return np.sort(super().sample(m, rng), axis=1)


class Losing(Permutation):
    """An order that counts the values as if all items were in it."""

    @property
    def size(self):
        return math.factorial(self.n_codes)


@pytest.mark.parametrize("faulty", [Inserting, Lasting, Losing])
def test_laws_notice_a_fault(faulty):
    with pytest.raises(AssertionError):
        check_variable(faulty(range(4), length=2), np.random.default_rng(0))
