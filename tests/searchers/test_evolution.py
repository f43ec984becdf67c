"""The searches by evolution on the objective: pools, parents, fallbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bostruct.acquisition.evolution import ByRank, uniform
from bostruct.searchers.baselines import EvolutionSearch
from bostruct.searchers.proposals import PoolFirst
from bostruct.study.history import History
from tests.architectures import SMALL_CNN, SMALL_MLP
from tests.fakes import StuckDomain


def test_a_pool_that_was_seen_gives_way_to_draws():
    seen = frozenset(SMALL_CNN.keys(SMALL_CNN.pool))
    x = PoolFirst(SMALL_CNN.pool)(SMALL_CNN, seen, np.random.default_rng(7))
    assert SMALL_CNN.keys([x])[0] not in seen


def test_suggestions_are_one_mutation_away_and_say_what_they_are():
    told = list(SMALL_MLP.pool)

    class Recording:
        def __init__(self) -> None:
            self.parents: list[Any] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(SMALL_MLP, name)

        def mutate(self, x: Any, rng: np.random.Generator) -> Any:
            self.parents.append(x)
            return SMALL_MLP.mutate(x, rng)

    domain = Recording()
    search = EvolutionSearch(domain, ByRank(0.01), n_initial=2, origin="random")
    history = History.of(SMALL_MLP, told, [3.0, 1.0, 2.0, 5.0])
    found = search.suggest(history, None, np.random.default_rng(8))
    assert found.info == {"origin": "random", "parent_position": 1}
    assert set(domain.parents) == {told[1]}  # so steep a selection has one parent only


@pytest.mark.parametrize("values", [[], [1.0, 2.0]])
def test_falls_back_where_nothing_can_be_mutated(values):
    told = list(SMALL_MLP.pool[: len(values)])
    history = History.of(SMALL_MLP, told, values, failed=list(SMALL_MLP.pool[2:]))
    found = EvolutionSearch(StuckDomain(SMALL_MLP), uniform, n_initial=1).suggest(
        history, None, np.random.default_rng(9)
    )
    assert found.info["origin"] == "fallback"
    assert ("no unseen point" if values else "completed") in found.info["why"]


def test_wrong_settings_of_a_search_are_refused():
    for setting in ("n_initial", "tries"):
        with pytest.raises(ValueError, match=setting):
            EvolutionSearch(SMALL_MLP, uniform, **{setting: 0})
