"""Studies in a PostgreSQL database: one row per trial, as JSON, never as a pickle.

When a method has returned, its changes are committed, and as durable as the server's `synchronous_commit` setting.
"""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from bostruct.storage.locks import OWNER, WriterLock, check_not_held, lock_owner
from bostruct.storage.postgresql.connecting import (
    ASK_LOCK_SECONDS,
    GONE_SECONDS,
    KEPT_DAYS,
    OPEN_SECONDS,
    RENEW_SECONDS,
    Place,
)
from bostruct.storage.postgresql.schema import LOCK_MAKING, bring_forward, make_key, read_rows_version
from bostruct.storage.postgresql.session import LockTaken, Session
from bostruct.storage.postgresql.sql import Connection, SqlConnection
from bostruct.storage.protocol import (
    RemoteChanges,
    SpaceChange,
    StorageError,
    StorageLost,
    StoredStudy,
    check_new_name,
    explain_second,
)
from bostruct.storage.reading import find_study_key
from bostruct.storage.row_storage import RowStorage, RowWriter
from bostruct.storage.rows import PROGRESS_COLUMNS, Progress
from bostruct.storage.writing import Transaction, insert_study, next_study, retry_rolled_back

RELEASE_SECONDS = 1.0  # between attempts to release the ask lock
# A DELETE of the study also locks its row first. With a weaker lock, transactions could overtake a waiting DELETE.
_LOCK = f"""SELECT {", ".join((*PROGRESS_COLUMNS, "progress.checksum"))} FROM studies
JOIN progress ON progress.study = studies.id WHERE studies.id = ? AND studies.checksum = ?
FOR NO KEY UPDATE OF studies FOR UPDATE OF progress"""
_SIGN = """INSERT INTO receipts (study, owner, revision) VALUES (?, ?, ?)
ON CONFLICT (study, owner) DO UPDATE SET revision = excluded.revision"""
_IS_SIGNED = "SELECT 1 FROM receipts WHERE study = ? AND owner = ? AND revision = ?"
# Heartbeats of others are never in the future, unless the server's clock was set back since.
_RENEW = """WITH mine AS (SELECT ?::bigint AS study, ? AS owner, ? AS process),
ahead AS (
    UPDATE writers SET renewed = clock_timestamp() FROM mine
    WHERE writers.study = mine.study AND writers.owner <> mine.owner AND writers.renewed > clock_timestamp()
) INSERT INTO writers (study, owner, process, renewed) SELECT study, owner, process, clock_timestamp() FROM mine
ON CONFLICT (study, owner) DO UPDATE SET renewed = clock_timestamp()"""
# No heartbeat was possible while the server was down. A start in the future means that its clock was set back.
_STARTED = "CASE WHEN pg_postmaster_start_time() <= clock_timestamp() THEN pg_postmaster_start_time() END"
_IS_PRESENT = f"GREATEST(renewed, {_STARTED}) > clock_timestamp() - INTERVAL '{GONE_SECONDS} s'"
_PRESENT = f"SELECT owner, process, {_IS_PRESENT} FROM writers WHERE study = ?"
# A stopped process keeps its connection and its locks.
_END_HOLDER = f"""SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN pg_locks USING (pid)
WHERE usename = current_user AND datname = current_database()
AND locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32) | objid::bigint = ?
AND application_name NOT IN (SELECT 'bostruct ' || owner FROM writers WHERE study = ? AND {_IS_PRESENT})"""
_FORGET = f"""WITH gone AS (
    DELETE FROM writers WHERE study = ? AND renewed < clock_timestamp() - INTERVAL '{KEPT_DAYS} days'
    RETURNING study, owner
) DELETE FROM receipts USING gone WHERE receipts.study = gone.study AND receipts.owner = gone.owner"""
_LEAVE = """WITH mine AS (SELECT ?::bigint AS study, ? AS owner),
receipt AS (DELETE FROM receipts USING mine WHERE receipts.study = mine.study AND receipts.owner = mine.owner)
DELETE FROM writers USING mine WHERE writers.study = mine.study AND writers.owner = mine.owner"""
_WRITERS = f"SELECT owner FROM writers WHERE {_IS_PRESENT}"
_IS_STANDBY = "SELECT pg_is_in_recovery()"
_GIVE_BACK = "SELECT pg_advisory_unlock_all()"
HEARTBEAT_FAILED = "a heartbeat failed: %s. After %.0f s without one, other writers requeue the trials of this process"
log = logging.getLogger(__name__)
T = TypeVar("T")


