"""Univariate slice sampling: published chains, moments, and cost by counting."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bostruct.methods.combo import EDGE_WEIGHT_PRIOR
from bostruct.surrogates.slice_sampling import slice_update


def standard_normal(x: float) -> float:
    return -0.5 * x * x


def two_humps(x: float) -> float:
    return float(np.logaddexp(-0.5 * ((x + 3) / 0.5) ** 2, -0.5 * ((x - 3) / 0.5) ** 2))


# What the code of Oh et al. (2019) draws, to all digits that it was printed with: seed, density, start, chain.
PUBLISHED = [
    (
        0,
        standard_normal,
        0.0,
        "0.556505460545 -0.129861367852 -0.217895132867 0.654311842151 0.175067254053 -0.829188829042",
        0.6976311959,
    ),
    (
        1,
        two_humps,
        -3.0,
        "-3.266733700664 -2.910948153575 -2.788113660012 -2.551296722750 -2.356083080815 -3.103374865902 "
        "-3.613468310541 -3.651053396132",
        0.5358964059,
    ),
    (
        2,
        EDGE_WEIGHT_PRIOR.log_density,
        0.0,
        "-10.132286208275 -10.844463723210 -10.490521751651 -3.899966773664 -6.301395376125",
        0.7649598605,
    ),
]


@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize(("seed", "log_density", "x", "chain", "following"), PUBLISHED)
def test_published_chains(seed, log_density, x, chain, following, remembers):
    rng = np.random.RandomState(seed)  # the generator of the published code
    known = None
    for expected in chain.split():
        draw = slice_update(log_density, x, rng, known)
        x, known = draw.value, draw.log_density if remembers else None
        assert f"{x:.12f}" == expected
    assert rng.random() == pytest.approx(following, abs=1e-10)  # and it has used as many random numbers


def gamma(x: float) -> float:
    """log X for X ~ Gamma(2, 1): skewed, and on the unconstrained scale."""
    return 2.0 * x - math.exp(x) if x < 700.0 else -math.inf


def test_moments_of_a_skewed_density():
    rng = np.random.default_rng(5)
    x, chain = 0.0, []
    for _ in range(20_000):
        x = slice_update(gamma, x, rng).value
        chain.append(x)
    sample = np.exp(chain)
    batches = sample.reshape(40, -1)
    for power, expected in ((1, 2.0), (2, 6.0)):  # E X, E X^2
        means = (batches**power).mean(axis=1)
        assert abs(means.mean() - expected) < 4 * means.std(ddof=1) / math.sqrt(len(means))
    below = (batches < 1.0).mean(axis=1)
    assert abs(below.mean() - (1 - 2 / math.e)) < 4 * below.std(ddof=1) / math.sqrt(len(below))


def test_bounded_support_is_respected_and_filled():
    rng = np.random.default_rng(6)
    x, chain = 0.25, []
    for _ in range(8_000):
        x = slice_update(lambda t: 0.0 if 0.0 <= t <= 1.0 else -math.inf, x, rng).value
        chain.append(x)
    assert min(chain) >= 0.0
    assert max(chain) <= 1.0
    means = np.array(chain).reshape(40, -1).mean(axis=1)
    assert abs(means.mean() - 0.5) < 4 * means.std(ddof=1) / math.sqrt(40)


@given(st.integers(0, 2**32 - 1), st.floats(-5, 5), st.sampled_from([gamma, two_humps, standard_normal]))
@settings(deadline=None, max_examples=200)
def test_no_density_is_evaluated_twice_at_one_place(seed, x0, log_density):
    for known in (None, log_density(x0)):
        places: Counter[float] = Counter()

        def counted(x: float, places: Counter[float] = places) -> float:
            places[x] += 1
            return log_density(x)

        draw = slice_update(counted, x0, np.random.default_rng(seed), known)
        assert draw.evaluations == sum(places.values())
        assert max(places.values()) == 1
        assert places[x0] == (known is None)
        assert draw.log_density == log_density(draw.value)
        assert draw.evaluations <= 60


def test_brackets_that_collapse_are_tried_again_with_the_published_widths():
    """0.9, and where it comes to nothing 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1: without 0.5, as published."""
    places = []

    def spike(x: float) -> float:
        places.append(x)
        return 0.0 if x == 0.0 else -math.inf

    assert slice_update(spike, 0.0, np.random.default_rng(3)).value == 0.0
    gaps = [10 * (right - left) for left, right in itertools.pairwise(places) if left < 0 < right]
    tried = [round(gap) / 10 for gap in gaps if round(gap) and abs(gap - round(gap)) < 1e-9]
    assert tried == [0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1]


def test_a_density_that_is_a_point_stays_there_at_bounded_cost():
    places = []

    def spike(x: float) -> float:
        places.append(x)
        return 0.0 if x == 0.3 else -math.inf

    draw = slice_update(spike, 0.3, np.random.default_rng(0))
    assert (draw.value, draw.log_density) == (0.3, 0.0)
    assert len(places) < 1_000
