"""A domain of your own, the orders in which jobs are done, with a Mallows kernel (Jiao and Vert 2015)."""

import itertools
from dataclasses import dataclass

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.contracts import LocalDomain, PointError
from bostruct.kernels.distance import DistanceKernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing import check_domain, check_kernel


@dataclass(frozen=True)
class Orders(LocalDomain):
    """The orders of n jobs, as tuples. A neighbor has two jobs swapped."""

    n: int

    def sample(self, m, rng):
        return [tuple(rng.permutation(self.n).tolist()) for _ in range(m)]

    def neighbors(self, x):
        pairs = itertools.combinations(range(self.n), 2)
        return [(*x[:i], x[j], *x[i + 1 : j], x[i], *x[j + 1 :]) for i, j in pairs]

    def check(self, x):
        if not isinstance(x, tuple) or len(x) != self.n or any(job not in x for job in range(self.n)):
            raise PointError(f"point: expected an order of {self.n} jobs, got {x!r}")

    def to_json(self):
        return {"domain": "orders", "n": self.n}


def discordance(xs, ys):
    """Return the share of pairs of jobs that two orders rank differently, for each two of n and m orders (n, m)."""
    signs = []
    for batch in (xs, ys):
        places = np.argsort(np.reshape(batch, (len(batch), -1)), axis=1)
        signs.append(np.sign(places[:, :, None] - places[:, None]).reshape(len(batch), -1))
    return (1.0 - signs[0] @ signs[1].T / np.count_nonzero(signs[0][0])) / 2.0


def lateness(order):
    """The total lateness of jobs that take 1, 2, ... hours, and are due by a fixed hour each."""
    done = itertools.accumulate(job + 1 for job in order)
    return sum(max(0, hour - (7 * job % 11) * 3) for job, hour in zip(order, done, strict=True))


def main():
    bo.register_domain("orders", lambda data: Orders(data["n"]))
    mallows = DistanceKernel(discordance, Normal(1.0, 1.0), 1.0)  # exp(-rate * share of discordant pairs)
    check_domain(Orders(5), np.random.default_rng(0))
    check_kernel(mallows, Orders(5), np.random.default_rng(0))
    method = methods.bayesian(Orders(7), kernel=mallows)
    result = bo.minimize(lateness, Orders(7), n_trials=40, method=method, seed=0, progress=False)
    best = min(map(lateness, itertools.permutations(range(7))))
    print(f"lateness {result.best_value} of {best} at best: {result.best_point}")
    assert result.best_value <= best + 6


if __name__ == "__main__":
    main()
