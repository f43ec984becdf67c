"""A study made of one of Optuna has its points and values; a mirrored study comes back as it was."""

from __future__ import annotations

import warnings

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState, create_trial

import bostruct as bo
from bostruct.contracts import BostructError, DomainError, PointError
from bostruct.integrations.optuna import BostructSampler
from bostruct.integrations.optuna_studies import StudyMirror, import_study, mirror_study

VARIABLES = {
    "real": bo.Real(-1.0, 1.0),
    "log": bo.Real(1e-6, 1.0, log=True),
    "count": bo.Integer(1, 10**6, log=True),
    "steps": range(0, 30, 3),
    "flag": bool,
    "kind": ["a", 1, None, 0.5],
    "shape": bo.Ordinal([(1, 2), (3, 4)]),
    "order": bo.Permutation(list("abcd")),
    "some": bo.Permutation(list("abcd"), length=2),
    "team": bo.Subset([1, 2, 3], (0, 3)),
    "word": bo.Sequence("xy", (1, 4)),
    "child": bo.Real(0.0, 1.0, when={"parent": 2}),
    "parent": [1, 2],
}
X = FloatDistribution(0.0, 1.0)


def mirror(study):
    storage = InMemoryStorage()
    mirror_study(study, storage)
    return optuna.load_study(study_name=study.name, storage=storage)


def facts(study):
    shown = ("status", "values", "reason", "constraints", "broken", "sd", "repeats")
    return [(trial.point, *(getattr(trial, name) for name in shown)) for trial in study.trials]


def make_study(*trials, **settings):
    study = optuna.create_study(**settings)
    study.add_trials(trials)
    return study


def make_trial(x, **given):
    return create_trial(params={"x": x}, distributions={"x": X}, **given)


@given(
    st.sets(st.sampled_from(sorted(VARIABLES.keys() - {"child", "parent", "shape"})), max_size=4),
    st.sampled_from([("minimize",), ("maximize",), ("maximize", "minimize")]),
    st.lists(st.tuples(st.sampled_from(["value", "failed", "infeasible"]), st.floats(-1e6, 1e6)), max_size=5),
)
@settings(max_examples=25, deadline=None)
def test_a_mirrored_study_comes_back_as_it_was(names, directions, told):
    space = {name: VARIABLES[name] for name in (*sorted(names), "parent", "child")}
    goals = {"direction": directions[0]} if len(directions) == 1 else {"directions": directions}
    study = bo.Study(space, method="random", seed=0, constraints={"size": ("<=", 10.1)}, **goals)
    for kind, number in told:
        value = number if len(directions) == 1 else (number, -number)
        outcome = {"value": {"value": value, "constraints": {"size": number}}} if kind == "value" else {kind: "why"}
        study.tell(study.ask(), **outcome)
    back = bo.Study.from_optuna(mirror(study))
    assert (back.domain, back.goals) == (study.domain, study.goals)
    assert facts(back) == facts(study)


def test_noise_and_a_trial_that_was_handed_out_again_come_back():
    study = bo.Study({"x": bo.Real(0, 1)}, method="random", seed=0)
    study.tell(study.ask(), failed="no network")
    storage = InMemoryStorage()
    mirror_study(study, storage)
    study.requeue(0)
    study.tell(study.ask(), repeats=[1.0, 2.0, 4.5])
    study.tell(study.ask(), 3.0, sd=0.5)
    mirror_study(study, storage)
    assert facts(bo.Study.from_optuna(optuna.load_study(study_name="study", storage=storage))) == facts(study)


def test_a_space_that_no_storage_holds_is_asked_for():
    study = bo.Study({"shape": VARIABLES["shape"]}, method="random", seed=0)
    study.optimize(lambda point: point["shape"][0], 2)
    with pytest.raises(DomainError, match=r"does not contain the space of the study: .*; give it as space="):
        bo.Study.from_optuna(mirror(study))
    assert facts(bo.Study.from_optuna(mirror(study), study.domain)) == facts(study)


