"""Leases of trials: a trial that is neither told nor renewed in its time is handed out again."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from time import monotonic


class Leases:
    """The trials that clients have, by number, and until when each has its own.

    clock: returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[int, tuple[float | None, float]] = {}  # seconds of each lease, and when it ends

    def __len__(self) -> int:
        """The number of trials that are out."""
        return len(self._held)

    def grant(self, number: int, seconds: float | None) -> None:
        """Note that a client has a trial from now on.

        number: of the trial.
        seconds: how long the client has it; None for as long as the server runs.
        """
        with self._lock:
            self._grant(number, seconds)

    def renew(self, number: int, seconds: float | None) -> float | None:
        """Begin the time of a trial anew, and return its seconds, None for no end.

        number: of the trial.
        seconds: from now; None for as many as before.

        Raises LookupError where the trial is not out.
        """
        with self._lock:
            before, _ = self._held[number]
            seconds = before if seconds is None else seconds
            self._grant(number, seconds)
        return seconds

    def _grant(self, number: int, seconds: float | None) -> None:
        self._held[number] = seconds, self._clock() + (math.inf if seconds is None else seconds)

    def end(self, number: int) -> None:
        """Forget a trial, which was told or given back.

        number: of the trial.
        """
        with self._lock:
            self._held.pop(number, None)

    def find_expired(self) -> list[int]:
        """Return the numbers of the trials whose time is over, ascending."""
        with self._lock:
            now = self._clock()
            return sorted(number for number, (_, end) in self._held.items() if end <= now)
