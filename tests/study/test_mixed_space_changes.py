"""Studies over spaces with other domains inside, opened with another such space, or with a plain one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.storage.documents import MemoryStorage
from bostruct.storage.protocol import StudyMismatch
from bostruct.storage.sqlite import SqliteStorage
from bostruct.study.space_changes import describe_change
from tests.architectures import SMALL_CNN, SMALL_MLP

INNER = {"flip": bool, "crop": [0, 2, 4]}
OLD = {"rate": bo.Ordinal([1, 2, 4]), "network": SMALL_CNN, "inner": INNER}
NETWORKS = SMALL_CNN.sample(3, np.random.default_rng(0))


def is_deep(network: Any) -> bool:
    return len(network.layers) > DEPTHS[0]


DEPTHS = sorted(len(network.layers) for network in NETWORKS)


def point(number: int, **given: Any) -> dict[str, Any]:
    inner = {"flip": number % 2 == 0, "crop": (0, 2, 4)[number]}
    return {"rate": 2**number, "network": NETWORKS[number], "inner": inner} | given


def open_study(place: Any, space: Any, **given: Any) -> bo.Study:
    return bo.Study(space, **({"method": "random", "seed": 0, "storage": place} | given))


def without(name: str, space: dict[str, Any] = OLD) -> dict[str, Any]:
    return {other: value for other, value in space.items() if other != name}


def reopen(before: Any, points: list[Any], *after: Any) -> tuple[bo.Study, list[str | None]]:
    """Add points to a study over one space, and open it with others; return the study, and why points are unread."""
    place = MemoryStorage()
    with open_study(place, before) as study:
        for number, one in enumerate(points):
            study.add(one, float(number))
    for space in after[:-1]:
        open_study(place, space).close()
    with warnings.catch_warnings(action="ignore", category=bo.SpaceChanged), open_study(place, after[-1]) as study:
        return study, [trial.unread for trial in study.trials]


POINTS = [point(number) for number in range(3)]
FLIPS = {"flip": bo.Binary(default=True), "crop": bo.Categorical([0, 2, 4], default=0)}


TRUTH = bo.Binary(default=True)
NESTED = {"a": bo.Integer(1, 9, default=3), "b": {"c": TRUTH}}


@pytest.mark.parametrize(
    ("changes", "gained"),
    [
        ({"rate": bo.Ordinal([1, 2, 4, 8])}, {}),
        ({"new": bo.Real(0.0, 1.0, default=0.5)}, {"new": 0.5}),
        ({"rate": bo.Integer(1, 9), "inner": INNER | {"crop": [4, 2, 0, "none"]}}, {}),
        ({"inner": FLIPS}, {}),
        ({"more": NESTED}, {"more": {"a": 3, "b": {"c": True}}}),
        ({"more": {"a": bo.Binary(default=False), "b": bo.Integer(0, 3, when={"a": True})}}, {"more": {"a": False}}),
        ({"network": bo.cnn_domain()}, {}),
    ],
)
def test_what_a_mixed_space_gains_has_its_default(changes: Any, gained: Any) -> None:
    study, unread = reopen(OLD, POINTS, OLD | changes)
    assert unread == [None] * 3
    assert [trial.point for trial in study.trials] == [one | gained for one in POINTS]
    for trial in study.trials:
        study.domain.check(study.domain.parse(trial.point))
    assert len(study.space_changes) == 1


def test_a_variable_of_a_part_is_gained_and_lost_with_its_default() -> None:
    grown = OLD | {"inner": {"flip": bool, "crop": [0, 2, 4], "hue": bo.Integer(0, 9, default=5)}}
    study, unread = reopen(OLD, POINTS, grown)
    assert unread == [None] * 3
    assert study.trials[0].point["inner"] == {"flip": True, "crop": 0, "hue": 5}
    hues = [one | {"inner": one["inner"] | {"hue": 5 + number}} for number, one in enumerate(POINTS)]
    study, unread = reopen(grown, hues, OLD)
    says = "which is not its default"
    assert unread == [None] + [f"inner: hue: the space cannot represent the trial's value {i}, {says}" for i in (6, 7)]
    assert study.trials[0].point == POINTS[0]
    assert study.trials[1].point["inner"]["hue"] == 6


NO_DEFAULT = "the trial has no value for this variable, which has no default="
NEAREST = "the nearest is 2"
NO_SPACE = "the trial has no value for this part, and only spaces have default="


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rate": bo.Ordinal([1, 2])}, [None, None, "rate: expected one of [1, 2], got 4; the nearest is 2"]),
        ({"inner": INNER | {"crop": [0, 2]}}, [None] * 2 + ["inner: crop: expected one of [0, 2], got 4; " + NEAREST]),
        ({"new": bool}, [f"new: {NO_DEFAULT}"] * 3),
        ({"other": SMALL_MLP}, [f"other: {NO_SPACE}"] * 3),
        ({"more": {"a": bool}}, [f"more: a: {NO_DEFAULT}"] * 3),
        ({"pair": bo.joint_domain({"a": {"x": bool}})}, [f"pair: {NO_SPACE}"] * 3),
    ],
)
def test_what_cannot_be_read_is_said_by_name(changes: Any, expected: list[str | None]) -> None:
    assert reopen(OLD, POINTS, OLD | changes)[1] == expected


def test_networks_beyond_new_bounds_are_no_data() -> None:
    tight = bo.cnn_domain(bo.Bounds(min_layers=3, max_layers=DEPTHS[0], min_units=1), SMALL_CNN.pool[:1])
    _, unread = reopen(OLD, POINTS, OLD | {"network": tight})
    assert [why is None for why in unread] == [not is_deep(one["network"]) for one in POINTS]
    assert next(why for why in unread if why is not None).startswith("network: ")
    assert unread.count(None) == 1


@pytest.mark.parametrize("after", [without("network"), {"rate": bo.Ordinal([1, 2, 4])}])
def test_a_part_that_is_lost_is_named(after: Any) -> None:
    study, unread = reopen(OLD, POINTS, after)
    says = "and only spaces have default="
    assert all(
        why is not None and why.startswith("network: the space cannot represent") and says in why for why in unread
    )
    assert [trial.value for trial in study.trials] == [0.0, 1.0, 2.0]


def test_a_part_whose_domain_cannot_change_is_named() -> None:
    before, after = ({"a": bool, "pair": bo.joint_domain({"x": {"y": choices}})} for choices in ([1, 2], [1, 2, 3]))
    _, unread = reopen(before, [{"a": True, "pair": {"x": {"y": 1}}}], after)
    assert unread == ["pair: its domain changed, and Joint cannot read the earlier points"]
    assert reopen(before, [{"a": True, "pair": {"x": {"y": 1}}}], before | {"b": bo.Binary(default=True)})[1] == [None]


def test_a_plain_space_gains_a_part_and_loses_it() -> None:
    plain = {"rate": bo.Ordinal([1, 2, 4])}
    study, unread = reopen(plain, [{"rate": 1}, {"rate": 4}], plain | {"inner": FLIPS})
    assert unread == [None, None]
    assert study.trials[1].point == {"rate": 4, "inner": {"flip": True, "crop": 0}}
    points = [{"rate": 1, "inner": {"flip": True, "crop": crop}} for crop in (0, 2)]
    study, unread = reopen(plain | {"inner": INNER}, points, plain | {"inner": FLIPS}, plain)
    assert unread[0] is None
    assert unread[1] == "inner: crop: the space cannot represent the trial's value 2, which is not its default"
    assert study.trials[0].point == {"rate": 1}


def test_parts_alone_gain_variables_and_lose_them() -> None:
    parts = {"inner": INNER}
    points = [{"inner": {"flip": True, "crop": 2}}]
    study, unread = reopen(parts, points, parts | {"rate": bo.Integer(0, 9, default=3)})
    assert (unread, study.trials[0].point) == ([None], points[0] | {"rate": 3})
    before = parts | {"rate": bo.Integer(0, 9, default=3)}
    _, unread = reopen(before, [points[0] | {"rate": rate} for rate in (3, 4)], parts)
    assert unread == [None, "rate: the space cannot represent the trial's value 4, which is not its default"]


def test_a_name_that_becomes_another_thing_is_lost_and_gained() -> None:
    before = {"rate": bo.Ordinal([1, 2]), "aug": bo.Categorical(["none", "full"], default="none")}
    after = {"rate": bo.Ordinal([1, 2]), "aug": {"flip": bo.Binary(default=False)}}
    study, unread = reopen(before, [{"rate": 1, "aug": "none"}, {"rate": 1, "aug": "full"}], after)
    assert unread[0] is None
    assert study.trials[0].point == {"rate": 1, "aug": {"flip": False}}
    assert unread[1] == "aug: the space cannot represent the trial's value 'full', which is not its default"
    assert reopen(after, [study.trials[0].point], before)[0].trials[0].point == {"rate": 1, "aug": "none"}


def test_conditions_on_a_part_are_gained_and_lost() -> None:
    deep = OLD | {"rate": bo.Ordinal([1, 2, 4], when={"network": is_deep}, default=1)}
    study, _ = reopen(OLD, POINTS, deep)
    for trial, one in zip(study.trials, POINTS, strict=True):
        if is_deep(one["network"]):
            assert trial.point == one
        elif one["rate"] == 1:
            assert trial.point == without("rate", one)
        else:
            assert trial.unread.startswith("rate: the space cannot represent")
    shallow = [one if is_deep(one["network"]) else without("rate", one) for one in POINTS]
    _, unread = reopen(deep, shallow, OLD)
    assert unread == [f"rate: {NO_DEFAULT}" if s != p else None for s, p in zip(shallow, POINTS, strict=True)]


def test_a_condition_on_a_part_whose_code_changed_leaves_out_what_it_contradicts() -> None:
    def make(least: int) -> Any:
        return {"inner": INNER, "c": bo.Integer(0, 3, when={"inner": lambda inner: inner["crop"] > least})}

    points = [{"inner": {"flip": True, "crop": 4}, "c": 1}, {"inner": {"flip": True, "crop": 2}, "c": 1}]
    _, unread = reopen(make(0), points, make(2))
    assert unread[0] is None
    assert unread[1] is not None


def test_a_constraint_leaves_out_what_breaks_it_and_back_again_all_is_data(file: Path) -> None:
    def is_small(one: dict[str, Any]) -> bool:
        return one["rate"] < 4

    with open_study(file, OLD) as study:
        for number, one in enumerate(POINTS):
            study.add(one, float(number))
        running = study.ask()
    before = SqliteStorage(file).read(None).trials
    bound = bo.Space(OLD | {"new": bo.Integer(0, 9, default=1)}, [is_small])
    says = r"trials cannot be read in the new space.*\n- point: .* breaks .* is_small"
    with pytest.warns(bo.SpaceChanged, match=says):
        open_study(file, bound).close()
    with open_study(file, bound) as study:  # nothing is said again
        assert [trial.number for trial in study.trials[:3] if trial.unread is not None] == [2]
        assert study.n_unread == 1 + (running.point["rate"] == 4)
    with bo.Study.load(file, read_only=True) as study:  # which has no code
        assert study.n_unread == 1 + (running.point["rate"] == 4)
    with open_study(file, OLD) as study:
        assert study.n_unread == 0
        assert study.ask().point == running.point
    after = SqliteStorage(file).read(None).trials
    assert [one.point for one in after] == [one.point for one in before]
    with bo.Study.load(file) as study:
        assert [change.trials for change in study.space_changes] == [4, 4]


VALUES = {"rate": bo.Ordinal([1, 2, 4]), "inner": {"a": bo.Integer(0, 9), "b": ["x", "y"]}}
GROWN = VALUES | {"inner": VALUES["inner"] | {"c": bo.Real(0.0, 1.0, default=0.5)}, "more": {"d": TRUTH}}


def value(one: dict[str, Any]) -> float:
    inner = one["inner"]
    return one["rate"] + abs(inner["a"] - 4) + (inner["b"] == "x") + inner.get("c", 0.5)


def test_a_grown_study_that_is_resumed_equals_one_that_was_not(tmp_path: Path) -> None:
    points = []
    for cuts in ((16,), (5, 13, 14, 16)):
        file = tmp_path / f"{len(cuts)}.db"
        bo.minimize(value, VALUES, 4, seed=1, storage=file)
        for n_trials in cuts:
            bo.minimize(value, GROWN, n_trials, seed=1, storage=file)
        with bo.Study.load(file) as study:
            points.append([(trial.point, trial.value) for trial in study.trials])
            assert study.n_unread == 0
            assert study.trials[-1].origin == "model"
    assert points[0] == points[1]


def test_changes_of_parts_are_described() -> None:
    with open_study(place := MemoryStorage(), OLD) as study:
        study.add(POINTS[0], 1.0)
    after = without("network", OLD) | {"inner": FLIPS, "more": {"a": TRUTH}}
    with (
        pytest.warns(bo.SpaceChanged, match="\n- network: the space cannot represent"),
        open_study(place, after) as study,
    ):
        described = describe_change(study.first_space, study.space_changes[0].domain)
    assert described == "gained more; lost network; changed inner"


@pytest.mark.parametrize("after", [{"z": [1, 2]}, {"z": {"flip": bool}}, SMALL_CNN, bo.joint_domain({"inner": INNER})])
def test_what_shares_no_name_or_is_no_space_is_refused(after: Any) -> None:
    with open_study(place := MemoryStorage(), OLD) as study:
        study.add(POINTS[0], 1.0)
    with pytest.raises(StudyMismatch, match="with another domain"):
        open_study(place, after)


def test_a_variable_named_as_a_new_test_of_a_part_is_left_out_at_its_default_only() -> None:
    name = "inner satisfies is_cropped"

    def is_cropped(inner: dict[str, Any]) -> bool:
        return inner["crop"] > 0

    before = {"inner": INNER, name: bo.Integer(0, 1, default=1)}
    after = {"inner": INNER, "c": bo.Integer(0, 3, when={"inner": is_cropped}, default=2)}
    inner = {"flip": True, "crop": 2}
    study, unread = reopen(before, [{"inner": inner, name: given} for given in (0, 1)], after)
    assert unread[0] == f"{name}: the space cannot represent the trial's value 0, which is not its default"
    assert unread[1] is None
    assert study.trials[1].point == {"inner": inner, "c": 2}
