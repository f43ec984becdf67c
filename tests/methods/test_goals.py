"""Every method serves several objectives and limits, or refuses in words."""

import dataclasses
import json
import zlib

import numpy as np
import pytest

import bostruct as bo
from bostruct import problems
from bostruct.acquisition.local_search import PairSearch
from bostruct.contracts import SpaceExhausted
from bostruct.domains.fidelity import FidelityLevels
from bostruct.goals.pareto import constrained_rank, hypervolume, is_feasible
from bostruct.methods import METHODS, auto, evolution, model_based_hyperband, random, searcher
from bostruct.methods.goals import serve_goals
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.outputs import Scalarized
from bostruct.searchers.scores import Feasible
from bostruct.study.history import History
from bostruct.surrogates.outputs import Outputs
from bostruct.surrogates.warping import FAR_ABOVE, OutputWarping
from tests.architectures import SMALL_MLP
from tests.laws.maxsat import bits

SPACE = bits(8)
WITH_FIDELITY = bo.Space({f"x{i}": bool for i in range(7)} | {"steps": bo.Fidelity([1, 3, 9])})
OVER_FIDELITIES = {"hyperband", "successive-halving", "successive-narrowing", "model-based-hyperband"}
WEIGHTS = np.random.default_rng(0).normal(size=(8, 4))


def play(method, domain, measure, n, seed=0, fail_every=0):
    """Play a short study: measure(x) -> objectives and violations; return these, one row a trial, and suggestions."""
    told, failed, keys, found, state = [], [], set(), [], method.initial_state()
    for trial in range(n):
        objectives, violations = (np.array([row[i] for _, row in told], dtype=np.float64) for i in (1, 2))
        values = constrained_rank(objectives, violations) if len(told) else np.zeros(0)
        points = domain.join(*(domain.join([x]) for x, _ in told))
        view = History(
            points,
            values,
            domain.join(),
            domain.join(failed),
            frozenset(keys),
            *((objectives, violations) if told else ()),
        )
        found.append(method.suggest(view, state, np.random.default_rng([seed, trial])))
        state = json.loads(json.dumps(found[-1].state))
        x = found[-1].point
        keys |= set(domain.keys(domain.join([x])))
        if fail_every and trial % fail_every == 0:
            failed.append(x)
        else:
            told.append((x, (trial, *measure(x))))
    return objectives, violations, found


def linear(k, c):
    """k linear objectives, and c violations that half of the points keep."""

    def measure(x):
        outputs = np.asarray(x, dtype=np.float64) @ WEIGHTS
        return outputs[:k], (outputs - 0.5 * WEIGHTS.sum(axis=0))[4 - c :]

    return measure


def test_one_objective_without_limits_is_left_alone():
    one = auto(SPACE)
    assert serve_goals(one, 1, 0) is one


def hashed(domain, k, c):
    """k objectives and c violations that the text of a point decides."""

    def measure(x):
        text = json.dumps(domain.encode(x)).encode()
        outputs = np.array([zlib.crc32(text + bytes([i])) for i in range(k + c)]) / 2.0**31 - 1.0
        return outputs[:k], outputs[k:]

    return measure


@pytest.mark.parametrize(
    ("name", "k", "c"), [(name, k, 1) for name in sorted(METHODS) for k in (1, 2) if (name, k) != ("nasbot", 1)]
)
def test_every_method_serves(name, k, c):
    """It suggests new points alone, by the same seed the same ones, and says what it is as before."""
    domain = {"nasbot": SMALL_MLP}.get(name, WITH_FIDELITY if name in OVER_FIDELITIES else SPACE)
    plain = searcher(name, domain)
    method = serve_goals(plain, k, c)
    assert method.domain == domain
    json.dumps(method.settings())
    n = 26 if name in ("combo", "bocs") else 14  # 20 points come before their models
    first, second = (play(method, domain, hashed(domain, k, c), n, fail_every=7)[2] for _ in range(2))
    keys = [domain.key(one.point) for one in first]
    assert len(set(keys)) == n
    assert keys == [domain.key(one.point) for one in second]
    assert not [one.info for one in first if one.info.get("model") == "failed"]


