"""A kernel of a kind of variable of your own: choices around a circle, with exp(-rate * (1 - cos(angle)))."""

from dataclasses import dataclass

import numpy as np

import bostruct as bo
from bostruct.domains import ChoiceVariable, VariableGraph, check_choices
from bostruct.kernels import Factor, LogLengthscale, VariableKernels, product_kernel
from bostruct.surrogates import Normal
from bostruct.testing import check_domain, check_kernel


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


class CircleFactor(Factor):
    """The product of one kernel for each of c cyclic variables, as logarithms. The base has slower defaults."""

    has_unit_diagonal = True

    def __init__(self, sizes):
        self.sizes = np.array(sizes)
        self.n_variables = len(sizes)

    def prepare(self, xs, ys=None):
        """1 - cos(angle) for each variable (c, n, m)."""
        others = xs if ys is None else ys
        return 1.0 - np.cos(2.0 * np.pi * (xs.T[:, :, None] - others.T[:, None]) / self.sizes[:, None, None])

    def log_gram(self, theta, prepared, without=None):
        rates = np.exp(theta)
        if without is not None:
            rates[without] = 0.0
        return -np.tensordot(rates, prepared, 1)

    def gradient(self, theta, prepared, weighted):
        return -np.exp(theta) * np.tensordot(prepared, weighted, 2)


def circle_factors(variables, settings):
    del settings  # of variables on graphs
    return [(CircleFactor([variable.size for variable in variables]), tuple(range(len(variables))))]


def main():
    bo.register_variable(Cyclic, VariableKernels(circle_factors))
    space = bo.Space({"hour": Cyclic(range(24)), "wind": Cyclic(["N", "E", "S", "W"]), "lamp": bool})
    check_domain(space, np.random.default_rng(0))
    kernel = product_kernel(space, Normal(0.0, 1.0), LogLengthscale(), unit_diagonal=True)
    check_kernel(kernel, space, np.random.default_rng(0))

    def noise(point):
        around_two = 1.0 - np.cos(2.0 * np.pi * (point["hour"] - 2) / 24)
        return around_two + (point["wind"] != "E") + 0.5 * point["lamp"]

    result = bo.minimize(noise, space, n_trials=40, seed=0, progress=False)
    print(f"quietest at {result.best_point}: {result.best_value:.3f}")
    assert result.best_point == {"hour": 2, "wind": "E", "lamp": False}


if __name__ == "__main__":
    main()
