"""Orders as positions, the changes of an order in a program, and what of it models are told."""

import math
from itertools import permutations

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language.features import coordinates
from bostruct.domains.language.hyperparameters import MAX_LISTED_ORDERS, order_at, position_of_steps
from bostruct.domains.language.walk import Walk
from bostruct.domains.space.permutation import count_rearrangements, list_rearrangements
from bostruct.testing.domain_laws import check_domain

PLACE = "SISOPermutation-0.perm_idx"


def parts(k):
    return [lambda name=name: lang.siso_module(name) for name in "ABCDEFGHIJ"[:k]]


def orders_of(k):
    return lang.SearchSpace(lambda: lang.siso_permutation(parts(k), lang.OneOfKFactorial(k)))


def now_and_then():
    """An order that some programs lack, beside choices of other kinds."""
    order = lang.siso_optional(lambda: lang.siso_permutation(parts(4), lang.OneOfKFactorial(4)), lang.Bool())
    return lang.siso_sequential([order, lang.siso_module("M", {"x": lang.D([1, 2])})])


@pytest.mark.parametrize("k", range(6))
def test_positions_are_those_of_sorted_orders(k):
    assert [order_at(i, k) for i in range(math.factorial(k))] == list(permutations(range(k)))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_steps_say_which_of_the_things_left_is_next(k):
    for position, order in enumerate(permutations(range(k))):
        left, steps = list(range(k)), []
        for thing in order[:-1]:
            steps.append(left.index(thing))
            left.remove(thing)
        assert position_of_steps(tuple(steps)) == position


@pytest.mark.parametrize("k", [2, 3, 5, MAX_LISTED_ORDERS])
def test_neighbors_of_an_order_are_its_rearrangements(k):
    space, rng = orders_of(k), np.random.default_rng(k)
    x = space.sample(1, rng)[0]
    order = np.array(order_at(x[PLACE], k))
    expected = {tuple(row) for row in order[list_rearrangements(k)].tolist()}
    assert len(expected) == count_rearrangements(k)
    near = space.neighbors(x)
    assert {order_at(y[PLACE], k) for y in near} == expected
    assert len(near) == len(expected)
    assert {order_at(space.mutate(x, rng)[PLACE], k) for _ in range(100)} <= expected


def test_positions_that_are_given_are_no_orders():
    space = lang.SearchSpace(lambda: lang.siso_permutation(parts(4), lang.D(range(24))))
    x = space.sample(1, np.random.default_rng(0))[0]
    assert {y[PLACE] for y in space.neighbors(x)} == set(range(24)) - {x[PLACE]}
    assert space.coordinates(x)[0].order is None


def test_an_order_moves_far_where_none_nearby_is_feasible(rng):
    def only_two(dh):
        if dh["p"] not in (0, 16):  # 0123 and 2301
            raise lang.Infeasible("neither")
        return lang.siso_module("M")

    space = lang.SearchSpace(
        lambda: lang.substitution_module("S", only_two, {"p": lang.OneOfKFactorial(4)}, ["in"], ["out"])
    )
    x, y = (space.replay({"S-0.p": p}).trace for p in (0, 16))
    assert space.neighbors(x) == []
    assert (space.mutate(x, rng), space.mutate(y, rng)) == (y, x)


def test_an_order_chosen_in_steps_belongs_to_the_first():
    space = orders_of(9)
    for x in space.sample(5, np.random.default_rng(0)):
        first, *others = space.coordinates(x)
        assert first.order is not None
        assert "".join("ABCDEFGHI"[i] for i in first.order) == "".join(one.kind for one in space.present(x).nodes)
        assert [one.order for one in others] == [()] * 7
    begun = Walk(space._walk.root, 200)
    begun.assign(begun.next(), 3)
    assert [one.order for one in coordinates(begun)] == [None], "the other steps are not known yet"


def test_one_thing_has_no_order():
    x = orders_of(1).sample(1, np.random.default_rng(0))[0]
    assert orders_of(1).coordinates(x)[0].order is None


def test_laws_of_programs_with_orders():
    check_domain(lang.SearchSpace(now_and_then), np.random.default_rng(0), rebuildable=False)


@pytest.mark.parametrize(
    ("k", "fingerprint"), [(4, "74a00afc63b92bcf3d69bf9c1317b44e"), (9, "5940c518e930eecb1344ba47917544e4")]
)
def test_spaces_on_record_stay_the_same(k, fingerprint):
    def named():
        return [lambda name=name: lang.siso_module(name, {"x": lang.D([1, 2])}) for name in "ABCDEFGHI"[:k]]

    assert lang.SearchSpace(lambda: lang.siso_permutation(named(), lang.OneOfKFactorial(k))).fingerprint == fingerprint
