"""A PostgreSQL database for the writers of a study, whose connections, server and network can be struck."""

from __future__ import annotations

import math
import os
import random
import signal
import time
from collections.abc import Mapping
from contextlib import suppress

from benchmarks.chaos.oracle import COLUMNS, Rows, name_stored_values
from bostruct.storage.postgresql.connecting import GONE_SECONDS
from tests.storage.postgresql.proxy import Proxy
from tests.storage.postgresql.server import Server

DATABASE = "chaos"
SESSIONS = f"FROM pg_stat_activity WHERE application_name LIKE 'bostruct %' AND datname = '{DATABASE}'"
LONGEST = 3.0  # seconds of the longest random outage
SLACK = 2.0  # seconds by which a busy machine may be late
LEAVE = 10.0  # seconds for the sessions of a writer that has ended to end

SERVER_ENDS = {
    "restart the server": signal.SIGINT,
    "end the server at once": signal.SIGQUIT,
    "kill the server": signal.SIGKILL,
}


class DatabasePlace:
    """A database on its own server, to which writers connect through a port that can be cut.

    limits: time limits of bostruct that writers replace, by name.
    server: the server, which is removed at the end; None for a new one.
    options: options of CREATE DATABASE.
    """

    may_double = True

    def __init__(self, limits: Mapping[str, float], server: Server | None = None, options: str = "") -> None:
        self.limits = limits
        self.server = server or Server()
        self.server.query(f"CREATE DATABASE {DATABASE} {options}")
        self.network = Proxy(self.server.port)
        self.storage = self.server.tcp_url(DATABASE, self.network.port)
        self._gone_seconds = limits.get("GONE_SECONDS", GONE_SECONDS)
        self._back = -math.inf  # end of the last outage of the server or the network

    @property
    def modes(self) -> dict[str, int]:
        return {
            "end connections": 14,
            "end the decider's connection": 8,
            "end connections again and again": 6,
            "kill a connection's process": 6,
            "restart the server": 3,
            "end the server at once": 3,
            "kill the server": 3,
            "stop the server": 4,
            "cut the network": 4,
            "hold the network": 4,
        }

    def befall(self, mode: str, rng: random.Random) -> None:
        """Strike the connections, the server or the network, and return when all are available again.

        mode: one of `modes`.
        rng: random generator of durations and targets.
        """
        seconds = rng.uniform(0.0, LONGEST)
        if mode == "end connections":
            self._end_sessions(rng.randint(1, 6))
        elif mode == "end the decider's connection":
            self._end_sessions(1, "AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)")
        elif mode == "end connections again and again":
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                self._end_sessions(2)
                time.sleep(0.015)
            self._back = time.monotonic()
        elif mode == "kill a connection's process":
            self._kill_session()
        elif mode in SERVER_ENDS:
            self.restart(SERVER_ENDS[mode], seconds)
        elif mode == "stop the server":
            self.stop_server(seconds)
        else:
            self.hold_network(seconds, then_cut=mode == "cut the network")

    def restart(self, how: signal.Signals, seconds: float) -> None:
        """End the server and start it again.

        how: SIGINT for an orderly shutdown, SIGQUIT for an immediate one, or SIGKILL.
        seconds: pause before the start.
        """
        self.server.stop(how)
        time.sleep(seconds)
        self.server.start()
        self._back = time.monotonic()

    def stop_server(self, seconds: float) -> None:
        """Suspend all processes of the server for a number of seconds."""
        processes = self.server.find_processes()
        _send(processes, signal.SIGSTOP)
        time.sleep(seconds)
        _send(processes, signal.SIGCONT)
        self._back = time.monotonic()

    def hold_network(self, seconds: float, *, then_cut: bool) -> None:
        """Hold all traffic between writers and server for a while.

        seconds: duration.
        then_cut: whether all connections are cut at the end; otherwise they continue.
        """
        self.network.hold()
        time.sleep(seconds)
        if then_cut:
            self.network.cut()
        self.network.go_on()
        self._back = time.monotonic()

    def find_due(self, ended: float) -> float:
        """Return the time from which `ask` finds the trials of an ended writer free.

        ended: when the writer ended.

        For a while after an outage no writer counts as gone, since no writer could renew its lease during the outage.
        """
        return max(ended, self._back + self._gone_seconds) + self._gone_seconds + SLACK

    def read(self) -> Rows:
        """Read all trials by number with plain SQL."""
        if not self.server.query("SELECT 1 FROM pg_tables WHERE schemaname = 'bostruct'", DATABASE):
            return []
        rows = self.server.query(f"SELECT {', '.join(COLUMNS)} FROM bostruct.trials ORDER BY number", DATABASE)
        domains = self.server.query("SELECT domain FROM bostruct.studies", DATABASE)
        return name_stored_values(rows, domains[0][0]) if domains else []

    def find_leftovers(self) -> list[str]:
        """Return the sessions and locks that are left after all writers have ended."""
        deadline = time.monotonic() + LEAVE
        while (left := self._list_leftovers()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def _list_leftovers(self) -> list[str]:
        sessions = self.server.query(f"SELECT application_name, state, query {SESSIONS}", DATABASE)
        locks = self.server.query("SELECT 'lock', objid FROM pg_locks WHERE locktype = 'advisory'", DATABASE)
        return [str(one) for one in (*sessions, *locks)]

    def close(self) -> None:
        self.network.close()
        self.server.remove()

    def _end_sessions(self, count: int, which: str = "") -> None:
        self.server.query(f"SELECT pg_terminate_backend(pid) {SESSIONS} {which} ORDER BY random() LIMIT {count}")

    def _kill_session(self) -> None:
        """Kill the process of a session, which makes the server end all other sessions and recover."""
        found = self.server.query(f"SELECT pid {SESSIONS} ORDER BY random() LIMIT 1")
        _send([pid for (pid,) in found], signal.SIGKILL)
        self.server.await_answer()
        self._back = time.monotonic()


def _send(processes: list[int], number: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)
