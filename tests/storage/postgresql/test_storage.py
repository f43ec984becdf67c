"""Studies in a PostgreSQL database keep the laws of every storage."""

from __future__ import annotations

from pathlib import Path

import bostruct as bo
from bostruct.storage.postgresql.storage import PostgresqlStorage
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
