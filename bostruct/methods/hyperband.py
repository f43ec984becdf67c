"""Methods over a `Fidelity`: Hyperband, successive halving and narrowing, and Hyperband with a model."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from bostruct.acquisition.functions import LOG_EI
from bostruct.contracts import Domain, DomainError, Searcher
from bostruct.domains.fidelity import FidelityLevels
from bostruct.methods.auto import auto
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.hyperband import Hyperband, SuccessiveNarrowing
from bostruct.searchers.scores import Improvement, best_predicted
from bostruct.surrogates.target_fidelity import AtTargetFidelity


def hyperband(domain: Domain) -> Searcher:
    """Build asynchronous Hyperband over the domain's only `Fidelity` (Li et al. 2018, 2020).

    Parameters
    ----------
    domain : Domain
        A domain with exactly one `Fidelity`.

    Raises
    ------
    DomainError
        If it has none or several.
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
        If it has none or several.
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
        If it has none or several.
    """
    return SuccessiveNarrowing(domain, FidelityLevels(domain))


def model_based_hyperband(domain: Domain) -> Searcher:
    """Build Hyperband with new points from a model of all fidelities (MOBSTER: Klein et al. 2020).

    The model is that of `auto`, without the exploration of branches, with a factor for the fidelity in the kernel. Log
    EI is computed at the highest fidelity.

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
