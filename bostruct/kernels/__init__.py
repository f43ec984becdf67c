"""Kernels: similarities of points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.kernels.distance import DistanceKernel as DistanceKernel
    from bostruct.kernels.space.diffusion import FactorSettings as FactorSettings
    from bostruct.kernels.space.effects import EffectKernel as EffectKernel
    from bostruct.kernels.space.factor import Factor as Factor
    from bostruct.kernels.space.factor import VariableChanges as VariableChanges
    from bostruct.kernels.space.registry import ON_GRAPHS as ON_GRAPHS
    from bostruct.kernels.space.registry import VariableKernels as VariableKernels
    from bostruct.kernels.space.registry import product_kernel as product_kernel
    from bostruct.kernels.space.spectra import LogLengthscale as LogLengthscale
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.kernels.distance": "DistanceKernel",
            "bostruct.kernels.space.diffusion": "FactorSettings",
            "bostruct.kernels.space.effects": "EffectKernel",
            "bostruct.kernels.space.factor": "Factor VariableChanges",
            "bostruct.kernels.space.registry": "ON_GRAPHS VariableKernels product_kernel",
            "bostruct.kernels.space.spectra": "LogLengthscale",
        },
    )
