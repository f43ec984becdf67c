"""The trials that a study learns from, as its file holds them: which are kept, and that runs resume with them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.storage.json_text import dump, parse
from bostruct.storage.protocol import StorageError, StudyMismatch
from bostruct.storage.sqlite import SqliteStorage
from bostruct.study.prior import MOST_TRIALS, select_trials, stored_prior, with_prior
from bostruct.study.space_changes import current_row
from tests.architectures import SMALL_CNN

SPACE = {"x": bo.Real(0.0, 1.0), "kind": ["a", "b", "c"], "width": bo.Ordinal([1, 2, 4, 8])}


def value(point: dict[str, Any], shift: float = 0.0) -> float:
    return (point["x"] - 0.3 - shift) ** 2 + (point["kind"] != "b") + point["width"] / 8


def earlier(seed: int = 1, n_trials: int = 15) -> bo.Result:
    return bo.minimize(lambda point: 10 * value(point, 0.05), SPACE, n_trials, seed=seed)


def points(result: Any) -> list[object]:
    return [trial.point for trial in result.trials]


def test_a_run_that_is_resumed_without_its_prior_asks_what_an_uninterrupted_one_does(file) -> None:
    whole = bo.minimize(value, SPACE, 14, seed=2, prior=[earlier()])
    with bo.Study(SPACE, seed=2, storage=file, prior=[earlier()]) as study:
        study.optimize(value, 7)
    with bo.Study.load(file) as study:
        assert points(study.optimize(value, 10)) == points(whole)[:10]
    with bo.Study(SPACE, seed=2, storage=file, prior=[earlier()]) as study:  # given again, and equal
        study.optimize(value, 12)
    again = bo.minimize(value, SPACE, 14, seed=2, storage=file)
    assert points(again) == points(whole)
    assert [trial.info.get("transfer") for trial in again.trials] == [t.info.get("transfer") for t in whole.trials]
    assert whole.trials[-1].info["transfer"] is not None
    read = bo.Study.load(file, read_only=True)
    found, expected = read.result.recommended, whole.recommended
    assert (found.trial.number, found.mean) == (expected.trial.number, expected.mean)


def test_a_copy_keeps_the_prior(file) -> None:
    with bo.Study(SPACE, seed=2, prior=[earlier()]) as study:
        study.optimize(value, 7)
        study.save(file)
        more = points(study.optimize(value, 9))
    with bo.Study.load(file) as copy:
        assert points(copy.optimize(value, 9)) == more


def test_another_prior_is_refused(file) -> None:
    bo.minimize(value, SPACE, 6, seed=2, storage=file, prior=[earlier()])
    with pytest.raises(StudyMismatch, match=r"another prior: .* 15 there, 12 here; omit prior="):
        bo.Study(SPACE, seed=2, storage=file, prior=[earlier(n_trials=12)])
    with pytest.raises(StudyMismatch, match="15 there, 15 here with other points or values"):
        bo.Study(SPACE, seed=2, storage=file, prior=[earlier(seed=4)])
    bo.minimize(value, SPACE, 3, seed=2, storage=file, name="alone")
    with pytest.raises(StudyMismatch, match="none there, 15 here"):
        bo.Study(SPACE, seed=2, storage=file, name="alone", prior=[earlier()])


def test_another_method_is_named_before_it_is_asked_to_learn_from_the_prior(file) -> None:
    bo.minimize(value, SPACE, 6, seed=2, storage=file, prior=[earlier()])
    before = file.read_bytes()
    random = methods.searcher("random", bo.Space(SPACE))
    for given in ({"method": "random"}, {"method": random}, {"space": SPACE | {"new": bo.Binary(default=True)}}):
        call = {"space": SPACE, "method": "annealing"} | given
        with pytest.raises(StudyMismatch, match=r"with another method: method.name is 'auto' there and .* here"):
            bo.Study(**call, seed=2, storage=file)
    with pytest.raises(StudyMismatch, match="with another method"):
        bo.Study.load(file, method="random")
    with pytest.raises(StudyMismatch, match="with other goals"):
        bo.Study(SPACE, method="random", direction="maximize", storage=file)
    assert file.read_bytes() == before


def test_studies_without_a_prior_are_described_as_they_were(file) -> None:
    bo.minimize(value, SPACE, 1, seed=2, storage=file, prior=[])
    (row,) = SqliteStorage(file).studies()
    assert set(parse(row.method)) == {"name", "searcher", "settings"}
    assert stored_prior(row) == []


@pytest.mark.parametrize(
    "prior", [3, [3], [{"points": []}], [{"points": [], "values": []}], [{"points": [[0, 0, 0]], "values": ["1"]}]]
)
def test_a_prior_that_makes_no_sense_is_no_study(file, prior: object) -> None:
    bo.minimize(value, SPACE, 1, seed=2, storage=file)
    (row,) = SqliteStorage(file).studies()
    broken = row._replace(method=dump(parse(row.method) | {"prior": prior}))
    with pytest.raises(StorageError, match="prior"):
        stored_prior(broken)


@pytest.mark.parametrize("point", [[0, 0], [0, 7, 0], "x", None, [0.5, {}, 0]])
def test_a_point_on_record_that_is_none_of_the_space_is_refused(point: object) -> None:
    searcher = methods.auto(bo.Space(SPACE))
    with pytest.raises(StorageError, match="stored prior"):
        with_prior(searcher, [{"points": [point], "values": [1.0]}])


def test_the_best_and_an_even_spread_of_the_others_are_kept() -> None:
    values = np.random.default_rng(0).permutation(1000).astype(float)
    kept = values[select_trials(values, 20)]
    assert len(set(kept.tolist())) == 20
    assert set(range(10)) <= set(kept.tolist())
    assert kept.max() == 999
    assert np.diff(np.sort(kept)[10:]).max() < 115
    assert select_trials(values[:20], 20) == list(range(20))
    assert select_trials(values, 1) == [int(values.argmin())]


def test_all_studies_together_keep_no_more_than_the_limit(file) -> None:
    many = bo.Study(SPACE, method="random")
    many.optimize(value, MOST_TRIALS + 20)
    bo.Study(SPACE, seed=1, storage=file, prior=[many, many, earlier()]).close()
    (row,) = SqliteStorage(file).studies()
    assert [len(task["values"]) for task in stored_prior(row)] == [50, 50, 15]


def test_a_prior_grows_with_the_space(file) -> None:
    """Points that the new space cannot read are left out of the prior; the others have the new variable's default."""
    bo.minimize(value, SPACE, 8, seed=2, storage=file, prior=[earlier()])
    before = stored_prior(SqliteStorage(file).read("study").study)
    grown = {**SPACE, "kind": ["a", "b"], "late": bo.Integer(1, 9, default=4)}
    with pytest.warns(bo.SpaceChanged, match="3 of 15 trials of its prior cannot be read"):
        result = bo.minimize(lambda point: value(point) + point["late"], grown, 12, seed=2, storage=file)
    assert result.trials[-1].info["transfer"] is not None
    row = current_row(SqliteStorage(file).read("study"))
    kept = stored_prior(row)[0]["points"]
    assert kept == [{**point, "late": 4} for point in before[0]["points"] if point["kind"] != "c"]
    again = bo.minimize(lambda point: value(point) + point["late"], grown, 13, seed=2, storage=file)
    assert points(again)[:12] == points(result)


