"""The default kernel for each kind of domain, and the model of success if trials fail."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

import numpy as np

from bostruct.checks import require
from bostruct.contracts import Array, ChoiceDomain, Domain, DomainError, FeatureDomain, Kernel, SuccessModel, Surrogate
from bostruct.contracts.kernel import Batch, Parameter
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.space.graphs import VariableGraph
from bostruct.domains.space.variable import Variable
from bostruct.kernels.algebra import PartKernel, Product, WeightedSum
from bostruct.kernels.distance import DistanceKernel, ExponentialKernel, FeatureDistance
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.kernels.otmann.kernel import DistanceTerms, OtmannKernel
from bostruct.kernels.otmann.settings import REFERENCE, Otmann
from bostruct.kernels.space.permutation import number_names
from bostruct.kernels.space.product import SpaceKernel
from bostruct.kernels.space.registry import product_kernel
from bostruct.kernels.space.schedule import ScheduleKernel, Waits
from bostruct.kernels.space.spectra import LogLengthscale
from bostruct.kernels.traces import TraceKernel, is_compared
from bostruct.methods.refusals import refuse_conditions, refuse_numbers, refuse_structures_beside_numbers, require_space
from bostruct.surrogates.hyperparameters import Normal, bounded_normal
from bostruct.surrogates.success import AveragedSuccess, ChoiceCodes, NoisyOr, RegressedSuccess

ABSENCE_PRIOR = Normal(0.0, 1.0)  # of the logit of the correlation between points with and without a variable
N_SCALE_POINTS = 32  # points whose distances set the scale of a domain
LOG_DURATION = Normal(0.0, 0.7)  # of each item of a schedule
MAKESPAN_ODDS = Normal(1.0, 1.0)  # log odds that the end of a schedule matters, not the end of each item
SCHEDULE_ODDS = Normal(0.0, 1.5), 0.0, "log_odds_of_more_than_schedule"  # that more than the schedule matters
MOST_APART = 1_000  # variables on equal graphs that have a lengthscale each; more variables share one
SHORTEST_ROW = 4  # number of columns of equal choices from which they form a sequence
MOST_CODES = 64  # values of a column; a column with more is ignored
MOST_STEPS = 32  # values of a column of a sequence


def default_kernel(part: Domain, settings: Otmann = REFERENCE) -> Kernel:
    """Build the default kernel of a domain: diffusion, choices, distances or features, or OTMANN of architectures.

    Parameters
    ----------
    part : Domain
        The domain. A domain of several parts gets the product of their kernels.
    settings : Otmann, default REFERENCE
        Settings of the OTMANN distance.

    Raises
    ------
    DomainError
        If no kernel is known.
    """
    if part.parts:
        return joint_kernel(part, settings)
    if part.variables:
        return space_kernel(part)
    if (choices := part.traits.choices) is not None:
        return program_kernel(choices)
    return distance_kernel(part) if has_distance(part) else architecture_kernel(part, settings)


def success_model(domain: Domain, surrogate: Surrogate, most: int | None = None) -> SuccessModel:
    """Build a model of success: a regression of labels, averaged with a noisy-OR of choices if a space has choices.

    The regression learns limits on sums of numbers and levels. The noisy-OR learns forbidden combinations.

    surrogate: a surrogate of the label, which is 1 if a point succeeds and 0 if it fails.
    most: maximum number of points to learn the label from, the last ones; None for all.
    """
    regressed = RegressedSuccess(surrogate, domain.take, most)
    codes = find_codes(domain) if domain.variables else None
    return regressed if codes is None else AveragedSuccess((regressed, NoisyOr(codes)), domain.take)


def find_codes(domain: Domain) -> ChoiceCodes | None:
    """Return the choices of a domain's variables; None if no variable has choices, or each has too many."""
    columns, sizes, steps = list[int](), list[int](), list[tuple[int, int]]()
    start = 0
    for _, group in itertools.groupby(domain.variables.values(), _row_key):
        own = list(group)
        first = len(columns)
        for one in own:
            if 2 <= one.n_codes <= MOST_CODES:
                columns += range(start, start + one.width)
                sizes += [one.n_codes + bool(one.when)] * one.width
            start += one.width
        if len(columns) - first >= SHORTEST_ROW and 3 <= own[0].n_codes <= MOST_STEPS and not own[0].when:
            steps += itertools.pairwise(range(first, len(columns)))
    return ChoiceCodes(tuple(columns), tuple(sizes), tuple(steps)) if columns else None


