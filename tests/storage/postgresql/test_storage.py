"""Studies in a PostgreSQL database keep the laws of every storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from bostruct.cli.studies import copy_studies
from bostruct.storage.postgresql.storage import PostgresqlStorage
from bostruct.storage.protocol import LONGEST_NAME, StorageError
from bostruct.storage.sqlite import SqliteStorage
from bostruct.testing.storage_laws import check_storage
from tests.storage.postgresql.server import Server


def test_the_laws(server: Server, url: str, database: str) -> None:
    check_storage(lambda: PostgresqlStorage(url), lambda: server.query("DROP SCHEMA bostruct CASCADE", database))


def test_a_study_is_moved_from_a_file_to_a_database_and_back(url: str, tmp_path: Path) -> None:
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "a.db", name="one") as study:
        study.tell(study.ask(), 1.0)
        study.ask()
        study.save(url)
    with bo.Study.load(url, "one") as moved:
        assert moved.ask().number == 1
        moved.save(tmp_path / "b.db")
        assert moved.where == url
    with bo.Study.load(tmp_path / "b.db", read_only=True) as back:
        assert [trial.value for trial in back.trials] == [1.0, None]
        assert back.trials[0] == study.trials[0]


def test_the_longest_name_fits_and_a_longer_one_is_refused(url: str, tmp_path: Path) -> None:
    letters = np.random.default_rng(0).integers(0x10000, 0x10FFFF, LONGEST_NAME)  # 4 bytes each, which do not compress
    name = "".join(map(chr, letters))
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=url, name=name) as study:
        study.tell(study.ask(), 1.0)
        SqliteStorage(tmp_path / "a.db").save(study._ledger.export(name * 2)).close()
    with bo.Study.load(url, name) as study:
        assert study.trials[0].value == 1.0
    with bo.Study.load(tmp_path / "a.db") as study:  # of an earlier version
        with pytest.raises(StorageError, match=r"name: expected at most 500 characters, got 1,000: .* with name="):
            study.save(url)
        study.save(url, name="shorter")
    assert [row.name for row in PostgresqlStorage(url).studies()] == [name, "shorter"]
    with pytest.raises(StorageError, match="nothing was copied; name: expected at most 500 characters"):
        copy_studies(str(tmp_path / "a.db"), url)
