"""Conversion between studies in memory and their stored rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple

import numpy as np

from bostruct import __version__, methods, plugins
from bostruct.checks import count_own_frames, hide_addresses, short_repr
from bostruct.contracts import (
    Batch,
    BostructError,
    Domain,
    DomainError,
    Info,
    Json,
    ParsedJson,
    Point,
    PointError,
    PredicateError,
    Presented,
    Searcher,
)
from bostruct.domains.registry import as_domain, domain_from_json
from bostruct.domains.space.points import show_objects
from bostruct.goals.declared import Goals
from bostruct.outcome import Outcome
from bostruct.storage.json_text import MALFORMED, dump, parse
from bostruct.storage.protocol import StorageError, StudyMismatch, StudyRow, TrialRow
from bostruct.study.history import Trial
from bostruct.study.point_forms import Kept, PointForm, read_point_text


def warn_of_ambiguous_choices(domain: str, where: str) -> None:
    """Warn if a file describes several choices of one variable by the same text.

    domain: description of a study's domain, as JSON text.
    """
    if '"repr"' in domain and (shown := next(_find_shared_reprs(parse(hide_addresses(domain))), None)):
        warnings.warn(
            f"{where} stores choices by their repr, and several choices have the repr {shown}. Give each its own repr, "
            "or always open the study with the choices in the same order: another order would change trials silently",
            stacklevel=count_own_frames(),
        )


def _find_shared_reprs(description: ParsedJson) -> Iterator[str]:
    """Yield each repr that several objects of one list share."""
    parts = description.values() if isinstance(description, dict) else description
    if isinstance(description, list):
        texts = (one["repr"] for one in description if isinstance(one, dict) and one.keys() == {"repr"})
        yield from (text for text, count in Counter(texts).items() if count > 1)
    for part in parts:
        if isinstance(part, dict | list):
            yield from _find_shared_reprs(part)


_READ: dict[str, Any] = {  # keys of a trial's info that a study reads, and their types
    "origin": str,
    "suggest_seconds": (int, float),
    "attempts": int,
    "failed_before": list,
    "given": dict,
    "retries": int,
    "attributes": dict,
}


FORMER_CLASSES = ("Explained", "ExplainedModel", "ExplainedRegression")  # of searchers with a note, in older files
GIVE_SPACE = "pass it: space= in Python, --problem on the command line"


class OtherVersion(UserWarning):
    """Warns that a study continues with another version of bostruct than created it."""


class JsonDomain(Domain):
    """A domain whose points are JSON, for a study whose domain cannot be rebuilt from a file.

    description: description of the study's domain, as JSON, with the texts of Python objects; None if unknown.
    """

    is_whole = False

    def __init__(self, description: ParsedJson = None) -> None:
        self.description = description

    def __repr__(self) -> str:
        return repr(self.description)

    def sample(self, m: int, rng: np.random.Generator) -> Batch:
        raise DomainError(f"the file of the study does not contain its space; {GIVE_SPACE}")

    def decode(self, data: ParsedJson) -> Point:
        return data

    def present(self, x: Point) -> Presented:
        return show_objects(x, self.description)

    def key(self, x: Point) -> Hashable:
        return dump(x)


def encode_points(domain: Domain, points: Iterable[object] | None) -> list[Json]:
    """Encode the user's initial points; raise TypeError or PointError, with the invalid item.

    points: as the objective receives them; None for none.
    """
    return [] if points is None else [domain.encode(x) for x in parse_points(domain, points, "initial_points")]


def parse_points(domain: Domain, points: Iterable[object], name: str) -> list[Point]:
    """Return points in the form of their domain; raise TypeError or PointError, with the invalid item."""
    if isinstance(points, Mapping | str) or not isinstance(points, Iterable):
        raise TypeError(f"{name}: expected a sequence of points, got {short_repr(points)}")
    parsed = []
    for position, point in enumerate(points):
        try:
            parsed.append(domain.parse(point))
        except PointError as error:
            raise PointError(f"{name}[{position}]: {error}") from error
    return parsed


def readable_domain(given: object, row: StudyRow) -> Any:
    """Return the domain with which to show a study's points.

    given: a domain or a mapping of variables; None for the domain of the file, or `JsonDomain` if it cannot be rebuilt.
    """
    if given is not None:
        return as_domain(given)
    try:
        return _rebuild_domain(row)
    except DomainError:
        return JsonDomain(parse(row.domain))


def stored_domain(row: StudyRow) -> Domain:
    """Rebuild a study's domain from its file; raise DomainError, with the fix, if the file is incomplete."""
    try:
        return as_domain(_rebuild_domain(row))
    except (DomainError, TypeError) as error:
        raise DomainError(f"study {row.name!r}: {error}; pass the space to Study.load as space=") from error


