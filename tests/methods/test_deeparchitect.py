"""The searchers of DeepArchitect as they are built: on spaces too, with published settings, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.language import SearchSpace
from bostruct.methods.published import mcts, smbo
from bostruct.testing.searcher_laws import check_searcher
from examples.language_figures import figure_4
from tests.exhausting import check_exhausts

BITS = bo.Space({f"b{i}": bool for i in range(6)})


@pytest.mark.parametrize("make", [smbo, mcts])
def test_spaces_of_variables_are_searched_too(make):
    check_searcher(make, BITS, lambda p: sum(p.values()), np.random.default_rng(0), n_trials=20)
    check_exhausts(make, bo.Space({"a": range(4), "b": bool}), lambda p: p["a"] - p["b"], np.random.default_rng(1))
    constrained = bo.Space(BITS.variables, [lambda p: sum(p.values()) == 3])
    check_exhausts(make, constrained, lambda p: p["b0"] - p["b5"], np.random.default_rng(2))


def test_published_settings():
    found = smbo(SearchSpace(figure_4))
    assert (found.candidates, found.exploration, found.n_initial) == (512, 0.1, 1)
    assert (found.surrogate.buckets, found.surrogate.penalty) == (65_536, 1e-5)
    assert mcts(BITS).exploration == 0.33


@pytest.mark.parametrize(
    ("make", "domain", "why"),
    [
        (mcts, bo.mlp_domain(), "mcts needs a domain of decisions one after another, got ArchitectureDomain"),
        (
            mcts,
            bo.joint_domain({"a": bo.mlp_domain(), "b": {"x": bool}}),
            "mcts needs .* one after another, got Arch.* as the part 'a'",
        ),
        (smbo, bo.Space({"r": bo.Real(0.0, 1.0)}), "smbo cannot search the Real variable 'r'"),
        (mcts, bo.Space({"r": bo.Real(0.0, 1.0)}), "mcts cannot search the Real variable 'r'"),
    ],
)
def test_what_they_cannot_search_is_refused(make, domain, why):
    with pytest.raises(DomainError, match=why):
        make(domain)
