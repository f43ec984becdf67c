"""Studies described in JSON: spaces come back whole, code never travels, and what is wrong is named."""

from __future__ import annotations

import sys

import networkx as nx
import pytest

import bostruct as bo
from bostruct.domains.space.clauses import Compare, ValueOf
from bostruct.serving.messages import Refusal, read_request, write_answer
from bostruct.serving.service import read_description, space_from_json
from tests.serving.doors import JSON_SPACE

ALL = bo.Space(
    {
        "s": ["list", "modulo"],
        "u": bo.Ordinal([1, 2, 4]),
        "v": bo.Binary(default=False),
        "r": bo.Real(0.1, 1, log=True, when={"s": "list"}),
        "i": bo.Integer(1, 5000, log=True),
        "p": bo.Permutation(["a", "b", "c"]),
        "o": bo.Permutation(["a", "b", "c"], length=2),
        "t": bo.Subset(["a", "b", "c"], size=(1, 2)),
        "q": bo.Sequence("ACGU", length=(2, 4)),
        "g": bo.Graph(nx.path_graph(4)),
        "c": bo.Candidates({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "c"]}),
    },
    constraints=[ValueOf("u", Compare("<=", 2))],
)


def variable(**described):
    return {"variables": {"x": described}}


def test_constraints_may_be_formulas():
    sums = {
        "blend": {"kind": "Mixture", "parts": ["a", "b"], "max_parts": 1},
        "units": {"kind": "Allocation", "items": ["p", "q"], "total": 5},
        "x": {"kind": "Real", "low": 0, "high": 3},
        "y": {"kind": "Real", "low": 0, "high": 3},
    }
    space = space_from_json({"variables": sums, "constraints": [{"formula": "x + 2*y <= 3"}]})
    assert space.constraints == (bo.Linear({"x": 1, "y": 2}, "<=", 3),)
    assert space_from_json(read_request(write_answer({"space": space.to_json()}))["space"]) == space
    with pytest.raises(bo.DomainError, match=r"Linear\.parse: text"):
        space_from_json({"variables": sums, "constraints": [{"formula": "x * y <= 3"}]})


def test_a_space_comes_back_whole():
    sent = read_request(write_answer({"space": ALL.to_json()}))
    assert space_from_json(sent["space"]).to_json() == ALL.to_json()


@pytest.mark.parametrize(
    "given",
    [
        None,
        5,
        [],
        {},
        {"variables": []},
        {"variables": {}},
        {"variables": {"": {"kind": "Binary"}}},
        {"variables": {"x": None}},
        {"variables": {"x": [1, 2]}},
        {"variables": {str(i): {"kind": "Binary"} for i in range(10_001)}},
        {"domain": "language", "variables": {"x": {"kind": "Binary"}}},
        {"domain": "os:system", "variables": {"x": {"kind": "Binary"}}},
        {**variable(kind="Binary"), "parts": {}},
        {**variable(kind="Binary"), "constraints": 1},
        {**variable(kind="Binary"), "constraints": [5]},
        variable(kind="Real", low=0),
        variable(kind="Real", low="a", high=[1]),
        variable(kind="Real", low=0, high=5e-324),
        variable(kind="Fidelity", choices=[1, 10**400]),
        variable(kind="os.system"),
        variable(kind=["Real"]),
        variable(kind="Integer", low=-(10**300), high=10**300),
        variable(kind="Permutation", items=["a", "b"], counts=[10**9, 1]),
        variable(kind="Permutation", items=["a", "b"], length=10**9),
        variable(kind="Sequence", alphabet="ab", length=10**9),
        variable(kind="Subset", items=["a", "b"], size=[-5, 10**12]),
        variable(kind="Graph", choices=[0, 1, 2], edges=[[0, 10**9, 1.0]]),
        variable(kind="Graph", choices=[0, 1, 2], edges=[[0, -1, 1.0], [1, 2, 1.0]]),
        variable(kind="Candidates", choices=[0, 1], descriptors={"rows": 2, "numbers": {"x": "AAAA"}, "texts": {}}),
        variable(kind="Categorical", choices=[{"repr": "__import__('os')"}, 2]),
        variable(kind="Categorical", choices=[{"infinity": "aa"}, 2]),
        variable(kind="Binary", when={"y": {"predicate": "os.system"}}),
        variable(kind="Binary", default={"a": 1}),
    ],
    ids=lambda given: str(given)[:60],
)
def test_what_describes_no_space_is_refused(given):
    with pytest.raises((TypeError, ValueError, Refusal)) as refused:
        space_from_json(given)
    assert len(str(refused.value)) < 500


def test_a_variable_that_is_wrong_is_named_with_what_is_missing():
    with pytest.raises(bo.DomainError, match=r"^x: .*without 'high'"):
        space_from_json(variable(kind="Real", low=0))


@pytest.mark.parametrize("method", ["os:system", "this:s", "file.py:run", "no-such", 5, ["auto"], None])
def test_no_module_of_a_client_is_imported(method):
    before = set(sys.modules)
    with pytest.raises((ValueError, TypeError), match="method: "):
        read_description("s", {"space": JSON_SPACE, "method": method})
    assert "this" not in set(sys.modules) - before


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"direction": "up"}, "direction"),
        ({"directions": 5}, "directions"),
        ({"constraints": [1]}, "constraints"),
        ({"constraints": {"a": ["<", 1]}}, "constraints"),
        ({"constraints": {"a": []}}, "constraints"),
        ({"seed": -1}, "seed"),
        ({"seed": 10**30}, "seed"),
        ({"initial_points": {}}, "initial_points"),
        ({"initial_points": [{"x": 7}]}, "point"),
    ],
)
def test_what_else_is_wrong_is_named(given, name):
    with pytest.raises((TypeError, ValueError, Refusal), match=name):
        read_description("s", {"space": JSON_SPACE} | given)


def test_a_described_study_is_made_and_known_again(tmp_path):
    file = str(tmp_path / "r.db")
    given = {"space": JSON_SPACE, "directions": ["minimize", "maximize"], "constraints": {"heat": ["<=", 3]}}
    given |= {"method": "random", "seed": 5, "initial_points": [{"x": 0.5, "k": 4}]}
    description = read_description("s", given)
    with description.make(file) as study:
        assert (study.seed, str(study.goals)) == (5, "minimize, maximize, heat <= 3")
        assert study.ask().point == {"x": 0.5, "k": 4}
        description.check_same(study)
        for change in ({"seed": 6}, {"method": "evolution"}, {"constraints": None}, {"space": ALL.to_json()}):
            other = read_description("s", given | {"initial_points": None} | change)
            with pytest.raises(Refusal, match=f"another {'goals' if 'constraints' in change else min(change)}"):
                other.check_same(study)
    with bo.Study.load(file, "s") as study:  # by the file alone
        assert len(study.trials) == 1


def test_a_study_that_exists_with_other_initial_points_is_another():
    given = {"space": JSON_SPACE, "method": "random", "initial_points": [{"x": 0.5, "k": 1}]}
    described = read_description("a", given)
    study = described.make(None)
    described.check_same(study)
    read_description("a", {**given, "initial_points": []}).check_same(study)
    with pytest.raises(Refusal, match="exists with another initial_points"):
        read_description("a", {**given, "initial_points": [{"x": 0.5, "k": 2}]}).check_same(study)
