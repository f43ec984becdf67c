"""The loop of `Study.optimize`: tell finished trials, and ask while workers are free, until a stopping condition holds.

`FailureWatch` counts the failures of a run, `ThroughputEstimate` compares the durations of suggestions and evaluations.
"""

from __future__ import annotations

import logging
import math
import warnings
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import fmean
from time import monotonic, sleep
from typing import Any, NoReturn

from bostruct.checks import add_note, count_own_frames
from bostruct.contracts import BostructError, NotWanted, SpaceExhausted, Transient
from bostruct.display import pluralize
from bostruct.execution.clock import clamp_end
from bostruct.execution.evaluation import Evaluation, WatchedPoint, failure
from bostruct.execution.interrupts import defer_signals_once_begun, exit_on_sigterm
from bostruct.execution.pools import FinishedTrials, Pool, TrialLost
from bostruct.goals.declared import Goals, LimitError
from bostruct.storage.protocol import StorageLost
from bostruct.study.history import Trial
from bostruct.study.ledger import RETRIES, note_unreturned
from bostruct.study.progress import trial_bar
from bostruct.study.run_settings import RunSettings
from bostruct.study.stopping import Curves, Patience, StoppingCallback

log = logging.getLogger(__name__)
NOTHING_TO_DO = "nothing to do"  # start of the reason of a run whose trials had all finished before
POLL_SECONDS = 0.02  # between polls, in a run whose deadline cancels running trials
# The trials in flight of each run of a study, since threads may share it.
_in_flight: weakref.WeakKeyDictionary[Any, list[dict[int, float]]] = weakref.WeakKeyDictionary()
# Runs that have ended; their trials were requeued unless another interrupt prevented it.
_left: weakref.WeakKeyDictionary[Any, list[dict[int, float]]] = weakref.WeakKeyDictionary()


@exit_on_sigterm()
def run_trials(study: Any, settings: RunSettings) -> str:
    """Run a study until a number of trials is finished, or another condition ends it, and return the reason.

    A `StoppingCallback` is called before the first trial, and may stop the study then.

    Raises the errors of `check_study`.
    """
    deadline = None if settings.timeout is None else monotonic() + settings.timeout
    study.sync()
    total = math.inf if settings.n_trials is None else settings.n_trials
    if settings.n_more is not None:
        total = study.n_finished + settings.n_more
    if study.n_finished >= total:
        asked = f"n_trials is {total}" if settings.n_more is None else f"n_more is {settings.n_more}"
        return f"{NOTHING_TO_DO}: {asked}, and {study.n_finished} are finished already"
    _requeue_abandoned(study)
    skip = 0 if settings.n_more is None else len(study.result.order)
    callbacks = (*settings.callbacks, *(() if settings.patience is None else (Patience(settings.patience, skip),)))
    for callback in callbacks:
        if isinstance(callback, StoppingCallback):
            callback.check_study(study)  # may fit a model
    if study.stopping:  # for example in a second run with the same callbacks: nothing is evaluated
        return study.stopping
    pool = settings.pool()
    loop = _Loop(study, settings, pool, total, deadline)
    log.info("study %r: %d trials finished, %s wanted", study.name, study.n_finished, total)
    try:
        with trial_bar(study.name, study, None if total == math.inf else total, settings.progress) as show:
            return loop.run((*callbacks, show))
    except BaseException as error:
        _give_back(study, loop, error)
        raise
    finally:
        loop.leave()
        pool.close()


@defer_signals_once_begun
def _give_back(study: Any, loop: _Loop, error: BaseException) -> None:
    """Tell finished trials and requeue those in flight, without replacing the error that ended the run."""
    in_flight: list[Trial] = []
    try:
        try:
            loop.tell_rest()
        except BostructError as another:
            add_note(error, f"Not all finished trials were recorded: {another}")
        if in_flight := _list_in_flight(study, loop.pending):
            study.give_back(in_flight)
    except BostructError as another:
        note_unreturned(error, [trial.number for trial in in_flight], another)
    finally:
        loop.leave()


