"""A variable of unordered choices."""

from __future__ import annotations

from collections.abc import Iterable

from bostruct.contracts import Json, ParsedJson
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import ChoiceVariable, check_choices
from bostruct.domains.space.graphs import CompleteGraph
from bostruct.domains.space.likeness import (
    Likeness,
    count_degrees,
    likeness_from_json,
    likeness_to_json,
    read_likeness,
    show_likeness,
)
from bostruct.domains.space.variable import NO_DEFAULT
from bostruct.domains.space.when import When


class Categorical(ChoiceVariable):
    """A variable of unordered choices: each is one change from each other (complete graph).

    choices: 2 to 1000 distinct values, each equal to itself.
    descriptors: a table with a row for each choice, which says what the choices are like, so that a model predicts a
        choice that was never tried from those that are like it: a pandas frame, a dict of columns, a list of dicts, or
        numbers (choices, columns). The index of a frame names the choices, in any order, and may name others. Where it
        is 0, 1, ... and no choice is among these, rows have the order of the choices, as those of other tables have.
        Columns are as of `Candidates`.
    distances: a symmetric matrix of distances from 0 between the choices (choices, choices), or a frame of one. Models
        take exp(-distance^2 / 2 l^2).
    kernel: a symmetric matrix of how alike the choices are (choices, choices), or a frame of one, whose diagonal is
        positive. It is scaled to a diagonal of ones; models take exp((kernel - 1) / l^2).
    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    At most one of descriptors, distances and kernel is given. A matrix that is not positive semi-definite, as a kernel
    or as one of Euclidean distances, is clipped to the nearest one that is, with a warning; `likeness.clipped` is the
    share of its spectrum. Raises DomainError.
    """

    def __init__(
        self,
        choices: Iterable[object],
        *,
        descriptors: object = None,
        distances: object = None,
        kernel: object = None,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        values = check_choices("Categorical", choices)
        self._take_likeness(read_likeness(values, descriptors, distances, kernel))
        super().__init__(values, CompleteGraph(len(values)), when, default)

    def _take_likeness(self, likeness: Likeness | None) -> None:
        self.likeness = likeness
        self.degrees = count_degrees(likeness)

    @property
    def arguments(self) -> str:
        """The values in short, as arguments of a call, and what says how alike they are."""
        return super().arguments + show_likeness(self.likeness)

    def describe(self) -> dict[str, Json]:
        """Return the choices as JSON, and what says how alike they are."""
        return super().describe() | likeness_to_json(self.likeness)

    @classmethod
    def from_json(cls, data: ParsedJson) -> Categorical:
        """Rebuild the variable from what `describe` returned.

        data: with its choices, and what says how alike they are.

        Raises DomainError where the choices are Python objects, which no file holds.
        """
        found = cls(choices_from_json(data["choices"]))
        found._take_likeness(likeness_from_json(data))
        return found
