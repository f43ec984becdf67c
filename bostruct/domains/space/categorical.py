"""A variable of unordered choices."""

from __future__ import annotations

from collections.abc import Iterable

from bostruct.contracts import ParsedJson
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import ChoiceVariable, check_choices
from bostruct.domains.space.graphs import CompleteGraph
from bostruct.domains.space.variable import NO_DEFAULT
from bostruct.domains.space.when import When


class Categorical(ChoiceVariable):
    """A variable of unordered choices: each is one change from each other (complete graph).

    choices: 2 to 1000 distinct values, each equal to itself.
    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    Raises DomainError.
    """

    def __init__(self, choices: Iterable[object], *, when: When | None = None, default: object = NO_DEFAULT) -> None:
        values = check_choices("Categorical", choices)
        super().__init__(values, CompleteGraph(len(values)), when, default)

    @classmethod
    def from_json(cls, data: ParsedJson) -> Categorical:
        """Rebuild the variable from what `describe` returned.

        data: with its choices.

        Raises DomainError where the choices are Python objects, which no file holds.
        """
        return cls(choices_from_json(data["choices"]))
