"""What it means to be a domain, and to have each capability that it has.

`check_domain` states every law on a few random points; `check_enumerated` adds what can be said only of a small domain
of which all points are known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from bostruct.checks import has_capability
from bostruct.contracts import (
    DomainError,
    HasChoices,
    HasCrossover,
    HasDistances,
    HasFeatures,
    HasMutation,
    HasNeighborhoods,
    HasNeighbors,
    HasPool,
    PointError,
    SpaceExhausted,
)
from bostruct.domains.registry import domain_from_json

CHILDREN = 40  # of which one has a value of the other parent
MOST_NEIGHBORS = 20_000  # beyond, a law is checked on `sample_neighbors` alone


def check_domain(domain: Any, rng: np.random.Generator, m: int = 4, rebuildable: bool = True) -> None:
    """Every law of a domain, and of each capability that it has.

    m: points sampled.
    rebuildable: whether its JSON description holds all of it (not so with constraints, or choices that are objects).
    """
    xs = domain.sample(m, rng)
    assert len(xs) == m
    assert len(domain.sample(0, rng)) == 0
    check_points(domain, xs)
    check_keys(domain, xs)
    check_batch(domain, xs, rng)
    check_seeded(domain)
    check_description(domain, rebuildable)
    for capability, check in CHECKS.items():
        if has_capability(domain, capability):
            for x in xs:
                check(domain, x, rng)
    if has_capability(domain, HasPool):
        check_points(domain, domain.pool)
        check_batch(domain, domain.pool, rng)
    if has_capability(domain, HasDistances):
        check_distances(domain, xs)
    if has_capability(domain, HasFeatures):
        check_features(domain, xs)
    assert domain.key(domain.sample_unseen(frozenset(), rng)) is not None


def check_points(domain: Any, xs: Any) -> None:
    """Points are valid, survive the user's form and JSON, and are not changed by being looked at."""
    before = keys(domain, xs)
    for x in xs:
        domain.check(x)
        assert same(domain, domain.parse(domain.present(x)), x)
        data = domain.encode(x)
        assert same(domain, domain.decode(json.loads(json.dumps(data, allow_nan=False))), x)
    assert keys(domain, xs) == before
    with pytest.raises(PointError):
        domain.parse(object())


def check_keys(domain: Any, xs: Any) -> None:
    """One hashable a point, equal exactly where the presented points are equal; join keeps the order."""
    joined = domain.join(xs, domain.join(), xs)
    found = keys(domain, joined)
    assert len(found) == 2 * len(xs)
    assert found == keys(domain, xs) * 2
    assert len(domain.join()) == 0
    for i, a in enumerate(xs):
        for j, b in enumerate(xs):
            assert (found[i] == found[j]) == (domain.present(a) == domain.present(b))
            assert (hash(found[i]) == hash(found[j])) or found[i] != found[j]


def check_batch(domain: Any, xs: Any, rng: np.random.Generator) -> None:
    """What a batch can do, of whatever kind it is: be counted, indexed, cut, iterated over, taken from and joined."""
    own = [domain.key(x) for x in xs]
    assert len(xs) == len(own)
    assert domain.keys(xs) == own
    assert [domain.key(xs[i]) for i in range(len(xs))] == own
    for cut in (slice(1, None), slice(0, 0)):
        assert domain.keys(xs[cut]) == own[cut]
    for positions in (rng.permutation(len(xs)), [0, 0] if len(xs) else [], []):
        taken = domain.take(xs, positions)
        assert domain.keys(taken) == [own[i] for i in positions]
        assert domain.keys(domain.take(taken, range(len(taken)))) == [own[i] for i in positions]
    assert domain.keys(domain.join(xs)) == domain.keys(domain.join(list(xs))) == own


def check_neighborhoods(domain: Any, x: Any, rng: np.random.Generator) -> None:
    """All neighbors of several points as one batch are the neighbors of one point after another."""
    xs = domain.join([x], domain.sample(2, rng), [x])
    near, of = domain.sample_neighborhoods(xs, MOST_NEIGHBORS, rng)
    check_batch(domain, near, rng)
    assert len(of) == len(near)
    found = domain.keys(near)
    for i, point in enumerate(xs):
        own = [found[j] for j in np.flatnonzero(of == i)]
        expected = domain.keys(domain.neighbors(point))
        assert own == expected if len(expected) <= MOST_NEIGHBORS else set(own) < set(expected)
    few, of = domain.sample_neighborhoods(xs, 2, rng, leaps=True)
    assert np.all(np.diff(of) >= 0)
    assert np.all(np.bincount(of, minlength=len(xs)) <= 2)
    check_batch(domain, few, rng)


def check_distances(domain: Any, xs: Any) -> None:
    """Distances are finite, symmetric, and 0 from a point to itself."""
    own, across = domain.distances(xs, xs), domain.distances(xs, xs[1:])
    assert across.shape == (len(xs), len(xs) - 1)
    np.testing.assert_allclose(own[:, 1:], across)
    np.testing.assert_allclose(own, own.T)
    assert np.all(np.isfinite(own))
    assert np.all(own >= 0.0)
    assert not own.diagonal().any()


def check_features(domain: Any, xs: Any) -> None:
    """Features are finite, as many for each point, and the same whatever else is in the batch."""
    found = domain.features(xs)
    assert found.ndim == 2
    assert len(found) == len(xs)
    assert np.all(np.isfinite(found))
    np.testing.assert_array_equal(domain.features(xs[1:]), found[1:])


def check_seeded(domain: Any) -> None:
    first, second = (keys(domain, domain.sample(5, np.random.default_rng(11))) for _ in range(2))
    assert first == second


