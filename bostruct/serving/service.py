"""The service: studies by name, and an answer to each request of the protocol, independent of the transport.

A client may describe a study in JSON: a space without code, goals, and the name of a method.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from bostruct import __version__, methods
from bostruct.checks import check_choice, check_integer, check_number, did_you_mean, short_repr
from bostruct.contracts import DomainError, ParsedJson, Presented
from bostruct.domains.space.clauses import clause_from_json
from bostruct.domains.space.registry import variable_from_json
from bostruct.domains.space.space import Space
from bostruct.goals.declared import Goals, declare_goals
from bostruct.outcome import AttributeReader
from bostruct.serving.messages import LONGEST, Facts, Refusal, point_from_json, read_request, write_answer
from bostruct.serving.served_study import ServedStudy
from bostruct.storage.json_text import MALFORMED, dump
from bostruct.storage.protocol import StorageError, StudyMismatch

if TYPE_CHECKING:
    from bostruct.storage.protocol import Storage
    from bostruct.study.study import Study

SPACE_FIELDS = ("domain", "variables", "constraints")
log = logging.getLogger(__name__)
PROTOCOL = 1
MOST_STUDIES = 100
MOST_NAMED = 10  # studies listed in a message
MOST_ASKED = 256  # trials per request
MOST_LISTED = 1000
LEAST_LEASE, LONGEST_LEASE = 0.1, 1e7  # seconds
LONGEST_TEXT = 200  # letters of a name, a key or an id
CLOSE_SECONDS = 5.0  # for requests that are being answered when the server ends
COMMON = ("request", "study", "id", "key", "protocol")
OUTCOME = ("value", "values", "sd", "repeats", "constraints", "failed", "infeasible", "attributes")
REPORTED = ("value", "values", "repeats", "failed", "infeasible", "reports")  # a tell needs at least one of these
OF_EVALUATION = ("finished", "reports", "retry")
CREATED = ("space", "direction", "directions", "constraints", "method", "seed", "initial_points")
Request = dict[str, ParsedJson]


class Service:
    """Studies that are served together.

    create: creates a study from a client's description; None if clients may not create studies.
    """

    def __init__(self, studies: Iterable[Study], create: Callable[[StudyDescription], Study] | None = None) -> None:
        self._studies = {study.name: ServedStudy(study) for study in studies}
        self._create = create
        self._creating = threading.Lock()
        self._is_ending = False

    def answer(self, text: bytes) -> Answer:
        """Return the answer to a request, which may take as long as a suggestion.

        text: the request, JSON in UTF-8.
        """
        number: ParsedJson = None
        try:
            request = read_request(text)
            number = _read_id(request)
            kind = check_request(request)
            facts, undo = self._serve(kind, request)
            head = write_answer({"ok": True, "id": number})
            return Answer(HTTPStatus.OK, head[:-2] + b", " + facts[1:], undo)
        except Exception as error:
            refusal = _to_refusal(error)
            if self._is_ending and refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # the study has been closed
                refusal = Refusal("stopping", "the server is ending")
            return Answer(refusal.status, write_refusal(refusal, number))

    def close(self) -> None:
        """Close all studies: requests in progress get a few seconds, and trials in flight are released."""
        self._is_ending = True
        with self._creating:
            studies = list(self._studies.values())
        for study in studies:
            study.close(CLOSE_SECONDS / len(studies))

    def list_studies(self) -> list[str]:
        """Return the names of the studies."""
        return list(self._studies)

    def _serve(self, kind: str, request: Request) -> tuple[bytes, Callable[[], None] | None]:
        """Return the fields of an answer as a line of JSON, and the function that undoes an undelivered request."""
        if self._is_ending:
            raise Refusal("stopping", "the server is ending")
        if kind == "studies":
            limits = {"bytes": LONGEST, "trials_asked": MOST_ASKED, "create": self._create is not None}
            facts: Facts = {"protocol": PROTOCOL, "bostruct": __version__, "studies": self.list_studies()}
            return write_answer(facts | {"limits": limits}), None
        if kind == "create":
            return write_answer(self._create_study(request).describe()), None
        study, operation = self._find(request), OPERATIONS[kind]
        if operation.changes and (key := request.get("key")) is not None:
            content = json.dumps({name: part for name, part in request.items() if name != "id"}, sort_keys=True)
            key = read_text("key", key)
            return study.keys.run_once(key, content, lambda: write_answer(operation.answer(study, request))), None
        facts = operation.answer(study, request)
        return write_answer(facts), partial(study.release, facts) if kind == "ask" else None

    def _find(self, request: Request) -> ServedStudy:
        studies, name = self._studies, request.get("study")
        if name is None and len(studies) == 1:
            return next(iter(studies.values()))
        if isinstance(name, str) and name in studies:
            return studies[name]
        if not studies:
            raise Refusal("unknown_study", "study: no study is served yet; create one with `create`")
        if name is None:
            raise Refusal(
                "bad_request", f"study: expected a name, because {len(studies)} are served: {_name_some(studies)}"
            )
        raise Refusal("unknown_study", f"study: expected one of {_name_some(studies)}; got {short_repr(name)}")

    def _create_study(self, request: Request) -> ServedStudy:
        if self._create is None:
            raise Refusal("not_allowed", "create: this server creates no studies; use bostruct serve --create")
        description = read_description(read_text("study", request.get("study")), request)
        name = description.name
        with self._creating:
            if name in self._studies:
                description.check_same(self._studies[name].study)
                return self._studies[name]
            if self._is_ending or len(self._studies) >= MOST_STUDIES:
                raise Refusal("not_allowed", f"create: the limit of {MOST_STUDIES} studies is reached")
            self._studies = self._studies | {name: ServedStudy(self._create(description))}  # other threads may iterate
            return self._studies[name]


class Answer(NamedTuple):
    """An answer to a request.

    body: a line of JSON.
    undo: to be called if the answer is not delivered; None if nothing has to be undone.
    """

    status: int
    body: bytes
    undo: Callable[[], None] | None = None


def _name_some(names: Iterable[str]) -> str:
    """Return the first names of studies, and an ellipsis for the rest."""
    shown = list(map(repr, names))
    return ", ".join(shown[:MOST_NAMED] + ["..."] * (len(shown) > MOST_NAMED))


def _to_refusal(error: Exception) -> Refusal:
    """Map an exception to a refusal; log an unexpected exception, and hide its message from the client."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, StorageError):
        return Refusal("storage", str(error))
    if isinstance(error, StudyMismatch):
        return Refusal("study_exists", str(error))
    if isinstance(error, TypeError | ValueError):
        return Refusal("bad_value", str(error))
    log.error("a request failed", exc_info=error)
    return Refusal("internal", f"{type(error).__name__}; see the log of the server")


