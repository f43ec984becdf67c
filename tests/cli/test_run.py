"""`bostruct run`: what it reports, that the same line goes on, what it refuses, and what it draws."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct import problems
from bostruct.analysis.tables import format_number
from bostruct.cli import main
from bostruct.cli.run import draw_result
from bostruct.comparison.statistics import reported_value, suggestion_seconds
from bostruct.problems.base import ArchitectureProblem
from bostruct.study.history import Trial
from tests.cli.invoke import SMALL, as_json, call

ROOT = Path(__file__).parents[2]
RANDOM = ("--method", "random", "--trials")


@pytest.fixture
def stored(tmp_path):
    """Return the options of random search that is kept in a file, but for the number of trials."""
    return ("--storage", tmp_path / "r.db", *RANDOM)


def raise_full_disk(*_, **__):
    raise OSError(28, "No space left on device")


def test_reports_the_best_point_and_its_regret_and_text_says_the_same():
    summary, problem = as_json("run", SMALL, *RANDOM, 12), problems.load(SMALL)
    assert problem(summary["best_point"]) == summary["best_value"]
    assert (summary["regret"], summary["completed"]) == (summary["best_value"] - problem.optimum, 12)
    shown = call("run", SMALL, *RANDOM, 12).stdout
    assert format_number(summary["best_value"], 10) in shown
    assert format_number(summary["regret"]) in shown


def test_the_same_line_goes_on_and_ends_where_an_uninterrupted_run_does(tmp_path):
    line = ("run", SMALL, "--seed", 3, "--storage")
    for trials in (5, 14, 14):
        summary = as_json(*line, tmp_path / "resumed.db", "--trials", trials)
        assert summary["trials"] == trials
    as_json(*line, tmp_path / "whole.db", "--trials", 14)
    resumed, whole = (as_json("show", tmp_path / name)["incumbents"] for name in ("resumed.db", "whole.db"))
    assert resumed == whole


def test_begins_with_the_published_points(tmp_path):
    problem = problems.load("contamination")
    call("run", "contamination", "--config", 2, "--trials", 4, "--method", "random", "--storage", tmp_path / "r.db")
    with bo.Study.load(tmp_path / "r.db", read_only=True) as study:
        assert [trial.point for trial in study.trials] == problem.initial_points(2)[:4]


def test_relabel_is_that_of_the_specification():
    given, named = (as_json("run", *line, *RANDOM, 6) for line in ((SMALL, "--relabel", 4), (f"{SMALL},relabel=4",)))
    assert given["best_point"] == named["best_point"]


def test_stops_at_the_optimum_and_stays_there(stored):
    first, second = (as_json("run", SMALL, "--until-optimum", *stored, 64) for _ in range(2))
    assert (first["regret"], first["best_trial"], second["trials"]) == (0, first["trials"] - 1, first["trials"])


def test_ends_well_when_every_point_has_been_tried():
    summary = as_json("run", SMALL, *RANDOM, 100)
    assert (summary["trials"], summary["regret"]) == (64, 0)


def test_processes_find_what_one_process_finds_under_random_search():
    one, two = (as_json("run", SMALL, *RANDOM, 64, "--workers", n) for n in (1, 2))
    assert one["best_value"] == two["best_value"]


def test_draws(tmp_path):
    call("run", SMALL, *RANDOM, 5, "--plot", tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_without_a_suggestion_there_is_no_time_of_one():
    assert "per suggestion" not in call("run", SMALL, *RANDOM, 1, "--config", 1).stdout


def test_a_file_that_is_only_readable_is_rejected_as_storage(tmp_path, monkeypatch):
    file = tmp_path / "runs.db"
    call("run", SMALL, *RANDOM, 1, "--storage", file)
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    assert "is read-only" in call("run", SMALL, *RANDOM, 2, "--storage", file, code=3).stderr


def test_judges_a_noisy_problem_without_its_noise():
    summary, problem = as_json("run", "pest", *RANDOM, 2), problems.load("pest")
    assert summary["best_value_without_noise"] == problem.noise_free(summary["best_point"])
    assert summary["regret"] is None


def test_progress_shows_incumbent_and_regret():
    shown = call("run", SMALL, *RANDOM, 5, "--progress").stderr
    assert "best " in shown
    assert "regret " in shown
    assert call("run", SMALL, *RANDOM, 5).stderr == ""


@pytest.mark.parametrize(
    ("problem", "arguments", "named"),
    [
        (SMALL, ("--method", "magic"), "magic"),
        (SMALL, ("--trials", "0"), "0"),
        (SMALL, ("--trials", "abc"), "'abc' is not a valid integer."),
        (SMALL, ("--config", "99"), "99"),
        (SMALL, ("--plot", "run.xyz"), "run.xyz"),
        (SMALL, ("--plot", "nowhere/run.png"), "nowhere"),
        (SMALL, ("--timeout", "nan"), "expected a finite number, got nan"),
        (SMALL, ("--timeout", "inf"), "expected a finite number, got inf"),
        (SMALL, ("--regret", "nan"), "expected a finite number, got nan"),
        (f"{SMALL},relabel=4", ("--relabel", 4), "relabel"),
        pytest.param("pest", ("--until-optimum",), "not known", id="unknown optimum"),
        *(
            (
                "knapsack:items=5",
                option,
                f"{option[0]}: expected one objective and no constraints; the goals of knapsack",
            )
            for option in (("--repeats",), ("--regret", 1), ("--stop-trials", "median"))
        ),
    ],
)
def test_refuses_wrong_options(problem, arguments, named):
    assert named in call("run", problem, *arguments, code=2).stderr


@pytest.mark.usefixtures("default_sigint")
def test_interrupted_it_exits_with_130_and_loses_nothing(tmp_path):
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
    assert "same command resumes" in errors
    assert as_json("show", file)["completed"] >= 3


def test_a_finished_run_says_that_there_is_nothing_to_do(stored):
    call("run", "branin", *stored, 8)
    shown = call("run", "branin", *stored, 5, code=None).output
    assert "nothing to do: n_trials is 5, and 8 are finished already" in shown


def test_an_optimum_that_is_reached_is_called_so():
    line = ("run", "max3sat:variables=5,clauses=8", "--method", "random", "--until-optimum")
    assert "optimum reached" in call(*line, code=None).output


def test_a_study_that_is_open_elsewhere_is_shared(tmp_path):
    name = f"{problems.load(SMALL).name} random seed=0"
    with bo.Study(problems.load(SMALL).space, method="random", seed=0, storage=tmp_path / "r.db", name=name) as study:
        trial = study.ask()
        call("run", SMALL, *RANDOM, 5, "--storage", tmp_path / "r.db")
        assert study.tell(trial, 1.0).number == 0
        assert study.n_finished == 5


def test_another_study_under_the_name_is_refused(tmp_path):
    line = ("run", SMALL, "--trials", 3, "--storage", tmp_path / "r.db", "--name", "mine")
    call(*line, "--method", "random")
    assert "method" in call(*line, "--method", "annealing", code=3).stderr


def test_another_problem_under_the_name_is_refused_and_the_study_is_left_as_it_is(tmp_path, stored):
    problem = "max3sat:variables=9,clauses=30"
    call("run", f"{problem},seed=1", *stored, 3, "--name", "s")
    call("run", "branin", *stored, 3)
    before = (tmp_path / "r.db").read_bytes()
    refused = call("run", f"{problem},seed=2", *stored, 4, "--name", "s", code=3).stderr
    assert "study 's' in " in refused
    assert "has the problem 'max3sat:variables=9,clauses=30,seed=1', not 'max3sat:v" in refused
    assert "seed=2'; give the study another name" in refused
    # both have x1 and x2, so that the space would be taken for one that changed
    refused = call("run", problem, *stored, 4, "--name", "branin random seed=0", code=3).stderr
    assert "has the problem 'branin', not 'max3sat:" in refused
    assert (tmp_path / "r.db").read_bytes() == before
    assert as_json("run", f"{problem},seed=1", *stored, 4, "--name", "s")["completed"] == 4


def test_a_study_on_record_without_a_problem_goes_on(tmp_path, stored):
    with bo.Study(problems.load(SMALL).space, method="random", seed=0, storage=tmp_path / "r.db", name="s") as study:
        study.tell(study.ask(), 1.0)
    assert as_json("run", SMALL, "--name", "s", *stored, 3)["trials"] == 3


def test_a_problem_of_your_own_is_the_same_one_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "same_from_anywhere.py").write_text("problem = other = (lambda point: point['a'], {'a': range(9)})\n")
    line = ("--method", "random", "--storage", tmp_path / "r.db", "--name", "s", "--trials")
    call("run", f"{tmp_path / 'same_from_anywhere.py'}:problem", *line, 2)
    monkeypatch.chdir(tmp_path)
    call("run", "same_from_anywhere.py:problem", *line, 3)
    refused = call("run", "same_from_anywhere.py:other", *line, 4, code=3).stderr
    assert "'same_from_anywhere.py:problem', not 'same_from_anywhere.py:other'" in refused


def told(origin: str, seconds: float) -> Trial:
    return Trial(0, {}, "completed", 1.0, info={"origin": origin, "suggest_seconds": seconds})


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([], None),
        ([told("initial", 9.0), told("added", 9.0)], None),
        ([told("initial", 9.0), told("model", 1.0), told("random", 3.0)], 2.0),
        ([told("model", 1.0), told("fallback", 5.0), told("model", 2.0)], 2.0),
    ],
)
def test_seconds_are_the_median_of_points_that_the_method_chose(trials, expected):
    assert suggestion_seconds(SimpleNamespace(trials=trials)) == expected  # type: ignore[arg-type]


def test_a_figure_is_reported_where_runs_are_judged_by_another_than_the_value():
    problem = problems.load("landscape")
    assert isinstance(problem, ArchitectureProblem)
    point = problem.initial_points(1)[0]
    result = SimpleNamespace(best_point=point)
    assert reported_value(problems.load(SMALL), result) is None  # type: ignore[arg-type]
    assert reported_value(replace(problem, report=None), result) is None  # type: ignore[arg-type]
    assert reported_value(replace(problem, report=len), result) == len(point)  # type: ignore[arg-type]


def test_a_picture_has_the_method_and_the_problem_as_its_title(tmp_path):
    pytest.importorskip("matplotlib")
    problem = problems.load(SMALL)
    result = bo.minimize(problem, problem.space, 4, method="random", seed=0)
    draw_result(result, problem, str(tmp_path / "run.svg"))
    assert f"random on {problem.name}" in (tmp_path / "run.svg").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="xyz"):
        draw_result(result, problem, str(tmp_path / "run.xyz"))


CURVES = """
import bostruct as bo

