"""OTMANN: the distance of two architectures, by optimal transport between their layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.kernels.otmann.settings import PAPER as PAPER
    from bostruct.kernels.otmann.settings import REFERENCE as REFERENCE
    from bostruct.kernels.otmann.settings import Otmann as Otmann
else:
    __getattr__, __dir__, __all__ = attach(__name__, {"bostruct.kernels.otmann.settings": "Otmann PAPER REFERENCE"})
