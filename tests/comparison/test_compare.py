"""`bostruct.compare`: what may be compared, paired runs, resuming, failures, and tables."""

from __future__ import annotations

import csv
import dataclasses
import json
import math

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.comparison.compare import compare, read_methods, read_problems
from bostruct.comparison.plan import Plan, RunKey, initial_points
from bostruct.comparison.runs import execute, read_cpu_seconds
from bostruct.comparison.value import Comparison
from bostruct.storage.protocol import StorageError

SPACE = bo.Space({"a": range(12), "b": range(12)})
# Only the runs of `found` are in worker processes.
pytestmark = [pytest.mark.usefixtures("runs_in_process"), pytest.mark.xdist_group("compare")]


def cost(point):
    return float((point["a"] - 3) ** 2 + point["b"])


def two_costs(point):
    return float(point["a"]), float(12 - point["a"] + point["b"])


def limited_cost(point):
    return {"value": float(point["a"] + point["b"]), "constraints": {"weight": float(point["a"] * point["b"])}}


def draw(domain):
    """Draw at random."""
    return methods.random(domain)


@pytest.fixture(scope="module")
def found() -> Comparison:
    problem = bo.Problem(cost, SPACE, optimum=0.0, initial=4)
    return compare(problem, ["hill-climbing", draw], n_trials=14, seeds=3, workers=2, progress=False)


def test_runs_of_a_seed_begin_alike_and_differences_are_paired(found):
    results = found["cost"].results
    assert set(results) == {RunKey(method, seed) for method in ("hill-climbing", "draw") for seed in range(3)}
    for seed in range(3):
        begun = [[trial.point for trial in results[name, seed].trials[:4]] for name in ("hill-climbing", "draw")]
        assert begun[0] == begun[1] == bo.Problem(cost, SPACE, initial=4).initial_points(seed)
    first, second = found["cost"].rows
    best = {cell: result.best_value for cell, result in results.items()}
    gaps = [best["draw", seed] - best["hill-climbing", seed] for seed in range(3)]
    assert second.difference == pytest.approx(np.mean(gaps))
    half = 4.302653 * np.std(gaps, ddof=1) / math.sqrt(3)
    assert (second.low, second.high) == pytest.approx((np.mean(gaps) - half, np.mean(gaps) + half), rel=1e-5)
    assert (first.pairs, second.pairs, second.p_holm) == (0, 3, second.p)  # one test: nothing to correct
    assert first.regret == first.mean
    assert second.cpu_seconds > 0.0


def test_a_run_is_what_minimize_gives(found):
    points = bo.Problem(cost, SPACE, initial=4).initial_points(1)
    alone = bo.minimize(cost, SPACE, 14, method="hill-climbing", seed=1, initial_points=points, progress=False)
    assert [t.point for t in found["cost"].results["hill-climbing", 1].trials] == [t.point for t in alone.trials]


def test_runs_of_shared_points_alone_are_no_comparison():
    problem = bo.Problem(cost, SPACE, initial=4)
    methods = ["random", "hill-climbing"]
    short, longer = (bo.compare(problem, methods, n_trials=n, seeds=2, progress=False).problems[0] for n in (4, 6))
    assert (short.n_initial, longer.n_initial) == (4, 4)
    assert [note[:13] for note in short.notes] == ["no comparison"]
    assert longer.notes == []
    fewer = bo.minimize(cost, SPACE, 6, seed=0, initial_points=problem.initial_points(0)[:2], progress=False)
    some = dataclasses.replace(longer, results={**longer.results, next(iter(longer.results)): fewer})
    assert some.n_initial == 2  # that all share
    one = bo.compare(problem, ["random"], n_trials=6, seeds=1, progress=False).problems[0]
    assert "all methods" not in one.title


@pytest.mark.parametrize(("direction", "optimum"), [("minimize", 30.0), ("maximize", 1.0)])
def test_a_better_value_than_the_optimum_is_noted_and_warned_of(direction, optimum):
    problem = bo.Problem(cost, SPACE, optimum=optimum, initial=4, direction=direction)
    with pytest.warns(UserWarning, match=rf"^cost: wrong optimum: a run found .* better than {optimum:g}; correct"):
        one = bo.compare(problem, ["random"], n_trials=20, seeds=2, progress=False).problems[0]
    assert "wrong optimum" in one.to_text()
    assert one.rows[0].optima == 0