@pytest.mark.parametrize(
    ("name", "k", "c", "is_model"),
    [("auto", 1, 1, True), ("auto", 2, 0, True), ("combo", 1, 1, False), ("combo", 2, 0, False), ("tpe", 2, 0, False)],
)
def test_a_model_of_each_output_where_the_score_is_a_logarithm(name, k, c, is_model):
    method = serve_goals(searcher(name, SPACE), k, c)
    has_model = isinstance(method, BayesianSearch) and isinstance(method.surrogate, Outputs)
    assert has_model == is_model
    assert isinstance(method, Scalarized) == (k > 1 and not is_model)
    if is_model:
        assert isinstance(method.score, Feasible)  # failures are learned from outside of it
        assert (method.surrogate.n_objectives, method.surrogate.n_violations) == (k, c)


def test_what_explains_a_choice_still_does():
    method = serve_goals(dataclasses.replace(auto(SPACE), note="because"), 2, 0)
    found = play(method, SPACE, linear(2, 0), 14)[2]
    assert found[-1].info["auto"] == "because"
    assert len(found[-1].info["outputs"]) == 2


def test_proposals_of_a_model_under_hyperband_are_of_all_outputs():
    domain = WITH_FIDELITY
    method = serve_goals(model_based_hyperband(domain), 2, 1)
    assert isinstance(method.proposals.surrogate, Outputs)
    levels = FidelityLevels(domain)
    found = play(method, domain, linear(2, 1), 24)[2]
    assert {levels.level(one.point) for one in found} == {0, 1, 2}


def test_evolution_selects_as_nsga_2_sorts():
    """Parents are drawn by position: first the extremes of the front, the crowded ones later, what is behind last."""
    objectives = np.array([[0.0, 9.0], [1.0, 5.0], [2.0, 4.5], [9.0, 0.0], [9.5, 9.5]])
    chances = evolution(SPACE).selection(-constrained_rank(objectives, np.zeros((5, 0))))
    assert chances[0] == chances[3] > chances[2] > chances[1] > chances[4]
    broken = np.array([[0.0], [0.0], [0.0], [9.0], [0.0]])
    assert np.argmin(evolution(SPACE).selection(-constrained_rank(objectives, broken))) == 3


def share_of_front(method, measure, n, seed):
    """The hypervolume found, as a share of the largest."""
    points = method.domain.enumerate()
    outcomes = [measure(x) for x in points]
    every, violations = (np.array([one[i] for one in outcomes]) for i in (0, 1))
    reference = np.median(every, axis=0)
    objectives, told, _ = play(method, method.domain, measure, n, seed)
    best = hypervolume(every[is_feasible(violations)], reference)
    return hypervolume(objectives[is_feasible(told)], reference) / best


@pytest.mark.parametrize(("k", "c"), [(2, 0), (2, 1)])
def test_two_objectives_are_found_faster_than_at_random(k, c):
    """At both seeds; at random the share is 0.5 to 0.8, so that a search which does nothing cannot pass."""
    for seed in range(2):
        by_model = share_of_front(serve_goals(auto(SPACE), k, c), linear(k, c), 32, seed)
        assert by_model > 0.97 > share_of_front(serve_goals(random(SPACE), k, c), linear(k, c), 32, seed) + 0.05


def knapsack(seed):
    """Ten items; the lightest sets alone are within the limit, 2 % of all."""
    space, generator = bits(10), np.random.default_rng(seed)
    worth, weight = generator.uniform(1.0, 9.0, size=(2, 10))
    points = np.asarray(space.enumerate(), dtype=np.float64)
    bound = float(np.quantile(points @ weight, 0.02))
    best = float(np.min(-points[points @ weight <= bound] @ worth))

    def measure(x):
        bits_of_x = np.asarray(x, dtype=np.float64)
        return [-bits_of_x @ worth], [bits_of_x @ weight - bound]

    return space, measure, best


