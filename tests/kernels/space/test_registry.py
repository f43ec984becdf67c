"""A kind of variable with several columns: registered, it is a variable like any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import DomainError
from bostruct.domains.registry import domain_from_json
from bostruct.domains.space.registry import KINDS
from bostruct.kernels.space.factor import Factor
from bostruct.kernels.space.product import PlacedFactor
from bostruct.kernels.space.registry import (
    KERNELS,
    ON_GRAPHS,
    has_order_to_doubt,
    main_effects,
    number_parameters,
    product_kernel,
)
from bostruct.kernels.space.spectra import LogLengthscale
from bostruct.methods.defaults import space_kernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.change_laws import check_neighbors
from bostruct.testing.domain_laws import check_description, check_keys, check_points, check_seeding
from bostruct.testing.kernel_laws import check_gram, check_kernel
from tests.wide_variable import ORDER_KERNELS, Order


@pytest.fixture(autouse=True)
def order_kind() -> Iterator[None]:
    bo.register_variable(Order, ORDER_KERNELS)
    yield
    KINDS.pop("Order", None)
    KERNELS.pop(Order, None)


def space_with_orders(constraints=()) -> bo.Space:
    variables = {"a": bool, "o": Order("xyz"), "c": list("pqr"), "p": bo.Integer(0, 4), "r": Order("uvw")}
    return bo.Space(variables, constraints)


@pytest.mark.parametrize("seed", range(5))
def test_the_product_obeys_the_laws(seed):
    space, rng = space_with_orders(), np.random.default_rng(seed)
    check_kernel(product_kernel(space, Normal(0.0, 1.0), LogLengthscale(), unit_diagonal=True), space, rng)
    xs, ys = space.sample(6, rng), space.sample(5, rng)
    check_gram(main_effects(space), space, xs, ys, np.zeros(0))


def test_the_space_obeys_the_laws():
    for rules in ((), (lambda point: point["o"][0] != "z" or point["a"],)):
        space, rng = space_with_orders(rules), np.random.default_rng(0)
        xs = space.sample(4, rng)
        check_points(space, xs)
        check_keys(space, xs)
        check_seeding(space)
        check_description(space, rebuildable=not rules)
        for x in xs:
            check_neighbors(space, x, rng)
            changed, child = space.mutate(x, rng), space.crossover(x, xs[0], rng)
            assert any(np.array_equal(changed, near) for near in space.neighbors(x))
            space.check(child)
            for own, one, other in zip(*(space.layout.split(point) for point in (child, x, xs[0])), strict=True):
                assert own in (one, other)


def test_single_changes_are_the_rows_that_they_stand_for():
    space, rng = space_with_orders(), np.random.default_rng(1)
    xs, ys = space.sample(3, rng), space.sample(7, rng)
    changes, of = space.sample_neighborhoods(xs, 10_000, rng)
    for point, x in enumerate(xs):
        np.testing.assert_array_equal(changes[of == point].rows(), space.neighbors(x))
        assert len(space.neighbors(x)) == 1 + 3 + 2 + len(space.variables["p"].neighbors(x[5:6])) + 3
    kernels = (product_kernel(space, Normal(0.0, 1.0), LogLengthscale(), unit_diagonal=True), main_effects(space))
    for kernel in kernels:
        theta = rng.normal(size=sum(block.size for block in kernel.parameters))
        for batch in (changes, changes[2:9], changes[np.array([6, 0])]):
            ours = kernel.gram(theta, kernel.prepare(batch, ys))
            np.testing.assert_allclose(ours, kernel.gram(theta, kernel.prepare(batch.rows(), ys)), atol=1e-12)


def test_auto_finds_the_best_order():
    def objective(point):
        return abs(point["p"] - 3) + point["a"] + ("zxy".index(point["o"][0]) + "zxy".index(point["o"][2]) != 2)

    space = space_with_orders([lambda point: point["c"] != "p"])
    result = bo.minimize(objective, space, 40, method="auto", seed=0, progress=False)
    assert result.best_value == 0
    assert len({str(trial.point) for trial in result.trials}) == 40
    assert all(trial.point["c"] != "p" for trial in result.trials)


def test_a_study_of_orders_goes_on_from_its_file(tmp_path):
    space = space_with_orders()
    assert domain_from_json(space.to_json()) == space
    again = bo.minimize(
        lambda point: point["p"], space, 8, method="evolution", storage=tmp_path / "s.db", seed=1, progress=False
    )
    more = bo.minimize(
        lambda point: point["p"], space, 12, method="evolution", storage=tmp_path / "s.db", seed=1, progress=False
    )
    straight = bo.minimize(lambda point: point["p"], space, 12, method="evolution", seed=1, progress=False)
    assert [t.point for t in again.trials] == [t.point for t in straight.trials][:8]
    assert [t.point for t in more.trials] == [t.point for t in straight.trials]


def test_methods_that_need_single_choices_refuse_by_name():
    refusals = {
        "bocs": "o: expected variables that are one choice each, got a Order",
        "tpe": "tpe needs .* decisions one after another, got Space with the Order 'o', which is not one choice",
        "mcts": "mcts needs .* decisions one after another, got Space with the Order 'o', which is not one choice",
        "smac": "smac needs a domain of named choices, features or architectures, got Space",
    }
    for method, message in refusals.items():
        with pytest.raises(DomainError, match=message):
            bo.minimize(lambda point: point["p"], space_with_orders(), 15, method=method, seed=0, progress=False)


def test_a_kind_without_a_kernel_is_refused_by_name(monkeypatch):
    monkeypatch.delitem(KERNELS, Order)
    with pytest.raises(DomainError, match="o: no kernel is known for a Order; kernels are known for Binary, "):
        methods.auto(space_with_orders())


@pytest.mark.parametrize(("low", "high"), [(0, 9), (1, 100_000)], ids=["listed", "a grid"])
def test_a_kind_has_the_kernels_of_the_kind_that_it_is_derived_from(low, high):
    own, plain = bo.Space({"i": type("Own", (bo.Integer,), {})(low, high)}), bo.Space({"i": bo.Integer(low, high)})
    xs, theta = plain.sample(9, np.random.default_rng(0)), np.array([0.3])
    found, expected = (space_kernel(one) for one in (own, plain))
    np.testing.assert_array_equal(found.gram(theta, found.prepare(xs)), expected.gram(theta, expected.prepare(xs)))
    effects, others = (main_effects(one) for one in (own, plain))
    np.testing.assert_array_equal(*(one.gram(np.zeros(0), one.prepare(xs)) for one in (effects, others)))


def test_a_kind_is_registered_once():
    bo.register_variable(Order, ORDER_KERNELS)
    other = type("Order", (Order,), {})
    with pytest.raises(
        ValueError, match="kind: expected a name that is not taken, got 'Order', which is another class"
    ):
        bo.register_variable(other, ORDER_KERNELS)
    with pytest.raises(ValueError, match="kind: expected one that is not taken, got 'Order', which has other kernels"):
        bo.register_variable(Order, ON_GRAPHS)
    with pytest.raises(ValueError, match="got 'Binary', which has other kernels"):
        bo.register_variable(bo.Binary, ORDER_KERNELS)
    assert (KINDS["Order"], KERNELS[Order], KERNELS[bo.Binary]) == (Order, ORDER_KERNELS, ON_GRAPHS)


def test_what_is_no_kind_and_no_kernel_is_refused_and_nothing_is_registered():
    before = (dict(KINDS), dict(KERNELS))
    for wrong in (Order("xyz"), dict, "Order"):
        with pytest.raises(TypeError, match=r"kind: expected a class derived from bostruct\.domains\.Variable"):
            bo.register_variable(wrong, ORDER_KERNELS)
    with pytest.raises(TypeError, match="kernels: expected VariableKernels"):
        bo.register_variable(Order, ORDER_KERNELS.factors)
    assert before == (KINDS, KERNELS)


def test_a_file_with_a_kind_that_is_not_registered_says_how():
    description = space_with_orders().to_json()
    del KINDS["Order"]
    with pytest.raises(
        DomainError, match=r"o: expected a kind of Binary, .*, got 'Order'; bostruct\.register_variable"
    ):
        domain_from_json(description)


def test_effects_that_know_no_order_are_those_of_categories():
    rng = np.random.default_rng(0)
    given = {"o": bo.Ordinal(list("xyz")), "i": bo.Integer(1, 5), "r": bo.Real(0.0, 1.0), "s": list("uvw")}
    ordered = bo.Space({"a": bool, **given})
    categories = bo.Space({**ordered.variables, "o": list("xyz"), "i": [1, 2, 3, 4, 5]})
    xs, ys = ordered.sample(9, rng), ordered.sample(7, rng)
    doubting = main_effects(ordered, trusts_order=False)
    expected = main_effects(categories)
    grams = [one.gram(np.zeros(0), one.prepare(xs, ys)) for one in (expected, doubting, main_effects(ordered))]
    np.testing.assert_allclose(grams[1], grams[0], atol=1e-14)
    assert not np.allclose(grams[2], grams[0])
    check_gram(doubting, ordered, xs, ys, np.zeros(0))


@pytest.mark.parametrize(
    ("variable", "doubted"),
    [
        (bo.Ordinal(list("xyz")), True),
        (bo.Integer(1, 5), True),
        (bo.Ordinal(list("xy")), False),
        (bo.Integer(1, 5, log=True), False),
        (bo.Real(0.0, 1.0), False),
        (bo.Categorical(list("xyz")), False),
        (bo.Fidelity([1, 3, 9]), False),
    ],
)
def test_only_ordered_choices_are_doubted(variable, doubted):
    assert has_order_to_doubt(bo.Space({"b": bool, "v": variable})) == doubted


def test_a_condition_holds_for_effects_that_know_no_order():
    rng = np.random.default_rng(0)
    space = bo.Space({"a": bool, "o": bo.Ordinal(list("xyz"), when={"a": True})})
    effects = main_effects(space, trusts_order=False)
    xs = space.join([space.parse({"a": False}), *(space.parse({"a": True, "o": one}) for one in "xyz")])
    own = 2.0 * effects.gram(np.zeros(0), effects.prepare(xs))
    own -= np.where(xs[:, :1] == xs[:, 0], 1.0, -1.0)  # the effect of the bit
    np.testing.assert_allclose(own[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(own[1:, 1:], 1.5 * np.eye(3) - 0.5)
    check_gram(effects, space, space.sample(6, rng), space.sample(5, rng), np.zeros(0))


@dataclass(frozen=True)
class Odd(Factor):
    """A factor of two variables with an odd number of parameters."""

    n: Any

    @property
    def n_parameters(self):
        return self.n

    def log_gram(self, theta, prepared, without=None):
        raise NotImplementedError


def test_a_plain_object_in_place_of_a_factor_is_refused():
    with pytest.raises(TypeError, match=r"factors: expected a bostruct.kernels.Factor \(subclass it\), got"):
        number_parameters([PlacedFactor(cast(Any, object()), (0, 1), (0, 1))], 2)


@pytest.mark.parametrize("n", [None, 0, 3])
def test_a_factor_that_does_not_say_how_many_parameters_it_has_is_refused(n):
    factor = Odd(n)
    with pytest.raises(DomainError, match=f"Odd.n_parameters: expected 1 or a multiple of its 2 .*got {n}"):
        number_parameters([PlacedFactor(factor, (0, 1), (0, 1))], 2)
