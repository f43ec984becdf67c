"""BOCS (Baptista and Poloczek 2018)."""

from __future__ import annotations

from typing import Literal

from bostruct.acquisition.pseudo_boolean import SemidefiniteRelaxation, SimulatedAnnealing
from bostruct.checks import check_choice, check_integer
from bostruct.contracts import Domain, DomainError, Searcher
from bostruct.domains.space.space import Space
from bostruct.methods.refusals import domain_label, refuse_conditions, refuse_numbers, refuse_structures_beside_numbers
from bostruct.searchers.bocs import BOCS
from bostruct.surrogates.horseshoe import HorseshoeRegression
from bostruct.surrogates.monomials import Monomials

MINIMIZERS = {"relaxation": SemidefiniteRelaxation(), "annealing": SimulatedAnnealing()}


def bocs(domain: Domain, order: int = 2, minimizer: Literal["relaxation", "annealing"] | None = None) -> Searcher:
    """Build BOCS (Baptista and Poloczek 2018): sparse Bayesian regression on products of up to `order` choices.

    domain: a `Space` without `Real` variables, or long or logarithmic `Integer` ones.
    order: the most choices in one product, 1 to 3.
    minimizer: of posterior samples: "relaxation", semidefinite, for orders 1 and 2; "annealing" for any order. None:
        the relaxation where the order allows it.

    Raises DomainError, TypeError, ValueError.
    """
    if not isinstance(domain, Space):
        raise DomainError(f"method: bocs needs a Space, got {domain_label(domain)}")
    refuse_conditions("bocs", domain)
    refuse_structures_beside_numbers("bocs", domain)
    refuse_numbers("bocs", domain)
    check_integer("order", order, 1, 3)
    minimizer = minimizer or ("relaxation" if order <= 2 else "annealing")
    if check_choice("minimizer", minimizer, MINIMIZERS) == "relaxation" and order > 2:
        raise ValueError(f"minimizer: relaxation serves orders 1 and 2, got order {order}; use 'annealing'")
    regression = HorseshoeRegression(Monomials(tuple(domain.n_choices.tolist()), order))
    return BOCS(domain, regression, MINIMIZERS[minimizer])
