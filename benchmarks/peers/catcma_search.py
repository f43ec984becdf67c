"""CatCMA with Margin (Hamano et al. 2025) as a search: evolution of a normal distribution and of categorical ones.

It draws its own populations, so it cannot start with the initial points of the other searches. Bits and categories are
represented as categories, orders as integers, as its documentation advises.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from benchmarks.peers.searches import Point, Steps, Task, list_unconditional, range_of


def catcma(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by CatCMA with its defaults, restarted when it reports convergence.

    task: without conditions.
    initial: not used, because it draws its own points.
    seed: of its first run; the seed of each later run is larger by 1,000.
    """
    del initial
    import cmaes

    own = _Places(list_unconditional(task.space))
    for run in count():
        search = cmaes.CatCMAwM(**own.spaces, seed=seed + 1_000 * run)
        while not search.should_stop():
            observed = []
            for _ in range(search.population_size):
                found = search.ask()
                observed.append((found, (yield own.decode(found))))
            search.tell(observed)


class _Places:
    """The place of each variable in a solution of CatCMA: among its numbers, its integers or its categories.

    spaces: of CatCMA, by the names of its arguments.
    """

    def __init__(self, variables: Sequence[tuple[str, Any]]) -> None:
        self.numbers = [(name, own) for name, own in variables if range_of(own) is not None]
        chosen = [(name, own) for name, own in variables if range_of(own) is None]
        self.orders = [(name, own) for name, own in chosen if own.ordered and own.size > 2]
        self.categories = [one for one in chosen if one not in self.orders]
        spaces: dict[str, list[Any]] = {
            "x_space": [[0.0, 1.0] for _ in self.numbers],
            "z_space": [list(range(v.size)) for _, v in self.orders],
            "c_space": [v.size for _, v in self.categories],
        }
        self.spaces = {name: space for name, space in spaces.items() if space}

    def decode(self, found: Any) -> dict[str, Any]:
        """Return the point of a solution."""
        point: dict[str, Any] = {}
        for k, (name, variable) in enumerate(self.numbers):
            own = range_of(variable)
            assert own is not None
            point[name] = own.at(float(found.x[k]), variable.kind)
        point |= {name: v.choices[int(found.z[k])] for k, (name, v) in enumerate(self.orders)}
        return point | {name: v.choices[int(found.c[k].argmax())] for k, (name, v) in enumerate(self.categories)}
