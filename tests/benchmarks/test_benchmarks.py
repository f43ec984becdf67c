"""The plain sampler is the same sampler, and no benchmark rots."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from benchmarks.reference import plain_sampler as plain
from benchmarks.speed import anchors
from benchmarks.speed import combo as combo_speed
from benchmarks.speed.__main__ import PAGE, SCRIPTS, with_table
from benchmarks.speed.anchors import _describe as describe_peer
from benchmarks.speed.datasets import search_data
from benchmarks.speed.report import (
    REFERENCE_SECONDS,
    YARDSTICK,
    Yardstick,
    at_least,
    at_most,
    suggestion_rows,
    table,
)
from bostruct.methods import combo
from bostruct.methods.defaults import variable_graphs
from bostruct.problems.contamination import contamination
from bostruct.surrogates.gaussian import evidence
from bostruct.surrogates.hyperparameters import Hyperparameters
from bostruct.surrogates.marginalized import ChainData, ChainTally, sweep

ROOT = Path(__file__).parents[2]
DEAR = (
    "memory",
    "long_studies",
    "language",
    "reports",
    "first_use",
    "anchors",
)  # start processes, or search spaces of large programs
MIXED = bo.Space({"a": bool, "b": ["x", "y", "z"], "c": range(4), "d": bool})


def problems() -> list[tuple[bo.Space, Any, Any, Any]]:
    """Space, surrogate, points and values: mixed variables, bits below and above the size of blocks."""
    rng = np.random.default_rng(0)
    xs = MIXED.sample(14, rng)
    cases = [(MIXED, combo(MIXED).surrogate, xs, xs.sum(axis=1) + rng.normal(size=14))]
    bits = contamination()
    return cases + [(bits.space, combo(bits.space).surrogate, *search_data(bits, n, 0)) for n in (25, 90)]


def plain_problem(space: bo.Space, xs: Any, values: Any) -> plain.Problem:
    return plain.problem([graph.laplacian() for graph in variable_graphs(space)], xs, values)


@pytest.mark.parametrize("case", range(3))
def test_the_plain_log_posterior_is_ours(case: int) -> None:
    space, surrogate, xs, values = problems()[case]
    spec, priors = plain_problem(space, xs, values), surrogate.priors(values)
    gram, rng = surrogate.kernel.prepare(xs), np.random.default_rng(case)
    for _ in range(10):
        mean = rng.uniform(values.min(), values.max())
        hyper = Hyperparameters(mean, rng.uniform(-3, 4), rng.uniform(-8, 2), rng.uniform(-5, 2, len(xs[0])))
        theirs = plain.log_posterior(spec, plain.Chain(*hyper))
        build = lambda hyper=hyper: surrogate.kernel.gram(hyper.theta, gram)  # noqa: E731
        ours = evidence(build, values - mean, hyper.log_amplitude, hyper.ratio(surrogate.nugget)).log_density
        ours += priors.mean.log_density(mean) + priors.log_amplitude.log_density(hyper.log_amplitude)
        ours += priors.log_noise.log_density(hyper.log_noise)
        ours += sum(surrogate.kernel.prior.log_density(t) for t in hyper.theta.tolist())
        assert theirs == pytest.approx(ours, rel=1e-8)


@pytest.mark.parametrize("case", range(3))
def test_the_plain_sampler_makes_the_same_chain(case: int) -> None:
    space, surrogate, xs, values = problems()[case]
    spec = plain_problem(space, xs, values)
    data = ChainData(surrogate.kernel, surrogate.kernel.prepare(xs), values, surrogate.priors(values), surrogate.nugget)
    ours, theirs = surrogate.start(values), plain.start(spec)
    np.testing.assert_allclose(np.hstack(ours), np.hstack(theirs))
    own, other = np.random.default_rng(7), np.random.default_rng(7)
    for _ in range(2):
        ours, theirs = sweep(data, ours, own, ChainTally()), plain.sweep(spec, theirs, other)
    np.testing.assert_allclose(np.hstack(ours), np.hstack(theirs), rtol=1e-9)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in DEAR else name for name in SCRIPTS]
)
def test_every_script_runs_in_miniature(name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--miniature"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "benchmarks" / "speed" / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "| required | measured | machine | met |" in printed
    page = with_table(PAGE.read_text(encoding="utf-8"), name, printed)
    assert printed.strip() in page


def test_every_script_of_the_folder_is_run() -> None:
    found = {path.stem for path in (ROOT / "benchmarks" / "speed").glob("*.py") if not path.stem.startswith("_")}
    assert found == {*SCRIPTS, "report", "datasets"}


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the markers <!-- sampler -->"):
        with_table("no markers", "sampler", "| a table |")


def test_a_missed_requirement_is_seen() -> None:
    assert [at_least("ratio", 2.0, found).met for found in (3.0, 1.0)] == [True, False]
    assert [at_most("memory", 1.0, found, " MB").met for found in (0.5, 1.5)] == [True, False]
    assert at_most("memory", 0.1, 0.10003, " MB").measured == "0.10003 MB"
    assert "**no**" in table("T", [at_most("memory", 1.0, 1.5, " MB")])


def test_seconds_are_compared_after_division_by_the_factor_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for factor, met in ((1.0, [True, False, False]), (2.0, [True, True, False])):
        monkeypatch.setattr(YARDSTICK, "read", lambda factor=factor: factor)
        rows = [at_most("time", 1.0, seconds, " s") for seconds in (0.5, 1.5, 2.5)]
        assert [row.met for row in rows] == met
        assert f"| 1.5 s | {factor:.2f}x |" in table("T", rows)
    monkeypatch.setattr(YARDSTICK, "read", lambda: 2.0)
    assert at_most("time", 0.1, 0.20006, " s").measured == "0.20006 s"
    rows = suggestion_rows("", 9, [0.1, 0.2, 0.9], 0.1, 0.5)
    assert [(row.measured, row.met) for row in rows] == [("0.2 s", True), ("0.9 s", True)]


def test_the_yardstick_is_the_mean_of_what_was_taken_since_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    yardstick = Yardstick()
    assert yardstick.read() > 0.1
    yardstick._taken = [2.0 * REFERENCE_SECONDS, 4.0 * REFERENCE_SECONDS]
    monkeypatch.setattr(yardstick, "take", lambda: None)
    assert [yardstick.read(), yardstick.read()] == pytest.approx([3.0, 3.0])


def test_a_peer_is_described_by_the_suggestions_before_50_and_100_evaluations() -> None:
    seconds = [float(n) for n in range(101)]
    assert describe_peer(seconds) == "44.5 s, 94.5 s"
    assert describe_peer(seconds[:60]) == "44.5 s, 54.5 s before 60, where the run ended"
    assert describe_peer(seconds[:14]) == "11.5 s before 14, where the run ended"


@pytest.mark.parametrize(
    ("command", "variable", "value", "said"),
    [
        (anchors, "PEERS", f"{sys.executable}{os.pathsep}/nofile", "PEERS: expected interpreters .*; got /nofile"),
        (combo_speed, "COMBO_CODE", "/nofile", "COMBO_CODE: expected a clone .*; got /nofile"),
    ],
)
def test_a_wrong_place_of_others_is_refused_in_words(command, variable, value, said, monkeypatch) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit, match=said):
        command.measure(True)
