"""Searchers: one file per method, each suggesting the next point from a history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.searchers.bayesian import Exploration as Exploration
    from bostruct.searchers.scores import Feasible as Feasible
    from bostruct.searchers.scores import Improvement as Improvement
else:
    __getattr__, __dir__, __all__ = attach(
        __name__, {"bostruct.searchers.bayesian": "Exploration", "bostruct.searchers.scores": "Feasible Improvement"}
    )
