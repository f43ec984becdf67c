"""NASBOT on architectures, on programs that are architectures, and on joint domains."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import ExpectedImprovement, LogExpectedImprovement
from bostruct.acquisition.selection import by_fitness
from bostruct.contracts import Array, DomainError
from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.joint import Joint
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.features import Recent
from bostruct.domains.language.space import SearchSpace
from bostruct.domains.language.trace import Trace
from bostruct.domains.space import Space
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.kernels.otmann.kernel import OtmannKernel, OtmannSumKernel, Terms
from bostruct.kernels.otmann.settings import REFERENCE, Otmann
from bostruct.kernels.positive import PositivePart, Similarity
from bostruct.kernels.product import PartKernel, Product
from bostruct.methods.beginnings import beginning, pool_of
from bostruct.methods.on_programs import DRAWN_TO_SCALE, trace_kernel
from bostruct.methods.on_spaces import lengthscale_kernel
from bostruct.methods.refusals import kind_of
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.surroundings import mutants
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.surrogates.mode import ModeGP
from bostruct.surrogates.nasbot_priors import around, log_range, nasbot_priors
from bostruct.surrogates.priors import Normal
from bostruct.surrogates.spectrum import WithSpectrum
from bostruct.surrogates.tempered import Tempered

Fit = Callable[[Similarity, Any], WithSpectrum]  # (kernel of architectures, domain) -> surrogate


def at_mode(similarity: Similarity, domain: Any) -> WithSpectrum:
    """The GP at the mode of its hyperparameters."""
    noise = Normal(-6.0, 1.5)
    return WithSpectrum(ModeGP(PositivePart(similarity), domain.join, noise, noise.mean), similarity)


def marginalized(similarity: Similarity, domain: Any) -> WithSpectrum:
    """The GP averaged over its hyperparameters by slice sampling."""
    return WithSpectrum(MarginalizedGP(PositivePart(similarity), domain.join, nasbot_priors), similarity)


def nasbot(domain: Any, fit: Fit = at_mode, settings: Otmann = REFERENCE) -> BayesianSearch:
    """NASBOT (Kandasamy et al. 2018), mended: OTMANN kernel of power 1, log EI, evolution from the best evaluated.

    domain: of architectures, or joint, with a product of kernels: OTMANN of architectures, diffusion over spaces. fit:
    `at_mode` or `marginalized`, or your own; values far worse than the middle are drawn in for it. settings: of the
    distance.
    """
    similarity = product_kernel(domain, settings) if isinstance(domain, Joint) else otmann_kernel(domain, settings)
    design, n_initial = beginning(domain)
    return BayesianSearch(
        domain,
        Tempered(fit(similarity, domain)),
        LogExpectedImprovement(),
        Evolution(pool_of(domain)),
        n_initial=n_initial,
        n_starts=None,
        feasibility=at_mode(similarity, domain),
        design=design,
        surroundings=mutants,
    )


def nasbot_as_published(domain: ArchitectureDomain, fit: Fit = marginalized) -> BayesianSearch:
    """NASBOT as its released code has it: squared normalised distances, EI, evolution by fitness from the pool alone.

    Hyperparameters are sampled by `fit`, from the published ranges made normal, where the released code draws 4400;
    docs/nasbot.md lists what else differs. Raises DomainError for a domain without a pool.
    """
    if not isinstance(domain, ArchitectureDomain):
        raise DomainError(f"method: nasbot as published needs a domain with a pool, got {kind_of(domain)}")
    distance = Terms(log_range(1e-9, 1e-3), math.log(1e-6))
    normalized = Terms(log_range(0.1, 100.0), math.log(math.sqrt(10.0)), power=2.0)
    similarity = OtmannSumKernel(OtmannKernel(distance, normalized), around(0.0, 2.0))
    design, n_initial = beginning(domain)
    return BayesianSearch(
        domain,
        fit(similarity, domain),
        ExpectedImprovement(),
        Evolution(domain.pool, pool_only=True, selection=by_fitness),
        n_initial=n_initial,
        n_starts=None,
        design=design,
        surroundings=mutants,
    )


def product_kernel(domain: Joint, settings: Otmann = REFERENCE) -> Similarity:
    """One factor a part; raises DomainError for parts that are neither architectures, nor spaces, nor joint."""
    factors: list[Similarity] = []
    for name, part in zip(domain.names, domain.domains, strict=True):
        factors.append(PartKernel(name, partial(domain.part, name), part_kernel(part, settings)))
    return reduce(Product, factors)


def part_kernel(part: Any, settings: Otmann) -> Similarity:
    """Diffusion, choices or OTMANN, as the part is a space, of programs, or of architectures."""
    if isinstance(part, Joint):
        return product_kernel(part, settings)
    if isinstance(part, SearchSpace):
        return trace_kernel(part)
    return lengthscale_kernel(part) if isinstance(part, Space) else otmann_kernel(part, settings)


def otmann_kernel(domain: Any, settings: Otmann = REFERENCE) -> Similarity:
    """OTMANN of architectures, or of the architectures that programs are; raises DomainError for anything else."""
    sampled = callable(getattr(domain, "sample", None))
    xs = list(domain.sample(DRAWN_TO_SCALE, np.random.default_rng(0))) if sampled else []
    if isinstance(domain, SearchSpace):
        layers: Recent[Trace, Architecture] = Recent(lambda x: domain.present(x).to_architecture())
        try:
            kernel = scaled_otmann([layers(x) for x in xs], settings)
        except LanguageError as error:
            raise DomainError(f"method: nasbot needs programs whose modules stand for layers: {error}") from error
        return PartKernel("architecture", lambda batch: [layers(x) for x in batch], kernel)
    if not xs or not all(isinstance(x, Architecture) for x in xs):
        raise DomainError(f"method: nasbot needs a domain of architectures, got {kind_of(domain)}")
    return scaled_otmann(xs, settings)


def scaled_otmann(xs: list[Architecture], settings: Otmann) -> OtmannKernel:
    """OTMANN with rates whose priors know how far apart these are."""
    found = otmann_distances(xs, settings=settings)
    return OtmannKernel(typical_rate(found.distance), typical_rate(found.normalized), settings)


def typical_rate(distances: Array) -> Terms:
    """Of distances (m, m, weights) in a domain: all terms of a kernel together are about 1 at the median."""
    m, _, weights = distances.shape
    typical = float(np.median(distances[np.triu_indices(m, 1)])) or 1.0
    rate = -math.log(2.0 * weights * typical)
    return Terms(around(rate, 1.0), rate)
