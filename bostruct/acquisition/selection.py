"""Who becomes a parent: from the fitness of m points, larger being better, the chance of each; all (m,)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Array


@dataclass(frozen=True)
class ByRank:
    """Chances fall by a factor of e every `share` of the points, best first; equals share theirs.

    Only the order of the fitness counts, so that a few extremes, or underflow, decide nothing. share: above 0.
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        check_number("share", self.share, 1e-6)

    def __call__(self, fitness: Array) -> Array:
        _, level, count = np.unique(-fitness, return_inverse=True, return_counts=True)
        weights = np.exp(-np.arange(len(fitness)) / (self.share * len(fitness)))  # of the ranks
        ends = np.cumsum(count)
        total = np.add.reduceat(weights, ends - count)
        chances = (total / count)[level]
        return chances / chances.sum()


def by_fitness(fitness: Array) -> Array:
    """In proportion to exp((fitness - mean) / (2 standard deviations)): the released code of Kandasamy et al. 2018.

    Where all are equal, which is a division by zero there, so are the chances.
    """
    units = fitness / max(float(np.max(np.abs(fitness))), 1.0)  # squares of the largest floats are not finite
    spread = float(np.std(units))
    weights = np.exp((units - np.mean(units)) / (2.0 * spread)) if spread > 0.0 else np.ones(len(units))
    return weights / weights.sum()


def uniform(fitness: Array) -> Array:
    """Every point with the same chance: fitness that is drawn at random."""
    return np.full(len(fitness), 1.0 / len(fitness))


@dataclass(frozen=True)
class Aging:
    """The best of a tournament among the youngest (Real et al. 2019); fitness in order of birth.

    population: how many of the youngest live. tournament: draws from them, with replacement. Sizes are theirs.
    """

    population: int = 100
    tournament: int = 25

    def __post_init__(self) -> None:
        check_integer("population", self.population, 1)
        check_integer("tournament", self.tournament, 1)

    def __call__(self, fitness: Array) -> Array:
        alive = fitness[-self.population :]
        n = len(alive)
        not_above = np.arange(n, -1, -1) / n
        wins = not_above[:-1] ** self.tournament - not_above[1:] ** self.tournament  # of each rank
        chances = np.zeros(len(fitness))
        chances[len(fitness) - n + np.argsort(-alive, kind="stable")] = wins
        return chances
