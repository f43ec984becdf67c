"""The searchers of DeepArchitect (Negrinho et al. 2019): SMBO, Monte Carlo tree search."""

from __future__ import annotations

from bostruct.checks import check_part
from bostruct.contracts import Domain, Searcher
from bostruct.methods.refusals import refuse_numbers, refuse_structures_beside_numbers, require_tree
from bostruct.searchers.mcts import MCTS
from bostruct.searchers.smbo import SMBO
from bostruct.searchers.tree_search import TreeSearch
from bostruct.surrogates.hashed import HashedRidge


def smbo(domain: Domain) -> Searcher:
    """Build SMBO: suggest the best of 512 random points by a linear model of hashed features (Negrinho et al. 2019).

    domain: any whose points have tokens, without `Real` variables and long or logarithmic `Integer` ones.

    Raises DomainError.
    """
    check_part("domain", domain, Domain)
    refuse_numbers("smbo", domain)
    return SMBO(domain, HashedRidge(domain.tokens))


def smbo_mcts(domain: Domain) -> Searcher:
    """Build SMBO whose candidates tree search finds: 256 walks down a new tree at each suggestion.

    As the code of Negrinho et al. 2019 has it, with the settings of its benchmark: UCT with exploration 1, one random
    point in ten suggestions.

    domain: any of decisions one after another whose points have tokens, without `Real` variables, or long or
        logarithmic `Integer` ones.

    Raises DomainError.
    """
    refuse_structures_beside_numbers("smbo-mcts", domain)
    refuse_numbers("smbo-mcts", require_tree(domain, "smbo-mcts"))
    return SMBO(domain, HashedRidge(domain.tokens), candidates=256, tree=TreeSearch())


def mcts(domain: Domain) -> Searcher:
    """Build Monte Carlo tree search over decisions, UCT with exploration 0.33 (Negrinho et al. 2019).

    domain: any of decisions one after another, without `Real` variables, or long or logarithmic `Integer` ones.

    Raises DomainError.
    """
    refuse_structures_beside_numbers("mcts", domain)
    tree = require_tree(domain, "mcts")
    refuse_numbers("mcts", domain)
    return MCTS(tree)
