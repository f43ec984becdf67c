"""Evolution on the score: the maximizer of domains whose points have too many neighbors to list.

Kandasamy et al. 2018, section 5, and the released code: generation by generation, parents are drawn by their score
among all points scored so far, and mutated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from bostruct.acquisition.selection import ByRank
from bostruct.checks import check_bool, check_integer, check_number, try_mutation
from bostruct.contracts import Array, Batch, Domain, Info, Maximizer, Score

Selection = Callable[[Array], Array]  # fitness (m,), in order of birth -> chances (m,)

BY_RANK = ByRank()


@dataclass(frozen=True)
class Evolution(Maximizer):
    """Evolution for the maxima of a score (Kandasamy et al. 2018, section 5, and the released code).

    After t starts were given, growth * sqrt(t) children are tried, at least `least` and at most `most`. The children of
    one generation are scored together.

    pool: points to start from beside those given.
    pool_only: start from the pool alone, as published.
    elite: how many of the starts given, the first ones, the search begins from, at least 1.
    selection: fitness (m,) of all points scored, in order of birth -> the chance of each to be a parent (m,).
    growth: children for each root of a start, at least 0.
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
        """Return all points scored, best first, each once, and what goes on record.

        score: the function to maximize.
        domain: with mutations.
        starts: good points to start from, best first; may be empty where there is a pool.
        rng: the only source of chance.

        Raises ValueError without a pool and starts.
        """
        begun = self.pool if self.pool_only else domain.join(starts[: self.elite], self.pool)
        if not len(begun):
            raise ValueError("starts: expected at least one point to start from, got none and no pool")
        known: set[Hashable] = set()
        xs = _drop_duplicates(domain, begun, known)
        scores = score(xs)
        left = self.children(len(starts))
        generation_size, generations = self.generation_size(left), 0
        while left > 0:
            size = min(generation_size, left)
            parents = rng.choice(len(xs), size=size, p=self.selection(scores))
            born = _drop_duplicates(domain, _mutate_each(domain, xs, parents.tolist(), rng), known)
            if len(born):
                xs, scores = domain.join(xs, born), np.concatenate([scores, score(born)])
            left, generations = left - size, generations + 1
        order = np.argsort(-scores, kind="stable")
        info = {"candidates": len(xs), "generations": generations, "best_score": float(scores[order[0]])}
        return domain.take(xs, order), info

    def children(self, t: int) -> int:
        """Return how many children are tried.

        t: number of starts given, the evaluations of the objective so far.
        """
        return int(min(max(self.growth * math.sqrt(t), self.least), self.most))

    @staticmethod
    def generation_size(children: int) -> int:
        """Return how many children are born in one generation.

        children: in all generations.
        """
        return int(min(max(3.0 * math.sqrt(children), 5.0), 100.0))


def _drop_duplicates(domain: Domain, xs: Batch, known: set[Hashable]) -> Batch:
    """Return the points that are not known, each form of them once, and add them to `known`."""
    fresh: list[int] = []
    for position, key in enumerate(domain.spellings(xs)):
        if key not in known:
            known.add(key)
            fresh.append(position)
    return domain.take(xs, fresh)


def _mutate_each(domain: Domain, xs: Batch, parents: list[int], rng: np.random.Generator) -> Batch:
    tried = (try_mutation(domain, xs[parent], rng) for parent in parents)
    return domain.join([child for child in tried if child is not None])
