"""Exploration of branches: whose turn it is, which branch has the fewest trials, and searches that it frees."""

import dataclasses
import json

import numpy as np
import pytest

import bostruct as bo
from bostruct.methods import auto
from bostruct.methods.exploration import BranchExploration, has_conditions, label_branches
from bostruct.study.history import History
from bostruct.study.threads import ThreadLimit
from tests.wide_variable import Order

MODELS = ["tree", "svm", "linear"]
SPACE = bo.Space(
    {
        "model": MODELS,
        "depth": bo.Integer(1, 20, when={"model": "tree"}),
        "C": bo.Real(1e-3, 1e3, log=True, when={"model": "svm"}),
        "gamma": bo.Real(1e-5, 1e1, log=True, when={"model": "svm"}),
    }
)
SMALL = bo.Space({"a": bool, "b": bo.Categorical(["p", "q"], when={"a": True})})  # 3 points in 2 branches


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work."""
    with ThreadLimit(1)():
        yield


def points(space, *given):
    return space.join([space.parse(point) for point in given])


def trees(*depths):
    return points(SPACE, *({"model": "tree", "depth": depth} for depth in depths))


def explore(history, space=SPACE, every=4, seed=0):
    """Ask until it is its turn; return what is explored, as a user has it, and why."""
    state = None
    for _ in range(every):
        found = BranchExploration(every)(space, history, state, np.random.default_rng(seed))
        state = found.state
    return None if found.point is None else (space.present(found.point), found.why)


@pytest.mark.parametrize("width", [1, 9])
def test_points_are_of_one_branch_where_they_have_the_same_variables(width):
    rng = np.random.default_rng(width)
    more = {f"x{i}": bo.Real(0.0, 1.0, when={"model": MODELS[i % 3]}) for i in range(width)}
    space = bo.Space({**SPACE.variables, **more})
    xs = space.sample(60, rng)
    branches, names = label_branches(space, xs), [space.names(x) for x in xs]
    for i in range(60):
        for j in range(i):
            assert (branches[i] == branches[j]) == (names[i] == names[j])


def test_variables_of_several_columns_are_no_variables_more():
    rate = bo.Real(0.0, 1.0, when={"b": True})
    space = bo.Space({"o": Order("xyz"), "p": Order("uvw"), "b": bool, "rate": rate})
    xs = space.sample(30, np.random.default_rng(0))
    labels, has_rate = label_branches(space, xs), [space.present(x)["b"] for x in xs]
    assert len(set(labels)) == 2
    assert all((labels[i] == labels[j]) == (has_rate[i] == has_rate[j]) for i in range(30) for j in range(i))


def test_a_neighborhood_has_branches_as_its_points_have():
    rng = np.random.default_rng(0)
    near, _ = SPACE.sample_neighborhoods(SPACE.sample(5, rng), 20, rng)
    assert label_branches(SPACE, near) == label_branches(SPACE, SPACE.join(near))


def turns(values, every=4):
    """Return at which of some calls it explores, one more value told at each."""
    rule, state, found = BranchExploration(every), None, []
    xs, rng = SPACE.sample(len(values), np.random.default_rng(0)), np.random.default_rng(0)
    for n in range(1, len(values) + 1):
        explored = rule(SPACE, History.of(SPACE, xs[:n], values[:n]), state, rng)
        state = json.loads(json.dumps(explored.state))
        found += [n - 1] if explored.point is not None else []
    return found


def test_values_count_as_they_do_now():
    """Merits of points that break a limit rise once a point keeps all: the first of these is better, not worse."""
    rule, state, found = BranchExploration(4), None, []
    xs, rng = SPACE.sample(9, np.random.default_rng(0)), np.random.default_rng(0)
    for n in range(1, 10):
        feasible = [500.0 - 10.0 * i for i in range(n - 1)]
        values = [max(feasible, default=0.0) + 0.9, *feasible]
        explored = rule(SPACE, History.of(SPACE, xs[:n], values), state, rng)
        state = json.loads(json.dumps(explored.state))
        found.append(explored.point is not None)
    assert not any(found)


def test_a_memory_of_an_older_file_has_the_best_value_itself():
    history = History.of(SPACE, trees(1, 2), [3.0, 4.0])
    explored = BranchExploration(4)(SPACE, history, {"best": 3.0, "asked": 2}, np.random.default_rng(0))
    assert explored.state == {"best": 3.0, "asked": 3}
    explored = BranchExploration(4)(SPACE, history, {"best": 5.0, "asked": 3}, np.random.default_rng(0))
    assert explored.state == {"told": 2, "asked": 1}


def test_it_explores_at_every_fourth_call_without_a_better_value():
    assert turns([3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 8.0, 7.0]) == [3, 7]
    assert turns([3.0, 4.0, 1.0, 6.0, 7.0, 8.0, 9.0, 8.0, 7.0]) == [5]  # the third is the first after the best
    assert turns([9.0 - n for n in range(9)]) == []
    assert turns([3.0, 4.0, 1.0, 6.0, 7.0], every=2) == [1, 3]


def test_a_tiny_gain_is_none():
    values = [3.0, 4.0, 5.0, 3.0 - 1e-6, 4.0, 5.0]
    assert turns(values) == [3]
    assert turns([3.0, 4.0, 5.0, 2.9, 4.0, 5.0]) == []


def test_failures_and_trials_asked_at_once_do_not_count():
    """Each call counts once, whatever has failed, runs or was added before."""
    xs = SPACE.sample(40, np.random.default_rng(1))
    rule, state, found = BranchExploration(4), None, []
    for n in range(8):
        history = History.of(SPACE, xs[:2], [1.0, 2.0], running=xs[2 : 12 + n], failed=xs[20:40])
        explored = rule(SPACE, history, state, np.random.default_rng(n))
        state = explored.state
        found.append(explored.point is not None)
    assert found == [False, False, False, True] * 2


def test_the_branch_with_the_fewest_trials_is_drawn_from():
    told = SPACE.join(trees(1, 2, 3), points(SPACE, {"model": "linear"}))
    running, failed = points(SPACE, {"model": "svm", "C": 1.0, "gamma": 1.0}), SPACE.join()[:0]
    found = explore(History.of(SPACE, told, [0.0, 1.0, 1.0, 1.0], running=running, failed=failed))
    assert found is not None
    assert found[0]["model"] == "svm", "one trial runs there, and one told has no variables: linear has no other point"
    assert found[1] == "no better value in 3 suggestions; 1 of 5 trials were in this branch"


def test_running_and_failed_trials_count():
    told = trees(1, 2, 3)
    svms = points(SPACE, *({"model": "svm", "C": 1.0, "gamma": value} for value in (0.1, 0.2, 0.3, 0.4)))
    linear = points(SPACE, {"model": "linear"})
    history = History.of(SPACE, told, [0.0, 1.0, 1.0], running=svms[:2], failed=SPACE.join(svms[2:], linear))
    found = explore(history)
    assert found is not None
    assert found[0]["model"] == "tree"


def test_a_space_whose_points_were_all_seen_is_left_to_the_rest():
    told = points(SMALL, {"a": False}, {"a": True, "b": "p"}, {"a": True, "b": "q"})
    assert explore(History.of(SMALL, told, [0.0, 1.0, 1.0]), SMALL) is None


def test_a_search_with_one_open_branch_is_left_to_the_model():
    space = bo.Space({"a": bool, "x": bo.Real(0.0, 1.0, when={"a": True})})  # one point without x
    told = points(space, {"a": False}, {"a": True, "x": 0.5}, {"a": True, "x": 0.6})
    assert explore(History.of(space, told, [0.0, 1.0, 1.0]), space) is None
    assert explore(History.of(space, told[1:], [1.0, 1.0]), space) is not None


def test_parts_have_branches():
    inner = {"flip": bool, "deep": bo.Integer(1, 30, when={"flip": True})}
    space = bo.Space({"first": inner, "second": inner})
    assert has_conditions(space)
    assert not has_conditions(bo.Space({"first": {"flip": bool}, "x": bool}))
    xs = space.sample(40, np.random.default_rng(0))
    labels, names = label_branches(space, xs), [space.names(x) for x in xs]
    assert len(set(labels)) == 4
    assert all((labels[i] == labels[j]) == (names[i] == names[j]) for i in range(40) for j in range(i))
    result = bo.minimize(lambda point: float(len(point)), space, n_trials=14, seed=0, progress=False)
    assert "random" in [trial.origin for trial in result.trials]


def test_what_is_no_rule_is_refused():
    with pytest.raises(TypeError, match=r"^exploration: expected None or a bostruct\.searchers\.Exploration .*, got 3"):
        dataclasses.replace(auto(SPACE), exploration=3)
    with pytest.raises(ValueError, match=r"^every: expected at least 2"):
        BranchExploration(1)


def test_only_spaces_with_conditions_are_explored():
    assert auto(SPACE).exploration == BranchExploration(4)
    assert auto(bo.Space({"a": bool, "x": bo.Real(0.0, 1.0)})).exploration is None
    assert "exploration" not in auto(bo.Space({"a": bool})).settings(), "studies of before have no such setting"
    assert auto(SPACE).settings()["exploration"] == {"part": "BranchExploration", "every": 4}


TRAP = bo.Space({**SPACE.variables, **{name: bo.Real(0.0, 1.0, when={"model": "tree"}) for name in ("leaf", "rest")}})
TREES = [{"model": "tree", "depth": depth, "leaf": 0.5, "rest": 0.2} for depth in (3, 8, 15)]
SVMS = [{"model": "svm", "C": c, "gamma": gamma} for c, gamma in ((1e-3, 1e-5), (1e3, 10.0), (1.0, 9.0))]


def trap(point):
    """The best branch is bad but for a small region; another one is rough, and better than all of the rest."""
    if point["model"] == "linear":
        return 0.5
    if point["model"] == "svm":
        far = max(abs(np.log10(point["C"]) - 1.0) / 2.0, abs(np.log10(point["gamma"]) + 2.0))
        return 0.05 + 0.05 * far if far < 1.0 else 0.45
    rough = 0.01 * (point["depth"] * 7 % 5) + 0.005 * np.floor(point["leaf"] * 30.0 % 3.0)
    return 0.24 - 0.002 * point["depth"] + rough + 0.02 * abs(point["leaf"] - 0.3) + 0.02 * abs(point["rest"] - 0.6)


def test_a_search_leaves_the_branch_that_its_first_points_favor():
    first = [*TREES, *SVMS, {"model": "linear"}]
    result = bo.minimize(trap, TRAP, n_trials=45, initial_points=first, seed=0, progress=False)
    assert result.best_value < 0.15  # without exploration it ends at 0.2
    whys = [trial.info["why"] for trial in result.trials if trial.origin == "random"]
    assert all("trials were in this branch" in why for why in whys)
    assert len(whys) >= 4
