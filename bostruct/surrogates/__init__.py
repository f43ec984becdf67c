"""Surrogates: what the data say about the objective."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.surrogates.hyperparameters import ScalePriors as ScalePriors
    from bostruct.surrogates.map_gp import MAPGP as MAPGP
    from bostruct.surrogates.marginalized import MarginalizedGP as MarginalizedGP
    from bostruct.surrogates.priors import Bounded as Bounded
    from bostruct.surrogates.priors import LogHorseshoe as LogHorseshoe
    from bostruct.surrogates.priors import Normal as Normal
    from bostruct.surrogates.priors import TruncatedNormal as TruncatedNormal
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.surrogates.hyperparameters": "ScalePriors",
            "bostruct.surrogates.map_gp": "MAPGP",
            "bostruct.surrogates.marginalized": "MarginalizedGP",
            "bostruct.surrogates.priors": "Bounded LogHorseshoe Normal TruncatedNormal",
        },
    )
