"""Local search: finds true maxima of random posteriors, ascends, ends at local maxima, in a fixed order."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

import bostruct as bo
from bostruct.acquisition.functions import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    ProbabilityOfImprovement,
)
from bostruct.acquisition.local_search import (
    LocalSearch,
    ascend,
    draw_distinct,
    draw_with_neighbors,
)
from bostruct.checks import first_occurrences
from bostruct.contracts import Score
from bostruct.kernels.space.diffusion import ard_diffusion
from bostruct.kernels.space.spectra import LogEdgeWeight
from bostruct.methods import auto, combo
from bostruct.methods.combo import EDGE_WEIGHT_PRIOR
from bostruct.methods.defaults import variable_graphs
from bostruct.searchers.scores import AcquisitionScore
from bostruct.study.threads import ThreadLimit
from bostruct.surrogates.hyperparameters import Hyperparameters
from bostruct.surrogates.posterior import GaussianPosterior, fit_posterior_sample
from tests.fakes import TablePosterior, TableScore, Unpruned
from tests.permutations import Swaps
from tests.strategies import constrained_spaces, rngs, spaces

FUNCTIONS = (ExpectedImprovement(), LogExpectedImprovement(), ProbabilityOfImprovement(), LowerConfidenceBound())


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


def table_score(space: bo.Space, rng: np.random.Generator, levels: int = 0) -> TableScore:
    """A random score for each point; of few levels, hence full of plateaus, where `levels` says so."""
    size = int(np.prod(space.n_choices))
    scores = rng.integers(0, levels, size).astype(float) if levels else rng.normal(size=size)
    return TableScore(space.n_choices, scores, rng.exponential(size=size) * (rng.random(size) < 0.5))


def neighbors_score(score: TableScore, space: bo.Space, x: np.ndarray) -> np.ndarray:
    near = space.neighbors(x)
    return score(near) if len(near) else np.empty(0)


@given(constrained_spaces(4), rngs())
@settings(deadline=None, max_examples=30)
def test_ends_are_local_maxima_reached_by_ascent(space, rng):
    if np.prod(space.n_choices) > 10_000:
        return
    for levels in (0, 3):
        score = table_score(space, rng, levels)
        starts = space.sample(6, rng)
        ends, scores, steps = ascend(score, space, starts, score(starts), rng, large_steps=levels == 3)
        assert 1 <= len(ends) <= len(first_occurrences(space, starts))
        assert 1 <= steps <= np.prod(space.n_choices) + 1
        np.testing.assert_array_equal(scores, score(ends))
        assert scores.max() >= score(starts).max()
        for x, own in zip(ends, scores, strict=True):
            assert np.all(neighbors_score(score, space, x) <= own)


class Peak(Score):
    """The negative distance from a point, and no bound."""

    def __call__(self, xs):
        return -np.abs(np.asarray(xs) - 321.0).sum(axis=1)

    def upper_bounds(self, xs):
        return np.zeros(len(xs))


def test_leaps_cross_many_choices_in_few_steps_and_looking_can_be_bounded():
    space, rng = bo.Space({"x": range(1000), "y": range(1000)}), np.random.default_rng(0)
    starts = np.array([[0, 999], [700, 3]])
    score = Peak()
    ends, scores, steps = ascend(score, space, starts, score(starts), rng, large_steps=True)
    assert (scores.tolist(), ends.tolist()) == ([0.0], [[321, 321]])
    assert steps < 30
    *_, alone = ascend(score, space, starts, score(starts), rng)
    assert alone > 900
    ends, scores, steps = ascend(score, space, starts, score(starts), rng, most=100)
    assert 100 / 8 <= steps <= 100 / 6
    np.testing.assert_array_equal(scores, score(ends))
    assert (scores > score(starts)).all()


@given(spaces(4), rngs())
@settings(deadline=None, max_examples=25)
def test_each_climb_moves_to_its_best_neighbor(space, rng):
    """In lockstep and pruned, yet the ends are those of one greedy climb after the other."""
    if np.prod(space.n_choices) > 10_000:
        return
    score = table_score(space, rng, levels=4)
    starts = space.sample(5, rng)
    expected = set()
    for x in starts:
        while len(near := space.neighbors(x)) and (values := score(near)).max() > score(x[None])[0]:
            x = near[int(np.argmax(values))]
        expected.add(space.keys(x[None])[0])
    ends, _, _ = ascend(score, space, starts, score(starts), rng)
    assert set(space.keys(ends)) == expected


@given(spaces(4), rngs())
@settings(deadline=None, max_examples=25)
def test_maxima_come_best_first_each_once_and_the_same_again(space, rng):
    if np.prod(space.n_choices) > 10_000:
        return
    score = table_score(space, rng, levels=5)
    seed = int(rng.integers(2**31))
    starts = space.sample(2, rng)
    search = LocalSearch(raw_samples=50, num_spray_points=5, num_restarts=8, distinct=False)
    maxima, info = search(score, space, starts, np.random.default_rng(seed))
    scores = score(maxima)
    assert np.all(np.diff(scores) <= 0)
    assert len(set(space.keys(maxima))) == len(maxima) <= 8
    assert info["best_score"] == scores[0]
    assert info["candidates"] == 50 + sum(min(5, len(space.neighbors(x))) for x in starts)
    again, _ = search(Unpruned(score), space, starts, np.random.default_rng(seed))
    np.testing.assert_array_equal(maxima, again)


@pytest.mark.parametrize("acquisition", FUNCTIONS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("shape", [[2] * 13, [3, 4, 5, 6, 7], [100, 100], [21, 2, 2, 2, 9, 5]])
def test_finds_the_true_maximum_of_random_posteriors(shape, acquisition):
    """Smooth random means and variances on all points of spaces of up to 10,000, against brute force."""
    space = bo.Space({f"x{i}": range(k) if i % 2 else list(range(k)) for i, k in enumerate(shape)})
    everything = space.enumerate()
    for seed in range(3):
        rng = np.random.default_rng([seed, len(shape)])
        posterior = smooth_posterior(space, everything, rng)
        score = AcquisitionScore(posterior, acquisition, float(posterior.mean.min()) + 0.1)
        starts = everything[np.argsort(posterior.mean)[:1]]
        maxima, _ = LocalSearch(raw_samples=2_000)(score, space, starts, rng)
        assert score(maxima[:1])[0] == score(everything).max()


def smooth_posterior(space: bo.Space, everything: np.ndarray, rng: np.random.Generator) -> TablePosterior:
    """A sum of one table a variable and of some pairwise ones; as far as variances go, of its exponential."""
    parts = []
    for strength in (1.0, 0.3):
        total = np.zeros(len(everything))
        for i, k in enumerate(space.n_choices):
            j = int(rng.integers(space.d))
            pair = rng.normal(size=(k, space.n_choices[j]))
            total += rng.normal(size=k)[everything[:, i]] + 0.3 * pair[everything[:, i], everything[:, j]]
        parts.append(strength * total)
    optimism = rng.exponential(size=len(everything)) * (rng.random(len(everything)) < 0.7)
    return TablePosterior(space.n_choices, parts[0], np.exp(parts[1]), optimism)


def real_posterior(
    space: bo.Space, n: int, regime: float, rng: np.random.Generator
) -> tuple[AcquisitionScore, np.ndarray]:
    """What COMBO's posterior looks like: ten samples, log edge weights around `regime`."""
    kernel = ard_diffusion(variable_graphs(space), EDGE_WEIGHT_PRIOR, LogEdgeWeight())
    xs = space.sample(n, rng)
    values = rng.normal(size=n)
    hypers = [
        Hyperparameters(0.1 * rng.normal(), rng.normal(), rng.uniform(-9, -1), rng.uniform(regime, regime + 4, space.d))
        for _ in range(10)
    ]
    members = [fit_posterior_sample(kernel, xs, values - hyper.mean, hyper, 1e-6) for hyper in hypers]
    posterior = GaussianPosterior(kernel, xs, space.join, members, 1e-6)
    return AcquisitionScore(posterior, ExpectedImprovement(), float(values.min())), xs[[int(np.argmin(values))]]


