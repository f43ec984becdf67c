"""The benchmark of experiments: problems, hypervolume, runs, batches, the command and its page."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from benchmarks.experiments import __main__ as command
from benchmarks.experiments import batches, comparisons, costs, judging, report, searches, targets
from benchmarks.experiments.cases import GROUPS, PROBLEMS, SEARCHES, make_task
from benchmarks.experiments.fronts import LOST, find_losses
from benchmarks.experiments.instances import Instance, Measured, keeps_limits, try_measure
from benchmarks.experiments.run import take
from benchmarks.peers.before import FOLDER, AutoBefore, auto_before, describe_package, describe_packages
from benchmarks.peers.record import append_run, read_file
from benchmarks.peers.run import Run, draw_initial
from benchmarks.peers.tasks import Task
from tests.benchmarks.test_peers import save_measured

GENERATED = [
    *GROUPS["noise"].problems,
    "ehrlich 15 categories",
    "knapsack 40",
    "max-3-sat 60 few true",
    "knapsack 30 two objectives",
    "ehrlich 15 two objectives",
    "orders 12 two criteria",
]
OF_FILES = [*GROUPS["kernels"].problems, "kernel convolution steady", "nas-bench-201 small"]


@pytest.mark.parametrize(
    ("problem", "measured", "bounds", "corners"),
    [
        ("knapsack 40", [(-831.0, 832.0), (-883.0, 894.0)], {"weight": 551.0}, ()),
        ("knapsack 30 two objectives", [(-1941.0, 1176.0), (-1347.0, 788.0)], {}, ((-3982.0, 0.0), (0.0, 1746.0))),
        (
            "orders 12 two criteria",
            [(-33.686119838479385, -31.92337692700204), (-34.27894788171965, -36.19349985300123)],
            {},
            ((-66.0, -35.15336188048104), (-66.0, -33.328105353586665)),
        ),
    ],
)
def test_generated_instances_are_those_on_which_stored_runs_rest(problem, measured, bounds, corners):
    instance = make_task(problem, 7, None)
    xs = instance.space.sample(3, np.random.default_rng(0))[:2]
    found = [instance.measure(instance.space.present(x)) for x in xs]
    assert [one.objectives + one.limited for one in found] == [pytest.approx(row, rel=1e-12) for row in measured]
    assert dict(instance.bounds) == bounds
    np.testing.assert_allclose(np.array(instance.corners), np.array(corners), rtol=1e-12)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """A folder of small tables in the format of the real ones."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    save_measured(folder, rng)
    with np.load(folder / "nasbench201" / "nasbench201.npz") as held:
        arrays = dict(held)
    n = len(arrays["edges"])
    arrays |= {"c10_params_M": rng.uniform(0.1, 1.5, n), "in16_hw": rng.uniform(1.0, 9.0, (n, 2))}
    arrays["hw_columns"] = np.array(["edgegpu_latency", "pixel3_latency"])
    np.savez(folder / "nasbench201" / "nasbench201.npz", **arrays)
    for file in (folder / "kernel_tuning").iterdir():
        with np.load(file) as held:
            tables = dict(held)
        tables |= {f"{name[:-3]}_sd": 0.1 * rng.random(7) for name in tables if name.endswith("_ms")}
        np.savez(file, **tables)
    return folder


def make(problem: str, seed: int, data: Path | None = None) -> Instance:
    return make_task(problem, seed, data)


@pytest.mark.parametrize("problem", [*GENERATED, *OF_FILES, "nas-bench-201 three objectives"])
def test_an_instance_is_a_function_of_its_seed(problem, data):
    one, again = (make(problem, 3, data) for _ in range(2))
    points = [one.space.present(x) for x in one.space.sample(8, np.random.default_rng(0))]
    found = [try_measure(one, point) for point in points]
    assert found == [try_measure(again, point) for point in points]
    assert any(found)
    assert one.initial == again.initial
    for measured in filter(None, found):
        assert len(measured.objectives) == one.n_objectives
        assert len(measured.limited) == len(one.bounds)


