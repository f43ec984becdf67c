"""Count the failures of a run: which end it, since the objective or the machine is at fault, and which only warn."""

from __future__ import annotations

import warnings
from collections import Counter
from contextlib import suppress
from typing import Any, NoReturn

from bostruct.checks import count_own_frames
from bostruct.contracts import BostructError, Transient
from bostruct.display import pluralize
from bostruct.execution.evaluation import Evaluation
from bostruct.goals.declared import LimitError
from bostruct.study.history import Trial
from bostruct.study.run_settings import RunSettings

# from the first trial: of the objective, not a property of points
MISTAKES = (TypeError, AttributeError, NameError, LimitError)
MAX_EQUAL_ERRORS = 5  # first trials with one and the same error: a mistake in the objective, not a property of points
MIN_INITIAL_FAILURES = 10  # of any kind, before a run ends in which nothing has completed
MAX_MACHINE_FAILURES = 5  # in a row, after which a run ends
MANY_FAILURES = 20  # of one kind in a row, after which a warning is given
GO_ON = "to let a run go on all the same, pass max_initial_failures=None (--max-initial-failures none)"


class ObjectiveError(BostructError):
    """The objective fails for a mistake in it, not for a property of points; the message holds its traceback."""


class FailureWatch:
    """The failures of one run, which end it if the objective or the machine is at fault.

    study: a `Study`, which is optimized.
    settings: of the run.
    """

    def __init__(self, study: Any, settings: RunSettings) -> None:
        self._study = study
        self._settings = settings
        self._limit = settings.max_initial_failures
        if self._limit == "auto":
            self._limit = max(MIN_INITIAL_FAILURES, 2 * settings.workers, study.n_initial)
        self._equal_errors: list[tuple[str, int]] = []
        self._kinds: Counter[str] = Counter()  # of the failures so far, for as long as nothing has completed
        self._row = ("", 0)  # the kind of the last failures, and their number
        self._n_machine = 0  # failures of the machine in a row
        self._has_warned = False
        self._any_completed = any(trial.status == "completed" for trial in study.trials)  # also an added one

    def find_mistakes(self, finished: list[tuple[int, Evaluation]]) -> dict[int, Evaluation]:
        """Return the trials whose errors no point explains, as long as nothing has completed.

        finished: evaluations, by the number of their trial.
        """
        found = {number: evaluation for number, evaluation in finished if isinstance(evaluation.error, MISTAKES)}
        if not found or any(evaluation.outcome.values for _, evaluation in finished) or _has_completed_own(self._study):
            return {}
        return {number: one for number, one in found.items() if not isinstance(one.error, self._settings.reraise)}

    def note(self, trial: Trial, evaluation: Evaluation) -> None:
        """Count an evaluation, and raise an error if it is one too many of its kind.

        trial: that was told of it, and runs again if it was given back.
        evaluation: of the trial.

        Raises ObjectiveError, and BostructError for failures of the machine.
        """
        if evaluation.machine is not None and (trial.status == "running" or trial.is_no_data):
            self._note_machine(evaluation)
            return
        self._n_machine = 0
        if trial.status == "running":
            return
        self._check_equal_errors(trial, evaluation)
        if trial.status == "completed":
            self._any_completed, self._row = True, ("", 0)
        elif trial.status == "failed" and not (evaluation.is_declared or isinstance(evaluation.error, Transient)):
            self._note_failure(evaluation)

    def _note_machine(self, evaluation: Evaluation) -> None:
        self._n_machine += 1
        if self._n_machine >= MAX_MACHINE_FAILURES:
            raise BostructError(
                f"{self._n_machine} evaluations in a row failed because of the machine, the last one because of "
                f"{evaluation.machine}. Each trial is given back once, and no model learns from these failures: mend "
                f"the machine, and make the same call again, in a new process if workers=1.\n"
                f"{evaluation.trace or evaluation.outcome.failed}"
            ) from evaluation.error

    def _note_failure(self, evaluation: Evaluation) -> None:
        kind = _name_kind(evaluation)
        self._row = (kind, self._row[1] + 1 if kind == self._row[0] else 1)
        if not self._any_completed and self._limit is not None:
            self._kinds[kind] += 1
            self._check_limit(int(self._limit), evaluation)
        is_on_its_way = self._any_completed or self._limit is None
        if is_on_its_way and self._row[1] >= MANY_FAILURES and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"study {self._study.name!r}: the last {self._row[1]} trials failed alike, the last one with: "
                f"{evaluation.outcome.failed}",
                stacklevel=count_own_frames(),
            )

    def _check_limit(self, limit: int, evaluation: Evaluation) -> None:
        """Raise ObjectiveError if so many trials have failed and none, in any run, has completed."""
        if (n := self._kinds.total()) < limit:
            return
        self._any_completed = any(one.status == "completed" for one in self._study.trials)  # by others meanwhile
        if not self._any_completed:
            kinds = ", ".join(f"{kind} ({times})" for kind, times in self._kinds.most_common(5))
            raise ObjectiveError(
                f"{pluralize(n, 'trial')} of this run failed, and none of the study has completed: {kinds}. They stay "
                "failed; mend the objective, and the same call goes on. If points are at fault, raise bo.Infeasible or "
                f"return bostruct.outcome.Outcome(failed=...), which does not count; {GO_ON}.\n"
                f"{evaluation.trace or evaluation.outcome.failed}"
            ) from evaluation.error

    def _check_equal_errors(self, trial: Trial, evaluation: Evaluation) -> None:
        """Raise ObjectiveError if nothing has ever completed and the same error came `MAX_EQUAL_ERRORS` times.

        The trials are given back then: they say nothing about their points.
        """
        kind = "" if evaluation.trace is None else _name_kind(evaluation)
        if not kind or (self._equal_errors and self._equal_errors[-1][0] != kind):
            self._equal_errors.clear()
        if kind:
            self._equal_errors.append((kind, trial.number))
        if len(self._equal_errors) < MAX_EQUAL_ERRORS or self._limit is None or _has_completed_own(self._study):
            return
        for _, number in self._equal_errors:
            with suppress(ValueError):  # another process gave it another chance, which completed
                self._study.requeue(number)
        raise ObjectiveError(
            f"the objective raised {kind} in each of the first {len(self._equal_errors)} trials, which are given back; "
            f"mend it, and make the same call again; {GO_ON}. The last time:\n{evaluation.trace}"
        ) from evaluation.error


def raise_mistake(number: int, evaluation: Evaluation) -> NoReturn:
    """Raise ObjectiveError for a mistake that the first trial shows.

    number: of the trial.
    evaluation: of the trial.
    """
    raise ObjectiveError(
        f"trial {number} ended in {_name_kind(evaluation)}, and none has completed before: this is taken for a mistake "
        "in the objective. The trial is given back, and so are those in flight; mend the objective, and make the same "
        f"call again. If the point was at fault, raise bo.Infeasible instead.\n{evaluation.trace}"
    ) from evaluation.error


def _has_completed_own(study: Any) -> bool:
    """Return True if any trial has completed, but for added ones, which this objective may never have seen."""
    return any(trial.status == "completed" and trial.origin != "added" for trial in study.trials)


def _name_kind(evaluation: Evaluation) -> str:
    """Return the class of an error, or the first words of another reason; all values that are not finite are alike."""
    kind = (evaluation.outcome.failed or "").partition(":")[0]
    return "value that is not finite" if kind.startswith("objective returned") else kind
