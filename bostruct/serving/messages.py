"""JSON of requests, answers, trials, points and refusals: parsed strictly, and written for clients in any language."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from bostruct.contracts import Domain, ParsedJson, PointError, Presented
from bostruct.storage.json_text import MALFORMED

if TYPE_CHECKING:
    from bostruct.study.history import Trial

LONGEST = 1024 * 1024  # bytes of a request
DEEPEST = 64  # levels of nested lists and objects
CODES: dict[str, int] = {
    "bad_json": 400,
    "bad_request": 400,
    "bad_protocol": 400,
    "unknown_request": 400,
    "bad_value": 422,
    "unknown_study": 404,
    "unknown_trial": 404,
    "trial_finished": 409,
    "lease_lost": 409,
    "space_exhausted": 409,
    "study_finished": 409,
    "study_exists": 409,
    "key_reused": 409,
    "nothing_completed": 409,
    "several_objectives": 409,
    "not_allowed": 403,
    "suggestion_failed": 500,
    "internal": 500,
    "storage": 503,
    "stopping": 503,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "length_required": 411,
    "too_large": 413,
    "too_many_requests": 429,
    "header_too_large": 431,
}
Facts: TypeAlias = dict[str, Any]  # fields of an answer: plain JSON by name, possibly with tuples
OPTIONAL_FIELDS = ("value", "reason", "sd", "repeats", "broken", "unread", "finished")


def read_request(text: bytes) -> dict[str, ParsedJson]:
    """Parse a request, which is a JSON object.

    text: JSON in UTF-8, with finite numbers.

    Raises Refusal for anything else.
    """
    try:
        data = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_read_float)
    except UnicodeDecodeError as error:
        raise Refusal("bad_json", f"expected UTF-8, got other bytes from byte {error.start} onward") from None
    except RecursionError:
        raise Refusal("bad_json", f"expected at most {DEEPEST} nested lists and objects") from None
    except ValueError as error:
        raise Refusal("bad_json", f"expected one JSON object: {str(error)[:200]}") from None
    if not isinstance(data, dict):
        names = {str: "a string", list: "a list", bool: "a boolean", type(None): "null"}
        raise Refusal("bad_json", f"expected a JSON object, got {names.get(type(data), 'a number')}")
    _check_depth(data)
    return data


def write_answer(answer: dict[str, ParsedJson]) -> bytes:
    """Return an answer as one line of ASCII JSON; non-finite numbers become null.

    answer: plain JSON, possibly with tuples.
    """
    return json.dumps(replace_nonfinite(answer), allow_nan=False, default=repr).encode("ascii") + b"\n"


def replace_nonfinite(data: object) -> object:
    """Return data with None instead of non-finite numbers, which JSON cannot represent.

    data: plain JSON, possibly with tuples.
    """
    if isinstance(data, dict):
        return {str(key): replace_nonfinite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [replace_nonfinite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


class Refusal(Exception):
    """A rejected request.

    facts: additional fields of the answer by name, plain JSON.
    """

    def __init__(self, code: str, message: str, **facts: object) -> None:
        super().__init__(message)
        self.code = code
        self.facts = facts

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return CODES[self.code]


def trial_to_json(domain: Domain, trial: Trial) -> Facts:
    """Return a trial as plain JSON.

    A completed trial has `values`, and `value` if there is one objective. Empty fields are left out.
    """
    point = trial.point if trial.unread is not None else domain.encode(domain.parse(trial.point))
    shown: Facts = {"number": trial.number, "status": trial.status, "point": point, "started": trial.started}
    for name in OPTIONAL_FIELDS:
        if (part := getattr(trial, name)) not in (None, ()):
            shown[name] = part
    if trial.values:
        shown["values"] = trial.values
    if trial.constraints:
        shown["constraints"] = dict(trial.constraints)
    if trial.attributes:
        shown["attributes"] = dict(trial.attributes)
    return shown | {"info": trial.info}


def point_from_json(domain: Domain, point: ParsedJson) -> Presented:
    """Return a point in the form that the objective receives.

    point: plain JSON, as written by `trial_to_json`, or in the user's form if JSON can represent it.

    Raises Refusal if it is not a point of the domain.
    """
    try:
        domain.parse(point)
    except MALFORMED as error:
        with suppress(*MALFORMED):  # values that JSON cannot represent are encoded
            return domain.present(domain.decode(point))
        why = str(error) if isinstance(error, PointError) else f"expected a point of the space, got {point!r:.200}"
        raise Refusal("bad_value", f"point: {why}") from error
    return point


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; report a trial without a value with `failed`")


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is above the largest float, {1.7976931348623157e308}")
    return number


def _check_depth(data: object) -> None:
    """Raise Refusal if lists and objects are nested too deeply."""
    level: list[object] = [data]
    for _ in range(DEEPEST):
        parts = (one.values() if isinstance(one, dict) else cast(list[object], one) for one in level)
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]
        if not level:
            return
    raise Refusal("bad_json", f"expected at most {DEEPEST} nested lists and objects")
