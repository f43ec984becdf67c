"""The trials of related tasks that a study learns from, as stored with the study."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bostruct.checks import count_own_frames, short_repr
from bostruct.contracts import Array, Domain, ParsedJson, Point, PointError, PredicateError, Presented, Searcher
from bostruct.domains.space.levels import accept_rounded
from bostruct.domains.space.points import read_contents
from bostruct.goals.declared import Goals
from bostruct.methods.transfer import PriorTask, learn_from
from bostruct.storage.backends import open_storage
from bostruct.storage.json_text import MALFORMED, dump, parse
from bostruct.storage.protocol import Storage, StorageError, StudyMismatch, StudyRow
from bostruct.study.history import Trial
from bostruct.study.ledger import Ledger
from bostruct.study.records import is_same_description, read_goals, readable_domain
from bostruct.study.result import Result
from bostruct.study.space_changes import SpaceChanged, check_study_rows, group_reasons, warn_of_rounded

MOST_TRIALS = 150  # of all earlier studies together


def select_trials(values: Array, most: int) -> list[int]:
    """Return the positions of the trials to use, ascending: the best `most` / 2, and others evenly spaced by rank.

    values: (n,), minimized.
    most: maximum number of trials, at least 1.
    """
    if len(values) <= most:
        return list(range(len(values)))
    ranked, n_best = np.argsort(values, kind="stable"), most - most // 2
    spread = np.linspace(n_best, len(values) - 1, most // 2).round().astype(np.int64)
    return sorted(ranked[[*range(n_best), *spread.tolist()]].tolist())


def describe_prior(domain: Domain, tasks: Sequence[PriorTask]) -> list[ParsedJson]:
    """Return the tasks as JSON, each reduced to its share of `MOST_TRIALS`."""
    described: list[ParsedJson] = []
    for task in tasks:
        kept = select_trials(task.values, max(MOST_TRIALS // len(tasks), 1))
        points = [domain.encode(task.points[i]) for i in kept]
        described.append({"points": points, "values": task.values[kept].tolist()})
    return described


def with_prior(searcher: Searcher, prior: Sequence[ParsedJson], who: str = "") -> Searcher:
    """Return the searcher with transfer learning from earlier tasks, if there are any.

    Raises DomainError for a method without transfer learning, StorageError if a point is not in the searcher's domain.
    """
    tasks = [_decode_task(searcher.domain, task) for task in prior]
    return learn_from(searcher, tasks, who) if tasks else searcher


def _decode_task(domain: Domain, task: ParsedJson) -> PriorTask:
    try:
        points = [domain.decode(point) for point in task["points"]]
        for point in () if domain.constraints else points:  # otherwise, they were checked when they were read
            domain.check(point)
    except PredicateError:
        raise
    except MALFORMED as error:
        raise StorageError(f"the stored prior cannot be read: {error!r}") from error
    return PriorTask(domain.join(points), np.array(task["values"], dtype=np.float64))


def stored_prior(row: StudyRow) -> list[ParsedJson]:
    """Return the stored tasks of a study (`describe_prior`); raise StorageError if they are malformed."""
    prior = parse(row.method).get("prior", [])
    if not isinstance(prior, list) or not all(_is_task(task) for task in prior):
        raise StorageError(f"study {row.name!r} cannot be read: method.prior: got {short_repr(prior, 120)}")
    return prior


def _is_task(task: ParsedJson) -> bool:
    if not isinstance(task, Mapping):
        return False
    points, values = task.get("points"), task.get("values")
    if not isinstance(points, list) or not isinstance(values, list) or not len(points) == len(values) > 0:
        return False
    return all(isinstance(value, float) for value in values)


def check_same_prior(stored: StudyRow, now: Sequence[ParsedJson], given: StudyRow, where: str) -> None:
    """Raise StudyMismatch if the prior of a call differs from the stored one."""
    known, prior = stored_prior(stored), stored_prior(given)
    if not prior or dump(prior) in (dump(known), dump(now)):
        return
    counts = [", ".join(str(len(task["values"])) for task in tasks) or "none" for tasks in (known, prior)]
    other = " with other points or values" if counts[0] == counts[1] else ""
    raise StudyMismatch(
        f"study {stored.name!r} in {where} was created with another prior: trials of each earlier study: {counts[0]} "
        f"there, {counts[1]} here{other}; omit prior= to continue with the stored prior, or give the study another name"
    )


PriorSource = object  # a Study, a Result, a file path, or a Storage with one study


class EarlierTrials(NamedTuple):
    """The trials of an earlier study.

    domain: domain of its points; None for an unpickled result, which has no domain.
    """

    goals: Goals
    domain: Domain | None
    trials: tuple[Trial, ...]


def read_prior(given: Iterable[PriorSource] | None, domain: Domain, goals: Goals) -> list[PriorTask]:
    """Return the completed trials of each earlier study, as points of a domain and values to minimize.

    If the domain is a space, points of another space are read as after a change of the space.

    given: studies, results, or files with one study each; None for none.

    Raises TypeError, ValueError and PointError, with the invalid item, and StorageError for a file. Warns of
    `SpaceChanged` if some points of a study cannot be read.
    """
    if given is None:
        return []
    if isinstance(given, str | bytes | os.PathLike | Mapping | Result | Storage) or not isinstance(given, Iterable):
        raise TypeError(f"prior: expected a sequence of studies, such as prior=[study], got {short_repr(given)}")
    sources = list(given)
    if sources and not goals.is_single:
        raise ValueError("prior: expected none for a study of several objectives, or with constraints")
    if len(sources) > MOST_TRIALS:
        raise ValueError(f"prior: expected at most {MOST_TRIALS} studies, got {len(sources)}")
    tasks = []
    for i, source in enumerate(sources):  # not a comprehension, which adds a stack frame in some versions of Python
        tasks.append(_read_task(f"prior[{i}]", source, domain, goals))
    return tasks


def _read_task(label: str, source: PriorSource, domain: Domain, goals: Goals) -> PriorTask:
    """Read the trials of a study that are valid in a domain; warn of `SpaceChanged` if others are not."""
    theirs, own, trials = _read_trials(label, source, domain)
    if theirs.directions != goals.directions:
        wanted, got = goals.direction, " and ".join(theirs.directions)
        raise ValueError(f"{label}: expected a study with the direction {wanted}, got {got}")
    own = own if domain.reads_earlier_forms else None
    read, unread = _PointReader(own, domain), dict[str, str]()
    points, values = [], []
    with accept_rounded() as rounded:
        for trial in trials:
            if trial.value is None or trial.unread is not None:
                continue
            try:
                points.append(read(trial.point))
            except PointError as error:
                unread[str(trial.number)] = str(error)
            else:
                values.extend(goals.orient(trial.values))
    warn_of_rounded(label, rounded)
    if unread:
        _report_unread(label, unread, len(points), domain, own)
    if not points:
        raise ValueError(f"{label}: expected a study with completed trials, got none among {len(trials)}")
    return PriorTask(domain.join(points), np.array(values, dtype=np.float64))


class _PointReader:
    """A function that reads points of an earlier study in a domain, by the rules for changed spaces.

    own: the domain of the earlier study; None to read points unchanged, as for an equal domain or another type of
        domain.

    Raises PointError for a point that it cannot read.
    """

    def __init__(self, own: Domain | None, domain: Domain) -> None:
        self._own, self._domain = own, domain

    def __call__(self, point: Presented) -> Point:
        own, domain = self._own, self._domain
        if own is None or not domain.reads_earlier_forms or not self._has_changed:
            return domain.parse(point)
        with accept_rounded():
            x = domain.decode_from(parse(dump(own.encode(own.parse(point)))), self._theirs)
        domain.check(x)
        return x

    @cached_property
    def _has_changed(self) -> bool:
        """True if the domains differ but have one type, so that the meaning of a value may have changed."""
        ours, theirs = parse(dump(self._domain.to_json())), self._theirs
        are_spaces = all(read_contents(one).names for one in (ours, theirs))
        return (are_spaces or ours.get("domain") == theirs.get("domain")) and not is_same_description(
            dump(ours), dump(theirs)
        )

    @cached_property
    def _theirs(self) -> ParsedJson:
        return None if self._own is None else parse(dump(self._own.to_json()))


def _report_unread(label: str, unread: dict[str, str], n_read: int, domain: Domain, own: Domain | None) -> None:
    """Warn of ignored trials; raise PointError if all are ignored, or points must be read unchanged."""
    if not n_read or own is None:
        number, why = next(iter(unread.items()))
        raise PointError(f"{label}: trial {number} is not a point of the new space: {why}")
    contents = [read_contents(parse(dump(one.to_json()))) for one in (own, domain)]
    warnings.warn(
        f"{label}: {len(unread)} of {n_read + len(unread)} completed trials cannot be read in the new space. The "
        f"method does not learn from them:{group_reasons(unread, contents)}",
        SpaceChanged,
        stacklevel=count_own_frames(),
    )


def _read_trials(label: str, source: PriorSource, domain: Domain) -> EarlierTrials:
    """Return the trials of an earlier study; raise TypeError for an object without trials."""
    if isinstance(source, str | os.PathLike | Storage):
        return _read_stored(label, source, domain)
    found = source if isinstance(source, Result) else getattr(source, "result", None)
    if not isinstance(found, Result):
        raise TypeError(
            f"{label}: expected a Study, a Result, or the path of a file with one study, got {short_repr(source)}"
        )
    kept = tuple(found.trials[number] for number in sorted(found.order))  # of a result that `where` made
    return EarlierTrials(found.goals, found.domain, kept)


def _read_stored(label: str, source: str | os.PathLike[str] | Storage, domain: Domain) -> EarlierTrials:
    """Raise StorageError for an unreadable file, ValueError if only its own space can read its points."""
    place = open_storage(source)
    stored = place.read(None)
    row = check_study_rows(stored, place.label)
    own = domain if is_same_description(row.domain, dump(domain.to_json())) else readable_domain(None, row)
    if not own.is_whole:
        raise ValueError(
            f"{label}: the file does not contain all of the study's space; open it with Study.load(..., space=..., "
            "read_only=True), and pass that study"
        )
    return EarlierTrials(read_goals(row, place.label), own, Ledger(own, stored, None, place.label).trials)
