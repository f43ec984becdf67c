"""Proposals that methods share: initial designs, neighborhoods of a point, and random fallbacks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from bostruct.checks import try_mutation
from bostruct.contracts import Batch, Domain, HistoryView, Json, LocalDomain, Point, State, Suggestion

MAX_SEEN_NEIGHBORS = 5_000
N_MUTATIONS = 50

Design = Callable[[Domain, AbstractSet[Hashable], np.random.Generator], Point]
"""(domain, seen, rng) -> an unseen point; raises SpaceExhausted if none is left."""


def random_design(domain: Domain, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point:
    """Return a random unseen point; raises SpaceExhausted if none is left.

    rng: random number generator.
    """
    return domain.sample_unseen(seen, rng)


@dataclass(frozen=True)
class PoolFirst:
    """The points of a pool in their order, then random points."""

    pool: Batch

    def __call__(self, domain: Domain, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point:
        for x, key in zip(self.pool, domain.keys(self.pool), strict=True):
            if key not in seen:
                return x
        return random_design(domain, seen, rng)


def neighbors_of(domain: LocalDomain, x: Point, rng: np.random.Generator) -> Batch:
    """Return the neighbors of a point, at most 5,000 of them at random.

    rng: random number generator.
    """
    return domain.sample_neighbors(x, MAX_SEEN_NEIGHBORS, rng)


def mutations_of(domain: Domain, x: Point, rng: np.random.Generator) -> Batch:
    """Return 50 mutations of a point; no points if the domain has no mutations.

    rng: random number generator.
    """
    found: list[Batch] = []
    for _ in range(N_MUTATIONS):
        if (changed := try_mutation(domain, x, rng)) is None:
            break
        found.append(changed)
    return domain.join(found)


def mutate_unseen(
    domain: Domain, history: HistoryView, parents: Iterable[int], rng: np.random.Generator
) -> tuple[Point, int] | None:
    """Return the first unseen mutation and the position of its parent; None if all tries led to seen points.

    parents: positions of completed points, one per try.
    """
    for parent in parents:
        x = try_mutation(domain, history.completed[parent], rng)
        if x is not None and domain.key(x) not in history.seen:
            return x, parent
    return None


def nothing_around(domain: Domain, x: Point, rng: np.random.Generator) -> Batch:
    """Return no points: the neighborhood in a domain without neighbors and mutations."""
    del x, rng
    return domain.join()


def draw_blindly(domain: Domain, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
    """Suggest a random unseen point, because no trial has completed; raises SpaceExhausted if none is left.

    The suggestion is a fallback if trials have failed, and the usual start of a run with many workers.

    rng: random number generator.
    """
    why = "no trial has completed"
    if len(history.failed):
        return fall_back(domain, history, state, rng, why)
    return Suggestion(domain.sample_unseen(history.seen, rng), state, {"origin": "random", "why": why})


def fall_back(
    domain: Domain,
    history: HistoryView,
    state: State,
    rng: np.random.Generator,
    why: str,
    has_model_failed: bool = False,
) -> Suggestion:
    """Suggest a random unseen point and record the reason; raises SpaceExhausted if none is left.

    rng: random number generator.
    has_model_failed: True if the reason is numerical, which a study logs as a warning.
    """
    info: dict[str, Json] = {"origin": "fallback", "why": why}
    if has_model_failed:
        info["model"] = "failed"
    return Suggestion(domain.sample_unseen(history.seen, rng), state, info)


RANDOM_DESIGN_SIZE = 12  # points before a model of architectures is used, without a pool


def initial_design(domain: Domain) -> tuple[Design, int]:
    """Return the design that starts with the domain's pool, and its size; without a pool, 12 random points."""
    pool = domain.pool
    return (PoolFirst(pool), len(pool)) if len(pool) else (random_design, RANDOM_DESIGN_SIZE)
