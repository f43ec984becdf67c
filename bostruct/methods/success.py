"""The model of success that methods use where trials have failed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from bostruct.contracts import Domain, SuccessModel, Surrogate
from bostruct.domains.space.choices import ChoiceVariable, number_grid
from bostruct.domains.space.variable import Variable
from bostruct.surrogates.noisy_or import ChoiceCodes, NoisyOr
from bostruct.surrogates.success import AveragedSuccess, RegressedSuccess

SHORTEST_ROW = 4  # columns of equal choices that count as a sequence
MOST_CODES = 64  # values of a column; one with more is left out
MOST_STEPS = 32  # values of a column of a sequence


def success_model(domain: Domain, surrogate: Surrogate, most: int | None = None) -> SuccessModel:
    """Build a model of success: labels regressed, and on the choices of a space averaged with a noisy-OR of choices.

    The regression learns limits on sums of numbers and levels, the noisy-OR learns combinations that are forbidden.

    domain: any.
    surrogate: of a label that is 1 where points succeed, 0 where they fail.
    most: how many points the label is learned from, of more the last; None for all.
    """
    regressed = RegressedSuccess(surrogate, domain.take, most)
    codes = find_codes(domain) if domain.variables else None
    return regressed if codes is None else AveragedSuccess((regressed, NoisyOr(codes)), domain.take)


def find_codes(domain: Domain) -> ChoiceCodes | None:
    """Return the choices of a domain's variables; None where none of them has choices that are few enough.

    domain: of variables, such as a `Space`.
    """
    columns, sizes, steps = list[int](), list[int](), list[tuple[int, int]]()
    start = 0
    for _, group in itertools.groupby(domain.variables.values(), _name_row):
        own = list(group)
        first = len(columns)
        for one in own:
            if 2 <= one.n_codes <= MOST_CODES:
                columns += range(start, start + one.width)
                sizes += [one.n_codes + bool(one.when)] * one.width
            start += one.width
        steps += _pair_row(first, len(columns), own)
    return ChoiceCodes(tuple(columns), tuple(sizes), tuple(steps)) if columns else None


def _pair_row(first: int, end: int, variables: Sequence[Variable]) -> Iterator[tuple[int, int]]:
    """Pair the columns of a row that is long enough, and whose values are not too many."""
    if end - first >= SHORTEST_ROW and 3 <= variables[0].n_codes <= MOST_STEPS and not variables[0].when:
        yield from itertools.pairwise(range(first, end))


def _name_row(variable: Variable) -> object:
    """Name what variables of one row have in common: their choices, which have no order; others stand alone."""
    if isinstance(variable, ChoiceVariable) and number_grid(variable) is None and not variable.ordered:
        return variable.kind, repr(variable.choices), repr(variable.when)
    return id(variable)
