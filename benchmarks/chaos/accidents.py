"""Accidents to a file: cuts, changed bits, bytes, blocks and pages, removed rows, damaged journals."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import bostruct as bo
from benchmarks.chaos.isolation import call_isolated
from benchmarks.chaos.row import Row, Verdict, numbered
from benchmarks.chaos.specimens import (
    NAMES,
    Moment,
    Specimen,
    catch_moments,
    make_specimen,
    objective,
    read_studies,
    wide_space,
    write_specimen,
)
from bostruct.contracts import BostructError
from bostruct.storage.protocol import StoredStudy
from bostruct.study.point_forms import read_point_text

ACCIDENTS_PER_CASE = 20
PAGE = 4096
LIMIT = 20.0  # seconds of wall time on a busy machine
COLUMNS = ("number", "status", "point", "value", "reason", "info", "started", "finished", "told", "attempts")


def cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def flip_bit(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def change_byte(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]


def change_block(content: bytes, rng: random.Random) -> bytes:
    length = rng.randrange(2, min(2 * PAGE, len(content)))
    at = rng.randrange(len(content) - length + 1)
    block = bytes(length) if rng.random() < 0.5 else rng.randbytes(length)
    return content[:at] + block + content[at + length :]


def misplace_page(content: bytes, rng: random.Random) -> bytes:
    """Write a page in the place of another page, as a disk may."""
    pages = len(content) // PAGE
    source, target = (PAGE * rng.randrange(pages) for _ in range(2))
    return content[:target] + content[source : source + PAGE] + content[target + PAGE :]


def append_junk(content: bytes, rng: random.Random) -> bytes:
    return content + rng.randbytes(rng.randrange(1, 3 * PAGE))


BYTE_ACCIDENTS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": cut,
    "bit": flip_bit,
    "byte": change_byte,
    "block": change_block,
    "page": misplace_page,
    "junk at the end": append_junk,
}


def delete_rows(file: Path, rng: random.Random) -> None:
    _run(file, "DELETE FROM trials WHERE rowid IN (SELECT rowid FROM trials ORDER BY rowid LIMIT 1 OFFSET ?)", rng)


def delete_the_last_rows(file: Path, rng: random.Random) -> None:
    _run(file, "DELETE FROM trials WHERE number > ?", rng)


def renumber_rows(file: Path, rng: random.Random) -> None:
    _run(file, "UPDATE trials SET number = number + 100 WHERE number > ?", rng)


def forget_progress(file: Path, rng: random.Random) -> None:
    _run(file, "UPDATE progress SET told = told - 1, state = state || ' ' WHERE ? IS NOT NULL", rng)


def swap_columns(file: Path, rng: random.Random) -> None:
    """Copy a column of a trial from the next trial."""
    column = rng.choice(COLUMNS[1:])
    other = f"(SELECT {column} FROM trials AS b WHERE b.study = trials.study AND b.number = trials.number + 1)"
    _run(file, f"UPDATE trials SET {column} = COALESCE({other}, {column}) WHERE number = ?", rng)


def _run(file: Path, statement: str, rng: random.Random) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement, (rng.randrange(26),))


ROW_ACCIDENTS: dict[str, Callable[[Path, random.Random], None]] = {
    "row deleted": delete_rows,
    "last rows deleted": delete_the_last_rows,
    "rows renumbered": renumber_rows,
    "progress changed": forget_progress,
    "column of another row": swap_columns,
}
JOURNAL_ACCIDENTS: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "journal sound": lambda journal, _: journal,
    "journal removed": lambda *_: None,
    "journal emptied": lambda *_: b"",
    "journal cut": cut,
    "journal bit": flip_bit,
    "journal block": change_block,
    "journal page": misplace_page,
}
KINDS = (*BYTE_ACCIDENTS, *BYTE_ACCIDENTS, *ROW_ACCIDENTS, *JOURNAL_ACCIDENTS)


def run_case(case: str, folder: Path) -> Verdict:
    """Damage copies of a closed file, and of a file in the middle of a commit."""
    rng, verdict = random.Random(int(case)), Verdict()
    kinds = [KINDS[(int(case) * ACCIDENTS_PER_CASE + number) % len(KINDS)] for number in range(ACCIDENTS_PER_CASE)]
    (folder / "writer").mkdir()
    moments = catch_moments(folder / "writer", sum(kind in JOURNAL_ACCIDENTS for kind in kinds), rng)
    for kind in kinds:
        file = folder / "runs.db"
        if kind in JOURNAL_ACCIDENTS:
            if not moments:
                verdict.blame("broken case", "no moment was caught in the middle of a commit")
                continue
            strike_journal(kind, moments.pop(), file, rng, verdict)
        else:
            strike_file(kind, file, rng, verdict)
    return verdict


def strike_file(kind: str, file: Path, rng: random.Random, verdict: Verdict) -> None:
    """Damage a closed file, and check what is read from it before and after it is opened for writing."""
    specimen = make_specimen()
    write_specimen(specimen, file)
    if kind in ROW_ACCIDENTS:
        ROW_ACCIDENTS[kind](file, rng)
    else:
        file.write_bytes(BYTE_ACCIDENTS[kind](specimen.file, rng))
    judge(kind, file, lambda name, found: found == specimen.studies.get(name), verdict)


def strike_journal(kind: str, moment: Moment, file: Path, rng: random.Random, verdict: Verdict) -> None:
    """Damage the journal of an interrupted commit, and check what is read."""
    content, journal, studies = moment.specimen
    assert journal is not None
    write_specimen(Specimen(content, JOURNAL_ACCIDENTS[kind](journal, rng), {}), file)
    before = studies[NAMES[0]]
    if sum(row.told is not None for row in before.trials) < moment.told:
        verdict.blame("lost", f"{kind}: {moment.told} trials finished before the cut, {len(before.trials)} are left")
    judge(kind, file, lambda _, found: is_next_step(before, found), verdict, is_sound=kind == "journal sound")


def is_next_step(before: StoredStudy, found: StoredStudy) -> bool:
    """Return whether a study equals its state before a commit or after it: one more trial, or one more finished."""
    if found == before:
        return True
    changed = [row for row in found.trials if row not in before.trials]
    kept = [row for row in before.trials if row not in found.trials]
    if len(changed) != 1 or len(kept) > 1 or len(found.trials) < len(before.trials):
        return False
    (row,) = changed
    if kept and (kept[0].number, kept[0].point, kept[0].status) != (row.number, row.point, "running"):
        return False
    space = wide_space()
    point = space.decode(read_point_text(row.point, tuple(space.variables)))
    return row.outcome is None or row.outcome.value == objective(space.present(point))


def judge(
    kind: str,
    file: Path,
    is_right: Callable[[str, StoredStudy], bool],
    verdict: Verdict,
    is_sound: bool = False,
) -> None:
    """Read and write a file in a separate process; anything but right contents or a refusal is a fault.

    kind: kind of the accident, for messages.
    file: the damaged file.
    is_right: whether a study, given its name, has the right contents.
    is_sound: whether the file must be readable.
    """
    answer = call_isolated(lambda: _open_file(file, is_right), LIMIT)
    if answer.is_slow:
        verdict.blame("hangs", f"{kind}: {answer.trouble}")
    elif answer.trouble is not None:
        verdict.blame("tracebacks", f"{kind}: {answer.trouble}")
    else:
        wrong = [result for result in answer.value if result.startswith("wrong")]
        for result in wrong:
            verdict.blame("wrong silently", f"{kind}: {result}")
        if not wrong:
            verdict.count("refused" if "refused" in answer.value else "right")
        if is_sound and "refused" in answer.value:
            verdict.blame("refused without need", kind)


def _open_file(file: Path, is_right: Callable[[str, StoredStudy], bool]) -> list[str]:
    """Return "right", "refused" or "wrong: ..." for reading all studies, and for writing each study."""
    results = []
    for name in ("", *NAMES):
        try:
            results.append(_resume(file, name, is_right) if name else _read(file, is_right))
        except BostructError:
            results.append("refused")
    return results


def _read(file: Path, is_right: Callable[[str, StoredStudy], bool]) -> str:
    found = read_studies(file)
    wrong = [name for name, stored in found.items() if not is_right(name, stored)]
    for name in found:
        bo.Study.load(file, name, read_only=True).close()
    return f"wrong: read {wrong} of {list(found)}" if wrong or not found else "right"


def _resume(file: Path, name: str, is_right: Callable[[str, StoredStudy], bool]) -> str:
    """Open a study for writing, take a step, and read it again."""
    if name not in read_studies(file):
        return "absent"
    with bo.Study.load(file, name) as study:
        before = [trial for trial in study.trials if trial.status != "running"]
        if not is_right(name, read_studies(file)[name]):
            return f"wrong: study {name!r} opened for writing"
        trial = study.ask()
        study.tell(trial, 7.0)
    with bo.Study.load(file, name, read_only=True) as study:
        after = {trial.number: trial for trial in study.trials}
        kept = all(after.get(one.number) == one for one in before) and after[trial.number].value == 7.0
    return "right" if kept else f"wrong: study {name!r} after a step"


ACCIDENTS = Row(
    name="accidents",
    what="accidents to a file: cut, bits, bytes, blocks, pages, rows, a journal that a cut commit left",
    kinds=("wrong silently", "lost", "tracebacks", "hangs", "refused without need"),
    cases=numbered(100),
    short=("0", "1", "2", "3"),
    run=run_case,
    per_case=ACCIDENTS_PER_CASE,
)