class PostgresqlStorage(RowStorage):
    """A database of studies on a server.

    Raises StorageError for an invalid URL, MissingExtra if psycopg is not installed.
    """

    def __init__(self, url: str) -> None:
        self._place = Place(url)
        self.label = self.where = self._place.label  # without secrets

    def find_revisions(self) -> dict[int, int] | None:
        try:
            select = "SELECT study, revision FROM progress"
            return self._read(lambda found, version: dict(found.execute(select).fetchall()) if version else {})
        except StorageError:
            return None

    def find_writers(self) -> frozenset[str] | None:
        """Return the active writers; None if they are currently unknown, and on a standby."""
        try:
            return self._read(lambda connection, version: list_writers(connection) if version else frozenset())
        except StorageError:
            return None

    def _read(self, work: Callable[[Connection, int], T]) -> T:
        with closing(Session(self._place, writes=False)) as session:
            return session.read(lambda connection: work(connection, read_rows_version(connection, self.label)))

    def _open_writer(self, stored: StoredStudy, *, is_new: bool) -> PostgresqlWriter:
        session = Session(self._place)
        try:
            bring_forward(session)
            self._make(session, stored, is_new=is_new)
            return PostgresqlWriter(session, stored.study.name)
        except BaseException:
            session.close()
            raise

    @retry_rolled_back
    def _make(self, session: Session, stored: StoredStudy, *, is_new: bool) -> None:
        """Write a study if it does not exist; raise StorageError if it exists but `is_new` is True."""
        name = stored.study.name
        there = "SELECT 1 FROM studies WHERE name = ?"
        if not is_new and session.query(there, (name,)):
            return
        check_new_name(name, f"{self.label}: ")  # a file of an earlier version may contain a longer one

        def is_made(connection: Connection) -> bool:
            made = connection.execute(f"{there} AND created = ?", (name, stored.study.created)).fetchone()
            return made is not None

        with session.writing(LOCK_MAKING, is_made=is_made) as (connection, _):
            if connection.execute(there, (name,)).fetchone() is None:
                insert_study(connection, next_study(connection), stored)
            elif is_new:
                raise explain_second(self.label, name)


class PostgresqlWriter(RowWriter):
    """A writer of a study in a database on a server; it counts as dead a minute after its last heartbeat.

    Raises StorageError.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, label = session, session.place.label
        key = session.read(
            lambda connection: find_study_key(connection, name, label, read_rows_version(connection, label))
        )
        super().__init__(key, name, label, ServerWriterLock(session, key.study))
        self._lost: StorageLost | None = None
        self._revision = 0  # of the current transaction

    @property
    def lost(self) -> StorageLost | None:
        return self._lost

    @property
    def is_open(self) -> bool:
        return self._session.is_open

    def poll(self) -> RemoteChanges:
        with self._noting_loss():
            progress = self._session.repeat(self._key.read_progress, "read")
            if (unchanged := self._snapshot.find_unchanged(progress)) is not None:
                return unchanged
            return self._snapshot.take(self._read(self._snapshot.read_update))

    def change_space(self, change: SpaceChange, state: str) -> None:
        self.check_alone()  # before the transaction: a connection that is lost in between is restored
        super().change_space(change, state)

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, if the study or trials no longer exist."""
        with self._noting_loss():
            self._session.read(self._snapshot.check_rows, OPEN_SECONDS)

    def close(self) -> None:
        if self.is_open:
            try:
                self._lock.leave()
            finally:
                self._session.close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        return self._session.read(work)

    @contextmanager
    def _transaction(self) -> Iterator[tuple[Connection, Progress]]:
        with self._session.writing(_LOCK, self._key.parameters, is_made=self._is_made) as (connection, row):
            before = self._key.check_there(row)
            self._revision = before.revision + 1
            yield connection, before

    def _sign(self, transaction: Transaction, after: Progress) -> None:
        if after is not transaction.before:
            assert isinstance(transaction.connection, SqlConnection)
            transaction.connection.execute_last(_SIGN, (self._key.study, self.owner, after.revision))

    def _is_made(self, connection: Connection) -> bool:
        """Return whether the current transaction was committed: no other transaction of ours has its revision."""
        signed = connection.execute(_IS_SIGNED, (self._key.study, self.owner, self._revision))
        return signed.fetchone() is not None

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        if self._lost is not None:
            raise StorageLost(str(self._lost))
        with super()._noting_loss():
            yield

    def _lose(self, error: StorageLost) -> StorageLost:
        self._lost = StorageLost(
            f"{error}. Nothing is written there any more. "
            "All trials are in memory, and so is every value that you tell; study.save(path) writes them elsewhere"
        )
        return StorageLost(str(self._lost))


