"""Ranks, crowding, constrained rank and hypervolume against brute force and by their laws."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bostruct.goals.pareto import (
    choose_spread,
    constrained_rank,
    crowding_distances,
    default_reference,
    distant_reference,
    exclusive_volume,
    find_nondominated,
    hypervolume,
    measure_violations,
    rank_nondominated,
)


def points(k, n=None):
    """Up to six points with few distinct values, so that many are equal or share an objective."""
    sizes = st.integers(1, 6) if n is None else st.just(n)
    return sizes.flatmap(lambda n: arrays(np.float64, (n, k), elements=st.integers(0, 4).map(float)))


@st.composite
def outcomes(draw):
    """Objectives and violations of the same points."""
    n, k, c = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(0, 2))
    numbers = st.integers(-2, 2).map(float)
    return draw(arrays(np.float64, (n, k), elements=numbers)), draw(arrays(np.float64, (n, c), elements=numbers))


def dominates(x, y):
    return bool(np.all(x <= y) and np.any(x < y))


def brute_ranks(objectives, violations):
    """Peel fronts as the definition of constrained domination has it."""
    violation = measure_violations(violations)

    def is_better(i, j):
        if violation[i] or violation[j]:
            return violation[i] < violation[j]
        return dominates(objectives[i], objectives[j])

    ranks, left, rank = np.full(len(objectives), -1), set(range(len(objectives))), 0
    while left:
        front = {j for j in left if not any(is_better(i, j) for i in left)}
        ranks[list(front)] = rank
        left, rank = left - front, rank + 1
    return ranks


def brute_hypervolume(front, reference):
    """Inclusion and exclusion over all subsets of points."""
    front = front[np.all(front < reference, axis=1)]
    return sum(
        (-1) ** (size + 1) * np.prod(reference - front[list(chosen)].max(axis=0))
        for size in range(1, len(front) + 1)
        for chosen in itertools.combinations(range(len(front)), size)
    )


@given(outcomes())
def test_ranks_are_those_of_the_definition(told):
    assert rank_nondominated(*told).tolist() == brute_ranks(*told).tolist()


@given(outcomes(), st.randoms(use_true_random=False))
def test_the_order_of_points_changes_nothing(told, random):
    objectives, violations = told
    order = random.sample(range(len(objectives)), len(objectives))
    for function in (rank_nondominated, constrained_rank):
        assert (
            function(objectives[order], violations[order]).tolist() == function(objectives, violations)[order].tolist()
        )
    assert crowding_distances(objectives[order]).tolist() == crowding_distances(objectives)[order].tolist()


@given(outcomes(), st.integers(-3, 3))
def test_units_change_no_order(told, power):
    objectives, violations = told
    scale = 4.0**power
    assert rank_nondominated(scale * objectives, 8.0 * violations).tolist() == rank_nondominated(*told).tolist()
    found, scaled = constrained_rank(objectives, violations), constrained_rank(scale * objectives, 8.0 * violations)
    assert np.argsort(scaled, kind="stable").tolist() == np.argsort(found, kind="stable").tolist()


@given(outcomes())
def test_merit_orders_feasible_points_first_and_by_rank(told):
    objectives, violations = told
    feasible, found, ranks = np.all(violations <= 0.0, axis=1), constrained_rank(*told), rank_nondominated(*told)
    assert np.all(np.isfinite(found))
    assert found[feasible].max(initial=-np.inf) < found[~feasible].min(initial=np.inf)
    lower = ranks[:, None] < ranks
    if objectives.shape[1] > 1:
        assert np.all((found[:, None] < found)[lower])
    else:
        assert np.all((found[:, None] <= found)[lower])  # tiny violations of a large value may round away
        assert found[feasible].tolist() == objectives[feasible, 0].tolist()


def test_merit_of_one_objective_is_a_penalty_behind_the_worst_feasible_value():
    values, violations = np.array([[3.0], [1.0], [-9.0], [-8.0]]), np.array([[-1.0], [0.0], [2.0], [6.0]])
    assert constrained_rank(values, violations).tolist() == [3.0, 1.0, 3.0 + 2.0 * 0.5, 3.0 + 2.0 * 1.5]


def test_without_a_feasible_point_the_smallest_violation_comes_first():
    assert np.argsort(constrained_rank(np.array([[1.0], [2.0], [3.0]]), np.array([[9.0], [1.0], [5.0]]))).tolist() == [
        1,
        2,
        0,
    ]


def test_a_violation_too_small_to_add_is_still_behind():
    found = constrained_rank(np.array([[0.0], [1e16]]), np.array([[1e-300], [0.0]]))
    assert found[1] == 1e16 < found[0]


def test_limits_count_whatever_their_units_are():
    """One limit in nanoseconds and one in gigabytes: the point that breaks both by little is better."""
    violations = np.array([[1.0, 1e9], [3.0, 0.0], [0.0, 3e9], [1.0, 1e9], [1e-3, 1e30]])
    assert measure_violations(violations)[:3].tolist() == pytest.approx([2.0 / 3.0 + 1.0, 3.0, 3.0], rel=1.0)
    assert measure_violations(1e6 * violations).tolist() == pytest.approx(measure_violations(violations).tolist())


def test_positions_of_several_objectives_are_those_of_nsga_2():
    """The extremes of the front first, then by crowding; then the second front; then what breaks the limit."""
    objectives = np.array([[0.0, 9.0], [1.0, 5.0], [2.0, 4.5], [9.0, 0.0], [9.0, 9.0], [-1.0, -1.0]])
    violations = np.array([[0.0]] * 5 + [[1.0]])
    assert constrained_rank(objectives, violations).tolist() == [0.0, 3.0, 2.0, 0.0, 4.0, 5.0]


def test_crowding_by_hand():
    objectives = np.array([[0.0, 9.0], [1.0, 5.0], [2.0, 4.5], [9.0, 0.0]])
    assert crowding_distances(objectives).tolist() == [np.inf, 2 / 9 + 4.5 / 9, 8 / 9 + 5 / 9, np.inf]


@given(st.integers(1, 5).flatmap(points))
def test_hypervolume_is_that_of_inclusion_and_exclusion(front):
    reference = np.full(front.shape[1], 3.5)
    assert hypervolume(front, reference) == pytest.approx(brute_hypervolume(front, reference), abs=1e-9)


@given(st.integers(1, 4).flatmap(lambda k: st.tuples(points(k), points(k, 1))), st.integers(-3, 3))
def test_hypervolume_grows_with_points_and_scales_with_units(told, power):
    front, one = told
    k, reference = front.shape[1], np.full(front.shape[1], 3.5)
    before, after = hypervolume(front, reference), hypervolume(np.vstack([one, front]), reference)
    is_dominated = bool(np.any(np.all(front <= one, axis=1)) or np.any(one >= reference))
    assert after == pytest.approx(before) if is_dominated else after > before
    units = 4.0**power * np.arange(1.0, k + 1.0)
    scaled = hypervolume(front * units, reference * units)
    assert scaled == pytest.approx(before * np.prod(units), rel=1e-12)


@given(st.integers(1, 5).flatmap(lambda k: st.tuples(points(k), points(k, 1))))
def test_an_exclusive_volume_is_what_a_point_adds(told):
    front, one = told
    reference = np.full(front.shape[1], 3.5)
    added = brute_hypervolume(np.vstack([one, front]), reference) - brute_hypervolume(front, reference)
    assert exclusive_volume(one[0], front, reference) == pytest.approx(added, abs=1e-9)


def test_a_volume_that_overflows_is_infinite():
    front = np.array([[1e308, -1e308, 0.0], [-1e308, 1e308, 1.0], [0.0, 0.0, 2.0]])
    with np.errstate(over="ignore"):
        assert hypervolume(front, np.array([1.7e308, 1.7e308, 3.0])) == np.inf


def test_five_objectives_take_seconds():
    """A hundred points took a minute by slices; of the sphere in five dimensions they leave a little more."""
    grid = np.abs(np.random.default_rng(0).normal(size=(100, 5)))
    front = 1.0 - grid / np.linalg.norm(grid, axis=1)[:, None]
    assert hypervolume(front, np.ones(5)) == pytest.approx(0.06038603411583454, rel=1e-12)


def test_hypervolume_of_a_sphere_in_three_dimensions():
    """Many points on the sphere dominate almost all of the cube behind it: 1 - (4 / 3 pi) / 8."""
    grid = np.abs(np.random.default_rng(0).normal(size=(400, 3)))
    front = 1.0 - grid / np.linalg.norm(grid, axis=1)[:, None]
    assert 0.42 < hypervolume(front, np.ones(3)) < np.pi / 6.0


@pytest.mark.parametrize(
    ("objectives", "expected"),
    [
        ([[0.0, 4.0], [2.0, 0.0], [9.0, 9.0]], [2.2, 4.4]),
        ([[1.0, 1.0], [3.0, 5.0]], [1.2, 1.4]),
        ([[1.0, 1.0]], [1.1, 1.1]),
        ([[0.0, -5.0]], [0.1, -4.5]),
    ],
)
def test_the_reference_is_behind_the_front_by_a_tenth(objectives, expected):
    found = default_reference(np.array(objectives))
    assert found.tolist() == pytest.approx(expected)


@given(st.integers(1, 3).flatmap(points), st.integers(-250, 250), st.sampled_from([0.0, 1.0, 1e9, 2.0**53]))
def test_references_are_behind_all_points_at_any_scale(objectives, power, shift):
    """Where a tenth of the range is less than the distance of two floats, too; a power of 2 scales them exactly."""
    objectives = np.ldexp(objectives + shift, power)
    distant, default = distant_reference(objectives), default_reference(objectives)
    front = objectives[find_nondominated(objectives)]
    assert np.all(distant > objectives)
    assert np.all(default > front)
    assert np.all(distant_reference(np.array([[1e20, 3e-320]])) > [1e20, 3e-320])
    if objectives.all():
        assert np.array_equal(distant_reference(np.ldexp(objectives, 7)), np.ldexp(distant, 7))
        assert hypervolume(front, distant) > 0.0


def test_a_long_front_is_covered_by_some_of_its_points():
    first = np.concatenate([np.linspace(0.0, 0.01, 50), np.linspace(0.1, 1.0, 10)])
    front = np.stack([first, 1.0 - first], axis=1)
    kept = choose_spread(front, 12)
    assert sorted(kept[:, 0].tolist()) == pytest.approx([0.0, 0.01, *np.linspace(0.1, 1.0, 10).tolist()], abs=3e-4)
    assert choose_spread(front, 60) is front


def test_all_equal_points_are_non_dominated():
    assert find_nondominated(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 3.0], [1.0, 3.0]])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_point_is_no_error(k):
    none = np.zeros((0, k))
    assert len(rank_nondominated(none, none)) == len(constrained_rank(none, none)) == len(crowding_distances(none)) == 0
    assert hypervolume(none, np.ones(k)) == 0.0


@pytest.mark.parametrize("k", [1, 2])
def test_feasible_points_come_before_infeasible_ones_whatever_floats_they_have(k: int) -> None:
    largest = np.finfo(np.float64).max
    values = np.array([[largest] * k, [0.0] * k, [0.0] * k, [0.0] * k])
    violations = np.array([[-largest], [largest], [largest], [1e-300]])
    found = constrained_rank(values, violations)
    assert np.isfinite(found).all()
    assert found[0] < found[1:].min()
    assert found[3] < found[1] or k == 1  # a range of values that is no float leaves no room for violations


def test_a_huge_violation_does_not_set_the_scale_of_merits():
    values, violations = np.arange(6.0)[:, None], np.array([[-1.0], [-1.0], [1.0], [2.0], [3.0], [1e160]])
    found = constrained_rank(values, violations)
    assert np.all(np.diff(found) > 0.0)
    assert found[-1] < 400.0  # a logarithm of it


def test_a_volume_of_three_objectives_that_overflows_warns_of_nothing():
    front = np.array([[1e140, 0.0, 0.0], [0.0, 1e140, 0.0], [0.0, 0.0, 1e140]])
    assert hypervolume(front, np.full(3, 2e140)) == np.inf
