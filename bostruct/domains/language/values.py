"""Check the values of hyperparameters and the names in a search space, and bring them into their stored form."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

from bostruct.checks import short_repr
from bostruct.domains.language.errors import LanguageError

Value: TypeAlias = Any  # None, bool, int, float, str, or tuples of them
Property = TypeVar("Property")
NAME_OF_HYPERPARAMETER = re.compile(r"[A-Za-z_][\w+-]*")


def as_name(name: str | None) -> str | None:
    """Return a key that may stand in a path; raises LanguageError.

    name: a letter or ``_``, then letters, digits, ``_``, ``+`` and ``-``; None stays None.
    """
    if name is not None and (not isinstance(name, str) or not NAME_OF_HYPERPARAMETER.fullmatch(name)):
        raise LanguageError(
            f"name: expected letters, digits, '_', '+' and '-', not beginning with a digit; got {name!r}"
        )
    return name


def as_properties(what: str, given: Mapping[str, Property] | None) -> Mapping[str, Property]:
    """Return properties by local names, none where nothing is given; raises LanguageError.

    what: opens the message, such as "hyperps".
    given: local name -> property, or None.
    """
    if given is not None and not isinstance(given, Mapping):
        raise LanguageError(f"{what}: expected a dict from local names, got {short_repr(given)}")
    for name in given or ():
        if not isinstance(name, str):
            raise LanguageError(f"{what}: expected local names that are text, got {short_repr(name)}")
    return given or {}


def as_value(what: str, value: object) -> Value:
    """Return a value that JSON can hold and a dict can be keyed by; lists become tuples. Raises LanguageError.

    what: opens the message, such as "values".
    value: None, bool, number, text, numpy scalar, or a list or tuple of these.
    """
    if type(value) in (int, str, float, bool) or value is None:
        if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
            raise LanguageError(f"{what}: expected finite numbers, got {value}")
        return value
    if isinstance(value, np.generic):
        return as_value(what, value.item())
    if isinstance(value, list | tuple):
        return tuple(as_value(what, part) for part in value)
    raise LanguageError(
        f"{what}: expected None, bools, numbers, strings or tuples of these, got {short_repr(value)}; to choose "
        "between "
        "functions use siso_or"
    )
