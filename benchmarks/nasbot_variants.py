"""Variants of NASBOT that benchmarks compare with it, and a problem without noise on which its steps are visible."""

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
    """A surrogate of the residuals of a linear fit in the log mass, which is added to the predicted mean.

    surrogate: of the residuals.
    """

    surrogate: Surrogate

    def initial_state(self) -> State:
        return self.surrogate.initial_state()

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        masses = np.array([log_mass(x) for x in xs])
        centered = masses - masses.mean()
        sd = float(np.std(masses)) or 1.0
        slope = float(centered @ values) / (sd**2 * (len(masses) + RIDGE))
        constant = float(values.mean()) - slope * float(masses.mean())
        posterior, state, info = self.surrogate.condition(xs, values - constant - slope * masses, state, rng)
        return LinePosterior(posterior, constant, slope), state, info | {"slope": slope}


@dataclass(frozen=True)
class LinePosterior(Posterior):
    """The posterior of `LineSurrogate`.

    posterior: of the residuals.
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

    def _add_line(self, residual: Prediction, xs: Batch) -> Prediction:
        line = self.constant + self.slope * np.array([log_mass(x) for x in xs])
        return residual._replace(mean=residual.mean + line)


class FarDomain:
    """A domain with a mutation that is 1 to `FAR` mutations in a row, with equal probabilities of each number.

    domain: everything except its mutation is used.
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
    """`Evolution` with children that are several mutations away from their parents."""

    def __call__(self, score: Score, domain: Domain, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        far: Any = FarDomain(domain)
        return super().__call__(score, far, starts, rng)


@dataclass(frozen=True)
class DrawnEvolution(Evolution):
    """`Evolution` that also starts at points drawn from the domain."""

    def __call__(self, score: Score, domain: Domain, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        pool = domain.join(self.pool, domain.sample(DRAWN, rng))
        return replace(Evolution(), pool=tuple(pool))(score, domain, starts, rng)


def with_line(domain: Any) -> BayesianSearch:
    """Build NASBOT with a mean that is linear in the log mass."""

    def fit(*given: Any) -> Any:
        return LineSurrogate(methods.map_surrogate(*given))

    return methods.nasbot(domain, fit=fit)


def with_maximizer(kind: type[Evolution], domain: Any) -> BayesianSearch:
    """Build NASBOT with another maximizer of the acquisition function."""
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
