"""Distributions are variables, points are parameters and user attributes, and both come back as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.space import Space
from bostruct.integrations import optuna_spaces
from bostruct.integrations.optuna_spaces import assemble_point, fit_value, read_distribution, write_variable

EACH_WAY = [
    (FloatDistribution(0.0, 1.0), bo.Real(0.0, 1.0)),
    (FloatDistribution(1e-5, 1.0, log=True), bo.Real(1e-5, 1.0, log=True)),
    (IntDistribution(-3, 9), bo.Integer(-3, 9)),
    (IntDistribution(1, 5000, log=True), bo.Integer(1, 5000, log=True)),
    (IntDistribution(0, 9, step=3), bo.Integer(0, 9, step=3)),
    (IntDistribution(0, 10_000, step=2), bo.Integer(0, 10_000, step=2)),
    (FloatDistribution(0.0, 0.7, step=0.1), bo.Real(0.0, 0.7, step=0.1)),
    (FloatDistribution(0.0, 1.0, step=0.0005), bo.Real(0.0, 1.0, step=0.0005)),
    (FloatDistribution(2.0, 2.0), bo.Real(2.0, 2.0)),
    (IntDistribution(3, 3), bo.Integer(3, 3)),
    (CategoricalDistribution(["a"]), bo.Categorical(["a"])),
    (CategoricalDistribution(["a", None, 2, 0.5]), bo.Categorical(["a", None, 2, 0.5])),
    (CategoricalDistribution([False, True]), bo.Binary()),
]
ONE_WAY = [
    (CategoricalDistribution([True, False]), bo.Categorical([True, False])),
]
MIXED = bo.Space(
    {
        "order": bo.Permutation(list("abcd")),
        "some": bo.Permutation(list("abcd"), length=2),
        "word": bo.Sequence(list("xy"), (1, 3)),
        "team": bo.Subset(list("pqr"), (0, 3)),
        "rate": bo.Real(1e-4, 1.0, log=True),
        "steps": np.arange(0.0, 0.8, 0.1),
        "kind": ["a", "b"],
        "width": bo.Integer(1, 64, log=True, when={"kind": "b"}),
        "pair": [(1, 2), (3, 4)],
    }
)


@pytest.mark.parametrize(("distribution", "variable"), EACH_WAY + ONE_WAY)
def test_a_distribution_is_a_variable(distribution, variable):
    assert read_distribution("x", distribution) == variable


@pytest.mark.parametrize(("distribution", "variable"), EACH_WAY)
def test_the_variable_is_the_distribution_again(distribution, variable):
    assert write_variable(variable) == distribution


@pytest.mark.parametrize(
    "variable",
    [
        bo.Permutation(list("abc")),
        bo.Permutation(list("abc"), length=2),
        bo.Subset(list("abc"), 2),
        bo.Categorical([(1,), (2,)]),
    ],
)
def test_values_that_are_no_plain_ones_are_no_parameter(variable):
    assert write_variable(variable) is None


@pytest.mark.parametrize(
    ("distribution", "words"),
    [
        (CategoricalDistribution([1, True]), "x: Categorical: expected distinct choices"),
        ("float", "x: expected a FloatDistribution"),
    ],
)
def test_what_is_no_variable_is_refused_by_name(distribution, words):
    with pytest.raises(DomainError) as caught:
        read_distribution("x", distribution)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("domain", "n"),
    [(MIXED, 100), (bo.Space({"inner": {"a": bool, "b": bo.Real(0, 1)}, "c": bool}), 20), (bo.mlp_domain(), 5)],
)
def test_every_point_comes_back_from_parameters_and_attributes(domain, n):
    for x in domain.sample(n, np.random.default_rng(0)):
        point, attributes = domain.present(x), json.loads(json.dumps(optuna_spaces.encode_structures(domain, x)))
        known = {name: one for name, one in optuna_spaces.describe_parameters(domain).items() if one is not None}
        params = {name: fit_value(name, point[name], one) for name, one in known.items() if name in point}
        assert attributes.keys().isdisjoint(params)
        for name, value in params.items():
            assert known[name]._contains(known[name].to_internal_repr(value))
        assert domain.key(domain.parse(assemble_point(domain, params, attributes))) == domain.key(x)


@given(st.floats(-100, 100), st.sampled_from([0.1, 0.25, 0.3, 1.0]), st.integers(1, 50), st.data())
@settings(max_examples=50, deadline=None)
def test_steps_of_floats_are_found_whatever_their_rounding(low, step, n, data):
    distribution = FloatDistribution(round(low, 2), round(round(low, 2) + n * step, 2), step=step)
    variable = read_distribution("x", distribution)
    i = data.draw(st.integers(0, variable.size - 1))
    summed = distribution.low + i * step
    assert variable.parse(summed) == [i]
    value = fit_value("x", variable.present([i]), distribution)
    assert distribution._contains(distribution.to_internal_repr(value))


@pytest.mark.parametrize(
    ("value", "distribution"),
    [
        (0.5, FloatDistribution(0.6, 1.0)),
        ("c", CategoricalDistribution(["a", "b"])),
        (0.25, FloatDistribution(0.0, 1.0, step=0.1)),
        ("a", FloatDistribution(0.0, 1.0)),
    ],
)
def test_a_value_that_the_objective_cannot_mean_is_refused(value, distribution):
    with pytest.raises(ValueError, match=r"^lr: expected an objective that uses"):
        fit_value("lr", value, distribution)


def test_a_choice_keeps_its_type():
    assert fit_value("x", True, CategoricalDistribution([1, True])) is True
    assert type(fit_value("x", 2, FloatDistribution(0.0, 4.0))) is float
    assert type(fit_value("x", 2, IntDistribution(0, 4))) is int


def test_attributes_that_are_no_points_are_refused():
    space = Space({"order": bo.Permutation(list("abc"))})
    with pytest.raises(PointError, match="order: expected a value of the space as JSON"):
        assemble_point(space, {}, {"order": ["a", "a", "b"]})
    with pytest.raises(PointError, match="no user attribute 'point'"):
        assemble_point(bo.mlp_domain(), {}, {})