def _row_key(variable: Variable) -> object:
    """Return a key that unordered variables with the same choices share; it is unique for any other variable."""
    if variable.choices is not None and variable.grid is None and not variable.ordered:
        return variable.kind, repr(variable.choices), repr(variable.when)
    return id(variable)


def has_distance(domain: Domain) -> bool:
    """Return whether a domain has distances, or features to compute distances from."""
    return domain.traits.distances is not None or domain.traits.features is not None


def find_part_without_kernel(domain: Domain, name: str = "") -> str | None:
    """Return the name of the domain, or of its part, for which `default_kernel` has no kernel; None if it has one."""
    if domain.parts:
        parts = domain.parts.items()
        return next((found for own, part in parts if (found := find_part_without_kernel(part, own))), None)
    has_choices = bool(domain.variables) or domain.traits.choices is not None
    if has_choices or has_distance(domain) or stands_for_architectures(domain):
        return None
    return type(domain).__name__ + (f" (the part {name!r})" if name else "")


def has_nasbot_kernel(domain: Domain) -> bool:
    """Return whether a domain has architectures without their own distance, or parts that all have kernels."""
    if domain.parts:
        return find_part_without_kernel(domain) is None
    return not has_distance(domain) and stands_for_architectures(domain)


def stands_for_architectures(domain: Domain) -> bool:
    """Return whether points of a domain are or represent architectures, judging by one random point."""
    try:
        domain.architectures(domain.sample(1, np.random.default_rng(0)))
    except DomainError:
        return False
    return True


def distance_kernel(domain: Domain) -> DistanceKernel:
    """Build the kernel exp(-rate d) of a domain's own distance d, or of the Euclidean distance of its features.

    Features are divided by their standard deviations over 32 random points. At the median distance of these points,
    rate * d is about 1.

    Raises DomainError if a distance between these points is not finite.
    """
    xs = domain.sample(N_SCALE_POINTS, np.random.default_rng(0))
    traits = domain.traits
    if traits.distances is not None:
        distance = traits.distances.distances
    else:
        features = require(traits.features, domain, FeatureDomain, "a default kernel").features
        spread = np.std(features(xs), axis=0)
        distance = FeatureDistance(features, tuple(np.where(spread > 0.0, spread, 1.0).tolist()))
    apart = distance(xs, xs)[np.triu_indices(len(xs), 1)]
    if not np.isfinite(apart).all():
        found = f"{apart.min()} to {apart.max()}"
        raise DomainError(f"{domain.label_in_messages}: expected finite distances of points, got {found}")
    typical = float(np.median(apart)) or 1.0
    return DistanceKernel(distance, bounded_normal(-math.log(typical), 1.0), -math.log(typical))


def joint_kernel(domain: Domain, settings: Otmann = REFERENCE) -> Kernel:
    """Build the kernel of a domain of several parts: the product of their default kernels.

    Raises DomainError if no kernel is known for a part.
    """
    factors: list[Kernel] = []
    for name, part in domain.parts.items():
        factors.append(PartKernel(name or "variables", partial(domain.part, name), default_kernel(part, settings)))
    return reduce(Product, factors)


def space_kernel(domain: Domain, log_smoothness: float = 0.0) -> SpaceKernel:
    """Build the product kernel of variables, whose log-normal lengthscales grow as the root of the number of variables.

    The prior of Hvarfner et al. 2024 is applied to the lengthscale that is equivalent to each edge weight. The mode is
    unchanged. The spread is smaller; it was chosen from a few values on random weighted Max-3-SAT, and the differences
    were barely statistically significant.

    More than 1,000 variables on equal graphs share one lengthscale: fitting so many lengthscales takes long, and a few
    observations barely distinguish them.

    domain: a domain of variables, such as a `Space`. A number has a Matern-5/2 kernel on the share of its range.
    log_smoothness: increase of the expected log lengthscales.

    Raises DomainError if a variable's kind has no kernel; the message names the variable.
    """
    degrees = sum(one.degrees for one in domain.variables.values() if not one.is_fixed) or 1
    prior = Normal(math.sqrt(2.0) + 0.5 * math.log(degrees) - 3.0 + log_smoothness, 0.7)
    return product_kernel(
        domain,
        prior,
        LogLengthscale(),
        initial=prior.mean,
        unit_diagonal=True,
        absence_prior=ABSENCE_PRIOR,
        most_apart=MOST_APART,
    )


def has_schedule(variable: Variable) -> bool:
    """Return whether a variable is an order of items that have resources, and no conditions."""
    return variable.resources is not None and not variable.when


