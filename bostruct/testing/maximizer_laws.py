"""The laws of a maximizer, on scores that any domain has."""

from __future__ import annotations

import json
import zlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bostruct.checks import check_part, short_repr
from bostruct.contracts import Array, Batch, Domain, Info, Json, Maximizer, Score
from bostruct.testing.batch_laws import keys_of
from bostruct.testing.capability_laws import check_valid
from bostruct.testing.common import (
    assert_close,
    copy_batch,
    names_part,
    no_global_randomness,
    read_back,
    sample_changes,
)


class RecordedScore(Score):
    """A score that keeps what it was asked, in order.

    score: any.
    domain: of the points.
    """

    def __init__(self, score: Score, domain: Domain) -> None:
        self.score, self.domain = score, domain
        self.asked: list[Hashable] = []

    def __call__(self, xs: Batch) -> Array:
        """Return the score of each of m points (m,)."""
        self.asked += self.domain.keys(xs)
        return self.score(xs)

    def upper_bounds(self, xs: Batch) -> Array:
        self.asked += self.domain.keys(xs)
        return self.score.upper_bounds(xs)


@dataclass(frozen=True, eq=False)
class RandomScore(Score):
    """A score that any domain has: a number in 0..levels - 1, a checksum of the point's JSON.

    domain: of the points.
    seed: of the score, a number of at most 32 bits.
    levels: at least 1; equal scores are frequent where they are few.
    slack: the most by which a bound exceeds the score, at least 0.
    """

    domain: Domain
    seed: int
    levels: int = 1_000
    slack: float = 0.0

    def __call__(self, xs: Batch) -> Array:
        """Return the score of each of m points (m,)."""
        return np.array([self._digest(self.domain.encode(x), 0) for x in xs], dtype=np.float64)

    def upper_bounds(self, xs: Batch) -> Array:
        """Return the scores, and on top of each a share of the slack (m,).

        xs: m points.
        """
        shares = np.array([1 + self._digest(self.domain.encode(x), 1) for x in xs], dtype=np.float64) / self.levels
        return self(xs) + self.slack * shares

    def _digest(self, data: Json, salt: int) -> int:
        return zlib.crc32(json.dumps([self.seed, salt, data]).encode()) % self.levels


@names_part
def check_maximizer(maximizer: Maximizer, domain: Domain, rng: np.random.Generator, n_starts: int = 4) -> None:
    """Check every law of a maximizer; raise AssertionError, which names the law.

    A maximizer that cannot do without starts may refuse none of them with a ValueError that names `starts`.

    maximizer: any.
    domain: has what the maximizer needs.
    rng: draws starts, scores and seeds.
    n_starts: starts given, at least 2.
    """
    check_part("maximizer", maximizer, Maximizer)
    starts, seed = domain.sample(n_starts, rng), int(rng.integers(2**31))
    for levels in (1_000, 3):
        score = RandomScore(domain, seed, levels, 0.3 * levels)
        found = _maximize(maximizer, score, domain, starts, seed)
        _check_maxima(score, domain, found)
        copied = _maximize(maximizer, score, domain, copy_batch(domain, starts), seed)
        assert copied[0] == found[0], "equal starts that are other objects lead to the same points"
        unbounded = _maximize(maximizer, RandomScore(domain, seed, levels, np.inf), domain, starts, seed)
        assert unbounded[0] == found[0], "bounds save work and change nothing"
        pair = sample_changes(domain, starts, 2, rng)
        if pair is not None:
            both = [_maximize(maximizer, score, domain, batch, seed)[0] for batch in pair]
            assert both[0] == both[1], "starts that are single changes lead where the points lead that they are"
    _check_without_starts(maximizer, RandomScore(domain, seed, 1_000, 300.0), domain, seed)


def _maximize(
    maximizer: Maximizer, score: RandomScore, domain: Domain, starts: Batch, seed: int
) -> tuple[list[Any], Info, Any]:
    """Return the keys of the points found, what goes on record, and the points; check that nothing else changes."""
    before, runs = keys_of(domain, starts), []
    recorded = [RecordedScore(score, domain) for _ in range(2)]
    for one in recorded:
        with no_global_randomness():
            runs.append(maximizer(one, domain, starts, np.random.default_rng(seed)))
    for found in runs:
        is_pair = isinstance(found, tuple) and len(found) == 2
        assert is_pair, f"a maximizer returns points and what goes on record: got {short_repr(found)}"
    (points, info), (again, _) = runs
    keys = domain.keys(points)
    assert keys_of(domain, starts) == before, "a maximizer leaves the starts as they are"
    assert domain.keys(again) == keys, "the same seed leads to the same points"
    is_same = recorded[0].asked == recorded[1].asked
    assert is_same, "the same seed asks for the scores of the same points: the generator is the only source of chance"
    assert read_back(info) == info, f"the info survives JSON: {short_repr(info)} does not"
    return keys, info, points


def _check_maxima(score: RandomScore, domain: Domain, found: tuple[list[Hashable], Info, Batch]) -> None:
    keys, info, points = found
    assert len(keys), "a maximizer returns at least one point"
    check_valid(domain, points, "a maximizer")
    assert len(set(keys)) == len(keys), "each point is returned once"
    scores = score(points)
    assert np.all(np.diff(scores) <= 0.0), f"points are returned best first, not with scores {scores.tolist()}"
    if "best_score" in info:
        assert_close(info["best_score"], scores[0], 0.0, "best_score on record is the score of the first point")


def _check_without_starts(maximizer: Maximizer, score: RandomScore, domain: Domain, seed: int) -> None:
    try:
        found = _maximize(maximizer, score, domain, domain.join(), seed)
    except ValueError as error:
        if not str(error).startswith("starts:"):  # which a maximizer that needs starts may say
            raise
    else:
        _check_maxima(score, domain, found)
