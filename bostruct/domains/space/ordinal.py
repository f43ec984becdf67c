"""A variable of ordered choices."""

from __future__ import annotations

from collections.abc import Iterable

from bostruct.checks import check_number
from bostruct.contracts import Json, ParsedJson
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import ChoiceVariable, check_choices, path_graph
from bostruct.domains.space.graphs import MAX_WEIGHT, MIN_WEIGHT
from bostruct.domains.space.variable import NO_DEFAULT
from bostruct.domains.space.when import When


class Ordinal(ChoiceVariable):
    """A variable of ordered choices: only next ones are one change apart (path graph).

    choices: 2 to 1000 distinct values, in order.
    weight: float from 1e-300 to 1e300, the weight of the graph's edges, which scales diffusion along them.
    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    Raises DomainError and ValueError.
    """

    ordered = True

    def __init__(
        self,
        choices: Iterable[object],
        weight: float = 1.0,
        *,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        values = check_choices("Ordinal", choices)
        self.weight = check_number("weight", weight, MIN_WEIGHT, MAX_WEIGHT)
        super().__init__(values, path_graph(len(values), self.weight), when, default)

    def describe(self) -> dict[str, Json]:
        """Return the choices, and the weight where it is not 1, as JSON."""
        return super().describe() | ({} if self.weight == 1.0 else {"weight": self.weight})

    @classmethod
    def from_json(cls, data: ParsedJson) -> Ordinal:
        """Rebuild the variable from what `describe` returned.

        data: with its choices.

        Raises DomainError where the choices are Python objects, which no file holds.
        """
        return cls(choices_from_json(data["choices"]), data.get("weight", 1.0))
