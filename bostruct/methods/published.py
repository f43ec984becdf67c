"""Methods on choices as their papers have them: BOCS, weighted random search, TPE and DeepArchitect's searchers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bostruct.acquisition.pseudo_boolean import SemidefiniteRelaxation, SimulatedAnnealing
from bostruct.checks import check_choice, check_integer, check_part, list_wide, short_repr
from bostruct.contracts import Domain, DomainError, Searcher
from bostruct.methods.refusals import (
    refuse_conditions,
    refuse_numbers,
    refuse_structures_beside_numbers,
    require_choices,
    require_tree,
)
from bostruct.searchers.bocs import BOCS
from bostruct.searchers.mcts import MCTS, TreeSearch
from bostruct.searchers.smbo import SMBO
from bostruct.searchers.tpe import TPE
from bostruct.searchers.wrs import WeightedRandomSearch
from bostruct.surrogates.fanova import VarianceShares
from bostruct.surrogates.hashed import HashedRidge
from bostruct.surrogates.horseshoe import HorseshoeRegression, Monomials

MINIMIZERS = {"relaxation": SemidefiniteRelaxation(), "annealing": SimulatedAnnealing()}


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
        raise ValueError(f"minimizer: relaxation serves orders 1 and 2, got order {order}; use 'annealing'")
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
        How the variables to change are drawn: "shared" is the published way; see `WeightedRandomSearch`.
    floor : float, default 0.01
        The smallest probability that a variable changes, in (0, 1].
    least : dict of int, optional
        The paper's k_i by the variable's name: until so many trials are finished, the variable changes in every step.

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

    Settings are those of the benchmark in the code of Negrinho et al. 2019: UCT with exploration 1, and one random
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
        is a variant for values of any scale: the reward is the share of completed trials that are no better.

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
