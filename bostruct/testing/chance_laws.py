"""The laws of chance: whoever is given a generator draws from it, and from nothing else; equal chances are equal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from bostruct.testing.common import no_global_randomness

SEEDS = range(6)  # with so many, few outcomes do not hide a second source


def check_chance(draw: Callable[[np.random.Generator], object], what: str) -> None:
    """Check that the same generator leads to the same result, without any global generator.

    draw: generator -> a result that can be compared.
    what: the method that draws.
    """
    law = f"{what} draws from the generator given, and from nothing else"
    for seed in SEEDS:
        try:
            with no_global_randomness():
                first, second = (draw(np.random.default_rng(seed)) for _ in range(2))
        except AssertionError as error:
            raise AssertionError(f"{law}: {error}") from error
        assert first == second, f"{law}: two generators that are alike led to different results"


def are_plausible(counts: Iterable[int], n_draws: int, chance: float) -> bool:
    """Tell whether a chance explains how often each of some things was drawn, within 6 standard deviations and 2 more.

    counts: of each thing.
    n_draws: draws, each of which has a thing at most once.
    chance: that a draw has the thing, the same for all of them.
    """
    spread = math.sqrt(n_draws * chance * (1.0 - chance))
    return all(abs(count - n_draws * chance) <= 6.0 * spread + 2.0 for count in counts)
