"""The table that every script prints, and the command line that all of them have."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bostruct.study.threads import ThreadLimit


class Row(NamedTuple):
    """One line: what was measured, what is required of it ("" for nothing), and whether that is met."""

    what: str
    required: str
    measured: str
    met: bool = True


class CallTimes(NamedTuple):
    """Seconds of one call, and what it returned."""

    cpu: float
    wall: float
    value: Any


def time_call(call: Callable[[], Any]) -> CallTimes:
    cpu, wall = time.process_time(), time.perf_counter()
    value = call()
    return CallTimes(time.process_time() - cpu, time.perf_counter() - wall, value)


def at_least(what: str, required: float, measured: float, unit: str = "x") -> Row:
    return Row(what, f"at least {required:g}{unit}", f"{measured:.3g}{unit}", measured >= required)


def at_most(what: str, required: float, measured: float, unit: str) -> Row:
    """An infinite limit requires nothing; where rounding would hide that a limit is missed, more digits are shown."""
    if required == math.inf:
        return plain_row(what, f"{measured:.3g}{unit}")
    met = measured <= required
    digits = next((n for n in range(3, 9) if (float(f"{measured:.{n}g}") <= required) == met), 9)
    return Row(what, f"at most {required:g}{unit}", f"{measured:.{digits}g}{unit}", met)


def plain_row(what: str, measured: str) -> Row:
    """A line that requires nothing."""
    return Row(what, "", measured)


def median(values: Sequence[float]) -> float:
    return float(np.median(values))


def table(title: str, rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = [f"### {title}", "", "| | required | measured | met |", "|---|---|---|---|"]
    for row in rows:
        met = ("yes" if row.met else "**no**") if row.required else ""
        lines.append(f"| {row.what} | {row.required} | {row.measured} | {met} |")
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
