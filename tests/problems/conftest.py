"""What tests of official files share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.problems.nats_files import CODES, all_results, cell_string, pickled


@pytest.fixture
def nats(tmp_path) -> Path:
    """The folder of NATS-Bench, one architecture a file; the second has a training less."""
    folder = tmp_path / "NATS-tss-v1_0-3ffb9-simple"
    folder.mkdir()
    meta = {"meta_archs": [*map(cell_string, CODES)], "total_archs": 4, "arch2infos": None, "evaluated_indexes": set()}
    pickled(folder / "meta.pickle.pbz2", meta)
    for index, results in all_results().items():
        pickled(folder / f"{index:06d}.pickle.pbz2", results)
    return folder