def _read_id(request: Request) -> ParsedJson:
    number = request.get("id")
    is_text = isinstance(number, str) and len(number) <= LONGEST_TEXT
    is_number = isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < 2**53
    if number is not None and not is_text and not is_number:
        raise Refusal(
            "bad_request",
            f"id: expected a string of at most {LONGEST_TEXT} letters or a number below 2^53, got {short_repr(number)}",
        )
    return number


def write_refusal(refusal: Refusal, number: ParsedJson = None) -> bytes:
    """Return the answer to a rejected request, a line of JSON.

    number: id of the request, if any.
    """
    error = {"code": refusal.code, "message": str(refusal), **refusal.facts}
    return write_answer({"ok": False, "id": number, "error": error})


class RequestKind(NamedTuple):
    """One kind of request.

    changes: whether it changes the study, so that a key has an effect.
    """

    fields: tuple[str, ...]
    answer: Callable[[ServedStudy, Request], Facts]
    needs: tuple[str, ...] = ()
    changes: bool = True


def _ask(study: ServedStudy, given: Request) -> Facts:
    n = check_integer("n", given.get("n", 1), 1, MOST_ASKED)
    return study.ask(n, _read_lease(given))


def _tell(study: ServedStudy, given: Request) -> Facts:
    outcome, warned = _outcome_arguments(given)
    outcome |= {name: given[name] for name in OF_EVALUATION if given.get(name) is not None}
    if not outcome.keys() & set(REPORTED):
        raise Refusal("bad_request", f"tell: expected at least one of the fields {', '.join(REPORTED)}; got none")
    if isinstance(retry := outcome.get("retry"), int) and not isinstance(retry, bool):
        check_integer("retry", retry, 0, 1000)
    return study.tell(_read_trial(given), _read_started(given), outcome) | warned


def _add(study: ServedStudy, given: Request) -> Facts:
    outcome, warned = _outcome_arguments(given)
    return study.add(given["point"], outcome) | warned


def _renew(study: ServedStudy, given: Request) -> Facts:
    return study.renew(_read_trial(given), _read_started(given), _read_lease(given))


