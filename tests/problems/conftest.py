"""What tests of official files share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.problems.nats_files import CODES, SEEDS, cell_string, nats_results, pickled


@pytest.fixture
def nats(tmp_path) -> Path:
    """The folder of NATS-Bench, one architecture a file; the second has a training less."""
    folder = tmp_path / "NATS-tss-v1_0-3ffb9-simple"
    folder.mkdir()
    meta = {"meta_archs": [*map(cell_string, CODES)], "total_archs": 4, "arch2infos": None, "evaluated_indexes": set()}
    pickled(folder / "meta.pickle.pbz2", meta)
    for index in range(len(CODES)):
        seeds = SEEDS | {"cifar10-valid": (999, 777)} if index == 1 else SEEDS
        pickled(folder / f"{index:06d}.pickle.pbz2", nats_results(index, seeds))
    return folder