def test_a_study_of_optuna_goes_on_here():
    def objective(trial):
        if trial.number == 3:
            raise ValueError("diverged")
        trial.set_constraint("size", trial.suggest_int("k", 0, 20, step=2) - 14)
        return trial.suggest_float("x", 0, 1) + trial.suggest_categorical("kind", ["a", "b"]).count("a")

    theirs = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    theirs.optimize(objective, 12, catch=ValueError)
    study = bo.Study.from_optuna(theirs, method="random", seed=0)
    assert study.domain == bo.Space({"k": bo.Integer(0, 20, step=2), "x": bo.Real(0, 1), "kind": ["a", "b"]})
    done = [trial for trial in theirs.trials if trial.state is TrialState.COMPLETE]
    assert [(trial.point, trial.value) for trial in study.trials] == [(trial.params, trial.value) for trial in done]
    assert str(study.goals) == "maximize, size <= 0"
    assert study.best_trial.value == theirs.best_value
    result = study.optimize(lambda point: {"value": point["x"], "constraints": {"size": 0.0}}, 2)
    assert len(result.trials) == 13


def test_states_of_optuna_are_outcomes_here():
    told = {  # x -> what Optuna has of its trial, and what it is here; None where it is not here
        0.1: ({"value": 1.0}, ("completed", 1.0)),
        0.2: ({"state": TrialState.PRUNED}, ("infeasible", None)),
        0.3: ({"state": TrialState.PRUNED, "value": 3.0}, ("completed", 3.0)),
        0.4: ({"state": TrialState.FAIL}, ("failed", None)),
        0.5: ({"value": float("inf")}, ("failed", None)),
        0.6: ({"state": TrialState.RUNNING}, None),
        0.7: ({"value": 2.0, "constraints": {"size": 1.0}}, ("infeasible", None)),
        0.8: ({"value": 2.5, "constraints": {"size": -1.0}}, ("completed", 2.5)),
    }
    study = make_study(*(make_trial(x, **given) for x, (given, _) in told.items()), create_trial(state=TrialState.FAIL))
    found = {trial.point["x"]: (trial.status, trial.value) for trial in bo.Study.from_optuna(study).trials}
    assert list(found.items()) == [(x, expected) for x, (_, expected) in told.items() if expected is not None]


BOTH = create_trial(value=1.0, params={"x": 0.9, "y": 0.9}, distributions={"x": X, "y": X})
CONDITIONAL = [make_trial(0.1, value=1.0), BOTH]


def layered(trial):
    """An objective with conditions: on a categorical, on an integer, and on a parameter that has one itself."""
    optimizer = trial.suggest_categorical("optimizer", ["adam", "sgd", "lbfgs"])
    value = trial.suggest_float("rate", 1e-5, 1.0, log=True)
    if optimizer == "sgd":
        value += trial.suggest_float("momentum", 0.0, 0.99)
        if trial.suggest_categorical("schedule", ["none", "cosine"]) == "cosine":
            value += trial.suggest_int("period", 1, 20)
    for i in range(trial.suggest_int("n_layers", 1, 3)):
        value += trial.suggest_int(f"width{i}", 8, 64)
    return value


LAYERED = {
    "optimizer": ["adam", "sgd", "lbfgs"],
    "rate": bo.Real(1e-5, 1.0, log=True),
    "momentum": bo.Real(0.0, 0.99, when={"optimizer": "sgd"}),
    "schedule": bo.Categorical(["none", "cosine"], when={"optimizer": "sgd"}),
    "period": bo.Integer(1, 20, when={"schedule": "cosine"}),
    "n_layers": bo.Integer(1, 3),
    "width0": bo.Integer(8, 64),
    "width1": bo.Integer(8, 64, when={"n_layers": bo.OneOf(2, 3)}),
    "width2": bo.Integer(8, 64, when={"n_layers": 3}),
}


def test_conditions_are_inferred_as_by_the_sampler():
    theirs = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    theirs.optimize(layered, 40)
    study = bo.Study.from_optuna(theirs, method="random", seed=0)
    assert [trial.point for trial in study.trials] == [trial.params for trial in theirs.trials]
    given = bo.Space(LAYERED)
    assert study.domain.variables.keys() == given.variables.keys()
    points = [given.present(x) for x in given.sample(200, np.random.default_rng(0))]
    for point in points:  # the same points exist in both, so the conditions are the same
        study.domain.parse(point)
    for point in (study.domain.present(x) for x in study.domain.sample(200, np.random.default_rng(0))):
        given.parse(point)
    sampler = BostructSampler(seed=0)
    more = optuna.create_study(sampler=sampler)
    more.add_trials(theirs.trials)
    more.optimize(layered, 1)
    assert sampler._trials.model.domain.variables == study.domain.variables