def curve(point):
    for epoch in range(1, 7):
        bo.report(epoch, abs(point["a"] - 7) + 3 / epoch)
    return abs(point["a"] - 7) + 0.5

problem = bo.Problem(curve, {"a": range(30)}, name="curve")
"""


def test_trials_and_runs_end_early_where_a_line_asks_for_it(tmp_path):
    (tmp_path / "stopped_curves.py").write_text(CURVES)
    curve = f"{tmp_path / 'stopped_curves.py'}:problem"
    for rule in ("median", "halving"):
        found = as_json("run", curve, *RANDOM, 20, "--stop-trials", rule)
        assert (found["completed"], 0 < found["stopped_early"] < 20) == (20, True)
    told = call("run", curve, *RANDOM, 20, "--stop-trials", "halving").stdout
    assert f"; {found['stopped_early']} stopped early" in told
    found = as_json("run", curve, "--trials", 60, "--regret", 0.5)
    assert found["trials"] < 60
    assert "no point is better by more than 0.5" in found["stopped"]


def test_a_line_that_lets_points_be_asked_again_goes_on(tmp_path):
    line = ("run", SMALL, "--repeats", "--storage", tmp_path / "r.db")
    call(*line, "--trials", 12)
    assert as_json(*line, "--trials", 13)["trials"] == 13


OWN = """
import bostruct as bo

