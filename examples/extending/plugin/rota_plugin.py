"""A plug-in package: a domain, a method and a problem, which bostruct finds by the entry points in pyproject.toml."""

import itertools
from dataclasses import dataclass

import bostruct as bo
from bostruct.contracts import Domain, PointError, Searcher, Suggestion


@dataclass(frozen=True)
class Rota(Domain):
    """The orders in which n people take turns, as tuples."""

    n: int

    def sample(self, m, rng):
        return [tuple(rng.permutation(self.n).tolist()) for _ in range(m)]

    def check(self, x):
        if not isinstance(x, tuple) or len(x) != self.n or any(person not in x for person in range(self.n)):
            raise PointError(f"point: expected an order of {self.n} people, got {x!r}")

    def to_json(self):
        return {"domain": "rota", "n": self.n}


def rota_from_json(description):
    """Build the domain that a file describes."""
    return Rota(description["n"])


@dataclass(frozen=True)
class Swaps(Searcher):
    """Swap two people of the best order told."""

    domain: Rota

    def suggest(self, history, state, rng):
        if len(history.values):
            best = history.completed[int(history.values.argmin())]
            for i, j in rng.permuted(list(itertools.combinations(range(self.domain.n), 2)), axis=0):
                order = list(best)
                order[i], order[j] = order[j], order[i]
                if tuple(order) not in history.seen:
                    return Suggestion(tuple(order), state, {"origin": "model"})
        return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"})


def swaps(domain):
    """Swap two people of the best order told; needs a rota."""
    if not isinstance(domain, Rota):
        raise bo.DomainError(f"method: swaps needs a Rota, got {type(domain).__name__}")
    return Swaps(domain)


def complaints(order):
    """Count the people who follow somebody that they do not like."""
    return float(sum((7 * first + 3 * second) % 5 < 2 for first, second in itertools.pairwise(order)))


problem = bo.Problem(complaints, Rota(7), name="rota", optimum=0.0)
