"""The laws of chance: whoever is given a generator draws from it, and from nothing else; equal chances are equal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from bostruct.contracts import (
    Batch,
    Domain,
    DomainError,
    Infeasible,
    LocalDomain,
    Point,
)
from bostruct.testing.batch_laws import keys_of
from bostruct.testing.common import no_global_randomness

SEEDS = range(6)  # with so many, few outcomes do not hide a second source
ENOUGH = 0.1  # seconds, after which a method that is slow under constraints is asked with no further seed


def check_chance(draw: Callable[[np.random.Generator], object], what: str) -> None:
    """Check that the same generator leads to the same result, without any global generator.

    draw: generator -> a result that can be compared.
    what: the method that draws.
    """
    law = f"{what} draws from the generator given, and from nothing else"
    pairs, began = [], perf_counter()
    try:
        with no_global_randomness():
            for seed in SEEDS:
                pairs.append([draw(np.random.default_rng(seed)) for _ in range(2)])
                if perf_counter() - began > ENOUGH:
                    break
    except AssertionError as error:
        raise AssertionError(f"{law}: {error}") from error
    is_same = all(first == second for first, second in pairs)
    assert is_same, f"{law}: two generators that are alike led to different results"


def check_sources(domain: Any, x: Point, y: Point) -> None:
    """Check that each method of a domain that takes a generator draws from it alone; `sample` has its own law.

    domain: any.
    x, y: two of its points.
    """
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
    except (DomainError, Infeasible):  # no other point, no point on this way, or values of several columns
        return None


def _draw_neighborhoods(domain: LocalDomain, xs: Batch, rng: np.random.Generator) -> object:
    near, of = domain.sample_neighborhoods(xs, 2, rng, leaps=True)
    return domain.keys(near), of.tolist()


def are_plausible(counts: Iterable[int], n_draws: int, chance: float) -> bool:
    """Tell whether a chance explains how often each of some things was drawn, within 6 standard deviations and 2 more.

    counts: of each thing.
    n_draws: draws, each of which has a thing at most once.
    chance: that a draw has the thing, the same for all of them.
    """
    spread = math.sqrt(n_draws * chance * (1.0 - chance))
    return all(abs(count - n_draws * chance) <= 6.0 * spread + 2.0 for count in counts)
