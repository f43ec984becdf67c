"""The tree-structured Parzen estimator, from Optuna."""

from __future__ import annotations

from bostruct.checks import require
from bostruct.contracts import Domain, DomainError, HasDecisions, Searcher
from bostruct.domains.space.space import Space
from bostruct.methods.refusals import domain_label
from bostruct.searchers.tpe import TPE


def tpe(domain: Domain) -> Searcher:
    """Build the tree-structured Parzen estimator of Optuna (Bergstra et al. 2011); needs the extra `optuna`.

    domain: a `Space`.

    Raises DomainError, MissingExtra.
    """
    if not isinstance(domain, Space):
        raise DomainError(f"method: tpe needs a Space, got {domain_label(domain)}")
    require(domain, HasDecisions, "tpe")
    return TPE(domain)
