"""The runs that are measured are the same trials, in our study and in Optuna."""

from __future__ import annotations

import optuna

import bostruct as bo
from benchmarks.optuna_sampler import SPACE, ask_and_cost, build_runs, cost, measure
from bostruct.integrations.optuna import BostructSampler


def test_each_run_is_measured(tmp_path):
    found = measure(build_runs(2, "random", tmp_path), 2)
    assert len(found) == 4
    assert all(seconds > 0 for seconds in found.values())


def test_the_two_objectives_are_one():
    ours = bo.minimize(cost, SPACE, 5, method="random", seed=0)
    theirs = optuna.create_study(sampler=BostructSampler(SPACE, method="random", seed=0))
    theirs.optimize(ask_and_cost, 5)
    assert [trial.value for trial in theirs.trials] == [trial.value for trial in ours.trials]