@pytest.mark.parametrize("problem", [*OF_FILES, "nas-bench-201 two objectives"])
def test_files_that_are_missing_are_named(problem, tmp_path):
    for folder in (None, tmp_path):
        with pytest.raises(FileNotFoundError, match="--data DIR"):
            make(problem, 0, folder)


@pytest.mark.parametrize("problem", GROUPS["noise"].problems)
def test_noise_is_new_at_each_evaluation_and_its_mean_is_the_truth(problem):
    one, other = make(problem, 1), make(problem, 1)
    point = draw_initial(one.space, 1)[0]
    values = [one.measure(point).objectives[0] for _ in range(60)]
    assert [other.measure(point).objectives[0] for _ in range(60)] == values
    assert one.truth is not None
    if problem.endswith("quiet"):
        assert set(values) == {one.truth(point)}
    else:
        assert len(set(values)) > 20
        assert abs(np.mean(values) - one.truth(point)) < 4.0 * np.std(values) / 60**0.5 + 0.01


def test_a_knapsack_weighs_what_is_in_it():
    one = make("knapsack 40", 0)
    empty = dict.fromkeys(one.space.variables, False)
    assert one.measure(empty) == Measured((0.0,), (0.0,))
    whole = one.measure(dict.fromkeys(one.space.variables, True))
    parts = [one.measure(empty | {name: True}) for name in one.space.variables]
    assert whole.objectives[0] == sum(part.objectives[0] for part in parts)
    assert whole.limited[0] == sum(part.limited[0] for part in parts)
    assert one.bounds["weight"] == math.floor(0.35 * whole.limited[0])
    assert keeps_limits(one, one.measure(empty))
    assert not keeps_limits(one, whole)


def test_what_a_kernel_forbids_fails_although_the_space_has_it(data):
    one = make("kernel convolution hidden", 0, data)
    assert not one.space.constraints
    found = [try_measure(one, one.space.present(x)) for x in one.space.enumerate()]
    assert [n for n, measured in enumerate(found) if measured is None] == [0, 4]  # not in the table; did not run


def test_two_criteria_are_worth_the_whole_matrix_in_both_directions():
    one = make("orders 12 two criteria", 0)
    order = tuple(range(12))
    there, back = (one.measure({"order": own}).objectives for own in (order, order[::-1]))
    sums = [a + b for a, b in zip(there, back, strict=True)]
    assert sums[0] != sums[1]
    assert [top for _, top in one.corners] == pytest.approx([total / 2.0 for total in sums])
    values = [one.measure(one.space.present(x)).objectives for x in one.space.sample(400, np.random.default_rng(0))]
    np.testing.assert_allclose(np.mean(values, axis=0), [top for _, top in one.corners], atol=0.5)


def test_losses_fall_with_points_that_count():
    told = [None, (2.0, 30.0), (2.0, 30.0), None, (1.0, 20.0), (9.0, 9.0), (3.0, 10.0)]
    found = find_losses(told, ((0.0, 4.0), (0.0, 40.0)))
    assert found == pytest.approx([1.0, 0.875, 0.875, 0.875, 0.625, 0.625, 0.5625])


@pytest.mark.parametrize("problem", ["knapsack 40", "orders 12 two criteria", "ehrlich 15 two objectives"])
def test_our_methods_are_told_limits_objectives_and_failures(problem, data):
    found = take(Run(problem, "random", 2, 16), 1e9, data)
    assert found["evaluated"] == 16
    ((name, value),) = found["measures"].items()
    assert name == PROBLEMS[problem].measures[0]
    if found["improvements"]:
        assert value == found["improvements"][-1][1]
    else:
        assert value == make(problem, 2, data).nothing


def test_only_points_that_keep_the_limit_count():
    one = Instance(bo.Space({"x": bool}), lambda _: Measured((0.0,)), {"weight": 2.0}, nothing=7.0)
    measured = [Measured((3.0,), (2.0,)), Measured((1.0,), (2.1,)), None, Measured((4.0,), (0.0,))]
    trials = [({}, one) for one in measured]
    assert [value for value in judging.score_values(one, trials) if not math.isnan(value)] == [3.0, 4.0]
    unused: searches.Search = searches.Ours("random", one._replace(bounds={}), [], 0)
    assert judging.judge_best(one, trials, unused) == {"best": 3.0}
    assert judging.judge_best(one, trials[1:3], unused) == {"best": 7.0}
    late = [*[trials[0]] * 50, trials[2], trials[0], trials[2], trials[2]]
    assert judging.judge_failures(one, late, unused)["failed"] == 0.75


