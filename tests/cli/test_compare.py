"""Methods x seeds: the same starts for all, runs that go on, figures that are what they say."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import bostruct as bo
from bostruct import display, problems
from bostruct.cli.run import compare
from bostruct.comparison.plan import Plan, RunKey
from bostruct.comparison.runs import execute_run
from bostruct.contracts import MissingExtra
from bostruct.execution.pools import InProcessPool
from tests.problems.tables import edges_file

PROBLEM = "contamination:stages=8"
LINE = (PROBLEM, "--methods", "random,hill-climbing", "--seeds", "2", "--out")
# Only the runs of `folder` are in worker processes.
pytestmark = [pytest.mark.usefixtures("runs_in_process"), pytest.mark.xdist_group("compare command")]


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(compare, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def incumbents(folder: Path) -> dict[RunKey, list[tuple[str, str]]]:
    """Values and best values of each run, as written."""
    runs = defaultdict(list)
    with open(folder / "incumbents.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            runs[RunKey(row["method"], int(row["seed"]))].append((row["value"], row["best_value"]))
    return dict(runs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("comparison")
    call(*LINE, out, "--trials", 24)
    return out


def test_leaves_tables_incumbents_and_a_picture(folder):
    assert (folder / "convergence.png").read_bytes()[:4] == b"\x89PNG"
    assert "| random |" in (folder / "comparison.md").read_text(encoding="utf-8")
    assert "hill-climbing" in (folder / "comparison.txt").read_text(encoding="utf-8")
    runs = incumbents(folder)
    assert set(runs) == {RunKey(method, seed) for method in ("random", "hill-climbing") for seed in (0, 1)}
    assert {len(run) for run in runs.values()} == {24}


def test_every_method_starts_from_the_same_published_points(folder):
    runs, problem = incumbents(folder), problems.load(PROBLEM)
    for seed in (0, 1):
        own = [str(problem(point)) for point in problem.initial_points(problem.configs[seed])]
        distinct = list(dict.fromkeys(map(str, problem.initial_points(problem.configs[seed]))))
        started = [value for value, _ in runs[RunKey("random", seed)][: len(distinct)]]
        assert started == [value for value, _ in runs[RunKey("hill-climbing", seed)][: len(distinct)]]
        assert set(started) == set(own)


def test_the_table_is_that_of_the_incumbents(folder):
    found = json.loads(call(*LINE, folder, "--trials", 24, "--json").stdout)
    runs, optimum = incumbents(folder), problems.load(PROBLEM).optimum
    final = {cell: float(run[-1][1]) for cell, run in runs.items()}
    for row in found["methods"]:
        assert (row["runs"], row["pairs"]) == (2, 0 if row["method"] == "random" else 2)
        own = np.array([final[row["method"], seed] for seed in (0, 1)])
        paired = own - np.array([final["random", seed] for seed in (0, 1)])
        assert row["mean"] == pytest.approx(own.mean())
        assert row["error"] == pytest.approx(own.std(ddof=1) / math.sqrt(2))
        assert row["regret"] == pytest.approx(own.mean() - optimum)
        if row["method"] == "random":
            assert row["difference"] is None
        else:
            assert row["difference"] == pytest.approx(paired.mean())
            assert row["difference_error"] == pytest.approx(paired.std(ddof=1) / math.sqrt(2))


def test_what_runs_are_judged_by_has_a_column_and_noisy_values_no_regret(tmp_path):
    edges = np.array(list(itertools.product(range(1, 4), repeat=2)))[:, [0, 0, 1, 1, 0, 1]]
    file = edges_file(tmp_path / "cells.npz", edges)
    spec = f"nasbench201:file={file},noise=1"
    line = (spec, "--methods", "random,annealing", "--seeds", 2, "--trials", 4, "--out", tmp_path / "out")
    found = json.loads(call(*line, "--json").stdout)
    table = (tmp_path / "out" / "comparison.txt").read_text(encoding="utf-8")
    assert "reported" in table
    problem = problems.load(spec)
    for row in found["methods"]:
        tests = []
        for seed in (0, 1):
            with bo.Study.load(tmp_path / "out" / "runs" / f"{row['method']}-{seed}.db") as study:
                tests.append(problem.reported(study.result.best_point))
        assert row["reported"] == pytest.approx(np.mean(tests))
        assert row["reported_error"] == pytest.approx(np.std(tests, ddof=1) / math.sqrt(2))
    with open(tmp_path / "out" / "incumbents.csv", encoding="utf-8") as lines:
        assert {row["regret"] for row in csv.DictReader(lines)} == {""}


def test_finished_runs_are_left_alone(folder, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a finished run was started again")

    before = incumbents(folder)
    monkeypatch.setattr(InProcessPool, "submit", refuse)
    call(*LINE, folder, "--trials", 24)
    call(*LINE, folder, "--trials", 10)  # fewer trials than there are: their first ones are reported
    assert {cell: run[:10] for cell, run in before.items()} == incumbents(folder)


def test_runs_go_on_where_they_were(tmp_path):
    methods = {name: name for name in ("random", "hill-climbing")}
    plan = Plan(PROBLEM, methods, 2, 22, tmp_path)
    plan.claim_folder()
    execute_run(plan, RunKey("random", 0))
    execute_run(Plan(PROBLEM, methods, 1, 5, tmp_path), RunKey("hill-climbing", 1))
    call(*LINE, tmp_path, "--trials", 22)
    whole = tmp_path / "whole"
    call(*LINE, whole, "--trials", 22, "--processes", 1)
    assert incumbents(tmp_path) == incumbents(whole)


def test_runs_of_a_problem_whose_parameters_were_renamed_go_on(tmp_path):
    plan = Plan("pest:noise=1", {"random": "random"}, 1, 4, tmp_path)
    plan.claim_folder()
    problem = problems.load("pest:noise=1")
    old = problem.name.replace("noise_seed", "noise")
    points = problem.initial_points(problem.configs[0])
    run = {"storage": plan.file(RunKey("random", 0)), "name": old, "initial_points": points}
    with bo.Study(problem.space, method="random", seed=0, **run) as study:
        study.optimize(problem, 2, progress=False)
    call("pest:noise=1", "--methods", "random", "--seeds", 1, "--trials", 4, "--out", tmp_path)
    assert len(incumbents(tmp_path)[RunKey("random", 0)]) == 4


def test_progress_counts_the_trials_of_all_runs(tmp_path):
    shown = call(*LINE, tmp_path, "--trials", 21, "--progress").stderr
    assert "84/84" in shown
    assert "4 of 4 runs" in shown


def test_the_report_covers_what_earlier_lines_left(tmp_path):
    line = (PROBLEM, "--out", tmp_path, "--trials", 6)
    call(*line, "--methods", "random", "--seeds", 2)
    call(*line, "--methods", "annealing", "--seeds", 1)
    assert set(incumbents(tmp_path)) == {RunKey("annealing", 0), RunKey("random", 0), RunKey("random", 1)}
    longer = call(*line[:-1], 9, "--methods", "annealing", "--seeds", 1)
    assert set(incumbents(tmp_path)) == {RunKey("annealing", 0)}
    assert "not compared: random, seed 1: it has 6 of 9 trials" in longer.stderr
    assert json.loads((tmp_path / "comparison.json").read_text())["methods"] == ["annealing"]
    assert not list(tmp_path.glob("*.tmp"))


def test_a_method_that_cannot_search_the_problem_is_refused_before_any_run(tmp_path):
    result = call(PROBLEM, "--methods", "random,nasbot", "--out", tmp_path / "new", code=2)
    assert "cannot be searched by nasbot: method: nasbot needs architectures" in result.output
    assert not (tmp_path / "new").exists()


def test_a_folder_of_another_problem_is_refused_and_kept(folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    refused = call("branin", "--out", folder, code=3)
    assert PROBLEM in refused.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_run_that_fails_costs_no_other(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "random-1.db").write_bytes(b"not a database")
    failed = call(*LINE, tmp_path, "--trials", 21, code=1)
    assert "failed: random, seed 1" in failed.stderr
    assert set(incumbents(tmp_path)) == {RunKey("random", 0), RunKey("hill-climbing", 0), RunKey("hill-climbing", 1)}
    assert (tmp_path / "runs" / "random-1.db").read_bytes() == b"not a database"


def test_without_matplotlib_it_says_which_extra_and_goes_on(folder, monkeypatch):
    def missing(module: str, extra: str) -> None:
        raise MissingExtra(f"{module} comes with the extra {extra!r}")

    monkeypatch.setattr(display, "optional_import", missing)
    done = call(*LINE, folder, "--trials", 24, "--json")
    assert "'plot'" in done.stderr
    assert json.loads(done.stdout)["picture"] is None


@pytest.mark.parametrize("arguments", [("--methods", "random,magic"), ("--seeds", "0"), ("--processes", "0")])
def test_wrong_options_are_refused(tmp_path, arguments):
    assert arguments[1].split(",")[-1] in call(PROBLEM, "--out", tmp_path, *arguments, code=2).stderr


@pytest.mark.parametrize(
    ("spec", "merit"),
    [("knapsack:items=12,seed=1", "best feasible value"), ("biknapsack:items=8,seed=1", "hypervolume")],
)
def test_limits_and_several_objectives_are_compared_by_what_they_are_judged_by(spec, merit, tmp_path):
    line = (spec, "--methods", "random,annealing", "--seeds", 2, "--out", tmp_path, "--processes", 1)
    shown = call(*line, "--trials", 12).stdout
    assert f"{merit} (± s.e.)" in shown
    more = json.loads(call(*line, "--trials", 14, "--json").stdout)
    assert [row["method"] for row in more["methods"]] == ["random", "annealing"]
    assert all(row["runs"] == 2 for row in more["methods"])
    assert (more["methods"][0]["regret"] is None) == (merit == "hypervolume")


def test_where_no_run_has_a_feasible_trial_the_methods_are_named(tmp_path):
    line = ("knapsack:items=40,seed=1", "--methods", "random", "--seeds", 1, "--trials", 2)
    shown = call(*line, "--out", tmp_path)
    assert shown.output.count("not feasible: random, seed 0: no trial satisfies all constraints") == 1
    assert "not feasible" in shown.stdout
    found = json.loads(call(*line, "--out", tmp_path, "--json").stdout)
    assert [(row["method"], row["runs"], row["feasible"]) for row in found["methods"]] == [("random", 1, 0)]
    assert (found["left_out"], found["picture"]) == ([], None)
