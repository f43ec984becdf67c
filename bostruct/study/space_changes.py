"""Changes of a study's space: which trials remain valid, and how the change is stored."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, repeat
from typing import NamedTuple

from bostruct import __version__
from bostruct.checks import count_own_frames, short_repr
from bostruct.contracts import Domain, Info, ParsedJson, Point, PointError, PredicateError
from bostruct.display import printable
from bostruct.domains.space.levels import RoundedNumbers, accept_rounded
from bostruct.domains.space.points import Contents, read_contents
from bostruct.execution.clock import now
from bostruct.storage.json_text import MALFORMED, dump, parse
from bostruct.storage.protocol import SpaceChange, StorageError, StoredStudy, StudyRow, StudyWriter, TrialRow
from bostruct.study.history import Trial
from bostruct.study.point_forms import (
    Kept,
    PointForm,
    find_moved_numbers,
    find_names,
    read_point_text,
    read_point_texts,
    restore_numbers,
)
from bostruct.study.records import (
    DeferredTrial,
    check_same_study,
    check_study,
    is_same_class,
    is_same_description,
    is_same_method,
    read_trial,
    show_trial,
)

SHOWN_REASONS = 10
BATCH_SIZE = 500  # points that are read together
BREAKS = " breaks "  # separates a point from a constraint's name, in the reason why the point is invalid


class SpaceChanged(UserWarning):
    """Warns that some trials of a study or of its prior are invalid in the given space."""


class Opening(NamedTuple):
    """A stored study and the study of a call.

    change: change of the space; None if there is none, or it cannot be applied to trials.
    """

    given: StudyRow
    change: SpaceChange | None
    rounded: RoundedNumbers | None = None


def current_row(stored: StoredStudy) -> StudyRow:
    """Return the row of a study after the last change of its space."""
    if not stored.changes:
        return stored.study
    last = stored.changes[-1]
    return stored.study._replace(domain=last.domain, method=last.method, initial=last.initial)


def check_study_rows(stored: StoredStudy, where: str) -> StudyRow:
    """Return the current row of a study; raise StorageError if it or an earlier row is malformed JSON."""
    check_study(stored.study, where)
    for change in stored.changes:
        check_study(stored.study._replace(domain=change.domain, method=change.method, initial=change.initial), where)
    parse_unread(stored, f"{where}: study {stored.study.name!r}")
    return current_row(stored)


def has_domain(row: StudyRow, domain: Domain) -> bool:
    """Return whether a study has this domain; True for a domain that cannot change during a study."""
    return not domain.reads_earlier_forms or is_same_description(row.domain, dump(domain.to_json()))


def find_change(stored: StoredStudy, given: StudyRow, domain: Domain, where: str) -> Opening:
    """Find the change of a study's space by a call; nothing is written.

    Spaces without a common name are not changes of each other, and other domains cannot change. Raises StorageError if
    stored data cannot be read.
    """
    row = current_row(stored)
    new, same_prior = parse(given.domain), _dump_prior(row) == _dump_prior(given)
    if not domain.reads_earlier_forms:
        return Opening(given, None)
    if has_domain(row, domain) and same_prior and not _has_predicates(new):
        return Opening(given, None)
    if not {*read_contents(parse(row.domain)).names} & {*read_contents(new).names}:
        return Opening(given, None)
    with accept_rounded() as rounded:
        unread = _find_unread(stored, domain, f"{where}: study {row.name!r}")
    if has_domain(row, domain) and same_prior and unread.keys() == parse_unread(stored, where).keys():
        return Opening(given, None)
    initial = given.initial
    if initial == "[]":
        initial = dump(list(_migrate_initial(row, domain, where)))
    is_same = is_same_kind(row.method, given.method)
    agreed = given._replace(domain=row.domain, initial="[]", method=row.method if is_same else given.method)
    change = SpaceChange(given.domain, given.method, initial, len(stored.trials), dump(unread), now(), __version__)
    return Opening(agreed, change, rounded)


def _dump_prior(row: StudyRow) -> str:
    return dump(parse(row.method).get("prior", []))


def has_rules(description: ParsedJson) -> bool:
    """Return whether a space has constraints or predicates that no file can store."""
    inner = read_contents(description).parts.values()
    rules = description.get("constraints")  # a list of clauses is stored completely
    is_opaque = bool(rules) and not isinstance(rules, list)
    return is_opaque or _has_predicates(description) or any(map(has_rules, inner))


def _has_predicates(description: ParsedJson) -> bool:
    """Return whether conditions of a space are predicates or test a part; only the names of these are stored."""
    contents = read_contents(description)
    tests = (test for variable in contents.variables.values() for test in variable.get("when", {}).values())
    is_own = bool(description.get("tests")) or any("predicate" in test for test in tests)
    return is_own or any(map(_has_predicates, contents.parts.values()))


def _find_unread(stored: StoredStudy, domain: Domain, where: str) -> dict[str, str]:
    """Return why trials are invalid in a space, by trial number as text."""
    unread = {}
    for row, description in zip(stored.trials, _iterate_descriptions(stored, domain), strict=True):
        try:
            _migrate_point(row.point, domain, description, f"{where}: trial {row.number}")
        except PointError as error:
            unread[str(row.number)] = str(error)
    return unread


def check_change(
    stored: StoredStudy, given: StudyRow, domain: Domain, where: str, *, seed_given: bool
) -> SpaceChange | None:
    """Return the change of the space by a call that continues a study, or None; nothing is written.

    seed_given: False if the call omits the seed.

    Raises StudyMismatch if more than the space differs, StorageError if stored data cannot be read. Warns of
    `OtherVersion`.
    """
    row = check_study_rows(stored, where)
    opening = find_change(stored, given, domain, where)
    check_same_study(row, opening.given, where, seed_given=seed_given)
    if opening.rounded is not None:
        warn_of_rounded(f"study {row.name!r} in {where}", opening.rounded)
    return opening.change


def warn_of_rounded(label: str, rounded: RoundedNumbers) -> None:
    """Warn of numbers that are rounded to listed numbers, if any."""
    if rounded.found:
        warnings.warn(
            f"{label}: numbers are read as the listed numbers that round to them, or to which they round:{rounded}",
            stacklevel=count_own_frames(),
        )


def record_change(
    stored: StoredStudy, change: SpaceChange | None, store: StudyWriter, state: str, where: str
) -> StoredStudy:
    """Write a change of the space, warn of `SpaceChanged` if trials are invalid, and return the study.

    change: result of `check_change`.
    state: the searcher's initial state, as JSON text, because the state for another space is not used.
    """
    if change is None:
        return stored
    if unread := parse(change.unread):
        spaces = [stored.study.domain, *(earlier.domain for earlier in stored.changes), change.domain]
        contents = [read_contents(parse(text)) for text in spaces]  # trials may belong to any of them
        warnings.warn(
            f"study {stored.study.name!r} in {where}: {len(unread)} of {change.trials} trials cannot be read in the "
            f"new space. They stay in the study, but the method ignores them:{group_reasons(unread, contents)}",
            SpaceChanged,
            stacklevel=count_own_frames(),
        )
    store.change_space(change, state)  # after the warning, which a caller may have turned into an error
    return StoredStudy(stored.study._replace(state=state), stored.trials, (*stored.changes, change))


def group_reasons(unread: Mapping[str, str], contents: Sequence[Contents]) -> str:
    """Describe why trials are invalid, one line for each variable or constraint, the most frequent first.

    unread: reasons by number of the trial.
    """
    grouped: dict[str, list[str]] = {}  # trial numbers by variable or constraint
    for number, reason in unread.items():
        grouped.setdefault(_find_subject(reason, contents), []).append(number)
    ordered = sorted(grouped.items(), key=lambda item: -len(item[1]))
    lines = [
        f"{unread[numbers[0]]} (trial {numbers[0]}; {len(numbers)} such)" for _, numbers in ordered[:SHOWN_REASONS]
    ]
    if more := len(ordered) - len(lines):
        lines.append(f"and {more} more variables or constraints")
    return "".join(f"\n- {printable(line)}" for line in lines)  # names in a file are arbitrary


def _find_subject(reason: str, contents: Sequence[Contents]) -> str:
    """Return the path of a reason's variable; otherwise its constraint, otherwise the reason itself."""
    named = [name for one in contents for name in one.names if reason.startswith(f"{name}: ")]
    if not named:
        return reason.rpartition(BREAKS)[2]
    name = max(named, key=len)
    rest = reason.removeprefix(f"{name}: ")
    inner = [read_contents(one.parts[name]) for one in contents if name in one.parts]
    found = _find_subject(rest, inner) if inner else rest
    return name if found == rest else f"{name}: {found}"


