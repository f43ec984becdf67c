"""The table that every script prints, and the command line of all scripts.

Limits in seconds hold for the reference: an AMD EPYC of 2 cores that does nothing else. Other machines differ, and so
does one machine from minute to minute if others share its processor. So a fixed computation, the yardstick, is timed
between the measured calls. The factor of the machine is the yardstick's time divided by its time on the reference. A
limit is met if the seconds divided by the factor are below it. The tables show the measured seconds and the factor.
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
SLOWEST = 0.5  # limit of the CPU seconds of the slowest suggestion of `auto`
BETWEEN = 0.25  # seconds of wall time after which the yardstick is timed again


class Yardstick:
    """The time of a fixed computation now, divided by its time on the reference."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._xs = rng.normal(size=120)
        roots = rng.normal(size=(120, 120))
        self._gram = roots @ roots.T + 120.0 * np.eye(120)
        self._taken: list[float] = []
        self._factor, self._ended = math.nan, -math.inf

    def take(self) -> None:
        """Time the computation, unless it was timed less than `BETWEEN` seconds ago."""
        if time.perf_counter() - self._ended < BETWEEN:
            return
        start = time.process_time()
        self._work()
        self._taken.append(time.process_time() - start)
        self._ended = time.perf_counter()

    def read(self) -> float:
        """Return the mean factor since the last call, or the factor of the last call if nothing was timed since."""
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

    what: the measured quantity.
    required: its limit; "" for none.
    factor: of the machine, for seconds; None for other units.
    met: whether the requirement is met.
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
    """Return the row of an upper limit, which is infinite if there is no limit.

    If rounding would hide that the limit is missed, more digits are shown. Seconds are compared after division by the
    factor of the machine: the given factor, otherwise the mean since the last row.
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

    of: the problem, before a colon and a space; "" for none.
    n: number of observed points.
    seconds: CPU seconds of each suggestion.
    limit, slowest: limits of the CPU seconds of the median and of the slowest suggestion.
    """
    row = at_most(f"{of}median suggestion, CPU, n = {n}", limit, median(seconds), " s")
    return [row, at_most(f"{of}slowest suggestion, n = {n}", slowest, max(seconds), " s", row.factor)]


def plain_row(what: str, measured: str) -> Row:
    """Return a row without a requirement."""
    return Row(what, "", measured)


def median(values: Sequence[float]) -> float:
    return float(np.median(values))


def table(title: str, rows: Sequence[Row]) -> str:
    """Return the table in Markdown."""
    lines = [f"### {title}", "", "| | required | measured | machine | met |", "|---|---|---|---|---|"]
    for row in rows:
        met = ("yes" if row.met else "**no**") if row.required else ""
        machine = "" if row.factor is None else f"{row.factor:.2f}x"
        lines.append(f"| {row.what} | {row.required} | {row.measured} | {machine} | {met} |")
    return "\n".join([*lines, ""])


def main(title: str, measure: Callable[[bool], list[Row]]) -> None:
    """Measure with one thread and print the table; with --check, exit with 1 if a requirement is missed.

    --miniature runs the whole script in seconds, at sizes that do not measure speed.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--check", action="store_true", help="exit code 1 if a requirement is missed")
    parser.add_argument("--miniature", action="store_true", help="tiny sizes, to test the script")
    given = parser.parse_args()
    with ThreadLimit(1)():
        rows = measure(given.miniature)
    print(table(title, rows))
    sys.exit(1 if given.check and not all(row.met for row in rows) else 0)
