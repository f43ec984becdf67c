"""A row of the table: what is tried, in cases with fixed seeds, and the kinds of faults that it looks for."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Verdict:
    """The result of a case.

    faults: descriptions of the faults by kind; empty if the case passed.
    counts: other counts by name.
    """

    faults: dict[str, list[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def blame(self, kind: str, text: object) -> None:
        full = str(text)
        self.faults.setdefault(kind, []).append(full if len(full) <= 2000 else f"{full[:1000]} ... {full[-1000:]}")

    def count(self, kind: str, number: int = 1) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + number


@dataclass(frozen=True)
class Row:
    """One row of the table.

    name: name on the command line.
    what: description of the trial, for the table.
    kinds: kinds of faults, none of which may occur.
    cases: names of all cases, which determine the seeds.
    short: names of the cases of the short form.
    run: runs a case, given its name and an empty folder.
    per_case: how many of the items that the table counts a case has.
    why_not: returns why this machine cannot run the row, or None if it can.
    """

    name: str
    what: str
    kinds: tuple[str, ...]
    cases: Sequence[str]
    short: Sequence[str]
    run: Callable[[str, Path], Verdict]
    per_case: int = 1
    why_not: Callable[[], str | None] = lambda: None


def make_rng(*words: str) -> np.random.Generator:
    """Return the random generator of a case, seeded by words.

    words: for example the names of the row and the case.
    """
    return np.random.default_rng([zlib.crc32(word.encode()) for word in words])


def numbered(count: int) -> tuple[str, ...]:
    """Return the names of `count` cases that differ only in their seeds."""
    return tuple(str(number) for number in range(count))
