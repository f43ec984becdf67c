"""The study: the public ask-and-tell interface to a searcher and a ledger of trials.

It does no mathematics, except that values to be maximized are negated here.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from bostruct import __version__
from bostruct.checks import (
    add_note,
    check_integer,
    check_number,
    check_part,
    count_own_frames,
    load_by_name,
    short_repr,
)
from bostruct.contracts import BostructError, Domain, DomainError, Info, Presented, Searcher, SpaceExhausted
from bostruct.display import pluralize
from bostruct.domains.registry import as_domain
from bostruct.execution.clock import UNITS, name_unit, now
from bostruct.execution.evaluation import objective_frames
from bostruct.execution.interrupts import defer_signals_once_begun, defer_signals_unseen, make_lock
from bostruct.goals.declared import Declared, Direction, Goals, declare_goals
from bostruct.outcome import AttributeReader, Outcome, cut_middle, parse_outcome, storable
from bostruct.storage.backends import open_storage
from bostruct.storage.json_text import dump, parse
from bostruct.storage.postgresql.connecting import hide_passwords
from bostruct.storage.protocol import (
    SEED_DIGITS,
    SpaceChange,
    Storage,
    StorageError,
    StoredStudy,
    StudyRow,
    StudyWriter,
    check_new_name,
    find_study,
)
from bostruct.study.frames import FrameRow, Unmeasured, from_dataframe
from bostruct.study.history import ATTRIBUTES, CHUNK_SIZE, MACHINE, Trial
from bostruct.study.ledger import RETRIES, AddedPoint, Ledger
from bostruct.study.loop import NOTHING_TO_DO, run_trials
from bostruct.study.predictions import Fit, Lazy, Predictions, bound_regret
from bostruct.study.prior import PriorSource, describe_prior, read_prior, with_prior
from bostruct.study.records import (
    check_same_problem,
    describe_method,
    encode_points,
    explain_rebuild,
    method_label,
    name_method,
    read_goals,
    read_initial,
    readable_domain,
    rename_objectives,
    stored_domain,
    stored_method,
    warn_of_ambiguous_choices,
)
from bostruct.study.result import Result
from bostruct.study.run_settings import FailureLimit, RunSettings
from bostruct.study.saving import end, write_copy
from bostruct.study.space_changes import check_change, check_study_rows, current_row, record_change
from bostruct.study.stopping import StoppingRule, describe_reports
from bostruct.study.stored_searcher import (
    adopt_prior,
    build_searcher,
    migrate_prior,
    readable_searcher,
    warn_of_lost_prior,
)
from bostruct.study.suggestion import FallbackWatch, JointPoints
from bostruct.study.threads import ThreadLimit

if TYPE_CHECKING:
    from pandas import DataFrame

Place = str | os.PathLike[str] | Storage  # a file path, postgresql://..., or a custom back end
Callback = Callable[["Study", Trial], None]
log = logging.getLogger(__name__)
CLOCKS_APART = 86_400.0  # maximum difference between the clocks of two machines, in seconds


class Study:
    """A stored or in-memory optimization run with an ask-and-tell interface.

    A study that is stored under the same name with the same arguments is resumed. Other processes may use it at the
    same time. It may also be resumed with a changed space if no other process has it open; trials that are invalid in
    the new space are kept but ignored by the method.

    Parameters
    ----------
    space : Space, dict, or Domain
        The search space. A dict of variables becomes a `Space`.
    method : str or Searcher, default "auto"
        The name of a method, or a searcher from `bostruct.methods`.
    seed : int, optional
        Random seed, at least 0. If None, a seed is drawn and stored.
    direction : {"minimize", "maximize"}, default "minimize"
        The direction of a single objective.
    directions : sequence of {"minimize", "maximize"}, optional
        One direction for each of several objectives. Values passed to `tell` are then tuples.
    constraints : dict, optional
        Constraints on quantities that each evaluation measures, by name, such as ``{"latency": ("<=", 10.0)}``. The
        best trial is the best one that satisfies all of them.
    repeats : {"auto"}, optional
        If "auto", the method may evaluate a point again to reduce noise. Requires a method with a model, and a single
        objective without constraints.
    suggest_seconds : float, optional
        Target time of a suggestion in seconds, at least 0.001. This is not a hard limit: after a slow suggestion, the
        next one is made cheaper, from fewer values or without a model (see ``info["haste"]``).
    objective_name : str, sequence of str, or callable, optional
        The name of the value in axes, tables and reports; one for each objective. When a study is resumed, a new name
        replaces the stored one if no other process has the study open. None keeps the stored name. A function gives a
        new study its own name, unless the name is not informative, such as ``objective``, ``run``, or two letters.
    storage : path, URL, or Storage, optional
        A SQLite file, a ``postgresql://user@host/database`` URL, or a `Storage` object. If None, the study is kept in
        memory.
    name : str, default "study"
        The name of the study in its storage, 1 to 500 characters.
    initial_points : iterable, optional
        Points to evaluate before those that the method chooses.
    threads : int or None, default 1
        Threads for the model, at least 1. None leaves the current setting unchanged.
    prior : iterable of studies, results, or files, optional
        Earlier studies of related tasks, in the same direction, for transfer learning. A file must hold one study. At
        most 150 of their trials are used and stored with the study; a warning names those that cannot be used. A
        resumed study does not need `prior`.

    Raises
    ------
    StudyMismatch
        If the stored study was created with different settings.
    StudyLocked
        If another process has the study open and cannot share it.
    StorageError
        If the storage cannot be used.
    PointError
        If an initial point is invalid.
    TypeError, ValueError
        If an argument is invalid.
    """

    def __init__(
        self,
        space: Domain | Mapping[str, object],
        *,
        method: str | Searcher = "auto",
        seed: int | None = None,
        direction: Direction = "minimize",
        directions: Sequence[Direction] | None = None,
        constraints: Declared | None = None,
        repeats: Literal["auto"] | None = None,
        suggest_seconds: float | None = None,
        objective_name: str | Sequence[str] | Callable[..., object] | None = None,
        storage: Place | None = None,
        name: str = "study",
        initial_points: Iterable[object] | None = None,
        threads: int | None = 1,
        prior: Iterable[PriorSource] | None = None,
    ) -> None:
        goals = declare_goals(direction, directions, constraints, repeats, suggest_seconds, objective_name)
        self._open(
            space,
            goals,
            method=method,
            seed=seed,
            storage=storage,
            name=name,
            initial_points=initial_points,
            threads=threads,
            prior=prior,
            renames=not callable(objective_name),
        )

    def _open(
        self,
        space: Domain | Mapping[str, object],
        goals: Goals,
        *,
        method: str | Searcher,
        seed: int | None,
        storage: Place | None,
        name: str,
        initial_points: Iterable[object] | None = None,
        threads: int | None = 1,
        prior: Iterable[PriorSource] | None = None,
        problem: str | None = None,
        renames: bool = False,
        opened: tuple[StoredStudy, StudyWriter] | None = None,
    ) -> None:
        """Create a study or continue the stored one; raises the errors of the class.

        problem: name of the problem; None for a study without a named problem.
        renames: whether a stored study gets the objective names of the call.
        opened: the stored study and its writer, if it is already open.
        """
        domain = as_domain(space)
        alone = build_searcher(method, domain, goals)
        tasks = describe_prior(domain, read_prior(prior, domain, goals))
        searcher = with_prior(alone, tasks, name_method(method))
        given = StudyRow(
            name=_check_study_name(name),
            domain=dump(domain.to_json()),
            method=dump(describe_method(method, searcher, tasks, problem)),
            seed=int.from_bytes(os.urandom(4)) if seed is None else _check_seed(seed),
            goals=dump(goals.to_json()),
            initial=dump(encode_points(domain, initial_points)),
            state=dump(searcher.initial_state()),
            created=now(),
            version=__version__,
        )
        limit, place = _limit_threads(threads), open_storage(storage)
        stored, store = opened or _begin(place, given)
        if renames and (renamed := rename_objectives(stored.study, given)) is not None:
            store.close()
            place.change_goals(stored.study.name, renamed)
            stored, store = _begin(place, given)
        with _close_on_error(store):
            check_study_rows(stored, place.label)
            check_same_problem(stored.study, problem, place.label)
            if storage is not None:  # in memory, choices are kept themselves
                warn_of_ambiguous_choices(given.domain, place.label)
            earlier = migrate_prior(stored, domain)
            searcher, given = adopt_prior(stored, given, alone, earlier, place.label)
            change = check_change(stored, given, domain, place.label, seed_given=seed is not None)
            warn_of_lost_prior(stored, earlier, domain, place.label)
            stored = record_change(stored, change, store, given.state, place.label)
            self._attach(place, stored, store, domain, searcher, limit)
            self._ledger.requeue_stale()

    @classmethod
    def for_problem(
        cls,
        problem: str,
        space: Domain | Mapping[str, object],
        goals: Goals,
        *,
        method: str | Searcher = "auto",
        seed: int | None = None,
        storage: Place | None = None,
        name: str = "study",
        initial_points: Iterable[object] | None = None,
    ) -> Study:
        """Create or resume a study that stores the name of its problem.

        Parameters
        ----------
        problem : str
            The name of the problem. A stored study without one matches any.
        goals : Goals
            Directions, names and constraints, as returned by `bostruct.goals.declared.declare_goals`.
        space, method, seed, storage, name, initial_points
            As in `Study`.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        StudyMismatch
            If the stored study has another problem. It is left unchanged.
        """
        study = cls.__new__(cls)
        how: dict[str, Any] = {
            "method": method,
            "seed": seed,
            "storage": storage,
            "name": name,
            "initial_points": initial_points,
        }
        study._open(space, goals, **how, problem=problem)
        return study

    @classmethod
    def load(
        cls,
        storage: Place,
        name: str | None = None,
        *,
        space: Domain | Mapping[str, object] | None = None,
        method: str | Searcher | None = None,
        threads: int | None = 1,
        read_only: bool = False,
    ) -> Study:
        """Open a stored study.

        Parameters
        ----------
        storage : path, URL, or Storage
            The storage that holds the study.
        name : str, optional
            The name of the study. Optional if the storage holds only one.
        space : Space, dict, or Domain, optional
            Needed only if the storage cannot hold the space: predicates as constraints, choices that are Python
            objects, search spaces that are functions.
        method : str or Searcher, optional
            Needed only if the method is a searcher object.
        threads : int or None, default 1
            Threads for the model, at least 1. None leaves the current setting unchanged.
        read_only : bool, default False
            If True, the study can be read while others write, but not asked or told. Points of an unknown space are
            shown as they are stored.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        StorageError
            If there is no such study, or the storage cannot be read.
        DomainError
            If the space is needed or does not match.
        StudyLocked
            If another process has the study open and cannot share it.
        StudyMismatch
            If the space or the method differs from the stored one.
        """
        place = open_storage(storage)
        if read_only:
            stored = place.read(name)
            row = check_study_rows(stored, place.label)
            study = cls.__new__(cls)
            study._attach(place, stored, None, readable_domain(space, row), None, _limit_threads(threads))
            if study._ledger.evaluated and (present := place.find_writers()) is not None:
                study._ledger.note_writers(present)
            study._method = method
            return study
        _limit_threads(threads)
        stored, store = place.begin(find_study(place.studies(), name, place.label))
        study = cls.__new__(cls)
        with _close_on_error(store):
            row = check_study_rows(stored, place.label)
            domain = stored_domain(row) if space is None else as_domain(space)
            how: dict[str, Any] = {
                "method": stored_method(row) if method is None else method,
                "seed": row.seed,
                "storage": place,
                "name": row.name,
            }
            try:
                study._open(domain, read_goals(row, place.label), **how, threads=threads, opened=(stored, store))
            except DomainError as error:
                raise error if space is not None else explain_rebuild(domain, row, error) from error
        return study

    @classmethod
    def from_optuna(
        cls,
        optuna_study: object,
        space: Domain | Mapping[str, object] | None = None,
        *,
        method: str | Searcher = "auto",
        seed: int | None = None,
        storage: Place | None = None,
        name: str = "study",
        threads: int | None = 1,
    ) -> Study:
        """Create a study from the finished trials of an Optuna study; needs the extra `optuna`.

        Failed trials stay failed, pruned trials have their last report as their value, and running trials are omitted.

        Parameters
        ----------
        optuna_study : optuna.Study
            The study to read. Its directions are kept. A constraint that all completed trials measured becomes an
            outcome constraint, at most 0; a trial that violates another constraint is infeasible.
        space : Space, dict, or Domain, optional
            The space of the trials. By default it is inferred from their distributions: numbers keep their step, a
            parameter with one value is dropped, and a parameter that some trials lack gets a condition (`when=`) if the
            value of one other parameter decides whether it is present.
        method, seed, storage, name, threads
            As in `Study`. The storage must not hold the study yet.

        Returns
        -------
        Study
            The study, which can be continued.

        Raises
        ------
        DomainError
            If the space cannot be inferred: a parameter has several ranges, or nothing decides when it is present.
        PointError
            If a completed trial is outside the space.
        MissingExtra
            If Optuna is not installed.
        TypeError
            If `optuna_study` is not an Optuna study.
        """
        load = load_by_name("bostruct.integrations.optuna_studies:import_study")  # imports this class
        settings = {"method": method, "seed": seed, "storage": storage, "name": name, "threads": threads}
        return load(cls, optuna_study, space, **settings)

    @classmethod
    def from_csv(
        cls,
        file: str | os.PathLike[str],
        objective: str,
        *,
        direction: Direction = "minimize",
        space: Domain | Mapping[str, object] | None = None,
        ignore: Sequence[str] = (),
        decimal: Literal[",", "."] | None = None,
        failed: str | None = None,
        unmeasured: Unmeasured = "skip",
        method: str | Searcher = "auto",
        seed: int | None = None,
        storage: Place | None = None,
        name: str = "study",
        threads: int | None = 1,
    ) -> Study:
        """Create a study from experiments in a CSV file, one per row; needs the extra `pandas`.

        Tables of `Result.to_csv`, Optuna, Ax, Ray Tune, MLflow, Weights & Biases, KTT and CLTune are recognized by
        their column names. Trials with a failed status are failed, regardless of their value.

        Parameters
        ----------
        file : str or path-like
            A file with a header, separated by commas, semicolons, tabs or bars, plain or compressed. At most 100,000
            rows, 5,000,000 cells and 256 MiB. Cells may be JSON lists.
        objective : str
            The column of the value. The unit may be omitted: ``yield`` finds the column ``yield (%)``.
        direction : {"minimize", "maximize"}, default "minimize"
            The direction of the objective.
        space : Space, dict, or Domain, optional
            Variables with the names of columns; other columns are ignored. By default the space is guessed. A warning
            shows it as Python code to be corrected and passed here, with a list of the columns that are no variables:
            constants, dates, row numbers, and strings that are nearly all distinct. Rows in which a variable is empty
            are omitted.
        ignore : sequence of str, default ()
            Columns to ignore.
        decimal : {",", "."}, optional
            The decimal mark. By default it is detected.
        failed, unmeasured
            As in `add_frame`. A row without a value was never run.
        method, seed, storage, name, threads
            As in `Study`. The storage must not hold the study yet.

        Returns
        -------
        Study
            The study, which can be continued.

        Raises
        ------
        ValueError, PointError
            If a cell is wrong, with its line and column, or the file is too large.
        MissingExtra
            If pandas is not installed.

        Examples
        --------
        >>> bo.Study.from_csv("results.csv", "yield", direction="maximize", storage="runs.db")         # doctest: +SKIP
        """
        load = load_by_name("bostruct.study.experiments:import_experiments")  # rarely needed
        settings = {"method": method, "seed": seed, "storage": storage, "name": name, "threads": threads}
        how = {"direction": direction, "space": space, "ignore": ignore, "decimal": decimal}
        return load(cls, file, objective, **how, failed=failed, unmeasured=unmeasured, **settings)

    @staticmethod
    def delete(storage: Place, name: str) -> None:
        """Delete a study and all its trials from its storage.

        Parameters
        ----------
        storage : path, URL, or Storage
            The storage that holds the study.
        name : str
            The name of the study.

        Raises
        ------
        StudyLocked
            If a process has the study open for writing.
        StorageError
            If there is no such study.
        """
        open_storage(storage).delete(_check_study_name(name))

    @staticmethod
    def rename(storage: Place, name: str, new: str) -> None:
        """Rename a study in its storage.

        Parameters
        ----------
        storage : path, URL, or Storage
            The storage that holds the study.
        name : str
            The name of the study.
        new : str
            The new name, 1 to 500 characters, which no other study in the storage has.

        Raises
        ------
        StudyLocked
            If a process has the study open for writing.
        StorageError
            If there is no such study, or the new name is taken.
        """
        open_storage(storage).rename(_check_study_name(name), check_new_name(_check_study_name(new)))

    @overload
    def ask(self) -> Trial: ...

    @overload
    def ask(self, n: int) -> list[Trial]: ...

    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Return the next trial to evaluate, or a list of n trials.

        The trials are stored as running. If the call fails, they are requeued.

        Parameters
        ----------
        n : int, optional
            Number of trials to evaluate in parallel, at least 1. Each point is chosen with the earlier ones running, as
            by n calls. The list is shorter if fewer unseen points are left. If None, one trial is returned, not a list.

        Returns
        -------
        Trial or list of Trial
            The running trials.

        Raises
        ------
        SpaceExhausted
            If no unseen point is left.
        """
        wanted = 1 if n is None else check_integer("n", n, 1)
        trials: list[Trial] = []
        with self._asking, self._ledger.requeue_on_error(self._mutex):  # until other writers may continue
            with self.ask_lock():
                try:
                    while len(trials) < wanted:
                        trials.append(self._ask_next(self._suggestions()))
                except SpaceExhausted:
                    if not trials:
                        raise
            return trials[0] if n is None else trials

    def ask_jointly(self, n: int, missing: Callable[[], int] | None = None) -> Iterator[Trial]:
        """Yield n trials to evaluate in parallel; up to 8 share one fit of the model if the method can.

        Use it for many workers and a fast objective. Outcomes observed between two trials of a batch affect only the
        next fit. A batch ends when another process asks. Fewer trials are yielded if fewer unseen points are left.

        Parameters
        ----------
        n : int
            Number of trials, at least 1.
        missing : callable, optional
            Returns the number of trials that are still wanted. If it is 0, a trial that waits after a failure of its
            machine is yielded before another trial completes.

        Yields
        ------
        Trial
            A running trial.

        Raises
        ------
        SpaceExhausted
            If no unseen point is left for the first trial.
        BostructError
            If the study cannot be asked.
        """
        return self._ask_jointly(check_integer("n", n, 1), self._suggestions(), missing)

    def _ask_jointly(
        self,
        n: int,
        points: JointPoints,
        missing: Callable[[], int] | None,
        wanted: Callable[[], bool] | None = None,
        note: Callable[[Trial], object] | None = None,
    ) -> Iterator[Trial]:
        """Yield the trials of `ask_jointly`.

        wanted: as in `ask_lock`.
        note: called with each trial before other writers may ask, and before an interrupt that waits for that.
        """
        for place in range(n):
            try:
                with self._asking, self._ledger.requeue_on_error(self._mutex), self.ask_lock(wanted):
                    trial = self._ask_next(points, missing)
                    if note is not None:
                        note(trial)
            except SpaceExhausted:
                if place == 0:
                    raise
                return
            yield trial

    def prefetch(self, n: int = 1) -> int:
        """Choose points ahead until n trials are queued, so that the next `ask` returns at once.

        Queued trials count as running, and later observations do not change them.

        Parameters
        ----------
        n : int, default 1
            Number of queued trials to reach, at least 1.

        Returns
        -------
        int
            The number of queued trials, fewer than `n` if fewer unseen points are left.

        Raises
        ------
        BostructError
            If the study cannot be asked.
        """
        check_integer("n", n, 1)
        with self.ask_lock(), suppress(SpaceExhausted):
            points = self._suggestions()
            while self.n_waiting < n:
                self._begin_next(points, waits=True)
        return self.n_waiting

    @contextmanager
    def ask_lock(self, wanted: Callable[[], bool] | None = None) -> Iterator[None]:
        """Keep other threads and processes from asking during a `with` block; they may still tell and add.

        On entry the study reads the changes of other processes, and queues the trials of dead processes.

        Parameters
        ----------
        wanted : callable, optional
            Returns whether another trial is wanted, such as ``lambda: study.n_finished + study.n_remote < 100``. If it
            returns False, `ask` raises NotWanted. Without it, another process can ask within the block only if this one
            loses its connection to a database.
        """
        with self._asking:
            self._writable()
            with self._ledger.ask_lock(wanted):
                with self._mutex:
                    self._writable()  # it may have been closed meanwhile
                    self._ledger.sync()
                    self._ledger.requeue_stale()
                yield

    def sync(self) -> None:
        """Read the changes of other processes. `ask` and `tell` do this automatically."""
        with self._mutex:
            self._ledger.sync()

    def tell(
        self,
        trial: Trial | int,
        value: object = None,
        *,
        sd: float | None = None,
        repeats: Sequence[float] | None = None,
        constraints: Mapping[str, float] | None = None,
        failed: str | None = None,
        infeasible: str | None = None,
        attributes: Mapping[str, object] | None = None,
        finished: float | None = None,
        reports: Iterable[tuple[int, float]] = (),
        retry: bool | int = False,
        machine: str | None = None,
    ) -> Trial:
        """Record the outcome of a running trial. The outcome is stored when this method returns.

        Each `ask` of a trial allows one `tell`. If the trial already has an outcome, because it was evaluated again
        after `requeue` or by another process, the new outcome becomes another trial of the same point. Its
        ``info["double_of"]`` is the number of the first trial, and `n_trials` does not count it.

        Parameters
        ----------
        trial : Trial or int
            A running trial, or its number.
        value : object, optional
            A number; a tuple for several objectives; a dict with ``value`` and any of ``constraints``, ``sd`` and
            ``repeats``; or a `bostruct.Outcome`. NaN and infinities are failures.
        sd : float, optional
            Standard deviation of the noise in the value, 0 to 1.3e154. If None or NaN, it is learned.
        repeats : sequence of float, optional
            Repeated measurements of the point, whose mean is the value.
        constraints : mapping of str to float, optional
            The measured quantity of each constraint, by name.
        failed, infeasible : str, optional
            The reason why there is no value, a non-empty string.
        attributes : mapping of str to object, optional
            Data to keep with the trial, such as the path of a file, for `Trial.attributes`. JSON by name, at most
            65,536 characters. Models ignore them. Invalid attributes are omitted with a warning.
        finished : float, optional
            Seconds since the epoch when the evaluation ended, at most a day before the trial started or from now. By
            default now.
        reports : iterable of tuple of (int, float), default ()
            Intermediate steps and values, ascending by step, for stopping rules. Without a value or a reason, the trial
            was stopped at the last report, and has its value.
        retry : bool or int, default False
            Number of times to queue the trial again if it failed for reasons other than its point; True is 2. The trial
            is then running again, ``info["failed_before"]`` has the reasons, and ``info["retries"]`` the number of
            retries.
        machine : str, optional
            Why the machine, not the point, caused the failure, such as ``"a full disk"``. The trial is queued again
            once, after another trial completes (``info["machine_failure"]``). If it fails for the same reason, the
            point is blamed; otherwise models ignore the failure.

        Returns
        -------
        Trial
            The trial with its outcome.

        Raises
        ------
        TypeError
            If the value has the wrong type.
        ValueError
            If the trial is not running, a constraint was not measured, or is not declared. Nothing is recorded.
        StorageError
            If the file was removed, renamed or replaced. The outcome is kept in memory, for `save`.
        """
        with self._mutex:
            self._writable()
            self._ledger.sync_unless_running(trial)
            number = self._ledger.running(trial)
            known = self._ledger.trial(number)
            ended = None if finished is None else _check_end(finished, known.started)
            noted = describe_reports(reports)
            is_stopped = bool(noted) and all(one is None for one in (value, repeats, failed, infeasible))
            if is_stopped:
                noted["stopped_at"], value = noted["reports"][-1]
            outcome = parse_outcome(value, failed, infeasible, sd=sd, repeats=repeats, constraints=constraints)
            outcome, kept = _split_attributes(number, self.goals.check(outcome), attributes)
            retries = RETRIES * retry if isinstance(retry, bool) else check_integer("retry", retry, 0)
            if retries and outcome.failed is None and not (is_stopped or isinstance(value, Outcome)):
                given = "a value" if outcome.infeasible is None else "infeasible="
                raise ValueError(f"retry: expected only with failed=, because only failures are retried, got {given}")
            begun = trial.started if isinstance(trial, Trial) else None
            blamed = {} if machine is None else self._ledger.blame_machine(number, _check_cause(machine, outcome))
            has_retries = known.info.get("retries", 0) < retries
            is_retried = MACHINE in blamed or (not blamed and has_retries)  # the machine has one retry
            if outcome.failed is not None and is_retried:
                return self._ledger.retry(number, outcome.failed, begun, blamed)
            return self._ledger.finish(number, outcome, ended, noted | blamed | kept, begun)

    def add(
        self,
        point: object,
        value: object = None,
        *,
        sd: float | None = None,
        repeats: Sequence[float] | None = None,
        constraints: Mapping[str, float] | None = None,
        failed: str | None = None,
        infeasible: str | None = None,
        attributes: Mapping[str, object] | None = None,
    ) -> Trial:
        """Add an earlier result as a finished trial, which `n_trials` does not count.

        The trial keeps your numbers. The model uses the nearest value on the fine grid of a `Real`; a warning is given
        if an earlier trial has another number with the same nearest value.

        Parameters
        ----------
        point : object
            The point, as the objective would receive it.
        value, sd, repeats, constraints, failed, infeasible, attributes
            The outcome, as in `tell`.

        Returns
        -------
        Trial
            The new trial.

        Raises
        ------
        PointError
            If the point is outside the space.
        TypeError, ValueError
            If the outcome is invalid.
        """
        with self._mutex:
            self._writable()
            outcome = parse_outcome(value, failed, infeasible, sd=sd, repeats=repeats, constraints=constraints)
            outcome, kept = _split_attributes(len(self._ledger), self.goals.check(outcome), attributes)
            return cast(Trial, self._add([AddedPoint(self.domain.parse(point), outcome, point, kept)])[0])

    def _add(self, points: Sequence[AddedPoint]) -> list[Trial | None]:
        trials = self._ledger.add(points)
        for trial in trials:
            if trial is not None and (other := trial.info.get("same_step_as")) is not None:
                warnings.warn(
                    f"trial {trial.number}: {short_repr(trial.point, 200)} is the same point as trial {other} to a "
                    "model: their numbers round to the same value of the grid",
                    stacklevel=count_own_frames(),
                )
        return trials

    def add_frame(
        self,
        frame: DataFrame,
        value: str | Sequence[str] = "value",
        *,
        failed: str | None = None,
        unmeasured: Unmeasured = "skip",
    ) -> list[Trial]:
        """Add each row of a pandas DataFrame as a finished trial, as `add` does.

        Nothing is added if one row is wrong. Queued rows are added after all others. Warnings count the rows that are
        omitted or queued, and the numbers that are rounded.

        Parameters
        ----------
        frame : DataFrame
            One column for each variable, named `x` or `point.x`, as `Result.to_dataframe` writes them. A missing value
            is an inactive variable. A number that rounds to one choice, and a text that is the Python literal of a
            value, are read as that value. The quantity of a constraint is in the column `constraint.NAME`. A column
            `status` with words such as ``failed`` marks rows that failed or are infeasible, and `reason` gives the
            reasons. `value.sd` and `value.repeats` are read as our tables have them; other columns are ignored. A
            variable with one of these names takes the column.
        value : str or sequence of str, default "value"
            The column of the value, or one column for each of several objectives.
        failed : str, optional
            The column that marks failed rows, by True, by a word such as ``failed``, or by a reason.
        unmeasured : {"skip", "queue"}, default "skip"
            What to do with a row that has no value and did not fail. "skip" omits it; "queue" makes it a trial that the
            next `ask` returns, unless the study has its point. A row with only some of its values is always queued;
            ``info["measured"]`` has its numbers.

        Returns
        -------
        list of Trial
            The new trials.

        Raises
        ------
        PointError, TypeError, ValueError
            If a row is invalid.
        """
        rows = from_dataframe(frame, value, failed, unmeasured, self.domain, self.goals)
        waiting = [row for row in rows if row.outcome is None]
        waiting.sort(key=lambda row: not row.measured)  # among rows of one point, the row with numbers comes first
        with self.ask_lock() if waiting else nullcontext(), self._mutex:
            self._writable()
            rows = [row for row in rows if row.outcome is not None] + waiting
            points = [self._read_row(number, row) for number, row in enumerate(rows, len(self._ledger))]
            n = 1 if self._ledger.owner is None else CHUNK_SIZE  # an exclusive writer has no transactions
            added = [trial for i in range(0, len(points), n) for trial in self._add(points[i : i + n])]
        if known := [row.point for row, trial in zip(rows, added, strict=True) if trial is None]:
            warnings.warn(
                f"frame: {pluralize(len(known), 'row')} without a value not queued, such as "
                f"{short_repr(known[0], 200)}: the study already has trials of these points",
                stacklevel=count_own_frames(),
            )
        return [trial for trial in added if trial is not None]

    def _read_row(self, number: int, row: FrameRow) -> AddedPoint:
        """Return the point of a row of a frame, which becomes the trial of a number."""
        noted: Info = {"measured": row.measured} if row.measured else {}
        noted |= _split_attributes(number, Outcome(failed="-"), row.attributes)[1]
        return AddedPoint(self.domain.parse(row.point), row.outcome, row.point, noted)

    def requeue(self, trial: Trial | int) -> None:
        """Put a running or failed trial back in the queue, so that the next `ask` returns it again.

        Parameters
        ----------
        trial : Trial or int
            A running or failed trial, or its number. A failed trial is then no longer finished; its reason moves to
            ``info["failed_before"]``.

        Raises
        ------
        ValueError
            If the trial has another status, or was added.
        """
        with self._mutex:
            self._writable()
            self._ledger.sync_unless_running(trial)
            self._ledger.requeue(self._ledger.check_requeueable(trial))

    def give_back(self, trials: Iterable[Trial]) -> None:
        """Put unfinished trials back in the queue without counting an attempt.

        Trials that were finished, requeued or asked again in the meantime are left unchanged.

        Parameters
        ----------
        trials : iterable of Trial
            Trials that `ask` returned.

        Raises
        ------
        ValueError
            If a trial belongs to another study.
        TypeError
            If an item is not a trial.
        """
        if not isinstance(trials, Iterable):
            raise TypeError(f"trials: expected a list of trials as `ask` returned them, got {short_repr(trials)}")
        with self._mutex:
            self._writable()
            self._ledger.give_back([self._ledger.identify(trial) for trial in trials])

    def cancel(self, trial: Trial | int) -> Trial:
        """Cancel a running trial. `ask` does not return it again, and the method ignores it.

        The trial is stored as failed, with the reason ``canceled``, and counts as finished. Its point is not suggested
        again unless `requeue` is called. `optimize` kills the trial's worker process; an objective in this process runs
        to its end, and its outcome is ignored.

        Parameters
        ----------
        trial : Trial or int
            A running trial, or its number.

        Returns
        -------
        Trial
            The canceled trial.

        Raises
        ------
        ValueError
            If the trial is not running.
        """
        with self._mutex:
            self._writable()
            self._ledger.sync_unless_running(trial)
            return self._ledger.cancel(self._ledger.running(trial))

    def optimize(
        self,
        objective: Callable[[Presented], object],
        n_trials: int | None = None,
        *,
        n_more: int | None = None,
        timeout: float | None = None,
        patience: int | None = None,
        cancel_running: bool = False,
        workers: int = 1,
        executor: Executor | None = None,
        trial_timeout: float | None = None,
        load_timeout: float = 60.0,
        callbacks: Callback | Sequence[Callback] = (),
        progress: bool | None = None,
        reraise: type[Exception] | tuple[type[Exception], ...] = (),
        stopping_rule: StoppingRule | None = None,
        retries: int = 0,
        max_initial_failures: FailureLimit = "auto",
    ) -> Result:
        """Evaluate trials until a number of them has finished or the time is up.

        An exception in the objective fails its trial, and the study continues. A run ends with the errors below, with
        KeyboardInterrupt, and, after a SIGTERM without a handler, with ``SystemExit(143)`` in the main thread. An ended
        run can be resumed, and its exception carries the result so far as ``error.result``.

        Parameters
        ----------
        objective : callable
            Called as ``objective(point)``. Returns a number, or anything else that `tell` accepts as a value. Without
            an `objective_name`, results use its name.
        n_trials : int, optional
            Total number of finished trials of the study, at least 0. Failed trials count, added ones do not. The same
            call again resumes an interrupted run, and does nothing after a finished one. Optional if `n_more`,
            `timeout` or `patience` ends the run.
        n_more : int, optional
            Number of finished trials to add to those of the study, at least 0, instead of `n_trials`.
        timeout : float, optional
            Wall-clock seconds of this call, at least 0. No trial starts afterward; running trials finish, or end at
            their `trial_timeout`. A resumed call has the full time again.
        patience : int, optional
            Ends the run after this number of completed trials in a row without a better one, or of failed trials.
            Trials of earlier calls count, except with `n_more`. With constraints, a smaller violation is better until a
            trial is feasible; with several objectives, each trial that enters the Pareto front is better.
        cancel_running : bool, default False
            If True, running trials are requeued at the timeout; the next run evaluates them first. A single worker then
            runs in a separate process.
        workers : int, default 1
            Number of worker processes, or of trials in flight with an executor. One worker without `trial_timeout` runs
            in this process.
        executor : concurrent.futures.Executor, optional
            Evaluates the trials instead of worker processes.
        trial_timeout : float, optional
            Seconds per trial, at least 0.001, after which the worker is killed and the trial fails. Not with an
            executor.
        load_timeout : float, default 60.0
            Seconds in which a worker must load the objective, at least 0.001. A worker that is slower or dies is
            replaced at most twice per trial.
        callbacks : callable or sequence of callables, default ()
            Called as ``callback(study, trial)`` after each finished trial. The `check_study(study)` of a
            `StoppingCallback` is also called before the first trial; it may raise, or end the run by `stop`.
        progress : bool, optional
            Whether to show a progress bar on stderr. By default it is shown in a terminal and in a notebook.
        reraise : exception class or tuple of them, default ()
            Exceptions of the objective that end the run, in addition to failing their trial.
        stopping_rule : StoppingRule, optional
            Stops trials early by the values that the objective passes to `bostruct.report`, such as
            `bostruct.MedianRule`. A stopped trial has the last reported value.
        retries : int, default 0
            Number of times that a failed or timed-out trial is evaluated again, at least 0. A trial that raised
            `bostruct.Transient` is evaluated again at least twice.
        max_initial_failures : int, "auto", or None, default "auto"
            Ends the run after this number of failed trials if no trial of the study has completed, at least 1. "auto"
            is the largest of 10, twice the workers, and the number of initial points. Outcomes with ``failed``,
            Infeasible and Transient do not count. None never ends the run, not even after five equal errors.

        Returns
        -------
        Result
            The result so far.

        Raises
        ------
        ObjectiveError
            If no trial has completed and the objective has a mistake: a TypeError, AttributeError or NameError, a
            return value that is not a number, a missing constraint, or the same exception in five trials in a row.
            These trials are requeued.
        ExecutorError
            If the executor is broken.
        BostructError
            If five trials in a row fail because of the machine, such as a full disk, or no worker can load the
            objective.
        TypeError, ValueError
            If an argument is invalid.
        """
        how = RunSettings(
            objective,
            n_trials,
            n_more,
            timeout,
            patience,
            cancel_running,
            workers,
            executor,
            trial_timeout,
            load_timeout,
            callbacks,  # type: ignore[arg-type]  # one callback represents a sequence
            progress,
            reraise,  # type: ignore[arg-type]
            stopping_rule,
            retries,
            max_initial_failures,
        )
        how.check_goals(self.goals)
        self._writable()
        self._ledger.goals = self.goals.named_after(objective)
        self._stop = None
        with self.result_on_error():
            try:
                self._stopped_because = run_trials(self, how)
            except KeyboardInterrupt as error:
                if (frames := objective_frames(error)) is None:
                    raise
                # the traceback then starts at the objective, with few internal frames
                raise error.with_traceback(frames) from None
            self._note_idle_run(n_trials, progress)
            self.sync()
            return self.result

    def _note_idle_run(self, n_trials: int | None, progress: bool | None) -> None:
        """Warn of a second run of this object that had nothing to do; for a reopened study, print and log it."""
        if not (n_trials and (self._stopped_because or "").startswith(NOTHING_TO_DO)):
            self._has_run = True
            return
        hint = (
            f"n_trials is a total; n_trials={2 * self.n_finished} or n_more={self.n_finished} evaluates as many again"
        )
        message = f"study {self.name!r}: {self._stopped_because}; {hint}"
        if self._has_run:
            warnings.warn(message, stacklevel=count_own_frames())
            return
        self._has_run = True
        log.info(message)
        if progress is not False:
            print(message, file=sys.stderr)

    @contextmanager
    def result_on_error(self) -> Iterator[None]:
        """Attach the result so far to each exception that leaves a `with` block, as `error.result`."""
        try:
            yield
        except BaseException as error:
            with suppress(Exception):  # an error here must not replace the original one
                add_note(error, self._describe_end(error), self.result)
            raise

    def _describe_end(self, error: BaseException) -> str:
        finished, where = f"{pluralize(self.n_finished, 'trial')} finished", self.where
        is_asked = isinstance(error, KeyboardInterrupt | SystemExit)
        if where is not None and not isinstance(error, StorageError) and (is_asked or self.n_finished):
            return (
                f"Study {self.name!r} is safe in {where}, with {finished}. To continue, make the same call again, or "
                f"use Study.load({where!r}, {self.name!r})."
            )
        if self.n_finished == 0:
            return ""
        return f"{finished}. The result so far is error.result, or sys.last_value.result in a notebook or a console."

    def bound_regret_probability(self, regret: float) -> float:
        """Return an upper bound of the probability that the regret of the best point exceeds `regret` (Wilson 2024).

        The bound holds with 95% confidence for one call, not jointly for all calls of a run, and is as good as the
        model. It is 1 until there are more values than initial points of the method, and while all values are equal.
        `bostruct.StopWhen` uses it. It also works on a read-only study.

        Parameters
        ----------
        regret : float
            Regret in the units of the values, at least 0.

        Returns
        -------
        float
            The bound, 0 to 1.

        Raises
        ------
        BostructError
            If the method has no suitable model.
        ValueError
            If an argument is invalid.
        """
        with self._asking, self._mutex, self._limit():
            searcher, state = self._model()()
            return bound_regret(searcher, self._ledger, self.seed, regret, self._method_label, state)

    def stop(self, reason: str = "stop() was called") -> None:
        """End `optimize` after the running trials, or record why a custom loop ended.

        Parameters
        ----------
        reason : str, default "stop() was called"
            The value of `Result.stopped_because`, until `optimize` is called again.
        """
        self._stop = reason

    @property
    def stopping(self) -> str | None:
        """The reason why `optimize` is ending; None if it is not."""
        return self._stop

    @property
    def name(self) -> str:
        """The name of the study in its file."""
        return self._row.name

    @property
    def seed(self) -> int:
        """The random seed. Together with a trial's number, it determines the trial's random generator."""
        return self._row.seed

    @property
    def goals(self) -> Goals:
        """The directions of the objectives and the constraints."""
        return self._ledger.goals

    @property
    def direction(self) -> str:
        """``minimize`` or ``maximize``.

        Raises
        ------
        BostructError
            If there are several objectives.
        """
        return self.goals.direction

    @property
    def version(self) -> str:
        """The version of bostruct that created the study."""
        return self._row.version

    @property
    def created(self) -> float:
        """The time at which the study was created, in seconds since the epoch."""
        return self._row.created

    @property
    def where(self) -> str | None:
        """Path of the study's file, or URL of its database without the password; None in memory or if it was lost."""
        return None if self._store is not None and self._store.lost is not None else self._place.where

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number."""
        return self._ledger.trials

    @property
    def in_flight(self) -> Mapping[int, float]:
        """The start time of each running trial that this object asked, by number."""
        return self._ledger.in_flight

    @property
    def n_remote(self) -> int:
        """The number of running trials that other processes, or other `Study` objects, evaluate."""
        with self._mutex:
            return self._ledger.n_remote

    @property
    def n_waiting(self) -> int:
        """The number of queued trials, which `ask` returns before it chooses new points.

        In a read-only study, it includes trials of dead processes.
        """
        with self._mutex:
            return len(self._ledger.waiting)

    @property
    def waiting(self) -> tuple[int, ...]:
        """The numbers of the queued trials."""
        with self._mutex:
            return tuple(self._ledger.waiting)

    @property
    def n_finished(self) -> int:
        """The number of finished trials that `n_trials` counts: asked trials, not added ones."""
        with self._mutex:
            return len(self._ledger.order) - self._ledger.n_added

    @property
    def n_unread(self) -> int:
        """The number of trials whose points are invalid in the study's changed space."""
        return sum(trial.unread is not None for trial in self.trials)

    @property
    def initial_points(self) -> tuple[Presented, ...]:
        """The initial points of the user."""
        where = f"{self._place.label}: study {self.name!r}"
        return tuple(self.domain.present(x) for x in read_initial(self._row, self.domain, where))

    @property
    def n_initial(self) -> int:
        """The number of initial points of the user and of the method."""
        own = 0 if self._searcher is None else self._searcher.n_initial
        return len(parse(self._row.initial)) + own

    @property
    def first_space(self) -> str:
        """The description of the space that the study was created with, as JSON text."""
        return self._ledger.first_space

    @property
    def space_changes(self) -> tuple[SpaceChange, ...]:
        """The changes of the study's space, oldest first."""
        return self._ledger.changes

    @property
    def result(self) -> Result:
        """The result of the study so far."""
        with self._mutex:  # a consistent snapshot
            trials, outcomes, points, model = self.trials, self._ledger.outcomes, self._ledger.points, self._model()
            order = tuple(number for number in self._ledger.order if trials[number].unread is None)
        fit = Fit(model, trials, outcomes, order, points, self.goals, self.seed, self._limit, self._method_label)
        stopped, parts = self._stop or self._stopped_because, (trials, order, self.goals, self.seed, self._method_label)
        return Result(*parts, stopped, beliefs=Lazy(fit), domain=self.domain, name=self.name, model=fit)

    def predict(self, points: Iterable[object]) -> Predictions:
        """Predict the objective without noise, and the probability of feasibility, at any points.

        Parameters
        ----------
        points : iterable
            m points, as the objective receives them.

        Returns
        -------
        Predictions
            `mean` and `sd`, of shape (m,) or (m, k) for k objectives, in the units of the values, and `chance` (m,).

        Raises
        ------
        PointError
            If a point is outside the space.
        BostructError
            If the method has no model, or no trial has completed.
        """
        with self._asking, self._mutex:
            return self.result.predict(points)

    @property
    def incumbent(self) -> Trial | None:
        """The best feasible trial so far; None if there is none, or there are several objectives."""
        return self._ledger.incumbent

    @property
    def best_trial(self) -> Trial:
        """The best feasible trial.

        Raises
        ------
        BostructError
            If no trial is feasible, or there are several objectives.
        """
        return self.incumbent or self.result.best_trial

    @property
    def best_value(self) -> float:
        """The value of the best trial, as the objective returned it."""
        return self.result.best_value if (best := self.incumbent) is None else best.values[0]

    @property
    def best_point(self) -> Presented:
        """The point of the best trial, as the objective received it."""
        return self.result.best_point if (best := self.incumbent) is None else best.point

    @property
    def pareto_front(self) -> tuple[Trial, ...]:
        """The feasible trials that no other trial dominates, sorted by the first objective.

        Raises
        ------
        BostructError
            If no trial is feasible.
        """
        return self.result.pareto_front

    def save(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        """Copy the study with all its trials to another storage.

        A study whose file was lost continues in the new one, under the new name. Other studies stay in their storage.

        Parameters
        ----------
        path : str or path-like
            A new file, a file with other studies, or a ``postgresql://user@host/database`` URL; with another name also
            the study's own storage. Running trials are queued in the copy.
        name : str, optional
            The name of the copy, 1 to 500 characters. By default the name of the study.

        Raises
        ------
        StorageError
            If the storage holds a study of this name, or cannot be written.
        TypeError, ValueError
            If an argument is invalid.
        """
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"path: expected the path of a file, got {hide_passwords(short_repr(path))}")
        name = self.name if name in (None, self.name) else check_new_name(_check_study_name(name))
        with self._mutex:
            place = open_storage(path)
            self._ledger.sync()
            if self._store is not None and self._store.is_open and self._store.lost is not None:
                store = place.save(self._ledger.export(name))
                self._store.close()
                self._ledger.adopt_store(store, place.label, name)
                self._place, self._row = place, self._row._replace(name=name)
                self._rows = self._rows._replace(study=self._rows.study._replace(name=name))
            else:
                write_copy(self._ledger, place, name)

    @defer_signals_once_begun
    def close(self) -> None:
        """Close the study's storage. When it is opened again, `ask` returns unfinished trials first.

        If the file was removed, renamed or replaced, the study is saved to a new file, which a warning names.
        """
        try:
            with self._mutex:
                if self._store is not None:
                    with suppress(StorageError):  # `end` handles it
                        self._store.check_place()
        finally:
            end(self._ledger, self._mutex)  # again, in case an earlier call failed
            self._finalizer.detach()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = self.where or "memory"
        unread = f", {self.n_unread} of them not in its space" if self.n_unread else ""
        trials = pluralize(len(self._ledger), "trial")
        return f"Study({self.name!r} in {where}, {self.goals}, {trials}{unread}, seed {self.seed})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.result._repr_html_()}"

    def _attach(
        self,
        place: Storage,
        stored: StoredStudy,
        store: StudyWriter | None,
        domain: Domain,
        searcher: Searcher | None,
        limit: ThreadLimit,
    ) -> None:
        self.domain: Domain = domain
        self._place = place
        self._row = current_row(stored)
        self._method_label = method_label(self._row)
        self._rows = stored._replace(trials=[])  # of the study and its changes
        self._searcher = searcher
        self._method: str | Searcher | None = None  # the argument of `load`, for reading only
        self._limit = limit
        self._asking = make_lock()  # acquired before the other lock; a tell does not wait for a suggestion
        self._mutex = make_lock()
        self._fallbacks = FallbackWatch()
        self._stop: str | None = None
        self._stopped_because: str | None = None
        self._has_run = False
        self._ledger = Ledger(domain, stored, store, place.label)
        self._finalizer = weakref.finalize(self, defer_signals_unseen(end), self._ledger, self._mutex)

    @property
    def _store(self) -> StudyWriter | None:
        return self._ledger.store

    def _writable(self) -> Searcher:
        if not self._finalizer.alive:
            raise BostructError(
                f"study {self.name!r} is closed" + ("; Study.load opens it again" if self.where else "")
            )
        searcher = self._searcher
        if searcher is None:
            raise BostructError(f"study {self.name!r} was loaded with read_only=True; it cannot be asked or told")
        return searcher

    def _model(self) -> Callable[[], tuple[Searcher, str]]:
        """Return a function that returns the searcher and its state, without keeping the study alive."""
        searcher, state = self._searcher, self._ledger.state
        if searcher is None:
            return partial(readable_searcher, self._method, self.domain, self._rows)
        return lambda: (searcher, state)

    def _suggestions(self) -> JointPoints:
        """Return the iterator of the next points."""
        return JointPoints(self._writable(), self._ledger, self.seed, self._method_label, self._mutex)

    def _ask_next(self, points: JointPoints, missing: Callable[[], int] | None = None) -> Trial:
        with self._mutex:
            self._ledger.check_wanted()
            trial = self._ledger.ask_again(missing)
        if trial is None:
            try:
                trial = self._begin_next(points)
            except SpaceExhausted:
                with self._mutex:
                    trial = self._ledger.ask_again(lambda: 0)  # even if it waits for another trial to complete
                if trial is None:
                    raise
        return replace(trial, point=self._ledger.fresh_point(trial.number))

    def _begin_next(self, points: JointPoints, waits: bool = False) -> Trial:
        while True:
            with self._limit():
                found = points.find_next()
            if waits:
                found = found._replace(info=found.info | {"prepared": True})
            with self._mutex:
                trial = self._ledger.begin(found, waits)
                if trial is not None:
                    self._fallbacks.note(f"study {self.name!r}", found.info)
                    return trial


