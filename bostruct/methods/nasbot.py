"""NASBOT (Kandasamy et al. 2018), improved and as published, with its priors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bostruct.acquisition.evolution import Evolution, by_fitness
from bostruct.acquisition.functions import LOG_EI, ExpectedImprovement
from bostruct.checks import check_integer, check_part
from bostruct.contracts import Array, Domain, DomainError, Kernel
from bostruct.kernels.algebra import SpectrumClip
from bostruct.kernels.otmann.kernel import DistanceTerms, OtmannKernel, OtmannSumKernel
from bostruct.kernels.otmann.settings import REFERENCE, Otmann
from bostruct.methods.defaults import architecture_kernel, joint_kernel, stands_for_architectures, success_model
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import initial_design, mutations_of
from bostruct.searchers.scores import Feasible, Improvement
from bostruct.surrogates.hyperparameters import Normal, ScalePriors, bounded_normal, match_log_uniform
from bostruct.surrogates.map_gp import MAPGP
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.surrogates.psd_diagnostics import PSDDiagnostics
from bostruct.surrogates.warping import OutputWarping

NOISE_SHARES = (0.005, 0.2)  # of the variance of the values
AMPLITUDE_SHARES = (0.02, 200.0)  # of the variance of the values: the sum of two amplitudes from 0.01 to 100
MOST_POINTS, LATEST_POINTS = 100, 20  # to learn from; a suggestion compares hundreds of candidates with each point
MEAN_REACH = 0.1  # standard deviations of the values around their median, the mean in the released code

SurrogateBuilder = Callable[[Kernel, Domain], PSDDiagnostics]  # (kernel of architectures, domain) -> surrogate


def map_surrogate(similarity: Kernel, domain: Domain, most: int | None = MOST_POINTS) -> PSDDiagnostics:
    """Build the surrogate of `nasbot`: a GP at the mode of its hyperparameters.

    Parameters
    ----------
    similarity : Kernel
        The kernel, whose matrices may be indefinite.
    domain : Domain
        The domain, for its `join`.
    most : int or None, default 100
        Maximum number of training points, at least 40: the best half, the last 20, and those nearest to the best five.
        None uses all, as published.

    Raises
    ------
    TypeError, ValueError
        If `most` is invalid.
    """
    if most is not None:
        check_integer("most", most, 2 * LATEST_POINTS)
    noise, latest = Normal(-6.0, 1.5), 0 if most is None else LATEST_POINTS
    model = MAPGP(SpectrumClip(similarity), domain.join, noise, noise.mean, most=most, latest=latest)
    return PSDDiagnostics(model, similarity)


def marginalized_surrogate(similarity: Kernel, domain: Domain) -> PSDDiagnostics:
    """Build the surrogate of `published_nasbot`: a GP averaged over hyperparameters by slice sampling.

    Parameters
    ----------
    similarity : Kernel
        The kernel, whose matrices may be indefinite.
    domain : Domain
        The domain, for its `join`.
    """
    return PSDDiagnostics(MarginalizedGP(SpectrumClip(similarity), domain.join, nasbot_priors), similarity)


def nasbot(domain: Domain, fit: SurrogateBuilder = map_surrogate, settings: Otmann = REFERENCE) -> BayesianSearch:
    """Build an improved NASBOT (Kandasamy et al. 2018): OTMANN of power 1, log EI, evolution from the best points.

    Values far worse than the median are compressed. The model learns from at most 100 trials.

    Parameters
    ----------
    domain : Domain
        Architectures, programs whose modules represent layers, or several parts with a product of kernels: OTMANN of
        architectures, diffusion of variables, choices of programs.
    fit : callable, default map_surrogate
        Builds the surrogate: `map_surrogate`, `marginalized_surrogate`, or your own.
    settings : Otmann, default REFERENCE
        Settings of the OTMANN distance.

    Raises
    ------
    DomainError
        If the domain is not supported.
    """
    check_part("domain", domain, Domain)
    similarity = joint_kernel(domain, settings) if domain.parts else architecture_kernel(domain, settings)
    design, n_initial = initial_design(domain)
    success = success_model(domain, map_surrogate(similarity, domain, most=None), most=MOST_POINTS)
    return BayesianSearch(
        domain,
        OutputWarping(fit(similarity, domain)),
        Feasible(Improvement(LOG_EI), success, domain.join),
        Evolution(domain.pool),
        n_initial=n_initial,
        n_starts=None,
        design=design,
        neighborhood=mutations_of,
    )


def published_nasbot(domain: Domain, fit: SurrogateBuilder = marginalized_surrogate) -> BayesianSearch:
    """Build NASBOT as in its released code: squared normalized distances, EI, evolution from the pool.

    Parents are drawn by fitness. `fit` samples the hyperparameters from normal approximations of the published ranges;
    the released code draws 4400 samples. docs/nasbot.md lists the other differences.

    Parameters
    ----------
    domain : Domain
        Architectures with a pool.
    fit : callable, default marginalized_surrogate
        Builds the surrogate: `marginalized_surrogate`, `map_surrogate`, or your own.

    Raises
    ------
    DomainError
        If the domain is not supported.
    """
    check_part("domain", domain, Domain)
    if not (len(domain.pool) and stands_for_architectures(domain)):
        raise DomainError(f"method: nasbot as published needs a domain with a pool, got {domain.label_in_messages}")
    distance = DistanceTerms(match_log_uniform(1e-9, 1e-3), math.log(1e-6))
    normalized = DistanceTerms(match_log_uniform(0.1, 100.0), math.log(math.sqrt(10.0)), power=2.0)
    similarity = OtmannSumKernel(OtmannKernel(distance, normalized), bounded_normal(0.0, 2.0))
    design, n_initial = initial_design(domain)
    return BayesianSearch(
        domain,
        fit(similarity, domain),
        Improvement(ExpectedImprovement()),
        Evolution(domain.pool, pool_only=True, selection=by_fitness),
        n_initial=n_initial,
        n_starts=None,
        design=design,
        neighborhood=mutations_of,
    )


def nasbot_priors(values: Array) -> ScalePriors:
    """Return the priors of mean, amplitude and noise for some values.

    values: observed values (n,); if all are equal, their variance is taken to be 1.
    """
    variance = float(np.var(values)) or 1.0
    amplitude, noise = (match_log_uniform(a * variance, b * variance) for a, b in (AMPLITUDE_SHARES, NOISE_SHARES))
    return ScalePriors(Normal(float(np.median(values)), MEAN_REACH * math.sqrt(variance)), amplitude, noise)