@pytest.mark.parametrize("search", ["random", "evolution"])
def test_a_noisy_run_is_judged_by_the_truth(search):
    found = take(Run("linear 16 noisy", search, 1, 14), 1e9, None)
    assert set(found["measures"]) == {"recommended", "best told"}
    assert found["measures"]["recommended"] == found["measures"]["best told"]
    assert found["improvements"][-1][1] not in found["measures"].values()


def test_batches_are_told_as_a_whole_and_workers_one_by_one():
    space = bo.Space({f"b{i}": bool for i in range(10)})
    instance = Instance(space, lambda point: Measured((float(sum(point.values())),)))
    in_flight: dict[str, list[tuple[int, int]]] = {}

    class Watched(bo.Study):
        def ask(self, n: Any = None) -> Any:
            counts.append((sum(trial.status == "running" for trial in self.trials), n))
            return super().ask(n)

    for name, (width, _) in batches.SCHEDULES.items():
        counts: list[tuple[int, int]] = []
        study = Watched(instance.space, method="random", seed=0)
        schedule = batches.SCHEDULES[name]._replace(width=min(width, 6))
        trials, seconds = batches.evaluate_in_flight(study, instance, schedule, Run("", name, 0, 20), 1e9)
        assert len(trials) == len(seconds) == 20
        in_flight[name] = counts
    assert in_flight["sequential"] == [(0, 1)] * 20
    assert in_flight["batches of 8"] == [(0, 6)] * 3 + [(0, 2)]
    assert in_flight["64 asynchronous"] == [(0, 6)] + [(5, 1)] * 14


def test_needed_evaluations_by_hand():
    narrow = np.array([[5.0, 3.0, 2.0, 2.0], [5.0, 5.0, 4.0, 2.0]])
    assert batches.find_needed(narrow, narrow) == 1.0
    wide = np.array([[5.0, 4.0, 3.0, 3.0, 3.0, 1.0], [6.0, 6.0, 6.0, 4.0, 3.0, 3.0]])
    assert batches.find_needed(wide, narrow) == 1.5
    assert batches.find_needed(wide + 1.0, narrow) == math.inf
    found, low, high = batches.estimate_needed(wide, narrow)
    assert low <= found == 1.5 <= high == math.inf


def test_the_cost_of_each_kind_is_timed():
    for kind in costs.KINDS:
        found = costs.take_seconds(12, costs.make_instance, Run("", kind, 0, 15), 1e9, None)
        assert found["measures"]["seconds"] == found["improvements"][0][1] > 0.0
        assert found["evaluated"] == 15


def found_at(value: float, **measures: float) -> dict:
    """Return a run that begins at 90 and has its best value at trial 30."""
    run = {"improvements": [[1, 90.0], [30, value]], "improvement_seconds": [0.0, 0.1], "evaluated": 100}
    return run | {"cut": False, "seconds": 0.01, "process_seconds": 1.0, "measures": measures}


def write_runs(file: Path) -> None:
    """Write runs of four groups that reach some of their targets."""
    for seed in range(20, 26):
        for problem in ("knapsack 40", "max-3-sat 60 few true", "nas-bench-201 small"):
            append_run(file, Run(problem, "auto", seed, 100), found_at(0.1 * (seed % 2), best=0.1 * (seed % 2)))
            for search in ("Optuna GP", "BoTorch"):
                value = 1.0 + 0.01 * seed if problem != "nas-bench-201 small" else -1.0 + 0.01 * seed
                append_run(file, Run(problem, search, seed, 100), found_at(value, best=value))
        none = found_at(0.0, best=9.0) | {"improvements": [], "improvement_seconds": []}
        append_run(file, Run("knapsack 40", "random", seed, 100), none)
        append_run(file, Run("ehrlich holo 15", "auto", seed, 310), found_at(-1.0, best=-1.0, failed=0.25))
        for kind, seconds in {"plain": 0.1, "failures": 0.2, "a limit": 0.4}.items():
            append_run(file, Run("after 100 trials", kind, seed, 106), found_at(seconds, seconds=seconds))
        for search, trials in {"sequential": 100, "batches of 8": 160}.items():
            met = [[1, 90.0], [30 if search == "sequential" else 90, 1.0]]
            found = found_at(1.0) | {"evaluated": trials, "improvements": met}
            append_run(file, Run("max-3-sat 60 in batches", search, seed, trials), found)