@pytest.mark.parametrize("regime", [-12.0, -6.0, -2.0])
@pytest.mark.parametrize("n", [1, 5, 20, 60])
def test_pruning_chooses_the_point_that_full_scoring_chooses(n, regime):
    """On posteriors with nearly uncorrelated points, where nearly all candidates tie, and on smooth ones."""
    rng = np.random.default_rng([n, int(-regime)])
    space = bo.Space({f"x{i}": bool for i in range(20)} | {"c": list("pqrs"), "o": range(6)})
    score, starts = real_posterior(space, n, regime, rng)
    search = LocalSearch(raw_samples=3_000)
    found = [search(s, space, starts, np.random.default_rng(7))[0] for s in (score, Unpruned(score))]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(score(found[0])[:5], score(found[1])[:5], rtol=1e-9)


@pytest.mark.parametrize("n", [20, 60])
def test_combo_chooses_what_it_would_choose_unpruned(n):
    """On posteriors that its own sampler found."""
    rng = np.random.default_rng(n)
    space = bo.Space({f"x{i}": bool for i in range(12)} | {"c": list("pqrs"), "o": range(6)})
    xs = space.sample(n, rng)
    values = xs @ rng.normal(size=space.d) + xs[:, 0] * xs[:, 1] + 0.1 * rng.normal(size=n)
    search = combo(space)
    surrogate = dataclasses.replace(search.surrogate, burn_in=20)
    posterior = surrogate.condition(xs, values, None, rng)[0].believe(space.sample(2, rng))
    score = AcquisitionScore(posterior, search.score.acquisition, float(values.min()))
    starts = xs[[int(np.argmin(values))]]
    found = [search.maximizer(s, space, starts, np.random.default_rng(7))[0] for s in (score, Unpruned(score))]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(score(found[0])[:3], score(found[1])[:3], rtol=1e-9)


