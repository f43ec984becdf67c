"""A variable that is False or True."""

from __future__ import annotations

from bostruct.contracts import Json, ParsedJson
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.graphs import CompleteGraph
from bostruct.domains.space.variable import NO_DEFAULT
from bostruct.domains.space.when import When


class Binary(ChoiceVariable):
    """A variable that is False or True (0 and 1 are understood).

    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    Raises DomainError.
    """

    def __init__(self, *, when: When | None = None, default: object = NO_DEFAULT) -> None:
        super().__init__((False, True), CompleteGraph(2), when, default)

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
