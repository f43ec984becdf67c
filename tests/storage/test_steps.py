"""A step counts once, and only where it changed something."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from bostruct.storage.protocol import StoredStudy, TrialRow
from bostruct.storage.reading import read_progress
from bostruct.storage.rows import add_checksums
from bostruct.storage.schema import SCHEMA_VERSION, create_tables
from bostruct.storage.writing import Transaction, insert_study, next_study
from bostruct.testing.storage_laws import STUDY


def test_a_step_has_one_revision_and_an_empty_one_has_none() -> None:
    row = TrialRow(0, "{}", "{}", 1.0, 1)
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        assert next_study(connection) == 1
        before = insert_study(connection, 1, StoredStudy(STUDY, []))
        assert next_study(connection) == 2
        assert Transaction(connection, before, "here").finish() == before
        step = Transaction(connection, before, "here")
        step.insert(row, "[1]")
        step.insert(row._replace(number=1), None)
        step.change(row._replace(attempts=2), "running")
        after = step.finish()
        assert after.revision == before.revision + 1
        assert after == read_progress(connection, 1, "here", SCHEMA_VERSION)
        assert sorted(step.checksums) == [0, 1]
        assert add_checksums(*step.checksums.values()) == after.digest
