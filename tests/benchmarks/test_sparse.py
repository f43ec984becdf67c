"""Problems where few variables matter: instances are fixed, and only those variables change the value."""

import itertools
import json

import numpy as np
import pytest

from benchmarks import sparse
from benchmarks.sparse import PROBLEMS, main, noisy_bits, run_once

MATTER = {"100 bits, 8 matter": 8, "300 bits, 10 matter": 10, "60 categories, 5 matter": 5, "Hartmann-6 in 20": 6}


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_instance_is_fixed_by_its_seed(name):
    first, again, other = (PROBLEMS[name](seed) for seed in (3, 3, 4))
    point = first.space.present(first.space.sample(1, np.random.default_rng(0))[0])
    assert first.truth(point) == again.truth(point) != other.truth(point)


@pytest.mark.parametrize(("name", "count"), MATTER.items())
def test_only_the_variables_that_matter_change_the_value(name, count):
    task = PROBLEMS[name](0)
    points = [task.space.present(row) for row in task.space.sample(12, np.random.default_rng(1))]
    others = [task.space.present(row) for row in task.space.sample(12, np.random.default_rng(2))]
    changes = {
        v
        for v in task.space.variables
        for p, q in zip(points, others, strict=True)
        if task.truth(p | {v: q[v]}) != task.truth(p)
    }
    assert len(changes) == count


def test_the_noisy_function_has_a_minimum_of_zero_and_equal_signal_and_noise():
    task = PROBLEMS["16 noisy bits"](0)
    values = [task.truth(task.space.present(row)) for row in task.space.enumerate()[::7]]
    assert min(values) >= 0.0
    assert np.std(values) == pytest.approx(2.0, rel=0.02)
    assert task.sd == 2.0


@pytest.mark.parametrize("search", ["auto", "all variables"])
def test_a_run_reports_its_values(search):
    found = run_once("16 noisy bits", search, 0, 22)
    assert len(found.best) == 22
    assert found.best == sorted(found.best, reverse=True)
    assert found.recommended is not None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--searches", "auto,TPE"], "'auto', 'all variables', 'Optuna TPE', 'before', 'HEBO'; got 'TPE'"),
        (["--problems", "nix"], "--problems: expected some of '100 bits, 2 matter', "),
        (["--problems", "max-cut 28,16 noisy bits"], "got 'max-cut 28,16 noisy bits'. Separate names by semicolons"),
        (["--seeds", "0"], "argument --seeds: expected an integer, at least 1; got '0'"),
        (["--searches", "HEBO"], "--searches: HEBO needs the package hebo, which is not installed"),
        (["--out", __file__], f"--out: expected runs of benchmarks.sparse, or a new file; got {__file__}"),
    ],
)
def test_a_wrong_option_is_refused_before_any_run(given, said, monkeypatch, refusal):
    monkeypatch.setattr(sparse, "PACKAGES", {"Optuna TPE": "numpy", "HEBO": "hebo"})
    monkeypatch.setattr(sparse.importlib.util, "find_spec", lambda name: None if name == "hebo" else name)
    monkeypatch.delattr(sparse, "run_once")
    assert said in refusal(main, given)


@pytest.fixture
def asked(monkeypatch):
    """Let runs return the number of trials, plus one for peers; list the runs."""
    asked = []

    def run(*key):
        asked.append(key)
        if key[1] == "Optuna TPE":
            return sparse.Found([key[3] + 1.0] * key[3], None, 0.5, 0.25)
        return sparse.Found([float(key[3])] * key[3], 0.0, 0.5, 0.25, covered=True, coverage=0.75)

    monkeypatch.setattr(sparse, "run_once", run)
    monkeypatch.setattr(sparse, "PACKAGES", {"Optuna TPE": "numpy", "HEBO": "hebo"})
    return asked


def test_runs_of_another_number_of_trials_are_other_runs(asked, tmp_path, capsys):
    file, name = tmp_path / "runs.jsonl", "16 noisy bits"
    old = {"best": [7.0] * 100, "recommended": 0.0, "selected": 0.0, "seconds": 0.1}
    file.write_text(json.dumps({"key": [name, "auto", 100], "found": old}) + "\n")
    given = ["--problems", name, "--searches", "auto", "--seeds", "1", "--out", str(file), "--trials"]
    for trials, mean in (("16", 16), ("60", 60), ("100", 7), ("16", 16)):
        main([*given, trials])
        assert capsys.readouterr().out.splitlines()[2].startswith(f"| {name} | {mean} | 0 |")
    assert asked == [(name, "auto", 100, 16), (name, "auto", 100, 60)]


@pytest.mark.parametrize("searches", ["auto,Optuna TPE", "Optuna TPE,auto", "Optuna TPE"])
def test_differences_are_to_auto(asked, capsys, searches):
    del asked
    main(["--problems", "16 noisy bits; max-cut 28", "--searches", searches, "--seeds", "2", "--trials", "30"])
    header, line, *rows = capsys.readouterr().out.splitlines()
    assert header.startswith(
        "| problem | auto | Optuna TPE minus auto | auto, recommended | balanced design | covered | coverage | subset "
    )
    assert [row.count("|") for row in (line, *rows)] == [header.count("|")] * 3
    assert rows[0].startswith("| 16 noisy bits | 30 | +1 ± 0 | 0 | ")
    assert rows[1] == "| max-cut 28 | 30 | +1 ± 0 | 0 |  | 100% | 75% | 50% | 0.25, 0.25 |"


def test_one_seed_has_no_standard_error():
    assert sparse.summarize(np.array([0.5])) == "+0.5"
    assert sparse.summarize(np.array([0.5, 0.7])) == "+0.6 ± 0.1"


def test_the_help_names_problems_and_searches(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "60 categories, 5 matter; 100 bits, effects 1/k" in printed
    assert "of auto, all variables, Optuna TPE, before, HEBO, BoTorch, CatCMA; auto always runs" in printed


def test_a_balanced_design_comes_out_as_simulated():
    task = noisy_bits(4, 3)
    points = np.array(list(itertools.product([0, 1], repeat=4)))
    truths = np.array([task.truth(dict(enumerate(row))) for row in points.tolist()])
    values = truths + task.sd * np.random.default_rng(0).normal(size=(40_000, 16))
    weights = np.linalg.lstsq(np.hstack([points, np.ones((16, 1))]), values.T, rcond=None)[0][:4]
    picked = ((weights < 0.0) * np.array([[8], [4], [2], [1]])).sum(axis=0)
    assert truths[picked].mean() == pytest.approx(task.balanced(16), rel=0.02)
