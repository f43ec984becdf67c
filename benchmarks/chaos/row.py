"""A row of the table: what is tried, in cases with fixed seeds, and the kinds of faults that it looks for."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Verdict:
    """What came of a case.

    faults: descriptions of what must not be, by kind; empty where the case passed.
    counts: other things that were counted.
    """

    faults: dict[str, list[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def blame(self, kind: str, text: object) -> None:
        said = str(text)
        self.faults.setdefault(kind, []).append(said if len(said) <= 2000 else f"{said[:1000]} ... {said[-1000:]}")

    def count(self, kind: str, number: int = 1) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + number


@dataclass(frozen=True)
class Row:
    """One row of the table.

    name: on the command line.
    what: is tried, for the table.
    kinds: of faults, each of which must not occur.
    cases: names of all cases, of which the seeds follow.
    short: names of those that the short form takes.
    run: takes the name of a case and an empty folder.
    per_case: how many of the things that the table counts a case has.
    why_not: says why this machine cannot take the row, None where it can.
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
    """Return the generator of a case, which is always the same.

    words: such as the names of the row and of the case.
    """
    return np.random.default_rng([zlib.crc32(word.encode()) for word in words])


def numbered(count: int) -> tuple[str, ...]:
    """Return the names of so many cases that differ in their seeds alone."""
    return tuple(str(number) for number in range(count))
