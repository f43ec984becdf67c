"""A variable that is False or True."""

from __future__ import annotations

from bostruct.contracts import Json, ParsedJson
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.graphs import CompleteGraph


class Binary(ChoiceVariable):
    """A variable that is False or True (0 and 1 are understood)."""

    def __init__(self) -> None:
        super().__init__((False, True), CompleteGraph(2))

    def describe(self) -> dict[str, Json]:
        """Return nothing: all are equal."""
        return {}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Binary:
        """Rebuild the variable from what `describe` returned.

        data: of an equal variable; nothing is read from it.
        """
        del data
        return cls()