def _check_end(finished: float, started: float) -> float:
    """Return the end of an evaluation; raise ValueError for an impossible time, such as a duration."""
    ended, present = check_number("finished", finished), now()
    # the clock may have been wrong when the trial started
    earliest, latest = max(min(started, present) - CLOCKS_APART, 0.0), max(started, present) + CLOCKS_APART
    if not earliest <= ended <= latest:
        unit = name_unit(ended, earliest, latest)
        hint = f"these are {unit}: divide by {UNITS[unit]:.0f}" if unit else "omit it for the present time"
        raise ValueError(
            f"finished: expected seconds since the epoch, from {earliest:.0f}, a day before the trial started, to "
            f"{latest:.0f}, a day from now, got {short_repr(finished)}; {hint}"
        )
    return ended


def _split_attributes(number: int, outcome: Outcome, given: object) -> tuple[Outcome, Info]:
    """Return an outcome without its attributes, and all valid attributes as trial info.

    Warns of invalid attributes; the outcome is recorded in any case.
    """
    reader = AttributeReader()
    outcome = reader.read_outcome(outcome)
    if given is not None:
        reader.read(given)
    for why in reader.refused:
        warnings.warn(f"trial {number}: {why}", stacklevel=count_own_frames())
    return outcome, {ATTRIBUTES: reader.kept} if reader.kept else {}


