"""What may be given as a prior, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.space import Space
from bostruct.goals.declared import Goals
from bostruct.storage.protocol import StorageError
from bostruct.study.prior import read_prior
from tests.architectures import SMALL_CNN

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
    tasks = read_prior([study, study.result, tmp_path / "runs.db", str(tmp_path / "runs.db")], SPACE, Goals())
    for task in tasks:
        np.testing.assert_array_equal(task.points, tasks[0].points)
        assert task.values.tolist() == [trial.value for trial in study.trials[:6]]
    assert read_prior(None, SPACE, Goals()) == []


def test_values_to_maximize_are_turned() -> None:
    study = make_study(direction="maximize")
    (task,) = read_prior([study], SPACE, Goals(("maximize",)))
    assert (-task.values).tolist() == [trial.value for trial in study.trials]


def test_a_narrower_space_is_read_by_a_wider_one() -> None:
    wide = Space({"x": bo.Real(-1.0, 2.0), "k": ["a", "b", "c"]})
    (task,) = read_prior([make_study()], wide, Goals())
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
    with pytest.raises(ValueError, match=r"prior\[0\]: expected a study with the direction maximize, got minimize"):
        bo.Study(SPACE, direction="maximize", prior=[make_study()])


def test_trials_of_another_space_are_read_where_they_can_be_and_the_others_are_named() -> None:
    study = make_study()
    study.add({"x": 0.5, "k": "b"}, value=0.5)
    other = Space({"x": bo.Real(0.0, 1.0), "k": ["b", "c"], "late": bo.Integer(1, 9, default=4)})
    known = [trial for trial in study.trials if trial.point["k"] == "b"]
    says = rf"prior\[0\]: {7 - len(known)} of 7 completed trials .*\n- k: expected one of .* {7 - len(known)} such"
    with pytest.warns(bo.SpaceChanged, match=says):
        (task,) = read_prior([study], other, Goals())
    assert [other.present(x) for x in task.points] == [trial.point | {"late": 4} for trial in known]
    assert task.values.tolist() == [trial.value for trial in known]


def test_the_warning_points_at_the_call() -> None:
    study = make_study(Space(NESTED))
    with pytest.warns(bo.SpaceChanged, match="inner: flip") as said:
        bo.Study(SPACE, prior=[study])
    assert said[0].filename == __file__


def test_a_study_none_of_whose_trials_can_be_read_is_refused() -> None:
    with pytest.raises(PointError, match=r"prior\[0\]: trial 0 is not a point of the new space: k: expected one of"):
        bo.Study({"x": bo.Real(0.0, 1.0), "k": ["c", "d"]}, prior=[make_study()])
    with pytest.raises(PointError, match=r"prior\[0\]: trial 0 is not a point of the new space: new: .* no default="):
        bo.Study({"x": bo.Real(0.0, 1.0), "k": ["a", "b"], "new": bool}, prior=[make_study()])


def test_a_result_that_was_pickled_has_forgotten_its_space_and_is_read_as_it_is() -> None:
    result = pickle.loads(pickle.dumps(make_study().result))
    assert len(read_prior([result], SPACE, Goals())[0].values) == 6
    with pytest.raises(PointError, match=r"prior\[0\]: trial \d is not a point of the new space: k: expected one of"):
        read_prior([result], Space({"x": bo.Real(0.0, 1.0), "k": ["b", "c"]}), Goals())


NETWORKS = {"x": bo.Real(0.0, 1.0), "k": ["a", "b"], "network": SMALL_CNN}
NESTED = {"x": bo.Real(0.0, 1.0), "k": ["a", "b"], "inner": {"flip": bo.Binary(default=False)}}


def test_plain_and_mixed_spaces_read_each_other(tmp_path) -> None:
    study = make_study(storage=tmp_path / "plain.db")
    nested = Space(NESTED)
    for source in (study, study.result, tmp_path / "plain.db"):
        (task,) = read_prior([source], nested, Goals())
        assert [nested.present(x) for x in task.points] == [
            one.point | {"inner": {"flip": False}} for one in study.trials
        ]
    mixed = make_study(nested, storage=tmp_path / "mixed.db")
    kept = [trial for trial in mixed.trials if not trial.point["inner"]["flip"]]
    assert 0 < len(kept) < 6
    with pytest.warns(bo.SpaceChanged, match="inner: flip: the space cannot represent"):
        (task,) = read_prior([tmp_path / "mixed.db"], SPACE, Goals())
    assert task.values.tolist() == [trial.value for trial in kept]


def test_a_part_that_is_no_space_has_no_default() -> None:
    with pytest.raises(
        PointError, match=r"prior\[0\]: trial 0 .* network: the trial has no value for this part, and only"
    ):
        bo.Study(NETWORKS, prior=[make_study()])
    with pytest.raises(
        PointError, match=r"prior\[0\]: trial 0 is not a point of .*: network: the space cannot represent"
    ):
        bo.Study(SPACE, prior=[make_study(NETWORKS)])


def test_a_study_without_completed_trials_is_refused() -> None:
    empty = bo.Study(SPACE)
    empty.tell(empty.ask(), failed="no")
    with pytest.raises(ValueError, match=r"prior\[0\]: expected a study with completed trials, got none among 1"):
        bo.Study(SPACE, prior=[empty])


def test_a_file_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(StorageError, match=r"nowhere\.db"):
        bo.Study(SPACE, prior=[tmp_path / "nowhere.db"])


def test_a_file_that_lacks_its_space_is_read_where_the_new_space_is_equal(file) -> None:
    variables = {"x": bo.Real(0.0, 1.0), "k": ["a", "b"]}
    bound = [lambda point: point["x"] <= 0.9]
    make_study(Space(variables, constraints=bound), storage=file).close()
    assert len(read_prior([file], Space(variables, constraints=bound), Goals())[0].values) == 6
    with pytest.raises(ValueError, match=r"prior\[0\]: the file does not contain .*Study\.load"):
        read_prior([file], SPACE, Goals())
    loaded = bo.Study.load(file, space=Space(variables, constraints=bound), read_only=True)
    assert len(read_prior([loaded], SPACE, Goals())[0].values) == 6


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
    (task,) = read_prior([kept], SPACE, Goals())
    assert task.values.tolist() == [trial.value for trial in study.trials if trial.point["k"] == "b"]
    narrow = Space({"x": bo.Real(0.0, 1.0), "k": ["b", "c"]})
    assert len(read_prior([kept], narrow, Goals())[0].values) == len(task.values)


def test_a_file_whose_space_changed_is_read_as_it_is_now(tmp_path) -> None:
    study = make_study(storage=tmp_path / "runs.db")
    study.add({"x": 0.5, "k": "b"}, value=0.5)
    study.close()
    changed = {"x": bo.Real(0.0, 1.0), "k": ["b", "c"], "late": bo.Integer(1, 9, default=4)}
    with pytest.warns(bo.SpaceChanged):
        study = bo.Study(changed, method="random", seed=3, storage=tmp_path / "runs.db")
    study.close()
    (task,) = read_prior([tmp_path / "runs.db"], Space(changed), Goals())
    assert task.values.tolist() == [trial.value for trial in study.trials if trial.unread is None]
    assert 0 < len(task.values) < 7


def test_rows_of_another_table_are_not_read_by_their_number() -> None:
    mass = np.arange(30.0)
    study = bo.Study({"row": bo.Candidates({"mass": mass})}, method="random", seed=3)
    study.optimize(lambda point: abs(point["row"] - 11), 6)
    study.add({"row": 29}, value=18.0)
    longer = Space({"row": bo.Candidates({"mass": np.append(mass, 40.0)})})
    assert len(read_prior([study], longer, Goals())[0].values) == 7
    turned = np.append(mass[:-1][::-1], 29.0)
    with pytest.warns(
        bo.SpaceChanged, match="6 of 7 .*\n- row: row .* has other descriptors than before, and no label"
    ):
        (task,) = read_prior([study.result], Space({"row": bo.Candidates({"mass": turned})}), Goals())
    assert task.values.tolist() == [18.0]
    with pytest.raises(PointError, match=r"prior\[0\]: trial 0 .* has other descriptors than before, and no label"):
        bo.Study({"row": bo.Candidates({"mass": mass[::-1]})}, prior=[study])


def test_points_of_a_domain_of_another_kind_are_read_as_they_are() -> None:
    joint = bo.joint_domain({"inner": Space({"flip": bo.Binary()}), "outer": Space({"k": ["a", "b"]})})
    study = bo.Study(joint, method="random", seed=3)
    study.optimize(lambda point: float(point["inner"]["flip"]), 3)
    mixed = Space({"inner": {"flip": bo.Binary()}, "outer": {"k": ["a", "b"]}})
    (task,) = read_prior([study], mixed, Goals())
    assert [mixed.present(x) for x in task.points] == [trial.point for trial in study.trials]


def test_rounded_numbers_of_an_earlier_study_are_read_and_noted() -> None:
    earlier = bo.Study({"x": bo.Ordinal([0.0, 0.33, 0.67, 1.0]), "y": bool}, method="random", seed=0)
    for number in (0.33, 0.67):
        earlier.add({"x": number, "y": True}, number)
    space = {"x": bo.Ordinal([0.0, 1 / 3, 2 / 3, 1.0]), "y": bool}
    with pytest.warns(
        UserWarning, match=r"prior\[0\]: numbers are read as .*\n- x: 2 such, the first 0\.33, read as 0\.333"
    ):
        bo.Study(space, seed=0, prior=[earlier])
