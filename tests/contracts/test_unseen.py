"""Rejection: a point that was not seen, after as few draws as can be, or none."""

from collections import Counter
from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts.domain import DRAW_BLOCKS, DRAWS_UNSEEN, draw_unseen

SPACE = bo.Space({"a": [0, 1, 2, 3], "b": bool})
KEYS = SPACE.keys(SPACE.enumerate())


class Counting:
    """A space that notes how many points each call drew."""

    def __init__(self):
        self.blocks = []

    def sample(self, m, rng):
        self.blocks.append(m)
        return SPACE.sample(m, rng)

    def keys(self, batch):
        return SPACE.keys(batch)


@given(st.sets(st.sampled_from(KEYS)), st.integers(0, 2**32 - 1))
def test_a_point_is_unseen_or_all_were_seen(seen, seed):
    x = draw_unseen(SPACE.sample, SPACE.keys, frozenset(seen), np.random.default_rng(seed))
    if len(seen) == len(KEYS):
        assert x is None
    else:  # of 1024 draws from eight points, all are seen with a chance of (7/8)^1024 at most
        assert SPACE.keys(x[None])[0] not in seen


def test_the_point_is_the_first_of_the_stream_that_is_unseen():
    seen = frozenset(KEYS[::2])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        stream = [key for block in DRAW_BLOCKS for key in SPACE.keys(SPACE.sample(block, rng))]
        x = draw_unseen(SPACE.sample, SPACE.keys, seen, np.random.default_rng(seed))
        assert SPACE.keys(x[None])[0] == next(key for key in stream if key not in seen)


def test_unseen_points_are_as_likely_as_they_are_drawn():
    rng, left = np.random.default_rng(0), KEYS[:3]
    seen = frozenset(KEYS[3:])
    counts = Counter(SPACE.keys(draw_unseen(SPACE.sample, SPACE.keys, seen, rng)[None])[0] for _ in range(900))
    assert sum((counts[key] - 300) ** 2 / 300 for key in left) < 13.8  # p = 0.001 at two degrees of freedom


def test_one_draw_is_enough_where_nothing_was_seen_and_all_blocks_are_drawn_where_everything_was():
    domain = Counting()
    draw_unseen(domain.sample, domain.keys, frozenset(), np.random.default_rng(0))
    assert domain.blocks == [1]
    domain = Counting()
    assert draw_unseen(domain.sample, domain.keys, frozenset(KEYS), np.random.default_rng(0)) is None
    assert (domain.blocks, list(accumulate(DRAW_BLOCKS))[-1]) == (list(DRAW_BLOCKS), DRAWS_UNSEEN)
    domain = Counting()
    assert draw_unseen(domain.sample, domain.keys, frozenset(KEYS), np.random.default_rng(0), blocks=(2, 3)) is None
    assert domain.blocks == [2, 3]
