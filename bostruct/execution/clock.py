"""The time of day, and times that others give, which may be anything.

An objective may replace the functions of the module `time`. So every other module of the package imports the functions
themselves, and none reads a clock through the module.
"""

from __future__ import annotations

import logging
import math
import time
from time import time as read_clock

LATEST = 4_102_444_800.0  # seconds since the epoch: 1 January 2100
RECENT = 1_000_000_000.0  # September 2001; from then on to `LATEST`, no two units are confused
UNITS = {"milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
CLOCKS = {
    name: getattr(time, name)
    for name in ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns")
}

IMPOSSIBLE = "says %.40r s since 1970, which is impossible; a possible time is stored instead"
OUTSIDE = "says %.40r s since 1970, which lies outside of its trial; the time of day is stored instead"

log = logging.getLogger(__name__)
_wrong: set[str] = set()  # clocks that a warning was logged for


def now() -> float:
    """Return the time of day, in seconds since the epoch, from 0 to `LATEST` whatever the system's clock says."""
    given = read_clock()
    if (moment := as_time(given)) != given:
        _warn("the clock of this machine", IMPOSSIBLE % (given,))
    return moment


def as_time(given: object) -> float:
    """Return the nearest possible time, in seconds since the epoch; 0.0 for what is not a number.

    given: seconds since the epoch. Milliseconds, microseconds and nanoseconds become seconds.
    """
    if type(given) is float and RECENT <= given <= LATEST:  # almost always
        return given
    if not isinstance(given, int | float) or given != given:
        return 0.0
    for unit in (1.0, *UNITS.values()):
        if RECENT * unit <= given <= LATEST * unit:
            return given / unit
    return float(min(max(given, 0.0), LATEST)) + 0.0  # no negative zero


def clamp_end(given: object, began: float) -> float:
    """Return when an evaluation ended, not before it began: as its worker says if that is possible, else now.

    given: seconds since the epoch by the worker's clock; None for now.
    """
    latest = max(now(), began)
    if given is None:
        return latest
    if began <= (moment := as_time(given)) <= latest:
        return moment
    _warn("the clock of a worker", OUTSIDE % (given,))
    return latest


def name_unit(given: float, earliest: float, latest: float) -> str | None:
    """Return the unit, such as milliseconds, in which a number is a time between two others; None for no unit.

    given: a number that is not such a time in seconds.
    earliest, latest: seconds since the epoch.
    """
    return next((name for name, unit in UNITS.items() if earliest * unit <= given <= latest * unit), None)


def restore_clocks() -> None:
    """Put back the functions of the module `time` that an objective replaced by others that return no number.

    Python's own modules, such as `logging`, fail with these. A replacement that returns numbers stays.
    """
    for name, clock in CLOCKS.items():
        if (replacement := getattr(time, name, None)) is not clock and not _returns_number(replacement):
            setattr(time, name, clock)
            _warn(f"time.{name}", "was replaced by the objective and returned no number; it is put back")


def _returns_number(clock: object) -> bool:
    try:
        return math.isfinite(clock())  # type: ignore[operator]  # whatever an objective left there
    except Exception:  # of any kind: this is the objective's own code
        return False


def _warn(clock: str, what: str) -> None:
    """Log once for each clock what is wrong with it."""
    if clock not in _wrong:
        _wrong.add(clock)
        log.warning("%s %s", clock, what)
