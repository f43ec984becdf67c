"""Spaces and points of ConfigSpace: both sides allow the same points, before and after a file."""

from __future__ import annotations

import itertools
import json
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.domains.space.clauses import AllOf, Compare, IsIn, Not, ValueOf
from bostruct.study.space_changes import SpaceChanged, describe_change

cs = pytest.importorskip("ConfigSpace")

from bostruct.integrations.configspace import (  # noqa: E402
    DECIMALS,
    VARIABLE_RELATIONS,
    SpaceReader,
    constant_value,
    read_point,
    read_space,
    sort_of_values,
    write_point,
    write_space,
)

LAWS = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
REFUSALS = cs.exceptions.InactiveHyperparameterSetError, cs.exceptions.ActiveHyperparameterNotSetError
CONJUNCTIONS = cs.AndConjunction, cs.OrConjunction


def training_space() -> Any:
    """Return a ConfigurationSpace with every kind of hyperparameter that has no distribution."""
    space = cs.ConfigurationSpace(seed=0)
    model = cs.CategoricalHyperparameter("model", ["net", "forest", ("net", 2)])
    rate = cs.UniformFloatHyperparameter("rate", 1e-5, 1.0, log=True)
    layers = cs.UniformIntegerHyperparameter("layers", 1, 5)
    width = cs.UniformIntegerHyperparameter("width", 8, 4096, log=True)
    size = cs.OrdinalHyperparameter("size", ["small", "medium", "large"])
    decay = cs.UniformFloatHyperparameter("decay", 0.0, 0.5, default_value=0.0)
    seed = cs.Constant("seed", 7)
    depth = cs.Constant("depth", 3)
    space.add(model, rate, layers, width, size, decay, seed, depth)
    space.add(
        cs.EqualsCondition(rate, model, "net"),
        cs.AndConjunction(cs.GreaterThanCondition(decay, rate, 1e-3), cs.NotEqualsCondition(decay, model, "forest")),
        cs.OrConjunction(cs.EqualsCondition(width, size, "small"), cs.GreaterThanCondition(width, size, "medium")),
        cs.NotEqualsCondition(depth, model, "net"),
    )
    space.add(
        cs.ForbiddenAndConjunction(cs.ForbiddenEqualsClause(model, "forest"), cs.ForbiddenInClause(layers, [4, 5])),
        cs.ForbiddenAndConjunction(cs.ForbiddenGreaterThanClause(rate, 0.5), cs.ForbiddenEqualsClause(seed, 7)),
        cs.ForbiddenGreaterThanRelation(decay, rate),
        cs.ForbiddenAndConjunction(cs.ForbiddenEqualsClause(layers, 1), cs.ForbiddenEqualsClause(seed, 7)),
    )
    return space


@st.composite
def finite_spaces(draw: st.DrawFn) -> Any:
    """Spaces of 2 to 5 short hyperparameters, with conditions and forbidden clauses on those before."""
    space = cs.ConfigurationSpace(seed=draw(st.integers(0, 99)))
    parts: list[Any] = []
    for i in range(draw(st.integers(2, 5))):
        kind, size = draw(st.sampled_from(["category", "order", "integer", "constant"])), draw(st.integers(1, 3))
        name = f"h{i}"
        if kind == "category":
            parts.append(cs.CategoricalHyperparameter(name, list("abc")[:size]))
        elif kind == "order":
            parts.append(cs.OrdinalHyperparameter(name, [8, 2, 4][:size]))
        elif kind == "integer":
            parts.append(cs.UniformIntegerHyperparameter(name, 1, 1 + size))
        else:
            parts.append(cs.Constant(name, draw(st.sampled_from([3, "x"]))))
    space.add(*parts)
    for i, child in enumerate(parts[1:], 1):
        tests = [_condition(draw, child, parent) for parent in draw(st.lists(st.sampled_from(parts[:i]), max_size=2))]
        join = draw(st.sampled_from([cs.AndConjunction, cs.OrConjunction]))
        if tests:
            space.add(tests[0] if len(tests) == 1 else join(*tests))
    for _ in range(draw(st.integers(0, 2))):
        leaves = [_forbidden(draw, parts) for _ in range(draw(st.integers(1, 2)))]
        join = draw(st.sampled_from([cs.ForbiddenAndConjunction, cs.ForbiddenOrConjunction]))
        space.add(leaves[0] if len(leaves) == 1 else join(*leaves))
    return space