def migrate_trials(
    stored: StoredStudy, form: PointForm, where: str
) -> Iterator[tuple[Trial | DeferredTrial, Kept, str | None]]:
    """Yield each trial by number, its kept point, and its point's text; raise StorageError, with the number.

    The kept point is None if it is unreadable. The text is None if the domain encodes the point again.
    """
    domain = form.domain
    is_current = has_domain(current_row(stored), domain)
    known = parse_unread(stored, where) if is_current else None
    follows = domain if domain.reads_earlier_forms else None
    own = None if follows is None else dump(domain.to_json())
    names, is_complete = None if own is None else find_names(parse(own)), form.is_complete
    read = zip(stored.trials, _iterate_descriptions(stored, domain), _keep_in_batches(stored, form, names), strict=True)
    for one, description, kept in read:
        if known and str(one.number) in known:
            yield _read_unread(one, known[str(one.number)], description, where), None, one.point
        elif own is None or follows is None or is_same_description(description, own):
            written = _read_names(description) if kept is None else ()  # of the space in which the point was asked
            trial = read_trial(one, form, written, where) if kept is None else show_trial(one, form, kept, where)
            yield trial, trial.kept, None if is_complete else one.point
        else:
            trial, point = _migrate_trial(one, follows, description, where, is_known=known is not None)
            yield trial, None if point is None else form.keep(point), one.point