def test_it_prints_as_a_table_in_every_form(found):
    assert "wrong optimum" not in repr(found)
    assert "difference to hill-climbing" in repr(found)
    shared = "the first 4 at points that all methods share"
    assert repr(found).startswith(f"cost: 14 trials a run, {shared}. Optimum 0 (as given).")
    assert "| hill-climbing | 3 | " in found.to_markdown()
    assert "<th>draw</th>" in found._repr_html_()
    assert found.rows()[1]["problem"] == "cost"
    assert len(found) == 1
    assert [one.name for one in found] == ["cost"]
    with pytest.raises(KeyError, match="Did you mean 'cost'"):
        found["costs"]


def test_it_becomes_a_data_frame_and_a_picture(found):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    frame = found.to_dataframe()
    assert list(frame["method"]) == ["hill-climbing", "draw"]
    assert "cost, mean of 3 runs" in found.plot().get_title(loc="left")


def test_several_problems_and_labels_have_a_table_each(tmp_path):
    front = bo.Problem(two_costs, SPACE, directions=["minimize", "minimize"], initial=3)
    given = {"bread": (cost, SPACE), "front": front}
    labeled = {"mine": draw, "theirs": "evolution"}
    found = compare(given, labeled, n_trials=8, seeds=2, storage=tmp_path, progress=False)
    assert [one.name for one in found] == ["bread", "front"]
    assert {row["method"] for row in found.rows()} == {"mine", "theirs"}
    assert "hypervolume" in found["front"].to_text()
    assert found["front"].rows[0].mean > 0.0
    assert json.loads((tmp_path / "front" / "comparison.json").read_text())["problem"] == "front"
    with open(tmp_path / "front" / "incumbents.csv", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2 * 2 * 8
    pytest.importorskip("matplotlib")
    assert len(found.plot()) == 2


def test_with_limits_the_best_value_that_keeps_them_counts():
    goals = {"direction": "maximize", "constraints": {"weight": ("<=", 20.0)}}
    problem = bo.Problem(limited_cost, SPACE, optimum=12.0, initial=4, **goals)
    found = compare(problem, ["random", draw], n_trials=12, seeds=2, progress=False)
    one = found.problems[0]
    for cell, result in one.results.items():
        kept = [t.value or 0.0 for t in result.trials if t.constraints["weight"] <= 20.0]
        assert result.best_value == max(kept), cell
    assert "best feasible value" in repr(found)
    assert one.rows[0].regret == pytest.approx(12.0 - one.rows[0].mean)
    never = bo.Problem(limited_cost, SPACE, constraints={"weight": ("<=", -1.0)}, initial=2)
    nothing = compare(never, "random", n_trials=4, seeds=1, progress=False)
    (row,) = nothing.problems[0].rows
    assert (row.runs, row.feasible, row.p) == (1, 0, None)
    assert math.isnan(row.mean)
    assert "not feasible: random, seed 0: no trial satisfies all constraints" in repr(nothing)


def test_values_of_a_noisy_problem_are_judged_without_noise():
    problem = bo.Problem(lambda point: cost(point) + point["b"] % 3, SPACE, noise_free=cost, optimum=0.0, initial=3)
    one = compare(problem, ["random"], n_trials=6, seeds=2, progress=False).problems[0]
    assert one.rows[0].mean == np.mean([cost(result.best_point) for result in one.results.values()])
    assert one.title.endswith(" Values are without noise; the plot shows observed values.")


def test_a_folder_resumes_and_keeps_others_out(tmp_path):
    problem = bo.Problem(cost, SPACE, initial=2)
    compare(problem, [draw], n_trials=4, seeds=1, storage=tmp_path, progress=False)
    timed = read_cpu_seconds(tmp_path / "runs" / "draw-0.db")
    assert timed is not None
    assert timed[0] == 2  # suggestions, beside two initial points
    longer = compare(problem, [draw], n_trials=6, seeds=2, storage=tmp_path, progress=False)
    whole = compare(problem, [draw], n_trials=6, seeds=2, progress=False)
    for seed in (0, 1):
        one, other = (found.problems[0].results[RunKey("draw", seed)] for found in (longer, whole))
        assert [trial.point for trial in one.trials] == [trial.point for trial in other.trials]
    with pytest.raises(StorageError, match="has a comparison on cost, not on other"):
        compare(bo.Problem(cost, SPACE, name="other"), draw, n_trials=4, storage=tmp_path, progress=False)


def test_files_that_name_no_run_are_passed_over(tmp_path):
    plan = Plan("branin", {"random": "random"}, 1, 1, tmp_path)
    (tmp_path / "runs").mkdir()
    for name in ("random-3.db", "random-0-backup.db", "random-00.db", "random-.db"):
        (tmp_path / "runs" / name).touch()
    assert plan.find_files() == [RunKey("random", 3)]


def test_an_error_of_scoring_keeps_the_runs_and_costs_no_other_problem(monkeypatch, tmp_path):
    def fail(_):
        raise RuntimeError("mean unknown here")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    noise_free = {"bad": fail, "good": None}
    given = {name: bo.Problem(cost, SPACE, initial=2, noise_free=own) for name, own in noise_free.items()}
    with pytest.raises(RuntimeError, match="mean unknown here") as caught:
        compare(given, "random", n_trials=3, seeds=1, progress=False)
    (kept,) = tmp_path.glob("bostruct-compare-*")
    assert "on bad" in caught.value.__notes__[0]
    assert "Compared: good" in caught.value.__notes__[1]
    assert f"the same call with storage={str(kept)!r} resumes" in caught.value.__notes__[2]
    assert [one.problem.name for one in caught.value.result] == ["good"]
    assert "random" in (kept / "good" / "comparison.txt").read_text(encoding="utf-8")
    given["bad"] = given["good"]
    assert len(compare(given, "random", n_trials=3, seeds=1, storage=kept, progress=False)) == 2


def test_several_objectives_without_a_feasible_run_have_no_hypervolume():
    def measure(point):
        return {"value": two_costs(point), "constraints": {"weight": 1.0}}

    problem = bo.Problem(measure, SPACE, directions=["minimize"] * 2, constraints={"weight": ("<=", 0.0)}, initial=2)
    found = compare(problem, ["random", draw], n_trials=3, seeds=2, progress=False)
    assert [row["mean"] for row in found.rows()] == [0.0, 0.0]
    pytest.importorskip("matplotlib")
    assert "hypervolume" in found.plot().get_ylabel()


def test_means_over_feasible_runs_say_how_many_there_are_and_are_not_compared():
    def measure(point):
        return {"value": float(point["a"]), "constraints": {"tight": float(point["b"])}}

    starts = [[{"a": 5, "b": 0}], [{"a": 7, "b": 3}], [{"a": 9, "b": 0}]]
    problem = bo.Problem(measure, SPACE, constraints={"tight": ("<=", 0.0)}, optimum=5.0, initial=starts.__getitem__)
    found = compare(problem, ["random", draw], n_trials=1, seeds=3, progress=False)
    for row in found["measure"].rows:
        assert (row.runs, row.feasible, row.mean, row.optima) == (3, 2, 7.0, 1)
    second = found["measure"].rows[1]
    assert (second.pairs, second.p, second.p_holm) == (3, None, None)
    assert math.isnan(second.difference)
    header, cells = found["measure"].table()
    assert cells[0][header.index("feasible")] == "2 of 3"
    assert "Means are only over the runs that found a feasible point" in repr(found)
    pytest.importorskip("matplotlib")
    assert "mean of 2 runs, feasible ones alone" in found.plot().get_title(loc="left")


def test_seconds_of_both_clocks_are_of_the_same_suggestions():
    """Evolution draws its first points itself; they cost nothing, and neither clock counts them."""
    found = compare(bo.Problem(cost, SPACE, initial=0), "evolution", n_trials=4, seeds=1, progress=False).problems[0]
    assert {trial.origin for trial in found.results["evolution", 0].trials} == {"initial"}
    assert (found.rows[0].seconds, found.rows[0].cpu_seconds) == (None, None)


def test_ctrl_c_says_where_the_finished_trials_are(monkeypatch, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("bostruct.comparison.compare.execute", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        compare((cost, SPACE), "random", n_trials=4, seeds=1, progress=False)
    (kept,) = tmp_path.iterdir()
    assert f"the same call with storage={str(kept)!r} resumes" in caught.value.__notes__[0]


def test_nothing_is_left_without_storage(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    compare((cost, SPACE), "random", n_trials=2, seeds=1, progress=False)
    assert not list(tmp_path.glob("bostruct-compare-*"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((3, "random"), "problems: expected a bostruct.Problem"),
        (([], "random"), "problems: expected at least one problem, got none"),
        (([(cost, SPACE), (cost, SPACE)], "random"), "problems: two problems are named 'cost'; give a dict"),
        (({"short": "branin"}, "random"), "a benchmark problem cannot be renamed"),
        (("branin", []), "methods: expected at least one method, got none"),
        (
            (["random"], bo.Problem(cost, SPACE)),
            r"methods\['Problem'\]: expected a name, a searcher or .*, got Problem",
        ),
        (("branin", [3]), "expected a name, a searcher or a function from a domain to a searcher, got 3"),
        (("branin", [draw, type("other", (), {"__name__": "draw", "__call__": draw})()]), "are labeled 'draw'"),
        (("branin", "smca"), "Did you mean 'smac'"),
        (
            ("branin", {"x": lambda _: None}),
            r"branin cannot be searched by x: methods\['x'\]: its result: expected a .*Searcher .*, got None",
        ),
        (
            ((cost, SPACE), ["random", "nasbot"]),
            "cost cannot be searched by nasbot: method: nasbot needs arch",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_any_run(given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        compare(*given, n_trials=2, seeds=1, progress=False)


def test_labels_of_any_letters_are_file_names_that_read_back(tmp_path):
    plan = Plan("branin", read_methods(["mine.py:method", "a/b"]), 2, 3, tmp_path)
    (tmp_path / "runs").mkdir()
    for cell in plan.cells:
        plan.file(cell).touch()
    assert plan.find_files() == sorted(plan.cells)


def test_published_sets_of_initial_points_go_in_a_circle():
    problem = bo.Problem(cost, SPACE)
    assert initial_points(problem, 30) == problem.initial_points(30)
    assert list(read_problems(["branin", problem])) == ["branin", "cost"]


def test_ctrl_c_carries_the_comparison_of_the_runs_that_are_done(monkeypatch, tmp_path):
    def interrupt(plan, *given):
        if plan.problem == "second":
            raise KeyboardInterrupt
        return execute(plan, *given)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("bostruct.comparison.compare.execute", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        compare({"first": (cost, SPACE), "second": (cost, SPACE)}, "random", n_trials=4, seeds=2, progress=False)
    (note,) = caught.value.__notes__
    assert note.endswith("resumes; error.result compares the runs that are done.")
    (compared,) = caught.value.result
    assert (compared.name, len(compared.results)) == ("first", 2)
    assert "random" in repr(caught.value.result)


def test_a_limit_of_failures_gets_through_to_the_runs():
    def fail(_):
        return float("nan")

    found = compare((fail, SPACE), "random", n_trials=12, seeds=1, progress=False).problems[0]
    assert "ObjectiveError: 10 trials of this run failed" in found.failed["random", 0]
    found = compare((fail, SPACE), "random", n_trials=12, seeds=1, progress=False, max_initial_failures=None)
    assert not found.problems[0].failed
    with pytest.raises(ValueError, match="max_initial_failures: expected"):
        compare((fail, SPACE), "random", n_trials=4, max_initial_failures=0)


def test_runs_that_end_early_are_counted_with_their_trials():
    values = iter([1.0] * 3 + [3.0, 2.0] + [2.0] * 2 + list(range(20, 0, -1)))
    problem = bo.Problem(lambda _: next(values), SPACE, initial=1)
    found = compare(problem, ["random"], n_trials=9, seeds=3, patience=2, timeout=1e6)
    text = "ended by timeout=1e+06 or patience=2: random, 2 of 3 runs, after 3 to 4 trials"
    assert text in repr(found)
    few = compare(bo.Problem(cost, bo.Space({"a": [1], "b": range(4)})), ["random"], n_trials=9, seeds=1, patience=9)
    assert "ended by" not in repr(few)
