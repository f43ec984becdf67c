"""The published benchmarks: configurations, runs, regrets, the command and its page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from benchmarks.peers.record import append_run, read_file
from benchmarks.peers.run import Run
from benchmarks.peers.verdicts import index_runs
from benchmarks.published import __main__ as command
from benchmarks.published import cases, regrets, report
from benchmarks.published.ablations import BUILT, AnnealedSearch
from benchmarks.published.run import take
from benchmarks.structures.page import file_tables
from bostruct import methods
from bostruct.comparison.statistics import estimate_difference
from bostruct.contracts import Score

WCNF = "p wcnf 12 3 100\n2 1 2 0\n3 -1 3 0\n1 -2 -3 4 0\n"


def found_at(value: float, optimum: float | None = 1.0, trial: int = 30, **others) -> dict:
    """Return a run that begins at 9 and has its best value at a trial."""
    run = {"improvements": [[1, 9.0], [trial, value]], "improvement_seconds": [0.0, 0.1], "evaluated": 100}
    costs = {"cut": False, "seconds": 0.01, "process_seconds": 1.0, "revision": "abc"}
    return run | costs | {"optimum": optimum, "best_known": optimum} | others


def write_runs(file: Path, runs: dict[Run, dict]) -> Path:
    for run, found in runs.items():
        append_run(file, run, found)
    return file


def read_row(text: str, heading: str, method: str) -> list[str]:
    """Return the cells of a row of a section, without the name of the method."""
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    line = next(line for line in section.splitlines() if line.startswith(f"| {method} |"))
    return [cell.strip() for cell in line.split("|")[2:-1]]


def test_five_configurations_are_of_five_instances():
    first = cases.CONFIGS[: cases.N_RELABELED]
    assert len({cases.CASES["contamination 0"].load(config, None).name for config in first}) == 5
    assert sorted(cases.CONFIGS) == list(range(1, 26))


def test_slow_searches_are_relabeled_on_five_configurations():
    assert len(cases.list_configs("maxsat 28 relabeled", "combo")) == 5
    assert len(cases.list_configs("maxsat 28 relabeled", "auto")) == 25
    assert len(cases.list_configs("maxsat 28", "bocs")) == 25
    assert "bocs" not in cases.list_searches("pest path relabeled")


@pytest.mark.parametrize(
    "name", ["contamination 0", "contamination 0.0001", "contamination 0.01", "ising 0.01", "branin"]
)
def test_published_means_lie_above_the_optimum(name):
    """A misprint of a table, or a problem that is another one, would put COMBO's mean below the least value."""
    case = cases.CASES[name]
    optima = [case.load(config, None).optimum for config in cases.CONFIGS[:5]]
    mean = case.published["COMBO"][0]
    assert 0.0 < mean - np.mean([value for value in optima if value is not None]) < 0.14
    assert name.startswith("ising") or all(mean <= other for other, _ in case.published.values())


def test_a_relabeled_run_has_the_same_initial_values_and_optimum():
    plain, relabeled = (take(Run(f"contamination 0{end}", "random", 7, 30), None) for end in ("", cases.RELABELED))
    early = [[one for one in found["improvements"] if one[0] <= 20] for found in (plain, relabeled)]
    assert early[0] == early[1]
    assert plain["optimum"] == relabeled["optimum"] == 21.18


def test_a_noisy_run_has_values_without_noise():
    run = Run("pest path", "random", 2, 22)
    found, case = take(run, None), cases.CASES["pest path"]
    problem = case.load(2, None)
    points = problem.initial_points(2)
    best = min(points, key=problem)
    assert found["improvements"][-1][1] <= problem(best)
    if found["improvements"][-1][0] <= 20:
        assert found["noise_free_best"] == problem.noise_free(best)
    assert found["noise_free_best"] == pytest.approx(found["improvements"][-1][1], abs=1.0)
    assert found["optimum"] is None


def test_combo_asks_its_model_after_the_initial_points(monkeypatch):
    """The published Branin has two; the method by its name would draw 18 more."""
    counts = []
    monkeypatch.setattr(methods, "combo", lambda space, n: counts.append(n) or methods.random(space))
    for problem, trials in (("branin", 3), ("branin relabeled", 3), ("ising 0", 21)):
        take(Run(problem, "combo", 1, trials), None)
    assert counts == [2, 2, 20]


