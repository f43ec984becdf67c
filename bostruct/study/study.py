"""The study: it asks a searcher for points, is told what came of them, and loses nothing.

It does no mathematics. Values flip once, here, if they are maximized.
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
from typing import TYPE_CHECKING, Any, Literal, overload

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
from bostruct.contracts import BostructError, Domain, DomainError, Info, Point, Presented, Searcher, SpaceExhausted
from bostruct.display import pluralize
from bostruct.domains.registry import as_domain
from bostruct.execution.clock import UNITS, name_unit, now
from bostruct.execution.evaluation import objective_frames
from bostruct.execution.interrupts import defer_signals_once_begun, defer_signals_unseen, make_lock
from bostruct.goals.declared import Declared, Direction, Goals, declare_goals
from bostruct.outcome import Outcome, cut_middle, parse_outcome, read_attributes, storable
from bostruct.storage.backends import open_storage
from bostruct.storage.json_text import dump, parse
from bostruct.storage.postgresql.connecting import hide_passwords
from bostruct.storage.protocol import (
    SEED_DIGITS,
    NameTooLong,
    SpaceChange,
    Storage,
    StorageError,
    StoredStudy,
    StudyRow,
    StudyWriter,
    check_new_name,
    find_study,
)
from bostruct.study.frames import FrameRow, Unmeasured, read_frame
from bostruct.study.history import ATTRIBUTES, MACHINE, Trial
from bostruct.study.ledger import RETRIES, Ledger, NextPoint, count_retries
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
    warn_of_alike_choices,
)
from bostruct.study.result import Result
from bostruct.study.run_settings import FailureLimit, RunSettings
from bostruct.study.saving import end, write_copy
from bostruct.study.space_changes import check_change, check_study_rows, current_row, record_change
from bostruct.study.stopping import StoppingRule, describe_reports
from bostruct.study.stored_searcher import (
    adopt_prior,
    build_searcher,
    readable_searcher,
    reread_prior,
    warn_of_lost_prior,
)
from bostruct.study.suggestion import FallbackWatch, JointPoints
from bostruct.study.threads import ThreadLimit

if TYPE_CHECKING:
    from pandas import DataFrame

Place = str | os.PathLike[str] | Storage  # the path of a file, postgresql://..., or a back end of the user's own
Callback = Callable[["Study", Trial], None]
log = logging.getLogger(__name__)
CLOCKS_APART = 86_400.0  # seconds that the clocks of two machines may differ by


class Study:
    """A search in progress: `ask` returns points, `tell` records their outcomes.

    Parameters
    ----------
    space : Domain or mapping of str to object
        A `Space`, a dict of variables, or any other domain.
    method : str or Searcher, default "auto"
        A name, or a searcher from `bostruct.methods`.
    seed : int, optional
        An integer from 0; None draws one and records it.
    direction : {"minimize", "maximize"}, default "minimize"
        ``minimize`` or ``maximize``, of the only objective.
    directions : sequence of {"minimize", "maximize"}, optional
        Of several objectives, one each; the study is told tuples then. None for one objective.
    constraints : dict, optional
        Limits on numbers that each evaluation measures, a sense and a bound by name, such as ``{"latency": ("<=",
        10.0)}``; None for none. The best trial is the best of those that keep all of them.
    repeats : {"auto"}, optional
        ``auto`` where a told point may be asked for again, because knowing it better is worth more than a new one; None
        if no point ever is. For one noisy objective without limits, and methods with a model.
    suggest_seconds : float, optional
        That a suggestion is to take at most, from 0.001; None for as long as it takes. It is aimed at: one that takes
        longer makes the next one cheaper, from fewer values or without a model, as ``info["haste"]`` says.
    objective_name : str or sequence of str, optional
        What axes, tables and reports call the value, a text, or a list with one for each objective; another name at a
        resume renames it in the file, which no other process may have open then. None keeps the stored one.
    storage : path, URL, or Storage, optional
        A file, ``postgresql://user@host/database``, or a `Storage` object; None keeps all in memory. A study of this
        name in it, made with the same arguments, goes on, and other processes may have it open, too. Its space may have
        changed, which no other may have open then: trials that cannot be read in the new one are no data.
    name : str, default "study"
        Of the study in its file, a string of 1 to 500 characters.
    initial_points : iterable of object, optional
        Asked before any point of the method's own; None for none.
    threads : int or None, default 1
        For model work, from 1; None leaves them alone.
    prior : iterable of Study, Result, or path, optional
        Earlier studies of related tasks that the model learns from: studies, results, or files with one study each, in
        the same direction; None for none. Their points are read as those of a space that changed; a warning says which
        cannot be. At most 150 trials are used, which the study keeps. A study that is resumed needs no prior.

    Raises
    ------
    StudyMismatch
        If the stored study was made otherwise.
    StudyLocked
        If somebody else has it open and cannot share it.
    StorageError
        If the file cannot be used.
    PointError
        For a wrong initial point.
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
        objective_name: str | Sequence[str] | None = None,
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
        opened: tuple[StoredStudy, StudyWriter] | None = None,
    ) -> None:
        """Make the study, or go on with the stored one; raise what the class raises.

        problem: its name; None for a study of no named problem.
        opened: the stored study, if it is open for writing already.
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
        if (renamed := rename_objectives(stored.study, given)) is not None:
            store.close()
            place.change_goals(stored.study.name, renamed)
            stored, store = _begin(place, given)
        with _closed_on_error(store):
            check_study_rows(stored, place.label)
            check_same_problem(stored.study, problem, place.label)
            if storage is not None:  # memory holds the choices themselves
                warn_of_alike_choices(given.domain, place.label)
            earlier = reread_prior(stored, domain)
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
        """Make a study with the name of its problem on record, or go on with a stored one of that problem.

        Parameters
        ----------
        problem : str
            Its name, valid Unicode. A stored study without one on record agrees with any.
        goals : Goals
            Of the problem, as of `bostruct.goals.declared.declare_goals`.
        space, method, seed, storage, name, initial_points
            As of `Study`.

        Raises
        ------
        StudyMismatch
            If the stored study is of another problem, which stays as it is, and what `Study` raises.
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
        """Open a study that a file holds.

        Parameters
        ----------
        storage : path, URL, or Storage
            The file, or a `Storage` object.
        name : str, optional
            Of the study, None for the only one there.
        space : Domain or mapping of str to object, optional
            Needed only where the file cannot hold it: spaces with constraints or with choices that are Python objects,
            search spaces that are functions.
        method : str or Searcher, optional
            Needed only where the file cannot hold it: a searcher that is an object.
        threads : int or None, default 1
            For model work, from 1; None leaves them alone.
        read_only : bool, default False
            Always possible, whoever writes; nothing can be asked or told, the log that a killed writer left may be
            folded into the file, and where the space is not known points are shown as stored.

        Raises
        ------
        StorageError, DomainError, StudyLocked, StudyMismatch
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
        with _closed_on_error(store):
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
        """Make a study of the finished trials of a study of Optuna, which it may go on from; needs the extra `optuna`.

        Parameters
        ----------
        optuna_study : object
            An ``optuna.Study``. Its directions are taken. A constraint that all trials with values have is a limit, at
            most 0; a trial that breaks another one is infeasible. Failed trials count as failed, those that were pruned
            have their last report as value, and those that run are left out.
        space : Domain or mapping of str to object, optional
            The space of the trials; None for the one that their distributions tell, or that of a mirrored study of
            bostruct. A float or int keeps its step, a parameter of one value is dropped. One that some trials lack has
            a condition (`when=`) where the value of one other parameter tells when it is there.
        method, seed, storage, name, threads
            As of `Study`. The storage must not hold the study yet.

        Raises
        ------
        DomainError
            If the trials do not tell the space: no parameter tells when another one is there, or one has several
            ranges.
        PointError
            For a trial with values that is not in the space.
        MissingExtra
            Without Optuna.
        TypeError
            For what is no study of Optuna, and what `Study` raises.
        """
        load = load_by_name("bostruct.integrations.optuna_studies:import_study")  # which knows this class
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
        """Make a study of the experiments in a CSV file, a row each; needs the extra `pandas`.

        >>> bo.Study.from_csv("results.csv", "yield", direction="maximize", storage="runs.db")         # doctest: +SKIP

        Parameters
        ----------
        file : str or path-like
            With a header, and cells between commas, semicolons, tabs or bars. Cells may be JSON lists. Tables of
            `Result.to_csv`, Optuna, Ax, Ray Tune, MLflow, Weights & Biases, KTT and CLTune are known by the names of
            their columns. Trials that their status calls failed have failed, whatever their value.
        objective : str
            The column of the value. A unit may be left out: ``yield`` is the column ``yield (%)``.
        direction : {"minimize", "maximize"}, default "minimize"
            ``minimize`` or ``maximize``.
        space : Domain or mapping of str to object, optional
            With variables that have the names of columns; other columns are not read. None guesses it from the columns,
            and prints it as Python, to be corrected and given here, with a list of the columns that are no variables:
            constant ones, dates, numbers of rows, and texts that are nearly all distinct.
        ignore : sequence of str, default ()
            Columns that are not read.
        decimal : {",", "."}, optional
            The sign before decimals; None to find out.
        failed, unmeasured
            As of `add_frame`. A row without a value was never run.
        method, seed, storage, name, threads
            As of `Study`. The storage must not hold the study yet.

        Raises
        ------
        ValueError, PointError
            Which name the line and the column, for a file of more than 100,000 rows, 5,000,000 cells or 128 MiB, too.
        MissingExtra
            And what `Study` raises.
        """
        load = load_by_name("bostruct.study.experiments:import_experiments")  # which few studies need
        settings = {"method": method, "seed": seed, "storage": storage, "name": name, "threads": threads}
        how = {"direction": direction, "space": space, "ignore": ignore, "decimal": decimal}
        return load(cls, file, objective, **how, failed=failed, unmeasured=unmeasured, **settings)

    @staticmethod
    def delete(storage: Place, name: str) -> None:
        """Delete a study and all its trials from a file or a database.

        Parameters
        ----------
        storage : path, URL, or Storage
            As of `Study`.
        name : str
            Of the study.

        Raises
        ------
        StudyLocked
            While somebody has the study open for writing.
        StorageError
            If it is not there.
        """
        open_storage(storage).delete(_check_study_name(name))

    @staticmethod
    def rename(storage: Place, name: str, new: str) -> None:
        """Give a study in a file or a database another name.

        Parameters
        ----------
        storage : path, URL, or Storage
            As of `Study`.
        name : str
            Of the study.
        new : str
            The name to give, a string of 1 to 500 characters that no study there has.

        Raises
        ------
        StudyLocked
            While somebody has the study open for writing.
        StorageError
            If it is not there or the new name is taken.
        """
        open_storage(storage).rename(_check_study_name(name), check_new_name(_check_study_name(new)))

    @overload
    def ask(self) -> Trial: ...

    @overload
    def ask(self, n: int) -> list[Trial]: ...

    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Return the next trial, or a list of the next n trials; they are running and stored.

        After any other error the trials of the call are given back.

        Parameters
        ----------
        n : int, optional
            How many to evaluate side by side, from 1; None for one that is not in a list. Each point is chosen with the
            points before it running, as by n calls. Where fewer unseen points are left the list is shorter.

        Raises
        ------
        SpaceExhausted
            When no unseen point is left.
        """
        wanted = 1 if n is None else check_integer("n", n, 1)
        trials: list[Trial] = []
        with self._asking:
            self._writable()
            with self._ledger.requeue_on_error(self._mutex):  # until others are let go on, too
                with self.ask_lock():
                    try:
                        while len(trials) < wanted:
                            trials.append(self._ask_next(self._suggestions()))
                    except SpaceExhausted:
                        if not trials:
                            raise
                return trials[0] if n is None else trials

    def ask_jointly(self, n: int, missing: Callable[[], int] | None = None) -> Iterator[Trial]:
        """Yield the next n trials, running and stored; one fit of the model serves up to 8 of them if the method can.

        For many workers on a short objective. What is told and asked between two of them is known to the next fit
        alone, for which another process that asks ends the batch. Where fewer unseen points are left, fewer are
        yielded.

        Parameters
        ----------
        n : int
            How many to evaluate side by side, from 1.
        missing : callable, optional
            Counts the trials that are still wanted; None if nobody knows. If no other is wanted, a trial that waits
            after a failure of the machine is yielded before another one has completed.

        Raises
        ------
        ValueError, TypeError, BostructError
            If the study cannot be asked.
        SpaceExhausted
            If no unseen point is left for the first.
        """
        check_integer("n", n, 1)
        self._writable()
        return self._ask_jointly(n, missing)

    def _ask_jointly(self, n: int, missing: Callable[[], int] | None) -> Iterator[Trial]:
        points = self._suggestions()
        for place in range(n):
            try:
                with self._asking, self._ledger.requeue_on_error(self._mutex), self.ask_lock():
                    trial = self._ask_next(points, missing)
            except SpaceExhausted:
                if place == 0:
                    raise
                return
            yield trial

    def prefetch(self, n: int = 1) -> int:
        """Choose and store points ahead, until n trials wait, so that the next `ask` returns at once.

        They count as running. What is told until they are asked for cannot change them. Where fewer unseen points are
        left, fewer wait.

        Parameters
        ----------
        n : int, default 1
            How many are to wait, from 1.

        Returns
        -------
        int
            How many wait.

        Raises
        ------
        ValueError, TypeError, BostructError
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
        """Keep other threads and processes from asking during a `with` block; they may tell and add.

        At its beginning the study has all that others told, and the trials of those that are gone wait for an ask.

        Parameters
        ----------
        wanted : callable, optional
            Tells whether one more trial is wanted, such as ``lambda: study.n_finished + study.n_remote < 100``. `ask`
            raises NotWanted if it says no. None if that does not matter: others ask within the block only where this
            process has lost its connection to a database.
        """
        with self._asking:
            self._writable()
            with self._ledger.ask_lock(wanted):
                with self._mutex:
                    self._writable()  # or it was closed meanwhile
                    self._ledger.sync()
                    self._ledger.requeue_stale()
                yield

    def sync(self) -> None:
        """Read the changes of other processes, as `ask` and `tell` do by themselves."""
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
        """Record the outcome of a running trial, and return the trial; the outcome is on disk when this returns.

        Who was handed a trial may tell of it once. Where another was told of it first, as after `requeue` or by another
        process that took it over, the outcome is another trial of the same point, which is returned:
        ``info["double_of"]`` is the number of the first. It is not counted by `n_trials`.

        Parameters
        ----------
        trial : Trial or int
            A running one, or its number.
        value : object, optional
            A number; a tuple, of several objectives; a dict with ``value`` and any of ``constraints``, ``sd`` and
            ``repeats``; or a `bostruct.outcome.Outcome`. NaN and infinities are failures.
        sd : float, optional
            Standard deviation of the noise in the value, from 0 to 1.3e154; None if it is to be learned.
        repeats : sequence of float, optional
            Several measurements of the point in place of a value, which is their mean.
        constraints : mapping of str to float, optional
            The measured number of each limit, by its name.
        failed, infeasible : str, optional
            Instead of a value, the reason why there is none, a non-empty string.
        attributes : mapping of str to object, optional
            What else to keep with the trial, such as the path of a file, for `Trial.attributes`: JSON by name, at most
            65,536 characters. No model learns from it. None for none.
        finished : float, optional
            Seconds since the epoch when the evaluation ended, from a day before the trial began to a day from now,
            since clocks differ; None for now.
        reports : iterable of tuple of (int, float), default ()
            Steps and values on the way there, ascending by step, which stopping rules learn from. Without a value or a
            reason the trial was stopped at the last of them, whose value is its own.
        retry : bool or int, default False
            How often a trial that failed is handed out again, for failures that are no fault of the point; True is
            twice. It is running then, ``info["failed_before"]`` has the reasons, and ``info["retries"]`` the number, in
            which `requeue` does not count. It goes with `failed`, or with a value that is not finite; an `Outcome` that
            did not fail is told once.
        machine : str, optional
            Why the machine, not the point, is at fault for a failure, such as ``"a full disk"``. The trial is then
            handed out again, once, after another one has completed; ``info["machine_failure"]`` says so. If it fails
            for the same reason, its point is at fault after all; otherwise no model learns from it.

        Raises
        ------
        TypeError
            For what is not a number, or a tuple if there is one objective.
        ValueError
            For a trial that is not running, a limit that was not measured and one that the study does not declare;
            nothing is told then.
        StorageError
            If the file was removed, renamed or replaced; the outcome is kept in memory then, for `save`.
        """
        with self._mutex:
            self._writable()
            self._ledger.learn_of(trial)
            number = self._ledger.running(trial)
            ended = None if finished is None else _check_end(finished, self._ledger.trial(number).started)
            noted = describe_reports(reports)
            is_stopped = bool(noted) and all(one is None for one in (value, repeats, failed, infeasible))
            if is_stopped:
                noted["stopped_at"], value = noted["reports"][-1]
            outcome = parse_outcome(value, failed, infeasible, sd=sd, repeats=repeats, constraints=constraints)
            outcome, kept = _split_attributes(self.goals.check(outcome), attributes)
            retries = RETRIES * retry if isinstance(retry, bool) else check_integer("retry", retry, 0)
            if retries and outcome.failed is None and not (is_stopped or isinstance(value, Outcome)):
                given = "a value" if outcome.infeasible is None else "infeasible="
                raise ValueError(f"retry: expected it beside failed=, as only failures are retried, got {given}")
            begun = trial.started if isinstance(trial, Trial) else None
            blamed = {} if machine is None else self._ledger.blame_machine(number, _check_cause(machine, outcome))
            has_retries = count_retries(self._ledger.trial(number).info) < retries
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
        """Add an earlier result as a finished trial of origin `added`, which `n_trials` does not count.

        A `Real` lies on a fine grid. The trial shows your numbers as you gave them; models see the nearest of the grid.
        A warning says where other numbers of an earlier trial lie on the same step.

        Parameters
        ----------
        point : object
            As the objective would receive it.
        value, sd, repeats, constraints, failed, infeasible, attributes
            Its outcome, as in `tell`.

        Raises
        ------
        PointError, TypeError, ValueError
        """
        with self._mutex:
            self._writable()
            outcome = parse_outcome(value, failed, infeasible, sd=sd, repeats=repeats, constraints=constraints)
            outcome, kept = _split_attributes(self.goals.check(outcome), attributes)
            return self._add(self.domain.parse(point), outcome, point, kept)

    def _add(self, x: Point, outcome: Outcome, given: Presented, noted: Info | None = None) -> Trial:
        trial = self._ledger.add(x, outcome, given, noted)
        if (other := trial.info.get("same_step_as")) is not None:
            warnings.warn(
                f"trial {trial.number}: {short_repr(trial.point, 200)} is the same point to a model as that of trial "
                f"{other}: their numbers lie on one step of the grid",
                stacklevel=count_own_frames(),
            )
        return trial

    def add_frame(
        self,
        frame: DataFrame,
        value: str | Sequence[str] = "value",
        *,
        failed: str | None = None,
        unmeasured: Unmeasured = "skip",
    ) -> list[Trial]:
        """Add each row of a pandas DataFrame as a finished trial, as `add` does, and return the trials.

        Trials that wait are added after all others, whatever the order of the rows. A float to which one listed number
        rounds is read as that number. Warnings count what is left out, waits or is rounded. Nothing is added if one row
        is wrong.

        Parameters
        ----------
        frame : DataFrame
            With a column for each variable, `x` or `point.x`, as `Result.to_dataframe` writes them. A missing value is
            a variable that the point has not. A text that is no value of its variable, as a CSV file has for a tuple,
            is read as the Python literal that it writes. `constraint.` before its name is the column of each limit of
            the study. A column `status` that has no words but ours, such as ``failed``, says which rows failed or are
            infeasible, and `reason` says why; other columns are not read. The column of a variable is that of the
            variable, whatever its name.
        value : str or sequence of str, default "value"
            Name of the column of values, or of several objectives the names of their columns.
        failed : str, optional
            Name of a column that says which rows failed, by True, by a word such as ``failed`` or by a reason; None for
            none.
        unmeasured : Unmeasured, default "skip"
            What becomes of a row that has no value and did not fail: ``skip`` leaves it out, ``queue`` makes it a trial
            that the next `ask` hands out, unless the study has its point. A row with some of its values always is such
            a trial; ``info["measured"]`` has its numbers, and so have tables.

        Raises
        ------
        PointError, TypeError, ValueError
            If an argument is invalid.
        """
        rows = read_frame(frame, value, failed, unmeasured, self.domain, self.goals)
        waiting = [row for row in rows if row.outcome is None]
        waiting.sort(key=lambda row: not row.measured)  # of rows with one point, the one with numbers comes first
        with self.ask_lock() if waiting else nullcontext(), self._mutex:
            self._writable()
            rows = [row for row in rows if row.outcome is not None] + waiting
            added = [(row, self._add_row(row)) for row in rows]
        if known := [row.point for row, trial in added if trial is None]:
            warnings.warn(
                f"frame: {pluralize(len(known), 'row')} without a value not queued, the first of them "
                f"{short_repr(known[0], 200)}: the study has a trial of each such point",
                stacklevel=count_own_frames(),
            )
        return [trial for _, trial in added if trial is not None]

    def _add_row(self, row: FrameRow) -> Trial | None:
        """Add a row of a frame; return None for one without numbers that waits, if the study has its point."""
        x = self.domain.parse(row.point)
        noted: Info = {"measured": row.measured} if row.measured else {}
        if row.attributes:
            noted[ATTRIBUTES] = row.attributes
        if row.outcome is not None:
            return self._add(x, row.outcome, row.point, noted)
        found = NextPoint(x, {"origin": "given", **noted}, self._ledger.state, may_repeat=bool(row.measured))
        return self._ledger.begin(found, waits=True)

    def requeue(self, trial: Trial | int) -> None:
        """Put a running or failed trial back in the queue: the next `ask` returns it again.

        Parameters
        ----------
        trial : Trial or int
            A running or failed one, or its number. A failed one counts as not finished then; what it failed of is in
            its ``info["failed_before"]``.

        Raises
        ------
        ValueError
            For a trial that is neither, or was added.
        """
        with self._mutex:
            self._writable()
            self._ledger.learn_of(trial)
            self._ledger.requeue(self._ledger.check_requeueable(trial))

    def give_back(self, trials: Iterable[Trial]) -> None:
        """Return unfinished trials to the queue without counting an attempt: the next `ask` returns them.

        Those that were told, given up or handed out again meanwhile, here or by another process, are left as they are.

        Parameters
        ----------
        trials : iterable of Trial
            As `ask` returned them.

        Raises
        ------
        ValueError
            For a trial of another study.
        TypeError
            For what is none.
        """
        if not isinstance(trials, Iterable):
            raise TypeError(f"trials: expected a list of trials as `ask` returned them, got {short_repr(trials)}")
        with self._mutex:
            self._writable()
            self._ledger.give_back([self._ledger.identify(trial) for trial in trials])

    def cancel(self, trial: Trial | int) -> Trial:
        """Cancel a running trial and return it; `ask` never returns it again, and the method learns nothing from it.

        It is on record as failed, with the reason ``canceled`` and ``info["canceled"]``, and counts as finished, but no
        method takes its point for one that fails. Its point is not suggested again; `requeue` hands it out after all.
        `optimize` ignores what comes of it: a worker process of its own is killed once a callback returns or another
        trial finishes, an objective in this process runs to its end.

        Parameters
        ----------
        trial : Trial or int
            A running one, or its number.

        Raises
        ------
        ValueError
            For a trial that is not running.
        """
        with self._mutex:
            self._writable()
            self._ledger.learn_of(trial)
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
        """Evaluate until a number of trials has finished or a time is up, and return the result.

        An exception of the objective fails its trial, and the study goes on. While no trial that was asked for has
        completed, ObjectiveError ends the run at the first TypeError, AttributeError, NameError, returned value that is
        not a number, or outcome without a number for each limit, and at any other exception that five trials in a row
        raise; these are given back. Failures of the machine, such as a full disk, end it with BostructError after five
        in a row, a broken executor with ExecutorError, an objective that no worker can load with BostructError; no
        trial fails for that. KeyboardInterrupt ends the run, which stays resumable; so does SIGTERM, with
        ``SystemExit(143)``, in the main thread and unless it has a handler. What ends a run carries the result so far,
        as `error.result`.

        Parameters
        ----------
        objective : callable
            Called with a point, returns what `tell` takes as a value.
        n_trials : int, optional
            Total number of finished trials of the study, from 0; failed trials count, added ones do not. The same call
            again continues an interrupted run, and does nothing after a finished one. None if `n_more`, `timeout` or
            `patience` ends the run.
        n_more : int, optional
            Finished trials beyond those that the study has at the call, from 0, in place of `n_trials`. The same call
            again evaluates as many again.
        timeout : float, optional
            Seconds of this call, from 0, by a clock that nobody sets. No trial begins afterward; running trials finish,
            or end at their `trial_timeout`. A resumed call has the whole time again. None for no limit.
        patience : int, optional
            Finished trials in a row without a better value that end the run, from 1; None for no such end.
        cancel_running : bool, default False
            True gives running trials back when the timeout is up; the next run evaluates them first. A single worker is
            then a process of its own.
        workers : int, default 1
            Processes, or trials in flight with an executor; 1 without trial_timeout runs in this process.
        executor : Executor, optional
            Any `concurrent.futures.Executor`.
        trial_timeout : float, optional
            Seconds, from 0.001, after which the worker is killed and the trial fails; not with an executor.
        load_timeout : float, default 60.0
            Seconds, from 0.001, that a worker gets to load the objective; a worker that is slower, or dies meanwhile,
            is replaced, twice for a trial.
        callbacks : Callback or sequence of Callback, default ()
            One or several, called as callback(study, trial) after each finished trial. The `check_study(study)` of a
            `StoppingCallback` is called before the first trial, too: it refuses by raising, or ends the run by `stop`.
        progress : bool, optional
            A bar on stderr, None shows it on a terminal and in a notebook.
        reraise : type of Exception or tuple of type of Exception, default ()
            Exceptions that end the run, beside failing their trial.
        stopping_rule : StoppingRule, optional
            Such as `bostruct.MedianRule`, stops trials early by what their objective tells `bostruct.report`; None for
            none. The last value reported is the trial's value.
        retries : int, default 0
            How often a trial that failed or timed out is evaluated again, from 0; at least twice if the objective
            raised `bostruct.Transient`.
        max_initial_failures : FailureLimit, default "auto"
            Failed trials of this run that end it with ObjectiveError if none of the study, added ones included, has
            completed; ``auto`` for the largest of 10, twice the workers, and the number of initial points. An `Outcome`
            that says ``failed``, Infeasible and Transient do not count. None also lets a run go on after five equal
            errors.

        Raises
        ------
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
            callbacks,  # type: ignore[arg-type]  # one stands for several
            progress,
            reraise,  # type: ignore[arg-type]
            stopping_rule,
            retries,
            max_initial_failures,
        )
        how.check_goals(self.goals)
        self._writable()
        self._stop = None
        with self.result_on_error():
            try:
                self._stopped_because = run_trials(self, how)
            except KeyboardInterrupt as error:
                if (frames := objective_frames(error)) is None:
                    raise
                # the traceback then shows where the objective was, and few frames of ours
                raise error.with_traceback(frames) from None
            self._note_idle_run(n_trials, progress)
            self.sync()
            return self.result

    def _note_idle_run(self, n_trials: int | None, progress: bool | None) -> None:
        """Warn of a second run of this object that had nothing to do; print and log the same of a reopened study."""
        if not (n_trials and self._stopped_because.startswith(NOTHING_TO_DO)):
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
            with suppress(Exception):  # which must not take its place
                add_note(error, self._describe_end(error), self.result)
            raise

    def _describe_end(self, error: BaseException) -> str:
        finished, where = f"{pluralize(self.n_finished, 'trial')} finished", self.where
        is_asked = isinstance(error, KeyboardInterrupt | SystemExit)
        if where is not None and not isinstance(error, StorageError) and (is_asked or self.n_finished):
            return (
                f"Study {self.name!r} is safe in {where}, with {finished}. To go on, make the same call again, or "
                f"Study.load({where!r}, {self.name!r})."
            )
        if self.n_finished == 0:
            return ""
        return f"{finished}: error.result has them, or sys.last_value.result in a notebook or a console."

    def bound_regret_probability(self, regret: float) -> float:
        """Return an upper bound of the probability that the regret of the best point exceeds `regret`.

        The model of the method is fitted and drawn from (Wilson 2024, probabilistic regret bounds), and the bound is as
        good as the model. Its confidence of 95 % is that of one look, not of all looks of a run together. It is 1 until
        more points have a value than the method chooses without its model, and while all values are equal.
        `bostruct.StopWhen` stops a run by it.

        It can be asked of a study that is only read.

        Parameters
        ----------
        regret : float
            In the units of the values, at least 0.

        Raises
        ------
        BostructError
            If the method has no model that tells.
        ValueError
            If an argument is invalid.
        """
        with self._asking, self._mutex, self._limit():
            searcher, state = self._model()()
            return bound_regret(searcher, self._ledger, self.seed, regret, method_label(self._row), state)

    def stop(self, reason: str = "stop() was called") -> None:
        """End `optimize` once the trials in flight have finished, or say why a loop of your own has ended.

        Parameters
        ----------
        reason : str, default "stop() was called"
            The result's `stopped_because`, until `optimize` is called again.
        """
        self._stop = reason

    @property
    def stopping(self) -> str | None:
        """The reason why `optimize` is to end, None while it is not."""
        return self._stop

    @property
    def name(self) -> str:
        """The name of the study in its file."""
        return self._row.name

    @property
    def seed(self) -> int:
        """The seed that, with a trial's number, makes the trial's random generator; drawn where None was given."""
        return self._row.seed

    @property
    def goals(self) -> Goals:
        """The directions of the objectives, and the limits, as they were declared."""
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
        """The version of bostruct that made the study."""
        return self._row.version

    @property
    def created(self) -> float:
        """When the study was made, in seconds since 1970."""
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
        """The time at which this object asked each of its running trials, by number."""
        return self._ledger.in_flight

    @property
    def n_remote(self) -> int:
        """The number of running trials that other processes, or other `Study` objects, evaluate."""
        with self._mutex:
            return self._ledger.n_remote

    @property
    def n_waiting(self) -> int:
        """The number of queued trials, which nobody evaluates; `ask` returns them before it chooses new points.

        Of a study that is only read, trials whose process is gone are among them.
        """
        with self._mutex:
            return len(self._ledger.waiting)

    @property
    def waiting(self) -> tuple[int, ...]:
        """The numbers of the queued trials, as `n_waiting` counts them."""
        with self._mutex:
            return tuple(self._ledger.waiting)

    @property
    def n_finished(self) -> int:
        """The number of finished trials that `n_trials` counts: all that were asked, none that were added."""
        with self._mutex:
            return len(self._ledger.order) - self._ledger.n_added

    @property
    def n_unread(self) -> int:
        """The number of trials whose points are not in the study's changed space; the method ignores them."""
        return sum(trial.unread is not None for trial in self.trials)

    @property
    def initial_points(self) -> tuple[Presented, ...]:
        """The points that the user gave to evaluate first."""
        where = f"{self._place.label}: study {self.name!r}"
        return tuple(self.domain.present(x) for x in read_initial(self._row, self.domain, where))

    @property
    def n_initial(self) -> int:
        """The number of initial points: those that the user gave, and those that the method begins with."""
        own = 0 if self._searcher is None else self._searcher.n_initial
        return len(parse(self._row.initial)) + own

    @property
    def first_space(self) -> str:
        """The description of the domain that the study was made with, as JSON text."""
        return self._ledger.first_space

    @property
    def space_changes(self) -> tuple[SpaceChange, ...]:
        """The changes of the study's space, oldest first."""
        return self._ledger.changes

    @property
    def result(self) -> Result:
        """The result of the study so far."""
        method = method_label(self._row)
        with self._mutex:  # all of one moment
            trials, outcomes, points, model = self.trials, self._ledger.outcomes, self._ledger.points, self._model()
            order = tuple(number for number in self._ledger.order if trials[number].unread is None)
        fit = Fit(model, trials, outcomes, order, points, self.goals, self.seed, self._limit, method)
        stopped, told = self._stop or self._stopped_because, (trials, order, self.goals, self.seed, method)
        return Result(*told, stopped, beliefs=Lazy(fit), domain=self.domain, name=self.name, model=fit)

    def predict(self, points: Iterable[object]) -> Predictions:
        """Predict the objective, noise aside, at any points, and the chance that they have a value and keep all limits.

        Parameters
        ----------
        points : iterable of object
            m points as the objective receives them.

        Returns
        -------
        Predictions
            `mean` and `sd` (m,), in your units, or (m, k) of k objectives, and `chance` (m,).

        Raises
        ------
        PointError, TypeError, BostructError
            For a method without a model and where nothing has completed.
        """
        with self._asking, self._mutex:
            return self.result.predict(points)

    @property
    def incumbent(self) -> Trial | None:
        """The best feasible trial so far; None if there is none, or there are several objectives."""
        return self._ledger.incumbent

    @property
    def best_trial(self) -> Trial:
        """The best trial that keeps all limits.

        Raises
        ------
        BostructError
            Without one, and for several objectives.
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
        """The feasible trials that no other one dominates, by their first objective, as of `Result.pareto_front`.

        Raises
        ------
        BostructError
            If none is feasible.
        """
        return self.result.pareto_front

    def save(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        """Write the study, with all its trials, to another file or a database, which `Study.load` opens.

        A study whose own file was lost goes on in the new one, under the new name; every other stays as it is, in its
        file or in memory.

        Parameters
        ----------
        path : str or path-like
            A new file, one with other studies, or ``postgresql://user@host/database``; with another name also that of
            the study itself. Running trials are handed out again by who loads it.
        name : str, optional
            Of the study there, a string of 1 to 500 characters; None for the name that it has.

        Raises
        ------
        TypeError, ValueError, StorageError
            If the file holds a study of this name or cannot be written.
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
        """Close the study's file. If it is opened again, `ask` returns its unfinished trials first.

        A study whose file was removed, renamed or replaced is written to a new file, of which a warning tells.
        """
        try:
            with self._mutex:
                if self._store is not None:
                    with suppress(StorageError):  # `end` does what can be done
                        self._store.check_place()
        finally:
            end(self._ledger, self._mutex)  # once more if an earlier call could not
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
        self._rows = stored._replace(trials=[])  # of the study and its changes
        self._searcher = searcher
        self._method: str | Searcher | None = None  # what `load` was given for reading alone
        self._limit = limit
        self._asking = make_lock()  # taken before the other one; a tell does not wait for a suggestion
        self._mutex = make_lock()
        self._fallbacks = FallbackWatch()
        self._stop: str | None = None
        self._stopped_because = ""
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
        """How a result comes by the searcher and its state, without keeping the study alive."""
        searcher, state = self._searcher, self._ledger.state
        if searcher is None:
            return partial(readable_searcher, self._method, self.domain, self._rows)
        return lambda: (searcher, state)

    def _suggestions(self) -> JointPoints:
        """Return if the next points come from."""
        return JointPoints(self._writable(), self._ledger, self.seed, method_label(self._row), self._mutex)

    def _ask_next(self, points: JointPoints, missing: Callable[[], int] | None = None) -> Trial:
        with self._mutex:
            self._ledger.check_wanted()
            trial = self._ledger.ask_again(missing)
        if trial is None:
            try:
                trial = self._begin_next(points)
            except SpaceExhausted:
                with self._mutex:
                    trial = self._ledger.ask_again(lambda: 0)  # though it waits for another one to complete
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
    """Return the time at which an evaluation ended; raise ValueError for an impossible one, such as a duration."""
    ended, present = check_number("finished", finished), now()
    # a clock that was wrong when the trial began allows no less
    earliest, latest = max(min(started, present) - CLOCKS_APART, 0.0), max(started, present) + CLOCKS_APART
    if not earliest <= ended <= latest:
        unit = name_unit(ended, earliest, latest)
        hint = f"these are {unit}: divide by {UNITS[unit]:.0f}" if unit else "leave it out for the present time"
        raise ValueError(
            f"finished: expected seconds since the epoch, from {earliest:.0f}, a day before the trial began, to "
            f"{latest:.0f}, a day from now, got {short_repr(finished)}; {hint}"
        )
    return ended


