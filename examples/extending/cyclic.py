"""A kind of variable of your own: choices around a circle. Its kernel is the diffusion on the graph of the choices."""

from dataclasses import dataclass

import numpy as np

import bostruct as bo
from bostruct.domains import ChoiceVariable, VariableGraph, check_choices
from bostruct.testing import check_domain, check_variable


@dataclass(frozen=True)
class Ring(VariableGraph):
    """The graph on which the last choice is next to the first."""

    size: int

    def neighbors(self, vertex):
        return np.unique([(vertex - 1) % self.size, (vertex + 1) % self.size])


class Cyclic(ChoiceVariable):
    """A variable whose last choice is next to its first: hours, months, directions."""

    def __init__(self, choices, **given):
        choices = check_choices("Cyclic", choices)
        super().__init__(choices, Ring(len(choices)), **given)


def noise(point):
    return abs((point["hour"] - 14) % 24 - 12) + 2.0 * (point["wind"] != "E") + point["lamp"]


def main():
    bo.register_variable(Cyclic)
    check_variable(Cyclic(range(24)), np.random.default_rng(0))
    space = bo.Space({"hour": Cyclic(range(24)), "wind": Cyclic(["N", "E", "S", "W"]), "lamp": bool})
    check_domain(space, np.random.default_rng(0))
    result = bo.minimize(noise, space, n_trials=40, seed=0, progress=False)
    print(f"quietest at {result.best_point}: {result.best_value:g}")
    assert result.best_point == {"hour": 2, "wind": "E", "lamp": False}


if __name__ == "__main__":
    main()