def test_a_limit_is_found_and_kept():
    """The best of the 2 % that keep the limit, at both seeds."""
    hits = {"model": 0, "random": 0}
    for seed in range(2):
        space, measure, best = knapsack(seed)
        for name, method in (("model", serve_goals(auto(space), 1, 1)), ("random", random(space))):
            objectives, violations, _ = play(method, space, measure, 40, seed)
            kept = is_feasible(violations)
            hits[name] += bool(kept.any() and objectives[kept].min() <= best + 1e-9)
    assert hits["model"] == 2 > hits["random"]


def test_a_space_that_is_used_up_says_so():
    space = bits(4)
    method = serve_goals(auto(space), 2, 1)

    def measure(x):
        outputs = np.asarray(x, dtype=np.float64) @ WEIGHTS[:4]
        return outputs[:2], outputs[3:]

    with pytest.raises(SpaceExhausted):
        play(method, space, measure, 17)


@pytest.mark.parametrize("value", [0.0, 1e300])
def test_outputs_that_are_all_the_same_are_no_error(value):
    method = serve_goals(auto(SPACE), 2, 1)
    found = play(method, SPACE, lambda _: ([value, value], [value]), 15)[2]
    assert found[-1].info["origin"] in ("model", "fallback")


@pytest.mark.parametrize(("k", "c", "n_failed"), [(2, 0, 0), (1, 2, 0), (2, 1, 3), (1, 1, 3)])
def test_each_objective_and_the_chance_to_keep_all_limits_are_predicted(k, c, n_failed):
    method, points = serve_goals(auto(SPACE), k, c), SPACE.enumerate()
    order = np.random.default_rng(0).permutation(len(points))
    told, test = points[order[:60]], points[order[60:]]
    objectives, violations = (np.array([linear(k, c)(x)[i] for x in told]).reshape(60, -1) for i in (0, 1))
    view = History.of(SPACE, told, constrained_rank(objectives, violations), failed=test[:n_failed])
    view = dataclasses.replace(view, objectives=objectives, violations=violations)
    found = method.predict(view, method.initial_state(), test, np.random.default_rng(0))
    expected, broken = (np.array([linear(k, c)(x)[i] for x in test]).reshape(len(test), -1) for i in (0, 1))
    assert found.mean.shape == found.variance.shape == (k, 1, len(test))
    assert np.corrcoef(found.mean[0, 0], expected[:, 0])[0, 1] > 0.99
    keeps = np.all(broken <= 0.0, axis=1)
    if not c:
        assert not found.log_probability.any()
    elif not n_failed:
        assert np.mean(found.log_probability[keeps]) > np.mean(found.log_probability[~keeps]) + 2.0
    else:
        assert np.all(found.log_probability <= 0.0)
        assert found.log_probability[:n_failed].mean() < -0.5


def test_running_points_are_believed():
    """Three suggestions in a row, none told, are three points of the space that differ."""
    method, domain = serve_goals(auto(SPACE), 2, 1), SPACE
    points = domain.sample(20, np.random.default_rng(1))
    outcomes = [linear(2, 1)(x) for x in points]
    objectives, violations = (np.array([one[i] for one in outcomes]) for i in (0, 1))
    told = History.of(domain, points, constrained_rank(objectives, violations))
    state, running = method.initial_state(), []
    for trial in range(3):
        view = History.of(domain, points, told.values, running=running)
        view = dataclasses.replace(view, objectives=objectives, violations=violations)
        found = method.suggest(view, state, np.random.default_rng(trial))
        state, running = found.state, [*running, found.point]
    assert len(set(domain.keys(domain.join(running)))) == 3


