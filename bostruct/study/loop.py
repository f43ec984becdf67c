"""The loop of `Study.optimize`: tell what has finished, ask while there is room, until there is a reason to stop.

`FailureWatch` counts the failures of a run, `ThroughputEstimate` compares seconds of suggestions and evaluations.
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
NOTHING_TO_DO = "nothing to do"  # how the reason of a run begins that had all its trials before
POLL_SECONDS = 0.02  # between looks at whether a trial has finished, of a run whose deadline cancels what is running
# The trials in flight of each run of a study, since threads may share it.
_in_flight: weakref.WeakKeyDictionary[Any, list[dict[int, float]]] = weakref.WeakKeyDictionary()
# Those of its runs that ended, which were given back unless another interrupt came in between.
_left: weakref.WeakKeyDictionary[Any, list[dict[int, float]]] = weakref.WeakKeyDictionary()


@exit_on_sigterm()
def run_trials(study: Any, settings: RunSettings) -> str:
    """Drive a study until so many trials are finished, or another reason ends it, and return the reason.

    A `StoppingCallback` is asked before the first trial, and may stop the study then.

    Raises what `check_study` raises.
    """
    deadline = None if settings.timeout is None else monotonic() + settings.timeout
    study.sync()
    total = math.inf if settings.n_trials is None else settings.n_trials
    if settings.n_more is not None:
        total = study.n_finished + settings.n_more
    if study.n_finished >= total:
        asked = f"n_trials is {total}" if settings.n_more is None else f"n_more is {settings.n_more}"
        return f"{NOTHING_TO_DO}: {asked}, and {study.n_finished} are finished already"
    _give_back_left(study)
    skip = 0 if settings.n_more is None else len(study.result.order)
    callbacks = (*settings.callbacks, *(() if settings.patience is None else (Patience(settings.patience, skip),)))
    for callback in callbacks:
        if isinstance(callback, StoppingCallback):
            callback.check_study(study)  # may fit a model
    if study.stopping:  # as an earlier run of the same callbacks was: nothing is paid for again
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
    """Tell what has finished, and give back what is in flight; the error that ended the run is still the one seen."""
    in_flight: list[Trial] = []
    try:
        try:
            loop.tell_rest()
        except BostructError as another:
            add_note(error, f"What had finished is not all told: {another}")
        if in_flight := _find_held(study, loop.pending):
            study.give_back(in_flight)
    except BostructError as another:
        note_unreturned(error, [trial.number for trial in in_flight], another)
    finally:
        loop.leave()


def _give_back_left(study: Any) -> None:
    """Give back what earlier runs began and left behind, as two interrupts may do; what others asked for is theirs."""
    for pending in list(left := _left.get(study, [])):
        with suppress(BostructError):  # the run comes upon it, too
            if held := _find_held(study, pending):
                study.give_back(held)
            left[:] = [one for one in left if one is not pending]


def _find_held(study: Any, pending: dict[int, float]) -> list[Trial]:
    """Return those trials of a run that nobody told, gave up or took over since it began them."""
    begun = sorted((number, when) for number, when in pending.items() if study.in_flight.get(number) == when)
    trials = study.trials if begun else ()
    return [replace(trials[number], started=when) for number, when in begun]


class _Loop:
    """One run: the trials in flight, and what has been met that ends it once they are back."""

    def __init__(
        self, study: Any, settings: RunSettings, pool: Pool, total: float, deadline: float | None = None
    ) -> None:
        """Begin a run that ends at a total number of trials, and begins none after the deadline, by `monotonic`."""
        self.pending: dict[int, float] = {}
        self._study = study
        self._settings = settings
        self._total = total
        self._deadline = deadline
        self._pool = pool
        self._pace = ThroughputEstimate(pool.slots)
        self._sign = -1.0 if study.goals.directions[0] == "maximize" else 1.0
        self._curves = Curves(self._sign)
        self._failures = FailureWatch(study, settings)
        self._warned: set[str] = set()  # of attributes that are not kept
        self._exhausted: SpaceExhausted | None = None
        self._lost: StorageLost | None = None  # then what is in flight is waited for, and kept in memory
        self._collected: FinishedTrials = []  # the last that had finished, told or not
        self._is_collecting = False
        self._runs = _in_flight.setdefault(study, [])
        self._runs.append(self.pending)

    def leave(self) -> None:
        """Let other runs of the study know that nothing is in flight here any more; a later one gives back the rest."""
        if self.pending:
            _left.setdefault(self._study, []).append(self.pending)
        self._runs[:] = [pending for pending in self._runs if pending is not self.pending]

    def run(self, callbacks: Sequence[Callable[[Any, Trial], None]]) -> str:
        """Ask and tell to the end, and say why it came."""
        while True:
            for number in [number for number in self.pending if self._is_given_up(number)]:
                self._pool.cancel(number)
                del self.pending[number]
            room = self._room  # read once: another run of the study may take it meanwhile
            if room > 0 and not self._is_ending():
                self._submit(room if self._pace.is_behind else 1, callbacks)
            elif self.pending and self._prepares():
                self._take(self._collect(self._pool.poll), callbacks)
            elif self.pending and self._settings.cancel_running:
                self._take(self._collect(self._poll_until_deadline), callbacks)
                if self._is_late():
                    self._cancel_running()
            elif self.pending:
                self._take(self._collect(self._pool.wait), callbacks)
            elif not self._finds_left_behind():
                break
        if self._lost is not None:
            raise self._lost
        if self._study.stopping or self._exhausted:
            return self._study.stopping or str(self._exhausted)
        if self._study.n_finished < self._total and self._is_late():
            return f"timeout of {self._settings.timeout:g} s reached"
        return _stop_reason(self._total, self._study.n_remote)

    def _is_late(self) -> bool:
        """Return True once the deadline has passed."""
        return self._deadline is not None and monotonic() >= self._deadline

    def _poll_until_deadline(self) -> FinishedTrials:
        """Wait until a trial has finished or the deadline has passed, and return the finished trials."""
        while not (finished := self._pool.poll()) and not self._is_late():
            sleep(POLL_SECONDS)
        return finished

    def _cancel_running(self) -> None:
        """Give back what is running; the next run evaluates these points first."""
        self._study.give_back(_find_held(self._study, self.pending))
        for number in list(self.pending):
            self._pool.cancel(number)
            del self.pending[number]

    def _is_given_up(self, number: int) -> bool:
        """Tell whether a trial was given up in this process, or was handed out again since we began it.

        What other processes make of it is no reason to lose a value.
        """
        return self._study.in_flight.get(number) != self.pending.get(number)

    @property
    def _missing(self) -> float:
        """The number of trials that this run has still to evaluate, with those in flight."""
        beside = sum(len(pending) for pending in list(self._runs) if pending is not self.pending)
        return self._total - self._study.n_finished - self._study.n_remote - beside

    @property
    def _room(self) -> int:
        """The number of trials that could be submitted now."""
        return int(min(self._pool.slots, self._missing)) - len(self.pending)

    def _is_ending(self) -> bool:
        """Tell whether no more points are to be asked for."""
        return bool(self._exhausted or self._study.stopping or self._lost or self._is_late())

    def _has_room(self) -> bool:
        """Tell whether to ask for another trial."""
        return self._room > 0 and not self._is_ending()

    def _prepares(self) -> bool:
        """Choose the point that is needed next, while all workers are busy; tell whether it was worth it."""
        n_waiting = self._study.n_waiting
        wanted = min(self._pace.n_ahead, self._missing - len(self.pending))
        if n_waiting >= wanted or self._is_ending():
            return False
        try:
            return self._study.prefetch(n_waiting + 1) > n_waiting
        except StorageLost as error:
            self._lost = error
            return False

    def _finds_left_behind(self) -> bool:
        """Tell whether a trial that counts as running elsewhere is to be evaluated here, as its process has ended."""
        if self._is_ending() or not self._study.n_remote:
            return False
        with self._study.ask_lock():
            return self._has_room()

    def _submit(self, n: int, callbacks: Sequence[Callable[[Any, Trial], None]]) -> None:
        """Submit up to n trials of one fit; between two of them, tell what has finished."""
        asked = self._study.ask_jointly(n, lambda: self._missing - len(self.pending))
        for _ in range(n):
            if (trial := self._take_next(asked)) is None:
                return
            self._pool.submit(trial.number, self._watch(trial.point))
            self._pace.note_suggestion(trial)
            self._take(self._collect(self._pool.poll), callbacks)

    def _take_next(self, asked: Iterator[Trial]) -> Trial | None:
        try:
            with suppress(NotWanted), self._study.ask_lock(self._has_room):  # others may have been quicker
                trial = next(asked, None)
                if trial is not None:  # noted within the block, whose end an interrupt may be waiting for
                    if trial.number in self.pending:  # given back while it was in flight
                        self._pool.cancel(trial.number)
                    self.pending[trial.number] = trial.started
                return trial
        except SpaceExhausted as error:
            self._exhausted = error
        except StorageLost as error:
            self._lost = error
        return None

    def _watch(self, point: object) -> object:
        """Give the point a judge, which knows the trials that have completed by now and decides if the trial runs.

        A question to this process at each report would wait as long as this process suggests the next point, and no
        foreign executor could ask it.
        """
        if self._settings.stopping_rule is None:
            return point
        curves = self._curves.read(self._study.trials)
        return WatchedPoint(point, self._settings.stopping_rule.judge(curves), self._sign)

    def tell_rest(self) -> None:
        """Tell the values of those that had finished when an error ended the run, so that nobody pays for them again.

        Failures are left, since they may be due to that end. A pool that was interrupted is not asked once more.

        Raises BostructError if a value cannot be told.
        """
        self._tell_values(self._collected)
        if not self._is_collecting:
            self._tell_values(self._pool.poll())

    def _tell_values(self, finished: FinishedTrials) -> None:
        untold = [(number, one) for number, one in finished if number in self.pending and not self._is_given_up(number)]
        judged = [(number, _judge(one, self._study.goals)) for number, one in untold]
        self._tell([(number, one) for number, one in judged if one.outcome.values or one.stopped_at is not None])

    def _collect(self, look: Callable[[], FinishedTrials]) -> FinishedTrials:
        """Return the trials that have finished, and note them until they are told."""
        self._is_collecting = True
        self._collected = look()
        self._is_collecting = False
        return self._collected

    def _take(self, finished: FinishedTrials, callbacks: Sequence[Callable[[Any, Trial], None]]) -> None:
        """Tell what came of trials, and call back; raise if that shows a mistake, or an error to be raised."""
        goals = self._study.goals
        finished = [(number, _judge(one, goals)) for number, one in finished if not self._is_given_up(number)]
        mistakes = self._failures.find_mistakes(finished)
        told = self._tell([pair for pair in finished if pair[0] not in mistakes])
        if self._lost is not None:
            for number in mistakes:
                del self.pending[number]  # as if they were still running: to be handed out again
            return
        for trial, evaluation in told:
            self._failures.note(trial, evaluation)
            if trial.status == "running":
                continue  # it is handed out again
            if evaluation.error is not None and isinstance(evaluation.error, self._settings.reraise):
                raise evaluation.error
            for callback in callbacks:
                callback(self._study, trial)
        if mistakes:
            raise_mistake(*next(iter(mistakes.items())))

    def _tell(self, finished: list[tuple[int, Evaluation]]) -> list[tuple[Trial, Evaluation]]:
        """Tell the study what came of these; those that the file did not take are kept in memory alone.

        Returns the trials that were told: a failed one runs again if it is to be handed out once more. One that another
        thread gave up since is not told.
        """
        told = []
        for number, evaluation in finished:
            try:
                ended = clamp_end(evaluation.ended, self.pending[number])
                trial = self._tell_one(number, evaluation._replace(ended=ended))
                self._pace.note_evaluation(ended - self.pending[number])
                told.append((trial, evaluation))
            except StorageLost as error:
                self._lost = error
            except ValueError:
                if not self._is_given_up(number):
                    raise
            del self.pending[number]
        return told

    def _tell_one(self, number: int, evaluation: Evaluation) -> Trial:
        outcome = evaluation.outcome if evaluation.stopped_at is None else None  # the last report is the value
        retries, machine = self._settings.retries, evaluation.machine
        if isinstance(evaluation.error, self._settings.reraise):
            retries, machine = 0, None
        elif isinstance(evaluation.error, Transient | TrialLost):
            retries = max(RETRIES, retries)
        for why in evaluation.refused:
            if (which := why.partition(":")[0]) in self._warned:  # once for each attribute
                continue
            self._warned.add(which)
            warnings.warn(f"trial {number}: {why}", stacklevel=count_own_frames())
        how = {"finished": evaluation.ended, "reports": evaluation.reports, "retry": retries, "machine": machine}
        how["attributes"] = evaluation.attributes or None
        return self._study.tell(number, outcome, **how)


def _judge(evaluation: Evaluation, goals: Goals) -> Evaluation:
    """Return an evaluation as it is, or the failure that it is where it tells another thing than the study asks for."""
    try:
        goals.check(evaluation.outcome)
    except (TypeError, ValueError) as error:
        wrong = failure(error.with_traceback(None))._replace(ended=evaluation.ended, reports=evaluation.reports)
        return wrong._replace(attributes=evaluation.attributes, refused=evaluation.refused)
    return evaluation


def _stop_reason(total: float, n_remote: int) -> str:
    are = "is" if n_remote == 1 else "are"
    elsewhere = (
        f", of which {n_remote} {are} still out to other processes; where one of these has ended, the same call "
        "evaluates its trials"
        if n_remote
        else ""
    )
    return f"n_trials reached ({total}){elsewhere}"


# from the first trial: of the objective, not a property of points
MISTAKES = (TypeError, AttributeError, NameError, LimitError)
MAX_EQUAL_ERRORS = 5  # first trials with one and the same error: a mistake in the objective, not a property of points
MIN_INITIAL_FAILURES = 10  # of any kind, before a run ends in which nothing has completed
MAX_MACHINE_FAILURES = 5  # in a row, after which a run ends
MANY_FAILURES = 20  # of one kind in a row, after which a warning is given
GO_ON = "to let a run go on all the same, pass max_initial_failures=None (--max-initial-failures none)"


class ObjectiveError(BostructError):
    """Raised if the objective has a bug; the message holds its traceback."""


class FailureWatch:
    """The failures of one run, which end it if the objective or the machine is at fault."""

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
    """Raise ObjectiveError for a mistake that the first trial shows."""
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


RECENT = 16  # suggestions, and evaluations, that the pace is the mean of
LOST_SHARE = 0.02  # of an evaluation: a suggestion that takes more is worth to be made before a worker waits for it
BUSY_SHARE = 0.5  # of the time, from which on suggestions queue: one search then serves several points
MOST_AHEAD = 8  # points that wait, each of which knows less than one that is chosen when it is needed
WORKERS_FOR_EACH = 4  # that is ahead: the points that are evaluated are not known either


class ThroughputEstimate:
    """The mean seconds of the last suggestions and of the last evaluations of a run.

    slots: evaluations at once, at least 1.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._suggestions: deque[float] = deque(maxlen=RECENT)
        self._evaluations: deque[float] = deque(maxlen=RECENT)

    def note_suggestion(self, trial: Trial) -> None:
        """Take in how long a point took to be chosen, unless the search for another one served it."""
        if "joint" not in trial.info and (seconds := trial.info.get("suggest_seconds")) is not None:
            self._suggestions.append(float(seconds))

    def note_evaluation(self, seconds: float) -> None:
        """Take in an evaluation."""
        self._evaluations.append(max(seconds, 0.0))

    @property
    def is_behind(self) -> bool:
        """Tell whether suggestions one by one would leave workers waiting for each other's points."""
        return self._takes_more_than(BUSY_SHARE / self._slots)

    @property
    def n_ahead(self) -> int:
        """The number of points to have ready before a worker needs them; 0 if a suggestion takes next to no time."""
        if not self._takes_more_than(min(LOST_SHARE, BUSY_SHARE / self._slots)):
            return 0
        return min(self._slots // WORKERS_FOR_EACH, MOST_AHEAD)

    def _takes_more_than(self, share: float) -> bool:
        """Tell whether a suggestion takes more than a share of an evaluation; False while neither is known."""
        if not self._suggestions or not self._evaluations:
            return False
        return fmean(self._suggestions) > share * fmean(self._evaluations)