def check_description(domain: Any, rebuildable: bool) -> None:
    """The description is JSON, and rebuilds an equal domain or says why it cannot."""
    description = json.loads(json.dumps(domain.to_json(), allow_nan=False))
    if not rebuildable:
        with pytest.raises(DomainError):
            domain_from_json(description)
        return
    rebuilt = domain_from_json(description)
    assert rebuilt == domain
    assert rebuilt.to_json() == domain.to_json()
    assert rebuilt.size == domain.size
    rows = (d.sample(3, np.random.default_rng(5)) for d in (domain, rebuilt))
    assert len({str([domain.encode(x) for x in drawn]) for drawn in rows}) == 1


def check_mutation(domain: Any, x: Any, rng: np.random.Generator) -> None:
    """Valid and another point, which differs in one choice where there is such a point; refused only where there seems
    to be no other.
    """
    try:
        changed = domain.mutate(x, rng)
    except DomainError:
        assert len(set(keys(domain, domain.sample(50, rng)))) == 1, "mutate found no other point, sample did"
        return
    domain.check(changed)
    assert not same(domain, changed, x)
    if has_capability(domain, HasChoices) and len(domain.sample_neighbors(x, 1, rng)):
        before, after = choices(domain, x), choices(domain, changed)
        assert sum(before[key] != after[key] for key in before.keys() & after.keys()) == 1


def check_crossover(domain: Any, x: Any, y: Any, rng: np.random.Generator) -> None:
    """Valid; each choice that one of the two has is as in one of them, and some are as in y alone."""
    assert same(domain, domain.crossover(x, x, rng), x)
    children = [domain.crossover(x, y, rng) for _ in range(CHILDREN)]
    for child in children[:3]:
        domain.check(child)
    if not has_capability(domain, HasChoices):
        return
    first, second = choices(domain, x), choices(domain, y)
    inherited = [choices(domain, child) for child in children]
    for child in inherited:
        for key in child.keys() & (first.keys() | second.keys()):
            assert child[key] in {first.get(key), second.get(key)}
    if any(first[key] != second[key] for key in first.keys() & second.keys()):
        assert any(child[key] != first[key] for child in inherited for key in child.keys() & first.keys())


def check_neighbors(domain: Any, x: Any, rng: np.random.Generator) -> None:
    """Valid, distinct, never x, symmetric, in a fixed order; a part of them is drawn in that order too."""
    some = domain.sample_neighbors(x, 7, rng)
    assert len(some) <= 7
    check_each_neighbor(domain, x, some)
    if len(domain.sample_neighbors(x, MOST_NEIGHBORS + 1, rng)) > MOST_NEIGHBORS:
        return
    near = domain.neighbors(x)
    found = keys(domain, near)
    assert found == keys(domain, domain.neighbors(x))
    assert len(set(found)) == len(found)
    assert len(some) == min(7, len(near))
    position = {key: i for i, key in enumerate(found)}
    positions = [position[key] for key in keys(domain, some)]
    assert positions == sorted(set(positions))
    for most in (len(near), len(near) + 1):
        assert keys(domain, domain.sample_neighbors(x, most, rng)) == found
    check_each_neighbor(domain, x, [near[i] for i in rng.permutation(len(near))[:5]])


def check_each_neighbor(domain: Any, x: Any, near: Iterable[Any]) -> None:
    own = keys(domain, [x])[0]
    for y in near:
        domain.check(y)
        assert keys(domain, [y])[0] != own
        back = domain.sample_neighbors(y, MOST_NEIGHBORS, np.random.default_rng(0))
        if len(back) < MOST_NEIGHBORS:
            assert own in keys(domain, back), "x has a neighbor y of which it is none"


def check_enumerated(domain: Any, points: Any, rng: np.random.Generator) -> None:
    """Of a domain whose points are exactly these: its size, that sampling is uniform, and that it can be exhausted."""
    every = keys(domain, points)
    assert len(set(every)) == len(every)
    assert domain.size == len(every)
    for x in points:
        domain.check(x)
    draws = 60 * len(every)
    counts = dict.fromkeys(every, 0)
    for key in keys(domain, domain.sample(draws, rng)):
        counts[key] += 1
    assert chi_square_is_plausible(list(counts.values()))
    seen: set[Any] = set()
    for _ in every:
        key = keys(domain, [domain.sample_unseen(frozenset(seen), rng)])[0]
        assert key not in seen
        seen.add(key)
    assert seen == set(every)
    with pytest.raises(SpaceExhausted):
        domain.sample_unseen(frozenset(seen), rng)


def chi_square_is_plausible(counts: list[int], deviations: float = 5.0) -> bool:
    """Whether equal chances explain the counts; chi square is normal for many cells, wider for few."""
    expected = sum(counts) / len(counts)
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    freedom = len(counts) - 1
    return statistic <= freedom + deviations * math.sqrt(2 * freedom) + deviations


def keys(domain: Any, xs: Any) -> list[Any]:
    return domain.keys(domain.join(xs))


def choices(domain: Any, x: Any) -> dict[str, float]:
    """The values of a point by the places of its choices."""
    return {one.path: one.value for one in domain.coordinates(x)}


def same(domain: Any, x: Any, y: Any) -> bool:
    return domain.key(x) == domain.key(y)


CHECKS = {
    HasMutation: check_mutation,
    HasNeighbors: check_neighbors,
    HasNeighborhoods: check_neighborhoods,
    HasCrossover: lambda domain, x, rng: check_crossover(domain, x, domain.sample(1, rng)[0], rng),
}