def _keep_in_batches(stored: StoredStudy, form: PointForm, names: Sequence[str] | None) -> Iterator[Kept]:
    """Yield the representation of each point in the current space, or None if that is unknown.

    Points are read in batches, which is faster for a long study.
    """
    for start in range(0, len(stored.trials), BATCH_SIZE):
        texts = [one.point for one in stored.trials[start : start + BATCH_SIZE]]
        batch = read_point_texts(texts, form.domain, names)
        yield from repeat(None, len(texts)) if batch is None else form.keep_all(batch)


def parse_unread(stored: StoredStudy, where: str) -> dict[str, str]:
    """Return why trials are invalid in a study's space, by trial number as text; raise StorageError."""
    if not stored.changes:
        return {}
    try:
        unread = parse(stored.changes[-1].unread)
    except ValueError as error:
        raise StorageError(f"{where} cannot be read: unread: {error}") from error
    if not isinstance(unread, dict) or not all(isinstance(why, str) for why in unread.values()):
        raise StorageError(f"{where} cannot be read: unread: expected reasons by number, got {short_repr(unread)}")
    return unread


def describe_change(before: str, after: str) -> str:
    """Describe the differences between two spaces.

    before, after: descriptions of spaces, JSON text.
    """
    old, new = ({**one.variables, **one.parts} for one in (read_contents(parse(text)) for text in (before, after)))
    names = {
        "gained": [name for name in new if name not in old],
        "lost": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and dump(new[name]) != dump(old[name])],
    }
    parts = [f"{verb} {', '.join(listed)}" for verb, listed in names.items() if listed]
    rules = [parse(text).get("constraints") for text in (before, after)]
    if rules[0] != rules[1]:
        counts = [len(own) if isinstance(own, list) else own for own in rules]
        parts.append("other constraints" if counts[0] == counts[1] else f"constraints {counts[0]} to {counts[1]}")
    return "; ".join(parts) or ("a predicate" if before == after else "another order")


def describe_spaces(stored: StoredStudy, domain: Domain) -> list[str]:
    """Return the descriptions of the spaces of a study, in their order, as JSON text.

    Each variable has its last default before the current space, whether or not the change to it is stored.
    """
    spaces = [stored.study.domain, *(change.domain for change in stored.changes)]
    earlier = spaces[:-1] if stored.changes and has_domain(current_row(stored), domain) else spaces
    return [_with_last_defaults(text, earlier[i + 1 :]) for i, text in enumerate(spaces)]