def test_the_page_says_whether_the_targets_are_reached(tmp_path):
    pytest.importorskip("matplotlib")
    file, page = tmp_path / "runs.jsonl", tmp_path / "docs" / "evidence" / "experiments.md"
    write_runs(file)
    report.publish(file, page)
    text = report.make_page(file)[0]
    ahead = "on 2 after Holm's correction (knapsack 40, max-3-sat 60 few true), on 2 by the interval, on 2 by the mean"
    lacking = "no runs of auto, Optuna GP, BoTorch on kernel convolution steady"
    assert f"Target: ahead of Optuna GP, BoTorch on 3 of 4 problems: not judged, {ahead}; {lacking}." in text
    assert "ahead in 5 of 7 comparisons, behind Optuna GP on nas-bench-201 small (best), BoTorch on" in text
    assert "### kernel convolution steady\n\nNo runs yet." in text
    assert "| SMAC3 | 0 | no runs yet |" not in text  # of a group that has no runs
    assert "| evolution | 0 | no runs yet |  |  |  |" in text
    assert "640 trials. No runs yet.\n\n- Target: 64 asynchronous at most 1.3 times" in text
    assert "Target: failed on ehrlich holo 15 at most 0.2: **not reached**, 0.25." in text
    assert "Target: best on ehrlich holo 15 at most -1: reached, -1." in text
    assert "failures at most 3 times plain on after 100 trials: reached, 2.00 times." in text
    assert "a limit at most 3 times plain on after 100 trials: **not reached**, 4.00 times." in text
    assert "batches of 8 at most 1.15 times sequential on max-3-sat 60 in batches: reached, 0.90 times." in text
    assert "| batches of 8 | 6 | 160 | 1 ± 0 | 0.90 [0.90, 0.90] |" in text
    assert "| BoTorch | 6 | 1.225 ± 0.00764 | +1.1" in text
    assert "images/experiments/knapsack-40.svg" in text
    assert (page.parent / "images" / "experiments" / "knapsack-40.svg").exists()


FAKE = """
from types import SimpleNamespace

class Space:
    from_json = staticmethod(dict)

class Study:
    def __init__(self, space, method, seed, initial_points):
        assert method == "auto" and "a" in space["variables"]
        self.seed, self.initial, self.told = seed, initial_points, []

    def ask(self):
        from bostruct.late import VALUE

        return SimpleNamespace(point={"a": VALUE, "initial": self.initial, "seed": self.seed})

    def tell(self, trial, value=None, infeasible=None):
        self.told.append(infeasible or value)
"""


def test_every_target_without_runs_says_which_are_lacking():
    for group in GROUPS.values():
        lines = targets.judge_targets({}, group)
        assert all(": not judged: no runs of " in line for line in lines)
        assert bool(lines) == bool(group.wanted or group.level or group.most or group.most_ratio)
        assert comparisons.list_losses({}, group) == []
        assert report.format_group({}, group).startswith(f"## {group.title}")
        assert f"{group.trials} trials. No runs yet." in report.format_group({}, group)


def test_fewer_than_five_seeds_reach_no_target():
    few = {seed: found_at(-1.0, best=-1.0, failed=0.0, seconds=0.1) for seed in range(4)}
    found = targets.judge_targets({("ehrlich holo 15", "auto"): few}, GROUPS["ehrlich"])
    assert found[0].endswith("at most 0.2: not judged: fewer than 5 seeds of auto.")
    index = {("after 100 trials", kind): few for kind in ("plain", "failures")}
    told = [line.partition("trials: ")[2] for line in targets.judge_targets(index, GROUPS["cost 100"])]
    lacking = "not judged: fewer than 5 seeds that plain shares with failures."
    assert told == [lacking, "not judged: no runs of a limit.", "not judged: no runs of two objectives."]


