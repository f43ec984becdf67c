"""Refusals in one wording: the argument, what is allowed, what was given."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

from bostruct.contracts import MissingExtra


def short_repr(value: Any, limit: int = 80) -> str:
    """Return `repr` of a value, cut where it grows too long for a message.

    value: anything.
    limit: the most characters.
    """
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def check_integer(name: str, value: Any, low: int, high: float = np.inf) -> int:
    """Return an integer in [low, high] as int; raise TypeError or ValueError for anything else.

    name: of the argument, which opens the message.
    value: as given.
    low, high: bounds, both allowed.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}: expected an integer, got {short_repr(value)}")
    if not low <= value <= high:
        allowed = f"at least {low}" if high == np.inf else f"between {low} and {high}"
        raise ValueError(f"{name}: expected {allowed}, got {value}")
    return int(value)


def check_number(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """Return a finite number in [low, high] as float; raise TypeError or ValueError for anything else.

    name: of the argument, which opens the message.
    value: as given.
    low, high: bounds, both allowed.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}: expected a number, got {short_repr(value)}")
    if not np.isfinite(value) or not low <= value <= high:
        raise ValueError(f"{name}: expected a finite number in [{low}, {high}], got {value}")
    return float(value)


def check_choice(name: str, value: Any, allowed: Any) -> Any:
    """Return a value that is allowed; raise ValueError for any other.

    name: of the argument, which opens the message.
    value: as given.
    allowed: collection of values.
    """
    if value not in allowed:
        raise ValueError(
            f"{name}: expected one of {', '.join(map(str, allowed))}; got "
            f"{short_repr(value)}{did_you_mean(value, allowed)}"
        )
    return value


def did_you_mean(given: Any, names: Iterable[Any]) -> str:
    """Write the end of a refusal that asks for the name most like the one given; nothing where none is like it.

    given: the wrong name.
    names: the right ones.
    """
    from difflib import get_close_matches

    known = {str(name).lower(): str(name) for name in names}
    close = get_close_matches(str(given).lower(), known, n=1)
    return f". Did you mean {known[close[0]]!r}?" if close else ""


def check_bool(name: str, value: Any) -> bool:
    """Return True or False; raise TypeError for anything else.

    name: of the argument, which opens the message.
    value: as given.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {short_repr(value)}")
    return value


def install_command(extra: str = "") -> str:
    """Say how to install bostruct with an extra; from a checkout, since no package index has bostruct yet.

    extra: its name; empty for a plain install.
    """
    target = f"'.[{extra}]'" if extra else "."
    return f"pip install {target} in a checkout of bostruct"


def optional_import(module: str, extra: str | None = None) -> ModuleType:
    """Import a module that the core runs without; raises MissingExtra, which says how to get what is missing.

    module: dotted name; what it imports in turn may be missing, too.
    extra: the extra that brings it; None for torch and gpytorch, which a plain install brings.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing_package(error.name or module, extra) from error


def missing_package(module: str, extra: str | None = None) -> MissingExtra:
    """Make the exception for a module that is not installed.

    module: dotted name.
    extra: as of `optional_import`.
    """
    if extra is None:
        package = module.partition(".")[0]
        return MissingExtra(f"{package} is not installed, and this part of bostruct needs it: pip install {package}")
    return MissingExtra(f"{module} is not installed; it comes with the extra {extra!r}: {install_command(extra)}")


def load_by_name(name: str) -> Any:
    """Import what "package.module:name" names: a convenience whose module is of no use before it is called.

    Values offer such conveniences (a program its compilers, a result its picture) without importing what imports them.
    """
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
