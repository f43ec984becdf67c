"""The searchers of DeepArchitect (Negrinho et al. 2019): SMBO with hashed features, Monte Carlo tree search."""

from __future__ import annotations

from bostruct.contracts import Domain, HasDecisions, HasTokens, Searcher
from bostruct.methods.refusals import refuse_numbers, require_of_parts
from bostruct.searchers.mcts import MCTS
from bostruct.searchers.smbo import SMBO
from bostruct.surrogates.hashed import HashedRidge


def smbo(domain: Domain) -> Searcher:
    """Build SMBO: suggest the best of 512 random points by a linear model of hashed features (Negrinho et al. 2019).

    domain: any whose points have tokens, without `Real` variables and long or logarithmic `Integer` ones.

    Raises DomainError.
    """
    domain = require_of_parts(domain, HasTokens, "smbo")
    refuse_numbers("smbo", domain)
    return SMBO(domain, HashedRidge(domain.tokens))


def mcts(domain: Domain) -> Searcher:
    """Build Monte Carlo tree search over decisions, UCT with exploration 0.33 (Negrinho et al. 2019).

    domain: any of decisions one after another, without `Real` variables, or long or logarithmic `Integer` ones.

    Raises DomainError.
    """
    domain = require_of_parts(domain, HasDecisions, "mcts")
    refuse_numbers("mcts", domain)
    return MCTS(domain)
