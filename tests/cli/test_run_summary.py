"""What `bostruct run` says with limits and with several objectives, resumed by the same line, and which methods run."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct import problems
from bostruct.analysis.tables import format_number
from bostruct.cli.run import format_summary, summarize_run
from bostruct.methods import list_names
from bostruct.problems.registry import ENTRIES, GOALS, STRUCTURES
from tests.cli.invoke import SMALL as SMALL_CHOICES
from tests.cli.invoke import as_json, call

HOT = """
import bostruct as bo


def fail(point):
    raise bo.Infeasible("too hot")


one = bo.Problem(fail, {"a": range(9)})
two = bo.Problem(fail, {"a": range(9)}, directions=["minimize", "maximize"])
"""
LIMITED, FRONT = "knapsack:items=12,seed=1", "biknapsack:items=8,seed=1"
SMALL = [LIMITED, FRONT, "qap:size=5", "tsp:size=5", "ordering:size=5", "coverage:nodes=12,chosen=3", "motifs"]


def test_every_problem_of_goals_and_structures_is_run_here():
    groups = (GOALS, STRUCTURES)
    named = {n for n, e in ENTRIES.items() if e.group in groups and all(p.default for p in e.parameters)}
    assert {spec.partition(":")[0] for spec in SMALL} == named


def test_a_problem_of_a_file_is_run_by_its_name(tmp_path):
    numbers = {"qap": "3\n0 1 2 1 0 3 2 3 0\n0 4 5 4 0 6 5 6 0\n", "opb": "min: 1 a 2 b;\n1 a 1 b >= 1;\n"}
    for name, text in numbers.items():
        (tmp_path / name).write_text(text)
        summary = as_json("run", f"{name}:file={tmp_path / name}", "--trials", 4)
        assert (summary["completed"], summary["best_value"]) == (
            4,
            {"qap": 2.0 * (1 * 6 + 2 * 5 + 3 * 4), "opb": 1.0}[name],
        )
    assert "missing: No such file or directory" in call("run", f"tsp:file={tmp_path / 'missing'}", code=2).stderr


def test_with_a_limit_the_best_value_is_that_of_a_trial_that_keeps_it():
    summary, problem = as_json("run", LIMITED, "--trials", 20), problems.load(LIMITED)
    told = problem(summary["best_point"])
    assert told == {"value": summary["best_value"], "constraints": summary["best_constraints"]}
    assert summary["best_constraints"]["weight"] <= problem.goals.limits[0].bound
    assert summary["regret"] == summary["best_value"] - problem.optimum >= 0.0
    assert 0 < summary["feasible"] < summary["completed"] == 20
    shown = call("run", LIMITED, "--trials", 20).stdout
    assert f"{summary['feasible']} of 20 completed trials" in shown
    assert f"weight {summary['best_constraints']['weight']:g}" in shown


def test_where_no_trial_keeps_the_limit_the_run_is_reported_without_a_best(tmp_path):
    line = ("run", "knapsack:items=40,seed=1", "--method", "random", "--trials", 3, "--plot", tmp_path / "a.png")
    summary, shown = as_json(*line), call(*line).stdout
    assert (summary["best_value"], summary["best_point"], summary["feasible"]) == (None, None, 0)
    assert "none: no trial satisfies all constraints: weight <= 623; the nearest of 3 completed trials is" in shown
    assert (tmp_path / "a.png").stat().st_size > 0


def test_two_objectives_have_their_front_and_its_hypervolume_up_to_the_corner_of_the_problem():
    summary, problem = as_json("run", FRONT, "--trials", 15), problems.load(FRONT)
    front = [tuple(one["values"]) for one in summary["front"]]
    assert [problem(one["point"]) for one in summary["front"]] == front
    assert summary["hypervolume"] == pytest.approx(_sum_rectangles(front, problem.reference))
    assert summary["reference"] == list(problem.reference)
    corner = ", ".join(map(format_number, problem.reference))
    line = f"hypervolume  {format_number(summary['hypervolume'])} up to the corner ({corner})\n"
    assert line in call("run", FRONT, "--trials", 15).stdout
    assert call("run", FRONT, "--until-optimum", code=2).stderr


def test_where_nothing_completes_the_run_is_reported_all_the_same_and_has_failed(tmp_path):
    (tmp_path / "hot.py").write_text(HOT, encoding="utf-8")
    for name, lack in (("one", "best value"), ("two", "front")):
        line = ("run", f"{tmp_path / 'hot.py'}:{name}", "--method", "random", "--trials", 5)
        shown = call(*line, "--plot", tmp_path / "a.png", code=1)
        told = "none: no trial has completed: 5 trials, 0 failed, 5 infeasible; the last reason: too hot"
        assert f"{lack} {told}" in " ".join(shown.stdout.split())
        assert shown.stderr == f"Error: no trial has completed; nothing is drawn into {tmp_path / 'a.png'}\n"
        assert not (tmp_path / "a.png").exists()
        summary = json.loads(call(*line, "--json", code=1).stdout)
        assert (summary["trials"], summary["infeasible"], summary.get("best_value")) == (5, 5, None)
        assert "too hot" in summary["nothing_feasible"]


@pytest.mark.parametrize("spec", [LIMITED, FRONT, SMALL_CHOICES])
def test_goals_are_the_same_object_in_all_commands(spec, tmp_path):
    run = as_json("run", spec, "--method", "random", "--trials", 3, "--storage", tmp_path / "r.db")
    shown, problem = as_json("show", tmp_path / "r.db"), as_json("problems", spec)
    assert run["goals"] == shown["goals"] == problem["goals"] == problems.load(spec).goals.to_json()


def _sum_rectangles(front: list[tuple[float, float]], corner: Any) -> float:
    """Sum up the rectangles under a stair, from the least first objective to the corner."""
    rows = sorted(row for row in front if row[0] < corner[0] and row[1] < corner[1])
    ends = [*(first for first, _ in rows[1:]), corner[0]]
    return sum((end - first) * (corner[1] - second) for (first, second), end in zip(rows, ends, strict=True))


@pytest.mark.parametrize("spec", [LIMITED, FRONT])
def test_the_same_line_goes_on_and_ends_where_an_uninterrupted_run_does(spec, tmp_path):
    line = ("run", spec, "--seed", 3, "--storage")
    for trials in (4, 13):
        assert as_json(*line, tmp_path / "resumed.db", "--trials", trials)["trials"] == trials
    whole = as_json(*line, tmp_path / "whole.db", "--trials", 13)
    again = as_json(*line, tmp_path / "resumed.db", "--trials", 13)
    told = ("best_point", "front", "hypervolume", "feasible", "best_constraints")
    assert [again.get(name) for name in told] == [whole.get(name) for name in told]
    with (
        bo.Study.load(tmp_path / "resumed.db", read_only=True) as resumed,
        bo.Study.load(tmp_path / "whole.db", read_only=True) as single,
    ):
        assert [t.point for t in resumed.trials] == [t.point for t in single.trials]
        assert resumed.goals == problems.load(spec).goals


@pytest.mark.parametrize("spec", SMALL)
def test_each_method_takes_the_problem_or_refuses_it_in_words(spec):
    taken = set()
    for method in list_names():
        result = call("run", spec, "--method", method, "--trials", 3, code=None)
        assert result.exit_code in (0, 2), result.output
        if result.exit_code == 0:
            taken.add(method)
        else:
            assert f"cannot be searched by {method}: " in result.stderr
    assert {"auto", "random", "annealing", "evolution"} <= taken


def test_the_text_is_of_the_facts():
    problem = problems.load(LIMITED)
    study = bo.Study(problem.space, method="random", seed=0, constraints={"weight": ("<=", 1000.0)})
    result = study.optimize(problem, 5, progress=False)
    assert f"problem      {problem.name}" in format_summary(summarize_run(problem, study, result), result)


QAP = "3\n0 1 2 1 0 1 2 1 0\n0 3 1 3 0 2 1 2 0\n"
TSP = "DIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 3\n3 4 0\n4 4 3\n"
SOP = "DIMENSION: 4\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0 1 1 9 -1 0 1 1 -1 1 0 1 -1 -1 -1 0\n"
CACHE = '{"tune_params": {"x": [1, 2, 4]}, "cache": {"1": {"x": 1, "time": 2}, "2": {"x": 2, "time": 1}}}'
EXAMPLES = {
    "qap": QAP, "tsp": TSP, "sop": SOP, "maxsat": "p cnf 3 2\n1 2 0\n-1 3 0\n", "opb": "min: 1 a 2 b;\n1 a 1 b >= 1;\n",
    "kernel-tuner": CACHE,
}  # fmt: skip


def test_each_call_for_a_file_on_the_page_of_files_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    calls = re.findall(r"`bostruct run (([\w-]+):file=([\w.-]+))`", page)
    assert {name for _, name, _ in calls} == EXAMPLES.keys()
    for spec, name, file in calls:
        pack = gzip.compress if file.endswith(".gz") else bytes
        Path(file).write_bytes(pack(EXAMPLES[name].encode()))
        summary = as_json("run", spec, "--method", "random", "--trials", 2)
        assert summary["completed"] == 2, spec
        Path(file).write_bytes(pack(b"no such file"))
        refused = call("run", spec, code=2).stderr
        assert refused.startswith("Usage: bostruct run [OPTIONS] PROBLEM\n")
        assert f"{file}" in refused
        assert re.search("line 1, column 1", refused), refused
