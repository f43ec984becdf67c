"""Selection of parents: from the fitness of m points, larger being better, the chance of each; all (m,)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Array


@dataclass(frozen=True)
class ByRank:
    """Selection by rank: chances fall by a factor of e every `share` of the points, best first; equals share theirs.

    Only the order of the fitness counts, so that a few extremes, or underflow, decide nothing.

    share: at least 1e-6.

    Raises TypeError, ValueError.
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        check_number("share", self.share, above=0.0)

    def __call__(self, fitness: Array) -> Array:
        _, level, count = np.unique(-fitness, return_inverse=True, return_counts=True)
        weights = np.exp(-np.arange(len(fitness)) / (self.share * len(fitness)))  # of the ranks
        ends = np.cumsum(count)
        total = np.add.reduceat(weights, ends - count)
        chances = (total / count)[level]
        return chances / chances.sum()


def by_fitness(fitness: Array) -> Array:
    """Return chances in proportion to exp((fitness - mean) / (2 standard deviations)) (m,).

    Where all fitnesses are equal, which is a division by zero in the source, all chances are equal.

    fitness: (m,), larger is better.

    Source: the released code of Kandasamy et al. 2018.
    """
    units = fitness / max(float(np.max(np.abs(fitness))), 1.0)  # squares of the largest floats are not finite
    spread = float(np.std(units))
    weights = np.exp((units - np.mean(units)) / (2.0 * spread)) if spread > 0.0 else np.ones(len(units))
    return weights / weights.sum()


def uniform(fitness: Array) -> Array:
    """Return the same chance for every point (m,).

    fitness: (m,), of which only the number counts.
    """
    return np.full(len(fitness), 1.0 / len(fitness))


@dataclass(frozen=True)
class Aging:
    """Selection of the best of a tournament among the youngest points (Real et al. 2019).

    The fitness is given in order of birth. The default sizes are theirs.

    population: how many of the youngest points live, at least 1.
    tournament: draws from them, with replacement, at least 1.

    Raises TypeError, ValueError.
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
