"""The service: studies by name, and an answer to each request, whichever door it came in by."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from bostruct import __version__
from bostruct.checks import short_repr
from bostruct.contracts import ParsedJson
from bostruct.serving.descriptions import StudyDescription, read_description
from bostruct.serving.json_lines import LONGEST, read_request, write_answer
from bostruct.serving.operations import (
    LONGEST_TEXT,
    MOST_ASKED,
    OPERATIONS,
    PROTOCOL,
    Operation,
    check_request,
    read_text,
)
from bostruct.serving.refusals import Refusal
from bostruct.serving.served_study import ServedStudy
from bostruct.serving.trial_json import Facts
from bostruct.storage.protocol import StorageError, StudyMismatch

if TYPE_CHECKING:
    from bostruct.study.study import Study

log = logging.getLogger(__name__)

MOST_STUDIES = 100
MOST_NAMED = 10  # studies in a message
CLOSE_SECONDS = 5.0  # for requests that are being answered when the server ends

Request = dict[str, ParsedJson]


class Answer(NamedTuple):
    """An answer to a request.

    status: of HTTP.
    body: a line of JSON.
    undo: to be called where the answer reaches nobody; None where nothing is to be undone.
    """

    status: int
    body: bytes
    undo: Callable[[], None] | None = None


class Service:
    """Studies that are served together.

    studies: open for writing, with distinct names.
    create: makes a study of a client's description; None where clients may make none.
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
            refusal = _explain(error)
            if self._is_ending and refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # its study was closed meanwhile
                refusal = Refusal("stopping", "the server is ending")
            return Answer(refusal.status, write_refusal(refusal, number))

    def close(self) -> None:
        """End all studies: requests that are being answered have some seconds, trials that are out are given back."""
        self._is_ending = True
        with self._creating:
            studies = list(self._studies.values())
        for study in studies:
            study.close(CLOSE_SECONDS / len(studies))

    def list_studies(self) -> list[str]:
        """Return the names of the studies."""
        return list(self._studies)

    def _serve(self, kind: str, request: Request) -> tuple[bytes, Callable[[], None] | None]:
        """Return the facts of an answer as a line of JSON, and what is to be done where they reach nobody."""
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
            said = json.dumps({name: part for name, part in request.items() if name != "id"}, sort_keys=True)
            run = partial(_run, operation, study, request)
            return study.keys.run_once(read_text("key", key), said, run), None
        facts = operation.answer(study, request)
        return write_answer(facts), partial(study.take_back, facts) if kind == "ask" else None

    def _find(self, request: Request) -> ServedStudy:
        studies, name = self._studies, request.get("study")
        if name is None and len(studies) == 1:
            return next(iter(studies.values()))
        if isinstance(name, str) and name in studies:
            return studies[name]
        if not studies:
            raise Refusal("unknown_study", "study: none is served so far; `create` makes one")
        if name is None:
            raise Refusal("bad_request", f"the field study is needed, as {len(studies)} are served: {_list(studies)}")
        raise Refusal("unknown_study", f"study: expected one of {_list(studies)}; got {short_repr(name)}")

    def _create_study(self, request: Request) -> ServedStudy:
        if self._create is None:
            raise Refusal("not_allowed", "create: this server makes no studies; bostruct serve --create does")
        description = read_description(read_text("study", request.get("study")), request)
        name = description.name
        with self._creating:
            if name in self._studies:
                description.check_same(self._studies[name].study)
                return self._studies[name]
            if self._is_ending or len(self._studies) >= MOST_STUDIES:
                raise Refusal("not_allowed", f"create: expected at most {MOST_STUDIES} studies, which there are")
            self._studies = self._studies | {name: ServedStudy(self._create(description))}  # others look at the old one
            return self._studies[name]


def write_refusal(refusal: Refusal, number: ParsedJson = None) -> bytes:
    """Return the answer to a request that is not served, a line of JSON.

    refusal: says why.
    number: the id of the request, None without one.
    """
    error = {"code": refusal.code, "message": str(refusal), **refusal.facts}
    return write_answer({"ok": False, "id": number, "error": error})


def _list(names: Iterable[str]) -> str:
    """Write the first names of studies; the rest are an ellipsis."""
    shown = list(map(repr, names))
    return ", ".join(shown[:MOST_NAMED] + ["..."] * (len(shown) > MOST_NAMED))


def _run(operation: Operation, study: ServedStudy, request: Request) -> bytes:
    return write_answer(operation.answer(study, request))


def _explain(error: Exception) -> Refusal:
    """Return the refusal that an error comes to; one that nobody expects is logged, and nothing of it is told."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, StorageError):
        return Refusal("storage", str(error))
    if isinstance(error, StudyMismatch):
        return Refusal("study_exists", str(error))
    if isinstance(error, TypeError | ValueError):
        return Refusal("bad_value", str(error))
    log.error("a request failed", exc_info=error)
    return Refusal("internal", f"{type(error).__name__}; the log of the server says more")


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
