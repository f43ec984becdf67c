"""BOCS as it is built: the laws of searchers with either minimizer, planted objectives, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.pseudo_boolean import SemidefiniteRelaxation, SimulatedAnnealing
from bostruct.contracts import DomainError
from bostruct.methods.published import bocs
from bostruct.testing.searcher_laws import check_searcher
from tests.exhausting import check_exhausts
from tests.surrogates.polynomials import BITS, MIXED


def pairs(point):
    return 2.0 * point["b0"] - 3.0 * (point["b1"] and point["b4"]) + (point["b2"] != point["b5"])


def mixed(point):
    return (point["a"] == "y") - 2.0 * (point["a"] == "z" and point["c"] == 2) + point["d"]


@pytest.mark.parametrize("minimizer", ["relaxation", "annealing"])
def test_searcher_laws(minimizer):
    def make(domain):
        return bocs(domain, minimizer=minimizer)

    check_searcher(make, BITS, pairs, np.random.default_rng(0), n_trials=23)
    small = bo.Space({"a": range(4), "b": ["x", "y"], "c": bool, "d": bool}, [lambda p: p["a"] > 0 or p["c"]])
    check_exhausts(make, small, lambda p: p["a"] + p["c"], np.random.default_rng(2))


def test_it_beats_random_search_where_pairs_matter():
    space = bo.Space({f"b{i}": bool for i in range(16)})
    weights = np.random.default_rng(5).standard_normal((16, 16)) * (np.random.default_rng(6).random((16, 16)) < 0.15)

    def objective(point):
        x = np.array(list(point.values()), dtype=float)
        return float(x @ weights @ x)

    best = min(
        float(x @ weights @ x) for x in (np.array(bits, dtype=float) for bits in itertools.product([0, 1], repeat=16))
    )
    ours, theirs = (
        [bo.minimize(objective, space, 40, method=method, seed=s).best_value for s in range(2)]
        for method in ("bocs", "random")
    )
    assert np.mean(ours) - best < 0.2 * (np.mean(theirs) - best)


def test_categories_are_searched():
    assert bo.minimize(mixed, MIXED, 40, method="bocs", seed=0).best_value == -2.0


@pytest.mark.parametrize(("order", "minimizer"), [(1, SemidefiniteRelaxation()), (3, SimulatedAnnealing())])
def test_the_relaxation_is_taken_where_the_order_allows_it(order, minimizer):
    search = bocs(MIXED, order)
    assert search.minimizer == minimizer
    assert search.regression.monomials.order == order
    assert search.regression.monomials.n_choices == (3, 2, 4, 2)
    assert bocs(MIXED, 1, "annealing").minimizer == SimulatedAnnealing()


@pytest.mark.parametrize(
    ("domain", "settings", "error", "why"),
    [
        (bo.mlp_domain(), {}, DomainError, "bocs needs a Space, got ArchitectureDomain"),
        (bo.Space({"a": bool, "r": bo.Real(0.0, 1.0)}), {}, DomainError, "bocs cannot search the Real variable 'r'"),
        (bo.Space({f"b{i}": bool for i in range(400)}), {}, DomainError, "order: 2 gives 80200 monomials"),
        (BITS, {"order": 4}, ValueError, "order: expected between 1 and 3, got 4"),
        (BITS, {"minimizer": "exact"}, ValueError, "minimizer: expected one of relaxation, annealing"),
        (BITS, {"order": 3, "minimizer": "relaxation"}, ValueError, "relaxation supports orders 1 and 2, got order 3"),
    ],
)
def test_what_it_cannot_search_is_refused(domain, settings, error, why):
    with pytest.raises(error, match=why):
        bocs(domain, **settings)
