"""What is no domain, an equality that lies and an override that disagrees with the default break a law by name."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import AtLeast, Domain, LocalDomain
from bostruct.testing import check_domain
from bostruct.testing.domain_laws import DEFAULTS, check_equality, check_members, check_overrides
from tests.permutations import Permutations, Swaps


class Agreeable(Permutations):
    def __eq__(self, other):
        return True

    __hash__ = Permutations.__hash__


class Reversed(Permutations):
    def take(self, batch, positions):
        return super().take(batch, positions)[::-1]


class Forgetful(Permutations):
    def join(self, *batches):
        return super().join(*batches[:1])


class Coarse(Permutations):
    def keys(self, batch):
        return [x[0] for x in batch]


class Restless(Permutations):
    def sample_candidates(self, m, starts, rng):
        return super().sample_candidates(m + 1, starts, rng)


class Partial(Swaps):
    def sample_neighbors(self, x, m, rng):
        return super().sample_neighbors(x, m, rng)[1:]


class Shifted(Swaps):
    def sample_neighborhoods(self, xs, m, rng, large_steps=False):
        near, of = super().sample_neighborhoods(xs, m, rng, large_steps)
        return near, of[::-1]


class Renamed(bo.Space):
    def names(self, x):
        return [name.upper() for name in super().names(x)]


class Half(bo.Space):
    def list_few(self, most):
        return super().list_few(most)[:2]


class Low(bo.Space):
    def count_at_most(self):
        return 1


class Huge(bo.Space):
    def count(self):
        return AtLeast(10**9)


class Shared(bo.Space):
    def coordinate_values(self, xs):
        return super().coordinate_values(xs) / 2.0


class Bound(bo.Space):
    def sample_discrete_neighborhoods(self, xs, m, rng):
        near, of = super().sample_discrete_neighborhoods(xs, m, rng)
        return near[1:], of[1:]


def test_what_is_no_domain_is_refused_with_the_name_of_the_base():
    with pytest.raises(AssertionError, match=r"instance of a subclass of bostruct\.contracts\.Domain: got object$"):
        check_members(object())
    with pytest.raises(AssertionError, match=r"^Swaps breaks the law: .*: got the class Swaps; pass an instance$"):
        check_domain(Swaps, np.random.default_rng(0))
    check_members(Swaps(4))


def test_an_equality_that_is_always_true_breaks_a_law():
    with pytest.raises(AssertionError, match=r"Agreeable\.__eq__ returns True for <object"):
        check_domain(Agreeable(4), np.random.default_rng(0), rebuildable=False)
    check_equality(Permutations(4))


FAULTS = {
    "keys": Coarse(4),
    "take": Reversed(4),
    "join": Forgetful(4),
    "sample_candidates": Restless(4),
    "names": Renamed({"a": bool, "b": [0, 1, 2]}),
    "list_few": Half({"a": bool, "b": [0, 1, 2]}),
    "count_at_most": Low({"a": bool, "b": [0, 1, 2]}),
    "count": Huge({"a": bool, "b": [0, 1, 2]}),
    "coordinate_values": Shared({"a": bool, "b": [0, 1, 2]}),
    "sample_discrete_neighborhoods": Bound({"a": bool, "x": bo.Real(0.0, 1.0)}),
    "sample_neighbors": Partial(4),
    "sample_neighborhoods": Shifted(4),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_override_that_disagrees_with_the_default_is_named(name):
    domain = FAULTS[name]
    law = rf"{type(domain).__name__}\.{name} agrees with the default of "
    with pytest.raises(AssertionError, match=law):
        check_overrides(domain, domain.sample(4, np.random.default_rng(0)), np.random.default_rng(0))


def test_each_default_that_is_compared_has_a_fault_that_is_found():
    assert {name for _, name, _ in DEFAULTS} == FAULTS.keys()


@pytest.mark.parametrize("domain", [Swaps(4), bo.Space({"a": bool, "b": range(5)}), bo.mlp_domain()], ids=str)
def test_the_faultless_agree_with_the_defaults(domain):
    check_overrides(domain, domain.sample(4, np.random.default_rng(0)), np.random.default_rng(0))
    assert isinstance(domain, LocalDomain) or domain.traits.local is None


def test_a_key_that_fails_on_what_is_no_point_is_named_and_not_the_parse_that_calls_it():
    class Words(Domain):
        def sample(self, m, rng):
            return ["".join(rng.choice(list("ab"), 3)) for _ in range(m)]

        def key(self, x):
            if not isinstance(x, str):
                raise RuntimeError("no text")
            return x

    with pytest.raises(AssertionError, match=r"Words\.parse rejects .*: its key raised RuntimeError: no text"):
        check_domain(Words(), np.random.default_rng(0), rebuildable=False)
