"""The hyperparameters of a fitted model: in the user's units, with the names of variables, as the kernel has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import BostructError
from bostruct.kernels.space.registry import product_kernel
from bostruct.kernels.space.spectra import LogLengthscale
from bostruct.methods import METHODS, combo, register_method
from bostruct.study.hyperparameters import HyperparameterTable
from bostruct.surrogates.hyperparameters import Normal

BITS = {f"b{i}": bool for i in range(5)}


def cost(point: dict[str, Any]) -> float:
    return 10.0 + 3.0 * point["b1"] - 2.0 * (point["b1"] and point["b3"])


def read(result: bo.Result) -> HyperparameterTable:
    assert result.model is not None
    return result.model.hyperparameters


def test_combo_gives_samples_and_relevances_in_closed_form() -> None:
    table = read(bo.minimize(cost, BITS, 20, method="combo", seed=0, progress=False))
    rows = {(row.name, row.variable): row for row in table}
    assert len(table) == 2 * 5 + 3
    for name in BITS:
        beta, relevance = rows["edge weight", name].samples, rows["relevance", name].samples
        q = np.exp(-2.0 * beta)
        assert beta.shape == (10,)
        assert relevance == pytest.approx(1.0 - (1.0 - q) / (1.0 + q))  # of a complete graph of two choices
    low, high = rows["mean", ""].interval or (0.0, 0.0)
    assert 8.0 < low <= rows["mean", ""].mean <= high < 14.0
    assert list(table.relevance.values()) == sorted(table.relevance.values(), reverse=True)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_auto_finds_the_variables_that_matter_in_the_units_of_the_user(direction: Any) -> None:
    study = bo.Study(BITS, direction=direction, seed=0)
    study.optimize(cost, 24, progress=False)
    table = read(study.result)
    assert set(list(table.relevance)[:2]) == {"b1", "b3"}
    rows = {(row.name, row.variable): row for row in table}
    assert 8.0 < rows["mean", ""].mean < 14.0
    assert rows["lengthscale", "b1"].interval is None
    assert rows["lengthscale", "b1"].mean < rows["lengthscale", "b0"].mean
    again = read(study.result)
    assert [row.mean for row in again] == [row.mean for row in table]


def test_bocs_gives_the_coefficients_of_products_of_choices() -> None:
    found = bo.maximize(lambda p: -cost(p), BITS, 26, method="bocs", seed=0, progress=False)
    table = read(found)
    rows = {row.variable: row.mean for row in table}
    assert len(rows) == 5 + 10
    assert rows["b1=True"] == pytest.approx(-3.0, abs=0.3)
    assert rows["b1=True x b3=True"] == pytest.approx(2.0, abs=0.3)
    assert [row.variable for row in table][:2] == ["b1=True", "b1=True x b3=True"]
    assert table.relevance == {}


def count_units(network: bo.Architecture) -> float:
    return float(sum(layer.units or 0 for layer in network.layers))


def test_nasbot_gives_the_rates_of_its_distances() -> None:
    domain = bo.cnn_domain()
    found = bo.minimize(
        lambda net: float(sum(layer.units or 0 for layer in net.layers)),
        domain,
        14,
        method="nasbot",
        seed=0,
        progress=False,
    )
    names = [row.name for row in read(found)]
    assert "rate of distance" in names
    assert "rate of normalized distance" in names
    assert read(found).relevance == {}


def test_every_parameter_belongs_to_the_variable_that_it_changes() -> None:
    space = bo.Space(
        {
            "kind": ["a", "b", "c"],
            "level": bo.Ordinal([1, 2, 4]),
            "order": bo.Permutation(list("xyz")),
            "rate": bo.Real(0.0, 1.0, when={"kind": "a"}),
            "flag": bo.Binary(when={"kind": "b"}),
            "word": bo.Sequence("AC", length=3),
        }
    )
    kernel = product_kernel(
        space, Normal(0.0, 1.0), LogLengthscale(), unit_diagonal=True, absence_prior=Normal(0.0, 1.0)
    )
    rng = np.random.default_rng(0)
    xs, ys = (np.asarray(space.sample(40, rng)) for _ in range(2))
    owners = kernel.parameter_variables
    theta = rng.normal(size=len(owners))
    assert set(owners) == set(range(6))
    prepared = kernel.prepare(xs, ys)
    before = kernel.gram(theta, prepared)
    for p, owner in enumerate(owners):
        assert owner is not None
        moved = theta.copy()
        moved[p] += 0.5
        columns = list(kernel.variable_columns[owner])
        assert columns == list(range(*space.layout.columns(owner).indices(space.layout.n_columns)))
        differs = (xs[:, None, columns] != ys[None, :, columns]).any(axis=2)
        changed = ~np.isclose(kernel.gram(moved, prepared), before, rtol=1e-9)
        assert changed.any(), p
        assert differs[changed].all(), p


def test_what_cannot_be_told_is_refused() -> None:
    study = bo.Study(BITS, seed=0)
    with pytest.raises(BostructError, match="hyperparameters: expected at least one completed trial, got none"):
        read(study.result)
    simple = bo.Study(BITS, method="random", seed=0)
    simple.tell(simple.ask(), 1.0)
    with pytest.raises(
        BostructError, match=r"hyperparameters: random has no model with hyperparameters; (.*) have one"
    ) as caught:
        read(simple.result)
    named = str(caught.value).partition("; ")[2].removesuffix(" have one").split(", ")
    assert {"auto", "combo", "bocs"} <= set(named) <= set(METHODS) - {"random", "smac", "wrs"}
    register_method("own-combo", lambda domain: combo(domain))
    try:
        with pytest.raises(BostructError, match="own-combo"):
            read(simple.result)
    finally:
        METHODS.pop("own-combo")
    numbers = bo.Study({"x": bo.Real(0, 1)}, method="smac", seed=0)
    numbers.tell(numbers.ask(), 1.0)
    with pytest.raises(BostructError, match=r"smac has no model with hyperparameters; auto.* one$"):
        read(numbers.result)


def test_several_objectives_have_a_model_each_and_the_table_says_so() -> None:
    study = bo.Study({"x": range(5), "y": range(5)}, directions=["minimize", "maximize"], seed=0)
    study.optimize(lambda p: (float(p["x"]), 100.0 + p["y"]), 14, progress=False)
    rows = {(row.output, row.name): row.mean for row in read(study.result)}
    assert rows["objective 0", "mean"] < 10.0
    assert 90.0 < rows["objective 1", "mean"] < 110.0


def test_the_table_prints_plots_and_becomes_a_frame() -> None:
    table = read(bo.minimize(cost, BITS, 22, method="combo", seed=0, progress=False))
    assert repr(table).splitlines()[0].split() == ["hyperparameter", "variable", "mean", "95%", "interval"]
    assert "<th>edge weight</th>" in table._repr_html_()
    frame = table.to_dataframe()
    assert list(frame.columns) == ["output", "name", "variable", "mean", "low", "high", "samples"]
    assert len(frame) == len(table)
    axes = table.plot()
    assert [label.get_text() for label in axes.get_yticklabels()][::-1] == list(table.relevance)
    assert "95% interval" in axes.get_xlabel()


def test_many_irrelevant_variables_hide_neither_the_noise_nor_a_lengthscale() -> None:
    space = {f"b{i}": bool for i in range(60)}
    result = bo.minimize(lambda point: 2.0 * point["b1"] + point["b7"], space, 30, seed=0, progress=False)
    names = [row.name for row in read(result)]
    assert names[0] == "mean"
    assert [row.variable for row in read(result) if row.name == "relevance"][:2] == ["b1", "b7"]
    assert "noise standard deviation" in repr(read(result))
    assert "lengthscale" in repr(read(result))
    assert "log odds of main effects" in names
    assert "log odds" not in names
    assert len(repr(result.model)) < 200
    assert repr(result.model).startswith("Fit(goals=")
