"""Generated problems with limits, several objectives, orders, subsets and sequences: values, optima, initial points."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct import problems
from bostruct.contracts import PointError
from bostruct.problems.base import StructuredProblem, generated_points, read_variable
from bostruct.problems.motifs import motifs
from bostruct.problems.orders import find_best_order, find_shortest_tour, ordering, qap, tsp
from bostruct.problems.registry import ENTRIES, GOALS, STRUCTURES
from bostruct.problems.subsets import (
    biknapsack,
    find_best_cover,
    find_best_packing,
    item_space,
    knapsack,
    max_coverage,
    read_items,
)

GENERATED = {name: entry for name, entry in ENTRIES.items() if all(parameter.default for parameter in entry.parameters)}
SPECS = [name for name, entry in GENERATED.items() if entry.group in (GOALS, STRUCTURES)]
SEED_1 = {  # of three random points, by the benchmarks, before the generators were a part of the package
    "knapsack": [{"value": -v, "constraints": {"weight": w}} for v, w in ((1033, 981), (1028, 1030), (985, 935))],
    "biknapsack": [(-2015.0, 630.0), (-1408.0, 513.0), (-1716.0, 734.0)],
    "qap": [78.21720648824649, 69.01389855391936, 77.70021800473504],
    "tsp": [7.214521547009896, 7.115625717188676, 6.088241108017224],
    "ordering": [-34.56845738616717, -34.48045824637701, -33.2099685643863],
    "coverage": [-14.833408990727305, -11.590142411135995, -13.829717977208892],
    "motifs": [-0.5, -0.505, -0.625],
}


def load(spec: str) -> StructuredProblem:
    problem = problems.load(spec)
    assert isinstance(problem, StructuredProblem)
    return problem


def measure(problem: StructuredProblem, point: Any) -> Any:
    return problem.objective(point)


def sample(problem: StructuredProblem, n: int = 20) -> list[dict[str, Any]]:
    return [problem.space.present(x) for x in problem.space.sample(n, np.random.default_rng(0))]


@pytest.mark.parametrize("name", SPECS)
class TestEachProblem:
    def test_has_the_values_on_which_stored_results_rest(self, name):
        problem = load(f"{name}:seed=1")
        for point, expected in zip(sample(problem, 3), SEED_1[name], strict=True):
            told = problem(point)
            assert told == (expected if isinstance(told, dict) else pytest.approx(expected, rel=1e-12))

    def test_the_name_loads_the_same_problem_and_another_seed_another(self, name):
        problem, other = load(f"{name}:seed=3"), load(f"{name}:seed=4")
        again = load(problem.name)
        told = [problem(point) for point in sample(problem)]
        assert (again.name, again.goals, again.optimum) == (problem.name, problem.goals, problem.optimum)
        assert [again(point) for point in sample(problem)] == told
        assert [other(point) for point in sample(problem)] != told

    def test_initial_points_are_those_of_its_space(self, name):
        problem = load(name)
        assert problem.initial_points(1) == generated_points(problem.space, 10, 1)

    def test_refuses_a_point_of_another_space(self, name):
        with pytest.raises(PointError):
            load(name)({"x": 1})

    def test_refuses_relabeling_and_wrong_parameters(self, name):
        with pytest.raises(ValueError, match="relabel permutes choices"):
            problems.load(f"{name}:relabel=1")
        with pytest.raises(ValueError, match="seed"):
            problems.load(f"{name}:seed=-1")

    def test_no_random_point_is_better_than_the_optimum(self, name):
        problem = load(name)
        if problem.optimum is None:
            assert problem.optimal_point is None
            assert problem.optimum_source.startswith("not known")
            return
        study = bo.Study(problem.space, method="random", seed=0, constraints=_limits(problem))
        result = study.optimize(problem, 200, progress=False)
        assert result.best_value >= problem.optimum
        assert "proved" in problem.optimum_source
        told = measure(problem, problem.optimal_point)
        assert (told["value"] if isinstance(told, dict) else told) == problem.optimum


def _limits(problem: StructuredProblem) -> dict[str, Any] | None:
    return {limit.name: (limit.sense, limit.bound) for limit in problem.goals.limits} or None


@pytest.mark.parametrize("seed", range(4))
class TestOptimaAgreeWithEnumeration:
    def test_knapsack(self, seed):
        problem, limit = knapsack(9, seed), knapsack(9, seed).goals.limits[0].bound
        told = [measure(problem, problem.space.present(x)) for x in problem.space.enumerate()]
        assert problem.optimum == min(one["value"] for one in told if one["constraints"]["weight"] <= limit)
        assert measure(problem, problem.optimal_point)["constraints"]["weight"] <= limit

    @pytest.mark.parametrize(("make", "n"), [(qap, 5), (tsp, 6), (ordering, 6)])
    def test_orders(self, make, n, seed):
        problem = make(n, seed)
        least = min(measure(problem, {"order": order}) for order in itertools.permutations(range(n)))
        assert problem.optimum == pytest.approx(least)

    def test_coverage(self, seed):
        problem = max_coverage(14, 3, seed)
        least = min(measure(problem, {"nodes": chosen}) for chosen in itertools.combinations(range(14), 3))
        assert problem.optimum == pytest.approx(least)


def test_exact_methods_solve_cases_that_are_solved_by_hand():
    line = np.abs(np.subtract.outer([0.0, 5.0, 1.0, 3.0], [0.0, 5.0, 1.0, 3.0]))
    trip = find_shortest_tour(line)
    assert sum(line[a, b] for a, b in zip(trip, (*trip[1:], trip[0]), strict=True)) == 10.0
    assert find_best_order(np.array([[0.0, 0.1, 0.2], [0.9, 0.0, 0.1], [0.8, 0.9, 0.0]])) == (2, 1, 0)
    assert find_best_packing(np.array([6, 5, 5]), np.array([6, 5, 5]), 10).tolist() == [False, True, True]
    assert find_best_packing(np.array([6, 5]), np.array([6, 5]), 4).tolist() == [False, False]
    star = np.eye(5, dtype=bool)
    star[2] = True
    assert find_best_cover(star, np.ones(5), 1) == (2,)


def test_where_no_exact_method_is_cheap_the_optimum_is_not_known():
    for problem in (qap(9), tsp(13), ordering(13), max_coverage(61, 5), max_coverage(60, 6), biknapsack(5)):
        assert (problem.optimum, problem.optimal_point) == (None, None)


def test_values_mean_what_they_are_said_to():
    problem = max_coverage(20, 4, 5)
    edges = problem.space.variables["nodes"].item_graph.edges  # type: ignore[attr-defined]
    inside = measure(problem, {"nodes": (0, 1, 2, 3)})
    assert inside <= measure(problem, {"nodes": (0, 1, 2)})  # one more node covers no less
    assert nx.is_connected(nx.Graph([edge[:2] for edge in edges]))
    trip = (3, 0, 2, 1, 4)
    assert measure(tsp(5, 1), {"order": trip}) == pytest.approx(measure(tsp(5, 1), {"order": trip[::-1]}))
    both = measure(ordering(5, 1), {"order": trip}) + measure(ordering(5, 1), {"order": trip[::-1]})
    worth = np.random.default_rng([1, 33]).random((5, 5))
    assert both == pytest.approx(np.diag(worth).sum() - worth.sum())
    hidden = motifs(1).optimal_point["sequence"]  # type: ignore[index]
    assert measure(motifs(1), {"sequence": hidden[:8] + "A" * 22}) == pytest.approx(-1.0 + 0.14)


def test_what_bounds_the_goals_is_that_of_the_benchmarks_before():
    assert (str(knapsack(40, 1).goals), biknapsack(30, 1).reference) == ("minimize, weight <= 623", (0.0, 1216.0))


def test_two_objectives_of_a_knapsack_are_bounded_by_its_reference():
    problem = biknapsack(6, 2)
    values, weights = np.array([measure(problem, problem.space.present(x)) for x in problem.space.enumerate()]).T
    assert problem.reference == (values.max(), weights.max()) == (0.0, weights.max())
    assert problem.goals.n_objectives == 2


def test_items_are_read_by_their_numbers_and_variables_by_name():
    assert read_items(dict.fromkeys(item_space(12).variables, False) | {"i10": True}).nonzero()[0].tolist() == [10]
    assert read_variable("x", float)({"x": 2, "y": 3}) == 2.0


REFUSED_SIZES = [
    ("knapsack:items=0", "items"),
    ("biknapsack:items=2000", "items"),
    ("qap:size=1", "size"),
    ("tsp:size=2", "size"),
    ("ordering:size=1", "size"),
    ("coverage:nodes=5,chosen=5", "chosen"),
    ("coverage:nodes=1", "nodes"),
]


@pytest.mark.parametrize(("spec", "named"), REFUSED_SIZES)
def test_refuses_sizes_out_of_range(spec, named):
    with pytest.raises(ValueError, match=f"^{named}: expected"):
        problems.load(spec)
