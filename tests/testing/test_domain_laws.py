"""Domains that obey the laws pass, and a domain with one fault breaks one; ours are checked beside their own tests."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DistanceDomain, FeatureDomain
from bostruct.testing.domain_laws import check_continuous, check_domain, check_enumeration

VARIABLES = {"a": bool, "b": ["p", "q", "r", "s"], "c": range(6)}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


class Stuck(bo.Space):
    def mutate(self, x, rng):
        del rng
        return x


class OneWay(bo.Space):
    def neighbors(self, x):
        near = super().neighbors(x)
        return near[near.sum(axis=1) > x.sum()]

    def sample_neighbors(self, x, m, rng):
        del rng
        return self.neighbors(x)[:m]


class Repeating(bo.Space):
    def neighbors(self, x):
        near = super().neighbors(x)
        return self.join(near, near[:1])


class Sparing(bo.Space):
    """It draws fewer neighbors than it is asked for."""

    def sample_neighbors(self, x, m, rng):
        return super().sample_neighbors(x, m, rng)[1:]


class Loose(bo.Space):
    def crossover(self, x, y, rng):
        del y, rng
        return x + 100


class Colliding(bo.Space):
    def keys(self, batch):
        return [int(row.sum()) for row in batch]


class Misnamed(bo.Space):
    def key(self, x):
        return super().key(x[::-1])


class Sorting(bo.Space):
    def take(self, batch, positions):
        return super().take(batch, np.sort(positions))


class Reversing(bo.Space):
    """It joins batches in the wrong order."""

    def join(self, *batches):
        return super().join(*batches[::-1])


class Misreading(bo.Space):
    """It reads other points from keys than they are of."""

    def from_keys(self, keys):
        return super().from_keys(list(keys)[::-1])


class Misplacing(bo.Space):
    """Its neighborhoods belong to other points than they say."""

    def sample_neighborhoods(self, xs, m, rng, large_steps=False):
        near, of = super().sample_neighborhoods(xs, m, rng, large_steps)
        return near, np.sort((of + 1) % len(xs))


class Cut(bo.Space):
    """Its neighborhoods are cut short."""

    def sample_neighborhoods(self, xs, m, rng, large_steps=False):
        near, of = super().sample_neighborhoods(xs, m, rng, large_steps)
        return near[: len(of) - 1], of[:-1]


class Jumping(bo.Space):
    """Its quick changes lead anywhere."""

    def change_each(self, xs, m, rng):
        del xs
        return self.sample(m, rng), np.zeros(m, dtype=np.int64)


class Generous(bo.Space):
    """It makes more quick changes than it is asked for."""

    def change_each(self, xs, m, rng):
        near, of = super().change_each(xs, m, rng)
        twice = np.repeat(np.arange(len(of)), 2)
        return self.take(near, twice), of[twice]


class Lazy(bo.Space):
    """It makes no changes together."""

    def combine(self, x, neighbors, counts):
        del neighbors
        return np.repeat(np.asarray(x)[None], len(counts), axis=0)


class OneSided(bo.Space, DistanceDomain):
    def distances(self, xs, ys):
        return np.maximum(np.asarray(xs)[:, None, 2] - np.asarray(ys)[None, :, 2], 0).astype(float)


class FarFromItself(bo.Space, DistanceDomain):
    def distances(self, xs, ys):
        return np.ones((len(xs), len(ys)))


class Relative(bo.Space, FeatureDomain):
    """Its features depend on the other points of the batch."""

    def features(self, xs):
        return np.asarray(xs) - np.asarray(xs).mean(axis=0)


class Unnumbered(bo.Space, FeatureDomain):
    def features(self, xs):
        return np.full((len(xs), 1), np.nan)


class Trespassing(bo.Space):
    """Its pool has a point that is not its own."""

    @property
    def pool(self):
        return np.array([[0, 0, 99]])


class Lossy(bo.Space):
    def encode(self, x):
        return super().encode(np.zeros_like(x))


class Lopsided(bo.Space):
    def sample(self, m, rng):
        return np.minimum(super().sample(m, rng), super().sample(m, rng))


class Endless(bo.Space):
    def sample_unseen(self, seen, rng):
        del seen
        return self.sample(1, rng)[0]


class Percent(bo.Space):
    """Its shares are not in [0, 1]."""

    def shares(self, xs):
        return 100.0 * super().shares(xs)


class Mirrored(bo.Space):
    """Its shares lead to other points than they were of."""

    def with_shares(self, xs, shares):
        return super().with_shares(xs, 1.0 - shares)


class Careless(bo.Space):
    """It sets choices back when it moves numbers."""

    def with_shares(self, xs, shares):
        rows = super().with_shares(xs, shares)
        rows[:, 0] = 0
        return rows


class Halving(bo.Space):
    """It does not reach the upper ends of its ranges."""

    def shares(self, xs):
        return 0.5 * super().shares(xs)

    def with_shares(self, xs, shares):
        return super().with_shares(xs, np.minimum(2.0 * shares, 1.0))


FAULTY_DOMAINS = [Stuck, OneWay, Repeating, Loose, Colliding, Misnamed, Sorting, Misplacing, Cut, Lazy, OneSided]
FAULTY_DOMAINS += [Jumping, Generous, Reversing, Misreading, FarFromItself, Relative, Unnumbered, Trespassing, Lossy]
FAULTY_DOMAINS += [Sparing]


@pytest.mark.parametrize("faulty", FAULTY_DOMAINS)
def test_a_faulty_domain_fails(faulty, rng):
    with pytest.raises(AssertionError, match=rf"^{faulty.__name__} breaks the law: "):
        check_domain(faulty(VARIABLES), rng, m=8)


@pytest.mark.parametrize("faulty", [Percent, Mirrored, Careless, Halving])
def test_faulty_continuous_coordinates_fail(faulty, rng):
    space = faulty(VARIABLES | {"r": bo.Real(0, 1), "n": bo.Integer(1, 10**6, log=True)})
    with pytest.raises(AssertionError, match="shares"):
        check_continuous(space, space.sample(8, rng), rng)
    check_domain(bo.Space(space.variables), rng, m=8)


@pytest.mark.parametrize("faulty", [Lopsided, Endless])
def test_a_faulty_small_domain_fails(faulty, rng):
    space = faulty(VARIABLES)
    with pytest.raises(AssertionError):
        check_enumeration(space, space.enumerate(), rng)


def test_a_join_that_reverses_its_batches_is_named(rng):
    with pytest.raises(
        AssertionError, match=r"^Reversing breaks the law: join keeps the order of its batches: expected "
    ):
        check_domain(Reversing(VARIABLES), rng)


def test_the_faultless_passes(rng):
    check_domain(bo.Space(VARIABLES), rng, m=8)
