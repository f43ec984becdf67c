"""JSON text, the stored form of domains, methods, points, states and info."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import repeat

import numpy as np

from bostruct.contracts import Json, ParsedJson

# Errors of code that reads unexpected JSON.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def dump(value: object) -> str:
    """Return JSON text; NumPy numbers and arrays are converted. Raises TypeError for unsupported values.

    value: plain JSON, with NumPy numbers and arrays anywhere in it.
    """
    return _ENCODER.encode(value)


def dump_compactly(value: object) -> str:
    """Return JSON text like `dump`, without spaces.

    value: plain JSON, with NumPy numbers and arrays anywhere in it.
    """
    return "".join(_encode_compactly(value, False))


def parse(text: str) -> ParsedJson:
    """Return the value of JSON text; raise ValueError if it is invalid or too deeply nested."""
    try:
        try:
            found, end = _scan(text, 0)  # fast, and complete for a text of `dump`; a long study has many
        except (StopIteration, ValueError):
            return json.loads(text)
        return found if end == len(text) else json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def parse_all(texts: Sequence[str]) -> list[ParsedJson] | None:
    """Return the values of JSON texts; None if `parse` must read or reject one of them."""
    found: list[tuple[ParsedJson, int]] = []
    with suppress(ValueError, RecursionError):
        found = list(map(_scan, texts, repeat(0)))  # ends at a text without a value
    return [value for value, _ in found] if [end for _, end in found] == list(map(len, texts)) else None


def _encode_numpy(value: object) -> Json:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"expected plain JSON, got {type(value).__name__}")


_ENCODER = json.JSONEncoder(default=_encode_numpy)
_make = json.encoder.c_make_encoder  # type: ignore[attr-defined]  # None in an interpreter without C
_encode_compactly = (  # one encoder for all texts is faster
    json.JSONEncoder(default=_encode_numpy, separators=(",", ":")).iterencode
    if _make is None
    else _make(None, _encode_numpy, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True)
)
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
