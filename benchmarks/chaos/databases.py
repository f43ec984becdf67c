"""Four writers of one study in a PostgreSQL database; the writers, connections, server and network are struck."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from benchmarks.chaos.database_place import DatabasePlace
from benchmarks.chaos.row import Row, Verdict, numbered
from benchmarks.chaos.writers import KINDS, STRIKES_PER_CASE, besiege
from tests.storage.postgresql.server import why_not

# Leases must end while a case runs, and a busy machine may start the server slowly; other limits are the defaults.
SHORT_LIMITS = {"RENEW_SECONDS": 0.5, "GONE_SECONDS": 3.0, "TURN_SECONDS": 0.3, "OPEN_SECONDS": 60.0}


def why_no_database() -> str | None:
    """Return why this machine has no server for the row, or None if it has one."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed: it comes with the extra postgresql"
    return why_not()


def run_case(case: str, folder: Path) -> Verdict:
    """Strike four writers of one study, their connections, the server or the network, ten times."""
    place = DatabasePlace(SHORT_LIMITS)
    try:
        return besiege(place, folder, int(case), STRIKES_PER_CASE)
    finally:
        place.close()


DATABASES = Row(
    name="databases",
    what="the same four writers on PostgreSQL; also connections ended, the server restarted, killed, stopped, and the "
    "network cut",
    kinds=KINDS,
    cases=numbered(200),
    short=("9",),
    run=run_case,
    per_case=STRIKES_PER_CASE,
    why_not=why_no_database,
)