def make_index(problem: str, measure: str, **numbers: list[float]) -> dict:
    """Make an index of runs whose measure has given numbers, a seed each, by the names of the searches."""
    index = {}
    for search, own in numbers.items():
        runs = {seed: found_at(number, **{measure: number}) for seed, number in enumerate(own)}
        index[problem, search.replace("_", " ")] = runs
    return index


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([0.0, 0.1, 0.0, 0.1, 0.1], "reached, +0.06 [-0.00801, +0.128]"),
        ([1.0, -1.2, 0.3, -0.6, 0.9], "undecided, +0.08 [-1.11, +1.27]"),  # although zero is in the interval
        ([-0.5, -0.7, -0.6, -0.7, -0.5], "**not reached**, -0.6 [-0.724, -0.476]"),
        ([-0.1, -0.2, -0.1, -0.2, -0.1], "reached, -0.14 [-0.208, -0.072]"),  # certain, and too small to count
    ],
)
def test_not_behind_is_within_a_margin(numbers, said):
    auto, group = [3.0] * 5, GROUPS["noise"]
    rival = [3.0 + number for number in numbers]
    random = [10.0 + min(own) for own in zip(auto, rival, strict=True)]
    index = make_index("pest noisy", "recommended", auto=auto, BoTorch=rival, random=random)
    for found in (found for runs in index.values() for found in runs.values()):
        found["measures"]["best told"] = 0.0
    (line,) = (line for line in targets.judge_targets(index, group) if "BoTorch on pest noisy" in line)
    assert line == f"Target: not behind BoTorch on pest noisy: {said} with a margin of 0.5."
    del index["pest noisy", "random"]
    assert comparisons.find_margin(index, "pest noisy", "recommended") == 0.0


def test_verdicts_are_corrected_for_all_comparisons_of_a_group():
    certain, barely = [1.0, 1.1, 0.9, 1.0, 1.1], [1.0, 0.1, 1.1, 0.6, 0.4]
    group, equal = GROUPS["limits"], [1.0] * 5
    others = {"Optuna_TPE": certain, "Optuna_GP": barely, "evolution": [-x for x in barely]}
    index = make_index("knapsack 40", "best", auto=[0.0] * 5, **others)
    index |= make_index("max-3-sat 60 few true", "best", auto=[0.0] * 10, BoTorch=equal * 2, random=equal)
    rows = {row[:2]: row for row in comparisons.compare_group(index, group)}
    assert rows["knapsack 40", "Optuna TPE"].verdict == "**ahead**"
    assert rows["knapsack 40", "Optuna GP"].verdict == "**ahead**, not after Holm"
    assert rows["knapsack 40", "evolution"].verdict == "*behind*, not after Holm"
    assert rows["knapsack 40", "BoTorch"].verdict == ""
    assert rows["max-3-sat 60 few true", "BoTorch"].verdict == "**ahead**"  # the sign test of ten
    assert rows["max-3-sat 60 few true", "random"].verdict == "**ahead**, not after Holm"  # of five
    (line,) = comparisons.list_losses(index, group)
    assert line.startswith("`auto` is ahead in 2 of 5 comparisons, behind none. By the interval but not after Holm")
    assert line.endswith("it is ahead in 2, behind evolution on knapsack 40 (best).")


def test_means_are_over_shared_seeds_which_few_seeds_do_not_shrink():
    others = {"evolution": [1.0] * 9, "random": [2.0] * 3, "BoTorch": [5.0]}
    index = make_index("knapsack 40", "best", auto=[0.0, *[1.0] * 6], **others)
    del index["knapsack 40", "auto"][0]
    index["knapsack 40", "auto"][9] = found_at(700.0, best=700.0)  # a seed that evolution lacks
    text = report.format_group(index, GROUPS["limits"])
    assert "| auto | 6 of 7 | 1 ± 0 |" in text
    assert "| evolution | 6 of 9 | 1 ± 0 |" in text
    assert "| random | 3 | 2 ± 0 |" in text
    assert "| BoTorch | 1 | 5 |" in text