def _check_cause(machine: object, outcome: Outcome) -> str:
    """Return the cause of a machine failure; raise TypeError if it is invalid, ValueError for another outcome."""
    if not isinstance(machine, str) or not machine:
        raise TypeError(f"machine: expected a reason, a non-empty string, got {short_repr(machine)}")
    if outcome.failed is None:
        raise ValueError("machine: expected only with failed=, because only failures have a cause")
    return storable(cut_middle(machine))


def _begin(place: Storage, given: StudyRow) -> tuple[StoredStudy, StudyWriter]:
    """Create a study or open the stored study of its name; raise ValueError if a new name is too long or blank."""
    try:
        check_new_name(given.name)
    except ValueError:  # an earlier version may have created it
        if given.name not in {row.name for row in place.studies()}:
            raise
    return place.begin(given)


@contextmanager
def _close_on_error(store: StudyWriter) -> Iterator[None]:
    check_part("storage: its writer", store, StudyWriter)
    try:
        yield
    except BaseException:
        store.close()
        raise


def _check_seed(seed: object) -> int:
    """Return a seed; raise ValueError if Python cannot parse its digits."""
    if (found := check_integer("seed", seed, 0)) >= 10**SEED_DIGITS:
        raise ValueError(f"seed: expected fewer than {SEED_DIGITS + 1:,} digits, got {short_repr(seed)}")
    return found


def _check_study_name(name: object) -> str:
    """Return a study's name; raise ValueError if it is invalid."""
    if not isinstance(name, str) or not name or name != storable(name):
        raise ValueError(f"name: expected a non-empty string of valid Unicode, got {short_repr(name)}")
    return name


def _limit_threads(threads: int | None) -> ThreadLimit:
    """Return the limit on threads; raise TypeError or ValueError for a wrong number."""
    return ThreadLimit(None if threads is None else check_integer("threads", threads, 1))
