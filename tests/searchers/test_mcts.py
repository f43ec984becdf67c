"""Monte Carlo tree search: what was seen is not gone to again, and what a user did wrong is said."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Infeasible
from bostruct.language import D, PortNames, SearchSpace, SubstitutionError, siso_module, siso_or, substitution_module
from bostruct.searchers.mcts import MCTS, CachedDecisions, ExhaustedPrefixes, TreeNode, descend, rank_rewards, roll_out
from tests.laws.maxsat import bits


def test_a_search_that_has_seen_whole_subtrees_goes_on_by_its_tree():
    def objective(point):
        return float(sum((i % 5 - 2) * bit for i, bit in enumerate(point.values())))

    result = bo.minimize(objective, bits(7), 120, method="mcts", seed=0, progress=False)
    assert {trial.origin for trial in result.trials} == {"model"}


@pytest.mark.parametrize(("exploration", "chosen"), [(0.1, 1), (0.13, 1), (0.15, 0), (0.3, 0)])
def test_a_child_is_chosen_by_its_mean_and_its_visits(exploration, chosen):
    """Means of 0.5 and 0.7 and radii of sqrt(2 log 10) and a third of it are level at an exploration of 0.140."""
    root = TreeNode(9, 9, 6.8, {0: TreeNode(1, 1, 0.5), 1: TreeNode(9, 9, 6.3)})
    exhausted = ExhaustedPrefixes(len)
    assert descend(root, lambda made: 0 if made else 2, exhausted, exploration, np.random.default_rng(0)) == (chosen,)


def test_choices_are_exhausted_with_the_last_point_below():
    sizes = {(): 2, (0,): 2, (1,): 1, (1, 0): 2}
    exhausted = ExhaustedPrefixes(lambda made: sizes.get(made, 0))
    for made in [(0, 1), (1, 0, 0), (1, 0, 1)]:
        exhausted.add(made)
    assert exhausted.prefixes == {(0, 1), (1, 0, 0), (1, 0, 1), (1, 0), (1,)}
    exhausted.add((0, 0))
    assert () in exhausted.prefixes


def chosen(build):
    return lambda: substitution_module("S", lambda dh: build(dh["n"]), {"n": D(range(6))}, ["in"], ["out"])


def test_dead_ends_are_left_alone():
    def build(n):
        if n % 2:
            raise Infeasible("odd")
        return siso_module("M", {"units": D([1, 2])})

    result = bo.minimize(lambda p: p.nodes[0].values["units"], SearchSpace(chosen(build)), 6, method="mcts", seed=0)
    assert {trial.origin for trial in result.trials} == {"model"}


def test_parts_without_end_are_dead_ends():
    def never():
        return siso_or([never, never], D([0, 1]))

    def build(n):
        return never() if n < 5 else siso_module("M", {"units": D(range(9))})

    def at_once():
        return substitution_module("Again", lambda _: at_once(), {}, ["in"], ["out"])

    space, rng = SearchSpace(chosen(build)), np.random.default_rng(0)
    assert CachedDecisions(space).options((0,)) == 2
    with pytest.raises(Infeasible, match="ends the program"):
        space.roll_out((0,), rng)
    suggested = [roll_out(space, (n,), rng) for n in range(6)]
    assert [x is not None for x in suggested] == [False] * 5 + [True]
    assert CachedDecisions(SearchSpace(chosen(lambda n: at_once() if n else siso_module("M")))).options((1,)) == 0


def test_a_wrongly_written_part_is_no_dead_end():
    def build(n):
        if n < 5:
            return siso_module("M", {"units": D([1, 2, 3])})
        inputs, outputs = siso_module("M")
        return {"other": inputs["in"]}, outputs

    with pytest.raises(PortNames, match="expected the inputs in; got other"):
        bo.minimize(lambda p: float(len(p)), SearchSpace(chosen(build)), 15, method="mcts", seed=0)


def test_an_error_of_the_user_is_no_dead_end():
    def build(n):
        return siso_module("M", {"units": D([1, 2, 3]) if n < 5 else 1 / 0})

    with pytest.raises(SubstitutionError, match="division by zero"):
        bo.minimize(lambda p: float(len(p)), SearchSpace(chosen(build)), 15, method="mcts", seed=0)


def test_rewards_are_ranks():
    np.testing.assert_allclose(rank_rewards(np.array([3.0, -1.0, 3.0, 1e9])), [0.75, 1.0, 0.75, 0.25])


def test_the_tree_prefers_what_was_good_and_tries_every_child():
    study = bo.Study(bo.Space({"a": range(3), "b": range(30)}), method="mcts", seed=0)
    study.optimize(lambda p: p["a"] + 0.001 * p["b"], 60)
    chosen = [trial.point["a"] for trial in study.trials]
    assert set(chosen[:3]) == {0, 1, 2}
    assert chosen.count(0) > 25


def test_wrong_settings_are_refused_by_name():
    for setting in ({"exploration": -1.0}, {"tries": 0}, {"rewards": "accuracy"}):
        with pytest.raises(ValueError, match=next(iter(setting))):
            MCTS(bo.Space({"a": bool}), **setting)


GOLDEN = {  # points by their digits, 24 trials of the seed 3
    "rank": "1101 2011 0010 1222 1012 1102 1021 1000 1020 1001 1002 0110 1122 1022 2122 1010 1011 1111 1110 1200 1212 "
    "1100 1120 1112",
    "value": "1101 2011 0010 1222 0201 2220 1111 1020 1012 1100 1001 1201 1121 1002 0122 2110 1022 1120 1010 1102 1212 "
    "1000 1011 1021",
}


def small_error(p):
    return abs(p["x0"] - 1) * 0.3 + 0.1 * p["x1"] + 0.02 * p["x2"] * (p["x3"] != p["x0"]) + 0.05 * (p["x3"] == 2)


@pytest.mark.parametrize("rule", GOLDEN)
def test_golden_points_of_both_rewards(rule):
    space = bo.Space({f"x{i}": [0, 1, 2] for i in range(4)})
    searcher = methods.mcts(space, rewards=rule)
    result = bo.minimize(small_error, space, 24, method=searcher, seed=3, progress=False)
    assert " ".join("".join(map(str, trial.point.values())) for trial in result.trials) == GOLDEN[rule]


def test_published_rewards_choose_as_uct_on_accuracies_says():
    """Every choice of the first level maximizes mean accuracy + 0.33 sqrt(2 ln N / n), computed from the trials."""
    space = bo.Space({"a": range(3), "b": range(30)})
    searcher = methods.mcts(space, rewards="value")
    result = bo.minimize(lambda p: 0.1 + 0.05 * p["a"] + 0.01 * p["b"], space, 60, method=searcher, seed=1)
    seen = [[] for _ in range(3)]
    for n, trial in enumerate(result.trials):
        if n > 1 and all(seen):  # the first trial expands the root, and each child is visited once
            scores = [np.mean(one) + 0.33 * np.sqrt(2.0 * np.log(n + 1) / len(one)) for one in seen]
            assert scores[trial.point["a"]] == pytest.approx(max(scores), abs=1e-12)
        seen[trial.point["a"]].append(1.0 - trial.value)


def test_a_study_of_published_rewards_goes_on_and_names_them(tmp_path):
    space, settings = bo.Space({f"x{i}": [0, 1, 2] for i in range(4)}), {"exploration": 0.33, "tries": 100}
    searcher = methods.mcts(space, rewards="value")
    assert (methods.mcts(space).settings(), searcher.settings()) == (settings, settings | {"rewards": "value"})
    for n in (10, 24):
        found = bo.minimize(small_error, space, n, method=searcher, seed=3, storage=tmp_path / "a.db", progress=False)
    assert " ".join("".join(map(str, trial.point.values())) for trial in found.trials) == GOLDEN["value"]
