"""The facts about one run for its report, from a study or from a result."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bostruct.analysis.importances import find_selected, importance
from bostruct.analysis.pictures import MOST_DRAWN, thin_trials
from bostruct.analysis.point_columns import flatten_point, read_columns
from bostruct.analysis.slices import find_best, sort_columns
from bostruct.checks import short_repr
from bostruct.contracts import BostructError
from bostruct.display import in_full
from bostruct.study.history import Trial
from bostruct.study.predictions import LeftOutTrials, Recommendation
from bostruct.study.result import Result
from bostruct.study.study import Study
from bostruct.surrogates.fanova import Importances

LEAST_FOR_IMPORTANCES = 10  # completed trials that a forest needs
LEAST_COMPLETED = 2  # completed trials that a plot of single variables needs
PAUSE = 60.0  # seconds without any running trial, after which a study counts as paused


@dataclass(frozen=True)
class Run:
    """A run to report.

    version: the version of bostruct that created the study; None for a result.
    where: the name of the study's file, or the URL of its database, if any.
    """

    name: str
    result: Result
    version: str | None = None
    where: str | None = None
    n_changes: int = 0
    waiting: frozenset[int] = frozenset()

    @property
    def is_single(self) -> bool:
        """True for one objective."""
        return self.result.goals.n_objectives == 1

    @property
    def has_best(self) -> bool:
        """True if one trial is the best: there is one objective, and a trial that satisfies all constraints."""
        return self.is_single and self.result.has_feasible

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of trials by status."""
        return Counter(map(self.find_status, self.result.trials))

    def find_status(self, trial: Trial) -> str:
        """Return the status of a trial; "waiting" if it runs, but no process evaluates it."""
        return "waiting" if trial.number in self.waiting else trial.status

    @cached_property
    def recommended(self) -> Recommendation | None:
        """The recommended trial; None if `has_best` is false."""
        return self.result.recommended if self.has_best else None

    @cached_property
    def front(self) -> tuple[Trial, ...]:
        """The Pareto front of several objectives; empty for one objective."""
        return () if self.is_single or not self.result.has_feasible else self.result.pareto_front

    @cached_property
    def importances(self) -> list[Importances]:
        """The importances for each objective; empty if there are too few trials, or no named choices."""
        if len(self.result.list_completed()) < LEAST_FOR_IMPORTANCES:
            return []
        try:
            return [importance(self.result, objective=k) for k in range(self.result.goals.n_objectives)]
        except BostructError:  # points without named choices, or a space that the file does not contain
            return []

    @cached_property
    def sorted_variables(self) -> list[list[str]]:
        """The names of the variables that can be drawn on an axis, by objective: the most important first.

        Variables that are inactive at the best point come last. With too few trials, the lists are empty.
        """
        found, selected = list[list[str]](), find_selected(self.result)
        for objective in range(self.result.goals.n_objectives):
            drawn = thin_trials(self.result, self.result.list_completed(), objective, MOST_DRAWN)
            try:
                columns = read_columns(self.result, drawn, None).columns if len(drawn) >= LEAST_COMPLETED else ()
            except BostructError:  # points without named variables
                columns = ()
            shares = self.importances[objective].main if self.importances else {}
            best = find_best(self.result, drawn, objective)
            found.append([column.name for column in sort_columns(columns, shares, selected, best)])
        return found

    @cached_property
    def left_out(self) -> LeftOutTrials | None:
        """The leave-one-out predictions; None for too few trials, and without a Gaussian process."""
        try:
            return self.result.cross_validate(0)
        except BostructError:
            return None

    @cached_property
    def busy(self) -> Busy | None:
        """The use of workers; None if no evaluation has finished."""
        return measure_busy(self.result.trials)


def read_run(given: Study | Result) -> Run:
    """Return the run of a study or a result; raise TypeError for anything else."""
    if isinstance(given, Result):
        return Run("Result", given)
    if not isinstance(given, Study):
        raise TypeError(f"study_or_result: expected a Study or a Result, got {short_repr(given)}")
    where = given.where
    if where is not None and "://" not in where:
        where = os.path.basename(where)
    return Run(given.name, given.result, given.version, where, len(given.space_changes), frozenset(given.waiting))


def write_point(point: object) -> dict[str, str]:
    """Return the full text of the parts of a point by the names of `flatten_point`; of a program, of its choices."""
    named = point if isinstance(point, Mapping) else getattr(point, "trace", None)
    if not isinstance(named, Mapping):
        return {"point": in_full(point)}
    return {name: in_full(part) for name, part in flatten_point(named).items()}


class Busy(NamedTuple):
    """The use of workers.

    share: share of the workers' time that evaluations filled, in [0, 1].
    pauses: number of periods of more than a minute without a running trial.
    """

    workers: int
    share: float
    seconds: float
    pauses: int


def measure_busy(trials: Sequence[Trial]) -> Busy | None:
    """Measure the use of workers by the finished trials, excluding added trials; return None without such trials."""
    spans = [
        (trial.started, trial.finished)
        for trial in trials
        if trial.finished is not None and trial.origin != "added" and trial.finished >= trial.started
    ]
    if not spans:
        return None
    starts, ends = np.sort(np.array(spans).T, axis=1)
    at_a_time = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, side="right")
    gaps = starts[1:] - ends[:-1]  # between the i-th end and the next start; idle only if nothing runs then
    idle = gaps[(at_a_time[1:] == 1) & (gaps > PAUSE)]
    seconds, workers = float(ends[-1] - starts[0] - idle.sum()), int(max(at_a_time.max(), 1))
    filled = float(sum(end - start for start, end in spans))
    share = min(filled / (workers * seconds), 1.0) if seconds > 0.0 else 1.0
    return Busy(workers, share, seconds, len(idle))
