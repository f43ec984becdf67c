"""What is to be chosen next, all at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from bostruct.domains.language.hyperparameters import Discrete, Value


class Agenda:
    """Choices to be made, in order, with what drawing them looks up. known: how many values there were before."""

    def __init__(self, choices: list[Discrete], known: int) -> None:
        self.choices = choices
        self.known = known

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(h.path for h in self.choices)

    @cached_property
    def values(self) -> tuple[tuple[Value, ...], ...]:
        return tuple(h.values for h in self.choices)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.array([len(values) for values in self.values])

    @cached_property
    def deepest(self) -> int:
        """How many substitutions lie around the innermost."""
        return max((h.fragment.depth for h in self.choices), default=0)
