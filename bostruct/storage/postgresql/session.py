"""Database connections that are restored after a loss, with their transactions.

If the COMMIT of a transaction was not answered, the outcome is unknown. The transaction has ended when its lock is
free, and its data then show whether it was committed. Its number would not, because a crashed server may reuse it.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bostruct.execution.interrupts import handle_deferred
from bostruct.storage.postgresql.connecting import (
    BUSY_SECONDS,
    GONE_SECONDS,
    LOST,
    PAUSE_SECONDS,
    RECONNECT_SECONDS,
    SCHEMA,
    Place,
    await_connection,
    close_connection,
    open_connection,
)
from bostruct.storage.postgresql.sql import Connection, SqlConnection
from bostruct.storage.protocol import RolledBack, StorageError, StorageLost
from bostruct.storage.rows import Column, Columns

if TYPE_CHECKING:
    import psycopg

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
REMOVED = ("42P01", "3F000")  # SQLSTATE: the table or schema does not exist
LOCKED = "55P03"  # SQLSTATE: a lock was not available in time
FORBIDDEN = "42501"  # SQLSTATE: the role lacks a privilege
ROLLED_BACK = ("40001", "40P01")  # SQLSTATE: a conflict or a deadlock with other statements, such as a DELETE
OF_READERS = ("SELECT",)
OF_WRITERS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_ROLE = f"""SELECT current_user, has_database_privilege(current_database(), 'CREATE'),
(SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = '{SCHEMA}')"""
_LACKS = f"""SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = '{SCHEMA}' AND relkind IN ('r', 'p') AND NOT has_table_privilege(pg_class.oid, ?)"""
T = TypeVar("T")
log = logging.getLogger(__name__)


class LockTaken(StorageError):
    """Raised if another session has held a lock during the whole waiting time."""


class Writing(NamedTuple):
    """A started transaction.

    row: the row that its lock selected; None if no row was selected.
    """

    connection: SqlConnection
    row: Columns | None


class Session:
    """A connection to a database, for one thread at a time, and only in the process that opened it.

    name: unique name of its connections at the server; None for a new one.
    writes: whether to refuse a standby, which may lag behind.
    purpose: purpose of the connection, for the log.

    Raises StorageError if the server is not available, refuses, or is too old.
    """

    def __init__(
        self, place: Place, name: str | None = None, *, writes: bool = True, purpose: str = "steps", **settings: str
    ) -> None:
        self.place = place
        self._purpose = purpose
        self._settings = settings
        self._writes = writes
        self._name = name or f"bostruct {secrets.token_hex(8)}"  # identifies our earlier connections
        self._process = os.getpid()
        self._mutex = threading.RLock()
        self._returned = -math.inf  # by `time.monotonic`: when the server responded again after a long silence
        self._heard = began = monotonic()
        self._timed_out_at = -math.inf  # when waiting for the server failed
        self._lost = began  # when the connection was found lost
        try:
            self._connection: psycopg.Connection | None = await_connection(place, self._name, settings, writes=writes)
        except place.error as error:
            raise self.explain(error, "cannot be opened") from None
        self._note_return(began)

    @property
    def is_open(self) -> bool:
        """True until it is closed, in the process that opened it."""
        return self._process == os.getpid()

    @property
    def is_back(self) -> bool:
        """True for a while after a long silence, in which the server may have been unavailable to all writers."""
        return monotonic() - self._returned < GONE_SECONDS

    @property
    def silence(self) -> float:
        """The seconds since the server responded."""
        return monotonic() - self._heard

    def query(self, statement: str, parameters: Sequence[Column] = ()) -> list[Columns]:
        """Run one statement, which must be repeatable, and return its rows; raise StorageError.

        parameters: strings, numbers and None.
        """
        return self.repeat(lambda connection: connection.execute(statement, parameters).fetchall(), "used")

    def query_once(self, statement: str, parameters: Sequence[Column] = ()) -> None:
        """Run an unimportant statement without waiting for the server; raise StorageError.

        parameters: strings, numbers and None.
        """
        self._check_process()
        if not self._mutex.acquire(timeout=BUSY_SECONDS):
            raise StorageError(f"{self.place.label}: cannot be reached")
        try:
            if self._connection is not None:
                SqlConnection(self._connection).execute(statement, parameters)
        except self.place.error as error:
            self._roll_back(error)
            raise self.explain(error, "cannot be written") from None
        finally:
            self._mutex.release()

    def read(self, work: Callable[[SqlConnection], T], patience: float | None = None) -> T:
        """Return the result of a function on a consistent snapshot of the database; raise StorageError."""

        def read(connection: SqlConnection) -> T:
            connection.execute(READ)
            found = work(connection)
            connection.execute("COMMIT")
            return found

        return self.repeat(read, "read", patience)

    @contextmanager
    def writing(
        self, lock: str, parameters: Sequence[Column] = (), *, is_made: Callable[[SqlConnection], bool]
    ) -> Iterator[Writing]:
        """Commit all changes of a block at its end, or none; raise StorageError if that fails.

        is_made: returns, under the same lock, whether the changes, which no other writer may make, were committed.

        If the connection is lost, RolledBack is raised if nothing was written.
        """
        self._check_process()
        with self._mutex:
            begin = partial(_begin_writing, lock=lock, parameters=parameters)
            begun = self.repeat(begin, "written")
            try:
                yield begun
                self._commit(begun.connection, lambda again: is_made(begin(again).connection))
            except (self.place.error, UnicodeEncodeError) as error:
                self._roll_back(error)
                raise self._refuse(error) from None
            except BaseException as error:
                self._roll_back(error)
                raise

    def close(self) -> None:
        """Close the connection, or let the thread that uses it close it; idempotent, no effect in a forked child."""
        if self.is_open:
            self._process = 0
            if self._mutex.acquire(timeout=BUSY_SECONDS):
                self._drop()
                self._mutex.release()

    def explain(self, error: BaseException, what: str) -> StorageError:
        """Return an error of the server as a StorageError."""
        state = getattr(error, "sqlstate", None)
        if state in REMOVED and not self._is_hidden():
            return StorageLost(f"{self.place.label}: the tables of bostruct do not exist: {self.place.describe(error)}")
        if isinstance(error, UnicodeEncodeError):
            return StorageError(f"{self.place.label}: {what}: text that UTF-8 cannot encode: {error.reason}")
        if state == LOCKED:
            return LockTaken(f"{self.place.label}: {what}: another process has held the lock for too long")
        return StorageError(f"{self.place.label}: {what}: {self.place.describe(error)}{self._find_lack(state)}")

    def _is_hidden(self) -> bool:
        """Return whether the schema exists but its tables are hidden, because the role lacks USAGE."""
        with suppress(self.place.error):
            if self._connection is not None:
                ((_, _, may_use),) = SqlConnection(self._connection).execute(_ROLE).fetchall()
                return may_use is False
        return False

    def _find_lack(self, state: str | None) -> str:
        """Return the end of a message about missing privileges, if the server refused for that reason."""
        if state in (FORBIDDEN, *REMOVED) and self._connection is not None:
            with suppress(self.place.error):
                return describe_lack(SqlConnection(self._connection), writes=self._writes)
        return ""

    def repeat(
        self, work: Callable[[SqlConnection], T], what: str, patience: float | None = None, *, is_begun: bool = False
    ) -> T:
        """Return the result of a function that has no effect or is idempotent; raise StorageError.

        A server that was recently awaited without success is tried once. Signals are handled between two attempts.

        patience: seconds within which to restore a lost connection; None for RECONNECT_SECONDS.
        is_begun: whether the caller is in a section that signals must not interrupt.
        """
        self._check_process()
        patience = RECONNECT_SECONDS if patience is None else patience
        lost_at: float | None = None
        pause = 0.05
        with self._mutex:
            while True:
                began = monotonic()
                try:
                    found = work(SqlConnection(self._live()))
                    self._note_return(began)
                    return found
                except (self.place.error, UnicodeEncodeError) as error:
                    self._roll_back(error)
                    now = monotonic()
                    if self._connection is not None and getattr(error, "sqlstate", None) not in ROLLED_BACK:
                        self._note_return(began)
                        raise self.explain(error, f"cannot be {what}") from None
                    if lost_at is None:
                        lost_at = now if now - self._timed_out_at > RECONNECT_SECONDS else -math.inf
                    if now + pause > lost_at + patience:
                        self._timed_out_at = now
                        raise self.explain(error, "cannot be reached") from None
                except BaseException as error:
                    self._roll_back(error)
                    raise
                finally:
                    if self._process == 0:
                        self._drop()
                if not is_begun:
                    handle_deferred()
                sleep(pause)
                pause = min(2 * pause, PAUSE_SECONDS)

    def _commit(self, connection: SqlConnection, is_made: Callable[[SqlConnection], bool]) -> None:
        try:
            answer = connection.commit()
        except self.place.error as error:
            self._roll_back(error)
            refusal = self._refuse(error)
            if self._connection is None and self._was_committed(is_made):
                return
            raise refusal from None
        if answer != "COMMIT":  # an inner error that was caught turns it into ROLLBACK
            raise StorageError(f"{self.place.label}: cannot be written: the server rolled the transaction back")

    def _was_committed(self, is_made: Callable[[SqlConnection], bool]) -> bool:
        """Return whether a transaction with an unanswered COMMIT was committed, once its lock is free.

        is_made: returns whether its changes were committed, in a separate transaction under the same lock.
        """

        def read(connection: SqlConnection) -> bool:
            found = is_made(connection)
            connection.execute("COMMIT")
            return found

        try:
            return self.repeat(read, "read", is_begun=True)
        except StorageError as error:
            raise StorageError(
                f"{error}; it is unknown whether the last transaction was committed, open the study again"
            ) from None

    def _refuse(self, error: BaseException) -> StorageError:
        """Return the reason why nothing was written, after a rollback."""
        if self._connection is None or getattr(error, "sqlstate", None) in ROLLED_BACK:
            return RolledBack(f"{self.place.label}: cannot be written: {self.place.describe(error)}")
        return self.explain(error, "cannot be written")

    def _roll_back(self, error: BaseException) -> None:
        """End the current transaction, or drop a lost connection."""
        connection = self._connection
        if connection is None:
            return
        state = getattr(error, "sqlstate", None) or ""
        if not connection.closed and not state.startswith(LOST):
            try:
                if connection.info.transaction_status != 0:
                    connection.execute("ROLLBACK")
            except self.place.error:
                pass
            else:
                return
        self._drop()
        self._lost = monotonic()
        log.warning(
            "%s: the connection for %s was lost: %s", self.place.label, self._purpose, self.place.describe(error)
        )

    def _live(self) -> psycopg.Connection:
        """Return the connection, restored if it was lost; raises an error of psycopg."""
        self._check_process()
        if self._connection is None:
            self._connection = open_connection(self.place, self._name, self._settings, writes=self._writes)
            self._note_return(self._heard)
            away = monotonic() - self._lost
            log.warning(
                "%s: the connection for %s is back, %.1f s after it was found lost",
                self.place.label,
                self._purpose,
                away,
            )
        return self._connection

    def _note_return(self, since: float) -> None:
        """Record that the server responds after a silence."""
        now = monotonic()
        if now - since > GONE_SECONDS / 2:
            self._returned = now
        self._heard = now

    def _drop(self) -> None:
        if self._connection is not None:
            close_connection(self._connection)
            self._connection = None

    def _check_process(self) -> None:
        if self._process == 0:
            raise StorageError(f"{self.place.label}: the study is closed; open it again")
        if self._process != os.getpid():
            raise StorageError(
                f"{self.place.label}: a forked process cannot use its parent's study; call tell in the parent"
            )


def _begin_writing(connection: SqlConnection, lock: str, parameters: Sequence[Column]) -> Writing:
    """Begin a transaction and acquire its lock, at a second attempt if the first one timed out.

    A suspended server counts its suspension as waiting time, in which no session could release the lock.
    """
    try:
        return Writing(connection, connection.begin(WRITE, lock, parameters))
    except Exception as error:
        if getattr(error, "sqlstate", None) != LOCKED:
            raise
        connection.execute("ROLLBACK")
    return Writing(connection, connection.begin(WRITE, lock, parameters))


def describe_lack(connection: Connection, *, writes: bool) -> str:
    """Return the end of a message about missing privileges of the role; "" if there are none.

    writes: whether the role needs to write, or only to read.
    """
    ((role, may_create, may_use),) = connection.execute(_ROLE).fetchall()
    if may_use is None:  # the schema does not exist
        lack = [] if may_create else ["CREATE on the database, which has no tables of bostruct yet"]
        return _list_lack(role, lack, writes)
    needed = OF_WRITERS if writes else OF_READERS
    missing = [right for right in needed if connection.execute(_LACKS, (right,)).fetchone() is not None]
    lack = [] if may_use else [f"USAGE on schema {SCHEMA}"]
    lack += [f"{', '.join(missing)} on tables of schema {SCHEMA}"] if missing else []
    may_read = bool(may_use) and "SELECT" not in missing
    return _list_lack(role, lack, writes) + (
        "; it may read studies with read_only=True" if writes and lack and may_read else ""
    )


def _list_lack(role: object, lack: list[str], writes: bool) -> str:
    purpose = "write studies" if writes else "read studies"
    return f"; role {role} lacks {' and '.join(lack)}, required to {purpose}" if lack else ""
