"""A domain of your own, the orders in which jobs are done, with a Mallows kernel (Jiao and Vert 2015)."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Parameter, PointError, SpaceExhausted
from bostruct.surrogates.priors import Normal
from bostruct.testing import check_domain, check_kernel

@dataclass(frozen=True)
class Orders:
    """The orders of n jobs, as tuples; a batch is a list. A mutation swaps two jobs."""
    n: int

    @property
    def size(self):
        return math.factorial(self.n)
    def sample(self, m, rng):
        return [tuple(rng.permutation(self.n).tolist()) for _ in range(m)]
    def sample_unseen(self, seen, rng):
        for x in itertools.chain(self.sample(1_000, rng), itertools.permutations(range(self.n))):
            if x not in seen:
                return x
        raise SpaceExhausted(f"all {self.size} orders have been seen")
    def check(self, x):
        if not isinstance(x, tuple) or sorted(x) != list(range(self.n)):
            raise PointError(f"point: expected an order of {self.n} jobs, got {x!r}")
    def parse(self, point):
        x = tuple(point) if isinstance(point, list) else point
        self.check(x)
        return x
    def present(self, x):
        return list(x)
    def encode(self, x):
        return list(x)
    def decode(self, data):
        return tuple(data)
    def key(self, x):
        return x
    def keys(self, batch):
        return list(batch)
    def take(self, batch, positions):
        return [batch[i] for i in positions]
    def join(self, *batches):
        return [x for batch in batches for x in batch]
    def to_json(self):
        return {"domain": "orders", "n": self.n}
    def mutate(self, x, rng):
        i, j = sorted(rng.choice(self.n, size=2, replace=False).tolist())
        return (*x[:i], x[j], *x[i + 1 : j], x[i], *x[j + 1 :])

class Mallows:
    """exp(-rate * discordant pairs): the share of pairs of jobs that two orders rank differently."""
    parameters = (Parameter("log_rate", 1, Normal(1.0, 1.0), 1.0),)

    def prepare(self, xs, ys=None):
        return discordance(xs, xs if ys is None else ys)
    def gram(self, theta, prepared):
        return np.exp(-np.exp(theta[0]) * prepared)
    def diag(self, theta, xs):
        return np.ones(len(xs))
    def gram_and_pullback(self, theta, prepared):
        gram = self.gram(theta, prepared)
        slope = -np.exp(theta[0]) * prepared * gram
        return gram, lambda cotangent: np.array([np.vdot(cotangent, slope)])

def discordance(xs, ys):
    if not len(xs) or not len(ys):
        return np.zeros((len(xs), len(ys)))
    signs = []
    for batch in (xs, ys):
        places = np.argsort(batch, axis=1)
        one, other = np.triu_indices(places.shape[1], 1)
        signs.append(np.sign(places[:, one] - places[:, other]))
    return (1.0 - signs[0] @ signs[1].T / signs[0].shape[1]) / 2.0

def main():
    bo.register_domain("orders", lambda data: Orders(data["n"]))
    check_domain(Orders(5), np.random.default_rng(0))
    check_kernel(Mallows(), Orders(5), np.random.default_rng(0))
