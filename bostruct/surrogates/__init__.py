"""Surrogates: models of the objective that are learned from data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.surrogates.hyperparameters import Bounded as Bounded
    from bostruct.surrogates.hyperparameters import LogHorseshoe as LogHorseshoe
    from bostruct.surrogates.hyperparameters import Normal as Normal
    from bostruct.surrogates.hyperparameters import ScalePriors as ScalePriors
    from bostruct.surrogates.hyperparameters import TruncatedNormal as TruncatedNormal
    from bostruct.surrogates.map_gp import MAPGP as MAPGP
    from bostruct.surrogates.marginalized import MarginalizedGP as MarginalizedGP
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.surrogates.hyperparameters": "Bounded LogHorseshoe Normal ScalePriors TruncatedNormal",
            "bostruct.surrogates.map_gp": "MAPGP",
            "bostruct.surrogates.marginalized": "MarginalizedGP",
        },
    )
