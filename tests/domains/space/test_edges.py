"""Edges of spaces: empty batches, kinds of one's own, values that are equal in Python alone, numbers without end."""

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import DomainError
from bostruct.domains.space.discrete import Ordinal
from tests.wide_variable import Order


class Ring(Ordinal):
    """Ordered choices whose ends are next to each other."""

    def neighbors(self, columns, large_steps=False):
        del large_steps
        return np.array([[(columns[0] - 1) % self.size], [(columns[0] + 1) % self.size]])


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_kinds_of_ones_own_keep_their_neighbors(names):
    space = bo.Space({name: {"a": Ordinal(range(5)), "b": Ring(range(5))}[name] for name in names})
    ring = [1, 4] if names[0] == "b" else [1]
    plain = [1] if names[0] == "b" else [4, 1]
    expected = {(v, 0) for v in ring} | {(0, v) for v in plain}
    assert {tuple(row) for row in space.neighbors(np.array([0, 0])).tolist()} == expected


def test_no_points_have_no_neighbors():
    space = bo.Space({"a": bool, "b": [1, 2, 3]})
    changes, of = space.sample_neighborhoods(space.join(), 5, np.random.default_rng(0))
    assert (len(changes), len(of), changes.rows().shape) == (0, 0, (0, 2))


def test_true_is_not_one():
    assert bo.Space({"a": [True, 2]}) != bo.Space({"a": [1, 2]})
    assert bo.Space({"a": [1, 2]}) == bo.Space({"a": [1, 2]})


def test_numbers_have_tokens_of_their_own():
    space = bo.Space({"r": bo.Real(0, 1), "a": bool})
    xs = space.sample(4, np.random.default_rng(0))
    tokens = space.tokens(xs)
    assert len({int(own[0]) for own in tokens}) == 4
    assert [own.tolist() for own in space.tokens(xs)] == [own.tolist() for own in tokens]


@pytest.mark.parametrize("method", ["combo", "mcts"])
def test_methods_refuse_a_variable_of_several_columns_at_the_door(method):
    space = bo.Space({"o": Order("xyz"), "b": bool})
    with pytest.raises(DomainError, match="o"):
        methods.searcher(method, space)
