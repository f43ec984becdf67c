"""Suggestions within a time limit: from a model of fewer values, or without a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bostruct.contracts import PARENT_POSITION, Array, HistoryView, Searcher, State, Suggestion
from bostruct.searchers.outputs import keep
from bostruct.searchers.proposals import fall_back, mutate_unseen

FEWEST = 50  # minimum number of values for a model
PARENTS = 10  # number of best points to mutate without a model
TRIES = 200  # maximum number of mutations until an unseen point is found


def suggest_within(
    searcher: Searcher, history: HistoryView, state: State, rng: np.random.Generator, n_halvings: int
) -> Iterator[Suggestion]:
    """Yield the joint suggestions of a searcher that learns from all values, or from a part of the values to save time.

    rng: random number generator.
    n_halvings: 0 to learn from all n values, k to learn from n / 2^k values, half of them the best, half the last
        observed. With fewer than 50, a mutation of one of the best ten points is suggested, without a model.

    If `n_halvings` is at least 1, it is stored as ``info["haste"]``, and the number of values as
    ``info["learned_from"]``. Raises the errors of the searcher.
    """
    if n_halvings == 0:
        yield from searcher.suggest_jointly(history, state, rng)
        return
    m = len(history.values) >> n_halvings
    if m < FEWEST:
        found = _mutate_best(searcher, history, state, rng)
        yield found._replace(info={**found.info, "haste": n_halvings, "learned_from": 0})
        return
    kept = choose_values(history.values, m)
    fewer = replace(keep(history, kept, range(len(history.running)), searcher.domain.take), whole=history)
    for found in searcher.suggest_jointly(fewer, state, rng):
        n_learned = min(m, found.info.get("learned_from", m))  # a model may use only some of the m values
        info = {**found.info, "haste": n_halvings, "learned_from": n_learned}
        if (position := info.get(PARENT_POSITION)) is not None:
            info[PARENT_POSITION] = kept[position]
        yield found._replace(info=info)


def limit_halvings(n_halvings: int, n_values: int) -> int:
    """Return the number of halvings, but at most the smallest number that leaves too few values for a model.

    n_halvings: at least 0.
    """
    while n_halvings > 1 and n_values >> (n_halvings - 1) < FEWEST:
        n_halvings -= 1
    return n_halvings


def choose_values(values: Array, m: int) -> list[int]:
    """Return the positions of m values, ascending: half of them are the best, the others the last observed.

    values: values to minimize (n,).
    m: at most n.
    """
    best = np.argsort(values, kind="stable")[: m // 2]
    rest = np.setdiff1d(np.arange(len(values)), best)
    return sorted([*best.tolist(), *rest[len(rest) - (m - len(best)) :].tolist()])


def _mutate_best(searcher: Searcher, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
    """Suggest an unseen mutation of one of the best points, or a random point if no unseen mutation is found."""
    domain = searcher.domain
    best = np.argsort(history.values, kind="stable")[:PARENTS]
    if domain.traits.mutable and len(best):
        parents = rng.choice(best, size=TRIES).tolist()
        if (child := mutate_unseen(domain, history, parents, rng)) is not None:
            return Suggestion(child[0], state, {"origin": "mutation", PARENT_POSITION: child[1]})
    found = fall_back(domain, history, state, rng, "a suggestion had to take less time than a model needs")
    return found._replace(info={**found.info, "origin": "random"})