def _values(given: Any) -> list[Any]:
    if constant := constant_value(given):
        return list(constant)
    if isinstance(given, cs.UniformIntegerHyperparameter):
        return list(range(given.lower, given.upper + 1))
    return list(given.choices if isinstance(given, cs.CategoricalHyperparameter) else given.sequence)


def _condition(draw: st.DrawFn, child: Any, parent: Any) -> Any:
    kinds = [cs.EqualsCondition, cs.NotEqualsCondition, cs.InCondition]
    if isinstance(parent, cs.OrdinalHyperparameter | cs.UniformIntegerHyperparameter):
        kinds += [cs.LessThanCondition, cs.GreaterThanCondition]
    kind, values = draw(st.sampled_from(kinds)), _values(parent)
    if kind is cs.InCondition:
        return kind(child, parent, draw(st.lists(st.sampled_from(values), min_size=1, unique=True)))
    return kind(child, parent, draw(st.sampled_from(values)))


def _forbidden(draw: st.DrawFn, parts: list[Any]) -> Any:
    one, other = draw(st.sampled_from(parts)), draw(st.sampled_from(parts))
    kind = draw(st.sampled_from([cs.ForbiddenEqualsClause, cs.ForbiddenInClause, cs.ForbiddenLessThanClause, None]))
    if kind is None and one is not other:
        are_alike = sort_of_values(one) == sort_of_values(other)  # ConfigSpace samples no other order relations
        relations = [cs.ForbiddenEqualsRelation]
        relations += [cs.ForbiddenLessThanRelation, cs.ForbiddenGreaterThanEqualsRelation] if are_alike else []
        return draw(st.sampled_from(relations))(one, other)
    if kind is cs.ForbiddenLessThanClause and isinstance(one, cs.OrdinalHyperparameter):
        return kind(one, draw(st.sampled_from(_values(one))))
    value = draw(st.sampled_from(_values(one)))
    return cs.ForbiddenInClause(one, [value]) if kind is cs.ForbiddenInClause else cs.ForbiddenEqualsClause(one, value)


def allowed_points(space: Any) -> set[frozenset[Any]]:
    """List by brute force what ConfigSpace allows, constants left out."""
    absent = object()
    found = set()
    for values in itertools.product(*([*_values(one), absent] for one in space.values())):
        held = {name: value for name, value in zip(space, values, strict=True) if value is not absent}
        try:
            point = read_point(cs.Configuration(space, values=held))
        except (ValueError, cs.exceptions.ActiveHyperparameterNotSetError):
            continue
        found.add(frozenset(point.items()))
    return found


def is_confused(space: Any) -> bool:
    """Tell whether ConfigSpace 1.2 takes two conjunctions for one: "and" with "or", or "a, a" with "a, b"."""
    pairs = itertools.permutations((one for one in space.conditions if isinstance(one, CONJUNCTIONS)), 2)
    same = "equivalent_condition_on_parent"
    return any(getattr(a, same)(b) and (type(a) is not type(b) or not getattr(b, same)(a)) for a, b in pairs)


