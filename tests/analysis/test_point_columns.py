"""Variables on axes: numbers as they are, categories side by side, gaps where a trial lacks one."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.analysis.point_columns import flatten_point, read_columns
from bostruct.contracts import BostructError
from bostruct.study.history import Trial

SPACE = bo.Space(
    {
        "optimizer": ["sgd", "adam", "none"],
        "momentum": bo.Real(0.0, 1.0, when={"optimizer": "sgd"}),
        "rate": bo.Real(1e-4, 1.0, log=True),
        "order": bo.Permutation(list("abcde")),
        "some": bo.Permutation(list("abcde"), length=3),
        "big": bool,
    }
)


def study(n: int = 8) -> bo.Study:
    found = bo.Study(SPACE, method="random", seed=0)
    found.optimize(lambda point: point["rate"] + point.get("momentum", 0.5), n, progress=False)
    return found


def test_each_variable_has_a_column_of_its_kind():
    result = study().result
    trials = result.list_completed()
    table = read_columns(result, trials, None)
    columns = {column.name: column for column in table.columns}
    assert table.left_out == ("order", "some")  # 120 and 60 values
    assert columns["optimizer"].categories == ("sgd", "adam", "none")
    assert columns["rate"].is_log
    assert not columns["momentum"].is_log
    assert columns["big"].categories == (False, True)
    for trial, place in zip(trials, columns["momentum"].places, strict=True):
        assert np.isnan(place) == (trial.point["optimizer"] != "sgd")
    shares = columns["rate"].shares()
    assert (shares.min(), shares.max()) == (0.0, 1.0)


def test_names_choose_columns_and_unknown_ones_are_refused():
    result = study().result
    table = read_columns(result, result.list_completed(), ["rate", "big"])
    assert [column.name for column in table.columns] == ["rate", "big"]
    with pytest.raises(ValueError, match="names: "):
        read_columns(result, result.list_completed(), ["rates"])


def test_parts_have_dots_and_other_points_are_refused():
    assert flatten_point({"a": 1, "part": {"b": 2}}) == {"a": 1, "part.b": 2}
    assert flatten_point({"a.b": 1, "a": {"b": 2}, "c": {}}) == {"a.b": 1, "a.b'": 2, "c": {}}
    with pytest.raises(BostructError, match="points made of named variables"):
        flatten_point("a network")


def test_a_result_without_a_space_is_read_by_its_values():
    trials = [Trial(i, {"x": x, "c": c}, "completed", 1.0) for i, (x, c) in enumerate([(1.0, "a"), (3.0, "b")])]
    result = bo.Result(tuple(trials), (0, 1), study(2).goals, 0, "m", "d")
    first, second = read_columns(result, trials, None).columns
    assert first.places.tolist() == [1.0, 3.0]
    assert second.categories == ("a", "b")
