"""The command line: what it prints, what it exits with, and that it answers at once."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

import bostruct as bo
from bostruct import problems
from bostruct.cli import doctor, main, text
from bostruct.methods import METHODS
from tests.stored import forge

HEAVY = {"torch", "gpytorch", "sklearn", "ot", "matplotlib", "pandas", "networkx", "numba", "scipy.stats"}
COMMANDS = ("problems", "run", "compare", "show", "copy", "doctor")
SMALL = "contamination:stages=6"  # 64 points, optimum proved when loaded
ROOT = Path(__file__).parents[2]


def call(*arguments: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def as_json(*arguments: str | Path) -> dict:
    return json.loads(call(*arguments, "--json").stdout)


class TestHelp:
    def test_loads_nothing_heavy_and_takes_little_time(self):
        script = (
            "import json, sys, time\nfrom bostruct.cli import main\nmain(['--help'], standalone_mode=False)\n"
            "print(json.dumps([sorted(sys.modules), time.process_time()]))"
        )
        runs = [
            json.loads(
                subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout.splitlines()[-1]
            )
            for _ in range(3)
        ]
        assert set(runs[0][0]) & HEAVY == set()
        assert min(seconds for _, seconds in runs) < 0.3  # CPU seconds of the whole process

    @pytest.mark.parametrize("command", COMMANDS)
    def test_of_every_command_shows_an_example(self, command):
        assert f"  bostruct {command}" in call(command, "--help").output

    def test_names_every_command_and_every_exit_code(self):
        shown = call("--help").output
        assert all(name in shown for name in (*COMMANDS, "0 done", "1 failed", "2 wrong", "3 storage", "130"))

    def test_of_run_names_every_method(self):
        shown = "".join(call("run", "--help").output.split())  # lines break at hyphens too
        assert [name for name in METHODS if name not in shown] == []


class TestProblems:
    def test_lists_every_problem(self):
        listed = as_json("problems")["problems"]
        assert [entry["name"] for entry in listed] == list(problems.names())
        shown = call("problems").stdout
        assert all(name in shown for name in problems.names())

    def test_says_of_one_what_the_problem_says(self):
        facts, problem = as_json("problems", SMALL), problems.load(SMALL)
        assert (facts["variables"], facts["optimum"], facts["configs"]) == (6, problem.optimum, list(problem.configs))
        assert "case" in facts["parameters"]
        assert problem.source in call("problems", SMALL).stdout

    def test_describes_one_that_needs_a_file(self):
        assert "file=..." in call("problems", "maxsat").stdout

    @pytest.mark.parametrize(
        ("spec", "named"),
        [
            ("knapsack", "knapsack"),
            ("contamination:stags=3", "stags"),
            ("contamination:case=x", "case"),
            ("maxsat:file=no.wcnf", "no.wcnf"),
        ],
    )
    def test_refuses_what_it_does_not_know(self, spec, named):
        assert named in call("problems", spec, code=2).stderr


class TestRun:
    def test_reports_the_best_point_and_its_regret(self):
        summary, problem = as_json("run", SMALL, "--method", "random", "--trials", 12), problems.load(SMALL)
        assert problem(summary["best_point"]) == summary["best_value"]
        assert summary["regret"] == summary["best_value"] - problem.optimum
        assert summary["completed"] == 12

    def test_text_says_the_same(self):
        shown = call("run", SMALL, "--method", "random", "--trials", 12).stdout
        summary = as_json("run", SMALL, "--method", "random", "--trials", 12)
        assert text.format_number(summary["best_value"], 10) in shown
        assert text.format_number(summary["regret"]) in shown

    def test_the_same_line_goes_on_and_ends_where_an_uninterrupted_run_does(self, tmp_path):
        line = ("run", SMALL, "--seed", 3, "--storage")
        for trials in (5, 14, 14):
            summary = as_json(*line, tmp_path / "resumed.db", "--trials", trials)
            assert summary["trials"] == trials
        as_json(*line, tmp_path / "whole.db", "--trials", 14)
        resumed, whole = (as_json("show", tmp_path / name)["incumbents"] for name in ("resumed.db", "whole.db"))
        assert resumed == whole

    def test_begins_with_the_published_points(self, tmp_path):
        problem = problems.load("contamination")
        call("run", "contamination", "--config", 2, "--trials", 4, "--method", "random", "--storage", tmp_path / "r.db")
        with bo.Study.load(tmp_path / "r.db", read_only=True) as study:
            assert [trial.point for trial in study.trials] == problem.initial_points(2)[:4]

    def test_relabel_is_that_of_the_specification(self):
        line = ("run", "--method", "random", "--trials", 6)
        assert as_json(*line, SMALL, "--relabel", 4)["best_point"] == as_json(*line, f"{SMALL},relabel=4")["best_point"]
        assert "relabel" in call(*line, f"{SMALL},relabel=4", "--relabel", 4, code=2).stderr

    def test_stops_at_the_optimum_and_stays_there(self, tmp_path):
        line = ("run", SMALL, "--method", "random", "--trials", 64, "--until-optimum", "--storage", tmp_path / "r.db")
        first, second = as_json(*line), as_json(*line)
        assert first["regret"] == 0
        assert first["best_trial"] == first["trials"] - 1
        assert second["trials"] == first["trials"]

    def test_ends_well_when_every_point_has_been_tried(self):
        summary = as_json("run", SMALL, "--method", "random", "--trials", 100)
        assert (summary["trials"], summary["regret"]) == (64, 0)

    def test_processes_find_what_one_process_finds_under_random_search(self):
        one, two = (as_json("run", SMALL, "--method", "random", "--trials", 64, "--workers", n) for n in (1, 2))
        assert one["best_value"] == two["best_value"]

    def test_draws(self, tmp_path):
        call("run", SMALL, "--method", "random", "--trials", 5, "--plot", tmp_path / "run.png")
        assert (tmp_path / "run.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

    def test_judges_a_noisy_problem_without_its_noise(self):
        summary, problem = as_json("run", "pest", "--method", "random", "--trials", 2), problems.load("pest")
        assert summary["best_value_without_noise"] == problem.noise_free(summary["best_point"])
        assert summary["regret"] is None

    def test_progress_shows_incumbent_and_regret(self):
        shown = call("run", SMALL, "--method", "random", "--trials", 5, "--progress").stderr
        assert "best " in shown
        assert "regret " in shown
        assert call("run", SMALL, "--method", "random", "--trials", 5).stderr == ""

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            (("--method", "magic"), "magic"),
            (("--trials", "0"), "0"),
            (("--config", "99"), "99"),
            (("--plot", "run.xyz"), "run.xyz"),
            (("--plot", "nowhere/run.png"), "nowhere"),
        ],
    )
    def test_refuses_wrong_options(self, arguments, named):
        assert named in call("run", SMALL, *arguments, code=2).stderr

    def test_an_unknown_optimum_cannot_be_waited_for(self):
        assert "not known" in call("run", "pest", "--until-optimum", code=2).stderr

    @pytest.mark.usefixtures("default_sigint")
    def test_interrupted_it_exits_with_130_and_loses_nothing(self, tmp_path):
        file = tmp_path / "runs.db"
        line = [sys.executable, "-m", "bostruct", "run", "max3sat", "--trials", "5000", "--storage", str(file)]
        process = subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(600):
            seen = CliRunner().invoke(main, ["show", str(file), "--json"])
            if seen.exit_code == 0 and json.loads(seen.stdout).get("completed", 0) >= 3:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "same line goes on" in errors
        assert as_json("show", file)["completed"] >= 3


class TestStorageRefused:
    def test_locked(self, tmp_path):
        name = f"{problems.load(SMALL).name} random seed=0"
        with bo.Study(problems.load(SMALL).space, method="random", seed=0, storage=tmp_path / "r.db", name=name):
            refused = call("run", SMALL, "--method", "random", "--storage", tmp_path / "r.db", code=3)
        assert "open for writing" in refused.stderr

    def test_another_study_under_the_name(self, tmp_path):
        line = ("run", SMALL, "--trials", 3, "--storage", tmp_path / "r.db", "--name", "mine")
        call(*line, "--method", "random")
        assert "method" in call(*line, "--method", "annealing", code=3).stderr

    @pytest.mark.parametrize("content", [b"not a database", b""])
    def test_show_of_a_foreign_file(self, tmp_path, content):
        (tmp_path / "notes.db").write_bytes(content)
        assert "notes.db" in call("show", tmp_path / "notes.db", code=3).stderr
        assert (tmp_path / "notes.db").read_bytes() == content

    def test_show_of_no_file(self, tmp_path):
        assert "no such file" in call("show", tmp_path / "r.db", code=3).stderr


class TestShow:
    @pytest.fixture
    def file(self, tmp_path) -> Path:
        for seed in (0, 1):
            call("run", SMALL, "--method", "random", "--seed", seed, "--trials", 7, "--storage", tmp_path / "r.db")
        return tmp_path / "r.db"

    def test_lists_studies(self, file):
        listed = as_json("show", file)["studies"]
        assert [(study["seed"], study["completed"]) for study in listed] == [(0, 7), (1, 7)]
        assert all(study["study"] in call("show", file).stdout for study in listed)

    def test_shows_one(self, file):
        name = as_json("show", file)["studies"][1]["study"]
        facts = as_json("show", file, "--name", name)
        assert problems.load(SMALL)(facts["best_point"]) == facts["best_value"] == facts["incumbents"][-1]
        assert text.sparkline(facts["incumbents"]) in call("show", file, "--name", name).stdout

    def test_says_which_is_told_and_which_recommended(self, tmp_path):
        line = ("run", SMALL, "--trials", 14, "--storage", tmp_path / "r.db")
        run = as_json(*line)["recommended"]
        shown = as_json("show", tmp_path / "r.db")["recommended"]
        assert run == shown | {"value_without_noise": None}
        assert shown["low"] < shown["mean"] < shown["high"]
        for lines in (call(*line).stdout, call("show", tmp_path / "r.db").stdout):
            assert "as told of trial" in lines
            assert f"trial {shown['trial']}, by the model's mean {shown['mean']:.6g}" in lines

    def test_a_noisy_problem_is_recommended_from_without_noise(self):
        found = as_json("run", "pest", "--method", "random", "--trials", 3)["recommended"]
        assert found["value_without_noise"] == problems.load("pest").noise_free(found["point"])
        assert (found["mean"], found["why"][:17]) == (None, "by the value told")

    def test_a_study_of_another_version_is_noted(self, tmp_path):
        line = ("run", SMALL, "--method", "random", "--storage", tmp_path / "r.db", "--trials")
        call(*line, 3)
        forge(tmp_path / "r.db", "UPDATE studies SET version = '0.0.1'")
        again = call(*line, 5)
        assert again.stderr.startswith("Note: study ")
        assert again.stderr.count("was made by bostruct 0.0.1") == 1
        assert "made by" in call("show", tmp_path / "r.db").stdout
        assert as_json("show", tmp_path / "r.db")["version"] == "0.0.1"

    def test_writes_trials_and_picture(self, file, tmp_path):
        name = as_json("show", file)["studies"][0]["study"]
        call("show", file, "--name", name, "--csv", tmp_path / "t.csv", "--plot", tmp_path / "t.svg")
        with open(tmp_path / "t.csv", encoding="utf-8") as lines:
            assert [row["status"] for row in csv.DictReader(lines)] == ["completed"] * 7
        assert "<svg" in (tmp_path / "t.svg").read_text(encoding="utf-8")

    def test_csv_of_several_needs_a_name(self, file, tmp_path):
        assert "--name" in call("show", file, "--csv", tmp_path / "t.csv", code=2).stderr

    def test_an_unknown_name_is_refused_with_those_there_are(self, file):
        assert "seed=1" in call("show", file, "--name", "other", code=3).stderr

    def test_reads_while_somebody_writes(self, tmp_path):
        with bo.Study({"a": bool, "b": [1, 2, 3]}, method="random", seed=0, storage=tmp_path / "r.db") as study:
            study.tell(study.ask(), 1.0)
            study.ask()
            facts = as_json("show", tmp_path / "r.db")
        assert (facts["completed"], facts["running"]) == (1, 1)

    def test_a_study_without_a_value(self, tmp_path):
        with bo.Study({"a": bool}, method="random", seed=0, storage=tmp_path / "r.db") as study:
            study.tell(study.ask(), failed="no")
        assert "1 failed" in call("show", tmp_path / "r.db").stdout
        assert as_json("show", tmp_path / "r.db")["best_value"] is None


class TestDoctor:
    def test_passes_here(self):
        found = as_json("doctor")
        assert found["problems"] == []
        assert found["bostruct"] == bo.__version__  # of the code that runs, whatever was installed before
        assert found["self_test"]["from_model"] > 0
        assert {pool["library"] for pool in found["threads"]} >= {"torch"}
        assert {"numpy", "torch", "POT", "click"} <= set(found["versions"])
        assert {"plot", "sat"} <= set(found["extras"])

    def test_says_in_words_how_to_get_an_extra(self, monkeypatch):
        known = doctor.installed_version
        monkeypatch.setattr(doctor, "installed_version", lambda name: None if name == "pandas" else known(name))
        shown = call("doctor").stdout
        assert "no data frames (to_dataframe); pip install '.[pandas]' in a checkout of bostruct" in shown
        assert "passed" in shown

    def test_knows_what_every_optional_package_is_for(self):
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert set(doctor.EXTRAS) == set(project["optional-dependencies"]) - {"all", "dev"}
        assert set(doctor.OPTIONAL) < set(doctor.requirements(project["dependencies"])[""])

    def test_a_torch_that_cannot_be_imported_is_a_problem(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)
        torch, problems = doctor.load_torch()
        assert torch is None
        assert len(problems) == 1
        assert problems[0].startswith("torch is installed, but cannot be imported: ")

    def test_reads_what_is_needed_from_the_package(self):
        lines = [
            "numpy>=1.26",
            "POT!=0.9.7.*,>=0.9.4",
            "bostruct[plot]; extra == 'all'",
            'pandas>=2; extra == "pandas"',
        ]
        assert doctor.requirements([*lines, "ruff; extra == 'dev'"]) == {"": ["numpy", "POT"], "pandas": ["pandas"]}

    def test_a_missing_package_is_a_failure(self, monkeypatch):
        known = doctor.installed_version
        monkeypatch.setattr(doctor, "installed_version", lambda name: None if name == "POT" else known(name))
        assert "POT is not installed" in call("doctor", code=1).stdout

    def test_warns_of_an_oversized_build(self, monkeypatch):
        monkeypatch.setattr(doctor, "distribution", lambda _: SimpleNamespace(version="0.9.7", files=[]))
        assert "0.9.7" in doctor.pot_warnings()[0]


class TestText:
    def test_sparkline_keeps_order_and_width(self):
        line = text.sparkline(list(range(1000, 0, -1)), 40)
        assert len(line) == 40
        assert list(line) == sorted(line, reverse=True)
        assert text.sparkline([]) == ""
        assert len(set(text.sparkline([2.0, 2.0]))) == 1

    def test_tables_align(self):
        lines = text.format_table(("name", "value"), [("a", "1"), ("long name", "22")]).splitlines()
        assert {len(line) for line in lines} == {len("long name  value")}


def test_what_cannot_be_written_or_read_is_refused_in_words(tmp_path):
    missing = CliRunner().invoke(main, ["run", "maxsat:file=nofile.wcnf"])
    assert missing.exit_code == 2
    assert "nofile.wcnf: No such file or directory" in missing.output
    assert "Errno" not in missing.output
    csv = CliRunner().invoke(main, ["show", "runs.db", "--csv", str(tmp_path / "nowhere" / "a.csv")])
    assert csv.exit_code == 2
    assert "the directory of" in csv.output


def test_a_finished_run_says_that_there_is_nothing_to_do(tmp_path):
    line = ["run", "branin", "--method", "random", "--storage", str(tmp_path / "runs.db"), "--trials"]
    CliRunner().invoke(main, [*line, "8"])
    again = CliRunner().invoke(main, [*line, "5"])
    assert "nothing to do: n_trials is 5, and 8 are finished already" in again.output


def test_an_optimum_that_is_reached_is_called_so():
    found = CliRunner().invoke(main, ["run", "max3sat:variables=5,clauses=8", "--method", "random", "--until-optimum"])
    assert "optimum reached" in found.output
