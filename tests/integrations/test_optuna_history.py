"""A model knows the trials of Optuna that it read, each once, and running ones by what was suggested."""

from __future__ import annotations

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

import bostruct as bo
from bostruct.domains.space.space import Space
from bostruct.integrations.optuna import Model, SeenTrials

X = {"x": FloatDistribution(0.0, 1.0)}
SPACE = Space({"x": bo.Real(0.0, 1.0)})


def trial(x, value=1.0, **settings):
    state = TrialState.COMPLETE if value is not None else settings.pop("state")
    return create_trial(state=state, value=value, params={"x": x}, distributions=X, **settings)


def make_study(*trials):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.add_trials(trials)
    return study


def read(seen, study, domain=SPACE):
    finished = [one for one in study.get_trials(deepcopy=False) if one.state.is_finished()]
    return seen.update(study, finished, domain, "random")


def test_trials_are_read_once_and_the_model_is_kept():
    study = make_study(trial(0.1), trial(0.2, None, state=TrialState.FAIL))
    seen = SeenTrials(study)
    model = read(seen, study)
    study.add_trial(trial(0.3, 2.0))
    assert read(seen, study) is model
    assert [SPACE.present(x)["x"] for x in model._completed.read()] == [0.1, 0.3]
    assert [SPACE.present(x)["x"] for x in model._failed.read()] == [0.2]
    assert model._measurements.read().values.tolist() == [1.0, 2.0]


def test_a_limit_is_what_all_trials_with_values_have():
    study = make_study(trial(0.1, constraints={"a": -1.0, "b": -1.0}))
    seen = SeenTrials(study)
    assert [limit.name for limit in read(seen, study).goals.limits] == ["a", "b"]
    study.add_trial(trial(0.2, constraints={"b": 1.0, "c": 2.0}))
    model = read(seen, study)
    assert [limit.name for limit in model.goals.limits] == ["b"]
    assert (len(model._completed.read()), len(model._failed.read())) == (1, 1)  # c > 0, of which nothing is known


def test_trials_that_disappear_are_forgotten():
    study = make_study(trial(0.1), trial(0.2))
    seen = SeenTrials(study)
    read(seen, study)
    model = seen.update(study, study.trials[1:], SPACE, "random")  # as a pruner of brackets shows them
    assert len(model._completed.read()) == 1


def test_running_trials_are_known_by_what_was_suggested_or_by_their_parameters():
    running = TrialState.RUNNING
    study = make_study(trial(0.1), trial(0.2, None, state=running), create_trial(state=running), trial(0.3))
    seen = SeenTrials(study)
    read(seen, study)
    seen.points[2] = SPACE.parse({"x": 0.7})
    assert [SPACE.present(x)["x"] for x in seen.list_running(study.trials, 3)] == [0.2, 0.7]
    assert [SPACE.present(x)["x"] for x in seen.list_running(study.trials, 1)] == [0.7]


def test_a_suggestion_is_neither_finished_nor_running():
    space = Space({"a": ["x", "y", "z"]})
    model = Model(space, bo.Study(space).goals, "random", "s")
    running = [space.parse({"a": "x"}), space.parse({"a": "z"})]
    rng = np.random.default_rng(0)
    assert space.present(model.suggest(running, rng)[0]) == {"a": "y"}
    exhausted = {"origin": "exhausted", "why": "all 3 points of the space have been seen"}
    assert model.suggest([*running, space.parse({"a": "y"})], rng)[1] == exhausted


def test_numbers_that_disappear_are_no_longer_counted_for_limits():
    study = make_study(trial(0.1, constraints={"a": -1.0}), trial(0.2), trial(0.3, constraints={"a": -1.0}))
    seen = SeenTrials(study)
    assert read(seen, study).goals.limits == ()
    model = seen.update(study, study.trials[:1], SPACE, "random")
    assert [limit.name for limit in model.goals.limits] == ["a"]


def test_a_point_that_the_space_has_not_is_named():
    ended_early = [create_trial(state=state) for state in (TrialState.FAIL, TrialState.PRUNED)]
    study = make_study(trial(0.1), create_trial(value=1.0), *ended_early)
    model = read(SeenTrials(study), study)
    assert model.unread == {1: "point: missing x; expected ['x']"}
    assert len(model._failed.read()) == 0


def test_what_a_trial_was_not_asked_for_is_read_from_what_was_chosen():
    study = make_study(create_trial(state=TrialState.RUNNING), create_trial(state=TrialState.RUNNING))
    seen, x = SeenTrials(study), SPACE.parse({"x": 0.7})
    read(seen, study)
    seen.keep_point(study, study.trials[0], 0, x)
    other = SeenTrials(study)  # of another process
    read(other, study)
    assert [SPACE.present(one)["x"] for one in other.list_running(study.trials, 1)] == [0.7]
    assert other.find_chosen(study, 0) == seen.find_chosen(study, 0) == SPACE.encode(x)
    assert other.find_chosen(study, 1) is None
    study.tell(0, state=TrialState.FAIL)
    assert [SPACE.present(one)["x"] for one in read(other, study)._failed.read()] == [0.7]


def test_the_space_is_that_of_the_trials_with_values():
    both = {"x": X["x"], "y": FloatDistribution(0.0, 1.0)}
    told = [create_trial(value=1.0, params={"x": x, "y": x}, distributions=both) for x in (0.1, 0.2)]
    ended_early = [trial(0.3, None, state=state) for state in (TrialState.PRUNED, TrialState.FAIL)]
    study = make_study(told[0], *ended_early)
    seen = SeenTrials(study)
    assert list(seen.find_space(study)) == ["x", "y"]
    study.add_trial(trial(0.4))
    assert list(seen.find_space(study)) == ["x"]
    study = make_study(*told)
    assert list(seen.find_space(study)) == ["x", "y"]  # as a pruner of brackets shows other trials, as many
