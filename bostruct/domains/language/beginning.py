"""Build the outermost part of a space, where every way through it begins, by the user's function."""

from __future__ import annotations

from bostruct.domains.language.closing import close
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.expansion import ENDLESS_MESSAGE
from bostruct.domains.language.graph import Builder, Fragment, build_into
from bostruct.domains.language.walk import Walk


def begin(builder: Builder, max_depth: int) -> Walk:
    """Build the outermost part of a space and return the walk that stands at its first choice.

    builder: function that returns (inputs, outputs).
    max_depth: int, the most substitutions around each other.

    Raises LanguageError.
    """
    root = Fragment("", None)
    try:
        with build_into(root):
            made = builder()
    except RecursionError as error:
        raise LanguageError(f"builder: {ENDLESS_MESSAGE}") from error
    close(root, made)
    walk = Walk(root, max_depth)
    walk.next()
    return walk
