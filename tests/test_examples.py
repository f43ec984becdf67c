"""The examples of parts of your own run, check their laws, and are short; those of orders run."""

from __future__ import annotations

import itertools
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

import bostruct.domains.registry
import bostruct.domains.space.registry
import bostruct.kernels.space.registry

ROOT = Path(__file__).parents[1]
EXTENDING = sorted((ROOT / "examples" / "extending").glob("*.py"))
REGISTRIES = (
    bostruct.domains.registry.BUILDERS,
    bostruct.domains.space.registry.KINDS,
    bostruct.kernels.space.registry.KERNELS,
)
MOST_LINES = 90


@pytest.fixture(autouse=True)
def registries():
    """What an example registers is taken out again."""
    before = [dict(registry) for registry in REGISTRIES]
    yield
    for registry, kept in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(kept)


@pytest.mark.parametrize(
    "example",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem == "compare")) for path in EXTENDING],
    ids=lambda path: path.stem,
)
def test_an_example_runs_and_prints(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.count("\n") == (9 if example.stem == "compare" else 1)  # a table, or a line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("example", EXTENDING, ids=lambda path: path.stem)
def test_an_example_is_short_and_checks_its_part(example):
    source = example.read_text()
    assert re.search(r"^    +check_\w+\(", source, re.MULTILINE), "it calls no law"
    assert sum(1 for line in source.splitlines() if line.strip()) < MOST_LINES


def test_each_kind_of_part_has_an_example():
    called = {name for path in EXTENDING for name in re.findall(r"^ +(check_\w+)\(", path.read_text(), re.MULTILINE)}
    assert called >= {"check_domain", "check_kernel", "check_acquisition", "check_storage"}


def test_the_examples_are_run_before_a_change_is_taken():
    assert '"$PWD"/examples/*.py "$PWD"/examples/extending/*.py' in (ROOT / ".ci" / "run").read_text()


def run_example(name, monkeypatch, *arguments):
    """Run an example as a command."""
    path = str(ROOT / "examples" / name)
    monkeypatch.setattr(sys, "argv", [path, *map(str, arguments)])
    return runpy.run_path(path, run_name="__main__")


def test_the_job_shop_is_scheduled_and_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    shop = run_example("job_shop.py", monkeypatch, 14, tmp_path / "gantt.png")
    assert "after 14 trials; the optimum is 55" in capsys.readouterr().out
    assert (tmp_path / "gantt.png").stat().st_size > 1_000
    operations = shop["schedule"]([job for _ in range(6) for job in range(6)])
    for by in (0, 1):  # neither a job nor a machine does two things at a time
        for own in range(6):
            times = sorted((start, start + duration) for *who, start, duration in operations if who[by] == own)
            assert len(times) == 6
            assert all(end <= start for (_, end), (start, _) in itertools.pairwise(times))


def test_features_are_selected_and_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    selection = run_example("feature_selection.py", monkeypatch, 14, tmp_path / "features.png")
    assert "with all 30 features" in capsys.readouterr().out
    assert (tmp_path / "features.png").stat().st_size > 1_000
    assert len(selection["best"]) == 5
    assert selection["accuracy"](selection["best"]) == selection["result"].best_value > 0.85


def test_passes_are_ordered(monkeypatch, capsys):
    if shutil.which("opt") is None:
        pytest.skip("LLVM's opt is not installed")
    passes = run_example("pass_orders.py", monkeypatch, 12)
    assert "best of 12 trials" in capsys.readouterr().out
    assert passes["count_instructions"]({"passes": tuple(passes["PASSES"])}) > 1
