"""Studies that version 0.1.0 stored are read, and go on; their files are kept here as SQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import networkx
import pytest

import bostruct as bo

FILES = sorted((Path(__file__).parent / "version_0_1_0").glob("*.sql"))


def space_of(name: str) -> bo.Space:
    """Build the space that a file's study was made with."""
    if name.startswith("fidelity"):
        choices = {"a": ["x", "y", "z"], "b": bool, "o": bo.Ordinal([1, 2, 3, 4]), "epochs": bo.Fidelity([1, 3, 9])}
        return bo.Space(choices)
    graph = networkx.cycle_graph(4)
    ordered = {"o": bo.Ordinal([1, 2, 4, 8, 16]), "i": bo.Integer(0, 9)}
    return bo.Space({"a": ["x", "y", "z"], **ordered, "b": bool, "g": bo.Graph(graph)})


@pytest.mark.parametrize("script", FILES, ids=lambda path: path.stem)
def test_a_study_of_another_version_goes_on(script, file):
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script.read_text(encoding="utf-8"))
    name, method = script.stem.split("_")
    with pytest.warns(bo.OtherVersion, match="was created by bostruct 0.1.0"):
        study = bo.Study(space_of(name), method=method, seed=3, storage=file, name="s")
    with study:
        assert [trial.number for trial in study.trials] == list(range(14))
        told = [study.tell(study.ask(), 1.0) for _ in range(9)]
        assert len(study.trials) == 22  # the first was left running
        assert "model" in [trial.info["origin"] for trial in told]
        assert study.result.recommended.mean is not None


def test_there_are_files():
    assert len(FILES) == 3
