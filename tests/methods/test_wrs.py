"""Weighted random search as it is built: published settings, and what it refuses by name."""

from __future__ import annotations

import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.methods.published import wrs
from bostruct.searchers.wrs import WeightedRandomSearch
from bostruct.surrogates.fanova import VarianceShares
from tests.methods.mixed_space import NESTED, nested_objective

SPACE = bo.Space({"a": range(5), "b": bool})


def test_it_is_the_searcher_with_its_defaults():
    assert wrs(SPACE) == WeightedRandomSearch(SPACE, VarianceShares(), 37, "auto", 0.01, {})
    given = wrs(SPACE, 10, "single", 0.2, {"b": 4})
    assert given == WeightedRandomSearch(SPACE, VarianceShares(), 10, "single", 0.2, {"b": 4})


def test_a_least_number_of_trials_is_of_a_variable_there_is():
    with pytest.raises(ValueError, match="least: expected one of a, b; got 'c'"):
        wrs(SPACE, least={"a": 1, "c": 3})
    with pytest.raises(ValueError, match=r"got 'momentun'\. Did you mean 'momentum'"):
        wrs(bo.Space({"rate": bool, "momentum": bool}), least={"momentun": 3})
    with pytest.raises(TypeError, match=r"least: expected a dict of names and numbers of trials, got \['a'\]"):
        wrs(SPACE, least=["a"])


def test_points_without_named_choices_are_refused():
    with pytest.raises(DomainError, match="wrs needs a domain of named choices, got ArchitectureDomain"):
        wrs(bo.mlp_domain())


def test_it_searches_spaces_with_other_domains_inside_and_names_the_part_that_it_cannot():
    result = bo.minimize(nested_objective, NESTED, 60, method="wrs", seed=0, progress=False)
    other = bo.minimize(nested_objective, NESTED, 60, method="random", seed=0, progress=False)
    assert result.best_value < other.best_value
    with pytest.raises(DomainError, match=r"wrs needs a domain of named choices, got .* the part 'net'"):
        wrs(bo.Space({"b": bool, "net": bo.mlp_domain()}))


@pytest.mark.parametrize("setting", [{"n_random": 1}, {"mode": "both"}, {"floor": 0.0}])
def test_wrong_settings_are_refused_by_name(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        wrs(SPACE, **setting)
