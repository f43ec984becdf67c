"""Points on disk: values alone where all points have all names, and what cannot be such a point is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import Info
from bostruct.domains.space.constraints import KnownValues
from bostruct.storage.json_text import dump, parse
from bostruct.storage.sqlite import SqliteStorage
from bostruct.study.point_forms import find_names, read_point_text, write_point_text
from tests.stored import forge

PLAIN = bo.Space({"b": bool, "a": ["x", "y"], "n": bo.Integer(0, 9)})
CONDITIONAL = bo.Space({"a": bool, "b": bo.Binary(when={"a": True})})


@pytest.mark.parametrize("space", [PLAIN, CONDITIONAL], ids=["plain", "conditional"])
def test_a_point_is_read_as_it_was_written(space: bo.Space) -> None:
    names = find_names(parse(dump(space.to_json())))
    assert names == tuple(space.variables)
    for point in ({"b": True, "a": "y", "n": 3}, {"a": True, "b": False}, {"a": False}):
        if (len(point) == 3 and space is CONDITIONAL) or (len(point) < 3 and space is PLAIN):
            continue
        x = space.parse(point)
        text = write_point_text(space, x, names)
        assert isinstance(parse(text), list if len(point) == len(names) else dict)
        assert space.present(space.decode(read_point_text(text, names))) == point
        assert read_point_text(dump(space.encode(x)), names) == point  # as files of earlier versions hold it


def test_only_spaces_have_names() -> None:
    assert find_names({"domain": "architecture", "variables": {"a": 1}}) is None
    assert find_names([1]) is None
    assert find_names({"domain": "space", "variables": [1]}) is None
    assert read_point_text("[1, 2]", None) == [1, 2]
    with pytest.raises(ValueError, match="point: expected 3 values, got 2"):
        read_point_text("[1, 2]", ("a", "b", "c"))


def test_a_file_holds_the_values_and_survives_a_change_of_the_space(file: Path) -> None:
    space = {"a": ["x", "y"], "n": range(5)}
    with bo.Study(space, method="random", seed=0, storage=file) as study:
        study.add({"a": "y", "n": 3}, 1.0)
    (row,) = SqliteStorage(file).read(None).trials
    assert parse(row.point) == ["y", 3]
    turned = {"n": range(9), "c": bo.Binary(default=False), "a": ["y", "z"]}
    with bo.Study(turned, method="random", seed=0, storage=file) as study:
        assert study.trials[0].point == {"n": 3, "c": False, "a": "y"}
        study.add({"n": 8, "c": True, "a": "z"}, 2.0)
    with bo.Study.load(file, read_only=True) as study:
        assert [trial.point for trial in study.trials] == [
            {"n": 3, "c": False, "a": "y"},
            {"n": 8, "c": True, "a": "z"},
        ]
    forge(file, "UPDATE trials SET point = '[1]' WHERE number = 1")
    with pytest.raises(bo.StorageError, match=r"trial 1 cannot be read: .*expected 3 values, got 1"):
        bo.Study.load(file)


values = st.none() | st.booleans() | st.integers(0, 3) | st.floats(0, 3) | st.text(max_size=1)


@given(st.dictionaries(st.sampled_from("abn"), values | st.lists(values, max_size=1), max_size=3))
def test_the_fast_way_reads_what_the_slow_way_reads(data: dict) -> None:
    space = bo.Space({"a": [0, 1, "x", None], "b": [False, 1.0, 2], "n": range(3)})
    slow = bo.Space(space.variables)
    slow.__dict__["_known_values"] = KnownValues({"a": bo.Permutation([0, 1])})  # knows nothing
    found = []
    for one in (space, slow):
        try:
            found.append(one.decode(data).tolist())
        except bo.contracts.PointError as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_a_point_that_is_made_later_is_like_any_other() -> None:
    made = []

    def show(kept: str, info: Info) -> dict:
        made.append(kept)
        return info["given"]

    trial = bo.Trial.shown_later(show, "kept", number=3, status="completed", value=2.0, info={"given": {"a": 1}})
    assert (trial.number, trial.values, made) == (3, (2.0,), [])
    copied = pickle.loads(pickle.dumps(trial))
    assert copied == trial == bo.Trial(3, {"a": 1}, "completed", 2.0, info={"given": {"a": 1}})
    assert trial.point is trial.point
    assert made == ["kept"]
    with pytest.raises(AttributeError, match="'Trial' object has no attribute 'pont'"):
        _ = trial.pont  # type: ignore[attr-defined]
