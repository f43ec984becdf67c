"""JSON of requests and answers, read strictly and written without what other languages do not read."""

from __future__ import annotations

import json
import math
from typing import NoReturn, cast

from bostruct.contracts import ParsedJson
from bostruct.serving.refusals import Refusal

LONGEST = 1024 * 1024  # bytes of a request
DEEPEST = 64  # lists and objects inside one another


def read_request(text: bytes) -> dict[str, ParsedJson]:
    """Return the object that a request is.

    text: JSON in UTF-8, with finite numbers.

    Raises Refusal for anything else.
    """
    try:
        data = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_read_float)
    except UnicodeDecodeError as error:
        raise Refusal("bad_json", f"expected UTF-8, got other bytes from byte {error.start} on") from None
    except RecursionError:
        raise Refusal("bad_json", f"expected at most {DEEPEST} lists and objects inside one another") from None
    except ValueError as error:
        raise Refusal("bad_json", f"expected one JSON object: {str(error)[:200]}") from None
    if not isinstance(data, dict):
        raise Refusal("bad_json", f"expected a JSON object, got {_name_type(data)}")
    _check_depth(data)
    return data


def write_answer(answer: dict[str, ParsedJson]) -> bytes:
    """Return an answer as one line of JSON in ASCII; numbers that are not finite become null.

    answer: plain JSON, perhaps with tuples in it.
    """
    return json.dumps(replace_nonfinite(answer), allow_nan=False, default=repr).encode("ascii") + b"\n"


def replace_nonfinite(data: object) -> object:
    """Return data with null in place of numbers that are not finite, for which JSON has no word.

    data: dicts, lists, tuples and what JSON holds.
    """
    if isinstance(data, dict):
        return {str(key): replace_nonfinite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [replace_nonfinite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON; a trial without a value is told with `failed`")


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is beyond the largest float, {1.7976931348623157e308}")
    return number


def _check_depth(data: object) -> None:
    """Raise Refusal where lists and objects are nested too deeply."""
    level: list[object] = [data]
    for _ in range(DEEPEST):
        parts = (one.values() if isinstance(one, dict) else cast(list[object], one) for one in level)
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]
        if not level:
            return
    raise Refusal("bad_json", f"expected at most {DEEPEST} lists and objects inside one another")


def _name_type(data: object) -> str:
    names = {str: "a string", list: "a list", bool: "a boolean", type(None): "null"}
    return names.get(type(data), "a number")
