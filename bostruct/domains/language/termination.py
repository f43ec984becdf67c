"""Choose values that end a draw which would go on and on.

Where parts contain themselves, values drawn by chance may open more choices than they close, and such a draw never
ends. One that has grown large is led to an end instead: each choice from there on takes a value that needs the fewest
substitutions around each other until nothing is left to choose.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import islice, product

import numpy as np

from bostruct.contracts import Infeasible
from bostruct.domains.language.build import expand_module
from bostruct.domains.language.counting import signature
from bostruct.domains.language.errors import NoneFeasible, TooDeep
from bostruct.domains.language.graph import Discrete, Module
from bostruct.domains.language.hyperparameters import independent_ancestors
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk, opens_choices

OVERGROWN_DEPTH = 8  # substitutions around each other, and
OVERGROWN_CHOICES = 100  # choices, beyond which a draw is led to an end
MAX_STEPS_TO_END = 40  # substitutions around each other that an end may be away
SEARCH_BUDGET = 2_000  # parts, for one choice
SETTINGS_TRIED_AT_MOST = 256  # of the hyperparameters of one module


def is_overgrown(h: Discrete, walk: Walk) -> bool:
    """Tell whether a draw that comes to h should be led to an end.

    h: the hyperparameter to choose.
    walk: the way to it.
    """
    depth = h.fragment.depth
    return depth > OVERGROWN_DEPTH and (len(walk) > OVERGROWN_CHOICES or depth > walk.max_depth // 2)


def draw_terminating_value(h: Discrete, walk: Walk, rng: np.random.Generator) -> Value:
    """Draw one of the values of h that are nearest to an end; raises NoneFeasible where none is near one.

    h: the hyperparameter to choose.
    walk: the way to it.
    rng: `numpy.random.Generator`.
    """
    touched = [module for module in walk.waiting() if opens_choices(module) and h in module_ancestors(module)]
    search = TerminationSearch(walk.max_depth, walk.values)
    for steps in range(MAX_STEPS_TO_END + 1):
        values = [v for v in h.values if all(search.can_end_within(m, {h.path: v}, steps) for m in touched)]
        if values:
            return values[int(rng.integers(len(values)))]
        if search.budget <= 0:
            break
    raise NoneFeasible(
        f"{h.path}: no value was found that leads to an end within {MAX_STEPS_TO_END} more substitutions"
    )


class TerminationSearch:
    """One search for ends. Dependent values that lead nowhere are not foreseen.

    max_depth: int, the most substitutions around each other.
    values: place -> value of what is chosen already.
    """

    def __init__(self, max_depth: int, values: Mapping[str, Value]) -> None:
        self.max_depth = max_depth
        self.values = values
        self.budget = SEARCH_BUDGET
        self.known: dict[Hashable, bool] = {}

    def can_end_within(self, module: Module, chosen: dict[str, Value], steps: int) -> bool:
        """Tell whether something can stand for a module in which at most so many substitutions lie around each other.

        module: substitution module.
        chosen: place -> value of what is chosen beside `values`.
        steps: int, the number of substitutions.
        """
        if steps == 0:
            return False
        values = {**self.values, **chosen}
        free = tuple(h for h in module_ancestors(module) if h.path not in values)
        key = signature(module, free, values), steps
        if key not in self.known:
            self.known[key] = any(
                self._fits(module, chosen | {h.path: v for h, v in zip(free, setting, strict=True)}, steps)
                for setting in islice(product(*[h.values for h in free]), SETTINGS_TRIED_AT_MOST)
            )
        return self.known[key]

    def _fits(self, module: Module, chosen: dict[str, Value], steps: int) -> bool:
        if self.budget <= 0:
            return False
        self.budget -= 1
        reader = Walk(module.fragment, self.max_depth, {**self.values, **chosen})
        try:
            given = tuple(reader.value(h) for h in module.hyperparameters.values())
            inner = expand_module(module, given, self.max_depth).modules
        except (Infeasible, TooDeep):
            return False
        return all(self.can_end_within(one, chosen, steps - 1) for one in inner if opens_choices(one))


def module_ancestors(module: Module) -> dict[Discrete, None]:
    """Return the independent hyperparameters that the values of a module follow from.

    module: of a search space.
    """
    return {one: None for h in module.hyperparameters.values() for one in independent_ancestors(h)}
