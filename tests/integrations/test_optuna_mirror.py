"""A mirror of a study is what Optuna's own tools read, and it grows with the study."""

from __future__ import annotations

import optuna
import pytest
from optuna.storages import InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.integrations.optuna_studies import StudyMirror, mirror_study

SPACE = bo.Space(
    {
        "order": bo.Permutation(list("abc")),
        "rate": bo.Real(0.0, 1.0),
        "kind": ["a", "b"],
        "width": bo.Integer(1, 64, log=True, when={"kind": "b"}),
    }
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "optuna.log"


def load(path, name="study"):
    return optuna.load_study(study_name=name, storage=JournalStorage(JournalFileBackend(str(path))))


def cost(point):
    if point["rate"] > 0.8:
        raise ValueError("diverged")
    return point["rate"] + point.get("width", 3)


def make_study(n=12, **settings):
    study = bo.Study(SPACE, method="random", seed=0, **settings)
    study.optimize(cost, n)
    return study


@pytest.mark.parametrize("space", [SPACE, bo.Space({"x": bo.Real(0, 1)})], ids=["order", "x"])
def test_attributes_of_any_name_come_back(path, space):
    study = bo.Study(space, method="random", seed=0)
    names = ["n", "bostruct", "order", "x", "point", "attribute.order", "attribute.bostruct", "attribute.n"]
    kept = {name: i for i, name in enumerate(names)}
    study.tell(study.ask(), 1.0, attributes=kept)
    mirror_study(study, path)
    again = bo.Study.from_optuna(load(path), method="random")
    assert [(trial.point, trial.attributes) for trial in again.trials] == [(study.trials[0].point, kept)]


def test_every_trial_is_there_with_what_came_of_it(path):
    study = make_study()
    mirror_study(study, path)
    mirrored = load(path)
    assert mirrored.best_value == study.best_value
    for ours, theirs in zip(study.trials, mirrored.trials, strict=True):
        assert theirs.params == {name: value for name, value in ours.point.items() if name != "order"}
        assert theirs.user_attrs["order"] == list(ours.point["order"])
        assert theirs.state is (TrialState.COMPLETE if ours.status == "completed" else TrialState.FAIL)
        assert theirs.value == ours.value
        assert theirs.user_attrs["bostruct"].get("reason") == ours.reason
        assert theirs.datetime_start.timestamp() == pytest.approx(ours.started, abs=1e-5)
    assert {trial.state for trial in mirrored.trials} == {TrialState.COMPLETE, TrialState.FAIL}


def test_mirrored_again_it_has_what_is_new_and_nothing_twice(path):
    study = make_study(5)
    mirror_study(study, path)
    before = path.read_bytes()
    mirror_study(study, path)
    assert path.read_bytes() == before
    study.optimize(cost, 8)
    mirror_study(study, path)
    assert path.read_bytes().startswith(before)
    assert [trial.value for trial in load(path).trials] == [trial.value for trial in study.trials]


@pytest.mark.parametrize("content", [b"notes", b"SQLite format 3\0" + bytes(100), b'{"op_code": "mine"}'])
def test_a_file_that_is_no_journal_is_left(path, content):
    path.write_bytes(content)
    with pytest.raises(FileExistsError, match="give another path: "):
        mirror_study(make_study(2), path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [None, b""])
def test_a_tilde_is_the_home_directory(content, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "a.log").write_bytes(content)
    mirror_study(make_study(2), "~/a.log")
    assert [one.name for one in tmp_path.iterdir()] == ["a.log"]
    assert len(load(tmp_path / "a.log").trials) == 2


def test_a_callback_mirrors_a_study_that_runs(path):
    study, seen = bo.Study(SPACE, method="random", seed=0), []
    callbacks = [StudyMirror(path), lambda *_: seen.append(len(load(path).trials))]
    study.optimize(cost, 4, callbacks=callbacks)
    assert seen == [1, 2, 3, 4]


def test_running_trials_are_finished_later(path):
    study, mirror = bo.Study(SPACE, method="random", seed=0, constraints={"size": ("<=", 2.0)}), StudyMirror(path)
    trials = study.ask(3)
    study.tell(trials[1], {"value": 1.0, "constraints": {"size": 3.0}})
    mirror(study)
    states = [trial.state for trial in load(path).trials]
    assert states == [TrialState.RUNNING, TrialState.COMPLETE, TrialState.RUNNING]
    study.tell(trials[0], {"value": 2.0, "constraints": {"size": 1.5}})
    study.tell(trials[2], infeasible="too large")
    mirror(study)
    mirrored = load(path)
    assert [trial.value for trial in mirrored.trials] == [2.0, 1.0, None]
    assert [trial.constraints for trial in mirrored.trials] == [{"size": -0.5}, {"size": 1.0}, {}]
    assert mirrored.best_trial.number == 0
    assert mirrored.trials[2].user_attrs["bostruct"]["reason"] == "too large"


def test_a_trial_that_is_handed_out_again_is_there_twice(path):
    study, mirror = bo.Study(SPACE, method="random", seed=0), StudyMirror(path)
    study.tell(study.ask(), failed="no network")
    mirror(study)
    study.requeue(0)
    mirror(study)
    study.tell(study.ask(), 1.0)
    mirror(study)
    mirror(study)
    assert [(trial.state.name, trial.value) for trial in load(path).trials] == [("FAIL", None), ("COMPLETE", 1.0)]


def test_reports_are_intermediate_values_and_stopped_trials_pruned():
    def train(point):
        for step in range(4):
            bo.report(step, point["rate"] + 1 / (step + 1))
        return point["rate"]

    study = bo.Study({"rate": bo.Real(0, 1)}, method="random", seed=0)
    study.optimize(train, 12, stopping_rule=bo.MedianRule())
    storage = InMemoryStorage()
    mirror_study(study, storage)
    mirrored = optuna.load_study(study_name="study", storage=storage)
    assert {trial.state for trial in mirrored.trials} == {TrialState.COMPLETE, TrialState.PRUNED}
    for ours, theirs in zip(study.trials, mirrored.trials, strict=True):
        assert [list(one) for one in ours.info["reports"]] == [list(one) for one in theirs.intermediate_values.items()]
        assert theirs.value == ours.value
        assert (theirs.state is TrialState.PRUNED) == ("stopped_at" in ours.info)


def test_several_objectives_have_their_front(path):
    study = bo.Study({"a": bo.Real(0, 1), "b": range(5)}, method="random", seed=0, directions=["minimize", "maximize"])
    result = study.optimize(lambda point: (point["a"] + point["b"], point["b"] - point["a"]), 10)
    mirror_study(study, path)
    front = {tuple(trial.values) for trial in load(path).best_trials}
    assert front == {trial.values for trial in result.pareto_front}


def test_studies_share_a_file_and_other_directions_are_refused(path):
    mirror_study(make_study(2), path)
    mirror_study(make_study(3, name="other"), path)
    assert [len(load(path, name).trials) for name in ("study", "other")] == [2, 3]
    with pytest.raises(ValueError, match="with the directions maximize, got minimize"):
        mirror_study(bo.Study(SPACE, direction="maximize"), path)


def test_what_cannot_be_mirrored_is_said(tmp_path, path):
    with pytest.raises(TypeError, match="storage: expected a path"):
        StudyMirror(3)
    space = bo.Space({"a": bool, "b": bool}, constraints=[lambda point: point["a"] or point["b"]])
    bo.Study(space, storage=tmp_path / "runs.db", seed=0).close()
    with pytest.raises(DomainError, match=r"was loaded without its space; use Study\.load"):
        mirror_study(bo.Study.load(tmp_path / "runs.db", read_only=True), path)


def test_a_storage_that_refuses_other_choices_is_named(tmp_path):
    class Relational(InMemoryStorage):
        def create_new_trial(self, study_id, template_trial=None):
            if template_trial.params.get("kind") == "c":
                raise ValueError("CategoricalDistribution does not support dynamic value space.")
            return super().create_new_trial(study_id, template_trial)

    bo.Study({"kind": ["a", "b"]}, storage=tmp_path / "runs.db").close()
    study = bo.Study({"kind": ["a", "c"]}, storage=tmp_path / "runs.db")
    study.add({"kind": "c"}, 1.0)
    with pytest.raises(ValueError, match=r"trial 0 of study 'study' .* A journal file takes both"):
        mirror_study(study, Relational())
    study.close()


def test_another_study_of_the_same_name_is_refused_and_a_reopened_one_goes_on(path, tmp_path):
    def run(n_trials: int) -> bo.Study:
        study = bo.Study({"a": range(9)}, method="random", seed=0, name="m", storage=tmp_path / "runs.db")
        study.optimize(lambda point: float(point["a"]), n_trials, progress=False)
        return study

    for n_trials in (2, 4):
        with run(n_trials) as study:
            mirror_study(study, path)
    assert len(load(path, "m").trials) == 4
    other = bo.Study({"a": range(9)}, method="random", seed=0, name="m")
    with pytest.raises(ValueError, match="expected no other study 'm'"):
        mirror_study(other, path)