def explain_rebuild(domain: Domain, row: StudyRow, error: DomainError) -> DomainError:
    """Return the error for a rebuilt domain that the study's method does not support."""
    kind = parse(row.domain).get("domain")
    return DomainError(
        f"study {row.name!r}: {error}; its domain {kind!r} is rebuilt as {type(domain).__name__}: if the domain has "
        "another class, register that class, or pass the domain as space="
    )


def _rebuild_domain(row: StudyRow) -> Domain:
    """Raise DomainError if the file cannot contain the domain, StorageError if it contains none."""
    try:
        return domain_from_json(parse(row.domain))
    except DomainError:
        raise
    except MALFORMED as error:
        raise StorageError(f"study {row.name!r} cannot be read: domain: {error!r}") from error


def check_domain(searcher: Searcher, domain: Domain) -> Searcher:
    """Return the searcher; raise ValueError if it was built for another domain.

    searcher: for any domain.
    domain: the domain of the study.
    """
    if dump(searcher.domain.to_json()) != dump(domain.to_json()):
        raise ValueError(
            f"method: expected a searcher for {short_repr(domain, 200)}, got one for {short_repr(searcher.domain, 200)}"
        )
    return searcher


def describe_method(
    method: str | Searcher, searcher: Searcher, prior: Sequence[Json] = (), problem: str | None = None
) -> Json:
    """Return the identity of a method as JSON data: name, searcher, settings, and prior.

    problem: name of the study's problem; None to omit it. It is not part of the method, but it is stored here because
        the description of the method never changes and may have additional keys in any file.
    """
    name = method if isinstance(method, str) else None
    described = {"name": name, "searcher": type(searcher).__name__, "settings": dict(searcher.settings())}
    return described | ({"prior": list(prior)} if prior else {}) | ({} if problem is None else {"problem": problem})


def check_same_problem(stored: StudyRow, problem: str | None, where: str) -> None:
    """Raise StudyMismatch if a study is stored with another problem.

    problem: name of the problem of a call; None matches any.
    """
    known = parse(stored.method).get("problem")
    if problem is None or known in (None, problem):
        return
    raise StudyMismatch(
        f"study {stored.name!r} in {where} has the problem {short_repr(known, 200)}, not "
        f"{short_repr(problem, 200)}; give the study another name, or run the problem that it has"
    )


SECONDS, NAMES = "suggest_seconds", "objective_name"


def rename_objectives(stored: StudyRow, given: StudyRow) -> str | None:
    """Return the stored goals, JSON text, with the objective names of a call; None if they are unchanged."""
    goals, called = parse(stored.goals), parse(given.goals)
    is_renamed = NAMES in called and isinstance(goals, dict) and goals.get(NAMES) != called[NAMES]
    if not is_renamed or len(goals.get("directions", ())) != len(called["directions"]):
        return None
    return dump(goals | {NAMES: called[NAMES]})


def check_same_study(stored: StudyRow, given: StudyRow, where: str, *, seed_given: bool) -> None:
    """Raise StudyMismatch unless a call agrees with the stored study; omitted arguments agree.

    seed_given: False if the call omits the seed.

    Warns of `OtherVersion` if another version of bostruct created the study, or its method has other settings.
    """
    if not seed_given:
        given = given._replace(seed=stored.seed)
    if given.initial == "[]":
        given = given._replace(initial=stored.initial)
    kept = {name: value for name, value in parse(stored.goals).items() if name == SECONDS}
    given = given._replace(goals=dump(kept | parse(given.goals)))
    name = _find_common_name(stored, given)
    same = is_same_method(stored.method, given.method)  # regardless of the name it was built by
    check_agreement(stored, given._replace(method=stored.method) if same or name is not None else given, where)
    if stored.version != __version__ or not same:
        settings = "" if same else f" with other settings of the method {name!r} than in {__version__}"
        if not same and stored.version == __version__:
            settings += f", or with another domain of the name {parse(stored.domain).get('domain')!r}"
        warnings.warn(
            f"study {stored.name!r} in {where} was created by bostruct {stored.version}{settings}; it continues with "
            f"{__version__}, whose suggestions may differ from those of an uninterrupted run",
            OtherVersion,
            stacklevel=count_own_frames(),
        )


def check_agreement(stored: StudyRow, given: StudyRow, where: str) -> None:
    """Raise StudyMismatch unless a call agrees with the stored study."""
    if difference := find_difference(stored, given):
        raise StudyMismatch(
            f"study {stored.name!r} in {where} was created, by bostruct {stored.version}, with {difference}; "
            "give the study another name, or pass the arguments that created it; seed and initial_points can be omitted"
        )


