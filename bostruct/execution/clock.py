"""The time of day, and the validation of times from elsewhere.

An objective may replace the functions of the module `time`. All other modules of the package therefore import the
functions themselves, and do not read a clock through the module.
"""

from __future__ import annotations

import logging
import math
import time
from time import time as read_clock

LATEST = 4_102_444_800.0  # seconds since the epoch: 1 January 2100
RECENT = 1_000_000_000.0  # September 2001; between it and `LATEST`, units are unambiguous
UNITS = {"milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
CLOCKS = {
    name: getattr(time, name)
    for name in ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns")
}

IMPOSSIBLE = "shows %.40r s since 1970, which is impossible; a possible time is stored instead"
OUTSIDE = "shows %.40r s since 1970, which lies outside of its trial; the time of day is stored instead"

log = logging.getLogger(__name__)
_wrong: set[str] = set()  # clocks for which a warning was logged


def now() -> float:
    """Return the time of day in seconds since the epoch, clipped to 0 to `LATEST`."""
    given = read_clock()
    if (moment := as_time(given)) != given:
        _warn("the clock of this machine", IMPOSSIBLE % (given,))
    return moment


def as_time(given: object) -> float:
    """Return the nearest valid time, in seconds since the epoch; 0.0 for an object that is not a number.

    given: seconds since the epoch. Milliseconds, microseconds and nanoseconds are converted to seconds.
    """
    if type(given) is float and RECENT <= given <= LATEST:  # the common case
        return given
    if not isinstance(given, int | float) or given != given:
        return 0.0
    for unit in (1.0, *UNITS.values()):
        if RECENT * unit <= given <= LATEST * unit:
            return given / unit
    return float(min(max(given, 0.0), LATEST)) + 0.0  # no negative zero


def clamp_end(given: object, began: float) -> float:
    """Return the end of an evaluation, not before its start: the worker's time if it is valid, otherwise now.

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
    """Return the unit, such as milliseconds, in which a number is a time in an interval; None if there is none.

    given: a number that is not in the interval in seconds.
    earliest, latest: seconds since the epoch.
    """
    return next((name for name, unit in UNITS.items() if earliest * unit <= given <= latest * unit), None)


def restore_clocks() -> None:
    """Restore functions of the module `time` that an objective replaced by functions that do not return numbers.

    Python's own modules, such as `logging`, fail with such functions. A replacement that returns numbers is kept.
    """
    for name, clock in CLOCKS.items():
        if (replacement := getattr(time, name, None)) is not clock and not _returns_number(replacement):
            setattr(time, name, clock)
            _warn(f"time.{name}", "was replaced by the objective and returned no number; it is restored")


def _returns_number(clock: object) -> bool:
    try:
        return math.isfinite(clock())  # type: ignore[operator]  # an objective may leave any object there
    except Exception:  # any exception, because this is the objective's code
        return False


def _warn(clock: str, what: str) -> None:
    """Log an invalid clock, once per clock."""
    if clock not in _wrong:
        _wrong.add(clock)
        log.warning("%s %s", clock, what)