def test_regrets_and_first_trials_at_the_optimum():
    runs = {Run("branin", "auto", 1, 100): found_at(1.0), Run("branin", "auto", 2, 100): found_at(1.5, 1.2)}
    index = index_runs(runs)
    assert regrets.list_regrets(index, "branin", "auto") == pytest.approx([0.0, 0.3])
    assert [regrets.find_optimal_trial(found) for found in runs.values()] == [30, None]
    assert regrets.find_optimal_trial(found_at(1.0, None)) is None
    assert regrets.find_mean_optimum(index, "branin") is None  # two of 25 configurations
    runs |= {Run("branin", "random", config, 100): found_at(3.0, 1.1) for config in range(3, 26)}
    assert regrets.find_mean_optimum(index_runs(runs), "branin") == pytest.approx((1.0 + 1.2 + 23 * 1.1) / 25)


def test_the_page_says_what_the_runs_say(tmp_path):
    runs = {Run("branin", "random", config, 100): found_at(3.0, 0.4) for config in range(1, 26)}
    runs |= {Run("branin", "auto", config, 100): found_at(0.4 + 0.1 * (config == 3), 0.4) for config in range(1, 26)}
    runs |= {Run("branin", "combo", config, 100): found_at(0.41 + 0.001 * config, 0.4) for config in range(1, 6)}
    noise = {"noise_free_best": 12.5, "noise_free_recommended": 12.25}
    runs |= {Run("pest path", "auto", config, 320): found_at(12.0, None, evaluated=320) | noise for config in (1, 2)}
    text, _ = report.make_page(write_runs(tmp_path / "runs.jsonl", runs))
    assert read_row(text, "Branin", "COMBO, published")[:2] == ["0.411 ± 0.001", "0.011"]
    own = read_row(text, "Branin", "`auto`")
    assert own[:7] == ["0.404 ± 0.004", "0.004", "0.100", "24 of 25", "24, 24", "30", ""]
    assert read_row(text, "Branin", "`random`")[6].startswith("+2.6 [+2.59, +2.6")
    own = ["100", "0.011 ± 0.001", "0.013 ± 0.001 (5)", "0.004 ± 0.004", "", "", "2.600 ± 0.000"]
    assert read_row(text, "Regret", "Branin") == own
    first, *_, verdict = read_row(text, "Is the published result reproduced?", "Branin")
    assert (first, verdict) == ("5", "reproduced")
    assert read_row(text, "Pest control without noise", "pest path")[2:] == ["12.500 ± 0.000 (2)", "12.250 ± 0.000 (2)"]
    assert "- `combo`: 5 runs by revision abc" in text


@pytest.mark.parametrize(
    ("above", "verdict"),
    [(0.0, "better than published"), (0.01, "reproduced"), (0.5, "**worse than published**")],
)
def test_verdicts_on_the_published_mean(tmp_path, above, verdict):
    """Branin was published 0.0113 above an optimum of 0.4."""
    runs = {Run("branin", "random", config, 100): found_at(3.0, 0.4) for config in range(1, 26)}
    for config in range(1, 7):
        runs[Run("branin", "combo", config, 100)] = found_at(0.4 + above + 0.002 * (config % 2), 0.4)
    text, _ = report.make_page(write_runs(tmp_path / "runs.jsonl", runs))
    assert read_row(text, "Is the published result reproduced?", "Branin")[-1] == verdict


def test_a_published_mean_is_known_to_its_last_digit_alone():
    equal = estimate_difference([0.00124] * 5)
    assert report._compare_published(equal, 0.00126) == report._compare_published(equal, 0.00122) == "reproduced"
    assert report._compare_published(equal, 0.0014) == "better than published"
    assert report._compare_published(equal, 0.0011) == "**worse than published**"