def find_difference(stored: StudyRow, given: StudyRow) -> str | None:
    """Return a description of the first difference between a study and a call ("another seed: ..."), or None."""
    for field in ("domain", "goals", "method", "seed", "initial"):
        ours, theirs = getattr(stored, field), getattr(given, field)
        if isinstance(ours, str):
            ours, theirs = (parse(hide_addresses(text)) for text in (ours, theirs))
        if field == "goals":  # constraints of a file may be in another order, and names differ
            ours, theirs = (replace(Goals.from_json(goals), names=()).to_json() for goals in (ours, theirs))
        if dump(ours) != dump(theirs):
            name = "initial_points" if field == "initial" else field
            return f"{'other' if field == 'goals' else 'another'} {name}: {_describe_difference(name, ours, theirs)}"
    return None


def is_same_description(text: str, other: str) -> bool:
    """Return whether two descriptions, as JSON text, are equal except for memory addresses."""
    return text == other or _compact(text) == _compact(other)


@lru_cache(maxsize=16)
def _compact(text: str) -> str:
    return dump(parse(hide_addresses(text)))


def _describe_difference(path: str, ours: ParsedJson, theirs: ParsedJson) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *(k for k in theirs if k not in ours)]:
            if key not in theirs:
                return f"{path}.{key} is {short_repr(ours[key], 120)} there and missing here"
            if key not in ours:
                return f"{path}.{key} is missing there and {short_repr(theirs[key], 120)} here"
            if dump(ours[key]) != dump(theirs[key]):
                return _describe_difference(f"{path}.{key}", ours[key], theirs[key])
        return f"the order in {path} differs: {', '.join(ours)} there, {', '.join(theirs)} here"
    return f"{path} is {short_repr(ours, 120)} there and {short_repr(theirs, 120)} here"


def is_same_method(stored: str, given: str) -> bool:
    """Return whether two methods have the same class and equal settings.

    stored, given: results of `describe_method`, as JSON text.
    """
    a, b = parse(stored), parse(given)
    settings, others = ({name: one for name, one in data["settings"].items() if name != "note"} for data in (a, b))
    return is_same_class(a, b) and _is_same_setting(settings, others)


def _is_same_setting(stored: ParsedJson, given: ParsedJson) -> bool:
    """Return whether two settings are equal; older files have the rates that `ScaledOtmann` computes from a domain."""
    if not (isinstance(stored, dict) and isinstance(given, dict)):
        return bool(stored == given)
    if (stored.get("part"), given.get("part")) == ("OtmannKernel", "ScaledOtmann"):
        return bool(stored["settings"] == given["settings"])
    return stored.keys() == given.keys() and all(_is_same_setting(one, given[name]) for name, one in stored.items())


def is_same_class(stored: ParsedJson, given: ParsedJson) -> bool:
    """Return whether two methods may have the same class; older files omit the class of a searcher with a note."""
    return stored["searcher"] in (given["searcher"], *FORMER_CLASSES)


def can_continue_method(stored: StudyRow, given: StudyRow) -> bool:
    """Return whether the method of a call can continue a study: it is equal or has the same name."""
    return is_same_method(stored.method, given.method) or _find_common_name(stored, given) is not None


def _find_common_name(stored: StudyRow, given: StudyRow) -> str | None:
    """Return the shared name of methods with version-dependent settings; None if their settings must be equal.

    A searcher object must have equal settings. Settings of another version are not compared, because they contain class
    names of that version; the class of the searcher represents them.
    """
    theirs, ours = parse(stored.method), parse(given.method)
    if theirs["name"] is not None or ours["name"] is not None:
        return theirs["name"] if theirs["name"] == ours["name"] else None
    other_version = stored.version != given.version
    return theirs["searcher"] if other_version and is_same_class(theirs, ours) else None


def method_label(row: StudyRow) -> str:
    """Return the display name of a study's method."""
    method = parse(row.method)
    return method["name"] or method["searcher"]


def name_method(method: str | Searcher) -> str:
    """Return the display name of a method, the class name for an object."""
    return method if isinstance(method, str) else type(method).__name__


def stored_method(row: StudyRow) -> str:
    """Return the method's name; raise BostructError if it is a searcher object."""
    method = parse(row.method)
    if method["name"] in methods.list_names():
        return method["name"]
    if plugins.is_reference(method["name"]):
        raise BostructError(  # a file must not decide which code is imported
            f"study {row.name!r} was created with the method {method['name']!r} of a module, which no file may load; "
            f"pass method={method['name']!r}"
        )
    if method["name"] is not None:
        raise BostructError(
            f"study {row.name!r} was created with the method {method['name']!r}, which is not registered; "
            "register it by bostruct.methods.register_method, or pass an equal method as method="
        )
    raise BostructError(
        f"study {row.name!r} was created with a {method['searcher']} object and settings "
        f"{short_repr(method['settings'], 200)};"
        " pass an equal object as method="
    )


