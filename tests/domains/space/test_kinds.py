"""The kinds of variables, one class each: their values, which are near, and what a file holds of them."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.candidates import Candidates
from bostruct.domains.space.discrete import Binary, Categorical, Fidelity, Graph, Ordinal
from bostruct.domains.space.fixed import Fixed
from bostruct.domains.space.mixture import Allocation, Mixture
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.registry import KINDS, variable_from_json
from bostruct.domains.space.scale import GRID_STEPS
from bostruct.domains.space.sequence import Sequence
from bostruct.domains.space.subset import Subset
from bostruct.domains.space.variable import Variable
from tests.wide_variable import ORDERS, Order

DESCRIPTIONS = {
    Binary(): {"kind": "Binary"},
    Categorical(["a", "b", 3]): {"kind": "Categorical", "choices": ["a", "b", 3]},
    Ordinal([1, 10, 100]): {"kind": "Ordinal", "choices": [1, 10, 100]},
    Ordinal(["xyz", "w"], weight=2.0): {"kind": "Ordinal", "choices": ["xyz", "w"], "weight": 2.0},
    Integer(-1, 3): {"kind": "Integer", "low": -1, "high": 3},
    Integer(0, 10**6): {"kind": "Integer", "low": 0, "high": 10**6},
    Integer(1, 64, log=True): {"kind": "Integer", "low": 1, "high": 64, "log": True},
    Real(0.0, 2.0): {"kind": "Real", "low": 0.0, "high": 2.0, "log": False},
    Real(2.0, 2.0): {"kind": "Real", "low": 2.0, "high": 2.0, "log": False},
    Categorical(["a"]): {"kind": "Categorical", "choices": ["a"]},
    Fixed(Integer(1, 3), [1]): {"kind": "Fixed", "variable": {"kind": "Integer", "low": 1, "high": 3}, "value": 2},
    Fidelity([1, 3.5, 9]): {"kind": "Fidelity", "choices": [1, 3.5, 9]},
    Graph(nx.path_graph(3)): {"kind": "Graph", "choices": [0, 1, 2], "edges": [[0, 1, 1.0], [1, 2, 1.0]]},
    Permutation(["b", 1.5, None]): {"kind": "Permutation", "items": ["b", 1.5, None]},
    Permutation(["b", 1.5, None], length=2): {"kind": "Permutation", "items": ["b", 1.5, None], "length": 2},
    Candidates({"name": ["u", "v"], "a": [0.0, 2.0]}, label="name"): {
        "kind": "Candidates",
        "choices": ["u", "v"],
        "descriptors": {"rows": 2, "numbers": {"a": "AAAAAAAAAAAAAAAAAAAAQA=="}},
    },
    Categorical(["a", "b"], kernel=[[4.0, 0.0], [0.0, 1.0]]): {
        "kind": "Categorical",
        "choices": ["a", "b"],
        "kernel": {"size": 2, "data": "AAAAAAAAEEAAAAAAAAAAAAAAAAAAAPA/"},
    },
    Subset(["b", 1.5, None], 2): {"kind": "Subset", "items": ["b", 1.5, None], "size": 2},
    Subset([1, 2, 3], (0, 2)): {"kind": "Subset", "items": [1, 2, 3], "size": [0, 2]},
    Mixture(["a", "b"]): {"kind": "Mixture", "parts": ["a", "b"], "total": 1.0},
    Mixture(list("abc"), bounds={"a": (0, 0.5)}, max_parts=2, min_share=0.1, required="b"): {
        "kind": "Mixture",
        "parts": ["a", "b", "c"],
        "total": 1.0,
        "bounds": {"a": [0, 0.5]},
        "max_parts": 2,
        "min_share": {"a": 0.1, "b": 0.1, "c": 0.1},
        "required": ["b"],
    },
    Allocation(["a", "b", "c"], 3, bounds={"a": (0, 2)}, slack=True): {
        "kind": "Allocation",
        "items": ["a", "b", "c"],
        "total": 3,
        "bounds": {"a": [0, 2]},
        "slack": True,
    },
    Sequence("ACGU", (1, 3)): {"kind": "Sequence", "alphabet": "ACGU", "length": [1, 3]},
    Sequence(["b", 1.5, None], 4): {"kind": "Sequence", "alphabet": ["b", 1.5, None], "length": 4},
}
SINGLE = [variable for variable in DESCRIPTIONS if variable.width == 1]
NEIGHBORS: list[tuple[Variable, int, list[int]]] = [
    (Binary(), 0, [1]),
    (Categorical("abc"[i] for i in range(3)), 1, [0, 2]),
    (Ordinal([1, 10, 100, 1000]), 1, [0, 2]),
    (Integer(5, 9), 4, [3]),
    (Fidelity([1, 3, 9]), 0, [1]),
    (Graph(nx.star_graph(3)), 0, [1, 2, 3]),
    (Graph(nx.star_graph(3)), 2, [0]),
]


@pytest.mark.parametrize(("variable", "description"), DESCRIPTIONS.items(), ids=repr)
def test_a_file_holds_the_whole_variable(variable, description):
    assert json.loads(json.dumps(variable.to_json())) == description
    again = variable_from_json("x", description)
    assert type(again) is type(variable) is KINDS[variable.kind]
    assert (again, hash(again)) == (variable, hash(variable))


def test_every_kind_is_described_here():
    assert {type(variable) for variable in DESCRIPTIONS} == set(KINDS.values())


@pytest.mark.parametrize(("variable", "vertex", "near"), NEIGHBORS)
def test_neighbors_are_one_change_away(variable, vertex, near):
    assert variable.neighbors([vertex]).tolist() == [[v] for v in near]


@pytest.mark.parametrize("variable", [v for v in SINGLE if v.grid is None], ids=repr)
def test_values_are_listed_drawn_and_moved(variable):
    every = variable.enumerate()
    assert every.tolist() == [[v] for v in range(len(variable))]
    drawn = variable.sample(200, np.random.default_rng(0))
    assert (drawn.shape, set(drawn[:, 0].tolist())) == ((200, 1), set(range(variable.size)))
    for columns in every.tolist():
        variable.check(columns)
        assert variable.parse(variable.present(columns)) == columns
        assert variable.decode(json.loads(json.dumps(variable.encode(columns)))) == columns
        reached = {variable.move(columns, (k + 0.5) / (variable.size - 1))[0] for k in range(variable.size - 1)}
        assert reached == set(range(variable.size)) - set(columns)


@pytest.mark.parametrize("variable", SINGLE, ids=repr)
def test_a_vertex_out_of_range_is_no_value(variable):
    for vertex in (-1, variable.size):
        with pytest.raises(PointError, match="expected a vertex in 0"):
            variable.check([vertex])


def test_ordered_kinds_have_an_order():
    assert {kind.__name__ for kind in KINDS.values() if kind.ordered} == {"Ordinal", "Integer", "Real", "Fidelity"}


def test_long_steps_of_ordered_variables_halve():
    assert Integer(0, 15).neighbors([0], large_steps=True).tolist() == [[1], [2], [4], [8]]
    assert Categorical(["a", "b", "c"]).neighbors([0], large_steps=True).tolist() == [[1], [2]]


def test_values_of_a_real_are_not_listed_but_lie_on_a_grid():
    assert Real(0.0, 2.0).parse(1.0) == [GRID_STEPS // 2]
    assert Real(1e-2, 1e2, log=True).present([GRID_STEPS // 2]) == 1.0


class TestTheContract:
    def test_a_kind_has_all_methods(self):
        with pytest.raises(TypeError, match="abstract"):
            Variable()  # type: ignore[abstract]

    def test_equality_is_that_of_descriptions(self):
        assert Order("xyz") == Order("xyz")
        assert Order("xyz") != Order("xzy")
        assert Binary() != Categorical([False, True])

    def test_the_default_lists_what_draws_and_changes_reach(self):
        assert Variable.enumerate(Order("xyz")).tolist() == ORDERS.tolist()

        class Larger(Order):
            size = 7

        with pytest.raises(DomainError, match="Larger: expected 7 values, found 6"):
            Variable.enumerate(Larger("xyz"))

        class Many(Order):
            size = 100_001

        with pytest.raises(DomainError, match="Many: its values are not listed"):
            Variable.enumerate(Many("xyz"))


LISTS = [Permutation(["a", "b"]), Subset(["a", "b", "c"], 2), Sequence(["a", "b", "c"], 2), Sequence("abc", 2)]


@pytest.mark.parametrize("before", LISTS[:3], ids=repr)
@pytest.mark.parametrize("after", LISTS, ids=repr)
def test_orders_subsets_and_sequences_do_not_read_each_other(before, after):
    data = before.encode(before.parse(["b", "a"]))
    if before.kind == after.kind:
        assert sorted(after.present(after.decode_from(data, before.to_json()))) == ["a", "b"]
    else:
        with pytest.raises(PointError, match=rf"expected a value of a {after.kind}, got one of a {before.kind}, \['"):
            after.decode_from(data, before.to_json())
