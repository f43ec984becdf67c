"""A domain written from the page of contracts passes the laws, and so does each capability that it has."""

import numpy as np
import pytest

from bostruct.testing.domain_laws import check_domain, check_enumeration
from tests.permutations import Described, Distant, Mutable, Permutations, Swaps


@pytest.mark.parametrize("kind", [Permutations, Mutable, Swaps, Distant, Described])
def test_laws(kind):
    check_domain(kind(4), np.random.default_rng(0), m=5, rebuildable=False)


def test_laws_of_a_small_domain():
    domain = Permutations(3)
    everything = sorted({x for x in domain.sample(500, np.random.default_rng(0))})
    check_enumeration(domain, everything, np.random.default_rng(1))
