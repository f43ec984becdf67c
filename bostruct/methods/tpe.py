"""The tree-structured Parzen estimator, from Optuna."""

from __future__ import annotations

from bostruct.contracts import Domain, Searcher
from bostruct.methods.refusals import require_tree
from bostruct.searchers.tpe import TPE


def tpe(domain: Domain) -> Searcher:
    """Build the tree-structured Parzen estimator of Optuna (Bergstra et al. 2011); needs the extra `optuna`.

    domain: of named choices, decided one after another: a `Space`, programs, or a `Space` or joint domain of such
        parts.

    Raises DomainError, MissingExtra.
    """
    return TPE(require_tree(domain, "tpe"))
