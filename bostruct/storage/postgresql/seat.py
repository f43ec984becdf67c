"""Writers of one study side by side on many machines: who is there, and who decides."""

from __future__ import annotations

import logging
import os
import platform
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

from bostruct.storage.locks import check_turn, noting_turn
from bostruct.storage.postgresql.connecting import (
    GONE_SECONDS,
    KEPT_DAYS,
    RENEW_SECONDS,
    TURN_SECONDS,
    Place,
)
from bostruct.storage.postgresql.schema import make_key
from bostruct.storage.postgresql.session import LockTaken, Session
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import StorageError

OWED_SECONDS = 1.0  # after which it is tried again to give back the right to decide
_OWNER = re.compile(r"[0-9]{1,10}-[0-9a-f]{12}")  # a row may name anything as the owner of a trial
# The heartbeats of others are never in the future, unless the clock of the server was set back since.
_RENEW = """WITH mine AS (SELECT ?::bigint AS study, ? AS owner, ? AS process),
ahead AS (
    UPDATE writers SET renewed = clock_timestamp() FROM mine
    WHERE writers.study = mine.study AND writers.owner <> mine.owner AND writers.renewed > clock_timestamp()
) INSERT INTO writers (study, owner, process, renewed) SELECT study, owner, process, clock_timestamp() FROM mine
ON CONFLICT (study, owner) DO UPDATE SET renewed = clock_timestamp()"""
# Nobody could renew anything while the server was down. A start in the future says that its clock was set back since.
_STARTED = "CASE WHEN pg_postmaster_start_time() <= clock_timestamp() THEN pg_postmaster_start_time() END"
_IS_PRESENT = f"GREATEST(renewed, {_STARTED}) > clock_timestamp() - INTERVAL '{GONE_SECONDS} s'"
_PRESENT = f"SELECT owner, process, {_IS_PRESENT} FROM writers WHERE study = ?"
# A process that was stopped keeps its connection, and what that locks.
_END_DECIDER = f"""SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN pg_locks USING (pid)
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

HEARTBEAT_FAILED = "a heartbeat failed: %s. Without one for %.0f s, others are handed the trials of this process"

log = logging.getLogger(__name__)


def list_writers(connection: Connection) -> frozenset[str] | None:
    """Return the writers of all studies that are there; None on a standby, which hears of heartbeats late.

    connection: to the database, which has our tables.
    """
    ((is_standby,),) = connection.execute(_IS_STANDBY).fetchall()
    return None if is_standby else frozenset(str(row[0]) for row in connection.execute(_WRITERS).fetchall())


class Seat:
    """The place of one writer beside the others: a row with its last heartbeat, by the clock of the server.

    A thread renews the row on a connection of its own. Who decides holds an advisory lock on that connection, which the
    server gives back when it finds the connection lost, or when others end it because its writer is gone; another
    writer may decide then.

    place: of the database.
    study: id of the study.

    Raises StorageError.
    """

    def __init__(self, place: Place, study: int) -> None:
        self.owner = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._study = study
        self._process = f"process {os.getpid()} on {platform.node()}"
        self._decider = make_key("deciding", study)
        self._turn = (place.label, study)
        self._is_deciding = False
        self._owes_turn = False  # the right to decide is to be given back, and the server does not know yet
        self._giving = threading.Lock()
        self._session = Session(
            place,
            f"bostruct {self.owner}",
            purpose="heartbeats",
            lock_timeout=f"'{TURN_SECONDS}s'",
            synchronous_commit="off",
        )
        self._left: SimpleQueue[None] = SimpleQueue()  # gets something when the heartbeat is to end
        try:
            self._renew()
            self._session.query(_FORGET, (study,))
        except BaseException:
            self._session.close()
            raise
        self._heart = threading.Thread(target=self._beat, name=f"bostruct {self.owner}", daemon=True)
        self._heart.start()

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Wait until no other writer decides, and decide for as long as a block lasts, or the block that it is in.

        Raises BostructError where this thread decides already, through another object.
        """
        if self._is_deciding:
            yield
            return
        try:
            while not self._take_turn():
                check_turn(self._turn, f"{self._session.place.label}: study {self._study}")  # now: it may lose the lock
                self._renew()
            self._is_deciding = True
            with noting_turn(self._turn):
                yield
        finally:
            self._is_deciding, self._owes_turn = False, True
            with suppress(StorageError):  # it cannot be reached in time; the heartbeat gives the turn back
                self._give_turn_back(self._session.query_once)

    def find_gone(self, session: Session, owners: AbstractSet[str]) -> set[str]:
        """Return those writers that have closed, or have not renewed their rows.

        session: on which nobody waits for anything.
        owners: names of writers.
        """
        present = {row[0]: row[2] for row in session.query(_PRESENT, (self._study,))}
        is_back = self._is_back or session.is_back  # asked last: the heartbeat may have been answered meanwhile
        here = {owner for owner, is_recent in present.items() if is_recent or is_back} | {self.owner}
        return {owner for owner in owners if not _OWNER.fullmatch(owner) or owner not in here}

    def find_other(self, session: Session) -> str | None:
        """Return another writer that is there, for messages; None where there is none.

        session: on which nobody waits for anything.
        """
        rows = session.query(_PRESENT, (self._study,))
        return next((process for owner, process, is_recent in rows if is_recent and owner != self.owner), None)

    def leave(self) -> None:
        """Remove the row, and give all locks back; nothing in a forked child."""
        self._left.put(None)
        if threading.current_thread() is not self._heart:  # which may be using the session, where it collects garbage
            self._remove()

    def _remove(self) -> None:
        if self._session.is_open:
            with suppress(StorageError):  # others find the row old in a minute
                self._session.query_once(_LEAVE, (self._study, self.owner))
            self._session.close()

    def _give_turn_back(self, run: Callable[[str], object]) -> None:
        """Let another writer decide, where this one was to do so and has not yet; raise StorageError.

        run: runs a statement on the session, which holds no other lock of this kind.
        """
        if not self._session.is_open:  # in a forked child the lock may belong to a thread that is not there
            return
        with self._giving:
            if self._owes_turn:
                run(_GIVE_BACK)
                self._owes_turn = False

    def _take_turn(self) -> bool:
        """Wait a while for the right to decide, and tell whether it was given."""
        try:
            self._give_turn_back(self._session.query)  # or the server counts two turns, of which one is given back
            self._session.query(f"SELECT pg_advisory_lock({self._decider})")
        except LockTaken:
            if not self._is_back:
                self._session.query(_END_DECIDER, (self._decider, self._study))
            return False
        return True

    @property
    def _is_back(self) -> bool:
        """Tell whether heartbeats are not answered, or were not a short while ago; those of others may not be, too."""
        return self._session.is_back or self._session.silence > GONE_SECONDS / 2

    def _renew(self) -> None:
        self._session.query(_RENEW, (self._study, self.owner, self._process))

    def _beat(self) -> None:
        is_heard = True
        while not self._is_left(OWED_SECONDS if self._owes_turn else RENEW_SECONDS):
            before, is_heard = is_heard, False
            with suppress(Exception):  # of the server, which may be there again at the next one, or of the log
                try:
                    self._renew()
                    self._give_turn_back(self._session.query_once)
                    is_heard = True
                except Exception as error:
                    if before and self._session.is_open:
                        log.warning(HEARTBEAT_FAILED, error, GONE_SECONDS)
        self._remove()

    def _is_left(self, seconds: float) -> bool:
        try:
            self._left.get(timeout=seconds)
        except Empty:
            return False
        return True
