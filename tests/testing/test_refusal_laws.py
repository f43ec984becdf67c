"""Domains that take what is no point for one break a law, whose message names the method and what it was shown."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.testing import check_domain
from bostruct.testing.domain_laws import check_refusals
from tests.permutations import Permutations


class Trusting(Permutations):
    def check(self, x):
        pass


class Counting(Permutations):
    """It looks at the length alone."""

    def check(self, x):
        if not isinstance(x, tuple) or len(x) != self.n:
            raise PointError("point")


class Raw(Permutations):
    """What is no list makes `parse` raise TypeError."""

    def parse(self, point):
        x = tuple(point)
        self.check(x)
        return x


class Sorted(Permutations):
    """Parts that cannot be compared make `check` raise TypeError."""

    def check(self, x):
        if not isinstance(x, tuple) or sorted(x) != list(range(self.n)):
            raise PointError("point")


class Mending(Permutations):
    """Any JSON is a point to it."""

    def decode(self, data):
        return tuple(data) if isinstance(data, list) and sorted(map(str, data)) == ["0", "1", "2"] else (9, 9, 9)

    def check(self, x):
        if x != (9, 9, 9):
            super().check(x)


FAULTS = [
    (Trusting, "Trusting.parse rejects an invalid point, <object object"),
    (Counting, "Counting.parse rejects an invalid point, "),
    (Raw, "Raw.parse rejects an invalid point, <object object"),
    (Sorted, "with PointError: its check raised TypeError: '<' not supported"),
    (Mending, "Mending.decode rejects an invalid point, None: it was accepted, as (9, 9, 9)"),
]


@pytest.mark.parametrize(("faulty", "message"), FAULTS)
def test_a_domain_that_accepts_anything_breaks_the_law_by_name(faulty, message):
    domain, rng = faulty(3), np.random.default_rng(0)
    with pytest.raises(AssertionError) as caught:
        check_refusals(domain, domain.sample(3, rng), Permutations(3).sample(100, rng))
    assert message in str(caught.value)


def test_what_is_wrong_only_where_all_points_are_known_is_found_by_the_law_of_a_domain():
    with pytest.raises(AssertionError, match=r"Counting\.parse rejects an invalid point"):
        check_domain(Counting(3), np.random.default_rng(0), rebuildable=False)


def test_what_a_domain_rightly_takes_is_no_fault():
    """The law shows numbers and texts that are values here."""
    rng = np.random.default_rng(0)
    domain = bo.Space({"a": bo.Real(0.0, 1e12), "b": ["no point", "other"]})
    check_refusals(domain, domain.sample(4, rng))