def test_a_run_without_a_value_is_not_among_the_seeds_of_a_mean_best():
    index = {("max-3-sat 60 in batches", "batches of 8"): {s: found_at(1.0) | {"evaluated": 160} for s in range(6)}}
    index["max-3-sat 60 in batches", "batches of 8"][5]["improvements"] = []
    text = report.format_group(index, GROUPS["batch"])
    assert "| batches of 8 | 5 of 6 | 160 | 1 ± 0 |" in text


def test_the_figures_of_several_objectives_are_of_the_hypervolume_that_is_lost():
    figures = pytest.importorskip("benchmarks.peers.figures")
    assert figures.LOST == LOST
    for group, said in ((GROUPS["objectives"], "Hypervolume lost"), (GROUPS["limits"], "Best values")):
        problem, measure = group.problems[0], group.measures[0]
        index = make_index(problem, measure, auto=[0.1] * 5, random=[0.2] * 5)
        assert f"![{said} on {problem}]" in report.format_group(index, group)
        label = figures.draw_problem(index, problem, group.searches).axes[0].get_ylabel()
        assert label == ("mean hypervolume lost" if measure == LOST else "mean best value")
    assert {GROUPS[name].measures for name in ("objectives", "three objectives")} == {(LOST,)}


def test_a_group_says_of_which_package_auto_before_is():
    index = make_index("ehrlich 15 categories", "best", auto_before=[1.0, 2.0, 3.0])
    runs = index["ehrlich 15 categories", "auto before"]
    for found in runs.values():
        found["measures"]["failed"] = 0.0
    runs[1]["package"] = {"tree": "0123456789abcdef"}
    runs[2]["package"] = {"tree": "0123456789abcdef", "revision": "93f56c81f4"}
    named = "the package 0123456789 in 1 of 3 runs; the package 0123456789 of revision 93f56c81f4 in 1 of 3 runs."
    told = f"- `auto before` is of a package that is not on record in 1 of 3 runs; {named}"
    assert told in report.format_group(index, GROUPS["ehrlich"])


def test_the_command_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    file, page = tmp_path / "runs.jsonl", tmp_path / "docs" / "page.md"
    words = ["--out", str(file), "--page", str(page), "--methods", "random,auto before", "--seeds", "1"]
    monkeypatch.setattr(command, "_take", lambda run, _: take(run, 1e9, None))
    assert command.main([*words, "--problems", "linear 16 noisy,nas-bench-201 small"]) == 0
    assert "skipped: nas-bench-201 small: the table is read" in capsys.readouterr().err
    assert list(read_file(file)[1]) == [Run("linear 16 noisy", "random", 20, 80)]
    before = file.read_text(encoding="utf-8")
    assert command.main([*words, "--problems", "linear 16 noisy"]) == 0
    assert command.main([*words, "--groups", "kernels"]) == 0
    assert file.read_text(encoding="utf-8") == before
    page.unlink()
    assert command.main([*words[:-1], "0"]) == 0
    table = page.parent / "tables" / "experiments-noise.csv"
    assert f"({table.relative_to(page.parent).as_posix()})" in page.read_text(encoding="utf-8")
    assert "\nlinear 16 noisy,random,1," in table.read_text(encoding="utf-8")


def test_a_run_of_the_revision_before_is_a_process_of_its_own(tmp_path):
    """The package of the revision before is this one, but for its version."""
    package = tmp_path / "before" / "bostruct"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('the package of before')")
    words = ["--out", str(tmp_path / "runs.jsonl"), "--page", str(tmp_path / "page.md"), "--seeds", "1"]
    words += ["--problems", "linear 16 noisy", "--methods", "auto before"]
    with pytest.raises(RuntimeError, match="the package of before"):
        command.main([*words, "--before", str(package.parent)])
    with pytest.raises(SystemExit):
        command.main([*words, "--before", str(package)])


