"""SMAC: the laws of searchers, which parts it has on which domain, and that it is worth running."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.local_search import LocalSearch
from bostruct.contracts import DomainError
from bostruct.language import SearchSpace
from bostruct.methods.smac import smac
from bostruct.searchers.proposals import mutations_of, neighbors_of
from bostruct.testing.searcher_laws import check_exhausts, check_searcher
from examples.language_figures import figure_4
from tests.domains.language.more_programs import shallow_and_wide
from tests.methods.mixed_space import SPACE, objective


def test_searcher_laws():
    check_searcher(smac, SPACE, objective, np.random.default_rng(0), n_trials=18)
    small = bo.Space({"a": range(4), "b": ["x", "y"], "c": bool}, [lambda p: p["a"] > 0 or p["c"]])
    check_exhausts(smac, small, lambda p: p["a"] + p["c"], np.random.default_rng(2))


def test_it_searches_programs():
    check_searcher(smac, SearchSpace(figure_4), shallow_and_wide, np.random.default_rng(0), n_trials=14)


def test_it_beats_random_search():
    ours = [bo.minimize(objective, SPACE, 50, method="smac", seed=s).best_value for s in range(4)]
    theirs = [bo.minimize(objective, SPACE, 50, method="random", seed=s).best_value for s in range(4)]
    assert np.mean(ours) < 0.6 * np.mean(theirs)


def test_local_search_gives_way_to_evolution_where_the_domain_is_no_space():
    on_space, on_programs = smac(SPACE), smac(SearchSpace(figure_4))
    assert isinstance(on_space.maximizer, LocalSearch)
    assert isinstance(on_programs.maximizer, Evolution)
    assert (on_space.surroundings, on_programs.surroundings) == (neighbors_of, mutations_of)
    assert (on_space.n_starts, on_programs.n_starts) == (10, None)


def test_a_table_of_coordinates_is_given_on_spaces_alone():
    xs = SPACE.sample(5, np.random.default_rng(0))
    table = smac(SPACE).surrogate.values(xs)
    assert table.shape[0] == 5
    assert smac(SearchSpace(figure_4)).surrogate.values is None


def test_points_without_named_choices_are_refused():
    with pytest.raises(DomainError, match="smac needs a domain of named choices, got ArchitectureDomain"):
        smac(bo.mlp_domain())
