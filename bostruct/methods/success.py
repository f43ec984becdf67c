"""The model of success that methods use where trials have failed."""

from __future__ import annotations

from bostruct.contracts import Domain, SuccessModel, Surrogate
from bostruct.domains.space.codes import find_codes
from bostruct.surrogates.noisy_or import NoisyOr
from bostruct.surrogates.success import AveragedSuccess, RegressedSuccess


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