@pytest.mark.slow
def test_a_knapsack_is_packed_nearly_as_well_as_it_can_be():
    """With violations that are always compressed, and single changes alone, the gaps sum to 16."""
    gaps = []
    for seed in (0, 2):
        problem = problems.load(f"knapsack:items=24,seed={seed}")
        limits = {limit.name: ("<=", limit.bound) for limit in problem.goals.limits}
        result = bo.minimize(problem, problem.space, 50, constraints=limits, seed=seed, progress=False)
        gaps.append(result.best_value - problem.optimum)
    assert sum(gaps) <= 10.0


@pytest.mark.parametrize(("k", "c"), [(1, 0), (2, 0), (1, 1), (2, 1)])
def test_pairs_of_changes_are_looked_at_where_there_are_limits(k, c):
    searcher = serve_goals(auto(SPACE), k, c)
    assert isinstance(searcher, BayesianSearch)
    assert isinstance(searcher.maximizer, PairSearch) == (c > 0)


@pytest.mark.parametrize(("name", "domain"), [("auto", SPACE), ("model-based-hyperband", WITH_FIDELITY)])
def test_of_several_objectives_less_is_compressed(name, domain):
    def find_warping(k):
        method = serve_goals(searcher(name, domain), k, 1)
        found = getattr(method, "proposals", method).surrogate.objective
        return found if isinstance(found, OutputWarping) else found.surrogate

    one, two = find_warping(1), find_warping(2)
    assert (one.beyond, one.of_distinct) == (3.0, False)
    assert (two.beyond, two.of_distinct) == (FAR_ABOVE, True)


def measure_front(seed: int) -> float:
    """Return the hypervolume found in 70 trials where half of all points have nearly the least size and time."""
    rng = np.random.default_rng(seed)
    gains = np.sort(rng.uniform(0.0, 1.0, (6, 5)), axis=1)
    pairs = rng.normal(0.0, 0.3, (6, 6, 5, 5))
    sizes, times = np.array([0.0, 0.001, 0.002, 0.3, 1.0]), np.array([0.0, 0.001, 0.4, 0.003, 1.0])
    space = bo.Space({f"x{i}": [f"op {j}" for j in range(5)] for i in range(6)})

    def measure(point):
        codes = [int(point[f"x{i}"][3:]) for i in range(6)]
        gain = sum(gains[i, codes[i]] + pairs[i, (i + 1) % 6, codes[i], codes[(i + 1) % 6]] for i in range(6))
        return -gain, float(np.prod(1.0 + sizes[codes])), float(np.prod(1.0 + times[codes]))

    study = bo.Study(space, directions=["minimize"] * 3, seed=seed)
    study.optimize(measure, 70, progress=False)
    found = np.array([trial.values for trial in study.trials])
    return hypervolume(found, np.array([0.0, 32.0, 32.0]))


@pytest.mark.slow
def test_the_search_is_not_drawn_to_one_end_of_the_front():
    """Compressed as a single objective is, which the test above refuses at once, the mean is 4,515."""
    assert np.mean([measure_front(seed) for seed in (1, 2, 3)]) > 4_850.0


def test_predictions_of_each_objective_are_near_what_was_told():
    """One of 26 times is 1e7, in the second objective alone."""
    study = bo.Study(bo.Space({"x": bo.Real(0, 1), "y": bo.Real(0, 1)}), directions=["minimize"] * 2, seed=0)
    points = np.random.default_rng(0).random((26, 2))
    for i, (x, y) in enumerate(points.tolist()):
        study.add({"x": x, "y": y}, (x**2 + y, 1e7 if i == 7 else 100.0 * (1.0 - x) ** 2 + 50.0 * y))
    study.ask()
    ordinary = [{"x": x, "y": y} for i, (x, y) in enumerate(points.tolist()) if i != 7]
    found = study.predict(ordinary)
    for j, told in enumerate(np.array([study.trials[i].values for i in range(26) if i != 7]).T):
        assert np.median(np.abs(found.mean[:, j] - told)) < 0.05 * np.ptp(told)
    left_out = study.result.cross_validate(1)
    assert np.median(np.abs(left_out.mean - left_out.observed)) < 20.0
