"""`bostruct show`: the studies in a file, one of them, and files that hold none."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import bostruct as bo
from bostruct import problems
from bostruct.cli import text
from bostruct.cli.studies import STATUSES
from bostruct.storage.sqlite import Database
from tests.cli.invoke import SMALL, as_json, call
from tests.stored import forge


@pytest.fixture
def file(tmp_path) -> Path:
    for seed in (0, 1):
        call("run", SMALL, "--method", "random", "--seed", seed, "--trials", 7, "--storage", tmp_path / "r.db")
    return tmp_path / "r.db"


def test_lists_studies(file):
    listed = as_json("show", file)["studies"]
    assert [(study["seed"], study["completed"]) for study in listed] == [(0, 7), (1, 7)]
    assert all(study["study"] in call("show", file).stdout for study in listed)


def test_shows_one(file):
    name = as_json("show", file)["studies"][1]["study"]
    facts = as_json("show", file, "--name", name)
    assert problems.load(SMALL)(facts["best_point"]) == facts["best_value"] == facts["incumbents"][-1]
    assert text.sparkline(facts["incumbents"]) in call("show", file, "--name", name).stdout


def test_says_which_is_told_and_which_recommended(tmp_path):
    line = ("run", SMALL, "--trials", 14, "--storage", tmp_path / "r.db")
    run = as_json(*line)["recommended"]
    shown = as_json("show", tmp_path / "r.db")["recommended"]
    assert run == shown | {"value_without_noise": None}
    assert shown["low"] < shown["mean"] < shown["high"]
    for lines in (call(*line).stdout, call("show", tmp_path / "r.db").stdout):
        assert re.search(r"best value  +\S+ \(trial \d+\)", lines)
        assert f"trial {shown['trial']}, by the model's mean {shown['mean']:.6g}" in lines


def test_a_noisy_problem_is_recommended_from_without_noise():
    found = as_json("run", "pest", "--method", "random", "--trials", 3)["recommended"]
    assert found["value_without_noise"] == problems.load("pest").noise_free(found["point"])
    assert (found["mean"], found["why"][:21]) == (None, "by its observed value")


def test_a_study_of_another_version_is_noted(tmp_path):
    line = ("run", SMALL, "--method", "random", "--storage", tmp_path / "r.db", "--trials")
    call(*line, 3)
    forge(tmp_path / "r.db", "UPDATE studies SET version = '0.0.1'")
    again = call(*line, 5)
    assert again.stderr.startswith("Note: study ")
    assert again.stderr.count("was created by bostruct 0.0.1") == 1
    assert "made by" in call("show", tmp_path / "r.db").stdout
    assert as_json("show", tmp_path / "r.db")["version"] == "0.0.1"


def test_writes_trials_and_picture(file, tmp_path):
    name = as_json("show", file)["studies"][0]["study"]
    call("show", file, "--name", name, "--csv", tmp_path / "t.csv", "--plot", tmp_path / "t.svg")
    with open(tmp_path / "t.csv", encoding="utf-8") as lines:
        assert [row["status"] for row in csv.DictReader(lines)] == ["completed"] * 7
    assert "<svg" in (tmp_path / "t.svg").read_text(encoding="utf-8")


def test_objects_that_no_file_holds_are_shown_by_their_texts(tmp_path):
    file = str(tmp_path / "runs.db")
    space = {"s": bo.Subset([(0, 0), (0, 1), (1, 1)], 2)}
    bo.minimize(lambda point: float((0, 0) in point["s"]), space, 3, method="random", seed=0, storage=file)
    shown = call("show", file, "--csv", str(tmp_path / "trials.csv")).stdout
    assert 'best point   {"s": ["(0, 1)", "(1, 1)"]}' in shown
    assert "vertex" not in (tmp_path / "trials.csv").read_text()


def test_csv_of_several_needs_a_name(file, tmp_path):
    said = call("show", file, "--csv", tmp_path / "t.csv", code=2).stderr
    assert re.search(r"--name: expected one of '.*', '.*', because the file has several studies", said)


@pytest.mark.parametrize(("option", "name"), [("--csv", "t.csv"), ("--plot", "t.svg")])
def test_one_trial_is_shown_without_files(tmp_path, option, name):
    refused = call("show", tmp_path / "r.db", "--trial", 1, option, tmp_path / name, code=2)
    assert "--trial: shows one trial, without --csv and --plot" in refused.stderr


def test_an_unknown_name_is_refused_with_those_there_are(file):
    assert "seed=1" in call("show", file, "--name", "other", code=3).stderr


def test_reads_while_somebody_writes(tmp_path):
    with bo.Study({"a": bool, "b": [1, 2, 3]}, method="random", seed=0, storage=tmp_path / "r.db") as study:
        study.tell(study.ask(), 1.0)
        study.ask()
        facts = as_json("show", tmp_path / "r.db")
    assert (facts["completed"], facts["running"]) == (1, 1)


def test_a_study_without_a_value(tmp_path):
    with bo.Study({"a": bool}, method="random", seed=0, storage=tmp_path / "r.db") as study:
        study.tell(study.ask(), failed="no")
    assert "1 failed" in call("show", tmp_path / "r.db").stdout
    assert as_json("show", tmp_path / "r.db")["best_value"] is None


def test_a_study_with_limits_says_how_many_trials_keep_them_and_what_the_best_measures(tmp_path):
    line = ("run", "knapsack:items=12,seed=1", "--trials", 14, "--storage", tmp_path / "r.db")
    run, shown, facts = as_json(*line), call("show", tmp_path / "r.db").stdout, as_json("show", tmp_path / "r.db")
    assert f"feasible     {facts['feasible']} of 14 completed trials\n" in shown
    assert f"it measures  weight {facts['best_constraints']['weight']:g}\n" in shown
    told = ("feasible", "best_value", "best_trial", "best_point", "best_constraints")
    assert [facts[name] for name in told] == [run[name] for name in told]


def test_where_no_trial_keeps_the_limits_the_nearest_is_named(tmp_path):
    line = ("run", "knapsack:items=40,seed=1", "--method", "random", "--trials", 3, "--storage", tmp_path / "r.db")
    why = as_json(*line)["nothing_feasible"]
    shown, facts = call("show", tmp_path / "r.db").stdout, as_json("show", tmp_path / "r.db")
    assert f"feasible    0 of 3 completed trials\nbest value  none: {why}" in shown
    assert (facts["best_value"], facts["feasible"], facts["nothing_feasible"]) == (None, 0, why)


def test_a_front_with_limits_shows_points_measured_numbers_and_the_corner(tmp_path):
    def measure(point):
        return {"value": (float(point["a"]), -float(point["a"])), "constraints": {"size": float(point["a"])}}

    goals = {"directions": ["minimize", "minimize"], "constraints": {"size": ("<=", 4.0)}}
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "r.db", **goals) as study:
        study.optimize(measure, 9, progress=False)
    shown, facts = call("show", tmp_path / "r.db").stdout, as_json("show", tmp_path / "r.db")
    assert '4, -4; measures size 4; {"a": 4}\n' in shown
    assert "feasible     5 of 9 completed trials\nfront        5 trials" in shown
    assert facts["reference"] == pytest.approx([4.4, 0.4])
    assert f"hypervolume  {facts['hypervolume']:.6g} up to the corner (4.4, 0.4)" in shown


@pytest.mark.parametrize("content", [b"not a database", b""])
def test_a_foreign_file_is_refused_and_kept(tmp_path, content):
    (tmp_path / "notes.db").write_bytes(content)
    assert "notes.db" in call("show", tmp_path / "notes.db", code=3).stderr
    assert (tmp_path / "notes.db").read_bytes() == content


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert "no such file" in call("show", tmp_path / "r.db", code=3).stderr


def test_every_status_is_counted(tmp_path):
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "r.db") as study:
        study.tell(study.ask(), 1.0)
        study.tell(study.ask(), failed="broken")
        study.tell(study.ask(), infeasible="too hot")
        study.ask()
        facts = as_json("show", tmp_path / "r.db")
    assert {status: facts[status] for status in STATUSES} == dict.fromkeys(STATUSES, 1) | {"waiting": 0}
    assert facts["trials"] == 4
    shown = call("show", tmp_path / "r.db").stdout
    assert "4: 1 completed, 1 failed, 1 infeasible, 1 waiting" in shown
    assert re.search(r"^failures  +\S.* \(1\)$", shown, re.M)


def test_trials_that_were_given_back_wait_and_do_not_run(tmp_path):
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "r.db") as study:
        study.ask(2)
        study.requeue(0)
        facts = as_json("show", tmp_path / "r.db")
    assert (facts["trials"], facts["running"], facts["waiting"]) == (2, 1, 1)
    assert "2: 2 waiting" in call("show", tmp_path / "r.db").stdout
    bo.Study({"a": bool}, method="random", seed=0, storage=tmp_path / "r.db", name="other").close()
    assert [facts["waiting"] for facts in as_json("show", tmp_path / "r.db")["studies"]] == [2, 0]
    assert "waiting" in call("show", tmp_path / "r.db").stdout.splitlines()[0]


def test_a_limit_on_suggestions_is_shown_with_those_that_it_made_cheaper(tmp_path):
    space = {f"x{i}": bool for i in range(6)}
    with bo.Study(space, seed=0, storage=tmp_path / "r.db", suggest_seconds=0.001) as study:
        study.optimize(lambda point: float(sum(point.values())), 14, progress=False)
        hasty = sum("haste" in trial.info for trial in study.trials)
    assert hasty > 0
    assert f"time limit   0.001 s per suggestion; {hasty} were made cheaper" in call("show", tmp_path / "r.db").stdout
    facts = as_json("show", tmp_path / "r.db")
    assert (facts["suggest_seconds"], facts["hasty"]) == (0.001, hasty)


def test_a_file_without_a_study_is_refused_as_one_that_is_not_there(tmp_path):
    Database(tmp_path / "r.db", read_only=False).close()
    for line in [("show", "--json"), ("show", "--csv", tmp_path / "t.csv")]:
        assert (
            call(line[0], tmp_path / "r.db", *line[1:], code=3).stderr
            == f"Error: {tmp_path / 'r.db'}: contains no study\n"
        )


def test_a_change_of_the_space_is_shown(tmp_path):
    file, space = tmp_path / "r.db", {"a": ["x", "y"], "b": range(4)}
    with bo.Study(space, method="random", seed=0, storage=file) as study:
        for number in range(4):
            study.add({"a": "x", "b": number}, float(number))
    with pytest.warns(bo.SpaceChanged):
        bo.Study({"a": ["x", "y", "z"], "b": range(1, 4)}, method="random", seed=0, storage=file).close()
    shown, facts = call("show", file).stdout, as_json("show", file)
    assert "changed a, b; 3 of 4 trials read" in shown
    assert "1 trial not in the current space" in shown
    assert (facts["unread"], facts["best_value"], len(facts["space_changes"])) == (1, 1.0, 1)
    with pytest.warns(bo.SpaceChanged):
        bo.Study({"a": ["x", "w"], "c": bool}, method="random", seed=0, storage=file).close()
    assert as_json("show", file)["best_value"] is None
    assert "lost b" in call("show", file).stdout


def test_a_problem_whose_space_changed_is_noted_by_a_run(tmp_path):
    line = ("run", SMALL, "--method", "random", "--storage", tmp_path / "r.db", "--name", "mine", "--trials")
    name = next(iter(problems.load(SMALL).space.variables))
    with bo.Study({name: bool, "gone": bool}, method="random", seed=0, storage=tmp_path / "r.db", name="mine") as study:
        study.add({name: True, "gone": True}, 1.0)
    again = call(*line, 3)
    assert again.stderr.startswith("Note: study 'mine'")
    assert "1 trial not in the problem's space" in again.stdout


def test_one_trial_is_shown_with_its_attributes(tmp_path):
    path = tmp_path / "runs.db"
    with bo.Study({"x": range(5)}, method="random", seed=0, storage=path) as study:
        study.tell(study.ask(), 1.5, attributes={"checkpoint": "a.pt"})
    shown = call("show", path, "--trial", 0).stdout.splitlines()
    assert [line.split() for line in shown if line.startswith(("value ", "attribute "))] == [
        ["value", "1.5"],
        ["attribute", "checkpoint", "'a.pt'"],
    ]
    facts = as_json("show", path, "--trial", 0)
    assert (facts["number"], facts["info"]["attributes"]) == (0, {"checkpoint": "a.pt"})
    assert "--trial: expected a number below 1, got 1" in call("show", path, "--trial", 1, code=2).output