def check_both_sides(data: st.DataObject) -> None:
    """Check that a finite space that is drawn has the same points on both sides."""
    try:
        theirs = data.draw(finite_spaces())
    except (ValueError, TypeError):  # what ConfigSpace refuses: conditions twice, a forbidden default
        reject()
    if is_confused(theirs):
        reject()
    try:
        ours = read_space(theirs)
    except bo.DomainError as error:
        if "no point satisfies" in str(error):
            assert not allowed_points(theirs)
        words = ("in a space", "forbids every", "several", "expected two", "no point satisfies")
        if not any(word in str(error) for word in words):
            raise
        reject()
    allowed = allowed_points(theirs)
    points = [ours.present(row) for row in ours.enumerate()]
    meant = [frozenset(read_point(write_point(point, theirs)).items()) for point in points]
    assert set(meant) == allowed
    if is_exact := not SpaceReader(theirs).idle:
        assert len(points) == len(allowed)
    for configuration in theirs.sample_configuration(5) if theirs else []:
        with suppress(*REFUSALS):  # it samples some that it refuses
            configuration.check_valid_configuration()
            ours.parse(read_point(configuration))
    for row in ours.sample(5, np.random.default_rng(0)):
        point = ours.present(row)
        configuration = write_point(point, theirs)
        configuration.check_valid_configuration()
        assert read_point(configuration) == point or not is_exact
    if is_exact:
        again = read_space(write_space(ours))
        assert {frozenset(again.present(row).items()) for row in again.enumerate()} == allowed
    assert bo.Space.from_json(ours.to_json()) == ours


@LAWS
@given(st.data())
def test_finite_spaces_have_the_same_points_on_both_sides(data):
    check_both_sides(data)


@pytest.mark.slow
@settings(LAWS, max_examples=300, derandomize=False)
@given(st.data())
def test_many_finite_spaces_have_the_same_points_on_both_sides(data):
    check_both_sides(data)


def test_numbers_orders_and_constants_agree():
    theirs = training_space()
    ours = read_space(theirs)
    assert "seed" not in ours.variables
    for configuration in theirs.sample_configuration(300):
        point = read_point(configuration)
        assert all(not isinstance(value, np.generic) for value in point.values())
        ours.parse(point)
    for row in ours.sample(300, np.random.default_rng(0)):
        point = ours.present(row)
        configuration = write_point(point, theirs)
        assert configuration["seed"] == 7
        assert ("depth" in configuration) == (point["model"] != "net")
        back = read_point(configuration)
        assert back.keys() == point.keys()
        for name, value in point.items():
            assert back[name] == (pytest.approx(value, abs=10**-DECIMALS) if name in ("rate", "decay") else value)


def test_the_reader_of_conditions_is_built_once_and_anew_when_the_space_changes(monkeypatch):
    theirs = cs.ConfigurationSpace({"a": ["u", "v"], "b": ["u", "v"], "x": (0, 9)})
    a_or_b = [cs.EqualsCondition(theirs["x"], theirs[name], "u") for name in "ab"]
    theirs.add(cs.OrConjunction(*a_or_b))
    built = []
    read_variables = SpaceReader.read_variables
    monkeypatch.setattr(SpaceReader, "read_variables", lambda self: (built.append(self), read_variables(self))[1])
    for a, b, has_x in (("u", "v", True), ("v", "v", False), ("v", "u", True)):
        configuration = write_point({"a": a, "b": b, "x": 3}, theirs)
        assert ("x" in configuration) == has_x
        assert read_point(configuration)["x"] == (3 if has_x else theirs["x"].default_value)
    assert len(built) == 1
    theirs.add(cs.Integer("y", (0, 9)))
    theirs.add(cs.EqualsCondition(theirs["y"], theirs["a"], "u"))
    assert "y" not in write_point({"a": "v", "b": "v", "x": 3}, theirs)
    assert len(built) == 2


def test_steps_and_variables_of_one_value_are_written_and_read_again():
    free = bo.Space(
        {
            "x": bo.Real(0, 1, step=0.1),
            "n": bo.Integer(0, 10, step=5),
            "one": ["u"],
            "kind": ["a", "b"],
            "rate": bo.Real(0.0, 1.0, when={"kind": "b"}),
            "three": bo.Integer(3, 3, when={"kind": "b"}),
        }
    )
    for ours, constants in ((free, {"one", "three"}), (free.fix(kind="b", rate=0.5), {"one", "kind", "rate", "three"})):
        theirs = write_space(ours)
        assert {name for name, one in theirs.items() if isinstance(one, cs.Constant)} == constants
        assert list(theirs["x"].sequence) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
        again = read_space(theirs)
        assert again.variables.keys() == ours.variables.keys()
        for row in ours.sample(20, np.random.default_rng(0)):
            point = ours.present(row)
            assert read_point(write_point(point, theirs)) == point
            again.parse(point)


