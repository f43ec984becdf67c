"""Domains that cannot be drawn from to the end break a law, whose message names the domain and the method."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bostruct.contracts import Domain, SpaceExhausted
from bostruct.testing import check_domain, check_enumeration
from bostruct.testing.chance_laws import CountedKeys, check_unseen
from tests.permutations import Permutations


class Ignoring(Permutations):
    def sample_unseen(self, seen, rng):
        del seen
        return self.sample(1, rng)[0]


class Endless(Permutations):
    def sample_unseen(self, seen, rng):
        while (x := self.sample(1, rng)[0]) in seen:
            pass
        return x


class Raising(Permutations):
    def sample_unseen(self, seen, rng):
        del rng
        return next(x for x in itertools.permutations(range(self.n)) if x not in seen)


class Timid(Permutations):
    def sample_unseen(self, seen, rng):
        if len(seen) > 2:
            raise SpaceExhausted("enough")
        return super().sample_unseen(seen, rng)


class Restless(Permutations):
    def sample_unseen(self, seen, rng):
        del rng
        return super().sample_unseen(seen, np.random.default_rng())


class Constant(Permutations):
    def sample(self, m, rng):
        del rng
        return [tuple(range(self.n))] * m

    def sample_unseen(self, seen, rng):
        return Permutations(self.n).sample_unseen(seen, rng)


class Lopsided(Permutations):
    def sample(self, m, rng):
        return [min(super(Lopsided, self).sample(2, rng)) for _ in range(m)]


class Modest(Permutations):
    @property
    def size(self):
        return 4

    def sample_unseen(self, seen, rng):
        return Permutations(self.n).sample_unseen(seen, rng)


class Uncounted(Permutations):
    size = Domain.size
    sample_unseen = Domain.sample_unseen


class LopsidedUncounted(Uncounted, Lopsided):
    pass


UNSEEN = "sample_unseen returns a point whose key is not in `seen`, or raises SpaceExhausted"
FAULTS = [
    (Ignoring, 6, f"Ignoring.{UNSEEN}"),  # a large domain, in which a repeat is rare
    (Ignoring, 3, f"Ignoring.{UNSEEN}"),
    (Endless, 3, "it looked up 100,000 keys among 6 seen and continues"),
    (Raising, 3, "raises SpaceExhausted: with 6 of 6 points seen it raised StopIteration"),
    (Timid, 3, "raises SpaceExhausted: it raised SpaceExhausted after 3 points, sample drew"),
    (Restless, 6, "Restless.sample_unseen with the same generator returns the same point"),
    (Constant, 5, "Constant.sample draws points independently: 40 draws were one point"),
    (Lopsided, 3, "Lopsided.sample draws uniformly"),
    (LopsidedUncounted, 3, "LopsidedUncounted.sample draws uniformly"),
    (Modest, 3, "Modest.size is at least the number of points: 4"),
]


@pytest.mark.parametrize(("faulty", "n", "message"), FAULTS)
def test_a_faulty_domain_breaks_the_law_by_name(faulty, n, message):
    with pytest.raises(AssertionError) as caught:
        check_domain(faulty(n), np.random.default_rng(0), rebuildable=False)
    assert message in str(caught.value)


def test_a_uniform_domain_needs_no_size_for_the_laws_but_for_an_enumeration():
    for n in (3, 4, 5):
        check_domain(Uncounted(n), np.random.default_rng(0), rebuildable=False)
    words = "Uncounted breaks the law: size is the number of points: expected 6, got inf; override it$"
    with pytest.raises(AssertionError, match=words):
        check_enumeration(Uncounted(3), list(itertools.permutations(range(3))), np.random.default_rng(0))


def test_all_points_of_a_small_domain_are_known_afterwards():
    assert sorted(check_unseen(Permutations(3), np.random.default_rng(0))) == list(itertools.permutations(range(3)))
    assert check_unseen(Permutations(6), np.random.default_rng(0)) is None


def test_counted_keys_are_a_set_like_any_other():
    keys = CountedKeys(["a", "b"])
    assert "a" in keys
    assert "c" not in keys
    assert (keys.lookups, keys, len(keys), keys | {"c"}) == (2, frozenset("ab"), 2, frozenset("abc"))
