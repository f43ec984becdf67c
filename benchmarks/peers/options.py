"""Kinds of options of a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def integer_from(low: int) -> Callable[[str], int]:
    """Return a type of `argparse` for integers.

    low: the least one that is taken.
    """

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low:
            raise argparse.ArgumentTypeError(f"expected an integer, at least {low}; got {text!r}")
        return value

    return read
