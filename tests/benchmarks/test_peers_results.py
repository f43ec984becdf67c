"""The published results: verdicts, Holm's correction, the curves of the figures, and the page."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.experiments.cases import FRONTS
from benchmarks.peers import comparison, curves, publish, report, since, verdicts
from benchmarks.peers.__main__ import main as peers_main
from benchmarks.peers.groups import ALL_SEARCHES, GROUPS, list_searches
from benchmarks.peers.record import append_run
from benchmarks.peers.run import Run
from benchmarks.structures import cases as structures
from bostruct.comparison.statistics import estimate_difference

ROOT = Path(__file__).parents[2]


def found_at(value: float, start: float = 3.0, trials: int = 20, **others) -> dict:
    """Return a run whose initial points have one value and whose trial 15 has another."""
    improvements = [[1, start], [15, value]] if value < start else [[1, start]]
    return {"improvements": improvements, "evaluated": trials, "cut": False, "seconds": 0.5} | others


def runs_of(problem: str, trials: int = 20, **values: list[float]) -> dict[Run, dict]:
    """Return runs of searches with the given best values, one for each seed; an underscore stands for a space."""
    return {
        Run(problem, search.replace("_", " "), seed, trials): found_at(value, trials=trials)
        for search, own in values.items()
        for seed, value in enumerate(own)
    }


@pytest.mark.parametrize(
    ("pairs", "margin", "adjusted", "verdict"),
    [
        ([1.0, 1.1, 0.9, 1.0, 1.1], 0.1, 0.001, "behind"),
        ([-1.0, -1.1, -0.9, -1.0, -1.1], 0.1, 0.001, "**ahead**"),
        ([1.0, 1.1, 0.9, 1.0, 1.1], 0.1, 0.06, "behind, not after Holm"),
        ([1.0, 1.1, 0.9, 1.0, 1.1], 2.0, 0.001, "tied"),
        ([1.0, -1.0, 0.5, -0.5, 0.0], 0.1, 1.0, "undecided"),
        ([1.0, -1.0, 0.5, -0.5, 0.0], 1.5, 1.0, "tied"),
        ([0.0] * 5, 0.0, 1.0, "tied"),
        ([1.0] * 5, 0.1, 1.0, "undecided"),
        ([1.0, 1.1, 0.9, 1.0], 0.1, 0.001, "few seeds"),
        ([1.0], 0.1, 0.001, ""),
    ],
)
def test_verdicts(pairs, margin, adjusted, verdict):
    assert verdicts.judge(estimate_difference(np.array(pairs)), margin, adjusted) == verdict


def test_pairs_are_of_the_seeds_that_both_have_at_the_mark():
    runs = {Run("branin", "auto", seed, 20): found_at(float(seed)) for seed in (0, 1)}
    runs |= {Run("branin", "random", seed, 20): found_at(2.5) for seed in (1, 2)}
    index = verdicts.index_runs(runs)
    assert verdicts.compare(index, "branin", "random", 20).tolist() == [1.5]
    assert verdicts.compare(index, "branin", "random", 10).tolist() == [0.0]
    assert verdicts.compare(index, "branin", "random", 50).tolist() == []


def test_the_longest_whole_run_of_a_seed_counts():
    runs = {Run("branin", "auto", 0, trials): found_at(float(trials), 200.0, trials) for trials in (40, 20)}
    runs[Run("branin", "auto", 0, 80)] = found_at(0.0, cut=True)
    runs[Run("branin", "auto", 1, 20)] = {"missing": "No module named 'smac'"}
    assert verdicts.find_best(verdicts.index_runs(runs), "branin", "auto", 40) == {0: 40.0}


def test_the_margin_is_a_share_of_the_gap_of_random_search():
    """Instances: random search 2 and 3 above what `auto` found; Branin has an optimum that all seeds share."""
    index = verdicts.index_runs(runs_of("qubo-80", auto=[0.0, -1.0], random=[2.0, 2.0]))
    assert verdicts.find_margin(index, "qubo-80", 20) == pytest.approx(0.05 * 2.5)
    index = verdicts.index_runs(runs_of("branin", auto=[1.0], random=[2.0]))
    assert verdicts.find_margin(index, "branin", 20) == pytest.approx(0.05 * (2.0 - verdicts.OPTIMA["branin"]))
    assert verdicts.find_margin(index, "qubo-80", 20) == 0.0


def test_holm_is_over_the_problems_of_a_search():
    """The same pairs count on one problem, and not among twelve others without a difference."""
    pairs = [0.9, 0.1, 0.8, 0.2, 0.3]
    runs = runs_of("nk 30x5", auto=[0.0] * 5, evolution=pairs)
    assert [row.verdict for row in comparison.judge_runs(runs).rows[0]] == ["behind"]
    others = [name for name in GROUPS["bits"] + GROUPS["mixed"] if name != "nk 30x5"][:12]
    for name in others:
        runs |= runs_of(name, auto=[0.0] * 5, evolution=[1.0, -1.0, 0.5, -0.5, 0.1])
    rows = {row.problem: row.verdict for row in comparison.judge_runs(runs).rows[0]}
    assert rows["nk 30x5"] == "behind, not after Holm"
    assert {rows[name] for name in others} <= {"undecided"}


def test_a_curve_is_the_mean_of_the_best_values():
    runs = {0: found_at(1.0), 1: found_at(2.0)}
    curve = curves.curve_by_trials(runs, runs)
    assert (curve.x[0], curve.x[-1]) == (10, 20)
    assert curve.mean[curve.x < 15].tolist() == [3.0] * int(np.sum(curve.x < 15))
    assert set(curve.mean[curve.x >= 15]) == {1.5}


def test_a_band_has_no_part_in_what_searches_share():
    """On three instances that differ by hundreds, `a` is 1, 2 and 3 above `b`: their deviations halve on each seed."""
    levels = [0.0, 100.0, 300.0]
    runs = {
        "a": {seed: found_at(level + 1.0 + seed, 999.0) for seed, level in enumerate(levels)},
        "b": {seed: found_at(level, 999.0) for seed, level in enumerate(levels)},
    }
    errors = curves.find_errors(runs, "a", np.array([10.0, 20.0]))
    assert errors == pytest.approx([0.0, 0.5 * 2**0.5 / 3**0.5])  # of -0.5, 0, 0.5 with m = 2
    assert errors == pytest.approx(curves.find_errors(runs, "b", np.array([10.0, 20.0])))
    alone = curves.find_errors({"a": runs["a"]}, "a", np.array([20.0]))
    assert alone == pytest.approx(np.std([1.0, 102.0, 303.0], ddof=1) / 3**0.5)


def test_seconds_are_those_recorded_or_the_mean_of_each_suggestion():
    assert curves.list_seconds(found_at(1.0)) == [0.0, 2.5]  # five suggestions of 0.5
    assert curves.list_seconds(found_at(1.0, improvement_seconds=[0.0, 4.0])) == [0.0, 4.0]
    curve = curves.curve_by_seconds({0: found_at(1.0)}, {})
    assert (curve.x[0], curve.x[-1]) == pytest.approx((0.5, 5.0))
    assert curve.mean.tolist() == [3.0 if x < 2.5 else 1.0 for x in curve.x]


def test_gaps_are_shares_of_the_start_averaged_over_problems():
    runs = runs_of("qubo-80", auto=[-1.0] * 5, random=[1.0] * 5) | runs_of("ising", auto=[0.0] * 5, random=[3.0] * 5)
    index, at = verdicts.index_runs(runs), np.array([10.0, 20.0])
    assert curves.find_gaps(index, "qubo-80", "random", at) == pytest.approx([1.0, 0.5])  # 3 to -1, then 1 to -1
    assert curves.average_gaps(index, ["qubo-80", "ising"], "random", at) == pytest.approx([1.0, 0.75])
    assert curves.average_gaps(index, ["qubo-80", "ising"], "auto", at) == pytest.approx([1.0, 0.0])
    assert curves.average_gaps(index, ["qubo-80", "pest"], "auto", at) is None


def test_a_seed_whose_initial_points_failed_has_no_gap():
    runs = runs_of("qubo-80", auto=[-1.0] * 6, random=[1.0] * 6)
    late = runs[Run("qubo-80", "random", 5, 20)]
    late["improvements"] = [[n + 10, value] for n, value in late["improvements"]]
    index, at = verdicts.index_runs(runs), np.array([10.0, 20.0])
    assert curves.find_gaps(index, "qubo-80", "random", at) == pytest.approx([1.0, 0.5])


@pytest.fixture
def figures():
    return pytest.importorskip("benchmarks.peers.figures")


def format_results(runs: dict[Run, dict]) -> str:
    return report.format_page(comparison.judge_runs(runs), [], "docs/evidence/peers.md", {})


def test_the_page_says_what_is_missing_cut_and_lost():
    models = {"Optuna_TPE": [1.0] * 4 + [0.9], "Optuna_GP": [1.0, 1.1]}
    runs = runs_of("branin", auto=[2.0] * 5, random=[2.5] * 4 + [2.6], **models)
    runs[Run("branin", "SMAC3", 0, 20)] = {"missing": "No module named 'smac'"}
    runs[Run("branin", "BoTorch", 0, 20)] = found_at(0.0, cut=True)
    text = format_results(runs)
    assert "| auto | 5 | 2 |  | 0.5 |" in text
    assert "| random | 5 | 2.52 | +0.52 [+0.464, +0.576] behind | 0.5 |" in text
    assert "| BoTorch | 0, 1 cut | | | |" in text
    lost = text.partition("## Where `auto` is behind")[2].partition("## Numbers")[0]
    assert "- Optuna TPE on branin at 20 trials: -1.02 [-1.08, -0.964], **ahead**" in lost
    assert "random" not in lost
    assert "| random | 20 | 1 | 5 | 1 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "| Optuna GP | 20 | 1 | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |" in text
    assert "- Not installed: SMAC3: No module named 'smac'\n- Cut: BoTorch on branin, seed 0, after 20 trials" in text


def test_a_mean_below_zero_is_told():
    text = format_results(runs_of("branin", auto=[1.0] * 5, evolution=[1.5, 0.0, 0.0, 1.0, 1.4]))
    assert "but not the whole interval:\n\n- evolution at 20 trials: branin\n" in text


def test_nothing_lost_is_said():
    assert "No interval lies below zero." in format_results(runs_of("branin", auto=[1.0] * 5, random=[2.0] * 5))


def test_the_worth_of_a_prior_is_told_for_the_tables():
    runs = {}
    for name, gain in (("naval_propulsion", -1.0), ("protein_structure", 0.5)):
        values = [2.0 + gain + 0.01 * seed for seed in range(5)]
        runs |= runs_of(f"fc-net {name}", auto=[2.0] * 5, related_prior=values)
    text = format_results(runs)
    assert "### fc-net naval_propulsion with a prior" in text
    assert "than without: related prior on fc-net protein_structure at 20 trials." in text
    assert "at 20 trials: the mean is better on 1 of 2 data sets, significantly on 1." in text


def test_later_marks_have_the_seeds_that_got_there():
    runs = runs_of("branin", 100, auto=[1.0] * 6, random=[2.0] * 6)
    runs |= runs_of("branin", 200, auto=[0.5] * 2, random=[0.5] * 2)
    line = next(line for line in format_results(runs).splitlines() if line.startswith("| random | 6"))
    assert "| 0.5 (2 seeds) | +0 [+0, +0] few seeds |" in line


def test_numbers_are_plain_where_they_are_large():
    found = verdicts.Difference(1384.4, 643.2, -21257.0, 0.0, 5)
    assert report.describe_difference(found) == "+1,384 [+643, -21,257]"


@pytest.mark.slow
def test_the_published_page_is_what_the_runs_say():
    """Renew it by `python -m benchmarks.peers.publish` whenever runs are added."""
    text, results = publish.make_page(publish.FILE, publish.PAGE)
    assert publish.PAGE.read_text(encoding="utf-8") == text, "python -m benchmarks.peers.publish renews the page"
    shown = re.findall(r"\]\((docs/images/results/[\w-]+\.svg)\)", text)
    assert sorted(shown) == sorted(str(file.relative_to(ROOT)) for file in (ROOT / publish.PICTURES).iterdir())
    assert len(shown) == len(comparison.list_figures(results.whole)) + 1
    assert max(map(len, (line for line in text.splitlines() if line[:1] not in ("|", "-")))) <= 240
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / link).exists()


def test_figures_are_the_same_for_the_same_runs(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "runs.jsonl"
    runs = runs_of("branin", auto=[1.0] * 5, random=[2.0] * 5) | runs_of("qubo-80", auto=[1.0] * 5, random=[2.0] * 5)
    for run, found in runs.items():
        append_run(file, run, found)
    drawn = []
    for name in ("one", "two"):
        assert publish.main([str(file), str(tmp_path / name / "RESULTS.md")]) == 0
        folder = tmp_path / name / publish.PICTURES
        drawn.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert drawn[0] == drawn[1]
    assert sorted(drawn[0]) == ["branin.svg", "headline.svg", "qubo-80.svg"]
    svg = drawn[0]["branin.svg"].decode()
    assert "auto (5)" in svg
    assert len(svg) < 40_000
    (folder / "gone.svg").write_text("of a problem that has no runs any more")
    publish.publish(file, tmp_path / "two" / "RESULTS.md")
    assert not (folder / "gone.svg").exists()


def test_searches_of_one_problem_look_different(figures):
    for group in [one for one in GROUPS if one != "variants"]:
        for problem in GROUPS[group]:
            names = list_searches(group, problem)
            looks = {(look["color"], str(look["linestyle"])) for look in map(figures._line, names)}
            assert len(looks) == len(names), f"{problem}: some of {names} look the same"


def test_runs_of_ones_own_leave_the_published_page_alone(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / publish.PICTURES / "kept.svg"
    kept.parent.mkdir(parents=True)
    kept.write_text("a published figure")
    for run, found in runs_of("branin", auto=[1.0] * 5, random=[2.0] * 5).items():
        append_run(Path("mine.jsonl"), run, found)
    assert publish.main(["mine.jsonl"]) == 0
    assert "](mine-figures/branin.svg)" in Path("mine.md").read_text(encoding="utf-8")
    assert publish.main(["mine.jsonl", "my page.md"]) == 0
    assert "](my%20page-figures/branin.svg)" in Path("my page.md").read_text(encoding="utf-8")
    for folder in ("mine-figures", "my page-figures"):
        assert Path(folder, "branin.svg").exists()
    assert kept.exists()


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (".", "expected a file that may be written; got ."),
        ("/", "expected a file that may be written; got /"),
        ("runs.jsonl/page.md", "expected a file that may be written; got runs.jsonl/page.md"),
        ("./runs.jsonl", "expected a file other than the file of the runs; got runs.jsonl"),
        ("notes.md", "expected a new file, or a page of benchmarks.peers; notes.md is a different file"),
        ("full.md", "cannot make the folder full-figures, because a file has this name"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_first(page, said, tmp_path, monkeypatch, refusal):
    monkeypatch.chdir(tmp_path)
    Path("notes.md").write_text("# Notes")
    Path("full-figures").write_text("no folder")
    append_run(Path("runs.jsonl"), Run("branin", "auto", 0, 20), found_at(1.0))
    assert said in refusal(publish.main, ["runs.jsonl", page])
    assert said in refusal(peers_main, ["--out=runs.jsonl", "--page", page])


@pytest.mark.parametrize("file", ["none.jsonl", "."])
def test_publishing_says_that_a_file_is_not_there(file, tmp_path, monkeypatch, refusal):
    monkeypatch.chdir(tmp_path)
    said = f"FILE: expected a file of runs, as python -m benchmarks.peers writes them; got {file}"
    assert said in refusal(publish.main, [file])


def test_a_file_that_is_not_of_runs_is_not_written_to(tmp_path, refusal):
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n")
    given = ["--out", str(file), "--problems", "branin", "--searches", "random", "--seeds", "1"]
    assert "got the line '# Notes'" in refusal(peers_main, given)
    assert file.read_text() == "# Notes\n"


def test_every_search_that_is_drawn_has_a_color(figures):
    groups = set(GROUPS) - {"variants"}
    drawn = {name for group in groups for one in GROUPS[group] for name in list_searches(group, one)}
    on_structures = {name for group in structures.GROUPS.values() for name in group.searches}
    assert drawn | on_structures | set(FRONTS) == set(figures.COLORS)


def test_trials_without_a_value_are_drawn_from_where_there_is_one(tmp_path, figures):
    late = found_at(1.0) | {"improvements": [[12, 2.0], [15, 1.0]]}
    runs = {Run("ehrlich 15", name, seed, 20): late for name in ("auto", "random") for seed in range(5)}
    index = verdicts.index_runs(runs)
    assert math.isinf(curves.curve_by_trials(index["ehrlich 15", "auto"], {}).mean[0])
    figures.save_figure(figures.draw_problem(index, "ehrlich 15", ["auto", "random"]), tmp_path / "a.svg")
    assert "auto (5)" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "expected at least one whole run, got none"),
        ('{"problem": "branin", "sea', "expected at least one whole run, got none"),
        ('{"problem": "branin", "search": "auto", "seed": 0}', 'got the line {"problem": "branin", "search": "auto"'),
        ("3", "expected runs as `python -m benchmarks.peers` writes them, got the line '3'"),
        (
            json.dumps(Run("branin", "auto", 0, 20)._asdict() | {"missing": "no smac"}),
            "at least one whole run, got none",
        ),
    ],
)
def test_a_file_without_runs_is_refused(tmp_path, capsys, content, said):
    file = tmp_path / "runs.jsonl"
    file.write_text(content)
    assert publish.main([str(file), str(tmp_path / "RESULTS.md")]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "RESULTS.md").exists()


# ``auto`` on ten instances that differ by hundreds, and a search on five of them that begins at the same points, takes
# twice the seconds and ends above by 1 to 5.
LEVELS = [0.0, 100.0, 300.0, 50.0, 700.0, 1000.0, 1200.0, 900.0, 1100.0, 1300.0]
FEWER = {Run("nk 30x5", "auto", seed, 20): found_at(level, level + 9.0) for seed, level in enumerate(LEVELS)} | {
    Run("nk 30x5", "evolution", seed, 20): found_at(LEVELS[seed] + 1.0 + seed, LEVELS[seed] + 9.0, seconds=1.0)
    for seed in range(5)
}


def test_curves_are_as_far_apart_as_the_tables_say(figures):
    index = verdicts.index_runs(FEWER)
    figure = figures.draw_problem(index, "nk 30x5", ["auto", "evolution"])
    by_trials, by_seconds = ({line.get_label(): line for line in axes.get_lines()} for axes in figure.axes)
    gaps = by_trials["evolution"].get_ydata() - by_trials["auto"].get_ydata()
    trials = by_trials["auto"].get_xdata()
    pairs = [float(np.mean(verdicts.compare(index, "nk 30x5", "evolution", int(n)))) for n in trials]
    assert gaps == pytest.approx(pairs)
    assert (gaps[0], gaps[-1]) == pytest.approx((0.0, 3.0))
    assert by_trials["auto"].get_ydata()[-1] == np.mean(LEVELS)
    ends = [by_seconds[name].get_ydata()[[0, -1]] - by_trials[name].get_ydata()[[0, -1]] for name in by_seconds]
    assert np.array(ends) == pytest.approx(0.0)


def test_against_seconds_a_run_is_moved_by_the_trials_it_has():
    """`auto` improves after 2.5 s and the other search after 5 s, both at trial 15: neither curve jumps in between."""
    index = verdicts.index_runs(FEWER)
    ours, own = index["nk 30x5", "auto"], index["nk 30x5", "evolution"]
    assert curves.count_trials(own[0], np.array([0.0, 2.5, 5.0, 10.0, 99.0])).tolist() == [10.0, 12.5, 15.0, 20.0, 20.0]
    curve = curves.curve_by_seconds(own, ours)
    before, after = np.mean(LEVELS) + 9.0, np.mean(LEVELS) + 3.0
    assert curve.mean == pytest.approx(np.where(curve.x < 5.0, before, after))


def test_a_seed_that_auto_lacks_is_not_drawn(figures):
    runs = FEWER | {Run("nk 30x5", "evolution", 99, 20): found_at(-1e6)}
    figure = figures.draw_problem(verdicts.index_runs(runs), "nk 30x5", ["auto", "evolution"])
    shown = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert shown == ["auto (10)", "evolution (5 of 10)"]
    few = {run: found for run, found in FEWER.items() if run.search == "auto" or run.seed < 4}
    few |= {Run("nk 30x5", "evolution", 99, 20): found_at(1.0)}
    figure = figures.draw_problem(verdicts.index_runs(few), "nk 30x5", ["auto", "evolution"])
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["auto"]


def test_a_search_without_runs_of_auto_has_its_own_mean(figures):
    others = {run: found for run, found in FEWER.items() if run.search != "auto"}
    figure = figures.draw_problem(verdicts.index_runs(others), "nk 30x5", ["auto", "evolution"])
    (line,) = figure.axes[0].get_lines()
    assert line.get_ydata()[-1] == np.mean(LEVELS[:5]) + 3.0


def test_what_pairs_put_below_the_optimum_is_not_drawn(tmp_path, figures):
    """`auto` begins at 100 on the seeds that the other has, which begins at 20 there, and at 4 on the rest."""
    runs = {Run("rosenbrock-4", "auto", n, 20): found_at(0.5, 100.0) for n in range(5)}
    runs |= {Run("rosenbrock-4", "auto", n, 20): found_at(0.1, 4.0) for n in range(5, 10)}
    runs |= {Run("rosenbrock-4", "CatCMA", n, 20): found_at(10.0 * (n > 3), 20.0) for n in range(5)}
    figure = figures.draw_problem(verdicts.index_runs(runs), "rosenbrock-4", ["auto", "CatCMA"])
    for axes in figure.axes:
        values = {line.get_label(): line.get_ydata() for line in axes.get_lines()}["CatCMA"]
        assert np.isinf(values[0])  # 52 + 20 - 100
        assert values[-1] == pytest.approx(0.3 + 2.0 - 0.5)  # and its error is 2.0
    assert 0.1 < figure.axes[0].get_ylim()[0] < figure.axes[0].get_ylim()[1] < 100.0
    bands = [path.vertices for one in figure.axes[0].collections for path in one.get_paths()]
    assert all((vertices[:, 1] > 0.0).all() for vertices in bands)
    figures.save_figure(figure, tmp_path / "a.svg")


def test_a_band_has_no_part_in_instances_that_one_search_lacks():
    """Seeds 5 to 9 are 10 higher, and only `auto` has them; both searches are level on each half."""
    runs = {
        "auto": {seed: found_at(10.0 * (seed > 4), 20.0) for seed in range(10)},
        "evolution": {seed: found_at(1.0, 20.0) for seed in range(5)},
    }
    for name in runs:
        assert curves.find_errors(runs, name, np.array([20.0])) == pytest.approx([0.0])


def test_gaps_are_as_far_apart_as_the_tables_say():
    """Random search begins 9 above the lowest value known of each instance."""
    runs = FEWER | {
        Run("nk 30x5", "random", seed, 20): found_at(level + 6.0, level + 9.0) for seed, level in enumerate(LEVELS)
    }
    index, at = verdicts.index_runs(runs), np.array([10.0, 20.0])
    gaps = {name: curves.find_gaps(index, "nk 30x5", name, at) for name in ("auto", "random", "evolution")}
    assert gaps["auto"] == pytest.approx([1.0, 0.0])
    assert gaps["random"] == pytest.approx([1.0, 6.0 / 9.0])
    assert gaps["evolution"] == pytest.approx([1.0, 3.0 / 9.0])
    runs |= {
        Run("nk 30x5", "auto", seed, 20): found_at(LEVELS[seed] + 2.0, LEVELS[seed] + 9.0) for seed in range(5, 10)
    }
    index = verdicts.index_runs(runs)
    ours, own = (np.array(curves.find_gaps(index, "nk 30x5", name, at)) for name in ("auto", "evolution"))
    assert own - ours == pytest.approx([0.0, 3.0 / np.mean([9.0] * 5 + [7.0] * 5)])


def test_a_curve_of_fewer_seeds_is_not_moved_by_easy_instances(figures):
    """Seeds 5 to 9 are 10 higher for both searches, and only `auto` has them."""
    runs = {Run("qubo-80", "auto", seed, 20): found_at(10.0 * (seed > 4), 20.0) for seed in range(10)}
    runs |= {Run("qubo-80", "evolution", seed, 20): found_at(1.0, 20.0) for seed in range(5)}
    figure = figures.draw_problem(verdicts.index_runs(runs), "qubo-80", ["auto", "evolution"])
    last = {line.get_label(): line.get_ydata()[-1] for line in figure.axes[0].get_lines()}
    assert last == pytest.approx({"auto": 5.0, "evolution": 6.0})


@pytest.mark.parametrize(
    ("searches", "sentence"),
    [
        (["auto"], "`auto` alone."),
        (["auto", "Optuna TPE"], "`auto` compared with Optuna."),
        (["auto", "random"], "`auto` compared with other methods of this package."),
        (
            ["auto", "auto before", "Optuna GP", "Optuna TPE"],
            "`auto` compared with other methods of this package and Optuna.",
        ),
        (["auto", "Kernel Tuner GA", "BoTorch fast", "SMAC3"], "`auto` compared with SMAC3, BoTorch and Kernel Tuner."),
    ],
)
def test_the_page_opens_with_what_was_run(searches, sentence):
    runs = {Run("branin", name, 0, 20): found_at(1.0) for name in searches}
    runs[Run("branin", "Bounce", 0, 20)] = {"missing": "No module named 'bounce'"}
    assert f"\n\n{sentence}\n[docs/evidence/peers.md]" in format_results(runs)


def test_each_search_of_a_peer_has_its_package():
    """Its name has a capital, and the name of the method of this package has none."""
    assert {name for name in ALL_SEARCHES if name[0].isupper()} == set(report.PEER_NAMES) | {"EI"}
    peers = ["Optuna", "SMAC3", "BoTorch", "Bounce", "CatCMA", "NGOpt", "HEBO", "Ax", "Casmopolitan", "BODi"]
    assert list(dict.fromkeys(report.PEER_NAMES.values())) == [*peers, "Kernel Tuner"]


def test_the_page_says_how_long_its_runs_took():
    runs = {Run("branin", "auto", seed, 20): found_at(1.0, process_seconds=4000.0) for seed in range(2)}
    runs[Run("branin", "SMAC3", 0, 20)] = {"missing": "No module named 'smac'"}
    assert "## How the runs were taken\n\nRuns took 2.22 CPU hours.\n" in format_results(runs)
    runs[Run("branin", "random", 0, 20)] = found_at(2.0)
    assert "Runs took 2.22 CPU hours, recorded for 2 of 3 runs.\n" in format_results(runs)
    assert "CPU hours" not in format_results(runs_of("branin", auto=[1.0]))


@pytest.mark.parametrize(
    ("problem", "label"),
    [
        ("fc-net naval_propulsion", "mean best log10 validation error"),
        ("qubo-80", "mean best value"),
        ("branin", "mean best − optimum"),
    ],
)
def test_a_figure_says_what_its_values_are(problem, label, figures):
    index = verdicts.index_runs(runs_of(problem, auto=[1.0] * 5, random=[2.0] * 5))
    assert figures.draw_problem(index, problem, ["auto", "random"]).axes[0].get_ylabel() == label


@pytest.mark.parametrize("few", [runs_of("branin", 5, auto=[1.0] * 5, random=[2.0] * 5), runs_of("branin", auto=[1.0])])
def test_a_page_says_that_nothing_is_compared(few, tmp_path):
    """Runs that end with the initial points have no mark and no figure, and one seed is no pair."""
    file = tmp_path / "runs.jsonl"
    for run, found in (few | {Run("branin", "random", 0, 5): found_at(2.0, trials=5)}).items():
        append_run(file, run, found)
    publish.publish(file, tmp_path / "RESULTS.md")
    text = (tmp_path / "RESULTS.md").read_text()
    assert report.NO_PAIRS in text
    assert "Number of problems" not in text
    is_short = max(run.trials for run in few) == 5
    assert ("branin.svg" in text) == (not is_short)
    assert "headline" not in text


def test_a_page_says_that_its_summary_is_of_other_problems():
    text = format_results(runs_of("labs-100", auto=[1.0] * 5, random=[2.0] * 5))
    assert f"## Summary\n\n{report.NO_SUMMARY}\n" in text
    assert "| random | 5 | 2 | +1" in text


def run_levels(problem: str, **values: list[float]) -> dict[Run, dict]:
    """Return runs of `auto` and random search with five seeds, and those of other searches."""
    return runs_of(problem, 20, auto=[-1.0] * 5, random=[1.0] * 5, **values)


def test_searches_that_the_headline_leaves_out_are_listed():
    runs = run_levels("ising", evolution=[0.0] * 5, combo=[0.0] * 4) | run_levels("qubo-80", evolution=[0.0] * 4)
    runs |= run_levels("branin", evolution=[0.0] * 5)
    said = report._list_undrawn(verdicts.index_runs(runs))
    assert (
        said == "- Not drawn in choices without numbers, because of too few seeds on some problem: evolution, combo.\n"
    )


def test_gaps_of_a_search_that_ends_without_a_value_are_not_averaged():
    runs = run_levels("ising", evolution=[0.0] * 5) | run_levels("qubo-80", evolution=[0.0] * 5)
    at = np.array([10.0, 20.0])
    late, never = dict(runs), dict(runs)
    last = Run("qubo-80", "evolution", 4, 20)
    late[last] = found_at(0.0) | {"improvements": [[12, 0.0]]}
    never[last] = found_at(0.0) | {"improvements": []}
    assert curves.average_gaps(verdicts.index_runs(runs), ["ising", "qubo-80"], "evolution", at) is not None
    gaps = curves.average_gaps(verdicts.index_runs(late), ["ising", "qubo-80"], "evolution", at)
    assert gaps is not None
    assert np.isfinite(gaps).tolist() == [False, True]
    assert curves.average_gaps(verdicts.index_runs(never), ["ising", "qubo-80"], "evolution", at) is None


def test_a_figure_has_at_most_seven_curves_auto_and_random_among_them(figures):
    ends = {"auto": 9.0, "random": 10.0, **{f"s{i}": float(i) for i in range(8)}}
    assert figures.thin(ends) == ["s0", "s1", "s2", "s3", "s4", "auto", "random"]
    assert figures.thin({"b": 1.0, "a": 1.0}) == ["a", "b"]


def test_auto_is_compared_with_its_earlier_runs(tmp_path, capsys):
    problems = {"branin": (1.0, [0.4, 0.6, 0.5]), "levy-10": (0.1, [0.6, 0.5, 0.55]), "ising": (0.5, [0.5] * 3)}
    for name, is_after in (("before.jsonl", False), ("after.jsonl", True)):
        for problem, (before, after) in problems.items():
            for run, found in runs_of(problem, 100, auto=after if is_after else [before] * 3).items():
                append_run(tmp_path / name, run, found)
    since.main([str(tmp_path / "before.jsonl"), str(tmp_path / "after.jsonl")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:4] == ["| branin | 3 | 1 | -0.5 ± 0.058 |", "| levy-10 | 3 | 0.1 | +0.45 ± 0.029 |"]
    assert lines[5] == "worse by more than two standard errors: levy-10"
    assert lines[6].startswith("mean difference in standard errors: +3.4")
    with pytest.raises(SystemExit):
        since.main([str(tmp_path / "after.jsonl"), str(tmp_path / "after.jsonl")])
    assert capsys.readouterr().out == ""


def test_files_without_runs_are_not_compared(tmp_path, refusal):
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes")
    assert "BEFORE: there is no file none.jsonl" in refusal(since.main, ["none.jsonl"])
    assert "AFTER: there is no file" in refusal(since.main, [str(publish.FILE), str(tmp_path)])
    assert "got the line '# Notes'" in refusal(since.main, [str(notes)])
