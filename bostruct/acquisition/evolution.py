"""Evolution on the score: the maximizer for domains whose points have too many neighbors to list.

In each generation, parents are sampled from all scored points by their scores, and mutated (Kandasamy et al. 2018,
section 5, and the released code). A selection is a function from the fitness of m points, larger is better, to the
probability that each is a parent, (m,) each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np

from bostruct.checks import check_bool, check_integer, check_number, try_mutation
from bostruct.contracts import ADDED_LATER, Array, Batch, Domain, Info, Maximizer, Score


@dataclass(frozen=True)
class ByRank:
    """Selection by rank: probabilities fall by a factor of e for each `share` of the points; equal points share theirs.

    Only the order of the fitness matters, so extremes and underflow have no effect.

    share: at least 1e-6.

    Raises TypeError, ValueError.
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        check_number("share", self.share, above=0.0)

    def __call__(self, fitness: Array) -> Array:
        _, level, count = np.unique(-fitness, return_inverse=True, return_counts=True)
        weights = np.exp(-np.arange(len(fitness)) / (self.share * len(fitness)))  # one for each rank
        ends = np.cumsum(count)
        total = np.add.reduceat(weights, ends - count)
        probabilities = (total / count)[level]
        return probabilities / probabilities.sum()


def by_fitness(fitness: Array) -> Array:
    """Return probabilities in proportion to exp((fitness - mean) / (2 standard deviations)) (m,).

    If all fitnesses are equal, which is a division by zero in the source, all probabilities are equal.

    fitness: fitness of the points (m,), larger is better.

    Source: the released code of Kandasamy et al. 2018.
    """
    units = fitness / max(float(np.max(np.abs(fitness))), 1.0)  # squares of the largest floats are not finite
    spread = float(np.std(units))
    weights = np.exp((units - np.mean(units)) / (2.0 * spread)) if spread > 0.0 else np.ones(len(units))
    return weights / weights.sum()


def uniform(fitness: Array) -> Array:
    """Return the same probability for each point (m,).

    fitness: (m,), of which only the length matters.
    """
    return np.full(len(fitness), 1.0 / len(fitness))


@dataclass(frozen=True)
class Aging:
    """Selection of the best of a tournament among the youngest points (Real et al. 2019).

    The fitness is in order of birth. The default sizes are published.

    population: number of the youngest points that may be parents, at least 1.
    tournament: number of points sampled from the population, at least 1.
    replacement: if True, a point may be sampled twice, as in Real et al.; if False, the points are distinct, as in the
        code of Negrinho et al. 2019, and the whole population if the tournament is larger.

    Raises TypeError, ValueError.
    """

    population: int = 100
    tournament: int = 25
    replacement: bool = field(default=True, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        check_integer("population", self.population, 1)
        check_integer("tournament", self.tournament, 1)
        check_bool("replacement", self.replacement)

    def __call__(self, fitness: Array) -> Array:
        alive = fitness[-self.population :]
        n = len(alive)
        left = np.arange(n, -1, -1)
        if self.replacement:
            not_above = (left / n) ** self.tournament
        else:  # the probability that the tournament has only points of these ranks
            drawn = np.arange(min(self.tournament, n))
            not_above = np.prod(np.maximum(left[:, None] - drawn, 0) / (n - drawn), axis=1)
        wins = not_above[:-1] - not_above[1:]  # probability of each rank
        probabilities = np.zeros(len(fitness))
        probabilities[len(fitness) - n + np.argsort(-alive, kind="stable")] = wins
        return probabilities


Selection = Callable[[Array], Array]  # from fitness (m,), in order of birth, to probabilities (m,)

BY_RANK = ByRank()


@dataclass(frozen=True)
class Evolution(Maximizer):
    """Evolution for the maxima of a score (Kandasamy et al. 2018, section 5, and the released code).

    With t given starts, growth * sqrt(t) children are tried, at least `least` and at most `most`. The children of a
    generation are scored together.

    elite: number of the first of the given starts from which the search starts, at least 1.
    selection: function from the fitness of all scored points, in order of birth, to the probabilities of parents (m,).
    growth: number of children per square root of the number of starts, at least 0.
    least, most: bounds of the number of children, 1 <= least <= most.

    Raises TypeError, ValueError.
    """

    pool: Batch = ()
    pool_only: bool = False
    elite: int = 20
    selection: Selection = BY_RANK
    growth: float = 25.0
    least: int = 50
    most: int = 500

    def __post_init__(self) -> None:
        check_integer("elite", self.elite, 1)
        check_number("growth", self.growth, 0.0)
        check_integer("most", self.most, check_integer("least", self.least, 1))
        if check_bool("pool_only", self.pool_only) and not len(self.pool):
            raise ValueError("pool_only: there is no pool to start from")

    def __call__(self, score: Score, domain: Domain, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        """Return all scored points, best first, each once, and the info to record.

        Raises ValueError without a pool and starts.
        """
        initial = self.pool if self.pool_only else domain.join(starts[: self.elite], self.pool)
        if not len(initial):
            raise ValueError("starts: expected at least one point to start from, got none and no pool")
        known: set[Hashable] = set()
        xs = _drop_duplicates(domain, initial, known)
        scores = score(xs)
        left = self.children(len(starts))
        generation_size, generations = self.generation_size(left), 0
        while left > 0:
            size = min(generation_size, left)
            parents = rng.choice(len(xs), size=size, p=self.selection(scores))
            tried = (try_mutation(domain, xs[parent], rng) for parent in parents.tolist())
            children = domain.join([child for child in tried if child is not None])
            born = _drop_duplicates(domain, children, known)
            if len(born):
                xs, scores = domain.join(xs, born), np.concatenate([scores, score(born)])
            left, generations = left - size, generations + 1
        order = np.argsort(-scores, kind="stable")
        info = {"candidates": len(xs), "generations": generations, "best_score": float(scores[order[0]])}
        return domain.take(xs, order), info

    def children(self, t: int) -> int:
        """Return the number of children to try.

        t: number of given starts, the evaluations of the objective so far.
        """
        return int(min(max(self.growth * math.sqrt(t), self.least), self.most))

    @staticmethod
    def generation_size(children: int) -> int:
        """Return the number of children in one generation."""
        return int(min(max(3.0 * math.sqrt(children), 5.0), 100.0))


def _drop_duplicates(domain: Domain, xs: Batch, known: set[Hashable]) -> Batch:
    """Return the points whose forms are not known, each form once, and add the forms to `known`."""
    fresh: list[int] = []
    for position, key in enumerate(domain.encodings(xs)):
        if key not in known:
            known.add(key)
            fresh.append(position)
    return domain.take(xs, fresh)