MIXED = {"x": bo.Real(0.0, 1.0), "network": SMALL_CNN, "inner": {"flip": bool, "crop": [0, 2, 4]}}


def mixed_value(point: dict[str, Any]) -> float:
    return point["x"] + abs(len(point["network"].layers) - 9) + point["inner"]["crop"] + point["inner"]["flip"]


def test_a_mixed_space_learns_from_a_prior_and_resumes_with_it(file) -> None:
    before = bo.minimize(mixed_value, MIXED, 12, seed=1, method="evolution")
    whole = bo.minimize(mixed_value, MIXED, 9, seed=2, prior=[before])
    assert whole.trials[0].point == before.best_point
    assert whole.trials[-1].info["transfer"] is not None
    bo.minimize(mixed_value, MIXED, 6, seed=2, storage=file, prior=[before])
    again = bo.minimize(mixed_value, MIXED, 9, seed=2, storage=file)
    assert points(again) == points(whole)


def test_the_prior_of_a_mixed_space_grows_with_it(file) -> None:
    before = bo.minimize(mixed_value, MIXED, 12, seed=1, method="random")
    bo.minimize(mixed_value, MIXED, 1, seed=2, storage=file, prior=[before])
    grown = MIXED | {"inner": {"flip": bool, "crop": [0, 2], "hue": bo.Integer(0, 9, default=5)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bo.SpaceChanged)  # of a trial with the crop 4, if there is one
        result = bo.minimize(mixed_value, grown, 7, seed=2, storage=file)
    kept = stored_prior(current_row(SqliteStorage(file).read("study")))[0]
    read = [trial for trial in before.trials if trial.point["inner"]["crop"] < 4]
    assert 0 < len(read) < 12
    assert kept["values"] == [trial.value for trial in read]
    assert [one["inner"] for one in kept["points"]] == [trial.point["inner"] | {"hue": 5} for trial in read]
    assert points(bo.minimize(mixed_value, grown, 8, seed=2, storage=file))[:7] == points(result)
