"""Draw programs of a space evenly: each trace by the same chance, from the counts of its parts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from bostruct.domains.language.build import expand_module
from bostruct.domains.language.counting import CountRow, NotFactorable, ProgramCounter, total
from bostruct.domains.language.errors import NoneFeasible
from bostruct.domains.language.graph import Discrete, Fragment
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk, opens_choices


class EvenDraws:
    """Draws of traces, all equally likely, from the outermost part inwards.

    walk: where to draw from; a space that was counted.

    Parts that share no hyperparameter are drawn apart, each group of parts by how many programs each way to choose its
    hyperparameters leaves. Counts of parts are kept from draw to draw. `is_possible` is False where the count of a part
    depends on what is chosen around it and the part itself does not name, or where nothing can be factored.
    """

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._counter = ProgramCounter(walk, sys.maxsize, 0)
        self._outermost: tuple[list[list[CountRow]], dict[Discrete, None]] | None = None
        self.is_possible = True

    def values(self, rng: np.random.Generator) -> dict[str, Value] | None:
        """Return the values of a trace by place, in no order; None where draws of this kind are not possible.

        rng: `numpy.random.Generator`.

        Raises NoneFeasible.
        """
        chosen = dict(self._walk.values)
        left = [self._walk.root]
        try:
            while left and self.is_possible:
                left += self._draw_part(left.pop(), chosen, rng)
        except NotFactorable:
            self.is_possible = False
        return chosen if self.is_possible else None

    def _draw_part(self, fragment: Fragment, chosen: dict[str, Value], rng: np.random.Generator) -> list[Fragment]:
        """Choose all that waits in one part; return the parts that its substitution modules stand for then."""
        groups, plain = self._choices_of(fragment, chosen)
        if any(setting for rows in groups for row in rows for setting in row.table):
            self.is_possible = False
            return []
        for rows in groups:
            row = rows[_draw_by_size([total(row.table) for row in rows], rng)]
            chosen.update((h.path, value) for h, value in row.chosen.items())
        for h in plain:
            if h.path not in chosen:
                chosen[h.path] = h.values[int(rng.integers(len(h.values)))]
        reader = Walk(fragment, self._walk.max_depth, chosen)
        found = []
        for module in fragment.modules:
            if opens_choices(module):
                given = tuple(reader.value(h) for h in module.hyperparameters.values())
                found.append(expand_module(module, given, self._walk.max_depth))
        return found

    def _choices_of(
        self, fragment: Fragment, chosen: dict[str, Value]
    ) -> tuple[list[list[CountRow]], dict[Discrete, None]]:
        if fragment is self._walk.root and self._outermost is not None:
            return self._outermost
        self._counter.values = chosen
        waiting, plain = self._counter.open_parts(fragment)
        found = list(self._counter.components(waiting)), plain
        if fragment is self._walk.root:
            self._outermost = found
        return found


def _draw_by_size(sizes: Sequence[int], rng: np.random.Generator) -> int:
    """Draw a position, likelier where the size is larger; sizes may be beyond what a float can hold."""
    whole = sum(sizes)
    if not whole:
        raise NoneFeasible("no choice leads to a program")
    weights = np.array([size / whole for size in sizes])
    return int(rng.choice(len(sizes), p=weights / weights.sum()))