@pytest.mark.parametrize("method", [auto, combo])
def test_methods_search_with_the_published_numbers_of_starts(method):
    search = method(bo.Space({"a": bool})).maximizer
    assert search.num_restarts <= search.raw_samples
    if method is combo:
        assert (search.raw_samples, search.num_spray_points, search.num_restarts) == (20_000, 20, 20)


def test_neighborhoods_are_scored_in_one_batch_a_step():
    """Cost: one call of the bound a step, and no point scored that its bound rules out."""
    space = bo.Space({f"x{i}": bool for i in range(10)})
    weights = np.random.default_rng(0).normal(size=10)
    everything = space.enumerate()
    score = TableScore(space.n_choices, everything @ weights, np.zeros(len(everything)))
    starts = space.sample(8, np.random.default_rng(1))
    ends, _, steps = ascend(
        score, space, starts, everything[space_index(space, starts)] @ weights, np.random.default_rng(2)
    )
    np.testing.assert_array_equal(ends, [(weights > 0).astype(int)])
    furthest = int(np.max(np.sum(starts != (weights > 0), axis=1)))
    assert steps == furthest + 1
    assert len(score.scored) <= 8 * (furthest + 1)  # exact bounds: one score a climb and step


def space_index(space: bo.Space, xs: np.ndarray) -> np.ndarray:
    return np.ravel_multi_index(xs.T, tuple(space.n_choices))


class Order(Score):
    """A score of permutations, best for the one that counts down; its bounds hold, and are loose."""

    def __init__(self):
        self.scored = 0

    def __call__(self, xs):
        self.scored += len(xs)
        return np.array([-sum(abs(v - (len(x) - 1 - i)) for i, v in enumerate(x)) for x in xs], dtype=float)

    def upper_bounds(self, xs):
        return np.array([-sum(abs(v - (len(x) - 1 - i)) for i, v in enumerate(x[:-3])) for x in xs], dtype=float)


@pytest.mark.parametrize("starts", [[], [tuple(range(6)), (1, 0, 2, 3, 4, 5)]])
def test_serves_batches_that_are_lists(starts):
    """A domain of permutations, whose neighbors are listed point by point."""
    domain, score = Swaps(6), Order()
    before = list(starts)
    search = LocalSearch(raw_samples=20, num_spray_points=3, num_restarts=4, distinct=False)
    maxima, info = search(score, domain, starts, np.random.default_rng(0))
    assert maxima[0] == (5, 4, 3, 2, 1, 0)
    assert isinstance(maxima, list)
    assert info["candidates"] == 20 + 3 * len(starts)
    assert info["best_score"] == 0.0
    scores = score(maxima)
    assert np.all(np.diff(scores) <= 0)
    assert len(set(maxima)) == len(maxima) <= 4
    for x, own in zip(maxima, scores, strict=True):
        assert np.all(score(domain.neighbors(x)) <= own)
    assert starts == before
    again, _ = search(Unpruned(score), domain, starts, np.random.default_rng(0))
    assert again == maxima


