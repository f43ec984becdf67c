"""Orders of items as a variable: the laws, what users write and read, refusals, and how orders are crossed."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains.counts import Exact
from bostruct.domains.space.permutation import Permutation
from bostruct.testing import check_domain, check_variable

PASSES = bo.Permutation(["inline", "unroll", "gvn", "dce"])


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
    assert space.present(space.parse({"passes": ["gvn", "dce", "inline", "unroll"]})) == {
        "passes": ("gvn", "dce", "inline", "unroll")
    }


def test_counts_and_lists_are_exact():
    assert PASSES.size == 24
    assert sorted(map(tuple, PASSES.enumerate().tolist())) == sorted(permutations(range(4)))
    assert bo.Space({"p": PASSES, "b": bool}).count() == Exact(48)
    assert bo.Space({"p": Permutation(range(30))}).n_points == math.factorial(30)
    with pytest.raises(DomainError, match="not listed"):
        Permutation(range(9)).enumerate()


def test_orders_of_five_hundred_items():
    space, rng = bo.Space({"p": Permutation(range(500))}), np.random.default_rng(0)
    x = space.sample(1, rng)[0]
    near, _ = space.sample_neighborhoods(x[None], 50, rng, leaps=True)
    assert len(near) == 50
    for other in [space.mutate(x, rng), space.crossover(x, space.sample(1, rng)[0], rng), *near.rows()]:
        space.check(other)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a"], r"Permutation: expected 2 to 500 items, got 1: \['a'\]$"),
        (["a", "b", "a"], r"Permutation: expected distinct items, got 'a' more than once"),
        ("abc", r"Permutation: expected a sequence of items, got 'abc'"),
        (range(501), r"Permutation: expected 2 to 500 items, got more$"),
        (["my choice", "my choice"], r"Permutation: expected distinct items, got 'my choice' more than once"),
        ([1.0, float("nan")], r"Permutation: each item must equal itself and be comparable, got nan"),
    ],
)
def test_bad_items_are_refused(items, message):
    with pytest.raises(DomainError, match=message):
        Permutation(items)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["inline", "unroll", "gvn", "gvn"], "each item once, got 'gvn' more than once"),
        (["inline", "unroll", "gvn"], "all 4 items, got .* without 'dce'"),
        (["inline", "unroll", "gvn", "licm"], "expected one of .*, got 'licm'"),
        ("inline", "a list or tuple of all items"),
        (None, "a list or tuple of all items"),
    ],
)
def test_bad_values_are_refused(value, message):
    with pytest.raises(PointError, match=message):
        PASSES.parse(value)


def test_a_child_has_a_stretch_of_one_parent_and_the_order_of_the_other():
    rng, mine, theirs = np.random.default_rng(0), list(range(8)), list(range(7, -1, -1))
    for _ in range(50):
        child = PASSES.cross(mine, theirs, rng)
        assert sorted(child) == mine
        kept = [i for i, item in enumerate(child) if item == i]
        others = [item for item in child if item not in kept]
        assert others == sorted(others, reverse=True)
        assert kept


def test_a_study_resumes_exactly(tmp_path):
    space = bo.Space({"p": Permutation(list("abcdef")), "b": bool})

    def objective(point):
        return sum(i * ord(item) for i, item in enumerate(point["p"])) + point["b"]

    whole = bo.minimize(objective, space, 18, seed=3)
    for n in (12, 18):
        with bo.Study(space, seed=3, storage=tmp_path / "runs.db") as study:
            parts = study.optimize(objective, n)
    assert [t.point for t in parts.trials] == [t.point for t in whole.trials]
    assert bo.Study.load(tmp_path / "runs.db").domain == space


def test_importance_leaves_orders_out_and_says_so():
    space = bo.Space({"p": Permutation(range(4)), "b": bool, "c": list("xyz")})
    result = bo.minimize(lambda point: float(point["b"]) + 0.1 * point["p"][0], space, 12, method="random", seed=0)
    found = bo.importance(result)
    assert found.left_out == ("p",)
    assert list(found.main) == ["b", "c"]
    with pytest.raises(bo.BostructError, match="named choices"):
        bo.importance(bo.minimize(lambda point: point["p"][0], bo.Space({"p": Permutation(range(4))}), 4, seed=0))


class Tool:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Tool({self.name})"


@pytest.mark.parametrize("items", [list("abcd"), [0, [1], None, 2.5], [Tool("a"), Tool("b"), Tool("c"), Tool("d")]])
def test_trials_stay_data_where_the_items_are_listed_in_another_order(tmp_path, items):
    def objective(point):
        return float(items.index(point["p"][0]))

    def run(listed, n):
        return bo.minimize(objective, {"p": Permutation(listed)}, n, seed=0, storage=tmp_path / "runs.db", name="p")

    before, after = run(items, 6), run(items[::-1], 7)
    assert after.n_unread == 0
    assert [trial.point for trial in after.trials[:6]] == [trial.point for trial in before.trials]


def test_trials_without_a_new_item_are_not_read(tmp_path):
    def run(items, n):
        return bo.minimize(lambda _: 0.0, {"p": Permutation(items)}, n, seed=0, storage=tmp_path / "runs.db", name="p")

    run(["a", "b"], 2)
    with pytest.warns(bo.SpaceChanged, match="all 3 items, got .* without 'c'"):
        after = run(["a", "b", "c"], 3)
    assert after.n_unread == 2