def _list_trials(study: ServedStudy, given: Request) -> Facts:
    first = check_integer("from", given.get("from", 0), 0)
    return study.list_trials(first, check_integer("limit", given.get("limit", 100), 1, MOST_LISTED))


def _finish_study(study: ServedStudy, given: Request) -> Facts:
    return study.finish(read_text("reason", given.get("reason", "a client finished it")))


OPERATIONS: dict[str, RequestKind] = {
    "describe": RequestKind((), lambda study, _: study.describe(), changes=False),
    "ask": RequestKind(("n", "lease"), _ask),
    "tell": RequestKind(("trial", "started", *OUTCOME, *OF_EVALUATION), _tell, ("trial",)),
    "renew": RequestKind(("trial", "started", "lease"), _renew, ("trial",), changes=False),
    "requeue": RequestKind(("trial",), lambda study, given: study.requeue(_read_trial(given)), ("trial",)),
    "add": RequestKind(("point", *OUTCOME), _add, ("point",)),
    "best": RequestKind((), lambda study, _: study.find_best(), changes=False),
    "recommended": RequestKind((), lambda study, _: study.recommend(), changes=False),
    "trials": RequestKind(("from", "limit"), _list_trials, changes=False),
    "finish": RequestKind(("reason",), _finish_study),
}
OF_SERVER: dict[str, tuple[str, ...]] = {"studies": (), "create": CREATED}  # requests without a study, by their fields


def check_request(given: Request) -> str:
    """Return the kind of a request; raise Refusal if its kind, its fields or its version are unknown."""
    kind = given.get("request")
    known = [*OF_SERVER, *OPERATIONS]
    if not isinstance(kind, str) or kind not in known:
        hint = did_you_mean(kind[:LONGEST_TEXT], known) if isinstance(kind, str) else ""
        raise Refusal("unknown_request", f"request: expected one of {', '.join(known)}; got {short_repr(kind)}{hint}")
    if (version := given.get("protocol", PROTOCOL)) != PROTOCOL or isinstance(version, bool):
        raise Refusal("bad_protocol", f"protocol: expected {PROTOCOL}, got {short_repr(version)}")
    fields = OF_SERVER[kind] if kind in OF_SERVER else OPERATIONS[kind].fields
    if unknown := [name for name in given if name not in (*COMMON, *fields)]:
        allowed = ", ".join((*fields, *COMMON))
        hint = did_you_mean(unknown[0][:LONGEST_TEXT], fields)
        raise Refusal("bad_request", f"{kind}: expected the fields {allowed}; got {short_repr(unknown[0])}{hint}")
    if kind in OPERATIONS and (missing := [name for name in OPERATIONS[kind].needs if given.get(name) is None]):
        raise Refusal("bad_request", f"{kind}: expected the field {missing[0]}, which is missing")
    return kind


def read_text(name: str, given: object) -> str:
    """Return a short string; raise ValueError for anything else."""
    if not isinstance(given, str) or not 0 < len(given) <= LONGEST_TEXT:
        raise ValueError(f"{name}: expected a string of 1 to {LONGEST_TEXT} letters, got {short_repr(given)}")
    return given


def _read_lease(given: Request) -> float | None:
    lease = given.get("lease")
    return None if lease is None else check_number("lease", lease, LEAST_LEASE, LONGEST_LEASE)


def _read_started(given: Request) -> float | None:
    return None if given.get("started") is None else check_number("started", given["started"], 0.0)


def _read_trial(given: Request) -> int:
    return check_integer("trial", given["trial"], 0)


def _outcome_arguments(given: Request) -> tuple[dict[str, Any], Facts]:
    """Return the reported outcome as arguments of `Study.tell`, and warnings about ignored attributes."""
    outcome = {name: given[name] for name in OUTCOME if given.get(name) is not None}
    reader = AttributeReader()
    reader.read(outcome.pop("attributes", {}))
    outcome |= {"attributes": reader.kept} if reader.kept else {}
    warned: Facts = {"warnings": list(reader.refused)} if reader.refused else {}
    value, values = outcome.get("value"), outcome.pop("values", None)
    if isinstance(value, list | dict | str):
        raise TypeError(f"value: expected a number; got {short_repr(value)}; several objectives have `values`")
    if values is None:
        return outcome, warned
    if value is not None:
        raise ValueError("values: expected value or values, got both")
    if not isinstance(values, list) or not values:
        raise TypeError(f"values: expected a list with a number for each objective, got {short_repr(values)}")
    return outcome | {"value": values[0] if len(values) == 1 else tuple(values)}, warned


