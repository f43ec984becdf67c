"""Variants of NASBOT that benchmarks compare with it, and a problem without noise on which its steps can be read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.acquisition.evolution import Evolution
from bostruct.contracts import Array, Batch, Domain, Info, Posterior, Prediction, Score, Searcher, State, Surrogate
from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.nas.searches import SEARCHES
from bostruct.searchers.bayesian import BayesianSearch

RIDGE = 1.0  # of the standardized slope, in units of the noise around the line
FAR = 5  # mutations in a row, at most
DRAWN = 100  # points drawn from the domain for each search


def log_mass(x: bo.Architecture) -> float:
    """Return the logarithm of the mass of the processing layers, plus 1."""
    return math.log1p(sum(x.masses))


@dataclass(frozen=True)
class LineSurrogate(Surrogate):
    """A surrogate of what is left over a line in the log mass, which it adds again to the mean.

    surrogate: of the rest.
    """

    surrogate: Surrogate

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        found = np.array([log_mass(x) for x in xs])
        centered = found - found.mean()
        spread = float(np.std(found)) or 1.0
        slope = float(centered @ values) / (spread**2 * (len(found) + RIDGE))
        constant = float(values.mean()) - slope * float(found.mean())
        posterior, state, info = self.surrogate.condition(xs, values - constant - slope * found, state, rng)
        return LinePosterior(posterior, constant, slope), state, info | {"slope": slope}


@dataclass(frozen=True)
class LinePosterior(Posterior):
    """The posterior of `LineSurrogate`.

    posterior: of the rest.
    constant, slope: of the line.
    """

    posterior: Posterior
    constant: float
    slope: float

    def predict(self, xs: Batch) -> Prediction:
        return self._add_line(self.posterior.predict(xs), xs)

    def screen(self, xs: Batch) -> Prediction:
        return self._add_line(self.posterior.screen(xs), xs)

    def believe(self, xs: Batch) -> LinePosterior:
        return replace(self, posterior=self.posterior.believe(xs))

    def _add_line(self, rest: Prediction, xs: Batch) -> Prediction:
        line = self.constant + self.slope * np.array([log_mass(x) for x in xs])
        return rest._replace(mean=rest.mean + line)


class FarDomain:
    """A domain whose mutation is 1 to `FAR` mutations in a row, all numbers equally likely.

    domain: the one that it is otherwise.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def __getattr__(self, name: str) -> Any:
        return getattr(self._domain, name)

    def mutate(self, x: Any, rng: np.random.Generator) -> Any:
        for _ in range(1 + int(rng.integers(FAR))):
            x = self._domain.mutate(x, rng)
        return x


@dataclass(frozen=True)
class FarEvolution(Evolution):
    """`Evolution` whose children are several mutations away from their parents."""

    def __call__(self, score: Score, domain: Domain, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        far: Any = FarDomain(domain)  # what it does not do itself, the domain does
        return super().__call__(score, far, starts, rng)


@dataclass(frozen=True)
class DrawnEvolution(Evolution):
    """`Evolution` that begins at points drawn from the domain too."""

    def __call__(self, score: Score, domain: Domain, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        pool = domain.join(self.pool, domain.sample(DRAWN, rng))
        return replace(Evolution(), pool=tuple(pool))(score, domain, starts, rng)


def with_line(domain: Any) -> BayesianSearch:
    """Build NASBOT whose mean is a line in the log mass."""

    def fit(*given: Any) -> Any:
        return LineSurrogate(methods.map_surrogate(*given))

    return methods.nasbot(domain, fit=fit)


def with_maximizer(kind: type[Evolution], domain: Any) -> BayesianSearch:
    """Build NASBOT with another search for the largest acquisition value."""
    search = methods.nasbot(domain)
    return replace(search, maximizer=kind(domain.pool))


VARIANTS: dict[str, Callable[[Any], Searcher]] = {
    "nasbot-published": methods.published_nasbot,
    "nasbot-marginalized": lambda domain: methods.nasbot(domain, fit=methods.marginalized_surrogate),
    "nasbot-all": lambda domain: methods.nasbot(domain, fit=partial(methods.map_surrogate, most=None)),
    "nasbot-line": with_line,
    "nasbot-far": partial(with_maximizer, FarEvolution),
    "nasbot-drawn": partial(with_maximizer, DrawnEvolution),
}


@dataclass(frozen=True)
class Mass:
    """A problem without noise on the perceptrons of `benchmarks.uci_regression`: minus the log mass.

    space: the domain.
    """

    space: ArchitectureDomain

    def __call__(self, x: bo.Architecture) -> float:
        return -log_mass(x)

    def reported(self, x: bo.Architecture) -> float:
        return self(x)


def mass() -> Mass:
    """Return the problem of the largest perceptron."""
    return Mass(SEARCHES["diabetes"].domain())