class ServerWriterLock(WriterLock):
    """The locks of a writer on several machines: a row with its last heartbeat, by the server's clock.

    A thread updates the row on a separate connection. The writer that asks holds an advisory lock on that connection.
    The server releases the lock when the connection is lost, or when others close the connection of a dead writer;
    another writer may then ask.

    Raises StorageError.
    """

    def __init__(self, steps: Session, study: int) -> None:
        super().__init__()
        self._steps, self._study = steps, study
        self._process = f"process {os.getpid()} on {platform.node()}"
        self._lock_number = make_key("deciding", study)
        self._lock_key = (steps.place.label, study)
        self._holds_ask_lock = False
        self._owes_release = False  # the ask lock must be released, but the server has not received the statement
        self._release_mutex = threading.Lock()
        self._session = Session(
            steps.place,
            f"bostruct {self.owner}",
            purpose="heartbeats",
            lock_timeout=f"'{ASK_LOCK_SECONDS}s'",
            synchronous_commit="off",
        )
        self._left: SimpleQueue[None] = SimpleQueue()  # receives an item when the heartbeat is to end
        try:
            self._renew()
            self._session.query(_FORGET, (study,))
        except BaseException:
            self._session.close()
            raise
        self._heart = threading.Thread(target=self._beat, name=f"bostruct {self.owner}", daemon=True)
        self._heart.start()

    @contextmanager
    def ask_lock(self) -> Iterator[None]:
        if self._holds_ask_lock:
            yield
            return
        try:
            while not self._acquire_ask_lock():
                check_not_held(self._lock_key, f"{self._session.place.label}: study {self._study}")
                self._renew()
            self._holds_ask_lock = True
            with lock_owner(self._lock_key):
                yield
        finally:
            self._holds_ask_lock, self._owes_release = False, True
            with suppress(StorageError):  # the server is not available in time; the heartbeat releases the lock
                self._release_ask_lock(self._session.query_once)

    def find_dead_writers(self, owners: AbstractSet[str]) -> set[str]:
        present = {row[0]: row[2] for row in self._steps.query(_PRESENT, (self._study,))}
        is_back = self._is_recovering or self._steps.is_back  # last: a heartbeat may succeed meanwhile
        here = {owner for owner, is_recent in present.items() if is_recent or is_back} | {self.owner}
        return {owner for owner in owners if not OWNER.fullmatch(owner) or owner not in here}

    def find_other(self) -> str | None:
        rows = self._steps.query(_PRESENT, (self._study,))
        return next((process for owner, process, is_recent in rows if is_recent and owner != self.owner), None)

    def leave(self) -> None:
        """Remove the row, and release all locks; no effect in a forked child."""
        self._left.put(None)
        if threading.current_thread() is not self._heart:  # which may be using the session, if it collects garbage
            self._remove()

    def _remove(self) -> None:
        if self._session.is_open:
            with suppress(StorageError):  # others find an outdated row in a minute
                self._session.query_once(_LEAVE, (self._study, self.owner))
            self._session.close()

    def _release_ask_lock(self, run: Callable[[str], object]) -> None:
        """Release the ask lock if that is still due; raise StorageError."""
        if not self._session.is_open:  # in a forked child, the lock may belong to a thread that does not exist
            return
        with self._release_mutex:
            if self._owes_release:
                run(_GIVE_BACK)
                self._owes_release = False

    def _acquire_ask_lock(self) -> bool:
        """Wait a while for the ask lock, and return whether it was acquired."""
        try:
            self._release_ask_lock(self._session.query)  # otherwise it would be held twice and released once
            self._session.query(f"SELECT pg_advisory_lock({self._lock_number})")
        except LockTaken:
            if not self._is_recovering:
                self._session.query(_END_HOLDER, (self._lock_number, self._study))
            return False
        return True

    @property
    def _is_recovering(self) -> bool:
        """True if heartbeats fail or failed recently, so that heartbeats of other writers may be missing too."""
        return self._session.is_back or self._session.silence > GONE_SECONDS / 2

    def _renew(self) -> None:
        self._session.query(_RENEW, (self._study, self.owner, self._process))

    def _beat(self) -> None:
        is_heard = True
        while True:
            with suppress(Empty):
                self._left.get(timeout=RELEASE_SECONDS if self._owes_release else RENEW_SECONDS)
                break
            before, is_heard = is_heard, False
            with suppress(Exception):  # of the server, which may respond to the next one, or of the log
                try:
                    self._renew()
                    self._release_ask_lock(self._session.query_once)
                    is_heard = True
                except Exception as error:
                    if before and self._session.is_open:
                        log.warning(HEARTBEAT_FAILED, error, GONE_SECONDS)
        self._remove()


def list_writers(connection: Connection) -> frozenset[str] | None:
    """Return the active writers of all studies; None on a standby, which receives heartbeats late."""
    ((is_standby,),) = connection.execute(_IS_STANDBY).fetchall()
    return None if is_standby else frozenset(str(row[0]) for row in connection.execute(_WRITERS).fetchall())