def _iterate_descriptions(stored: StoredStudy, domain: Domain) -> Iterator[str]:
    """Yield the description of the space in which each trial was asked, as in `describe_spaces`."""
    spaces = describe_spaces(stored, domain)
    ends = [*(change.trials for change in stored.changes), len(stored.trials)]
    starts = [0, *ends]
    return chain.from_iterable([text] * (end - start) for text, start, end in zip(spaces, starts, ends, strict=False))


def _with_last_defaults(text: str, later: Sequence[str]) -> str:
    """Return the description of a space with the last defaults of its variables."""
    if not later:
        return text
    description = parse(text)
    _take_last_defaults(read_contents(description), [read_contents(_parse_description(other)) for other in later])
    return dump(description)


def _take_last_defaults(contents: Contents, later: Sequence[Contents]) -> None:
    """Write the last default of each variable into its description."""
    for name, one in contents.variables.items():
        for own in (other.variables.get(name) for other in later):
            if own is not None:
                one.pop("default", None)
                one |= {"default": own["default"]} if "default" in own else {}
    for name, part in contents.parts.items():
        known = [read_contents(other.parts[name]) for other in later if name in other.parts]
        _take_last_defaults(read_contents(part), known)


@lru_cache(maxsize=8)
def _parse_description(text: str) -> ParsedJson:
    return parse(text)


@lru_cache(maxsize=8)
def _read_names(description: str) -> tuple[str, ...] | None:
    """Return the point names of a described domain, as `find_names` does; many trials share a description."""
    return find_names(_parse_description(description))


def is_same_kind(stored: str, given: str) -> bool:
    """Return whether a method is the same for another space, which may change its settings.

    stored, given: results of `describe_method`, as JSON text.
    """
    a, b = parse(stored), parse(given)
    if a["name"] is None and b["name"] is None:
        return is_same_class(a, b)
    return a["name"] == b["name"] or is_same_method(stored, given)


def _migrate_point(text: str, domain: Domain, description: str, where: str, *, is_known: bool = False) -> Point:
    """Migrate a point of another space; raise PointError if it is invalid here, StorageError if it is malformed.

    Constraints are not evaluated if they are known to hold.
    """
    try:
        described = _parse_description(description)
        with accept_rounded():
            point = domain.decode_from(read_point_text(text, find_names(described)), described)
    except (PointError, PredicateError):
        raise
    except MALFORMED as error:
        raise StorageError(f"{where} cannot be read: {short_repr(error, 200)}") from error
    if not is_known:
        domain.check(point)
    return point


def _migrate_initial(row: StudyRow, domain: Domain, where: str) -> Iterator[ParsedJson]:
    for data in parse(row.initial):
        try:
            yield domain.encode(_migrate_point(dump(data), domain, row.domain, f"{where}: study {row.name!r}: initial"))
        except PointError:
            continue


def _read_unread(row: TrialRow, why: str, description: str, where: str) -> Trial:
    """Return a trial with an unreadable point, which shows its stored form."""
    try:
        shown = read_point_text(row.point, _read_names(description))
    except ValueError as error:
        raise StorageError(f"{where}: trial {row.number} cannot be read: {error}") from error
    trial = show_trial(row, lambda kept, info: restore_numbers(kept, info.get("given")), shown, where)
    return replace(trial.create(), unread=why)


def _migrate_trial(
    row: TrialRow, domain: Domain, description: str, where: str, *, is_known: bool
) -> tuple[Trial | DeferredTrial, Point | None]:
    """Return a trial of another space, with the evaluated numbers, and its point."""
    try:
        point = _migrate_point(row.point, domain, description, f"{where}: trial {row.number}", is_known=is_known)
    except PointError as error:
        if is_known:
            raise StorageError(f"{where}: trial {row.number} cannot be read: {short_repr(error, 200)}") from error
        return _read_unread(row, str(error), description, where), None

    def show(kept: Point, info: Info) -> ParsedJson:
        presented = domain.present(kept)
        stored = read_point_text(row.point, _read_names(description))
        evaluated = restore_numbers(stored, info.get("given"))
        return restore_numbers(presented, find_moved_numbers(evaluated, presented, domain))

    return show_trial(row, show, point, where), point
