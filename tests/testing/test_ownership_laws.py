"""Points that are changed in place, and data shared with a point, break a law."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import FeatureDomain
from bostruct.testing import check_domain
from bostruct.testing.batch_laws import check_ownership, spoil, unchanged
from tests.permutations import Distant


class Rows(Distant, FeatureDomain):
    """Permutations as lists, which can be changed."""

    def sample(self, m, rng):
        return [list(x) for x in super().sample(m, rng)]

    def sample_unseen(self, seen, rng):
        return list(Distant(self.n).sample_unseen(seen, rng))

    def check(self, x):
        super().check(tuple(x) if isinstance(x, list) else x)

    def parse(self, point):
        return list(super().parse(point))

    def present(self, x):
        return list(x)

    def encode(self, x):
        return list(x)

    def decode(self, data):
        return list(data)

    def key(self, x):
        return tuple(x)

    def keys(self, batch):
        return [tuple(x) for x in batch]

    def neighbors(self, x):
        return [list(y) for y in super().neighbors(tuple(x))]

    def crossover(self, x, y, rng):
        return list(x if rng.random() < 0.5 else y)

    def features(self, xs):
        return np.array(xs, dtype=np.float64).reshape(len(xs), self.n)


class MutatesInPlace(Rows):
    def mutate(self, x, rng):
        x[:] = super().mutate(x, rng)
        return list(x)


class CrossesInPlace(Rows):
    def crossover(self, x, y, rng):
        y[:] = x
        return super().crossover(x, y, rng)


class SortsForFeatures(Rows):
    def features(self, xs):
        for x in xs:
            x.sort()
        return super().features(xs)


class ListsInPlace(Rows):
    def neighbors(self, x):
        near = super().neighbors(x)
        x.reverse()
        return near


class SortsForDistances(Rows):
    def distances(self, xs, ys):
        for x in xs:
            x.sort()
        return super().distances(xs, ys)


class PresentsItself(Rows):
    def present(self, x):
        return x


class EncodesItself(Rows):
    def encode(self, x):
        return x


class KeepsData(Rows):
    def decode(self, data):
        return data


@pytest.mark.parametrize(
    ("faulty", "says"),
    [
        (MutatesInPlace, "mutate does not change its arguments: "),
        (CrossesInPlace, "crossover does not change its arguments: "),
        (SortsForFeatures, "features does not change its arguments: "),
        (ListsInPlace, "mutate does not change its arguments: "),
        (SortsForDistances, "distances does not change its arguments: "),
        (PresentsItself, "present returns a copy: "),
        (EncodesItself, "encode returns a copy: "),
        (KeepsData, "decode copies its argument: "),
    ],
)
def test_a_domain_that_changes_or_shares_points_fails(faulty, says):
    for seed in range(3):
        with pytest.raises(AssertionError, match=rf"^{faulty.__name__} breaks the law: {says}"):
            check_domain(faulty(5), np.random.default_rng(seed), rebuildable=False)


def test_points_that_can_be_changed_pass():
    check_domain(Rows(5), np.random.default_rng(0), rebuildable=False)
    check_ownership(Rows(5), [[0, 1, 2, 3, 4]])


def test_plain_data_is_spoiled_to_the_core():
    data = {"a": [1, (2, [3])]}
    inner = data["a"]
    spoil(data)
    assert (data, inner) == ({}, [None, (2, [None, 3]), 1])
    array, text = np.ones(2), "text"
    spoil([array, text, {1}])
    assert array.tolist() == [0.0, 0.0]


def test_arrays_are_read_only_while_they_are_watched():
    space = bo.Space({"a": bool, "b": range(4)})
    xs = space.sample(2, np.random.default_rng(0))
    first = xs[0]

    def change() -> None:
        with unchanged(space, [first], "a step"):
            first[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        change()
    assert first.flags.writeable