def _requeue_abandoned(study: Any) -> None:
    """Requeue trials of interrupted earlier runs; trials of other writers are not affected."""
    for pending in list(left := _left.get(study, [])):
        with suppress(BostructError):  # the run will raise it too
            if trials := _list_in_flight(study, pending):
                study.give_back(trials)
            left[:] = [one for one in left if one is not pending]


def _list_in_flight(study: Any, pending: dict[int, float]) -> list[Trial]:
    """Return the trials of a run that have not been finished, canceled or requeued since."""
    begun = sorted((number, when) for number, when in pending.items() if study.in_flight.get(number) == when)
    trials = study.trials if begun else ()
    return [replace(trials[number], started=when) for number, when in begun]


class _Loop:
    """The state of one run: its trials in flight, and the error that ends it once they have finished."""

    def __init__(
        self, study: Any, settings: RunSettings, pool: Pool, total: float, deadline: float | None = None
    ) -> None:
        """Start a run with a total number of trials and a deadline, by `monotonic`, after which no trial starts."""
        self.pending: dict[int, float] = {}
        self._study = study
        self._settings = settings
        self._total = total
        self._deadline = deadline
        self._pool = pool
        self._throughput = ThroughputEstimate(pool.slots)
        self._sign = -1.0 if study.goals.directions[0] == "maximize" else 1.0
        self._curves = Curves(self._sign)
        self._failures = FailureWatch(study, settings)
        self._warned: set[str] = set()  # names of attributes that were not stored
        self._exhausted: SpaceExhausted | None = None
        self._lost: StorageLost | None = None  # if set, trials in flight are awaited and kept in memory
        self._collected: FinishedTrials = []  # the trials that finished last, recorded or not
        self._is_collecting = False
        self._runs = _in_flight.setdefault(study, [])
        self._runs.append(self.pending)

    def leave(self) -> None:
        """Record that this run has ended; a later run requeues its remaining trials."""
        if self.pending:
            _left.setdefault(self._study, []).append(self.pending)
        self._runs[:] = [pending for pending in self._runs if pending is not self.pending]

    def run(self, callbacks: Sequence[Callable[[Any, Trial], None]]) -> str:
        """Ask and tell until the run ends, and return the reason."""
        while True:
            for number in [number for number in self.pending if self._is_canceled(number)]:
                self._pool.cancel(number)
                del self.pending[number]
            room = self._room  # read once, because another run of the study may change it
            if room > 0 and not self._is_ending():
                self._submit(room if self._throughput.is_behind else 1, callbacks)
            elif self.pending and self._prefetches():
                self._handle_finished(self._collect(self._pool.poll), callbacks)
            elif self.pending and self._settings.cancel_running:
                self._handle_finished(self._collect(self._poll_until_deadline), callbacks)
                if self._is_past_deadline():  # the next run evaluates these points first
                    self._study.give_back(_list_in_flight(self._study, self.pending))
            elif self.pending:
                self._handle_finished(self._collect(self._pool.wait), callbacks)
            elif not self._finds_stale_trial():
                break
        if self._lost is not None:
            raise self._lost
        if self._study.stopping or self._exhausted:
            return self._study.stopping or str(self._exhausted)
        if self._study.n_finished < self._total and self._is_past_deadline():
            return f"timeout of {self._settings.timeout:g} s reached"
        return _explain_end(self._total, self._study.n_remote)

    def _is_past_deadline(self) -> bool:
        """Return True once the deadline has passed."""
        return self._deadline is not None and monotonic() >= self._deadline

    def _poll_until_deadline(self) -> FinishedTrials:
        """Wait until a trial has finished or the deadline has passed, and return the finished trials."""
        while not (finished := self._pool.poll()) and not self._is_past_deadline():
            sleep(POLL_SECONDS)
        return finished

    def _is_canceled(self, number: int) -> bool:
        """Return whether a trial was canceled in this process, or asked again since this run started it.

        Changes by other processes are no reason to lose a value.
        """
        return self._study.in_flight.get(number) != self.pending.get(number)

    @property
    def _missing(self) -> float:
        """The number of trials that this run must still evaluate, including those in flight."""
        n_others = sum(len(pending) for pending in list(self._runs) if pending is not self.pending)
        return self._total - self._study.n_finished - self._study.n_remote - n_others

    @property
    def _room(self) -> int:
        """The number of trials that could be submitted now."""
        return int(min(self._pool.slots, self._missing)) - len(self.pending)

    def _is_ending(self) -> bool:
        """Return whether no more points are to be asked."""
        return bool(self._exhausted or self._study.stopping or self._lost or self._is_past_deadline())

    def _has_room(self) -> bool:
        """Return whether to ask for another trial."""
        return self._room > 0 and not self._is_ending()

    def _prefetches(self) -> bool:
        """Choose the next point while all workers are busy; return whether that was worthwhile."""
        n_waiting = self._study.n_waiting
        wanted = min(self._throughput.n_ahead, self._missing - len(self.pending))
        if n_waiting >= wanted or self._is_ending():
            return False
        try:
            return self._study.prefetch(n_waiting + 1) > n_waiting
        except StorageLost as error:
            self._lost = error
            return False

    def _finds_stale_trial(self) -> bool:
        """Return whether to evaluate a trial of another process here, because that process has ended."""
        if self._is_ending() or not self._study.n_remote:
            return False
        with self._study.ask_lock():
            return self._has_room()

    def _submit(self, n: int, callbacks: Sequence[Callable[[Any, Trial], None]]) -> None:
        """Submit up to n trials of one fit; tell the finished trials between two of them."""
        points, missing = self._study._suggestions(), lambda: self._missing - len(self.pending)
        asked = self._study._ask_jointly(n, points, missing, self._has_room, self._add_pending)
        for _ in range(n):
            if (trial := self._ask_next(asked)) is None:
                return
            self._pool.submit(trial.number, self._watch(trial.point))
            self._throughput.note_suggestion(trial)
            self._handle_finished(self._collect(self._pool.poll), callbacks)

    def _ask_next(self, asked: Iterator[Trial]) -> Trial | None:
        try:
            with suppress(NotWanted):  # another process may have asked first
                return next(asked, None)
        except SpaceExhausted as error:
            self._exhausted = error
        except StorageLost as error:
            self._lost = error
        return None

    def _add_pending(self, trial: Trial) -> None:
        """Add a trial to those in flight."""
        if trial.number in self.pending:  # requeued while it was in flight
            self._pool.cancel(trial.number)
        self.pending[trial.number] = trial.started

    def _watch(self, point: object) -> object:
        """Attach a judge to a point; it knows the trials completed so far, and runs in the evaluating process.

        If it ran in the process of the study, each report would wait while that process suggests a point, and a worker
        of an executor could not call it.
        """
        if self._settings.stopping_rule is None:
            return point
        curves = self._curves.read(self._study.trials)
        return WatchedPoint(point, self._settings.stopping_rule.judge(curves), self._sign)

    def tell_rest(self) -> None:
        """Tell the values of trials that finished before an error ended the run, so that they are not evaluated again.

        Failures are skipped, because the error may have caused them. An interrupted pool is not polled again.

        Raises BostructError if a value cannot be recorded.
        """
        self._tell_values(self._collected)
        if not self._is_collecting:
            self._tell_values(self._pool.poll())

    def _tell_values(self, finished: FinishedTrials) -> None:
        kept = [(number, one) for number, one in finished if number in self.pending and not self._is_canceled(number)]
        judged = [(number, _judge(one, self._study.goals)) for number, one in kept]
        self._tell([(number, one) for number, one in judged if one.outcome.values or one.stopped_at is not None])

    def _collect(self, poll: Callable[[], FinishedTrials]) -> FinishedTrials:
        """Return the finished trials, and keep them until they are recorded."""
        self._is_collecting = True
        self._collected = poll()
        self._is_collecting = False
        return self._collected

    def _handle_finished(self, finished: FinishedTrials, callbacks: Sequence[Callable[[Any, Trial], None]]) -> None:
        """Tell finished trials and call the callbacks; raise mistakes of the objective and errors to be reraised."""
        goals = self._study.goals
        finished = [(number, _judge(one, goals)) for number, one in finished if not self._is_canceled(number)]
        mistakes = self._failures.find_mistakes(finished)
        recorded = self._tell([pair for pair in finished if pair[0] not in mistakes])
        if self._lost is not None:
            for number in mistakes:
                del self.pending[number]  # it counts as running, so that it is asked again
            return
        for trial, evaluation in recorded:
            self._failures.note(trial, evaluation)
            if trial.status == "running":
                continue  # it is retried
            if evaluation.error is not None and isinstance(evaluation.error, self._settings.reraise):
                raise evaluation.error
            for callback in callbacks:
                callback(self._study, trial)
        if mistakes:
            raise_mistake(*next(iter(mistakes.items())))

    def _tell(self, finished: list[tuple[int, Evaluation]]) -> list[tuple[Trial, Evaluation]]:
        """Tell finished trials, and return the recorded trials; a failed trial that is retried is running again.

        Trials that the file does not accept are kept in memory. Trials that another thread canceled are skipped.
        """
        recorded = []
        for number, evaluation in finished:
            try:
                ended = clamp_end(evaluation.ended, self.pending[number])
                trial = self._tell_one(number, evaluation._replace(ended=ended))
                self._throughput.note_evaluation(ended - self.pending[number])
                recorded.append((trial, evaluation))
            except StorageLost as error:
                self._lost = error
            except ValueError:
                if not self._is_canceled(number):
                    raise
            del self.pending[number]
        return recorded

    def _tell_one(self, number: int, evaluation: Evaluation) -> Trial:
        outcome = evaluation.outcome if evaluation.stopped_at is None else None  # the last report is the value
        retries, machine = self._settings.retries, evaluation.machine
        if isinstance(evaluation.error, self._settings.reraise):
            retries, machine = 0, None
        elif isinstance(evaluation.error, Transient | TrialLost):
            retries = max(RETRIES, retries)
        for why in evaluation.refused:
            if (which := why.partition(":")[0]) in self._warned:  # once per attribute
                continue
            self._warned.add(which)
            warnings.warn(f"trial {number}: {why}", stacklevel=count_own_frames())
        how = {"finished": evaluation.ended, "reports": evaluation.reports, "retry": retries, "machine": machine}
        how["attributes"] = evaluation.attributes or None
        return self._study.tell(number, outcome, **how)


