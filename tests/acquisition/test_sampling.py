"""The best of random points, over a domain of which nothing else is known."""

import numpy as np
import pytest

from bostruct.acquisition.bounded_search import Sampling
from tests.acquisition.test_local_search import Order
from tests.permutations import Permutations


def test_returns_the_best_of_what_it_drew_each_once():
    domain, score = Permutations(5), Order()
    maxima, info = Sampling(raw_samples=400, kept=7)(score, domain, [], np.random.default_rng(0))
    drawn = set(domain.sample(400, np.random.default_rng(0)))
    assert info == {"candidates": len(drawn), "best_score": score(maxima)[0]}
    assert len(set(maxima)) == len(maxima) == 7
    assert score(maxima).tolist() == sorted(score(list(drawn)), reverse=True)[:7]


def test_a_domain_of_few_points_gives_few():
    maxima, _ = Sampling()(Order(), Permutations(2), [(0, 1)], np.random.default_rng(0))
    assert maxima == [(1, 0), (0, 1)]


@pytest.mark.parametrize("name", ["raw_samples", "kept"])
def test_wrong_settings_are_refused_by_name(name):
    with pytest.raises(ValueError, match=name):
        Sampling(**{name: 0})