def test_the_command_goes_on_where_it_was(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "maxsat").mkdir()
    (tmp_path / "maxsat" / "frb-frb10-6-4.wcnf").write_text(WCNF)
    file, page = tmp_path / "runs.jsonl", tmp_path / "docs" / "evidence" / "published.md"
    words = ["--out", str(file), "--page", str(page), "--searches", "random", "--problems"]
    names = "branin,maxsat 43,maxsat 60"
    assert command.main([*words, names, "--configs", "1", "--data", str(tmp_path)]) == 0
    assert "skipped: maxsat 43; these are files: pass --data DIR" in capsys.readouterr().err
    assert [run.problem for run in read_file(file)[1]] == ["branin", "maxsat 60"]
    before = file.read_text(encoding="utf-8")
    assert command.main([*words, names, "--configs", "1", "--data", str(tmp_path)]) == 0
    assert file.read_text(encoding="utf-8") == before
    found = next(iter(read_file(file)[1].values()))
    assert found["evaluated"] == 100
    assert found["optimum"] == pytest.approx(0.40377012)
    assert re.fullmatch(r"[0-9a-f]{10}\+?|unknown\+?", found["revision"])
    assert (page.parent / report.PICTURE).read_text().startswith("<?xml")


@pytest.mark.parametrize("content", ["", json.dumps({"problem": "branin"})])
def test_a_file_without_runs_is_refused(tmp_path, capsys, content):
    (tmp_path / "runs.jsonl").write_text(content)
    assert command.main(["--configs", "0", "--out", str(tmp_path / "runs.jsonl")]) == 1
    assert "expected" in capsys.readouterr().err


def test_unknown_names_are_refused(refusal):
    assert "--problems: expected some of 'contamination 0', " in refusal(command.main, ["--problems", "branni"])


def test_the_published_page_is_what_the_runs_say():
    """Renew it by `python -m benchmarks.published --configs 0` whenever runs are added."""
    text, results = report.make_page(report.FILE)
    short, files = file_tables(text, "published")
    assert report.PAGE.read_text(encoding="utf-8") == short, "python -m benchmarks.published --configs 0 renews it"
    for name, content in files.items():
        assert (report.PAGE.parent / "tables" / name).read_text(encoding="utf-8") == content
    assert "not to be edited" in text.splitlines()[2]
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (report.PAGE.parent / link).exists()
    assert {problem for problem, _ in results.whole} <= set(cases.PROBLEMS)


@pytest.mark.parametrize(
    ("search", "problem"),
    [
        ("smac", "contamination 0"),
        ("tpe", "branin"),
        ("bocs-sa3", "ising 0"),
        ("combo-annealed-acquisition", "contamination 0.01"),
    ],
)
def test_rows_of_the_paper_and_its_ablations_are_run_by_name(search, problem):
    assert search in cases.list_searches(problem)
    found = take(Run(problem, search, 1, 22), None)
    assert found["evaluated"] == 22
    assert len(cases.list_configs(problem, search)) == 25


def test_ablations_are_run_on_the_problem_of_the_paper_alone():
    assert "combo-non-sparse" in cases.list_searches("maxsat 60")
    assert "combo-non-sparse" not in cases.list_searches("maxsat 28")
    assert "bocs-sa3" not in cases.list_searches("branin")
    assert "smac" not in cases.list_searches("branin relabeled")


def test_annealing_never_ends_below_local_search():
    """Both are made of the same draws, so that a score that annealing cannot improve keeps the end of the ascents."""
    space = bo.Space({f"b{i}": [0, 1] for i in range(12)})
    target = np.random.default_rng(3).integers(0, 2, 12)

    class Hidden(Score):
        def __call__(self, xs):
            return np.array([float((np.asarray(x) == target).sum()) for x in xs])

    for seed in range(3):
        ends, _ = AnnealedSearch(20)(
            Hidden(), space, space.sample(2, np.random.default_rng(seed)), np.random.default_rng(1)
        )
        assert Hidden()(ends)[0] == 12.0
        assert len(set(space.keys(ends))) == len(ends)


def test_the_prior_without_sparsity_is_centered_at_weight_one():
    space = bo.Space({f"b{i}": [0, 1] for i in range(4)})
    kernel = BUILT["combo-non-sparse"](space, 5).surrogate.kernel
    densities = [kernel.parameters[0].prior.log_density(theta) for theta in (-8.0, 0.0, 3.0)]
    assert max(densities) == densities[1]
    assert methods.combo(space).surrogate.kernel.prior.log_density(-8.0) > densities[0]