def has_schedules(domain: Domain) -> bool:
    """Return whether a domain has a variable with a schedule."""
    return any(map(has_schedule, domain.variables.values()))


def with_schedules(domain: Domain, kernel: Kernel) -> Kernel:
    """Return a kernel of variables, plus a kernel of schedules for each order whose items have resources.

    Orders with conditions have no schedule.
    """
    first = 0
    for one in domain.variables.values():
        if has_schedule(one):
            waits = Waits(number_names(one.resources), one.chains)
            own = ScheduleKernel(waits, first, LOG_DURATION, MAKESPAN_ODDS, MAKESPAN_ODDS.mean)
            kernel = WeightedSum(kernel, own, *SCHEDULE_ODDS)
        first += one.width
    return kernel


def variable_graphs(domain: Domain) -> tuple[VariableGraph, ...]:
    """Return the graph of each variable; raise DomainError unless each variable of a `Space` has one."""
    domain = require_space(domain, "combo")
    refuse_conditions("combo", domain)
    refuse_structures_beside_numbers("combo", domain)
    refuse_numbers("combo", domain)
    others = [name for name, variable in domain.variables.items() if variable.graph is None]
    if others:
        kind = domain.variables[others[0]].kind
        raise DomainError(f"method: combo needs variables on graphs; {others[0]} is of kind {kind}")
    described = next((name for name, variable in domain.variables.items() if variable.likeness is not None), None)
    if described is not None:
        raise DomainError(
            f"method: combo compares choices only by graphs, and {described!r} defines the similarity of its choices; "
            "use auto, or give the choices without similarities"
        )
    return tuple(variable.graph for variable in domain.variables.values() if variable.graph is not None)


def program_kernel(domain: ChoiceDomain) -> TraceKernel:
    """Build the kernel on the choices of points, with a rate for each kind of choice found in 32 random points.

    At the median distance, the sum of all terms is about 1.
    """
    xs = domain.sample(N_SCALE_POINTS, np.random.default_rng(0))
    kinds = tuple(sorted({one.kind for x in xs for one in domain.coordinates(x) if is_compared(one)}))
    flat = TraceKernel(domain.coordinates, kinds, Normal(0.0, 1.0), 0.0)
    distances = flat.prepare(xs).sum(axis=0)
    typical = float(np.median(distances[np.triu_indices(len(xs), 1)])) or 1.0
    return replace(flat, prior=bounded_normal(-math.log(typical), 1.0), initial=-math.log(typical))


def architecture_kernel(domain: Domain, settings: Otmann = REFERENCE) -> Kernel:
    """Build the OTMANN kernel of architectures, or of those that points represent; raise DomainError for others."""
    kernel = ScaledOtmann(domain.sample, domain.architectures, settings)
    [x] = domain.sample(1, np.random.default_rng(0))
    try:
        are_points = domain.architectures([x])[0] is x
        if not are_points:
            kernel.draw()  # other programs may have no architecture
    except DomainError as error:
        raise DomainError(f"method: nasbot needs architectures, and {error}") from error
    return kernel if are_points else PartKernel("architecture", domain.architectures, kernel)


@dataclass(frozen=True)
class ScaledOtmann(ExponentialKernel):
    """The OTMANN kernel with rates that fit the distances between 32 random points, which are computed on first use."""

    sample: Callable[[int, np.random.Generator], Batch]
    architectures: Callable[[Batch], Sequence[Architecture]]
    settings: Otmann = REFERENCE

    def draw(self) -> Sequence[Architecture]:
        """Return the architectures whose distances set the rates."""
        return self.architectures(self.sample(N_SCALE_POINTS, np.random.default_rng(0)))

    @cached_property
    def _kernel(self) -> OtmannKernel:
        found = otmann_distances(self.draw(), settings=self.settings)
        return OtmannKernel(typical_rate(found.distance), typical_rate(found.normalized), self.settings)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self._kernel.parameters

    def prepare(self, xs: Sequence[Architecture], ys: Sequence[Architecture] | None = None) -> Array:
        return self._kernel.prepare(xs, ys)


def typical_rate(distances: Array) -> DistanceTerms:
    """Return the terms of a kernel whose rates fit the distances in a domain.

    The sum of all terms is about 1 at the median distance.

    distances: distances between m points of the domain for each structural weight (m, m, weights).
    """
    m, _, weights = distances.shape
    typical = float(np.median(distances[np.triu_indices(m, 1)])) or 1.0
    rate = -math.log(2.0 * weights * typical)
    return DistanceTerms(bounded_normal(rate, 1.0), rate)
