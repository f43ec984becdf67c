"""The laws of writers that share a study: files obey them, and each law finds the fault that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from bostruct.storage.documents import MemoryStorage
from bostruct.storage.protocol import RemoteChanges, StudyLocked
from bostruct.storage.sqlite import SqliteStorage, SqliteWriter
from bostruct.testing import storage_laws
from bostruct.testing.storage_laws import STUDY, check_sharing

changing, poll, insert = SqliteWriter.changing, SqliteWriter.poll, SqliteWriter.insert


@contextmanager
def decide_alone(_: Any) -> Iterator[None]:
    yield


@contextmanager
def keep_parts(writer: SqliteWriter) -> Iterator[RemoteChanges]:
    yield poll(writer)


@contextmanager
def forget_news(writer: SqliteWriter) -> Iterator[RemoteChanges]:
    with changing(writer) as news:
        assert writer._snapshot._pending is not None
        writer._snapshot.take(writer._snapshot._pending)
        yield news


def repeat_news(writer: SqliteWriter) -> RemoteChanges:
    snapshot = deepcopy(writer._snapshot)
    news = poll(writer)
    writer._snapshot = snapshot
    return news


def hear_oneself(writer: SqliteWriter, *given: Any) -> None:
    snapshot = deepcopy(writer._snapshot)
    insert(writer, *given)
    writer._snapshot = snapshot


FAULTS: dict[str, tuple[str, Any, str]] = {
    "decides alone": ("ask_lock", decide_alone, "a writer waits while another writer has the ask lock"),
    "keeps parts": ("changing", keep_parts, "a transaction that raises changes nothing"),
    "one name for all": ("owner", "somebody", "each writer has a different name"),
    "nobody is gone": ("find_dead_writers", lambda *_: set(), "all but the open writers are dead"),
    "all are gone": ("find_dead_writers", lambda _, owners: set(owners), "all but the open writers are dead"),
    "tells news again": ("poll", repeat_news, "poll omits changes by the writer itself|poll returns each change once"),
    "hears itself": ("insert", hear_oneself, "poll omits changes by the writer itself"),
    "no news": ("poll", lambda writer: poll(writer)._replace(trials=[]), "poll returns changes by other writers"),
    "forgets news": ("changing", forget_news, "a transaction starts with remote changes, again after a rollback"),
}


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], SqliteStorage]:
    monkeypatch.setattr(storage_laws, "BLOCKED_SECONDS", 0.05)
    return lambda: SqliteStorage(tmp_path / "runs.db")


def test_files_are_shared(make: Callable[[], SqliteStorage]) -> None:
    check_sharing(make, STUDY)


def test_who_refuses_a_second_writer_passes() -> None:
    storage = MemoryStorage()
    check_sharing(lambda: storage, STUDY)
    storage.begin(STUDY)
    with pytest.raises(StudyLocked, match="is open for writing already"):
        storage.begin(STUDY)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, make: Callable[[], SqliteStorage], monkeypatch: pytest.MonkeyPatch) -> None:
    name, planted, says = FAULTS[fault]
    monkeypatch.setattr(SqliteWriter, name, planted)
    with pytest.raises(AssertionError, match=says):
        check_sharing(make, STUDY)
