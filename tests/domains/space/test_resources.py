"""The resources of the items of an order: what is read, what is refused by name, and what stays as it was without."""

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space.permutation import Permutation, check_resources
from bostruct.testing import check_domain, check_variable

SHOP = bo.Permutation({"a": 2, "b": 1}, resources={"b": "mill", "a": ["saw", "mill"]})


def test_each_occurrence_has_its_resource():
    assert SHOP.resources == ("saw", "mill", "mill")
    assert bo.Permutation({"a": 2, "b": 1}, resources={"a": 7, "b": 8}).resources == (7, 7, 8)
    assert bo.Permutation(["a", "b"]).resources is None


def test_resources_are_in_the_order_of_the_items():
    found = check_resources("order", {"b": [1, 2], "a": "x"}, ["a", "b"], [2, 2], ["a", "b"].index)
    assert found == ("x", "x", 1, 2)


def test_arrays_and_their_scalars_are_plain_names():
    found = bo.Permutation({"a": 2, "b": 1}, resources={"a": np.array([4, 5]), "b": np.int64(4)}).resources
    assert found == (4, 5, 4)
    assert {type(name) for name in found} == {int}
    found = bo.Permutation(["a", "b"], resources={"a": np.str_("saw"), "b": np.array(["mill"])}).resources
    assert [repr(name) for name in found] == ["'saw'", "'mill'"]


REFUSED = [
    (["saw"], r"Permutation: resources: expected a dict from items to resources, got \['saw'\]"),
    ({"a": 1}, "resources: expected a resource for each item, got none for 'b'"),
    ({"a": 1, "b": 1, "z": 1}, "Permutation: resources: expected one of .*, got 'z'"),
    ({"a": [1, 2, 3], "b": 1}, r"'a': expected a list of 2, a resource for each occurrence, got \[1, 2, 3\]"),
    ({"a": 1.5, "b": 1}, "'a': expected a string or an integer, or a list of them, got 1.5"),
    ({"a": [1, True], "b": 1}, "'a': expected a string or an integer, or a list of them, got True"),
]


@pytest.mark.parametrize(("resources", "message"), REFUSED)
def test_others_are_refused(resources, message):
    with pytest.raises(DomainError, match=message):
        bo.Permutation({"a": 2, "b": 1}, resources=resources)


def test_a_file_has_them():
    found = Permutation.from_json(SHOP.to_json())
    assert (found, found.resources) == (SHOP, SHOP.resources)
    assert repr(found) == "Permutation({'a': 2, 'b': 1}, resources={'a': ['saw', 'mill'], 'b': ['mill']})"
    assert "resources" not in bo.Permutation(["a", "b"]).to_json()
    assert bo.Permutation({"a": 2, "b": 1}) != SHOP


def test_a_file_that_lacks_some_is_refused():
    with pytest.raises(DomainError, match="'b': expected a list of 1, a resource for each occurrence"):
        Permutation.from_json({**SHOP.to_json(), "resources": ["saw", "mill"]})


def test_trials_stay_data_where_resources_are_said_later():
    assert SHOP.has_values_of(bo.Permutation({"a": 2, "b": 1}).to_json())


def test_laws(rng):
    check_variable(SHOP, rng)
    check_domain(bo.Space({"p": bo.Permutation(dict.fromkeys("abc", 3), resources=dict.fromkeys("abc", 0))}), rng)


SHOP_ORDER = bo.Permutation(dict.fromkeys("abc", 3), resources={"a": 0, "b": 0, "c": 1})
MIXED = {
    "p": SHOP_ORDER,
    "fast": bool,
    "rate": bo.Real(0.0, 1.0),
    "second": bo.Permutation({"x": 2, "y": 2}, resources={"x": 0, "y": 1}, when={"fast": True}),
}


def is_settled(point):
    return point["p"][0] != point["p"][-1] and not (point.get("fast") and point["p"][0] == "a")


@pytest.mark.parametrize("constraints", [[], [is_settled]])
@pytest.mark.parametrize("variables", [{"p": SHOP_ORDER}, MIXED])
def test_changes_drawn_for_many_points_are_neighbors(variables, constraints):
    space, rng = bo.Space(variables, constraints), np.random.default_rng(0)
    xs, changed = space.sample(4, rng), set()
    batch, of = space.change_each(xs, 200, rng)
    assert set(of) == {0, 1, 2, 3}
    for i, x in enumerate(xs):
        own = np.asarray(batch)[of == i]
        near = {row.tobytes() for row in np.asarray(space.neighbors(x))}
        assert {row.tobytes() for row in own} <= near
        names = [name for name in variables if name in space.present(x)]
        pairs = [(space.present(x), space.present(row)) for row in own]
        changed |= {name for before, after in pairs for name in names if before.get(name) != after.get(name)}
    assert changed == set(variables)


def test_a_point_with_few_valid_changes_has_those():
    """Of 300 orders that are one change away the rule leaves two: nearly no draw is one of them."""
    space = bo.Space({"p": SHOP_ORDER, "fast": bool}, [lambda point: "".join(point["p"]) in ("aaabbbccc", "aabbabccc")])
    xs, rng = space.join([space.parse({"p": tuple("aaabbbccc"), "fast": True})] * 3), np.random.default_rng(0)
    batch, of = space.change_each(xs, 6, rng)
    assert set(of) == {0, 1, 2}
    assert {tuple(row) for row in np.asarray(batch).tolist()} <= {tuple(row) for row in space.neighbors(xs[0]).tolist()}
    assert len(space.change_each(xs[:0], 6, rng)[0]) == 0


def test_a_switch_beside_an_order_is_looked_at():
    """It has one change, the order hundreds: by their number alone it would be one draw in hundreds."""
    order = bo.Permutation(dict.fromkeys(range(9), 5), resources=dict.fromkeys(range(9), 0))
    space, rng = bo.Space({"p": order, "fast": bool}), np.random.default_rng(0)
    batch, _ = space.change_each(space.sample(200, rng), 20, rng)
    share = np.mean(batch.which == 1)
    assert 0.005 < share < 0.03  # 1 of 81
