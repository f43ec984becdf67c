"""Choices of variables as JSON: plain values unchanged, infinities by their sign, other objects only by their repr."""

from __future__ import annotations

import math

from bostruct.contracts import DomainError, Json, ParsedJson, Presented


def is_json_scalar(value: object) -> bool:
    """Return whether JSON stores a value unchanged: None, a bool, an int, a string or a finite float."""
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


def choice_to_json(choice: Presented) -> Json:
    """Return a choice as JSON: itself, an infinity by its sign, or its repr, which cannot be read back."""
    if is_json_scalar(choice):
        return choice
    return {"infinity": math.copysign(1.0, choice)} if type(choice) is float else {"repr": repr(choice)}


def choices_from_json(data: ParsedJson, what: str = "its choices") -> list[Presented]:
    """Rebuild choices from their JSON.

    Parameters
    ----------
    data : list
        Results of `choice_to_json`.
    what : str, default "its choices"
        The name of the choices in messages.

    Raises
    ------
    DomainError
        If they were not plain JSON values.
    """
    if objects := [choice["repr"] for choice in data if isinstance(choice, dict) and "repr" in choice]:
        raise DomainError(f"{what} are Python objects, which cannot be stored: {objects[0][:80]}")
    return [choice["infinity"] * math.inf if isinstance(choice, dict) else choice for choice in data]
