"""Methods as in their papers: BOCS, SMAC, WRS, TPE, DeepArchitect's searchers, and Hyperband with its variants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import numpy as np

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import LOG_EI, ExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.acquisition.pseudo_boolean import SemidefiniteRelaxation, SimulatedAnnealing
from bostruct.checks import check_choice, check_integer, check_part, list_wide, name_wide, short_repr
from bostruct.contracts import Choice, Domain, DomainError, FeatureDomain, Point, Searcher
from bostruct.domains.architecture.value import summarize
from bostruct.domains.fidelity import FidelityLevels
from bostruct.domains.part_choices import DescribedParts
from bostruct.methods.auto import auto
from bostruct.methods.defaults import stands_for_architectures
from bostruct.methods.refusals import (
    refuse_conditions,
    refuse_numbers,
    refuse_structures_beside_numbers,
    require_choices,
    require_tree,
)
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.bocs import BOCS
from bostruct.searchers.hyperband import Hyperband, SuccessiveNarrowing
from bostruct.searchers.mcts import MCTS, TreeSearch
from bostruct.searchers.proposals import mutations_of, neighbors_of
from bostruct.searchers.scores import Improvement, best_predicted
from bostruct.searchers.smbo import SMBO
from bostruct.searchers.tpe import TPE
from bostruct.searchers.wrs import WeightedRandomSearch
from bostruct.surrogates.fanova import VarianceShares
from bostruct.surrogates.forest import RandomForest
from bostruct.surrogates.hashed import HashedRidge
from bostruct.surrogates.horseshoe import HorseshoeRegression, Monomials
from bostruct.surrogates.target_fidelity import AtTargetFidelity

MINIMIZERS = {"relaxation": SemidefiniteRelaxation(), "annealing": SimulatedAnnealing()}
LARGEST = 1e30  # value of a feature; trees compare numbers in single precision


def bocs(domain: Domain, order: int = 2, minimizer: Literal["relaxation", "annealing"] | None = None) -> Searcher:
    """Build BOCS (Baptista and Poloczek 2018): sparse Bayesian linear regression on products of choices.

    Parameters
    ----------
    domain : Space
        A space without `Real` variables and long or logarithmic `Integer` ones.
    order : int, default 2
        The largest number of choices in a product, 1 to 3.
    minimizer : {"relaxation", "annealing"}, optional
        How posterior samples are minimized: by semidefinite relaxation, for orders 1 and 2, or by simulated annealing.
        By default the relaxation if the order allows it.

    Raises
    ------
    DomainError
        If the domain is not supported.
    TypeError, ValueError
        If an argument is invalid.
    """
    local = check_part("domain", domain, Domain).traits.local
    if local is None or not domain.variables:
        raise DomainError(f"method: bocs needs a Space, got {domain.label_in_messages}")
    refuse_conditions("bocs", domain)
    refuse_structures_beside_numbers("bocs", domain)
    refuse_numbers("bocs", domain)
    check_integer("order", order, 1, 3)
    minimizer = minimizer or ("relaxation" if order <= 2 else "annealing")
    if check_choice("minimizer", minimizer, MINIMIZERS) == "relaxation" and order > 2:
        raise ValueError(f"minimizer: relaxation supports orders 1 and 2, got order {order}; use 'annealing'")
    if wide := list_wide(domain):
        got = domain.variables[wide[0]].kind
        raise DomainError(f"{wide[0]}: expected variables that are one choice each, got a {got}")
    regression = HorseshoeRegression(Monomials(tuple(one.size for one in domain.variables.values()), order))
    return BOCS(local, regression, MINIMIZERS[minimizer])


def wrs(
    domain: Domain,
    n_random: int = 37,
    mode: Literal["shared", "independent", "single", "auto"] = "auto",
    floor: float = 0.01,
    least: Mapping[str, int] | None = None,
) -> Searcher:
    """Build weighted random search (Florea and Andonie 2019).

    Parameters
    ----------
    domain : Domain
        A domain of named choices, such as a `Space`, programs, or several such parts.
    n_random : int, default 37
        Number of trials of the random phase, at least 2. The paper has n_trials / e (37 of 100), which is worse for
        many trials.
    mode : {"shared", "independent", "single", "auto"}, default "auto"
        How the variables to change are drawn: "shared" as published; see `WeightedRandomSearch`.
    floor : float, default 0.01
        The smallest probability that a variable changes, in (0, 1].
    least : dict of int, optional
        The paper's k_i by variable name: the variable changes in every step until k_i trials are finished.

    Raises
    ------
    DomainError
        If the domain is not supported.
    TypeError, ValueError
        If an argument is invalid.
    """
    chosen = require_choices(domain, "wrs")
    if least is not None and not isinstance(least, Mapping):
        raise TypeError(f"least: expected a dict of names and numbers of trials, got {short_repr(least)}")
    for name in least or {} if domain.variables else ():
        check_choice("least", name, domain.variables)
    return WeightedRandomSearch(chosen, VarianceShares(), n_random, mode, floor, least or {})


def tpe(domain: Domain) -> Searcher:
    """Build the tree-structured Parzen estimator of Optuna (Bergstra et al. 2011); needs the extra `optuna`.

    Parameters
    ----------
    domain : Domain
        Named choices that are decided one after another: a `Space`, programs, or several such parts.

    Raises
    ------
    DomainError
        If the domain is not supported.
    MissingExtra
        If Optuna is not installed.
    """
    return TPE(require_tree(domain, "tpe"))


def smbo(domain: Domain) -> Searcher:
    """Build SMBO: the best of 512 random points by a linear model of hashed features (Negrinho et al. 2019).

    Parameters
    ----------
    domain : Domain
        A domain whose points have tokens, without `Real` variables and long or logarithmic `Integer` ones.

    Raises
    ------
    DomainError
        If the domain is not supported.
    """
    check_part("domain", domain, Domain)
    refuse_numbers("smbo", domain)
    return SMBO(domain, HashedRidge(domain.tokens))


def smbo_mcts(domain: Domain) -> Searcher:
    """Build SMBO with candidates from tree search: 256 walks down a new tree for each suggestion.

    The settings of the benchmark in the code of Negrinho et al. 2019 are used: UCT with exploration 1, and one random
    point in ten suggestions.

    Parameters
    ----------
    domain : Domain
        A domain of successive decisions whose points have tokens, without `Real` variables and long or logarithmic
        `Integer` ones.

    Raises
    ------
    DomainError
        If the domain is not supported.
    """
    refuse_structures_beside_numbers("smbo-mcts", domain)
    refuse_numbers("smbo-mcts", require_tree(domain, "smbo-mcts"))
    return SMBO(domain, HashedRidge(domain.tokens), candidates=256, tree=TreeSearch())


def mcts(domain: Domain, rewards: Literal["rank", "value"] = "rank") -> Searcher:
    """Build Monte Carlo tree search over decisions, UCT with exploration 0.33 (Negrinho et al. 2019, section 7.2).

    Parameters
    ----------
    domain : Domain
        A domain of successive decisions, without `Real` variables and long or logarithmic `Integer` ones.
    rewards : {"rank", "value"}, default "rank"
        "value" is the published method, for values that are errors from 0 to 1: the reward is 1 minus the value. "rank"
        is a variant for values of any scale: the reward is the share of completed trials that are not better.

    Raises
    ------
    DomainError
        If the domain is not supported.
    ValueError
        If an argument is invalid.
    """
    refuse_structures_beside_numbers("mcts", domain)
    tree = require_tree(domain, "mcts")
    refuse_numbers("mcts", domain)
    return MCTS(tree, rewards=rewards)


def smac(domain: Domain) -> BayesianSearch:
    """Build a search like SMAC (Hutter, Hoos and Leyton-Brown 2011): random forest, EI, local search.

    Local search starts from the best points and from random points. Evolution replaces it on domains whose neighbors
    cannot be listed for several points at once, such as programs.

    Parameters
    ----------
    domain : Domain
        Named choices, features or architectures with mutations, or several such parts.

    Raises
    ------
    DomainError
        If the domain is not supported.
    """
    choices, single = describe_points(check_part("domain", domain, Domain), "smac"), domain.traits.choices
    variables = domain.variables.values()
    if not variables or any(one.when for one in variables):  # points differ in which choices they have
        single = None
    return BayesianSearch(
        domain,
        RandomForest(choices, values=None if single is None else single.coordinate_values),
        Improvement(ExpectedImprovement()),
        LocalSearch(500, num_spray_points=100, num_restarts=10, distinct=False) if domain.lists_many else Evolution(),
        n_initial=10,
        n_starts=10 if domain.lists_many else None,
        neighborhood=neighbors_of if domain.lists_many else mutations_of,
    )


def describe_points(domain: Domain, method: str) -> Callable[[Point], Sequence[Choice]]:
    """Return a function that lists the inputs of a forest for a point: its choices, features, or summary.

    Raises DomainError, naming the part, if a domain has none of these.
    """
    return _describe_domain(domain, method, "").coordinates


def _describe_domain(domain: Any, method: str, name: str) -> Any:
    """Return an object that lists the choices of a domain's points; name: the domain's name as a part, if any."""
    if (choices := domain.traits.choices) is not None:
        return choices
    if domain.parts:
        return DescribedParts(domain, [_describe_domain(part, method, own) for own, part in domain.parts.items()])
    if (described := domain.traits.features) is not None:
        return Description(Features(described))
    if stands_for_architectures(domain):
        return Description(Summary(domain))
    got = domain.label_in_messages + name_wide(domain) + (f" in the part {name!r}" if name else "")
    raise DomainError(f"method: {method} needs a domain of named choices, features or architectures, got {got}")


@dataclass(frozen=True)
class Description:
    """A view of a domain as a domain of named choices that cannot be resampled: each number is a continuous choice."""

    numbers: Callable[[Point], Mapping[str, float]]

    def coordinates(self, x: Point) -> list[Choice]:
        """List the numbers of a point."""
        return [Choice(name, name, float(value), math.inf, True) for name, value in self.numbers(x).items()]


@dataclass(frozen=True)
class Features:
    """The features of a domain, named by their positions."""

    domain: FeatureDomain

    def __call__(self, x: Point) -> dict[str, float]:
        row = np.clip(np.asarray(self.domain.features([x]), dtype=np.float64)[0], -LARGEST, LARGEST)
        return {f"feature {i}": value for i, value in enumerate(row.tolist())}


@dataclass(frozen=True)
class Summary:
    """The numbers that summarize the architecture of a point."""

    domain: Domain

    def __call__(self, x: Point) -> dict[str, float]:
        """Return the numbers by name."""
        return summarize(self.domain.architectures([x])[0])


def hyperband(domain: Domain) -> Searcher:
    """Build asynchronous Hyperband over the domain's only `Fidelity` (Li et al. 2018, 2020).

    Parameters
    ----------
    domain : Domain
        A domain with exactly one `Fidelity`.

    Raises
    ------
    DomainError
        If the domain has no `Fidelity`, or several.
    """
    return Hyperband(domain, FidelityLevels(domain))


def successive_halving(domain: Domain) -> Searcher:
    """Build asynchronous successive halving over the domain's only `Fidelity` (Li et al. 2020).

    Parameters
    ----------
    domain : Domain
        A domain with exactly one `Fidelity`.

    Raises
    ------
    DomainError
        If the domain has no `Fidelity`, or several.
    """
    return Hyperband(domain, FidelityLevels(domain), halving=True)


def successive_narrowing(domain: Domain) -> Searcher:
    """Build successive narrowing over the domain's only `Fidelity` (code of Negrinho et al. 2019).

    Rounds have 27, 9, 3, 1 ... points, each at the next higher fidelity.

    Parameters
    ----------
    domain : Domain
        A domain with exactly one `Fidelity`.

    Raises
    ------
    DomainError
        If the domain has no `Fidelity`, or several.
    """
    return SuccessiveNarrowing(domain, FidelityLevels(domain))


def model_based_hyperband(domain: Domain) -> Searcher:
    """Build Hyperband with new points from a model of all fidelities (MOBSTER: Klein et al. 2020).

    The model of `auto` is used without the exploration of branches, and with a factor for the fidelity in the kernel.
    Log EI is computed at the highest fidelity.

    Parameters
    ----------
    domain : Domain
        A domain with exactly one `Fidelity` that `auto` can search.

    Raises
    ------
    DomainError
        If the domain is not supported.
    """
    levels = FidelityLevels(domain)

    def refuse(_: object) -> NoReturn:
        raise DomainError(f"method: model-based-hyperband needs a domain with a model, got {type(domain).__name__}")

    def at_target(model: BayesianSearch) -> BayesianSearch:
        surrogate = AtTargetFidelity(model.surrogate.on_all_variables(), levels.at_target_fidelity)
        score = model.score.around(lambda _: Improvement(LOG_EI, best_predicted))
        return replace(model, surrogate=surrogate, score=score, exploration=None)

    return Hyperband(domain, levels, proposals=auto(domain).change_model(at_target, refuse))
