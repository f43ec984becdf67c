"""What every benchmark problem keeps to, and how problems are named."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from bostruct import problems
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.graphs import PathGraph
from bostruct.problems.base import SpaceProblem, prove_by_enumeration, relabel
from bostruct.problems.registry import ENTRIES, GOALS, STRUCTURES, old_name

SPECS = [
    "contamination", "contamination:case=1203,lambda=0.01,stages=8", "ising:lambda=1e-4", "branin", "pest",
    "pest:graph=path,noise_seed=3", "max3sat", "max3sat:variables=10,clauses=40,seed=2", "maxcut",
    "maxcut:n=6,k=2,seed=1", "frb:groups=4,size=3",
]  # fmt: skip
ELSEWHERE = {"maxsat", "landscape", "nasbench201", "nasbench101", "nasbench-macro", "fcnet", "fcnet-joint"}
ELSEWHERE |= {"transnas-macro", "transnas-micro", "opb", "sop", "kernel-tuner"}
STRUCTURED = [n for n, e in ENTRIES.items() if e.group in (GOALS, STRUCTURES) and n not in ELSEWHERE]
DETERMINISTIC = [spec for spec in SPECS if not spec.startswith("pest")]


@pytest.fixture(scope="module", params=SPECS)
def problem(request) -> SpaceProblem:
    return problems.load(request.param)


@pytest.fixture(scope="module", params=[*SPECS, *STRUCTURED])
def any_problem(request):
    """Also the problems with limits, several objectives, orders, subsets and sequences, of test_structured.py."""
    return problems.load(request.param)


def some_points(problem: SpaceProblem, m: int = 40) -> np.ndarray:
    return problem.space.sample(m, np.random.default_rng(5))


def test_every_registered_problem_is_covered_here():
    assert {spec.partition(":")[0] for spec in (*SPECS, *STRUCTURED)} | ELSEWHERE == set(problems.names())


def test_a_batch_equals_its_points_one_by_one(problem):
    rows = some_points(problem)
    singly = [problem(problem.space.present(row)) for row in rows]
    np.testing.assert_allclose(problem.evaluate(rows), singly, rtol=1e-12, atol=1e-12)


def test_its_objective_takes_points_as_minimize_hands_them_out(problem):
    point = problem.space.present(some_points(problem)[0])
    assert problem.objective(point) == problem(point)


def test_evaluation_is_repeatable_and_leaves_its_argument_alone(problem):
    rows = some_points(problem)
    rows.flags.writeable = False
    np.testing.assert_array_equal(problem.evaluate(rows), problem.evaluate(rows))


def test_an_empty_batch_has_no_values(problem):
    assert problem.evaluate(np.empty((0, problem.space.d), dtype=np.int64)).shape == (0,)


def test_the_name_loads_the_same_problem(problem):
    again = problems.load(problem.name)
    rows = some_points(problem)
    assert (again.name, again.space) == (problem.name, problem.space)
    np.testing.assert_array_equal(again.evaluate(rows), problem.evaluate(rows))


def test_nothing_beats_the_optimum_and_the_optimal_point_reaches_it(problem):
    if problem.optimum is None:
        assert problem.optimal_point is None
        assert problem.optimum_source.startswith("not known")
        return
    assert problem.optimal_point is not None
    assert problem(problem.optimal_point) == pytest.approx(problem.optimum, abs=1e-9)
    assert problem.evaluate(some_points(problem, 500)).min() >= problem.optimum - 1e-9
    assert "proved" in problem.optimum_source


def test_enumeration_agrees_with_the_optimum(problem):
    if problem.noisy or not problem.space.enumerable:
        with pytest.raises(DomainError):
            prove_by_enumeration(problem)
        return
    assert prove_by_enumeration(problem).optimum == pytest.approx(problem.optimum, abs=1e-9)


def test_initial_points_are_valid_repeatable_and_differ_between_configurations(any_problem):
    first, second = any_problem.configs[:2]
    points = any_problem.initial_points(first)
    assert points == any_problem.initial_points(first)
    assert points != any_problem.initial_points(second)
    usual = 20 if isinstance(any_problem, SpaceProblem) else 10
    assert len(points) == (2 if any_problem.name == "branin" else usual)
    for point in points:
        any_problem.space.parse(point)
    for config in (26, 10_000):
        with pytest.raises(ValueError, match="config: expected one of"):
            any_problem.initial_points(config)


def test_a_problem_travels_to_a_worker(any_problem):
    sent = relabel(any_problem, 1) if isinstance(any_problem, SpaceProblem) else any_problem
    moved = pickle.loads(pickle.dumps(sent))
    points = [sent.space.present(x) for x in some_points(sent)]
    assert [moved(point) for point in points] == [sent(point) for point in points]


def test_noise_free_is_the_value_where_there_is_no_noise(problem):
    point = problem.initial_points(problem.configs[0])[0]
    assert problem.noisy == problem.name.startswith("pest")
    if not problem.noisy:
        assert problem.noise_free(point) == problem(point)
    with pytest.raises(ValueError, match="n_simulations"):
        problem.noise_free(point, 0)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_relabeling_keeps_optimum_and_initial_values(problem, seed):
    other = relabel(problem, seed)
    assert (other.space, other.optimum) == (problem.space, problem.optimum)
    if other.optimal_point is not None:
        assert other(other.optimal_point) == pytest.approx(problem.optimum, abs=1e-9)
    for config in problem.configs[:3]:
        np.testing.assert_array_equal(other.evaluate(other.initial(config)), problem.evaluate(problem.initial(config)))
    if problem.noisy:
        mine, theirs = (p.noise_free(p.initial_points(1)[0], 100) for p in (problem, other))
        assert mine == theirs


def test_relabeling_keeps_neighbors_neighbors(problem):
    other = relabel(problem, 3)
    x = problem.initial(problem.configs[0])[0]
    y = other.initial(problem.configs[0])[0]
    near, moved = (np.sort(p.evaluate(p.space.neighbors(one))) for p, one in ((problem, x), (other, y)))
    np.testing.assert_allclose(near, moved)


def test_relabeling_moves_a_patterned_optimum_and_depends_on_the_seed():
    plain = problems.load("ising")
    seen = {relabel(plain, seed).optimal_vertices for seed in range(20)}
    assert plain.optimal_vertices == (1,) * 24
    assert len(seen) == 20
    assert 0.3 < np.mean(list(seen)) < 0.7


def test_relabeled_values_are_a_permutation_of_all_values():
    plain = problems.load("contamination:stages=7")
    points = plain.space.enumerate()
    other = relabel(plain, 4)
    assert (other.evaluate(points) != plain.evaluate(points)).any()
    np.testing.assert_array_equal(np.sort(other.evaluate(points)), np.sort(plain.evaluate(points)))


def test_an_order_is_only_ever_reversed():
    plain = problems.load("branin")
    assert all(isinstance(v.graph, PathGraph) for v in plain.space.variables.values())
    line = np.stack([np.arange(51), np.full(51, 13)], axis=1)
    ways = [(rows, column) for rows in (line[:, 0], line[::-1, 0]) for column in (13, 37)]
    expected = [plain.evaluate(np.stack([rows, np.full(51, column)], axis=1)) for rows, column in ways]
    outcomes = set()
    for seed in range(20):
        other = relabel(plain, seed).evaluate(line)
        (match,) = [i for i, values in enumerate(expected) if np.array_equal(other, values)]
        outcomes.add(match)
    assert len(outcomes) == 4


def test_relabel_by_name():
    named = problems.load("contamination:case=758,relabel=5")
    rows = some_points(named)
    assert named.name == "contamination:case=758,lambda=0,relabel=5"
    np.testing.assert_array_equal(named.evaluate(rows), relabel(problems.load("contamination"), 5).evaluate(rows))
    assert problems.load("branin:relabel=2").name == "branin:relabel=2"


def test_defaults_in_the_registry_are_those_of_the_factories():
    for name, entry in ENTRIES.items():
        if all(parameter.default for parameter in entry.parameters):
            spelled = ",".join(f"{p.name}={p.default}" for p in entry.parameters)
            assert problems.load(f"{name}:{spelled}" if spelled else name).name == problems.load(name).name


REFUSED = [
    ("nothing", "problem: expected one of contamination, ising"),
    ("max3sa", r"problem: .*got 'max3sa'. Did you mean 'max3sat'\?"),
    ("max3sat:clase=3", r"unknown parameter 'clase'; .* Did you mean 'clauses'\?"),
    ("", "problem: expected one of"),
    ("contamination:cases=3", "contamination: unknown parameter 'cases'; expected one of case, lambda, stages, rel"),
    ("contamination:case", "contamination: expected parameter=value, got 'case'"),
    ("contamination:case=", "expected parameter=value"),
    ("contamination:case=1,case=2", "contamination: parameter case is given twice"),
    ("contamination:case=x", "contamination: case: expected an integer, got 'x'"),
    ("contamination:lambda=x", "contamination: lambda: expected a number, got 'x'"),
    ("contamination:lambda=nan", "lambda: expected a finite number"),
    ("contamination:lambda=-1", "lambda: expected a finite number"),
    ("contamination:case=-1", "case: expected between"),
    ("contamination:stages=0", "stages: expected between"),
    ("pest:graph=star", "graph: expected one of complete, path"),
    ("ising:relabel=-1", "relabel: expected at least 0"),
    ("max3sat:variables=2", "variables: expected between 3"),
    ("maxcut:n=30,k=15", "at most 1000 vertices"),
    ("frb:groups=400,size=6", "at most 1000 variables"),
    ("maxsat", "maxsat: expected maxsat:file="),
    ("sop", "sop: expected sop:file="),
    ("qap:file=a.dat,size=5", "file: expected no size and no seed with a file"),
    ("tsp:file=a.tsp,seed=1", "file: expected no size and no seed with a file"),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED)
def test_a_wrong_specification_is_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        problems.load(spec)


def test_a_specification_is_text():
    with pytest.raises(TypeError, match="problem: expected a name"):
        problems.load(3)  # type: ignore[arg-type]


def test_evaluate_refuses_other_shapes_and_ranges():
    problem = problems.load("contamination:stages=5")
    for vertices, words in (
        (np.zeros(5, dtype=np.int64), r"vertices: expected integers of shape \(m, 5\)"),
        (np.zeros((1, 5)), "got float64"),
        (np.full((1, 5), 2), "expected each in"),
    ):
        with pytest.raises(ValueError, match=words):
            problem.evaluate(vertices)
    with pytest.raises(PointError, match="stage 1"):
        problem({f"stage {i}": True for i in range(2, 6)})


def test_listing_problems_is_cheap():
    heavy = ("torch", "sklearn", "scipy.stats", "ot", "pysat", "pandas", "matplotlib")
    code = f"import sys, bostruct.problems; bostruct.problems.names(); print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


RENAMED = [
    ("pest:graph=path,noise=3", "pest:graph=path,noise_seed=3"),
    ("landscape:kind=mlp,noise=0.5,seed=2", "landscape:kind=mlp,noise_sd=0.5,seed=2"),
]


@pytest.mark.parametrize(("before", "now"), RENAMED)
def test_parameters_that_were_renamed_are_read_by_their_old_names(before, now):
    old, new = problems.load(before), problems.load(now)
    assert old.name == new.name == now
    assert old_name(now) == before
    point = new.initial_points(new.configs[0])[0]
    assert old(point) == new(point)
    with pytest.raises(ValueError, match="is given twice"):
        problems.load(f"{now},{before.split(',')[1]}")