def test_our_space_written_and_read_again():
    ours = bo.Space(
        {
            "on": bool,
            "n": bo.Integer(1, 10**6, log=True),
            "kind": bo.Categorical(["a", "b"], when={"n": Compare("<", 1000)}),
            "size": bo.Ordinal([1, 2, 4], when={"kind": "a", "on": True}),
            "rate": bo.Real(0.0, 1.0, when={"size": lambda size: size > 1}),
        },
        [Not(AllOf((ValueOf("rate", Compare(">", 0.5)), ValueOf("n", Compare(">=", 10)))))],
    )
    theirs = write_space(ours, "named")
    assert theirs.name == "named"
    for row in ours.sample(200, np.random.default_rng(1)):
        write_point(ours.present(row), theirs)
    again = read_space(theirs)
    for configuration in theirs.sample_configuration(200):
        again.parse(read_point(configuration))
        ours.parse(read_point(configuration))


@pytest.mark.parametrize(
    "given",
    [
        cs.NormalFloatHyperparameter("x", 0.0, 1.0, -3.0, 3.0),
        cs.NormalIntegerHyperparameter("x", 0.0, 1.0, -3, 3),
        cs.BetaFloatHyperparameter("x", 2, 3, 0.0, 1.0),
        cs.BetaIntegerHyperparameter("x", 2, 3, 0, 10),
        cs.CategoricalHyperparameter("x", ["a", "b"], weights=[1, 2]),
    ],
)
def test_distributions_are_read_as_ranges_with_a_warning(given):
    space = cs.ConfigurationSpace(seed=0)
    space.add(given)
    with pytest.warns(UserWarning, match="x: read as all values of the range, evenly"):
        ours = read_space(space)
    for configuration in space.sample_configuration(20):
        ours.parse(read_point(configuration))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_space(space.remove_hyperparameter_priors()) == ours


