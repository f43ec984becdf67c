"""The sampler knows every trial of its study, also those that ended early, and none of another one."""

from __future__ import annotations

import logging

import optuna
import pytest
from optuna.storages import InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial

import bostruct as bo
from bostruct.integrations.optuna import BostructSampler

GRID = {"x": [0, 1, 2, 3, 4], "y": [0, 1, 2, 3, 4]}
MOMENTUM = bo.Real(0.0, 0.9, when={"kind": "b"})
CONDITIONAL = bo.Space({"kind": ["a", "b"], "rate": bo.Real(0.0, 1.0), "momentum": MOMENTUM})


def list_chosen(study):
    points = (trial.system_attrs["bostruct:point"] for trial in study.trials)
    return [(point["x"], point["y"]) for point in points]


@pytest.mark.parametrize("ending", [RuntimeError, optuna.TrialPruned])
@pytest.mark.parametrize("restarts", [False, True])
def test_points_whose_trials_ended_early_are_not_chosen_again(ending, restarts, tmp_path):
    def objective(trial):
        if (x := trial.suggest_categorical("x", GRID["x"])) > 1:
            raise ending
        return x + trial.suggest_categorical("y", GRID["y"])

    storage = JournalStorage(JournalFileBackend(str(tmp_path / "journal.log"))) if restarts else InMemoryStorage()
    study = optuna.create_study(storage=storage, sampler=BostructSampler(GRID, method="random", seed=0))
    for _ in range(5):
        study.optimize(objective, 5, catch=RuntimeError)
        if restarts:
            study.sampler = BostructSampler(GRID, method="random", seed=0)
    ours = bo.Study(GRID, method="random", seed=0)
    assert len(set(list_chosen(study))) == 25
    assert list_chosen(study) == [(p["x"], p["y"]) for p in (ours.domain.encode(x) for x in ask_all(ours))]


def ask_all(study):
    """Return the 25 points of a study of ours that fail where those of the objective do."""
    while len(study.trials) < 25:
        trial = study.ask()
        study.tell(trial, **({"failed": "early"} if trial.point["x"] > 1 else {"value": sum(trial.point.values())}))
    return [study.domain.parse(trial.point) for trial in study.trials]


@pytest.mark.parametrize(
    ("ending", "declared"), [(RuntimeError, True), (optuna.TrialPruned, True), (RuntimeError, False)]
)
def test_a_model_learns_from_trials_that_ended_early(ending, declared):
    def objective(trial):
        if (x := trial.suggest_float("x", 0, 1)) > 0.5:
            raise ending
        return x + trial.suggest_float("y", 0, 1)

    sampler = BostructSampler({"x": bo.Real(0, 1), "y": bo.Real(0, 1)} if declared else None, method="random", seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, 12, catch=RuntimeError)
    study.ask().suggest_float("x", 0, 1)
    ended = [trial for trial in study.trials[:-1] if "y" not in trial.params]
    known = [trial.params["x"] for trial in ended if "bostruct:point" in trial.system_attrs]
    model = sampler._trials.model
    assert [model.domain.present(x)["x"] for x in model._failed.read()] == known
    assert 0 < len(known) == len(ended) - sum(trial.number == 0 for trial in ended) * (not declared)


def test_a_trial_that_is_tried_again_has_the_point_that_it_had():
    study = optuna.create_study(sampler=BostructSampler({"x": bo.Real(0, 1), "y": bo.Real(0, 1)}, seed=0))
    first = study.ask()
    first.suggest_float("x", 0, 1)
    study.tell(first, state=TrialState.FAIL)
    (failed,) = study.trials  # added again as a callback of stale trials does it
    kept = {"params": failed.params, "distributions": failed.distributions, "system_attrs": failed.system_attrs}
    study.add_trial(create_trial(state=TrialState.WAITING, **kept))
    again = study.ask()
    assert [again.suggest_float("x", 0, 1), again.suggest_float("y", 0, 1)] == list(list_chosen(study)[0])


def test_parameters_that_a_condition_leaves_out_make_no_trial_less():
    def objective(trial):
        kind, rate = trial.suggest_categorical("kind", ["a", "b"]), trial.suggest_float("rate", 0, 1)
        return (kind == "a") + rate + trial.suggest_float("momentum", 0, 0.9)

    sampler = BostructSampler(CONDITIONAL, method="random", seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, 12)
    study.ask().suggest_float("rate", 0, 1)
    model = sampler._trials.model
    assert model._measurements.read().values.tolist() == [trial.value for trial in study.trials[:-1]]
    told = [model.domain.present(x) for x in model._completed.read()]
    assert {("momentum" in point) == (point["kind"] == "b") for point in told} == {True}
    assert bo.Study.from_optuna(study, CONDITIONAL).best_value == study.best_value


def test_a_trial_with_values_that_fits_no_point_is_logged_once(caplog):
    study = optuna.create_study(sampler=BostructSampler({"x": bo.Real(0, 1)}, method="random", seed=0))
    for x in (5.0, 6.0):
        distributions = {"x": optuna.distributions.FloatDistribution(0, 9)}
        study.add_trial(create_trial(value=x, params={"x": x}, distributions=distributions))
    with caplog.at_level(logging.WARNING, "bostruct"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 3)
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith("BostructSampler: trial 0 has values, but the method ignores it: x: expected")


def test_one_sampler_keeps_studies_of_one_name_apart():
    def limited(trial):
        trial.set_constraint("c", trial.suggest_float("x", 0, 1) - 0.5)
        return 100.0

    sampler = BostructSampler({"x": bo.Real(0, 1)}, method="random", seed=0)
    optuna.create_study(study_name="run", sampler=sampler).optimize(limited, 5)
    other = optuna.create_study(study_name="run", sampler=sampler)
    other.optimize(lambda trial: trial.suggest_float("x", 0, 1), 7)
    model = sampler._trials.model
    assert model.goals.limits == ()
    assert model._measurements.read().values.tolist() == [trial.value for trial in other.trials[:-1]]


def test_structured_values_are_known_between_trials_of_two_studies():
    sampler = BostructSampler(structure={"order": bo.Permutation(list("abcdef"))}, method="random", seed=0)
    studies = [optuna.create_study(study_name="run", sampler=sampler) for _ in range(2)]
    trials = [study.ask() for study in studies]
    chosen = [trial.relative_params == {} and sampler._trials.find_chosen(trial.study, 0)["order"] for trial in trials]
    assert [list(sampler.suggest(trial, "order")) for trial in trials] == chosen


def test_a_misspelled_method_is_refused_before_a_trial_is_paid_for():
    with pytest.raises(ValueError, match=r"[Dd]id you mean .*auto"):
        BostructSampler(method="atuo")