def test_neighborhoods_of_a_list_are_pruned_too():
    counts = []
    for score in (Order(), Unpruned(Order())):
        starts = [tuple(range(9))]
        LocalSearch(200, num_spray_points=5, num_restarts=3, most=9_999, distinct=False)(
            score, Swaps(9), starts, np.random.default_rng(1)
        )
        counts.append(score.scored if isinstance(score, Order) else score.score.scored)
    assert counts[0] < counts[1]


def test_distinct_candidates_repeat_no_point_and_are_the_whole_space_where_it_is_small():
    small, rng = (
        bo.Space({"a": range(6), "b": range(6)}, [lambda point: point["a"] != point["b"]]),
        np.random.default_rng,
    )
    search = LocalSearch(raw_samples=36, num_spray_points=3, num_restarts=2)
    score = TableScore(np.array([6, 6]), np.arange(36.0), np.zeros(36))
    maxima, info = search(score, small, small.sample(1, rng(0)), rng(1))
    assert info["candidates"] == 30
    assert maxima[0].tolist() == [5, 4]
    larger = LocalSearch(raw_samples=25, num_spray_points=3, num_restarts=2)
    drawn = [draw(small, 25, 3, small.sample(1, rng(0)), rng(1)) for draw in (draw_distinct, draw_with_neighbors)]
    assert small.keys(drawn[0]) == list(dict.fromkeys(small.keys(drawn[1])))
    assert larger(score, small, small.sample(1, rng(0)), rng(1))[1]["candidates"] == len(drawn[0]) < 28


def test_combo_scores_a_small_space_whole():
    """Branin's 2,601 points: the suggestion is the best of all, as told by the same posterior."""
    space = bo.Space({"x": range(51), "y": range(51)})
    rng = np.random.default_rng(0)
    score, starts = real_posterior(space, 12, -4.0, rng)
    maxima, info = combo(space).maximizer(score, space, starts, rng)
    assert info["candidates"] == 2601
    np.testing.assert_array_equal(maxima[0], space.enumerate()[np.argmax(score(space.enumerate()))])


class LargestBatch(Score):
    """A linear score without bounds, which notes the largest number of points scored in one call."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights, self.largest = weights, 0

    def __call__(self, xs: np.ndarray) -> np.ndarray:
        self.largest = max(self.largest, len(xs))
        return np.asarray(xs) @ self.weights

    def upper_bounds(self, xs: np.ndarray) -> np.ndarray:
        return np.full(len(xs), np.inf)


def test_a_whole_step_is_scored_at_once_where_bounds_save_nothing():
    """The score's bounds are infinite, so that the first step scores all its neighbors, block by block."""
    rng = np.random.default_rng(0)
    space = bo.Space({f"x{i}": bool for i in range(60)})
    score = LargestBatch(rng.normal(size=60))
    found, _ = LocalSearch(raw_samples=30, num_restarts=20)(score, space, space.sample(0, rng), rng)
    np.testing.assert_array_equal(found[0], score.weights > 0.0)
    assert score.largest > 1_000


class LooseAtFirst(LargestBatch):
    """A linear score whose bounds are infinite for the first points, and exact for later ones."""

    def __init__(self, weights: np.ndarray) -> None:
        super().__init__(weights)
        self.scored, self.asked = 0, 0

    def __call__(self, xs: np.ndarray) -> np.ndarray:
        self.scored += len(xs)
        return super().__call__(xs)

    def upper_bounds(self, xs: np.ndarray) -> np.ndarray:
        self.asked += 1
        return np.full(len(xs), np.inf) if self.asked == 1 else np.asarray(xs) @ self.weights


def test_bounds_that_saved_nothing_are_tried_again():
    """From all zeros a climb has a step for each positive weight; the first and five after it score all neighbors."""
    space, weights = bo.Space({f"x{i}": bool for i in range(60)}), np.linspace(-1.0, 1.0, 60)
    score, start = LooseAtFirst(weights), np.zeros((1, 60), dtype=np.int64)
    ends, _, steps = ascend(score, space, start, np.zeros(1), np.random.default_rng(0))
    np.testing.assert_array_equal(ends[0], weights > 0.0)
    assert steps == 31
    assert score.scored == 6 * 60 + 24  # a step that bounds serve scores the best neighbor alone
