"""A kernel of your own: Matern-5/2 on numbers (Rasmussen and Williams 2006, equation 4.17), for Branin's function."""

import math
from dataclasses import dataclass

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Kernel, Parameter
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing import check_kernel

ROOT_5 = math.sqrt(5.0)


@dataclass(frozen=True)
class Matern52(Kernel):
    """(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r), where r is a distance in lengthscales, one for each variable.

    A `Space` holds a Real variable as a position on a fine grid, so positions over sizes are numbers in [0, 1].
    """

    sizes: tuple[int, ...]

    @property
    def parameters(self):
        return (Parameter("log_lengthscale", len(self.sizes), Normal(-1.0, 1.0), -1.0),)

    def prepare(self, xs, ys=None):
        """The squared difference of each pair in each variable (d, n, m)."""
        first, second = (np.asarray(xs if batch is None else batch) / self.sizes for batch in (xs, ys))
        return np.square(first.T[:, :, None] - second.T[:, None])

    def gram(self, theta, prepared):
        return self._gram_and_slope(theta, prepared)[0]

    def diag(self, theta, xs):
        del theta
        return np.ones(len(xs))

    def gram_and_pullback(self, theta, prepared):
        gram, slope = self._gram_and_slope(theta, prepared)
        by_variable = -2.0 * np.exp(-2.0 * theta)[:, None, None] * prepared * slope
        return gram, lambda cotangent: np.tensordot(by_variable, cotangent, 2)

    def _gram_and_slope(self, theta, prepared):
        """Return the Gram matrix, and its slope in the squared distance."""
        squared = np.tensordot(np.exp(-2.0 * theta), prepared, 1)
        r = ROOT_5 * np.sqrt(squared)
        fade = np.exp(-r)
        return (1.0 + r + r * r / 3.0) * fade, -5.0 / 6.0 * (1.0 + r) * fade


def branin(point):
    x, y = point["x"], point["y"]
    bowl = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def main():
    space = bo.Space({"x": bo.Real(-5.0, 10.0), "y": bo.Real(0.0, 15.0)})
    kernel = Matern52(tuple(variable.size for variable in space.variables.values()))
    check_kernel(kernel, space, np.random.default_rng(0), reach=1.0)
    method = methods.bayesian(space, kernel=kernel)
    result = bo.minimize(branin, space, n_trials=40, method=method, seed=0, progress=False)
    print(f"{result.best_value:.4f} at {result.best_point}; the minimum is 0.3979")
    assert result.best_value < 0.5


if __name__ == "__main__":
    main()
