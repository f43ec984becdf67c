"""The UCI sets of NASBOT's experiments: each is read from its own arrays, and a file that cannot be is named."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import uci_regression as script
from benchmarks.nasbot_landscape import rows, run

pytestmark = pytest.mark.slow  # of the code of a benchmark, not of the package

N = 60
INDOOR = ("longitude", "latitude", "floor", "building", "space", "relative_position", "user", "phone", "timestamp")


def write_set(folder: Path, name: str, **other: np.ndarray | None) -> Path:
    """Write a small file with the arrays that the set's own file has."""
    rng = np.random.default_rng(0)
    if name == "indoor_location":
        arrays = {"wapT": rng.integers(-104, 1, (5, N)).astype(np.int8)} | {key: rng.normal(size=N) for key in INDOOR}
        arrays["wapT"][:, ::2] = 100
    else:
        arrays = {
            "XT": rng.normal(size=(5, N)).astype(np.float32),
            "y": rng.normal(size=(N, 2) if name in ("naval", "parkinsons") else N).astype(np.float32),
            "columns": np.array(["a", "b", "c", "d", "e"]),
            "target": np.array(["value"]),
        }
    file = folder / f"{name}.npz"
    held: dict[str, Any] = {key: value for key, value in (arrays | other).items() if value is not None}
    np.savez(file, **held)
    return file


@pytest.mark.parametrize("name", script.ARRAYS)
def test_every_set_runs_and_is_judged_on_its_test_part(tmp_path, name):
    write_set(tmp_path, name)
    recipe, file = replace(script.RECIPE, epochs=1), tmp_path / "runs.jsonl"
    run(file, [name], ["random"], 1, 2, lambda one: script.problem(tmp_path, one, 50, recipe))
    (found,) = rows(file)
    assert len(found["values"]) == len(found["reported"]) == 2
    assert np.isfinite(found["values"] + found["reported"]).all()
    targets = len(script.ARRAYS[name][1]) * (2 if name in ("naval", "parkinsons") else 1)
    assert script.problem(tmp_path, name).objective.data.classes == targets


def test_a_signal_that_was_not_heard_is_the_weakest(tmp_path):
    data = script.dataset(write_set(tmp_path, "indoor_location"), N)
    inputs = np.concatenate([part.inputs.numpy() for part in (data.train, data.validation, data.test)])
    assert (np.isclose(inputs, inputs.min(axis=0), atol=1e-5).mean(axis=0) >= 0.5).all()


WRONG = [
    ("protein", {"XT": None}, "XT is missing"),
    ("protein", {"y": None}, "y is missing"),
    ("indoor_location", {"wapT": None}, "wapT is missing"),
    ("indoor_location", {"latitude": None}, "latitude is missing"),
    ("naval", {"y": np.array(["x"] * N)}, "expected numbers in y "),
    ("news_popularity", {"y": np.full(N, np.nan)}, r"y\[0\]: expected a finite number, got nan"),
    ("blog_feedback", {"XT": np.zeros((5, N - 1))}, rf"XT: expected \(features, {N}\).* got \(5, {N - 1}\)"),
    ("parkinsons", {"XT": np.zeros(N)}, rf"XT: expected \(features, {N}\).* got \({N},\)"),
]


@pytest.mark.parametrize(("name", "other", "words"), WRONG)
def test_a_file_that_cannot_be_read_is_named_with_its_array(tmp_path, capsys, name, other, words):
    file = write_set(tmp_path, name, **other)
    with pytest.raises(ValueError, match=f"^{file}: .*{words}|^{file}: {words}"):
        script.dataset(file)
    run(tmp_path / "runs.jsonl", [name], ["random"], 1, 2, lambda one: script.problem(tmp_path, one))
    assert f"{name} is skipped: {file}" in capsys.readouterr().out


def test_a_file_that_is_no_archive_or_not_there_is_named(tmp_path):
    with pytest.raises(OSError, match=str(tmp_path / "naval.npz")):
        script.dataset(tmp_path / "naval.npz")
    for content in (b"", b"PK\x03\x04 cut", b"text"):
        (tmp_path / "naval.npz").write_bytes(content)
        with pytest.raises(ValueError, match=f"^{tmp_path / 'naval.npz'}: expected numbers in XT of an .npz file"):
            script.dataset(tmp_path / "naval.npz")


def test_an_unknown_set_is_refused_with_the_known_ones(tmp_path, refusal, monkeypatch):
    with pytest.raises(ValueError, match=r"set: expected one of naval, .*indoor_location; got slice"):
        script.dataset(tmp_path / "slice.npz")
    words = ["run", str(tmp_path / "a"), "--data", str(tmp_path), "--sets", "slice"]
    monkeypatch.setattr(sys, "argv", ["uci_regression", *words])
    assert "indoor_location" in refusal(script.main)