calls = 0

def interrupted(point):
    global calls
    calls += 1
    if calls == 5:
        raise KeyboardInterrupt
    return point["x"]

def failing(point):
    raise ValueError("no licence")

problem = bo.Problem(interrupted, {"x": bo.Real(0, 1)})
mistake = bo.Problem(failing, {"x": bo.Real(0, 1)})
"""


@pytest.fixture
def own(tmp_path):
    """Return the lines that run the two problems of a file, whose module has a name of its own in this process."""
    file = tmp_path / f"{tmp_path.name}_run.py"
    file.write_text(OWN)
    return [("run", f"{file}:{name}", *RANDOM, 9) for name in ("problem", "mistake")]


def test_without_a_storage_an_interrupted_line_reports_and_draws_what_it_finished(own, tmp_path):
    found = call(*own[0], "--json", "--plot", tmp_path / "a.png", code=130)
    assert json.loads(found.stdout)["completed"] == 4
    assert "4 finished trials not kept: --storage FILE keeps them" in found.stderr
    assert (tmp_path / "a.png").stat().st_size > 0


def test_a_picture_that_cannot_be_drawn_takes_not_the_place_of_the_report(own, tmp_path, monkeypatch):
    monkeypatch.setattr("bostruct.cli.run.draw_result", raise_full_disk)
    found = call(*own[0], "--json", "--plot", tmp_path / "a.png", code=130)
    assert json.loads(found.stdout)["completed"] == 4


def test_a_report_that_cannot_be_printed_takes_not_the_place_of_what_ended_the_run(own, monkeypatch):
    monkeypatch.setattr("bostruct.cli.run._print_summary", raise_full_disk)
    assert "Interrupted" in call(*own[0], code=130).stderr


def test_a_mistake_in_the_objective_is_reported_with_what_there_is(own):
    found = call(*own[1], "--json", code=1)
    assert json.loads(found.stdout)["completed"] == 0
    assert "no licence" in found.stderr


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("auto", 1, "10 trials of this run failed"),
        ("3", 1, "3 trials of this run"),
        ("none", 1, "no trial has"),
        ("0", 2, "expected a number from 1, auto or none; got 0"),
    ],
)
def test_a_limit_of_failures_is_a_number_auto_or_none(given, code, said, tmp_path):
    source = "import bostruct as bo\nproblem = lambda _: float('nan'), bo.Space({'a': range(99)})\n"
    file = tmp_path / f"fails_{given}.py"
    file.write_text(source)
    assert said in call("run", f"{file}:problem", *RANDOM, 15, "--max-initial-failures", given, code=code).output


def test_a_file_with_sums_runs_shows_and_resumes(tmp_path):
    """A problem file with a mixture, an allocation and a linear constraint, from the file to a resumed run."""
    file = tmp_path / "weighed_sums.py"
    file.write_text(
        "import bostruct as bo\n"
        "sums = {'blend': bo.Mixture(list('abc'), max_parts=2), 'units': bo.Allocation(['p', 'q'], 5)}\n"
        "numbers = {'x': bo.Real(0, 3), 'y': bo.Real(0, 3)}\n"
        "space = bo.Space(sums | numbers, [bo.Linear.parse('x + 2*y <= 3')])\n"
        "problem = bo.Problem(lambda p: p['blend']['a'] + p['units']['p'] - p['y'], space, initial=4)\n"
    )
    line, storage = ("run", f"{file}:problem", *RANDOM), ("--storage", tmp_path / "r.db")
    as_json(*line, 5, *storage)
    assert as_json(*line, 8, *storage)["best_point"] == as_json(*line, 8)["best_point"]
    assert "blend" in call("show", tmp_path / "r.db").stdout
    call("show", tmp_path / "r.db", "--csv", tmp_path / "t.csv")
    assert {"point.blend.a", "point.units.q", "point.y"} <= {
        *(tmp_path / "t.csv").read_text().split("\n")[0].split(",")
    }
    with bo.Study.load(tmp_path / "r.db") as study:
        assert study.domain.constraints == (bo.Linear({"x": 1, "y": 2}, "<=", 3),)
