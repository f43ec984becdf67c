"""The table that every script prints, and the command line that all of them have.

Limits in seconds hold for the reference: an AMD EPYC of 2 cores that does nothing else. Other machines differ, and so
does one machine from minute to minute if others share its processor. So a fixed work, the yardstick, is timed between
the calls that are measured. A limit is met if the seconds, divided by how many times as long as on the reference the
yardstick took, are below it. The tables show the seconds as measured, and that factor.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from bostruct.study.threads import ThreadLimit

UNITS_OF_TIME = ("s", "ms", "us", "µs")
REFERENCE_SECONDS = 0.0075  # of the yardstick: the fastest tenth on 2026-11-29, Python 3.11.7, NumPy 2.4.6
SLOWEST = 0.5  # CPU seconds of the slowest suggestion of `auto`, at most
BETWEEN = 0.25  # seconds of wall time after which the yardstick is taken again


class Yardstick:
    """How many times as long as on the reference a fixed work takes now."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._xs = rng.normal(size=120)
        roots = rng.normal(size=(120, 120))
        self._gram = roots @ roots.T + 120.0 * np.eye(120)
        self._taken: list[float] = []
        self._factor, self._ended = math.nan, -math.inf

    def take(self) -> None:
        """Time the work, unless this was done a moment ago."""
        if time.perf_counter() - self._ended < BETWEEN:
            return
        begun = time.process_time()
        self._work()
        self._taken.append(time.process_time() - begun)
        self._ended = time.perf_counter()

    def read(self) -> float:
        """Return the mean factor since the last call, or that of the last call if this was a moment ago."""
        self.take()
        if self._taken:
            self._factor = float(np.mean(self._taken)) / REFERENCE_SECONDS
            self._taken.clear()
        return self._factor

    def _work(self) -> None:
        """Count in a dict, compute exponentials, reduce and sort short arrays, and factor matrices."""
        counts: dict[tuple[int, int], int] = {}
        for i in range(6_000):
            key = (i % 97, i & 7)
            counts[key] = counts.get(key, 0) + len(str(i))
        for _ in range(20):
            np.exp(-np.square(self._xs[:, None] - self._xs))
            for _ in range(40):
                self._xs.sum()
                np.argsort(self._xs[:20])
        for _ in range(12):
            scipy.linalg.cholesky(self._gram, lower=True)


YARDSTICK = Yardstick()


class Row(NamedTuple):
    """One line of a table.

    what: was measured.
    required: of it; "" for nothing.
    factor: of the machine, for seconds; None for anything else.
    met: whether the requirement is.
    """

    what: str
    required: str
    measured: str
    met: bool = True
    factor: float | None = None


class CallTimes(NamedTuple):
    """Seconds of one call, and what it returned."""

    cpu: float
    wall: float
    value: Any


def time_call(call: Callable[[], Any]) -> CallTimes:
    YARDSTICK.take()
    cpu, wall = time.process_time(), time.perf_counter()
    value = call()
    return CallTimes(time.process_time() - cpu, time.perf_counter() - wall, value)


def at_least(what: str, required: float, measured: float, unit: str = "x") -> Row:
    return Row(what, f"at least {required:g}{unit}", f"{measured:.3g}{unit}", measured >= required)


def at_most(what: str, required: float, measured: float, unit: str, factor: float | None = None) -> Row:
    """Return the row of an upper limit, an infinite one for none.

    If rounding would hide that the limit is missed, more digits are shown. Seconds are compared after division by the
    factor of the machine: the given one, or else the mean since the last row.
    """
    if factor is None and unit.strip() in UNITS_OF_TIME:
        factor = YARDSTICK.read()
    if required == math.inf:
        return Row(what, "", f"{measured:.3g}{unit}", factor=factor)
    judged = measured / (factor or 1.0)
    met = judged <= required
    digits = next((n for n in range(3, 9) if (float(f"{judged:.{n}g}") <= required) == met), 9)
    return Row(what, f"at most {required:g}{unit}", f"{measured:.{digits}g}{unit}", met, factor)


def suggestion_rows(of: str, n: int, seconds: Sequence[float], limit: float, slowest: float = math.inf) -> list[Row]:
    """Return the rows of the median and the slowest of some suggestions.

    of: what is searched, before a colon and a space; "" for nothing.
    n: points that are known.
    seconds: of CPU, of each suggestion.
    limit, slowest: CPU seconds of the median and of the slowest, at most.
    """
    row = at_most(f"{of}median suggestion, CPU, n = {n}", limit, median(seconds), " s")
    return [row, at_most(f"{of}slowest suggestion, n = {n}", slowest, max(seconds), " s", row.factor)]


def plain_row(what: str, measured: str) -> Row:
    """A line that requires nothing."""
    return Row(what, "", measured)


def median(values: Sequence[float]) -> float:
    return float(np.median(values))


def table(title: str, rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = [f"### {title}", "", "| | required | measured | machine | met |", "|---|---|---|---|---|"]
    for row in rows:
        met = ("yes" if row.met else "**no**") if row.required else ""
        machine = "" if row.factor is None else f"{row.factor:.2f}x"
        lines.append(f"| {row.what} | {row.required} | {row.measured} | {machine} | {met} |")
    return "\n".join([*lines, ""])


def main(title: str, measure: Callable[[bool], list[Row]]) -> None:
    """Measure with one thread and print the table; with --check, exit code 1 where a requirement is missed.

    --miniature runs all of the script in seconds, at sizes that say nothing of speed.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--check", action="store_true", help="exit code 1 if a requirement is missed")
    parser.add_argument("--miniature", action="store_true", help="tiny sizes, to see that the script runs")
    given = parser.parse_args()
    with ThreadLimit(1)():
        rows = measure(given.miniature)
    print(table(title, rows))
    sys.exit(1 if given.check and not all(row.met for row in rows) else 0)
