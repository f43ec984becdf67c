"""The trials of related tasks that a study learns from, as its file holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array, Domain, ParsedJson, PredicateError, Searcher
from bostruct.methods.transfer import PriorTask, learn_from
from bostruct.storage.json_text import MALFORMED, dump, parse
from bostruct.storage.protocol import StorageError, StudyMismatch, StudyRow

MOST_TRIALS = 150  # of all earlier studies together


def select_trials(values: Array, most: int) -> list[int]:
    """Return the positions of the trials to learn from, ascending: the best half of `most`, and an even spread by rank.

    values: (n,), minimized.
    most: number of trials, at least 1; all are taken where they are no more.
    """
    if len(values) <= most:
        return list(range(len(values)))
    ranked, n_best = np.argsort(values, kind="stable"), most - most // 2
    spread = np.linspace(n_best, len(values) - 1, most // 2).round().astype(np.int64)
    return sorted(ranked[[*range(n_best), *spread.tolist()]].tolist())


def describe_prior(domain: Domain, tasks: Sequence[PriorTask]) -> list[ParsedJson]:
    """Return the tasks as JSON, each cut to its share of `MOST_TRIALS`.

    domain: of the points.
    tasks: none where there is no prior.
    """
    described: list[ParsedJson] = []
    for task in tasks:
        kept = select_trials(task.values, max(MOST_TRIALS // len(tasks), 1))
        points = [domain.encode(task.points[i]) for i in kept]
        described.append({"points": points, "values": task.values[kept].tolist()})
    return described


def with_prior(searcher: Searcher, prior: Sequence[ParsedJson], who: str = "") -> Searcher:
    """Return the searcher, which also learns from earlier tasks where there are any.

    searcher: of the study's method.
    prior: as of `describe_prior`.
    who: the name that people call the method by; empty for that of its class.

    Raises DomainError for a method that cannot, StorageError where a point is none of the searcher's domain.
    """
    tasks = [_decode_task(searcher.domain, task) for task in prior]
    return learn_from(searcher, tasks, who) if tasks else searcher


def _decode_task(domain: Domain, task: ParsedJson) -> PriorTask:
    try:
        points = [domain.decode(point) for point in task["points"]]
        for point in () if domain.constraints else points:  # they held when it was read
            domain.check(point)
    except PredicateError:
        raise
    except MALFORMED as error:
        raise StorageError(f"the prior on record cannot be read: {error!r}") from error
    return PriorTask(domain.join(points), np.array(task["values"], dtype=np.float64))


def stored_prior(row: StudyRow) -> list[ParsedJson]:
    """Return the tasks that a study learns from, as of `describe_prior`; raise StorageError where they make no sense.

    row: of the study.
    """
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
    """Raise StudyMismatch where a call gives another prior than the one on record.

    stored: the study as it was made.
    now: its prior in the form of the space of the call.
    given: as the call speaks of it; no prior agrees with any.
    where: name of the storage, for messages.
    """
    known, prior = stored_prior(stored), stored_prior(given)
    if not prior or dump(prior) in (dump(known), dump(now)):
        return
    counts = [", ".join(str(len(task["values"])) for task in tasks) or "none" for tasks in (known, prior)]
    other = " with other points or values" if counts[0] == counts[1] else ""
    raise StudyMismatch(
        f"study {stored.name!r} in {where} was made with another prior: trials of each earlier study: {counts[0]} there"
        f", {counts[1]} here{other}; leave prior= away to go on with what is on record, or give the study another name"
    )
