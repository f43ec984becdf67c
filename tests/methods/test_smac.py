"""SMAC: the laws of searchers, which parts it has on which domain, and that it is worth running."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.local_search import LocalSearch
from bostruct.contracts import DomainError, FeatureDomain
from bostruct.domains.architecture.value import summarize
from bostruct.language import SearchSpace
from bostruct.methods.published import describe_points, smac
from bostruct.searchers.proposals import mutations_of, neighbors_of
from bostruct.testing.searcher_laws import check_searcher
from examples.language_figures import figure_4
from tests.architectures import GOLDEN, SMALL_CNN
from tests.domains.language.more_programs import shallow_and_wide
from tests.exhausting import check_exhausts
from tests.methods.mixed_space import SPACE, objective
from tests.permutations import Mutable


def test_searcher_laws():
    check_searcher(smac, SPACE, objective, np.random.default_rng(0), n_trials=14)
    small = bo.Space({"a": range(4), "b": ["x", "y"], "c": bool}, [lambda p: p["a"] > 0 or p["c"]])
    check_exhausts(smac, small, lambda p: p["a"] + p["c"], np.random.default_rng(2))


def test_it_searches_programs():
    check_searcher(smac, SearchSpace(figure_4), shallow_and_wide, np.random.default_rng(0), n_trials=14)


def test_it_beats_random_search():
    ours, theirs = (
        [bo.minimize(objective, SPACE, 30, method=method, seed=s).best_value for s in range(2)]
        for method in ("smac", "random")
    )
    assert np.mean(ours) < 0.3 * np.mean(theirs)


def test_local_search_gives_way_to_evolution_where_the_domain_is_no_space():
    on_space, on_programs = smac(SPACE), smac(SearchSpace(figure_4))
    assert isinstance(on_space.maximizer, LocalSearch)
    assert isinstance(on_programs.maximizer, Evolution)
    assert (on_space.neighborhood, on_programs.neighborhood) == (neighbors_of, mutations_of)
    assert (on_space.n_starts, on_programs.n_starts) == (10, None)


def test_a_table_of_coordinates_is_given_on_spaces_alone():
    xs = SPACE.sample(5, np.random.default_rng(0))
    table = smac(SPACE).surrogate.values(xs)
    assert table.shape[0] == 5
    assert smac(SearchSpace(figure_4)).surrogate.values is None


def network_cost(point):
    return (
        abs(len(point["network"]) - 11) + abs(np.log10(sum(point["network"].masses)) - 5.0) + abs(point["rate"] - 0.3)
    )


@pytest.mark.slow
def test_it_is_worth_running_where_architectures_are_described_by_a_few_numbers():
    space = bo.Space({"network": bo.mlp_domain(), "rate": bo.Real(0.0, 1.0)})
    ours, theirs = (
        [bo.minimize(network_cost, space, 20, method=method, seed=s, progress=False).best_value for s in range(2)]
        for method in ("smac", "random")
    )
    assert np.mean(ours) < 0.5 * np.mean(theirs)


def test_summaries_of_architectures_tell_changes_apart():
    rng = np.random.default_rng(0)
    for x in bo.cnn_domain().sample(20, rng):
        y = bo.cnn_domain().mutate(x, rng)
        assert list(summarize(x)) == list(summarize(y))
        assert summarize(x) != summarize(y) or len(x) == len(y)
    assert summarize(GOLDEN["a"])["layers of conv3"] == 3.0
    assert summarize(GOLDEN["a"])["units"] == pytest.approx(np.log1p(16 + 16 + 32 + 32 + 16))


class Featured(Mutable, FeatureDomain):
    def features(self, xs):
        return np.array(xs, dtype=np.float64) * 1e200


def test_features_stand_for_choices():
    space = bo.Space({"order": Featured(4), "b": bool})
    result = bo.minimize(lambda p: p["order"][0] + p["b"], space, 16, method="smac", seed=0, progress=False)
    assert result.best_value == 0


@pytest.mark.parametrize(
    ("domain", "got"),
    [
        (Mutable(4), "Mutable$"),
        (bo.Space({"b": bool, "order": Mutable(4)}), "Mutable in the part 'order'$"),
        (bo.Space({"inner": bo.Space({"b": bool, "own": Mutable(4)})}), "Mutable in the part 'own'$"),
    ],
)
def test_points_that_nothing_describes_are_refused(domain, got):
    with pytest.raises(
        DomainError, match=f"smac needs a domain of named choices, features or architectures, got {got}"
    ):
        smac(domain)


def test_a_name_with_dots_and_a_part_are_told_apart():
    """Each choice of several parts is told once, also where a domain only wraps ours."""
    space = bo.Space({"s.u": range(5), "s": {"u": range(5)}, "net": SMALL_CNN})
    x = space.sample(1, np.random.default_rng(0))[0]
    paths = [one.path for one in describe_points(space, "smac")(x)]
    assert paths[:2] == ["s.u", "s..u"]
    assert len(set(paths)) == len(paths) > 2
