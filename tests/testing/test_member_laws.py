"""A domain with half a contract, half a capability or an equality that lies breaks a law by name."""

from __future__ import annotations

import numpy as np
import pytest

from bostruct.testing import check_domain
from bostruct.testing.member_laws import CAPABILITIES, check_equality, check_members
from tests.permutations import Permutations, Swaps


class Half(Permutations):
    def neighbors(self, x):
        return Swaps(self.n).neighbors(x)


class Batched(Permutations):
    def sample_neighborhoods(self, xs, m, rng, leaps=False):
        raise NotImplementedError


class Named(Permutations):
    """A field and a property that are called like members of capabilities are no methods."""

    names = ("a", "b")

    @property
    def options(self):
        raise RuntimeError("evaluated")


class Agreeable(Permutations):
    def __eq__(self, other):
        return True

    __hash__ = Permutations.__hash__


def test_the_capabilities_are_those_of_the_page():
    assert {"HasNeighbors", "HasMutation", "HasChoices", "HasPool"} < {one.__name__ for one in CAPABILITIES}
    assert not any("Gradient" in one.__name__ or "Appraisal" in one.__name__ for one in CAPABILITIES)


def test_half_a_capability_is_named_with_what_is_missing():
    message = r"for contracts\.HasNeighbors, Half has neighbors and lacks sample_neighbors; methods would not use it"
    with pytest.raises(AssertionError, match=message):
        check_domain(Half(4), np.random.default_rng(0), rebuildable=False)
    with pytest.raises(AssertionError, match=r"Batched has sample_neighborhoods and lacks neighbors, sample_neighbors"):
        check_members(Batched(4))


def test_half_a_contract_is_named_with_what_is_missing():
    with pytest.raises(AssertionError, match=r"a domain has all members of contracts\.Domain: object lacks .*keys"):
        check_members(object())


def test_a_field_is_no_half_capability():
    check_members(Named(4))
    check_members(Swaps(4))


def test_an_equality_that_is_always_true_breaks_a_law():
    with pytest.raises(AssertionError, match=r"Agreeable\.__eq__ says that it equals <object"):
        check_domain(Agreeable(4), np.random.default_rng(0), rebuildable=False)
    check_equality(Permutations(4))
