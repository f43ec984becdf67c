"""The pace of a run: how long a suggestion takes beside an evaluation, and so whether workers wait for points."""

from __future__ import annotations

from collections import deque
from statistics import fmean

from bostruct.study.history import Trial

RECENT = 16  # suggestions, and evaluations, that the pace is the mean of
LOST_SHARE = 0.02  # of an evaluation: a suggestion that takes more is worth to be made before a worker waits for it
BUSY_SHARE = 0.5  # of the time, from which on suggestions queue: one search then serves several points
MOST_AHEAD = 8  # points that wait, each of which knows less than one that is chosen when it is needed
WORKERS_FOR_EACH = 4  # that is ahead: the points that are evaluated are not known either


class Pace:
    """The mean seconds of the last suggestions and of the last evaluations of a run.

    slots: evaluations at once, at least 1.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._suggestions: deque[float] = deque(maxlen=RECENT)
        self._evaluations: deque[float] = deque(maxlen=RECENT)

    def note_suggestion(self, trial: Trial) -> None:
        """Take in how long a point took to be chosen, unless the search for another one served it.

        trial: that was handed out.
        """
        if "joint" not in trial.info and (seconds := trial.info.get("suggest_seconds")) is not None:
            self._suggestions.append(float(seconds))

    def note_evaluation(self, seconds: float) -> None:
        """Take in an evaluation.

        seconds: from when its trial was handed out.
        """
        self._evaluations.append(max(seconds, 0.0))

    @property
    def is_behind(self) -> bool:
        """Tell whether suggestions one by one would leave workers waiting for each other's points."""
        return self._takes_more_than(BUSY_SHARE / self._slots)

    @property
    def n_ahead(self) -> int:
        """The number of points to have ready before a worker needs them; 0 where a suggestion takes next to no time."""
        if not self._takes_more_than(min(LOST_SHARE, BUSY_SHARE / self._slots)):
            return 0
        return min(self._slots // WORKERS_FOR_EACH, MOST_AHEAD)

    def _takes_more_than(self, share: float) -> bool:
        """Tell whether a suggestion takes more than a share of an evaluation; False while neither is known."""
        if not self._suggestions or not self._evaluations:
            return False
        return fmean(self._suggestions) > share * fmean(self._evaluations)
