"""The searcher for Ray Tune: by its own methods, and in tuners, one of which is killed and restored."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import bostruct as bo
from bostruct.contracts import BostructError, DomainError

pytestmark = pytest.mark.filterwarnings("ignore")
tune = pytest.importorskip("ray.tune", reason="the extra ray is not installed")


def space():
    return {"x": tune.uniform(-1, 1), "net": {"width": tune.qrandint(8, 64, 8)}, "act": tune.choice("abc")}


def searcher(**how):
    from bostruct.integrations.ray_tune import BostructSearch

    return BostructSearch(**({"space": space(), "metric": "loss", "mode": "min", "seed": 0} | how))


def loss(config):
    return config["x"] ** 2 + config["net"]["width"] / 64 + (config["act"] == "b")


def read_global_states():
    return random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()  # noqa: NPY002


def run(search, names):
    """Have so many configurations evaluated one after another, and return them."""
    asked = []
    for name in names:
        asked.append(search.suggest(name))
        search.on_trial_complete(name, {"loss": loss(asked[-1])})
    return asked


def test_it_learns_as_a_study_does():
    search = searcher()
    asked = run(search, map(str, range(14)))
    study = search.study
    assert [t.status for t in study.trials] == ["completed"] * 14
    assert study.best_value == min(map(loss, asked))
    assert study.trials[-1].origin == "model"


def test_the_same_seed_makes_the_same_search_and_nothing_global_is_seeded():
    states = read_global_states()
    first, second = run(searcher(), "abcdef"), run(searcher(), "abcdef")
    assert first == second
    assert read_global_states() == states
    assert run(searcher(seed=1), "abcdef") != first


def test_failures_are_learned_from():
    search = searcher()
    for name, result, error in [("a", None, True), ("b", {"other": 1}, False), ("c", {"loss": float("nan")}, False)]:
        search.suggest(name)
        search.on_trial_complete(name, result, error)
    search.on_trial_complete("unknown", {"loss": 1.0})
    assert [t.reason for t in search.study.trials] == [
        "its trial in Ray Tune ended in an error",
        "its trial in Ray Tune reported no loss",
        "observed nan",
    ]


def test_what_was_reported_of_several_metrics_is_kept():
    search = searcher(metric=["loss", "gain"], mode=["min", "max"])
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 1.5})
    assert search.study.trials[0].reason == "its trial in Ray Tune reported no gain; loss = 1.5"


def test_several_metrics_are_several_objectives():
    search = searcher(metric=["loss", "gain"], mode=["min", "max"])
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 1.0, "gain": 2.0})
    assert search.study.trials[0].values == (1.0, 2.0)
    assert search.study.goals.directions == ("minimize", "maximize")


def test_so_many_run_at_once_and_the_end_is_said():
    search = searcher(space={"x": tune.choice("ab")})
    assert search.set_max_concurrency(1)
    assert search.suggest("a") is not None
    assert search.suggest("b") is None
    search.on_trial_complete("a", {"loss": 1.0})
    assert search.suggest("b") is not None
    search.on_trial_complete("b", {"loss": 1.0})
    assert search.suggest("c") == "FINISHED"


def test_points_of_the_users_own():
    first = {"x": 0.5, "net": {"width": 16}, "act": "a"}
    assert searcher(points_to_evaluate=[first]).suggest("a") == first
    told = searcher(points_to_evaluate=[first], evaluated_rewards=[0.25])
    assert told.suggest("a") != first
    told.add_evaluated_point({"x": 0.25, "net/width": 8, "act": "b"}, 0.125)
    told.add_evaluated_point({"x": 0.75, "net/width": 8, "act": "b"}, None, error=True)
    told.add_evaluated_point({"x": 0.8, "net/width": 8, "act": "b"}, None, pruned=True, intermediate_values=[3, 2.0])
    assert [t.value for t in told.study.trials if t.origin == "added"] == [0.25, 0.125, None, 2.0]


def test_a_space_of_bostruct_has_its_own_kinds_of_variables():
    search = searcher(
        space=bo.Space({"order": bo.Permutation(range(5)), "some": bo.Permutation(list("abcd"), length=2)})
    )
    config = search.suggest("a")
    assert sorted(config["order"]) == list(range(5))
    assert len(set(config["some"])) == 2
    assert not search.set_search_properties("loss", "min", {})


@pytest.mark.parametrize("how", ["save", "pickle"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_restored_searcher_goes_on_as_the_saved_one(how, times, tmp_path):
    search = searcher()
    run(search, "abcdefghij")
    flying = {name: search.suggest(name) for name in "kl"}
    copy = search
    for _ in range(times):
        if how == "pickle":
            copy = pickle.loads(pickle.dumps(copy))
            continue
        copy.save(str(tmp_path / "state"))
        copy = searcher(metric=None, mode=None)
        copy.restore(str(tmp_path / "state"))
    assert [t.point for t in copy.study.trials] == [t.point for t in search.study.trials]
    assert [t.status for t in copy.study.trials].count("running") == 2
    for one in (search, copy):
        for name, config in flying.items():
            one.on_trial_complete(name, {"loss": loss(config)})
    assert run(copy, "mnop") == run(search, "mnop")
    assert [(t.status, t.value) for t in copy.study.trials] == [(t.status, t.value) for t in search.study.trials]


def test_only_a_saved_searcher_is_replaced(tmp_path):
    search, path = searcher(), tmp_path / "state"
    run(search, "ab")
    for _ in range(2):
        search.save(str(path))
    path.write_text("notes")
    with pytest.raises(FileExistsError, match="no searcher by bostruct; give another path: "):
        search.save(str(path))
    assert path.read_text() == "notes"


def test_what_is_no_saved_searcher_is_refused(tmp_path):
    (tmp_path / "junk").write_text("junk")
    with pytest.raises(BostructError, match=r"junk: was not written by BostructSearch\.save"):
        searcher().restore(str(tmp_path / "junk"))


def test_what_is_missing_or_wrong_is_said():
    with pytest.raises(BostructError, match="metric=None"):
        searcher(metric=None).suggest("a")
    with pytest.raises(ValueError, match="mode: expected 'min' or 'max', got 'minimize'"):
        searcher(mode="minimize")
    with pytest.raises(ValueError, match="evaluated_rewards: expected one for each of 1"):
        searcher(points_to_evaluate=[{}], evaluated_rewards=[])
    with pytest.raises(DomainError, match="a grid is listed"):
        searcher(space={"x": tune.grid_search([1])})


TUNER = """
import sys, time
import ray
from ray import tune
from bostruct.integrations.ray_tune import BostructSearch

