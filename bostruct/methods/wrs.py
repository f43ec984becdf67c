"""Weighted random search (Florea and Andonie 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bostruct.checks import check_choice, short_repr
from bostruct.contracts import Domain, Searcher
from bostruct.domains.space.space import Space
from bostruct.methods.refusals import require_choices
from bostruct.searchers.wrs import WeightedRandomSearch
from bostruct.surrogates.conditional_fanova import VarianceShares


def wrs(
    domain: Domain,
    n_random: int = 37,
    mode: Literal["shared", "independent", "single", "auto"] = "auto",
    floor: float = 0.01,
    least: Mapping[str, int] | None = None,
) -> Searcher:
    """Build weighted random search (Florea and Andonie 2019), one variable changed at a time.

    domain: any of named choices, such as a `Space`, programs, or a `Space` or joint domain of such parts.
    n_random: trials of the first phase, at least 2; published is the number of trials over e (37 of 100), which is
        worse where trials are many.
    mode: how the variables that change are drawn: "shared" as published, "independent", "single", or "auto"; see
        `WeightedRandomSearch`.
    floor: the least probability that a variable changes, in (0, 1].
    least: k_i by the variable's name; it changes in every step until so many trials are finished.

    Raises DomainError, TypeError, ValueError.
    """
    chosen = require_choices(domain, "wrs")
    if least is not None and not isinstance(least, Mapping):
        raise TypeError(f"least: expected a dict of names and numbers of trials, got {short_repr(least)}")
    if isinstance(domain, Space):
        for name in least or {}:
            check_choice("least", name, domain.variables)
    return WeightedRandomSearch(chosen, VarianceShares(), n_random, mode, floor, least or {})
