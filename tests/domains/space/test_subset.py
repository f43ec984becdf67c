"""Subsets of items as a variable: the laws, what users write and read, refusals, and studies over them."""

import json
import math
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, Exact, PointError
from bostruct.domains.space.registry import variable_from_json
from bostruct.domains.space.subset import Subset
from bostruct.testing import check_domain, check_variable

FEATURES = bo.Subset(["age", "mass", "pulse", "steps", "sleep"], 2)
RING = nx.cycle_graph(list("abcdef"))
VARIABLES = {
    "exact": FEATURES,
    "one of two": Subset(["a", "b"], 1),
    "all but one": Subset(list("wxyz"), 3),
    "range": Subset(range(5), (1, 3)),
    "all sizes": Subset(range(4), (0, 4)),
    "none or one": Subset(range(4), (0, 1)),
    "graph": Subset(list("abcdef"), 2, graph=RING),
    "range on a graph": Subset(list("abcd"), (1, 3), graph=[("a", "b", 0.5), ("b", "c"), ("c", "d")]),
    "many": Subset(range(40), 5),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_laws(name):
    check_variable(VARIABLES[name], np.random.default_rng(0))


def test_a_space_with_subsets_obeys_the_laws():
    subsets = {"f": FEATURES, "c": list("abc"), "g": Subset(list("xyz"), (1, 2), when={"c": "b"}), "r": bo.Real(0, 1)}
    check_domain(bo.Space(subsets), np.random.default_rng(0))
    ruled = bo.Space({"f": FEATURES, "b": bool}, [lambda point: "age" in point["f"]])
    check_domain(ruled, np.random.default_rng(1), rebuildable=False)


def test_points_have_tuples_in_the_order_of_the_items():
    space = bo.Space({"features": FEATURES})
    for kind in (list, tuple, set, frozenset, np.array, pd.Index):
        assert space.present(space.parse({"features": kind(["sleep", "age"])})) == {"features": ("age", "sleep")}
    assert Subset(range(3), (0, 2)).present([0, 0, 0]) == ()


def test_counts_and_lists_are_exact():
    assert FEATURES.size == 10
    assert bo.Space({"f": FEATURES, "b": bool}).count() == Exact(20)
    assert Subset(range(40), (1, 8)).size == sum(math.comb(40, k) for k in range(1, 9))
    assert bo.Space({"f": Subset(range(1000), 500)}).n_points == math.comb(1000, 500)
    listed = [FEATURES.present(row) for row in FEATURES.enumerate().tolist()]
    assert listed == list(combinations(FEATURES.items, 2))
    with pytest.raises(DomainError, match="not listed"):
        Subset(range(40), 5).enumerate()


def test_draws_of_a_range_have_all_sizes_alike_and_all_subsets_of_one():
    variable = Subset(range(10), (2, 4))
    rows = variable.sample(20_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(rows.sum(axis=1))[2:] / 20_000, np.full(3, 1 / 3), atol=0.015)
    np.testing.assert_allclose(rows.mean(axis=0), np.full(10, variable.share), atol=0.015)
    assert variable.share == pytest.approx(0.3)
    np.testing.assert_allclose(variable.chances(variable.enumerate()[[0, -1]]), [1 / (3 * 45), 1 / (3 * 210)])
    assert Subset(range(1000), (0, 1000)).chances(np.zeros((1, 1000), dtype=np.int64)) == pytest.approx(1 / 1001)


def test_draws_of_one_size_are_what_they_were():
    drawn = np.random.default_rng(3).random((5, 9)).argsort(axis=1).argsort(axis=1) < 4
    assert Subset(range(9), 4).sample(5, np.random.default_rng(3)).tolist() == drawn.tolist()


def test_constraints_on_the_size_are_met_by_draws():
    space = bo.Space({"s": Subset(range(40), (1, 8))}, [lambda point: len(point["s"]) <= 3])
    sizes = space.sample(2_000, np.random.default_rng(0)).sum(axis=1)
    np.testing.assert_allclose(np.bincount(sizes)[1:] / 2_000, np.full(3, 1 / 3), atol=0.04)


REFUSED_ITEMS_AND_SIZES = [
    (["a", "b", "a"], 2, "Subset: expected distinct items, got 'a' more than once"),
    ("abc", 2, "Subset: expected a sequence of items, got 'abc'"),
    (range(1001), 5, "Subset: expected 2 to 1000 items, got 1001$"),
    (list("abc"), 3, "Subset: size: expected an integer from 1 to 2 for 3 items, or a pair .*; got 3$"),
    (list("ab"), 2, r"Subset: size: expected 1 for 2 items, or a pair \(smallest, largest\) from 0 to 2; got 2$"),
    (list("abc"), 0, "Subset: size: .*; got 0$"),
    (list("abc"), 2.0, "Subset: size: .*; got 2.0$"),
    (list("abc"), True, "Subset: size: .*; got True$"),
    (list("abc"), (2, 1), r"Subset: size: .*; got \(2, 1\)$"),
    (list("abc"), (0, 4), r"Subset: size: .*; got \(0, 4\)$"),
    (list("abc"), (3, 3), r"Subset: size: .*; got \(3, 3\)$"),
]


@pytest.mark.parametrize(("items", "size", "message"), REFUSED_ITEMS_AND_SIZES)
def test_bad_items_and_sizes_are_refused(items, size, message):
    with pytest.raises(DomainError, match=message):
        Subset(items, size)


def test_one_size_may_be_a_pair():
    assert Subset(list("abc"), (2, 2)) == Subset(list("abc"), 2) == Subset(list("abc"), np.int64(2))


REFUSED_VALUES = [
    (FEATURES, ["age", "age"], "each item at most once, got 'age' more than once"),
    (FEATURES, ["age"], r"expected 2 items, got 1: \['age'\]"),
    (FEATURES, ["age", "mass", "pulse"], "expected 2 items, got 3: "),
    (FEATURES, ["age", "height"], "expected one of .*, got 'height'"),
    (FEATURES, "age", "a list, tuple or set of 2 items, got 'age'; in a table, write JSON such as"),
    (FEATURES, None, "a list, tuple or set of 2 items, got None"),
    (VARIABLES["range"], (), r"expected 1 to 3 items, got 0: \(\)"),
]


@pytest.mark.parametrize(("variable", "value", "message"), REFUSED_VALUES)
def test_bad_values_are_refused(variable, value, message):
    with pytest.raises(PointError, match=message):
        variable.parse(value)


def test_a_file_holds_the_edges_of_the_graph():
    data = json.loads(json.dumps(VARIABLES["range on a graph"].to_json()))
    assert data["edges"] == [[0, 1, 0.5], [1, 2, 1.0], [2, 3, 1.0]]
    assert variable_from_json("s", data) == VARIABLES["range on a graph"] != Subset(list("abcd"), (1, 3))
