"""Hostile files: a forger who knows the checksums writes a space, state, values, schema, triggers or views."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bostruct as bo
from benchmarks.chaos.hostile_reading import read_hostile
from benchmarks.chaos.isolation import call_isolated
from benchmarks.chaos.resumes import fidelity_space, objective
from benchmarks.chaos.row import Row, Verdict, numbered
from bostruct.storage.rows import CHANGE_COLUMNS, PROGRESS_COLUMNS, STUDY_COLUMNS, TRIAL_COLUMNS, checksum

FORGERIES_PER_CASE = 20
LIMIT = 30.0  # seconds of wall time on a busy machine; `read_hostile` limits the CPU time
TABLES = {"studies": STUDY_COLUMNS, "progress": PROGRESS_COLUMNS, "trials": TRIAL_COLUMNS}
CANARY = "canary"
CODE = f"__import__('pathlib').Path({CANARY!r}).touch()"
DEEP = "[" * 100_000 + "]" * 100_000
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 7, 10**30, 2**63 - 1, 0.5, -1e308, "", "x", "\u202e", "a\x1b]0;owned\x07\x1b[2J", "-0", "1e999",
    [], {}, [[]], {"": None}, [0] * 10_000, "x" * 1_000_000, CODE, f"c__builtin__\neval\n(V{CODE}\ntR.",
    "../../../etc/passwd", "os.system", "bostruct.cli:main", {"__class__": "os.system", "args": [CODE]},
    {"py/reduce": [{"py/function": "builtins.eval"}, [CODE]]}, "!!python/object/apply:os.system [true]",
    "space", "real",
)  # fmt: skip
TEXTS = (DEEP, "{", "NaN", "[Infinity]", '{"a": 1, "a": 2}', "", "\0", "null", "1e999", "-1", "9" * 5000, '"\\ud800"')
ENDLESS = "WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless) SELECT max(n) FROM endless"
SCHEMAS = (
    "CREATE TRIGGER t AFTER UPDATE ON trials BEGIN UPDATE trials SET value = -1000 WHERE number = new.number; END",
    "CREATE TRIGGER t BEFORE INSERT ON trials BEGIN SELECT RAISE(IGNORE); END",
    "CREATE VIEW v AS SELECT * FROM trials",
    f"ALTER TABLE trials RENAME TO old; CREATE VIEW trials AS {ENDLESS}",
    f"ALTER TABLE studies RENAME TO old; CREATE VIEW studies AS SELECT *, ({ENDLESS}) FROM old",
    "CREATE TABLE other (a)",
    "CREATE INDEX i ON trials (value)",
    "CREATE INDEX i ON trials (abs(value)) WHERE value > 0",
    "ALTER TABLE trials ADD COLUMN more",
    "ALTER TABLE trials ADD COLUMN more GENERATED ALWAYS AS (value * 2) VIRTUAL",
    "DROP TABLE progress",
    "DROP TABLE trials; CREATE TABLE trials (study, number, status, point, value, outcome, reason, info, started, "
    "finished, told, attempts, owner, revision, checksum)",
    "CREATE TEMP TABLE trials (a); PRAGMA user_version = 5",
    "PRAGMA user_version = 1",
    "PRAGMA user_version = 0",
    "PRAGMA user_version = -5",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'TEXT', 'BLOB') WHERE name = 'trials'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE trials (' || hex(zeroblob(9999)) || ')' "
    "WHERE name = 'trials'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 2 WHERE type = 'table'",
    "CREATE VIRTUAL TABLE f USING fts5(a)",
    "PRAGMA journal_mode = WAL; UPDATE trials SET value = 1.0",
    "PRAGMA encoding = 'UTF-16'; VACUUM",
    "PRAGMA page_size = 512; VACUUM",
    "PRAGMA auto_vacuum = 1; VACUUM",
)


@cache
def make_originals() -> tuple[bytes, ...]:
    """Return files of small studies on several kinds of domains."""
    kinds: list[tuple[Any, str]] = [
        (bo.Space({"on": bool, "kind": ["a", "b"], "rate": bo.Real(0.1, 1.0), "level": bo.Ordinal([1, 2, 4])}), "wrs"),
        (bo.Space({"on": bool, "count": bo.Integer(0, 9), "kind": ["a", "b", None]}), "annealing"),
        (fidelity_space(), "hyperband"),
        (bo.mlp_domain(), "evolution"),
        (bo.joint_domain({"network": bo.mlp_domain(), "rest": {"rate": [0.1, 0.01]}}), "regularized-evolution"),
        (bo.Space({f"bit{i}": bool for i in range(6)}), "combo"),
    ]
    return tuple(_make_original(domain, method) for domain, method in kinds)


def _make_original(domain: Any, method: str) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        with bo.Study(domain, method=method, seed=0, storage=file, name="one") as study:
            study.add(domain.present(domain.sample_unseen(frozenset(), _rng())), 0.5)
            study.optimize(lambda point: objective(domain, point), 7, progress=False)
            study.ask()
        return file.read_bytes()


def _rng() -> Any:
    import numpy as np

    return np.random.default_rng(0)


def forge_json(text: str, rng: random.Random) -> str:
    """Return JSON text in which a random part is replaced, removed or repeated."""
    whole = [json.loads(text)]
    places = list(_places(whole))
    holder, key = rng.choice(places)
    action = rng.random()
    if action < 0.7:
        holder[key] = rng.choice(VALUES)
    elif action < 0.85 and holder is not whole:
        del holder[key]
    elif isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[rng.choice(["", "name", "domain", "size", "x"])] = rng.choice(VALUES)
    return json.dumps(whole[0] if whole else None)


def _places(holder: Any) -> Any:
    """Yield each container in a JSON value with each of its keys, depth first."""
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


def forge_column(file: Path, rng: random.Random) -> str:
    """Overwrite a column of a row, fix the checksums, and return a description of the change."""
    table = rng.choice(["studies", "studies", "progress", "trials", "trials", "trials"])
    column = rng.choice(TABLES[table])
    with closing(sqlite3.connect(file)) as connection, connection:
        rowid, text = rng.choice(connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
        is_json = isinstance(text, str) and text[:1] in ("{", "[")
        if is_json and rng.random() < 0.75:
            given: Any = forge_json(text, rng)
        else:
            given = rng.choice((*TEXTS, *(value for value in VALUES if isinstance(value, str | float | None)), b"\xff"))
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (given, rowid))
            seal(connection)
        except (sqlite3.Error, OverflowError, UnicodeEncodeError):  # SQLite rejects the value
            connection.rollback()
            return "nothing"
    return f"{table}.{column} = {str(given)[:300]!r}"


def forge_schema(file: Path, rng: random.Random) -> str:
    """Change the schema by a random script, and return the script, with the error if it failed."""
    script = rng.choice(SCHEMAS)
    with closing(sqlite3.connect(file)) as connection:
        try:
            connection.executescript(script)
            connection.commit()
        except sqlite3.Error as error:
            return f"{script}: {error}"
    return script


def seal(connection: sqlite3.Connection) -> None:
    """Write the counts and checksums that match the contents of a file."""
    _seal(connection, "trials")
    has_changes = connection.execute("PRAGMA table_info(changes)").fetchone() is not None
    if has_changes:
        _seal(connection, "changes", CHANGE_COLUMNS)
    for (study,) in connection.execute("SELECT study FROM progress").fetchall():
        rows = connection.execute("SELECT checksum, told FROM trials WHERE study = ?", (study,)).fetchall()
        query = "SELECT checksum FROM changes WHERE study = ?"
        changes = connection.execute(query, (study,)).fetchall() if has_changes else []
        digest = (sum(row[0] for row in (*rows, *changes)) + 2**63) % 2**64 - 2**63
        count = sum(row[1] is not None for row in rows)
        connection.execute("UPDATE OR IGNORE progress SET digest = ?, told = ? WHERE study = ?", (digest, count, study))
    _seal(connection, "progress")
    _seal(connection, "studies")


def _seal(connection: sqlite3.Connection, table: str, names: tuple[str, ...] = ()) -> None:
    names = names or TABLES[table]
    for rowid, *columns in connection.execute(f"SELECT rowid, {', '.join(names)} FROM {table}").fetchall():
        plain = tuple(None if isinstance(column, bytes) else column for column in columns)
        connection.execute(f"UPDATE {table} SET checksum = ? WHERE rowid = ?", (checksum(plain), rowid))


FORGERS: tuple[Callable[[Path, random.Random], str], ...] = (*[forge_column] * 7, forge_schema)


def run_case(case: str, folder: Path) -> Verdict:
    """Forge files, and read and write each in a separate process."""
    rng, verdict = random.Random(int(case)), Verdict()
    for number in range(FORGERIES_PER_CASE):
        file = folder / str(number) / "runs.db"
        file.parent.mkdir()
        file.write_bytes(rng.choice(make_originals()))
        what = rng.choice(FORGERS)(file, rng)
        judge(what, file, verdict)
    return verdict


def judge(what: str, file: Path, verdict: Verdict) -> None:
    """Read a forged file; anything but a refusal with a message or reading the file's contents is a fault.

    what: description of the forgery, for messages.
    file: in its own folder; a canary file in that folder shows that forged code was run.
    """
    answer = call_isolated(lambda: read_hostile(file), LIMIT)
    if (file.parent / CANARY).exists():
        verdict.blame("code run", what)
    if answer.is_slow or "status -24" in str(answer.trouble):  # SIGXCPU
        verdict.blame("hangs", f"{what}: {answer.trouble}")
    elif answer.trouble is not None:
        verdict.blame("tracebacks", f"{what}: {answer.trouble}")
    else:
        for kind, text in answer.value.faults:
            verdict.blame(kind, f"{what}: {text}")
        verdict.count("refused" if answer.value.refused else "read as what they say")


FORGERIES = Row(
    name="forgeries",
    what="hostile files with right checksums: spaces, states, values, schemas, triggers, views",
    kinds=("code run", "hangs", "tracebacks", "read otherwise", "escape sequences"),
    cases=numbered(50),
    short=("0", "1"),
    run=run_case,
    per_case=FORGERIES_PER_CASE,
)