def _split_attributes(outcome: Outcome, given: Mapping[str, object] | None) -> tuple[Outcome, Info]:
    """Return an outcome without its attributes, and these and the given ones as a trial has them in its info."""
    if given is None and not outcome.attributes:
        return outcome, {}
    kept = read_attributes(outcome.attributes) | ({} if given is None else read_attributes(given))
    return replace(outcome, attributes={}), {ATTRIBUTES: kept} if kept else {}


def _check_cause(machine: object, outcome: Outcome) -> str:
    """Return why the machine is at fault; raise TypeError for no reason, ValueError beside another outcome."""
    if not isinstance(machine, str) or not machine:
        raise TypeError(f"machine: expected a reason, a non-empty string, got {short_repr(machine)}")
    if outcome.failed is None:
        raise ValueError("machine: expected it beside failed=, as only failures have a cause")
    return storable(cut_middle(machine))


def _begin(place: Storage, given: StudyRow) -> tuple[StoredStudy, StudyWriter]:
    """Make a study or open the stored one of its name; raise NameTooLong if a new name is too long."""
    try:
        check_new_name(given.name)
    except NameTooLong:  # an earlier version may have made it
        if given.name not in {row.name for row in place.studies()}:
            raise
    return place.begin(given)


@contextmanager
def _closed_on_error(store: StudyWriter) -> Iterator[None]:
    check_part("storage: its writer", store, StudyWriter)
    try:
        yield
    except BaseException:
        store.close()
        raise


def _check_seed(seed: object) -> int:
    """Return a seed; raise ValueError for one that Python would not read back from its digits."""
    if (found := check_integer("seed", seed, 0)) >= 10**SEED_DIGITS:
        raise ValueError(f"seed: expected fewer than {SEED_DIGITS + 1:,} digits, got {short_repr(seed)}")
    return found


def _check_study_name(name: object) -> str:
    """Return a study's name; raise ValueError for what is none."""
    if not isinstance(name, str) or not name or name != storable(name):
        raise ValueError(f"name: expected a non-empty string of valid Unicode, got {short_repr(name)}")
    return name


def _limit_threads(threads: int | None) -> ThreadLimit:
    """Return the limit on threads; raise TypeError or ValueError for a wrong number."""
    return ThreadLimit(None if threads is None else check_integer("threads", threads, 1))
