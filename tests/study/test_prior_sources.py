"""What may be given as a prior, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.space import Space
from bostruct.storage.protocol import StorageError
from bostruct.study.prior_sources import read_prior

SPACE = Space({"x": bo.Real(0.0, 1.0), "k": ["a", "b"]})


def value(point: dict[str, Any]) -> float:
    return point["x"] + (point["k"] == "a")


def make_study(space: Any = SPACE, **given: Any) -> bo.Study:
    study = bo.Study(space, method="random", seed=3, **given)
    study.optimize(value, 6)
    return study


def test_a_study_a_result_and_a_file_tell_the_same(tmp_path) -> None:
    study = make_study(storage=tmp_path / "runs.db")
    study.tell(study.ask(), failed="no")
    study.ask()
    tasks = read_prior([study, study.result, tmp_path / "runs.db", str(tmp_path / "runs.db")], SPACE, "minimize")
    for task in tasks:
        np.testing.assert_array_equal(task.points, tasks[0].points)
        assert task.values.tolist() == [trial.value for trial in study.trials[:6]]
    assert read_prior(None, SPACE, "minimize") == []


def test_values_to_maximize_are_turned() -> None:
    study = make_study(direction="maximize")
    (task,) = read_prior([study], SPACE, "maximize")
    assert (-task.values).tolist() == [trial.value for trial in study.trials]


def test_a_narrower_space_is_read_by_a_wider_one() -> None:
    wide = Space({"x": bo.Real(-1.0, 2.0), "k": ["a", "b", "c"]})
    (task,) = read_prior([make_study()], wide, "minimize")
    assert [wide.present(x)["k"] for x in task.points] == [t.point["k"] for t in make_study().trials]


@pytest.mark.parametrize("given", [3, "runs.db", {"x": 1}, make_study(), make_study().result])
def test_what_is_no_sequence_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"prior: expected a sequence of studies, such as prior=\[study\]"):
        bo.Study(SPACE, prior=given)


@pytest.mark.parametrize("given", [3, None, {"x": 1}, [make_study()]])
def test_what_is_no_study_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"prior\[1\]: expected a Study, a Result, or the path of a file"):
        bo.Study(SPACE, prior=[make_study(), given])


def test_a_study_in_the_other_direction_is_refused() -> None:
    with pytest.raises(ValueError, match=r"prior\[0\]: expected a study that is to maximize, got .* to minimize"):
        bo.Study(SPACE, direction="maximize", prior=[make_study()])


def test_points_of_another_space_are_refused() -> None:
    narrow = Space({"x": bo.Real(0.0, 1.0), "k": ["b", "c"]})
    with pytest.raises(PointError, match=r"prior\[0\]: trial \d is no point of the new space: .*k"):
        bo.Study(narrow, prior=[make_study()])


def test_a_study_without_completed_trials_is_refused() -> None:
    empty = bo.Study(SPACE)
    empty.tell(empty.ask(), failed="no")
    with pytest.raises(ValueError, match=r"prior\[0\]: expected a study with completed trials, got one of 1 without"):
        bo.Study(SPACE, prior=[empty])


def test_a_file_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(StorageError, match=r"nowhere\.db"):
        bo.Study(SPACE, prior=[tmp_path / "nowhere.db"])


def test_a_file_that_lacks_its_space_is_read_where_the_new_space_is_equal(tmp_path) -> None:
    file = tmp_path / "runs.db"
    variables = {"x": bo.Real(0.0, 1.0), "k": ["a", "b"]}
    bound = [lambda point: point["x"] <= 0.9]
    make_study(Space(variables, constraints=bound), storage=file).close()
    assert len(read_prior([file], Space(variables, constraints=bound), "minimize")[0].values) == 6
    with pytest.raises(ValueError, match=r"prior\[0\]: the file does not hold .*Study\.load"):
        read_prior([file], SPACE, "minimize")
    loaded = bo.Study.load(file, space=Space(variables, constraints=bound), read_only=True)
    assert len(read_prior([loaded], SPACE, "minimize")[0].values) == 6


def test_too_many_studies_are_refused() -> None:
    with pytest.raises(ValueError, match="prior: expected at most 150 studies, got 151"):
        bo.Study(SPACE, prior=[make_study()] * 151)


def test_a_method_that_cannot_learn_says_which_can() -> None:
    with pytest.raises(DomainError, match="such as auto on a Space"):
        bo.minimize(value, SPACE, 3, method="random", prior=[make_study()])


def test_a_search_for_the_largest_value_learns_from_another() -> None:
    earlier = make_study(direction="maximize")
    result = bo.maximize(value, SPACE, 2, seed=1, prior=[earlier])
    assert [trial.origin for trial in result.trials] == ["initial", "initial"]
    assert result.trials[0].point == earlier.best_point


def test_trials_that_were_left_out_of_a_result_stay_out() -> None:
    study = make_study()
    study.add({"x": 0.5, "k": "b"}, value=0.5)
    kept = study.result.where(lambda point: point["k"] == "b")
    (task,) = read_prior([kept], SPACE, "minimize")
    assert task.values.tolist() == [trial.value for trial in study.trials if trial.point["k"] == "b"]
    narrow = Space({"x": bo.Real(0.0, 1.0), "k": ["b", "c"]})
    assert len(read_prior([kept], narrow, "minimize")[0].values) == len(task.values)


def test_a_file_whose_space_changed_is_read_as_it_is_now(tmp_path) -> None:
    study = make_study(storage=tmp_path / "runs.db")
    study.add({"x": 0.5, "k": "b"}, value=0.5)
    study.close()
    changed = {"x": bo.Real(0.0, 1.0), "k": ["b", "c"], "late": bo.Integer(1, 9, default=4)}
    with pytest.warns(bo.SpaceChanged):
        study = bo.Study(changed, method="random", seed=3, storage=tmp_path / "runs.db")
    study.close()
    (task,) = read_prior([tmp_path / "runs.db"], Space(changed), "minimize")
    assert task.values.tolist() == [trial.value for trial in study.trials if trial.unread is None]
    assert 0 < len(task.values) < 7
