"""Weighted random search (Florea and Andonie 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bostruct.contracts import DomainError, Searcher
from bostruct.domains.space.space import Space
from bostruct.methods.refusals import domain_label
from bostruct.searchers.wrs import WeightedRandomSearch
from bostruct.surrogates.fanova import VarianceShares


def wrs(
    domain: Any,
    n_random: int = 37,
    mode: Literal["shared", "independent", "single", "auto"] = "auto",
    floor: float = 0.01,
    least: Mapping[str, int] | None = None,
) -> Searcher:
    """Weighted random search (Florea and Andonie 2019), one variable changed at a time; `mode="shared"` as published.

    n_random: the first phase, published as the number of trials over e: 37 of 100. floor: the least probability that a
    variable changes. least: k_i by name, the trials until which a variable changes in every step.
    """
    if not callable(getattr(domain, "resample", None)):
        raise DomainError(f"method: wrs needs a domain of named choices, got {domain_label(domain)}")
    if isinstance(domain, Space) and (unknown := sorted(set(least or {}) - set(domain.variables))):
        raise ValueError(f"least: expected names of variables, {', '.join(domain.variables)}; got {unknown[0]!r}")
    return WeightedRandomSearch(domain, VarianceShares(), n_random, mode, floor, least or {})
