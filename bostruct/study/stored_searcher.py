"""The searcher of a stored study, with the stored prior, even after a change of the study's space."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

from bostruct import methods
from bostruct.checks import count_own_frames
from bostruct.contracts import Domain, DomainError, ParsedJson, Point, PointError, PredicateError, Searcher
from bostruct.domains.space.levels import accept_rounded
from bostruct.domains.space.points import read_contents
from bostruct.goals.declared import Goals
from bostruct.methods.goals import allow_repeats, serve_goals
from bostruct.storage.json_text import MALFORMED, dump, parse
from bostruct.storage.protocol import StorageError, StoredStudy, StudyRow
from bostruct.study.prior import check_same_prior, stored_prior, with_prior
from bostruct.study.records import (
    GIVE_SPACE,
    check_agreement,
    check_domain,
    describe_method,
    is_same_description,
    is_same_method,
    method_label,
    name_method,
    read_goals,
    stored_method,
)
from bostruct.study.space_changes import (
    SpaceChanged,
    current_row,
    describe_spaces,
    group_reasons,
    has_domain,
    has_rules,
    is_same_kind,
)


class MigratedPrior(NamedTuple):
    """The prior of a study in the form of the current space."""

    tasks: list[ParsedJson]
    unread: Mapping[str, str]


def migrate_prior(stored: StoredStudy, domain: Domain) -> MigratedPrior:
    """Migrate the prior of a study to a space that may have changed, by the rules for trials.

    The original prior is migrated, so that a restored space has all points again. Raises StorageError if the prior is
    malformed, PredicateError if a predicate fails.
    """
    row = current_row(stored)
    may_differ = not has_domain(row, domain) or has_rules(parse(dump(domain.to_json())))
    if not may_differ or not domain.reads_earlier_forms:
        return MigratedPrior(stored_prior(row), {})
    tasks, unread = [], dict[str, str]()
    description = parse(describe_spaces(stored, domain)[0])
    for i, task in enumerate(stored_prior(stored.study)):
        points, values = [], []
        for k, (data, value) in enumerate(zip(task["points"], task["values"], strict=True)):
            try:
                points.append(domain.encode(_migrate_prior_point(data, domain, description)))
            except PointError as error:
                unread[f"{k} of prior[{i}]"] = str(error)
            else:
                values.append(value)
        if points:
            tasks.append({"points": points, "values": values})
    return MigratedPrior(tasks, unread)


def _migrate_prior_point(data: ParsedJson, domain: Domain, description: ParsedJson) -> Point:
    try:
        with accept_rounded():
            point = domain.decode_from(data, description)
        domain.check(point)
    except (PointError, PredicateError):
        raise
    except MALFORMED as error:
        raise StorageError(f"the stored prior cannot be read: {error!r}") from error
    return point


def warn_of_lost_prior(stored: StoredStudy, prior: MigratedPrior, domain: Domain, where: str) -> None:
    """Warn of `SpaceChanged` if points of the prior are invalid, unless the change is already stored."""
    if not prior.unread or dump(prior.tasks) == dump(stored_prior(current_row(stored))):
        return
    contents = [read_contents(parse(text)) for text in (stored.study.domain, dump(domain.to_json()))]
    n_points = sum(len(task["points"]) for task in stored_prior(stored.study))
    warnings.warn(
        f"study {stored.study.name!r} in {where}: {len(prior.unread)} of {n_points} trials of its prior cannot be read "
        f"in the new space. The method does not learn from them:{group_reasons(prior.unread, contents)}",
        SpaceChanged,
        stacklevel=count_own_frames(),
    )


def adopt_prior(
    stored: StoredStudy, given: StudyRow, alone: Searcher, prior: MigratedPrior, where: str
) -> tuple[Searcher, StudyRow]:
    """Return the searcher with the stored prior, and the row of a call with that prior.

    Raises StudyMismatch if the call gives another prior, or a method that does not support the prior and did not create
    the study.
    """
    created = stored.study
    try:
        searcher = with_prior(alone, prior.tasks, method_label(given))
    except DomainError:  # usually, the method did not create the study
        if not is_same_kind(created.method, given.method):
            check_agreement(created, created._replace(goals=given.goals, method=given.method), where)
        raise
    check_same_prior(created, prior.tasks, given, where)
    described = describe_method(parse(given.method)["name"] or searcher, searcher, prior.tasks)
    return searcher, given._replace(method=dump(described), state=dump(searcher.initial_state()))


def build_searcher(method: str | Searcher, domain: Domain, goals: Goals) -> Searcher:
    """Build the searcher of a study.

    Raises the errors of `methods.searcher`, ValueError for the searcher of another domain, and DomainError for a method
    that does not support the goals.
    """
    searcher = check_domain(methods.searcher(method, domain), domain)
    searcher = allow_repeats(searcher, name_method(method)) if goals.repeats else searcher
    return serve_goals(searcher, goals.n_objectives, len(goals.limits))


def readable_searcher(given: str | Searcher | None, domain: Domain, stored: StoredStudy) -> tuple[Searcher, str]:
    """Return the method of a read-only study, and its state as JSON text.

    given: name of a method, or a searcher; None for the method of the file.

    A method whose settings, prior or space differ from the stored ones starts without a state. Raises BostructError
    if the method is not available.
    """
    if not domain.is_whole:
        raise DomainError(f"the file does not contain all of its space; {GIVE_SPACE}")
    row = current_row(stored)
    tasks = migrate_prior(stored, domain).tasks
    method, goals = stored_method(row) if given is None else given, read_goals(row, "the file")
    searcher = with_prior(build_searcher(method, domain, goals), tasks, name_method(method))
    same = is_same_method(row.method, dump(describe_method(searcher, searcher)))
    same = same and dump(tasks) == dump(stored_prior(row))
    same = same and is_same_description(row.domain, dump(domain.to_json()))
    return searcher, row.state if same else dump(searcher.initial_state())
