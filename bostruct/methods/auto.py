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
from bostruct.methods.exploration import escape_plateaus, explore_branches, select_operators
from bostruct.methods.nasbot import nasbot
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.proposals import mutations_of, random_design
from bostruct.searchers.scores import Feasible, Improvement, best_predicted
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.map_gp import MAPGP, NoiseSelection
from bostruct.surrogates.selection import VariableSelection
from bostruct.surrogates.warping import OutputWarping

TOLERANCE = 1e-6  # of fits: half the likelihoods, and less than 0.002 nats lost
GROWTH = 0.02  # of the data, before the next fit
SCHEDULE_GROWTH = 0.05  # where durations are learned: a fit has one more parameter for each item
FAR_SCHEDULE = 30.0  # scales: bad orders teach durations as good ones do, but a penalty teaches none
EXTENT_ODDS = Normal(1.0, 1.0)  # log odds that letters or items count, not their number alone
LOG_SMOOTHNESS = 1.0  # by which lengthscales are expected to be larger where values are noisy
SUBSET_ODDS = Normal(3.0, 1.0)  # log odds of the selected variables, beside small effects of all
ORDER_ODDS = Normal(3.0, 1.0)  # log odds of an order that does not mislead
MOST_POINTS = 1_000  # in a model of variables: a suggestion from 100,000 trials takes seconds
MOST_FITTED = 300  # of these, that hyperparameters are fitted to: a likelihood of 1,000 points takes ten times as long
FEWEST_SELECTED_FROM, MOST_SELECTED_FROM = 20, 1_000  # variables: lengthscales tell fewer apart, more share these
LATEST_POINTS = 200  # of these, the last told: among many variables suggestions go far, and may fail there

log = logging.getLogger(__name__)


class Rule(NamedTuple):
    """One row of the table that `auto` reads from the top.

    serves: whether a domain is of this row.
    note: domain -> which method it is and why, for the record; None if a kernel of this package knows the domain.
    """

    serves: Callable[[Domain], bool]
    build: Callable[[Any], Any]
    note: Callable[[Domain], str] | None = None


