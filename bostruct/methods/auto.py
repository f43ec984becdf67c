"""The default method."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import LOG_EI, LogAugmentedExpectedImprovement
from bostruct.acquisition.mixed_search import MixedSearch
from bostruct.checks import check_part
from bostruct.contracts import ChoiceDomain, Domain, Kernel, Searcher, Surrogate
from bostruct.domains.space.space import Space
from bostruct.kernels.algebra import WeightedSum
from bostruct.kernels.space.main_effects import LengthscaleBlend
from bostruct.kernels.space.product import SpaceKernel
from bostruct.kernels.space.registry import has_lengths, has_order_to_doubt, main_effects
from bostruct.kernels.space.subspace import SubspaceKernel, measure_dissimilarities
from bostruct.methods.baselines import evolution, random
from bostruct.methods.bayesian import MOST_BY_ONE, bayesian, default_search
from bostruct.methods.defaults import (
    find_part_without_kernel,
    has_distance,
    has_nasbot_kernel,
    has_schedules,
    program_kernel,
    space_kernel,
    success_model,
    with_schedules,
)
from bostruct.methods.exploration import escape_plateaus, explore_branches, sample_regression, select_operators
from bostruct.methods.nasbot import nasbot
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import mutations_of, random_design
from bostruct.searchers.scores import Feasible, Improvement, best_predicted
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.map_gp import MAPGP, NoiseSelection
from bostruct.surrogates.selection import VariableSelection
from bostruct.surrogates.warping import OutputWarping

TOLERANCE = 1e-6  # of fits: halves the number of likelihoods, and loses less than 0.002 nats
GROWTH = 0.02  # relative growth of the data before the next fit
SCHEDULE_GROWTH = 0.05  # the same if durations are learned: a fit then has one more parameter for each item
FAR_SCHEDULE = 30.0  # scales: durations are learned from bad orders as well as from good ones, but not from penalties
EXTENT_ODDS = Normal(1.0, 1.0), 1.0, "log_odds_of_items"  # that letters or items matter, not only their number
LOG_SMOOTHNESS = 1.0  # increase of the expected log lengthscales if values are noisy
SUBSET_ODDS = Normal(3.0, 1.0), 3.0, "log_odds_of_selected"  # variables, against small effects of all variables
BLEND = LengthscaleBlend(whole=Normal(1.0, 2.0), quarter=Normal(2.0, 2.0), initial_whole=1.0, initial_quarter=2.0)
BLEND_ODDS = Normal(0.4, 1.0), 0.4, "log_odds_of_main_effects"  # against the product over variables
ORDER_ODDS = Normal(3.0, 1.0), 3.0, "log_odds_of_orders"  # that do not mislead
MOST_POINTS = 1_000  # in a model of variables: a suggestion from 100,000 trials takes seconds
MOST_FITTED = 300  # training points of the hyperparameters: a likelihood of 1,000 points takes ten times as long
FEWEST_SELECTED_FROM, MOST_SELECTED_FROM = 20, 1_000  # variables: lengthscales suffice for fewer, more share them
LATEST_POINTS = 200  # of MOST_POINTS, the last observed: with many variables suggestions go far, and may fail there

log = logging.getLogger(__name__)


class Rule(NamedTuple):
    """One row of the table that `auto` reads from the top.

    fits: domain -> whether the row applies to it.
    note: domain -> the method and the reason, to record; None if this package has a kernel for the domain.
    """

    fits: Callable[[Domain], bool]
    build: Callable[[Any], Any]
    note: Callable[[Domain], str] | None = None


def auto(domain: Domain) -> Searcher:
    """Build the default method for a domain.

    The first entry that fits the domain determines the method:

    1. Variables, such as a `Space`: `for_space`.
    2. Named choices with mutations, such as programs: `for_programs`.
    3. Several parts that all have kernels: `for_parts`.
    4. Architectures with mutations: `nasbot`.
    5. Distances or features, and named choices or architectures without mutations: `bayesian`. Negative eigenvalues of
       the kernel are clipped and recorded.
    6. Mutations: `evolution`.
    7. Anything else: `random`.

    For entries 5 to 7, ``trial.info["auto"]`` and a log record of level INFO give the method and the reason.

    Parameters
    ----------
    domain : Domain
        The domain to search.

    Raises
    ------
    DomainError
        If it is not a domain, or has a variable of a kind without a kernel.
    """
    check_part("domain", domain, Domain)
    rule = next(rule for rule in RULES if rule.fits(domain))
    if rule.note is None:
        return rule.build(domain)
    note = rule.note(domain)
    log.info("auto: %s", note)
    return replace(rule.build(domain), note=note)


def for_space(domain: Domain) -> BayesianSearch:
    """Build Bayesian optimization of variables: a GP at its mode, log EI, local search around the best points.

    The kernel is a weighted sum of main effects and diffusion. Most objectives have main effects, and few data suffice
    to learn them. The prior of the diffusion is scaled by the number of variables. Main effects of continuous variables
    have three lengthscales, the whole range for smooth functions, a quarter and a sixteenth of it for waves. Values far
    worse than the median are compressed.

    If sequences vary in length, or subsets in size, another kernel has main effects of only these lengths and sizes.
    The data determine its weight, so a few data suffice to learn the effect of the length.

    If there are ordered choices, a third kernel has main effects that ignore the order. Its weight is small unless the
    data show that an order misleads: each choice then has its own effect. The same holds for descriptors or similarity
    matrices that mislead.

    Two models are fitted. The first expects almost no noise. The second expects a third of the variance to be noise,
    and has four times the prior probability. Unless points repeat, little but the prior distinguishes noise from a
    rough function; about 20 values of a noise-free function outweigh the prior. If the second model is selected and all
    variables are unordered choices, a third model, which expects a smoother function, replaces it. Labels of success
    and failure are modeled as almost noise-free.

    From 50 trials onward, the models are fitted again whenever the data have grown by a fiftieth; the models of success
    whenever the successes or the failures have. From 1,000 trials onward, they learn from the best 500 points and 500
    points around the best; with more than 100 variables, also from the last 200.

    More than 1,000 variables on equal graphs share a lengthscale, as ``trial.info["auto"]`` records. A space of more
    than 100 variables, none of them continuous, is searched by ascents that change many variables at a time.

    With 20 to 1,000 variables and no schedules, a subset is selected if the data favor it: see `VariableSelection`.

    Continuous variables, and integers with too many values to list, are optimized by gradients, in turn with the other
    variables. They allow points so close to observed points that nothing is learned, so the acquisition function is log
    augmented EI, which avoids these points.

    If variables have conditions, every fourth suggestion without a better value is a random point of the branch with
    the fewest trials. A branch is the set of points that have the same variables.

    With orders and without conditions, a mutation of the best point may replace the model's suggestion. The source that
    has found better values more often recently is more likely to be used.

    If the items of an order have resources, another kernel contains the schedule of the order. It is linear in the ends
    of chains of items, and it learns the durations from bad orders as well as from good ones. So only values too far
    away for a schedule, such as penalties, are compressed. The search is simulated annealing, because schedules have
    plateaus; with continuous variables, an ascent then starts from its best points. While suggestions stay on the
    plateau of the best value, every other suggestion is a mutation of the best point.

    Parameters
    ----------
    domain : Domain
        A domain of variables, such as a `Space`.

    Raises
    ------
    DomainError
        If a variable's kind has no kernel; the message names the variable.
    """
    scheduled = has_schedules(domain)
    kernel = build_kernel(domain)
    # prior means and initial values of the noise are log variances of standardized values
    latest = LATEST_POINTS if len(domain.variables) > MOST_BY_ONE else 0
    quiet = MAPGP(kernel, domain.join, Normal(-5.0, 1.0), -5.0, 60, TOLERANCE, MOST_POINTS, latest, MOST_FITTED)
    has_numbers = domain.n_continuous > 0
    climbs = has_numbers and domain.lists_many
    noisy = replace(quiet, noise_prior=Normal(-1.0, 1.0), initial_log_noise=-1.0)
    success = success_model(domain, replace(quiet, latest=0), most=MOST_POINTS)
    growth = SCHEDULE_GROWTH if scheduled else GROWTH
    variables = domain.variables.values()
    are_unordered = all(one.choices is not None and one.grid is None and not one.ordered for one in variables)
    smooth = replace(noisy, kernel=build_kernel(domain, LOG_SMOOTHNESS)) if are_unordered else None
    model = NoiseSelection(quiet, noisy, log_odds=math.log(4.0), growth=growth, smooth=smooth)
    surrogate = select_variables(domain, model)
    search = default_search(domain)
    maximizer = search.maximizer
    if climbs and scheduled:  # from the best points of the annealed search
        maximizer = MixedSearch(num_restarts=3, most=2_000, neighbors=100, begin=maximizer)
    elif climbs:
        maximizer = MixedSearch()
    acquisition = LogAugmentedExpectedImprovement() if has_numbers else LOG_EI
    return BayesianSearch(
        domain,
        OutputWarping(surrogate, FAR_SCHEDULE) if scheduled else OutputWarping(surrogate),
        Feasible(Improvement(acquisition, best_predicted), success, domain.join, growth=GROWTH),
        maximizer,
        n_initial=10,
        n_starts=search.n_starts,
        neighborhood=search.neighborhood,
        exploration=explore_branches(domain)
        or select_operators(domain)
        or escape_plateaus(domain)
        or sample_regression(domain),
        note=_note_many(space_kernel(domain)),
    )


def build_kernel(domain: Domain, log_smoothness: float = 0.0) -> Kernel:
    """Build the kernel that `for_space` describes.

    domain: a domain of variables, such as a `Space`.
    log_smoothness: increase of the expected log lengthscales.
    """
    effects = main_effects(domain, blend=BLEND if domain.n_continuous else None)
    kernel: Kernel = WeightedSum(effects, space_kernel(domain, log_smoothness), *BLEND_ODDS)
    if has_lengths(domain):
        kernel = WeightedSum(kernel, main_effects(domain, by_length=True), *EXTENT_ODDS)
    if has_order_to_doubt(domain):
        kernel = WeightedSum(kernel, main_effects(domain, trusts_order=False), *ORDER_ODDS)
    return with_schedules(domain, kernel)


def select_variables(domain: Domain, model: NoiseSelection) -> Surrogate:
    """Return a surrogate that selects variables by evidence, if a space has 20 to 1,000 of them and no schedules.

    domain: a domain of variables, such as a `Space`.
    model: the model of all variables.
    """
    variables, names = domain.variables, list(domain.variables)
    if not FEWEST_SELECTED_FROM <= len(variables) <= MOST_SELECTED_FROM or has_schedules(domain):
        return model
    effects = main_effects(domain)

    @lru_cache(maxsize=2)
    def restrict(positions: tuple[int, ...], has_rest: bool) -> NoiseSelection:
        own = {names[i]: variables[names[i]] for i in positions}
        anchor = next(k for k, one in enumerate(own.values()) if not one.when)

        def build(log_smoothness: float) -> Kernel:
            part = build_kernel(Space(own), log_smoothness)
            kernel = SubspaceKernel(part, effects.layout, positions, effects.numbers, anchor)
            return WeightedSum(kernel, effects, *SUBSET_ODDS) if has_rest else kernel

        kernel, smooth = build(0.0), build(LOG_SMOOTHNESS)
        return model.change_models(lambda one: replace(one, kernel=smooth if one is model.smooth else kernel))

    parents = tuple(tuple(names.index(parent) for parent in one.when) for one in variables.values())
    return VariableSelection(model, restrict, measure_dissimilarities(domain, effects), tuple(names), parents)


def for_programs(domain: ChoiceDomain) -> BayesianSearch:
    """Build Bayesian optimization of programs: a GP on their choices, log EI, evolution from the best points.

    Values far worse than the median are compressed.

    Parameters
    ----------
    domain : Domain
        A domain of named choices with mutations, such as a `SearchSpace`.
    """
    surrogate = MAPGP(program_kernel(domain), domain.join, Normal(-5.0, 1.0), -5.0)
    return BayesianSearch(
        domain,
        OutputWarping(surrogate),
        Feasible(Improvement(LOG_EI, best_predicted), success_model(domain, surrogate), domain.join),
        Evolution(),
        n_initial=10,
        n_starts=None,
        neighborhood=mutations_of,
    )


def for_parts(domain: Domain) -> BayesianSearch:
    """Build Bayesian optimization of several parts: a GP at its mode on the product of their kernels, log EI.

    The first ten points are random. Branches are explored as in `for_space`.
    """
    return replace(bayesian(domain, n_initial=10), design=random_design, exploration=explore_branches(domain))


def _note_many(kernel: SpaceKernel) -> str | None:
    """Return a note on how many variables share lengthscales; None if none do."""
    fitted = [(one.variables, one.parameters) for one in kernel.factors if one.parameters]
    shared = [(len(variables), len(own)) for variables, own in fitted if len(own) < len(variables)]
    d, n = sum(variables for variables, _ in shared), sum(own for _, own in shared)
    return f"of {d:,} variables those on equal graphs share a lengthscale: {n:,} in all" if shared else None


def _note_model(domain: Domain) -> str:
    by_features = domain.traits.distances is None and domain.traits.features is not None
    how = "features" if by_features else "distances" if has_distance(domain) else "a kernel, and no mutations"
    return f"a Gaussian process, because {type(domain).__name__} has {how}"


def _note_without_model(method: str, domain: Domain) -> str:
    lacking = find_part_without_kernel(domain)
    return f"{method}, because {lacking} has no variables, choices, distances, features or architectures"


RULES = (
    Rule(lambda domain: bool(domain.variables), for_space),
    Rule(lambda domain: domain.traits.choices is not None and not domain.parts and domain.traits.mutable, for_programs),
    Rule(lambda domain: bool(domain.parts) and has_nasbot_kernel(domain), for_parts),
    Rule(lambda domain: has_nasbot_kernel(domain) and domain.traits.mutable, nasbot),
    Rule(lambda domain: find_part_without_kernel(domain) is None, bayesian, _note_model),
    Rule(lambda domain: domain.traits.mutable, evolution, partial(_note_without_model, "evolution")),
    Rule(lambda _: True, random, partial(_note_without_model, "random search")),
)