def refused_reading(case: str) -> Any:
    space = cs.ConfigurationSpace()
    a, b = cs.CategoricalHyperparameter("a", ["x", "y"]), cs.CategoricalHyperparameter("b", [1, 2])
    c, f = cs.CategoricalHyperparameter("c", [1, 2]), cs.UniformFloatHyperparameter("f", 0.0, 1.0)
    k = cs.Constant("k", 1)
    space.add(a, b, c, f, k)
    if case == "between":
        space.add(cs.EqualsCondition(c, f, 1 / 3 + 1e-13))
    if case == "relation":
        space.add(cs.EqualsCondition(f, a, "y"))  # so that ConfigSpace does not compare them in its default
        space.add(cs.ForbiddenLessThanRelation(b, k), cs.ForbiddenLessThanRelation(a, f))
    return space


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("between", r"^c: .*lies between the numbers"),
        ("relation", r"a < f: expected two hyperparameters of numbers, or two of strings"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(case, words):
    with pytest.raises(bo.DomainError, match=words):
        read_space(refused_reading(case))


def test_or_over_parents_is_read_as_a_variable_that_may_be_idle():
    theirs = cs.ConfigurationSpace(seed=0)
    a, b = cs.CategoricalHyperparameter("a", ["x", "y"]), cs.CategoricalHyperparameter("b", [1, 2])
    c, k = cs.UniformFloatHyperparameter("c", 0.0, 1.0, default_value=0.25), cs.Constant("k", 7)
    dead, after = cs.CategoricalHyperparameter("dead", [1, 2]), cs.CategoricalHyperparameter("after", [1, 2])
    theirs.add(a, b, c, k, dead, after)
    theirs.add(cs.OrConjunction(cs.EqualsCondition(c, a, "x"), cs.EqualsCondition(c, b, 1)))
    theirs.add(cs.EqualsCondition(k, a, "x"), cs.EqualsCondition(after, k, 7))
    theirs.add(cs.AndConjunction(cs.EqualsCondition(dead, a, "x"), cs.EqualsCondition(dead, a, "y")))
    theirs.add(cs.ForbiddenAndConjunction(cs.ForbiddenGreaterThanClause(c, 0.5), cs.ForbiddenEqualsClause(b, 2)))
    ours = read_space(theirs)
    assert list(ours.variables) == ["a", "b", "c", "after"]
    assert ours.variables["after"].when == {"a": "x"}
    idle = {"a": "y", "b": 2, "c": 0.9}
    ours.check(ours.parse(idle))  # what forbids c does not where the configuration lacks it
    assert dict(write_point(idle, theirs)) == {"a": "y", "b": 2}
    assert read_point(write_point(idle, theirs)) == idle | {"c": 0.25}
    with pytest.raises(PointError):
        ours.check(ours.parse({"a": "x", "b": 2, "c": 0.9, "after": 1}))
    for configuration in theirs.sample_configuration(50):
        point = read_point(configuration)
        ours.check(ours.parse(point))
        assert write_point(point, theirs) == configuration


FREE = {"a": ["small", "mid", "large"], "b": ["tiny", "mid", "huge"], "n": range(4), "i": [3, 1, 2]}
PAIRS = [("a", "b"), ("a", "k"), ("k", "b"), ("n", "i"), ("i", "m"), ("m", "n")]


def space_of_relations(default: dict[str, Any]) -> Any:
    """Return a ConfigurationSpace of texts, numbers and a constant of each."""
    space = cs.ConfigurationSpace()
    space.add(
        *(cs.OrdinalHyperparameter(name, FREE[name], default_value=default[name]) for name in "abi"),
        cs.UniformIntegerHyperparameter("n", 0, 3, default_value=default["n"]),
        cs.Constant("k", "mid"),
        cs.Constant("m", 2),
    )
    return space


@pytest.mark.parametrize("kind", VARIABLE_RELATIONS)
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_relations_of_texts_and_constants_forbid_the_same_points(kind: Any, names: tuple[str, str]):
    points = [dict(zip(FREE, values, strict=True)) for values in itertools.product(*FREE.values())]
    space = space_of_relations(points[0])
    clause = kind(*(space[name] for name in names))
    allowed = [point for point in points if not clause.is_forbidden_value({**point, "k": "mid", "m": 2})]
    space = space_of_relations(allowed[0])  # ConfigSpace refuses to forbid its default
    space.add(kind(*(space[name] for name in names)))
    read = read_space(space)
    assert [point for point in points if all(rule(point) for rule in read.constraints)] == allowed
    assert read_space(write_space(read)).variables == read.variables


def test_a_condition_beside_that_of_its_parent_is_read():
    space = refused_reading("none")
    space.add(cs.EqualsCondition(space["b"], space["a"], "x"))
    both = cs.NotEqualsCondition(space["c"], space["b"], 1), cs.EqualsCondition(space["c"], space["a"], "x")
    space.add(cs.AndConjunction(*both))
    assert read_space(space).variables["c"].when == {"a": "x", "b": 2}


def test_a_condition_that_an_inactive_parent_fulfills_asks_nothing_of_its_grandparent():
    theirs = cs.ConfigurationSpace({"a": ["x", "y"], "b": ["x"], "c": ["x"], "d": ["x", "y"]})
    theirs.add(*(cs.EqualsCondition(theirs[name], theirs["a"], "x") for name in "bc"))
    theirs.add(cs.AndConjunction(*(cs.NotEqualsCondition(theirs["d"], theirs[name], "x") for name in "bc")))
    assert read_space(theirs).variables["d"].when == {}
    assert dict(write_point({"a": "y", "d": "y"}, theirs)) == {"a": "y", "d": "y"}
    assert dict(write_point({"a": "x", "d": "y"}, theirs)) == {"a": "x", "b": "x", "c": "x"}


def test_or_of_two_parents_needs_neither_of_them():
    theirs = cs.ConfigurationSpace({"a": ["x", "y"], "b": ["u", "v"], "c": ["u", "v"], "d": ["u", "v"]})
    theirs.add(cs.EqualsCondition(theirs["b"], theirs["a"], "x"))
    either = cs.OrConjunction(*(cs.EqualsCondition(theirs["d"], theirs[name], "u") for name in "bc"))
    theirs.add(cs.AndConjunction(either, cs.NotEqualsCondition(theirs["d"], theirs["b"], "v")))
    assert dict(write_point({"a": "y", "c": "u", "d": "v"}, theirs)) == {"a": "y", "c": "u", "d": "v"}
    assert {frozenset(read_point(one).items()) for one in theirs.sample_configuration(50)} <= {
        frozenset(read_space(theirs).present(x).items()) for x in read_space(theirs).enumerate()
    }


def test_negations_inside_a_forbidden_clause_are_written():
    no = Not(Not(AllOf((ValueOf("a", IsIn((1, 2))), ValueOf("b", IsIn((1,)))))))
    ours = bo.Space({"a": [1, 2, 3], "b": [1, 2]}, [no])
    again = read_space(write_space(ours))
    assert {tuple(point.items()) for point in map(again.present, again.enumerate())} == {
        tuple(point.items()) for point in map(ours.present, ours.enumerate())
    }


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (bo.Space({"p": bo.Permutation(["a", "b", "c"])}), r"^p: Permutation.* cannot be written to ConfigSpace"),
        (bo.Space({"w": bo.Ordinal([1, 2, 3], weight=2.0)}), "^w: Ordinal"),
        (bo.Space({"r": bo.Real(1e-14, 1.0, log=True)}), "^r: ConfigSpace rounds numbers to 13 decimals"),
        (bo.Space({"a": bool}, [lambda point: point["a"]]), "^constraint <lambda> cannot be written"),
        (
            bo.Space({"r": bo.Real(0, 1), "c": bo.Binary(when={"r": lambda r: r > 0.5})}),
            "^c: when: <lambda> is a function of r",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(space, words):
    with pytest.raises(bo.DomainError, match=words):
        write_space(space)


def test_a_stored_study_loads_with_its_forbidden_clauses(tmp_path):
    clause = Not(AllOf((ValueOf("layers", Compare(">", 2)), ValueOf("size", IsIn(("large",))))))
    variables = {"layers": bo.Integer(1, 5), "size": ["small", "large"]}
    space, path = bo.Space(variables, [clause]), tmp_path / "runs.db"
    bo.minimize(lambda point: float(point["layers"]), space, method="random", seed=0, n_trials=4, storage=path)
    with bo.Study.load(path) as study:
        assert study.domain.constraints == (clause,)
        asked = [study.ask().point for _ in range(3)]
    assert all(point["layers"] <= 2 or point["size"] == "small" for point in asked)


# Files of our own, in the formats and with the features of those in ConfigSpace's test folder.
LEGACY = """# of SMAC 2
solver {cdcl, sls, local} [cdcl]
restarts {never, few, many} [few]
seed [1, 100] [7]i
rate [0.001, 1.0] [0.1]l
depth [1, 16] [4]il
noise [0, 1] [0.5]

rate | solver in {sls, local}
noise | solver in {sls}
noise | restarts in {few, many}

{solver=cdcl, restarts=many}
"""
NEW = """solver categorical {cdcl, sls, local} [cdcl]
restarts ordinal {never, few, many} [few]
seed integer [1, 100] [7]
rate real [0.001, 1.0] [0.1] log
noise real [0, 1] [0.5]
depth integer [1, 16] [4] log
only categorical {on} [on]
after real [0, 1] [0.5]

rate | solver in {sls, local}
noise | solver == sls && restarts > never
depth | solver == cdcl || seed > 50
after | only == on && rate < 0.1

{solver=cdcl, restarts=many}
{rate=1.0, seed=1}
"""


@pytest.mark.parametrize("text", [LEGACY, NEW], ids=["legacy", "new"])
@pytest.mark.filterwarnings("ignore")  # of formats that ConfigSpace deprecates
def test_files_of_parameters_have_the_same_points_on_both_sides(text):
    from ConfigSpace.read_and_write import pcs, pcs_new

    theirs = (pcs_new if "categorical" in text else pcs).read(text.splitlines())
    ours, rng = read_space(theirs), np.random.default_rng(0)
    for x in ours.sample(40, rng):
        point = ours.present(x)
        written = dict(write_point(point, theirs))
        found = {name: value for name, value in read_point(write_point(point, theirs)).items() if name in written}
        assert found == pytest.approx({name: point[name] for name in found})
    for configuration in theirs.sample_configuration(40):
        point = read_point(configuration)
        ours.check(ours.parse(point))
        assert dict(write_point(point, theirs)) == pytest.approx(dict(configuration))


@pytest.mark.parametrize("kind", ["json", "yaml"])
@pytest.mark.filterwarnings("ignore:.*read as all values of the range")
def test_files_of_json_and_yaml_hold_the_same_space(kind, tmp_path):
    theirs = cs.ConfigurationSpace(seed=0)
    layers, seed = cs.Integer("layers", (1, 5)), cs.Constant("seed", 7)
    size = cs.OrdinalHyperparameter("size", ["small", "medium", "large"])
    normal, beta = (
        cs.NormalFloatHyperparameter("normal", 0.0, 1.0, -3.0, 3.0),
        cs.BetaIntegerHyperparameter("beta", 2, 3, 0, 9),
    )
    either, dead = cs.UniformFloatHyperparameter("either", 1e-3, 1.0, log=True), cs.Integer("dead", (1, 3))
    weighted = cs.CategoricalHyperparameter("weighted", ["a", "b"], weights=[1, 2], default_value="b")
    theirs.add(layers, seed, size, normal, beta, either, dead, weighted)
    theirs.add(
        cs.OrConjunction(cs.LessThanCondition(either, layers, 2), cs.InCondition(either, size, ["small", "large"]))
    )
    theirs.add(cs.NotEqualsCondition(dead, seed, 7))
    large, deep = cs.ForbiddenEqualsClause(size, "large"), cs.ForbiddenGreaterThanClause(layers, 3)
    theirs.add(cs.ForbiddenAndConjunction(large, deep), cs.ForbiddenGreaterThanRelation(layers, seed))
    getattr(theirs, f"to_{kind}")(tmp_path / f"space.{kind}")
    again = getattr(cs.ConfigurationSpace, f"from_{kind}")(tmp_path / f"space.{kind}")
    ours = read_space(again)
    assert ours == read_space(theirs)
    assert "dead" not in ours.variables
    assert ours.variables["normal"] == bo.Real(-3.0, 3.0)
    for x in ours.sample(40, np.random.default_rng(0)):
        point = ours.present(x)
        layers_or_size = point["layers"] < 2 or point["size"] != "medium"
        assert ("either" in write_point(point, again)) == layers_or_size


def test_another_clause_is_another_space(tmp_path):
    spaces = [bo.Space({"n": range(9)}, [Not(ValueOf("n", Compare(">", top)))]) for top in (7, 3)]
    before, after = (json.dumps(space.to_json()) for space in spaces)
    assert describe_change(before, after) == "other constraints"
    told = {"method": "random", "seed": 0, "storage": tmp_path / "runs.db"}
    bo.minimize(lambda point: float(point["n"]), spaces[0], n_trials=8, **told)
    with pytest.warns(SpaceChanged, match="4 of 8 trials"):
        bo.Study(spaces[1], **told).close()
