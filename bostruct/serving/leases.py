"""Leases of trials: a trial that is neither told nor renewed in its time is handed out again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class _Lease:
    started: float
    seconds: float | None
    deadline: float | None


class Leases:
    """The trials that clients have, and until when each has its own.

    clock: returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[int, _Lease] = {}

    def __len__(self) -> int:
        """The number of trials that are out."""
        return len(self._held)

    def grant(self, number: int, started: float, seconds: float | None) -> None:
        """Note that a client has a trial.

        number: of the trial.
        started: when it was handed out, in seconds since the epoch, which tells one holder from another.
        seconds: how long the client has it; None for as long as the server runs.
        """
        with self._lock:
            self._held[number] = _Lease(started, seconds, None if seconds is None else self._clock() + seconds)

    def renew(self, number: int, started: float | None, seconds: float | None) -> float | None:
        """Begin the time of a trial anew, and return its seconds, None for no end.

        number: of the trial.
        started: when the client was handed the trial; None where it does not say.
        seconds: from now; None for as many as before.

        Raises LookupError where the trial is not out, or another client has it by now.
        """
        with self._lock:
            lease = self._held[number]
            if started is not None and started != lease.started:
                raise LookupError(number)
            lease.seconds = lease.seconds if seconds is None else seconds
            lease.deadline = None if lease.seconds is None else self._clock() + lease.seconds
            return lease.seconds

    def end(self, number: int) -> None:
        """Forget a trial, which was told or given back.

        number: of the trial.
        """
        with self._lock:
            self._held.pop(number, None)

    def take_expired(self) -> list[int]:
        """Forget the trials whose time is over, and return their numbers, ascending."""
        with self._lock:
            now = self._clock()
            over = sorted(n for n, one in self._held.items() if one.deadline is not None and one.deadline <= now)
            for number in over:
                del self._held[number]
            return over