def test_the_hash_of_a_package_is_that_of_git(tmp_path):
    def ask_git(*words: str) -> str:
        named = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false"]
        ended = subprocess.run(["git", *named, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return ended.stdout.strip()

    package = tmp_path / "bostruct"
    (package / "ab").mkdir(parents=True)
    files = {"ab/c.py": "A = 1\n", "ab.py": "B = 2\n", "__init__.py": "", "run": "#!/bin/sh\n"}
    for name, text in files.items():  # git sorts ab.py before the folder ab
        (package / name).write_text(text)
    (package / "run").chmod(0o755)
    for words in (("init", "-q"), ("add", "bostruct"), ("commit", "-qm", "one")):
        ask_git(*words)
    tree = ask_git("rev-parse", "HEAD:bostruct")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "c.pyc").write_bytes(b"0")
    assert describe_package(tmp_path) == {"tree": tree}
    (tmp_path / "REVISION").write_text("93f56c81f4\n")
    assert describe_package(tmp_path) == {"tree": tree, "revision": "93f56c81f4"}


def test_runs_of_the_revision_before_keep_its_hash(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    (tmp_path / "bostruct").mkdir()
    (tmp_path / "bostruct" / "__init__.py").write_text("")
    monkeypatch.setattr(command, "take_apart", lambda *_: found_at(1.0, best=1.0, failed=0.0))
    file, words = tmp_path / "runs.jsonl", ["--problems", "ehrlich 15 categories", "--methods", "auto,auto before"]
    places = ["--before", str(tmp_path), "--out", str(file), "--page", str(tmp_path / "page.md")]
    assert command.main([*words, *places, "--seeds", "1"]) == 0
    kept = {run.search: found.get("package") for run, found in read_file(file)[1].items()}
    package = describe_package(tmp_path)
    assert kept == {"auto": None, "auto before": package}
    named = f"the package {package['tree'][:10]}"
    told = describe_packages([{"package": package}, {"package": package | {"revision": "abc"}}, {}])
    shares = [named, f"{named} of revision abc", "a package that is not on record"]
    assert told == f"`auto before` is of {'; '.join(f'{one} in 1 of 3 runs' for one in shares)}."
    assert describe_packages([]) == ""


def test_the_revision_before_and_this_one_import_late_what_is_theirs(tmp_path, monkeypatch):
    package = tmp_path / "bostruct"
    package.mkdir()
    (package / "__init__.py").write_text(FAKE)
    (package / "late.py").write_text("VALUE = 7")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    loaded = {name: module for name, module in sys.modules.items() if name.startswith("bostruct")}
    space = bo.Space({"a": range(9)})
    search = AutoBefore(space, [{"a": 3}], 5)
    assert search.ask() == {"a": 7, "initial": [{"a": 3}], "seed": 5}
    search.tell(2.0)
    search.tell(None)
    assert search.study.told == [2.0, "no value"]
    steps = auto_before(Task(space, lambda _: 0.0), [{"a": 3}], 5)
    assert next(steps)["a"] == steps.send(1.0)["a"] == steps.send(math.nan)["a"] == 7
    assert searches.Before(Instance(space, lambda _: Measured((0.0,))), [{"a": 3}], 5).ask()["a"] == 7
    assert {name: module for name, module in sys.modules.items() if name.startswith("bostruct")} == loaded
    assert str(tmp_path) not in sys.path


def test_wrong_names_and_empty_files_are_refused(tmp_path, capsys, refusal):
    assert "--groups: expected some of 'noise', 'ehrlich" in refusal(command.main, ["--groups", "noises"])
    assert command.main(["--seeds", "0", "--out", str(tmp_path / "none.jsonl")]) == 1
    assert "expected at least one run" in capsys.readouterr().err


def test_groups_name_known_methods_and_problems():
    known = {*searches.SEARCHES, *batches.SCHEDULES, "plain", "failures", "a limit", "two objectives"}
    assert set(SEARCHES) <= known
    for group in GROUPS.values():
        assert {*group.rivals, *group.longer} <= set(group.searches)
        assert set(group.judged) <= set(group.measures)
        assert {problem for problem, _ in group.most} <= set(group.problems)
        assert all(search in group.list_searches(problem) for problem, search in group.level)
        assert all("," not in problem for problem in group.problems)
    assert json.dumps(sorted(PROBLEMS))