def check_study(row: StudyRow, where: str) -> StudyRow:
    """Return a stored study; raise StorageError for malformed JSON outside of the domain."""
    data: dict[str, Json] = {}
    for field in ("domain", "method", "initial", "state"):
        try:
            data[field] = parse(getattr(row, field))
        except ValueError as error:
            raise StorageError(f"{where}: study {row.name!r} cannot be read: {field}: {error}") from error
    method = data["method"] if isinstance(data["method"], dict) else {}
    is_right = {
        "domain": isinstance(data["domain"], dict),
        "method": [type(method.get(name)) for name in ("searcher", "settings")] == [str, dict]
        and isinstance(method.get("name", 0), str | None),
        "initial": isinstance(data["initial"], list),
    }
    for field in (field for field, right in is_right.items() if not right):
        raise StorageError(f"{where}: study {row.name!r} cannot be read: {field}: got {short_repr(data[field])}")
    read_goals(row, where)
    return row


def read_goals(row: StudyRow, where: str) -> Goals:
    """Return the goals of a stored study; raise StorageError if they are malformed."""
    try:
        return Goals.from_json(parse(row.goals))
    except MALFORMED as error:
        raise StorageError(f"{where}: study {row.name!r} cannot be read: {error}") from error


def read_initial(row: StudyRow, domain: Domain, where: str) -> list[Point]:
    """Return the user's initial points in the form of the domain; raise StorageError, PredicateError."""
    try:
        return [domain.decode(data) for data in parse(row.initial)]
    except PredicateError:
        raise
    except MALFORMED as error:
        raise StorageError(f"{where} cannot be read: initial: {error!r}") from error


class DeferredTrial(NamedTuple):
    """The parts of a trial, which is created when it is first read, because most trials of a long study never are."""

    show: Callable[[Any, Info], Presented]
    kept: Kept
    number: int
    info: Info
    started: float
    finished: float | None
    outcome: Outcome | None
    unread = None

    def create(self) -> Trial:
        show, kept, number, info, started, finished, done = self
        if done is None or not done.values or done.sd is not None or done.constraints or done.repeats:
            parts = {"status": "running"} if done is None else _show_parts(done)
        else:  # most trials
            parts = {"status": "completed", "values": done.values, "value": done.value}
        return Trial.shown_later(show, kept, number=number, info=info, started=started, finished=finished, **parts)


def read_trial(row: TrialRow, form: PointForm, names: Sequence[str] | None, where: str) -> DeferredTrial:
    """Return the parts of a trial, with those of its point; raise StorageError, with its number, if it is malformed.

    Raises PredicateError if a condition fails.
    """
    try:
        kept = form.keep(form.domain.decode(read_point_text(row.point, names)))
    except PredicateError:
        raise
    except MALFORMED as error:
        raise StorageError(f"{where}: trial {row.number} cannot be read: {short_repr(error, 200)}") from error
    return show_trial(row, form, kept, where)


def show_trial(row: TrialRow, show: Callable[[Any, Info], Presented], kept: object, where: str) -> DeferredTrial:
    """Return the parts of a trial, whose point is `show(kept, info)`; raise StorageError if it is malformed."""
    try:
        info = parse(row.info)
        if not isinstance(info, dict) or not all([isinstance(info[name], _READ.get(name, object)) for name in info]):
            raise TypeError(f"info: expected a JSON object about a trial, got {short_repr(info)}")
    except MALFORMED as error:
        raise StorageError(f"{where}: trial {row.number} cannot be read: {short_repr(error, 200)}") from error
    named = {intern(k): intern(part) if k == "origin" else part for k, part in info.items()}  # shared by many trials
    return DeferredTrial(show, kept, row.number, named, row.started, row.finished, row.outcome)


def show_outcome(trial: Trial, outcome: Outcome, **changes: Any) -> Trial:
    """Return a running trial with its outcome, in new objects that a user may modify.

    changes: other changed fields.
    """
    return replace(trial, **_show_parts(outcome), **changes)


def _show_parts(outcome: Outcome) -> dict[str, Any]:
    """Return the fields of a trial that describe an outcome."""
    return {
        "status": outcome.status,
        "values": outcome.values,
        "constraints": dict(outcome.constraints),
        "value": outcome.value,
        "reason": outcome.reason,
        "sd": outcome.sd,
        "repeats": outcome.repeats,
    }


def write_trial(
    trial: Trial,
    attempts: int,
    outcome: Outcome | None = None,
    position: int | None = None,
    *,
    point: str = "",
    owner: str | None = None,
) -> TrialRow:
    """Return the row of a trial.

    outcome: outcome of its evaluation; None while it is running.
    position: its position in the order of completion; None while it is running.
    point: JSON text; "" to keep the stored one.
    owner: the writer that started it; None if it is queued or finished, or if there is only one writer.
    """
    info = dump(trial.info)
    return TrialRow(trial.number, point, info, trial.started, attempts, outcome, trial.finished, position, owner)