def _judge(evaluation: Evaluation, goals: Goals) -> Evaluation:
    """Return an evaluation, or a failure if its outcome does not match the goals of the study."""
    try:
        goals.check(evaluation.outcome)
    except (TypeError, ValueError) as error:
        wrong = failure(error.with_traceback(None))._replace(ended=evaluation.ended, reports=evaluation.reports)
        return wrong._replace(attributes=evaluation.attributes, refused=evaluation.refused)
    return evaluation


def _explain_end(total: float, n_remote: int) -> str:
    are = "is" if n_remote == 1 else "are"
    remote = (
        f", of which {n_remote} {are} still running in other processes; if such a process has ended, the same call "
        "evaluates its trials"
        if n_remote
        else ""
    )
    return f"n_trials reached ({total}){remote}"


# errors of the objective, from the first trial onward, not properties of points
MISTAKES = (TypeError, AttributeError, NameError, LimitError)
MAX_EQUAL_ERRORS = 5  # first trials with the same error: a mistake in the objective, not a property of points
MIN_INITIAL_FAILURES = 10  # failures of any type, after which a run without completed trials ends
MAX_MACHINE_FAILURES = 5  # failures of the machine in a row, after which a run ends
MANY_FAILURES = 20  # failures of one type in a row, after which a warning is issued
CONTINUE_HINT = "to continue anyway, pass max_initial_failures=None (--max-initial-failures none)"