def auto(domain: Domain) -> Searcher:
    """Build the default method for a domain.

    The method is the first that fits:

    1. Variables, such as a `Space`: `for_space`. 2. Named choices with mutations, such as programs: `for_programs`. 3.
    Several parts that all have kernels: `for_parts`. 4. Architectures with mutations: `nasbot`. 5. Distances or
    features, also named choices and architectures without mutations: `bayesian`. Negative eigenvalues of the
       kernel are clipped and recorded.
    6. Mutations: `evolution`. 7. Anything else: `random`.

    For 5 to 7, ``trial.info["auto"]`` and a log record of level INFO name the method and the reason.

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
    rule = next(rule for rule in RULES if rule.serves(domain))
    if rule.note is None:
        return rule.build(domain)
    note = rule.note(domain)
    log.info("auto: %s", note)
    return replace(rule.build(domain), note=note)


def for_space(domain: Domain) -> BayesianSearch:
    """Build Bayesian optimization of variables: a GP at its mode, log EI, local search around the best points.

    The kernel blends main effects with diffusion. Most objectives have main effects, and few data suffice for them. The
    prior of the diffusion is scaled by the number of variables. Values far worse than the median are compressed.

    Where sequences vary in length, or subsets in size, another kernel has main effects that see only the lengths and
    sizes of these. The data say how much of it is needed, so that few of them show what the length does.

    Where there are ordered choices, a third kernel has main effects that know no order. Next to nothing is expected of
    it, but the data may say otherwise: if an order misleads, each choice then has an effect of its own. So it is where
    descriptors or a matrix say which choices are alike, and mislead.

    Two models are fitted. One expects next to no noise, the other expects a third of the variance to be noise and has
    four times the prior probability. Among points that do not repeat, little but the prior tells noise from a rough
    function; some 20 values of a function without noise overcome it. If the noisy model is chosen among choices without
    order, a third model serves in its place, which expects a smoother function. Labels of success and failure are taken
    for quiet.

    From 50 trials on, the models are fitted again whenever the data have grown by a fiftieth, and those of success
    whenever the points that succeeded or those that failed have. From 1,000 trials on, they learn from the best 500
    points and from 500 points around the best; of more than 100 variables, also from the last 200.

    More than 1,000 variables on equal graphs share a lengthscale, which ``trial.info["auto"]`` says. A space of more
    than 100 variables without numbers is searched by ascents that change many of them at a time.

    Of 20 to 1,000 variables without schedules, a subset serves if the data favor it: see `VariableSelection`.

    Numbers that are too many to list are searched by gradients, in turn with the rest. Where there are some, points can
    be so close to told ones that they teach nothing: the acquisition is log augmented EI, which asks for others.

    Where variables have conditions, every fourth suggestion without a better value is random, in the branch with the
    fewest trials. A branch is the set of points that have the same variables.

    Among orders without conditions, a suggestion may be a mutation of the best point in place of the model's: whichever
    has brought better values more often of late is more likely to be asked.

    Where the items of an order have resources, a further kernel has the schedule of the order, in durations that are
    learned. It is linear in ends of chains of items, and bad orders teach the durations as good ones do. So only values
    farther away than those of schedules are compressed. The search is by simulated annealing, because schedules have
    plateaus; with numbers, its best points climb then. While it stays on that of the best value, every other suggestion
    is a mutation of the best point.

    Parameters
    ----------
    domain : Domain
        Of variables, such as a `Space`.

    Raises
    ------
    DomainError
        Naming a variable whose kind has no kernel.
    """
    scheduled = has_schedules(domain)
    kernel = build_kernel(domain)
    # means and initial values are log variances of standardized values
    latest = LATEST_POINTS if len(domain.variables) > MOST_BY_ONE else 0
    quiet = MAPGP(kernel, domain.join, Normal(-5.0, 1.0), -5.0, 60, TOLERANCE, MOST_POINTS, latest, MOST_FITTED)
    has_numbers = domain.n_continuous > 0
    climbs = has_numbers and domain.lists_many
    noisy = replace(quiet, noise_prior=Normal(-1.0, 1.0), initial_log_noise=-1.0)
    success = success_model(domain, replace(quiet, latest=0), most=MOST_POINTS)
    growth = SCHEDULE_GROWTH if scheduled else GROWTH
    variables = domain.variables.values()
    has_names_alone = all(one.choices is not None and one.grid is None and not one.ordered for one in variables)
    smooth = replace(noisy, kernel=build_kernel(domain, LOG_SMOOTHNESS)) if has_names_alone else None
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
        exploration=explore_branches(domain) or select_operators(domain) or escape_plateaus(domain),
        note=_note_many(space_kernel(domain)),
    )


def build_kernel(domain: Domain, log_smoothness: float = 0.0) -> Kernel:
    """Build the kernel that `for_space` describes.

    domain: of variables, such as a `Space`.
    log_smoothness: by how much the log lengthscales are expected to be larger.
    """
    product = space_kernel(domain, log_smoothness)
    kernel: Kernel = WeightedSum(main_effects(domain), product, Normal(0.4, 1.0), initial=0.4)
    if has_lengths(domain):
        by_length = main_effects(domain, by_length=True)
        kernel = WeightedSum(kernel, by_length, EXTENT_ODDS, initial=EXTENT_ODDS.mean)
    if has_order_to_doubt(domain):
        unordered = main_effects(domain, trusts_order=False)
        kernel = WeightedSum(kernel, unordered, ORDER_ODDS, initial=ORDER_ODDS.mean)
    return with_schedules(domain, kernel)


def select_variables(domain: Domain, model: NoiseSelection) -> Surrogate:
    """Return a surrogate that selects variables by evidence, if a space has 20 to 1,000 of them and no schedules.

    domain: of variables, such as a `Space`.
    model: of all variables.
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
            return WeightedSum(kernel, effects, SUBSET_ODDS, initial=SUBSET_ODDS.mean) if has_rest else kernel

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

    It begins with ten random points. Branches are explored as by `for_space`.
    """
    return replace(bayesian(domain, n_initial=10), design=random_design, exploration=explore_branches(domain))


def _note_many(kernel: SpaceKernel) -> str | None:
    """Say how many variables share lengthscales, if some do."""
    served = [(one.variables, one.parameters) for one in kernel.factors if one.parameters]
    shared = [(len(variables), len(own)) for variables, own in served if len(own) < len(variables)]
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
