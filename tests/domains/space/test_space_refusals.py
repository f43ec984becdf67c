"""Every refusal of spaces and points, by its words: the name, what is allowed, what was given."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains.registry import domain_from_json
from bostruct.domains.space.clauses import CompareVariables, IsIn, Not, Restriction, ValueOf


def all_different(point: dict) -> bool:
    return len(set(point.values())) == len(point)


def two_parts() -> nx.Graph:
    return nx.Graph([("a", "b"), ("c", "d")])


def loop() -> nx.Graph:
    return nx.Graph([("a", "b"), ("b", "b")])


class Nobody:
    """Equal to nothing, itself included."""

    def __eq__(self, other):
        return False

    def __hash__(self):
        return 0


REFUSED_VARIABLES = [
    ({}, "variables: expected 1 to 10000, got 0"),
    ({f"x{i}": bool for i in range(10_001)}, "variables: expected 1 to 10000, got 10001"),
    (["a", "b"], r"variables: expected a mapping from name to variable, got \['a', 'b'\]"),
    ({1: bool}, "variables: expected names that are non-empty strings, got 1"),
    ({"": bool}, "variables: expected names that are non-empty strings, got ''"),
    ({"a": []}, "a: Categorical: expected 1 to 1000000 choices, got 0"),
    ({"a": range(10**9)}, "a: Ordinal: expected 1 to 1000 choices, got 1000000000; use a coarser grid"),
    ({"a": range(1001)}, "a: Ordinal: expected 1 to 1000 choices, got 1001; use a coarser grid"),
    ({"a": range(10**30)}, "a: Ordinal: expected 1 to 1000 choices, got more; use a coarser grid"),
    ({"a": ["x", "y", "x"]}, "a: Categorical: expected distinct choices, got 'x' more than once"),
    ({"a": [1, True]}, "a: Categorical: expected distinct choices, got True more than once"),
    ({"a": [1, 1.0]}, "a: Categorical: expected distinct choices, got 1.0 more than once"),
    ({"a": [np.int64(1), 1]}, "a: Categorical: expected distinct choices, got 1 more than once"),
    ({"a": [[1], [1]]}, r"a: Categorical: expected distinct choices, got \[1\] more than once"),
    ({"a": [1.0, math.nan]}, "a: Categorical: each choice must equal itself and be comparable, got nan"),
    ({"a": [np.zeros(2), np.ones(2)]}, "a: Categorical: each choice must equal itself and be comparable"),
    ({"a": [Nobody(), 1]}, "a: Categorical: each choice must equal itself and be comparable, got"),
    ({"a": np.linspace(0, 1, 5001)}, r"got 5001; use .* grid, or an Integer or a Real for numbers without gaps$"),
    ({"a": np.array([0, 5])}, r"a: \(0, 5\) might be bounds or two choices"),
    ({"a": "xyz"}, r"a: expected Binary\(\), Categorical\(...\), .*, got 'xyz'"),
    ({"a": str}, r"a: expected Binary\(\), .*, got the class str"),
    ({"a": 3}, r"a: expected Binary\(\), .*, got 3"),
    ({"a": float}, r"a: expected bounds: use bostruct\.Real\(low, high\), got the class float$"),
    ({"a": int}, r"a: expected bounds: use bostruct\.Integer\(low, high\), got the class int$"),
    ({"a": bo.Binary}, r"a: expected Binary\(\), .*, got the class Binary"),
]


WEIGHTS = [0.0, -1.0, math.inf, math.nan]
REFUSED_KINDS = [
    (lambda: bo.Categorical("abc"), "Categorical: expected a sequence of choices, got 'abc'; .* one value: list"),
    (lambda: bo.Categorical({"a", "b"}), "Categorical: expected a sequence of choices, got {"),
    (lambda: bo.Ordinal(5), "Ordinal: expected a sequence of choices, got 5"),
    (lambda: bo.Categorical(itertools.count()), "Categorical: expected 1 to 1000000 choices, got more"),
    (lambda: bo.Integer(5, 2), "Integer: expected low <= high; got low=5, high=2"),
    (lambda: bo.Integer(-1, 2**53), "Integer: expected at most 2.53 values, got low=-1, high=9007199254740992"),
    (lambda: bo.Integer(0, 9, log=True), "and low at least 1, because of log=True; got low=0, high=9"),
    (lambda: bo.Fidelity([3, 1]), "Fidelity: expected positive numbers in ascending order"),
    (lambda: bo.Fidelity([0, 1]), "Fidelity: expected positive numbers in ascending order"),
    (lambda: bo.Graph(two_parts()), "Graph: expected a connected graph, got 2 parts, such as"),
    (lambda: bo.Graph(nx.DiGraph([("a", "b")])), "Graph: expected an undirected simple .* got DiGraph"),
    (lambda: bo.Graph(nx.MultiGraph([("a", "b")])), "Graph: expected an undirected simple .* got MultiGraph"),
    (lambda: bo.Graph(nx.path_graph(1)), "Graph: expected 2 to 1000 nodes, got 1"),
    (lambda: bo.Graph(nx.path_graph(1001)), "Graph: expected 2 to 1000 nodes, got 1001"),
    (lambda: bo.Graph(loop()), "Graph: expected no self loops, got one at node number 1"),
    (lambda: bo.Graph({"a": ["b"]}), "Graph: expected a networkx graph, got {'a'"),
    (lambda: bo.Graph(nx.Graph([(0, 1, {"weight": 0})])), r"Graph: expected edge weights from 1e-300 to 1e.300, got 0"),
    (lambda: bo.Graph(nx.Graph([(0, 1, {"weight": "1"})])), "Graph: expected edge weights .*, got '1'"),
]
REFUSED_ARGUMENTS = [
    *((ValueError, lambda w=w: bo.Ordinal([1, 2], weight=w), "weight: expected a finite number ") for w in WEIGHTS),
    (TypeError, lambda: bo.Integer("0", 5), "low: expected an integer, got '0'"),  # type: ignore[arg-type]
    (ValueError, lambda: bo.Integer(0, 10**16), "high: expected between -9007199254740992 and 9007199254740992, got 1"),
    (TypeError, lambda: bo.Integer(1, 5, log=1), "log: expected True or False, got 1"),  # type: ignore[arg-type]
]


class TestRefusedSpaces:
    @pytest.mark.parametrize(("variables", "message"), REFUSED_VARIABLES)
    def test_variables(self, variables, message):
        with pytest.raises(DomainError, match=message):
            bo.Space(variables)

    @pytest.mark.parametrize(("build", "message"), REFUSED_KINDS)
    def test_kinds(self, build, message):
        with pytest.raises(DomainError, match=message):
            build()

    @pytest.mark.parametrize(("error", "build", "message"), REFUSED_ARGUMENTS)
    def test_arguments_of_kinds(self, error, build, message):
        with pytest.raises(error, match=message) as refused:
            build()
        assert not isinstance(refused.value, DomainError)

    @pytest.mark.parametrize("constraints", [all_different, [1], None, "abc"])
    def test_constraints(self, constraints):
        with pytest.raises(DomainError, match="constraints: expected a sequence of predicates of a point, got"):
            bo.Space({"a": bool}, constraints)

    def test_a_constraint_that_raises_is_named_with_its_point_and_its_error(self):
        def divides(point):
            return 1 / point["a"] > 0

        with pytest.raises(DomainError, match=r"constraint divides failed on \{'a': False\}: ZeroDivisionError"):
            bo.Space({"a": bool}, [divides]).sample(5, np.random.default_rng(0))

    def test_a_description_that_does_not_hold_the_whole_space(self):
        with pytest.raises(DomainError, match="the space has constraints, whose code cannot be stored"):
            domain_from_json(bo.Space({"a": bool, "b": bool}, [all_different]).to_json())
        with pytest.raises(DomainError, match="a: its choices are Python objects, which cannot be stored"):
            domain_from_json(bo.Space({"a": [(1, 2), (3, 4)]}).to_json())


REFUSED_POINTS = [
    ({"color": "red"}, r"point: missing n; expected \['color', 'n'\]"),
    ({"color": "red", "n": 1, "m": 2}, r"point: unknown name 'm'; expected \['color', 'n'\]"),
    ({"color": "green", "n": 1}, r"color: expected one of \['red', 'blue'\], got 'green'"),
    ({"color": "red", "n": 4}, r"n: expected one of \[0, 1, 2, 3\], got 4"),
    ({"color": "red", "n": "1"}, r"n: expected one of \[0, 1, 2, 3\], got '1'"),
    ({"color": "red", "n": [1]}, r"n: expected one of \[0, 1, 2, 3\], got \[1\]"),
    ({"color": "red", "n": np.ones(2)}, r"n: expected one of \[0, 1, 2, 3\], got array"),
    ({"color": "red", "n": math.nan}, r"n: expected one of \[0, 1, 2, 3\], got nan"),
    (["red", 1], r"point: expected a dict with the keys \['color', 'n'\], got \['red', 1\]"),
    ({"color": "blue", "n": 0}, "point: {'color': 'blue', 'n': 0} breaks the constraint blue_needs_n$"),
]


REFUSED_BATCH_VALUES = [
    (np.array([0]), "point: expected 2 integers, got"),
    (np.array([0.0, 1.0]), "point: expected 2 integers, got"),
    (np.array([0, 2]), r"b: expected a vertex in 0..1, got 2"),
    (np.array([-1, 0]), r"a: expected a vertex in 0..1, got -1"),
]


REFUSED_DATA = [
    ({"a": 1}, r"point: missing b; expected \['a', 'b'\]"),
    ([1, 2], r"point: expected a dict with the keys \['a', 'b'\], got \[1, 2\]"),
    ({"a": 3, "b": {"vertex": 0}}, r"a: expected one of \[1, 2\], got 3"),
    ({"a": 1, "b": {"vertex": 2}}, r"b: expected a vertex in 0..1, got {'vertex': 2}"),
    ({"a": 1, "b": {}}, r"b: expected a vertex in 0..1, got {}"),
]


class TestRefusedPoints:
    @pytest.mark.parametrize(("point", "message"), REFUSED_POINTS)
    def test_by_name_with_both_sides(self, point, message):
        def blue_needs_n(point):
            return point["color"] != "blue" or point["n"] > 0

        space = bo.Space({"color": ["red", "blue"], "n": bo.Integer(0, 3)}, [blue_needs_n, bool])
        with pytest.raises(PointError, match=message):
            space.parse(point)

    @pytest.mark.parametrize(("x", "message"), REFUSED_BATCH_VALUES)
    def test_rows(self, x, message):
        with pytest.raises(PointError, match=message):
            bo.Space({"a": bool, "b": bool}).check(x)

    @pytest.mark.parametrize(("data", "message"), REFUSED_DATA)
    def test_data_that_encode_never_writes(self, data, message):
        with pytest.raises(PointError, match=message):
            bo.Space({"a": [1, 2], "b": [(1,), (2,)]}).decode(data)


@pytest.mark.parametrize("bounds", [(1, 100), (0.0, 1.0)])
def test_two_numbers_might_be_bounds(bounds: tuple[float, float]) -> None:
    with pytest.raises(DomainError, match=r"n: .* might be bounds or two choices"):
        bo.Space({"n": bounds})
    assert bo.Space({"n": list(bounds)}).size == 2


@pytest.mark.parametrize("numbers", [np.linspace(0, 1, 5), np.geomspace(1e-5, 1, 6), np.arange(3), np.arange(3)[::-1]])
def test_an_array_of_ordered_numbers_is_ordinal(numbers):
    assert bo.Space({"x": numbers}) == bo.Space({"x": bo.Ordinal(numbers.tolist())})


@pytest.mark.parametrize("other", [np.eye(2), np.array([0, 5, 2]), np.array(3), np.array(["a", "b"]), np.array([True])])
def test_an_array_whose_order_means_nothing_is_refused(other):
    with pytest.raises(DomainError, match=r"x: expected a list, or a 1-d array of ascending numbers, got array"):
        bo.Space({"x": other})


@pytest.mark.parametrize(
    "variables", [{"a": bool, "b": [1, 2, 3]}, {"p": bo.Permutation(range(5))}, {"a": bool, "d": {"x": bool}}]
)
def test_what_is_no_generator_no_count_and_no_point_is_told_in_words(variables):
    space, rng = bo.Space(variables), np.random.default_rng(0)
    generator = r"rng: expected a numpy.random.Generator, such as numpy.random.default_rng\(0\), got 0"
    with pytest.raises(TypeError, match=generator):
        space.sample(1, 0)
    with pytest.raises(ValueError, match="m: expected at least 0, got -1"):
        space.sample(-1, rng)
    point = space.present(space.sample(1, rng)[0])
    for ask in (space.neighbors, lambda x: space.sample_neighbors(x, 3, rng)):
        with pytest.raises(PointError, match=r"point: expected the result of space.parse\(point\), got "):
            ask(point)


REFUSED_ROWS = [
    (bo.Permutation(range(5)), [9] * 5, r"a: expected each of 0..4 once, got \[9, 9, 9, 9, 9\]"),
    (bo.Permutation(range(5)), [-1, -1, -1, 0, 0], "a: expected each of 0..4 once"),
    (["x", "y"], [9], "a: expected a vertex in 0..1, got 9"),
    (["x", "y"], [-1], "a: expected a vertex in 0..1, got -1"),
    (bo.Subset(list("abcd"), size=2), [1, 1, 1, 0], "a: expected 2 items"),
]


@pytest.mark.parametrize(("given", "row", "message"), REFUSED_ROWS)
def test_a_row_without_place_in_the_space_is_not_presented(given, row, message):
    with pytest.raises(PointError, match=message):
        bo.Space({"a": given}).present(row)


REFUSED_DESCRIPTIONS = [
    ({}, "space: expected what to_json of a Space returned, got {} without variables and constraints"),
    ({"variables": {"a": {}}, "constraints": 0}, "a: expected a kind of Binary, .*, got None"),
    (
        {"variables": {"a": {"kind": "Categorical"}}, "constraints": 0},
        "a: expected what to_json of a Categorical returned, got it without 'choices'",
    ),
]


@pytest.mark.parametrize(("data", "message"), REFUSED_DESCRIPTIONS)
def test_a_description_says_what_it_lacks(data, message):
    with pytest.raises(ValueError, match=message) as caught:
        bo.Space.from_json(data)
    is_malformed = "expected what to_json" in message  # and not a kind that another program may know
    assert isinstance(caught.value, DomainError) != is_malformed


@pytest.mark.parametrize("name", ["kernel", "distances"])
def test_complex_numbers_are_refused_by_name(name):
    with pytest.raises(DomainError, match=f"Categorical: {name}: expected real numbers, got complex ones"):
        bo.Categorical(list("abc"), **{name: 1j * np.eye(3)})


def test_a_name_that_nearly_fits_is_suggested():
    with pytest.raises(PointError, match=r"unknown name 'schedule'.* Did you mean 'scheduler'\?"):
        bo.Space({"scheduler": bool}).parse({"schedule": True})


class Counted(Restriction):
    """A clause that counts how often it is asked."""

    n_calls = 0

    def __call__(self, given):
        Counted.n_calls += 1
        return super().__call__(given)


ONE_TO_THREE = {"a": [1, 2, 3], "b": [1, 2, 3], "free": bo.Real(0, 1)} | {f"x{i}": bool for i in range(30)}


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([Restriction("a > 3")], "a > 3; leave one out, or add values to a"),
        ([Restriction("a > 1"), Restriction("b > 0"), Restriction("a < 2")], "a > 1, a < 2; leave"),
        ([Not(ValueOf("a", IsIn((1, 2, 3))))], r"not a in \[1, 2, 3\]; leave"),
        ([CompareVariables("a", "<", "b"), CompareVariables("b", "<", "a")], "a < b, b < a; leave one out, or"),
        ([CompareVariables("a", "<", "b"), ValueOf("a", IsIn((3,)))], r"a < b, a in \[3\]; leave"),
        ([Restriction("one > 3", (("one", 3),))], "one > 3; leave one out$"),
    ],
)
def test_clauses_that_exclude_all_points_are_refused_when_the_space_is_made(rules, words):
    with pytest.raises(DomainError, match=f"constraints: no point satisfies {words}"):
        bo.Space(ONE_TO_THREE, rules)
    with pytest.raises(DomainError, match=f"constraints: no point satisfies {words}"):
        bo.Space(ONE_TO_THREE | {"p": {"q": bool}}, rules)
    assert bo.Space(ONE_TO_THREE, [Restriction("a > 2"), Restriction("b < 2"), CompareVariables("b", "<", "a")])


def test_what_is_not_known_at_once_is_left_to_the_first_draw():
    choices = {"a": [1, 2], "b": bo.Categorical([1, 2], when={"a": 1})}
    absent = bo.Space(choices, [Not(ValueOf("b", IsIn((1, 2))))])
    assert [absent.present(x) for x in absent.enumerate()] == [{"a": 2}]
    with pytest.raises(DomainError, match="constraint a > 'x' failed"):
        bo.Study(bo.Space({"a": [1, 2]}, [Restriction("a > 'x'")]), seed=0).ask()
    for rule in (lambda point: point["a"] > 2, Restriction("r > 2")):
        with pytest.raises(DomainError, match=r"constraint 1 \((<lambda>|r > 2)\)"):
            bo.Study(bo.Space({"a": [1, 2], "r": bo.Real(0, 1)}, [rule]), seed=0).ask()


def test_few_calls_are_made_to_find_contradictions():
    numbers = {name: range(100) for name in "abc"}
    bo.Space(numbers, [Counted("a + b + c > 300")])
    assert Counted.n_calls == 0
    bo.Space(numbers, [Counted("a + b > 3"), Counted("c > 2")])
    assert Counted.n_calls <= 10
    with pytest.raises(DomainError, match="no point satisfies a \\+ b > 300"):
        bo.Space(numbers, [Counted("a + b > 300"), Counted("b + c > 300")])
    assert Counted.n_calls <= 20_010
