"""The kernel that a model-based method takes for each kind of domain: diffusion, choices, OTMANN, and their product."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from bostruct.checks import has_capability, missing_members, require
from bostruct.contracts import Array, Domain, DomainError, HasChoices, HasDistances, HasFeatures, Similarity
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.joint import Joint
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.features import LRUCache
from bostruct.domains.language.space import SearchSpace
from bostruct.domains.language.trace import Trace
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.graphs import VariableGraph
from bostruct.domains.space.space import Space
from bostruct.kernels.algebra import PartKernel, Product
from bostruct.kernels.distance import DistanceKernel, FeatureDistance
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.kernels.otmann.kernel import DistanceTerms, OtmannKernel
from bostruct.kernels.otmann.settings import REFERENCE, Otmann
from bostruct.kernels.space.links import LogLengthscale
from bostruct.kernels.space.product import SpaceKernel
from bostruct.kernels.space.registry import product_kernel
from bostruct.kernels.traces import TraceKernel
from bostruct.methods.refusals import domain_label, refuse_conditions, refuse_numbers
from bostruct.surrogates.priors import Normal, bounded_normal

ABSENCE_PRIOR = Normal(0.0, 1.0)  # of the logit of the correlation between points with and without a variable
N_SCALE_POINTS = 32  # points whose distances say what is far in a domain


def default_kernel(part: Domain, settings: Otmann = REFERENCE) -> Similarity:
    """Build the default kernel of a domain: diffusion, choices, distances or features, or OTMANN of architectures.

    part: a domain; a joint one gets the product of its parts' kernels.
    settings: of the OTMANN distance.

    Raises DomainError for any other domain.
    """
    if isinstance(part, Joint):
        return joint_kernel(part, settings)
    if isinstance(part, Space):
        return space_kernel(part)
    if has_capability(part, HasChoices):
        return program_kernel(part)
    return distance_kernel(part) if has_distance(part) else architecture_kernel(part, settings)


def has_distance(domain: Domain) -> bool:
    """Tell whether a domain has distances, or features that make some.

    domain: any.
    """
    return has_capability(domain, HasDistances) or has_capability(domain, HasFeatures)


def find_part_without_kernel(domain: Domain, name: str = "") -> str | None:
    """Name the domain that `default_kernel` has no kernel for, or such a part of it; None where there is none.

    domain: any.
    name: of the part that it is.
    """
    if isinstance(domain, Joint):
        parts = zip(domain.part_names, domain.domains, strict=True)
        return next((found for own, part in parts if (found := find_part_without_kernel(part, own))), None)
    known = isinstance(domain, Space) or has_capability(domain, HasChoices) or has_distance(domain)
    if known or draws_architectures(domain):
        return None
    return type(domain).__name__ + (f" (the part {name!r})" if name else "")


def has_nasbot_kernel(domain: Domain) -> bool:
    """Tell whether a domain is of architectures, and has no distance of its own, or is joint, of parts with kernels.

    domain: any.
    """
    if isinstance(domain, Joint):
        return find_part_without_kernel(domain) is None
    return not has_distance(domain) and draws_architectures(domain)


def draws_architectures(domain: Domain) -> bool:
    """Tell whether the points of a domain are architectures.

    domain: any.
    """
    return all(isinstance(x, Architecture) for x in domain.sample(1, np.random.default_rng(0)))


def distance_kernel(domain: Domain) -> DistanceKernel:
    """Build the kernel exp(-rate d) of a domain's own distance, else of the Euclidean distance of its features.

    Features are divided by their standard deviations over 32 drawn points. At the median distance of these points
    rate d is about 1.

    domain: with distances or features.
    """
    xs = domain.sample(N_SCALE_POINTS, np.random.default_rng(0))
    if has_capability(domain, HasDistances):
        distance = domain.distances
    else:
        features = require(domain, HasFeatures, "a default kernel").features
        spread = np.std(features(xs), axis=0)
        distance = FeatureDistance(features, tuple(np.where(spread > 0.0, spread, 1.0).tolist()))
    typical = float(np.median(distance(xs, xs)[np.triu_indices(len(xs), 1)])) or 1.0
    return DistanceKernel(distance, bounded_normal(-math.log(typical), 1.0), -math.log(typical))


def joint_kernel(domain: Joint, settings: Otmann = REFERENCE) -> Similarity:
    """Build the kernel of a joint domain: the product of one default kernel for each part.

    domain: its parts are spaces, programs, architectures, or joint.
    settings: of the OTMANN distance.

    Raises DomainError for any other part.
    """
    factors: list[Similarity] = []
    for name, part in zip(domain.part_names, domain.domains, strict=True):
        factors.append(PartKernel(name or "variables", partial(domain.part, name), default_kernel(part, settings)))
    return reduce(Product, factors)


def space_kernel(domain: Space) -> SpaceKernel:
    """Build the product kernel of a space, whose log-normal lengthscales grow as the root of the number of variables.

    The prior is that of Hvarfner et al. 2024, stated on the lengthscale that is equivalent to each edge weight. The
    mode is theirs. The spread is smaller than theirs; it was chosen among a few on random weighted Max-3-SAT, where the
    differences were hardly beyond chance.

    domain: a `Space`. A number correlates by Matern-5/2 on the share of its range.

    Raises DomainError, naming a variable whose kind has no kernel.
    """
    prior = Normal(math.sqrt(2.0) + 0.5 * math.log(domain.d) - 3.0, 0.7)
    return product_kernel(
        domain, prior, LogLengthscale(), initial=prior.mean, unit_diagonal=True, absence_prior=ABSENCE_PRIOR
    )


def variable_graphs(domain: Space) -> tuple[VariableGraph, ...]:
    """Return the graph of each variable; raises DomainError for a domain that is no `Space` or has a variable on none.

    domain: a `Space`.
    """
    if not isinstance(domain, Space):
        raise DomainError(f"method: combo needs a Space, got {domain_label(domain)}")
    refuse_numbers("combo", domain)
    refuse_conditions("combo", domain)
    others = [name for name, variable in domain.variables.items() if not isinstance(variable, ChoiceVariable)]
    if others:
        kind = domain.variables[others[0]].kind
        raise DomainError(f"method: combo needs variables on graphs; {others[0]} is of kind {kind}")
    return tuple(variable.graph for variable in domain.variables.values() if isinstance(variable, ChoiceVariable))


def program_kernel(domain: HasChoices) -> TraceKernel:
    """Build the kernel on the choices of points, with a rate for each kind of choice met in 32 drawn points.

    At the median distance all terms together are about 1.

    domain: of named choices, such as a `SearchSpace` of the search-space language.
    """
    xs = domain.sample(N_SCALE_POINTS, np.random.default_rng(0))
    kinds = tuple(sorted({one.kind for x in xs for one in domain.coordinates(x)}))
    flat = TraceKernel(domain.coordinates, kinds, Normal(0.0, 1.0), 0.0)
    distances = flat.prepare(xs).sum(axis=0)
    typical = float(np.median(distances[np.triu_indices(len(xs), 1)])) or 1.0
    return replace(flat, prior=bounded_normal(-math.log(typical), 1.0), initial=-math.log(typical))


def architecture_kernel(domain: Domain, settings: Otmann = REFERENCE) -> Similarity:
    """Build the OTMANN kernel of architectures, or of the architectures that programs stand for.

    domain: of architectures, or a `SearchSpace` whose modules stand for layers.
    settings: of the OTMANN distance.

    Raises DomainError for anything else.
    """
    can_draw = "sample" not in missing_members(domain, Domain)
    xs = list(domain.sample(N_SCALE_POINTS, np.random.default_rng(0))) if can_draw else []
    if isinstance(domain, SearchSpace):
        layers: LRUCache[Trace, Architecture] = LRUCache(lambda x: domain.present(x).to_architecture())
        try:
            kernel = scaled_otmann([layers(x) for x in xs], settings)
        except LanguageError as error:
            raise DomainError(f"method: nasbot needs programs whose modules stand for layers: {error}") from error
        return PartKernel("architecture", lambda batch: [layers(x) for x in batch], kernel)
    if not xs or not all(isinstance(x, Architecture) for x in xs):
        raise DomainError(f"method: nasbot needs a domain of architectures, got {domain_label(domain)}")
    return scaled_otmann(xs, settings)


def scaled_otmann(xs: list[Architecture], settings: Otmann) -> OtmannKernel:
    """Build the OTMANN kernel whose priors of the rates fit the distances between some architectures.

    xs: architectures of one family, typical of the domain.
    settings: of the OTMANN distance.
    """
    found = otmann_distances(xs, settings=settings)
    return OtmannKernel(typical_rate(found.distance), typical_rate(found.normalized), settings)


def typical_rate(distances: Array) -> DistanceTerms:
    """Return the terms of a kernel whose rates fit the distances met in a domain.

    All terms together are about 1 at the median distance.

    distances: (m, m, weights), between m points of the domain, for each structural weight.
    """
    m, _, weights = distances.shape
    typical = float(np.median(distances[np.triu_indices(m, 1)])) or 1.0
    rate = -math.log(2.0 * weights * typical)
    return DistanceTerms(bounded_normal(rate, 1.0), rate)