where = sys.argv[1]

def trainable(config):
    time.sleep(0.3)
    with open(where + "/done", "a") as file:
        file.write("x")
    tune.report({"loss": config["x"] ** 2 + config["n"]})

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
folder = where + "/results/run"
if tune.Tuner.can_restore(folder):
    tuner = tune.Tuner.restore(folder, trainable, restart_errored=True)
else:
    tuner = tune.Tuner(
        trainable,
        param_space={"x": tune.uniform(-1, 1), "n": tune.randint(0, 4)},
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=20, search_alg=BostructSearch(seed=0), max_concurrent_trials=2
        ),
        run_config=tune.RunConfig(storage_path=where + "/results", name="run", verbose=0),
    )
results = tuner.fit()
print(len(results), results.num_errors, len({str(one.config) for one in results}))
"""


@pytest.mark.slow
def test_a_tuner_that_is_killed_and_restored_loses_nothing(tmp_path):
    environment = os.environ | {
        "TUNE_GLOBAL_CHECKPOINT_S": "0",
        "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
    }
    command = [sys.executable, "-c", TUNER, str(tmp_path)]
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    done, deadline = tmp_path / "done", time.monotonic() + 120
    while time.monotonic() < deadline and not (done.exists() and done.stat().st_size >= 7):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert done.stat().st_size < 20
    second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=200)
    assert second.returncode == 0, second.stderr
    assert second.stdout.splitlines()[-1] == "20 0 20"
    assert done.stat().st_size <= 20 + 2  # of those that were cut off
