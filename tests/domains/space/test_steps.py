"""Numbers at even steps: `step=` of `Real` and `Integer`."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.domains.space.scale import RealGrid, StepGrid
from bostruct.testing import check_domain, check_variable

STEPPED = [
    bo.Real(0, 1, step=0.1),
    bo.Real(-0.3, 0.3, step=0.1),
    bo.Real(0, 1, step=1 / 3),
    bo.Real(0, 100, step=0.01),
    bo.Integer(0, 10, step=5),
    bo.Integer(1, 100_001, step=10),
    bo.Integer(3, 3, step=7),
]


@pytest.mark.parametrize("variable", STEPPED, ids=repr)
def test_numbers_at_steps_are_a_variable(variable):
    check_variable(variable, np.random.default_rng(0))
    space = bo.Space({"x": variable, "b": bool})
    check_domain(space, np.random.default_rng(0))
    assert space.count().count == 2 * variable.size
    assert bo.Space.from_json(json.loads(json.dumps(space.to_json()))) == space


def test_values_are_the_decimals_that_people_write():
    assert list(bo.Real(0, 1, step=0.1).choices) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert list(bo.Real(0, 1, step=1 / 3).choices) == [0.0, 1 / 3, 0.6666666666666666, 1.0]
    assert list(bo.Integer(-4, 5, step=3).choices) == [-4, -1, 2, 5]
    large = bo.Real(0, 100, step=0.01)
    assert isinstance(large.grid, StepGrid)
    assert [large.choices[i] for i in (0, 1, 3, 29, 9999, 10_000)] == [0.0, 0.01, 0.03, 0.29, 99.99, 100.0]
    assert str(large) == "Real(0.0, 100.0, step=0.01)"
    assert str(bo.Integer(0, 9, step=3)) == "Integer(0, 9, step=3)"


@pytest.mark.parametrize(("step", "high"), [(0.1, 1.0), (0.01, 100.0)])
def test_a_number_that_rounding_moved_is_the_step(step, high):
    variable = bo.Real(0, high, step=step)
    assert variable.present(variable.parse(3 * step)) == float(f"{3 * step:.12g}")
    with pytest.raises(PointError, match="the nearest is"):
        variable.parse(2.4 * step)
    with pytest.raises(PointError):
        variable.parse(high + step)


@given(st.integers(-1000, 1000), st.integers(1, 500), st.integers(0, 3000), st.integers(0, 4))
def test_each_step_is_found_again(low, step, n, digits):
    scale = 10**digits
    variable = bo.Real(low / scale, (low + n * step) / scale, step=step / scale)
    assert variable.size == n + 1
    for i in {0, n // 3, n}:
        assert variable.present([i]) == (low + i * step) / scale
        assert variable.parse(variable.present([i])) == [i]
        assert variable.decode(json.loads(json.dumps(variable.encode([i])))) == [i]


def test_a_high_between_two_steps_is_the_lower_one_with_a_warning():
    with pytest.warns(UserWarning, match=r"Real: high=1.0 is not a whole number of steps of 0.3 above low=0.*is 0.9"):
        variable = bo.Real(0, 1, step=0.3)
    assert (variable.high, list(variable.choices)) == (0.9, [0.0, 0.3, 0.6, 0.9])
    with pytest.warns(UserWarning, match="the last value is 8"):
        assert bo.Integer(0, 10, step=4).high == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bo.Real(0, 0.9, step=0.3).size == 4
        bo.Real(0, 1, step=1 / 7)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: bo.Real(1, 10, step=1, log=True), "Real: step: the steps of log=True are uneven"),
    (lambda: bo.Integer(1, 10, step=2, log=True), "Integer: step: the steps of log=True are uneven"),
    (lambda: bo.Real(0, 1e16, step=0.5), r"step: expected at most 2\^53 steps that float64 can distinguish, got 0.5"),
    (lambda: bo.Real(1e16, 1e16 + 8, step=0.5), "float64 can distinguish"),
    (lambda: bo.Real(0, 1, step=0), "step: expected a finite number"),
    (lambda: bo.Integer(0, 9, step=0), "step: expected at least 1, got 0"),
])  # fmt: skip
def test_impossible_steps_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_listed_step_is_searched_as_an_ordinal_is():
    def cost(point):
        return (point["x"] - 0.3) ** 2 + point["k"] / 100

    spaces = [
        {"x": bo.Real(0, 1, step=0.1), "k": bo.Integer(0, 20, step=4)},
        {"x": bo.Ordinal([i / 10 for i in range(11)]), "k": bo.Ordinal(range(0, 21, 4))},
    ]
    for method in ("auto", "combo", "tpe"):
        runs = [bo.minimize(cost, space, method=method, n_trials=20, seed=0) for space in spaces]
        assert [trial.point for trial in runs[0].trials] == [trial.point for trial in runs[1].trials]


def test_frames_and_changed_spaces_read_the_steps(tmp_path):
    space, finer = {"x": bo.Real(0, 1, step=0.1), "b": bool}, {"x": bo.Real(0, 1, step=0.05), "b": bool}
    of_study = {"seed": 0, "storage": str(tmp_path / "runs.db"), "name": "s"}
    result = bo.minimize(lambda point: point["x"], space, n_trials=12, **of_study)
    result.to_csv(tmp_path / "t.csv")
    pd = pytest.importorskip("pandas")
    with bo.Study(space) as study:
        study.add_frame(pd.read_csv(tmp_path / "t.csv"))
        assert [trial.point for trial in study.trials] == [trial.point for trial in result.trials]
    again = bo.minimize(lambda point: point["x"], finer, n_trials=14, **of_study)
    assert again.n_unread == 0
    every = {"x": bo.Real(0, 1), "b": bool}
    assert isinstance(bo.Space(every).variables["x"].grid, RealGrid)
    assert bo.minimize(lambda point: point["x"], every, n_trials=15, **of_study).n_unread == 0