@dataclass(frozen=True)
class StudyDescription:
    """A client's description of a study.

    seed: random seed; None to draw one.
    """

    name: str
    space: Space
    goals: Goals
    method: str = "auto"
    seed: int | None = None
    initial_points: tuple[Presented, ...] = ()

    def make(self, storage: str | Storage | None) -> Study:
        """Create the study, or continue the stored study; raise the errors of `Study`.

        storage: a file or another storage; None for memory.
        """
        from bostruct.study.study import Study

        points = self.initial_points or None
        given = {"method": self.method, "seed": self.seed, "name": self.name, "initial_points": points}
        return Study(self.space, storage=storage, **self.goals.to_arguments() | given)

    def check_same(self, study: Study) -> None:
        """Raise Refusal unless a study matches this description; any seed matches if no seed is given."""
        ours = {"space": dump(self.space.to_json()), "goals": str(self.goals), "method": self.method}
        goals = replace(study.goals, names=())  # a description has no names
        theirs = {"space": dump(study.domain.to_json()), "goals": str(goals), "method": study.result.method}
        if self.initial_points:
            given = [self.space.parse(one) for one in self.initial_points]
            ours["initial_points"] = dump([self.space.encode(x) for x in given])
            theirs["initial_points"] = dump([self.space.encode(self.space.parse(x)) for x in study.initial_points])
        if self.seed is not None:
            ours["seed"], theirs["seed"] = str(self.seed), str(study.seed)
        for name, given in ours.items():
            if given != theirs[name]:
                raise Refusal(
                    "study_exists",
                    f"create: the study {self.name!r} exists with another {name}: {short_repr(theirs[name], 200)}",
                )


def read_description(name: str, given: dict[str, ParsedJson]) -> StudyDescription:
    """Parse the description of a study; raise TypeError, ValueError or Refusal, which name the invalid field."""
    space = space_from_json(given.get("space"))
    goals = _read_goals(given)
    method = check_choice("method", given.get("method", "auto"), methods.list_names())  # no import of client modules
    seed = None if given.get("seed") is None else check_integer("seed", given["seed"], 0, 2**63 - 1)
    points = _read_list("initial_points", given.get("initial_points"))
    return StudyDescription(name, space, goals, method, seed, tuple(point_from_json(space, one) for one in points))


def space_from_json(given: ParsedJson) -> Space:
    """Return the space described by JSON in the format of `Space.to_json`.

    Raises TypeError or DomainError, which name the invalid variable.
    """
    if not isinstance(given, dict) or not isinstance(given.get("variables"), dict):
        raise TypeError(f"space: expected an object with `variables`, an object, got {short_repr(given)}")
    if given.get("domain", "space") != "space" or not given.keys() <= set(SPACE_FIELDS):
        raise DomainError(f"space: expected the fields variables and constraints, got {short_repr(given)}")
    variables = {}
    for name, described in given["variables"].items():
        try:
            variables[name] = variable_from_json(name, described)
        except DomainError:
            raise
        except MALFORMED as error:
            expected = f"{name}: expected a variable in the format of `describe`, got {short_repr(described)}"
            raise DomainError(f"{expected}; {error}" if isinstance(error, ValueError) else expected) from error
    rules = _read_list("space.constraints", given.get("constraints") or None)
    try:
        return Space(variables, [clause_from_json(rule) for rule in rules])
    except DomainError:
        raise
    except MALFORMED as error:
        raise DomainError(f"space: {short_repr(error, 200)}") from error


def _read_goals(given: dict[str, ParsedJson]) -> Goals:
    limits = given.get("constraints")
    if limits is not None:
        if not isinstance(limits, dict) or not all(isinstance(one, list) for one in limits.values()):
            raise TypeError(f'constraints: expected constraints as {{"latency": ["<=", 10]}}, got {short_repr(limits)}')
        limits = {name: tuple(limit) for name, limit in limits.items()}
    try:
        return declare_goals(given.get("direction") or "minimize", given.get("directions"), limits)
    except MALFORMED as error:
        raise ValueError(str(error)) from error


def _read_list(name: str, given: ParsedJson) -> list[ParsedJson]:
    if given is not None and not isinstance(given, list):
        raise TypeError(f"{name}: expected a list, got {short_repr(given)}")
    return given or []
