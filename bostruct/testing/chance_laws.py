"""The laws of randomness: reproducibility, uniform sampling, and sampling of unseen points until none is left.

Domains of at most `MOST_LISTED` points are sampled exhaustively, so that all of their points are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Batch, Domain, DomainError, Infeasible, LocalDomain, Point, SpaceExhausted
from bostruct.testing.batch_laws import keys_of, same
from bostruct.testing.common import no_global_randomness

MOST_LISTED = 64  # maximum number of points of a domain that is sampled exhaustively
STEPS = 4  # number of unseen points sampled in turn from a larger domain
MOST_LOOKUPS = 100_000  # maximum number of lookups of seen keys for one point; an endless search exceeds it
DRAWS = 40  # number of samples, of which at least two differ if a domain has two points
SEEDS = range(6)  # enough seeds that few outcomes do not hide a second source
ENOUGH = 0.1  # seconds, after which no further seed is tried, because a method may be slow under constraints


def check_chance(draw: Callable[[np.random.Generator], object], what: str) -> None:
    """Check that equal generators give equal results, without any global generator."""
    law = f"{what} draws only from the given generator"
    pairs, started = [], perf_counter()
    try:
        with no_global_randomness():
            for seed in SEEDS:
                pairs.append([draw(np.random.default_rng(seed)) for _ in range(2)])
                if perf_counter() - started > ENOUGH:
                    break
    except AssertionError as error:
        raise AssertionError(f"{law}: {error}") from error
    is_same = all(first == second for first, second in pairs)
    assert is_same, f"{law}: two equal generators led to different results"


def check_sources(domain: Any, x: Point, y: Point) -> None:
    """Check that each method with a generator argument uses only that generator; `sample` has a separate law."""
    both, traits = domain.join([x, y]), domain.traits
    local: Any = traits.local
    for has_trait, what, draw in (
        (True, "mutate", lambda rng: domain.key(domain.mutate(x, rng))),
        (True, "crossover", lambda rng: _key_if_any(domain, domain.crossover(x, y, rng))),
        (local, "sample_neighbors", lambda rng: keys_of(domain, local.sample_neighbors(x, 3, rng))),
        (local, "sample_neighborhoods", lambda rng: _draw_neighborhoods(local, both, rng)),
        (traits.choices, "resample", lambda rng: domain.key(domain.resample(x, list(domain.names(x)), rng))),
        (traits.tree, "roll_out", lambda rng: domain.key(domain.roll_out((), rng))),
        (True, "sample_candidates", lambda rng: keys_of(domain, domain.sample_candidates(3, both, rng))),
    ):
        if has_trait:
            check_chance(partial(_unless_refused, draw), what)


def _key_if_any(domain: Domain, x: Point | None) -> object:
    return None if x is None else domain.key(x)


def _unless_refused(draw: Callable[[np.random.Generator], object], rng: np.random.Generator) -> object:
    try:
        return draw(rng)
    except (DomainError, Infeasible):  # no other point, an infeasible point, or values of several columns
        return None


def _draw_neighborhoods(domain: LocalDomain, xs: Batch, rng: np.random.Generator) -> object:
    near, of = domain.sample_neighborhoods(xs, 2, rng, large_steps=True)
    return domain.keys(near), of.tolist()


def check_unseen(domain: Domain, rng: np.random.Generator) -> list[Point] | None:
    """Check that `sample_unseen` returns valid unseen points, uses only `rng`, and ends with SpaceExhausted.

    rng: random number generator.

    Returns all points of a domain of at most `MOST_LISTED` points, None for a larger domain.
    """
    who, seed = type(domain).__name__, int(rng.integers(2**31))
    first, again = (domain.sample_unseen(frozenset(), np.random.default_rng(seed)) for _ in range(2))
    assert same(domain, first, again), f"{who}.sample_unseen with the same generator returns the same point"
    draw_unseen_point(
        domain, {domain.key(first)}, np.random.default_rng(seed)
    )  # if `seen` is ignored, `first` is returned again
    draws = () if domain.size < math.inf else domain.sample(2 * MOST_LISTED, np.random.default_rng(seed))
    is_small = domain.size <= MOST_LISTED or 0 < len(set(keys_of(domain, draws))) <= MOST_LISTED
    points = draw_unseen_points(domain, rng, MOST_LISTED if is_small else STEPS)
    assert len(points) <= domain.size, f"{who}.size is at least the number of points: {domain.size}, got {len(points)}"
    check_variety(domain, points, rng)
    return points if (is_small and len(points) <= MOST_LISTED) or len(points) < STEPS else None


def draw_unseen_points(domain: Domain, rng: np.random.Generator, most: int) -> list[Point]:
    """Sample unseen points in turn, until none is left or more than `most` have been sampled.

    rng: random number generator.
    """
    points, seen = list[Point](), set[Hashable]()
    while len(points) <= most:
        x = draw_unseen_point(domain, seen, rng)
        if x is None:
            break
        points.append(x)
        seen.add(domain.key(x))
    return points


def draw_unseen_point(domain: Domain, seen: set[Hashable], rng: np.random.Generator) -> Point | None:
    """Return an unseen point after checks; None if the domain reports that no point is left.

    rng: random number generator.
    """
    who = type(domain).__name__
    law = f"{who}.sample_unseen returns a point whose key is not in `seen`, or raises SpaceExhausted"
    try:
        x = domain.sample_unseen(CountedKeys(seen), rng)
    except SpaceExhausted:
        left = [key for key in keys_of(domain, domain.sample(DRAWS, rng)) if key not in seen]
        assert not left, f"{law}: it raised SpaceExhausted after {len(seen)} points, sample drew {left[0]!r}"
        return None
    except Exception as error:
        if isinstance(error, AssertionError):
            raise
        raise AssertionError(f"{law}: with {len(seen)} of {domain.size} points seen it raised {error!r}") from error
    assert domain.key(x) not in seen, f"{law}: with {len(seen)} of {domain.size} seen it returned {short_repr(x)}"
    domain.check(x)
    return x


class CountedKeys(frozenset[Hashable]):
    """Seen keys that detect an endless search."""

    def __new__(cls, keys: Iterable[Hashable]) -> CountedKeys:
        made = super().__new__(cls, keys)
        made.lookups = 0
        return made

    lookups: int

    def __contains__(self, key: object) -> bool:
        self.lookups += 1
        assert self.lookups <= MOST_LOOKUPS, (
            f"sample_unseen raises SpaceExhausted when no unseen point is left, or none was found: it looked up "
            f"{MOST_LOOKUPS:,} keys among {len(self)} seen and continues"
        )
        return super().__contains__(key)


def check_variety(domain: Domain, points: list[Point], rng: np.random.Generator) -> None:
    """Check that `sample` returns several points, if a domain has several.

    rng: random number generator.
    """
    drawn = set(keys_of(domain, domain.sample(DRAWS, rng)))
    assert len(points) < 2 or len(drawn) > 1, (
        f"{type(domain).__name__}.sample draws points independently: {DRAWS} draws were one point, {drawn.pop()!r}, "
        f"but the domain has others"
    )


def check_uniform(domain: Domain, points: Iterable[Point], rng: np.random.Generator) -> None:
    """Check that `sample` returns the points of a small domain with equal probability, and no others.

    rng: generator of 60 samples per point.
    """
    counts = dict.fromkeys(keys_of(domain, points), 0)
    for key in keys_of(domain, domain.sample(60 * len(counts), rng)):
        assert key in counts, f"sample draws points of the domain: got {key!r}"
        counts[key] += 1
    assert chi_square_is_plausible(list(counts.values())), (
        f"{type(domain).__name__}.sample draws uniformly: got {short_repr(counts, 300)}"
    )


def chi_square_is_plausible(counts: list[int], deviations: float = 5.0) -> bool:
    """Return whether counts agree with equal probabilities; chi square is normal for many cells, wider for few.

    deviations: the largest allowed distance from the mean of chi square, in standard deviations.
    """
    expected = sum(counts) / len(counts)
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    freedom = len(counts) - 1
    return statistic <= freedom + deviations * math.sqrt(2 * freedom) + deviations


def are_plausible(counts: Iterable[int], n_draws: int, chance: float) -> bool:
    """Return whether counts agree with a probability, within 6 standard deviations plus 2.

    n_draws: number of draws; each draw contains an item at most once.
    """
    spread = math.sqrt(n_draws * chance * (1.0 - chance))
    return all(abs(count - n_draws * chance) <= 6.0 * spread + 2.0 for count in counts)