class ObjectiveError(BostructError):
    """Raised if the objective has a bug; the message holds its traceback."""


class FailureWatch:
    """The failures of one run, which end the run if the objective or the machine is at fault."""

    def __init__(self, study: Any, settings: RunSettings) -> None:
        self._study = study
        self._settings = settings
        self._limit = settings.max_initial_failures
        if self._limit == "auto":
            self._limit = max(MIN_INITIAL_FAILURES, 2 * settings.workers, study.n_initial)
        self._equal_errors: list[tuple[str, int]] = []
        self._kinds: Counter[str] = Counter()  # types of the failures, until a trial completes
        self._row = ("", 0)  # the type of the last failures, and their number
        self._n_machine = 0  # failures of the machine in a row
        self._has_warned = False
        self._any_completed = any(trial.status == "completed" for trial in study.trials)  # including an added one

    def find_mistakes(self, finished: list[tuple[int, Evaluation]]) -> dict[int, Evaluation]:
        """Return the trials with errors that no point explains, until a trial has completed.

        finished: evaluations, by the number of their trial.
        """
        found = {number: evaluation for number, evaluation in finished if isinstance(evaluation.error, MISTAKES)}
        if not found or any(evaluation.outcome.values for _, evaluation in finished) or _has_completed_own(self._study):
            return {}
        return {number: one for number, one in found.items() if not isinstance(one.error, self._settings.reraise)}

    def note(self, trial: Trial, evaluation: Evaluation) -> None:
        """Count an evaluation, and raise an error if there are too many of its type.

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
                f"{evaluation.machine}. Each trial is requeued once, and models ignore these failures. Fix the "
                f"machine, and make the same call again, in a new process if workers=1.\n"
                f"{evaluation.trace or evaluation.outcome.failed}"
            ) from evaluation.error

    def _note_failure(self, evaluation: Evaluation) -> None:
        kind = _name_kind(evaluation)
        self._row = (kind, self._row[1] + 1 if kind == self._row[0] else 1)
        if not self._any_completed and self._limit is not None:
            self._kinds[kind] += 1
            self._check_limit(int(self._limit), evaluation)
        continues = self._any_completed or self._limit is None
        if continues and self._row[1] >= MANY_FAILURES and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"study {self._study.name!r}: the last {self._row[1]} trials failed the same way, the last one with: "
                f"{evaluation.outcome.failed}",
                stacklevel=count_own_frames(),
            )

    def _check_limit(self, limit: int, evaluation: Evaluation) -> None:
        """Raise ObjectiveError if `limit` trials have failed and no trial of the study has completed."""
        if (n := self._kinds.total()) < limit:
            return
        self._any_completed = any(one.status == "completed" for one in self._study.trials)  # by another process
        if not self._any_completed:
            kinds = ", ".join(f"{kind} ({times})" for kind, times in self._kinds.most_common(5))
            raise ObjectiveError(
                f"{pluralize(n, 'trial')} of this run failed, and no trial of the study has completed. Reasons: "
                f"{kinds}. The trials stay failed. Fix the objective, and repeat the same call. If points are at "
                "fault, raise bo.Infeasible or return bostruct.outcome.Outcome(failed=...), which does not count; "
                f"{CONTINUE_HINT}.\n"
                f"{evaluation.trace or evaluation.outcome.failed}"
            ) from evaluation.error

    def _check_equal_errors(self, trial: Trial, evaluation: Evaluation) -> None:
        """Raise ObjectiveError if no trial has completed and the same error occurred `MAX_EQUAL_ERRORS` times.

        The trials are then requeued, because the error is unrelated to their points.
        """
        kind = "" if evaluation.trace is None else _name_kind(evaluation)
        if not kind or (self._equal_errors and self._equal_errors[-1][0] != kind):
            self._equal_errors.clear()
        if kind:
            self._equal_errors.append((kind, trial.number))
        if len(self._equal_errors) < MAX_EQUAL_ERRORS or self._limit is None or _has_completed_own(self._study):
            return
        for _, number in self._equal_errors:
            with suppress(ValueError):  # another process retried it successfully
                self._study.requeue(number)
        raise ObjectiveError(
            f"the objective raised {kind} in each of the first {len(self._equal_errors)} trials, which are requeued. "
            f"Fix it, and make the same call again; {CONTINUE_HINT}. The last time:\n{evaluation.trace}"
        ) from evaluation.error


def raise_mistake(number: int, evaluation: Evaluation) -> NoReturn:
    """Raise ObjectiveError for a mistake in the first trial."""
    raise ObjectiveError(
        f"trial {number} failed with {_name_kind(evaluation)} before any trial completed, which indicates a mistake in "
        "the objective. This trial and the trials in flight are requeued. Fix the objective, and make the same call "
        f"again. If the point was at fault, raise bo.Infeasible instead.\n{evaluation.trace}"
    ) from evaluation.error


def _has_completed_own(study: Any) -> bool:
    """Return whether a trial has completed, except for added trials, which may come from another objective."""
    return any(trial.status == "completed" and trial.origin != "added" for trial in study.trials)


def _name_kind(evaluation: Evaluation) -> str:
    """Return the class of an error, or the start of another reason; all nonfinite values have one name."""
    kind = (evaluation.outcome.failed or "").partition(":")[0]
    return "a value that is not finite" if kind.startswith("objective returned") else kind


RECENT = 16  # suggestions and evaluations that are averaged
LOST_SHARE = 0.02  # share of an evaluation: a slower suggestion is prefetched
BUSY_SHARE = 0.5  # share of the time: above it, suggestions queue, so one search serves several points
MOST_AHEAD = 8  # queued points, each chosen with less information than a point chosen when needed
WORKERS_FOR_EACH = 4  # workers per queued point, since the points being evaluated also lack information


class ThroughputEstimate:
    """The mean durations of the last suggestions and evaluations of a run.

    slots: number of concurrent evaluations, at least 1.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._suggestions: deque[float] = deque(maxlen=RECENT)
        self._evaluations: deque[float] = deque(maxlen=RECENT)

    def note_suggestion(self, trial: Trial) -> None:
        """Record the duration of a suggestion, unless it came from the search for another point."""
        if "joint" not in trial.info and (seconds := trial.info.get("suggest_seconds")) is not None:
            self._suggestions.append(float(seconds))

    def note_evaluation(self, seconds: float) -> None:
        """Record the duration of an evaluation."""
        self._evaluations.append(max(seconds, 0.0))

    @property
    def is_behind(self) -> bool:
        """Return whether workers would wait if points were suggested one by one."""
        return self._takes_more_than(BUSY_SHARE / self._slots)

    @property
    def n_ahead(self) -> int:
        """The number of points to prefetch; 0 if suggestions are fast."""
        if not self._takes_more_than(min(LOST_SHARE, BUSY_SHARE / self._slots)):
            return 0
        return min(self._slots // WORKERS_FOR_EACH, MOST_AHEAD)

    def _takes_more_than(self, share: float) -> bool:
        """Return whether a suggestion takes more than a share of an evaluation; False while either is unknown."""
        if not self._suggestions or not self._evaluations:
            return False
        return fmean(self._suggestions) > share * fmean(self._evaluations)