def test_a_parameter_of_one_value_needs_no_condition():
    """It is no variable, so nobody has to know when it is there."""
    some = {"x": X, "k": IntDistribution(3, 3)}
    other = create_trial(value=1.0, params={"x": 0.2, "k": 3}, distributions=some)
    study = make_study(make_trial(0.1, value=1.0), other)
    assert bo.Study.from_optuna(study).domain == bo.Space({"x": bo.Real(0, 1)})


def test_parameters_that_some_trials_lack_need_a_space():
    study = make_study(*CONDITIONAL)
    with pytest.raises(DomainError, match=r"y: 1 of 2 trials with values lack it, such as trial 0, .*when="):
        bo.Study.from_optuna(study)
    space = {"x": bo.Real(0, 1), "y": bo.Real(0, 1, when={"x": lambda x: x > 0.5})}
    assert [trial.point for trial in bo.Study.from_optuna(study, space).trials] == [{"x": 0.1}, {"x": 0.9, "y": 0.9}]
    with pytest.raises(PointError, match="trial 0 of the study of Optuna: point: missing y"):
        bo.Study.from_optuna(study, {"x": bo.Real(0, 1), "y": bo.Real(0, 1)})


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([], "space: no trial with values has a parameter"),
        ([(0.1, X), (2, IntDistribution(0, 3))], "x: trial 1 has IntDistribution"),
        ([(1, CategoricalDistribution([1, True]))], "x: Categorical: expected distinct choices"),
    ],
)
def test_distributions_that_tell_no_space_are_named(told, words):
    trials = [create_trial(value=1.0, params={"x": x}, distributions={"x": given}) for x, given in told]
    with pytest.raises(DomainError) as caught:
        bo.Study.from_optuna(make_study(*trials))
    assert words in str(caught.value)


def test_wrong_arguments_are_named(tmp_path):
    with pytest.raises(TypeError, match="optuna_study: expected a study of Optuna"):
        bo.Study.from_optuna("optuna.log")
    study, path = make_study(CONDITIONAL[0]), tmp_path / "runs.db"
    bo.Study.from_optuna(study, storage=path, seed=0).close()
    with pytest.raises(BostructError, match=r"expected a storage without study 'study'; Study\.load opens it"):
        bo.Study.from_optuna(study, storage=path, seed=0)
    assert len(bo.Study.load(path).trials) == 1


def test_a_class_of_ones_own_is_made():
    class Mine(bo.Study):
        pass

    assert type(import_study(Mine, make_study(CONDITIONAL[0]), None)) is Mine


FIRST = {"x": bo.Real(0, 1), "c": ["a", "b"]}


@pytest.mark.parametrize(
    ("space", "is_read"),
    [
        ({"x": bo.Real(0, 2), "c": ["a", "b", "c"]}, lambda _: True),
        ({"x": bo.Real(0, 1), "c": ["a", "c"]}, lambda point: point["c"] == "a"),
        ({"x": bo.Real(0, 0.5), "c": ["a", "b"]}, lambda point: point["x"] <= 0.5),
        ({**FIRST, "new": bo.Integer(1, 9, default=4)}, lambda _: True),
        ({"x": bo.Real(0, 1)}, lambda _: False),  # c has no default, and x alone was never evaluated
    ],
)
@pytest.mark.parametrize("mirrors_before", [True, False])
def test_a_mirror_outlives_a_change_of_space(space, is_read, mirrors_before, tmp_path):
    storage, file = InMemoryStorage(), tmp_path / "runs.db"
    with bo.Study(FIRST, method="random", seed=0, storage=file) as study:
        study.optimize(lambda point: point["x"], 8)
        before = [trial.point for trial in study.trials]
        if mirrors_before:
            mirror_study(study, storage)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bo.SpaceChanged)
        study = bo.Study(space, method="random", seed=0, storage=file)
    study.optimize(lambda point: point["x"], 12, callbacks=StudyMirror(storage))
    back = bo.Study.from_optuna(optuna.load_study(study_name="study", storage=storage))
    assert back.domain == study.domain
    assert [is_read(point) for point in before] == [trial.unread is None for trial in study.trials[:8]]
    assert facts(back) == [fact for fact, trial in zip(facts(study), study.trials, strict=True) if trial.unread is None]
    study.close()
