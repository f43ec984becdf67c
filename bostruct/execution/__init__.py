"""Evaluation of objectives: in this process, in worker processes, or on executors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.execution.pools import InProcessPool as InProcessPool
    from bostruct.execution.pools import Pool as Pool
else:
    __getattr__, __dir__, __all__ = attach(__name__, {"bostruct.execution.pools": "InProcessPool Pool"})
