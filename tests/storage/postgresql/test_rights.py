"""The rights that a role lacks are named, and tables that it may not see are no loss of a study."""

from __future__ import annotations

import pytest

from bostruct.storage.postgresql.session import OF_READERS, OF_WRITERS
from bostruct.storage.postgresql.storage import PostgresqlStorage
from bostruct.storage.protocol import StorageError
from bostruct.testing.storage_laws import STUDY


def test_a_message_names_the_rights_that_a_role_lacks_for_what_it_tried(server, url, database):
    server.query("CREATE USER bob")
    as_bob, grant = PostgresqlStorage(url.replace("ann@", "bob@")), "GRANT {} ON ALL TABLES IN SCHEMA bostruct TO bob"
    with pytest.raises(StorageError, match="role bob lacks CREATE on the database, which has no tables of bostruct"):
        as_bob.begin(STUDY)
    PostgresqlStorage(url).begin(STUDY)[1].close()
    usage, select = "USAGE on schema bostruct", "SELECT on tables of schema bostruct"
    with pytest.raises(StorageError, match=f"role bob lacks {usage} and {select}, required to read studies$"):
        as_bob.studies()
    with pytest.raises(
        StorageError, match=f"lacks {usage} and SELECT, INSERT, UPDATE, DELETE on .* required to write studies"
    ):
        as_bob.begin(STUDY)
    server.query("GRANT USAGE ON SCHEMA bostruct TO bob", database)
    with pytest.raises(StorageError, match=f"role bob lacks {select}, required to read studies$"):
        as_bob.read(None)
    server.query(grant.format("SELECT"), database)
    assert as_bob.read(None).study == STUDY
    with pytest.raises(
        StorageError,
        match=r"permission denied for table .*; role bob lacks INSERT, UPDATE, DELETE on .*read_only=True$",
    ):
        as_bob.begin(STUDY)
    server.query(grant.format("INSERT, UPDATE"), database)
    with pytest.raises(StorageError, match="role bob lacks DELETE on tables"):
        as_bob.begin(STUDY)
    server.query(grant.format("DELETE"), database)
    _, writer = as_bob.begin(STUDY)
    server.query("REVOKE USAGE ON SCHEMA bostruct FROM bob", database)
    with pytest.raises(StorageError, match=f"does not exist; role bob lacks {usage}, required to write") as caught:
        writer.poll()
    assert type(caught.value) is StorageError  # and no StorageLost: the study is there
    server.query("GRANT USAGE ON SCHEMA bostruct TO bob", database)
    assert writer.poll().trials == []
    writer.close()


def test_who_reads_needs_nothing_that_who_writes_does_not() -> None:
    assert set(OF_READERS) < set(OF_WRITERS)
