"""Acquisition functions, and the maximizers that search for the point with the best acquisition value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.acquisition.functions import ExpectedImprovement as ExpectedImprovement
    from bostruct.acquisition.functions import LogExpectedImprovement as LogExpectedImprovement
    from bostruct.acquisition.functions import LowerConfidenceBound as LowerConfidenceBound
    from bostruct.acquisition.functions import ProbabilityOfImprovement as ProbabilityOfImprovement
    from bostruct.acquisition.local_search import LocalSearch as LocalSearch
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.acquisition.functions": "ExpectedImprovement LogExpectedImprovement LowerConfidenceBound "
            "ProbabilityOfImprovement",
            "bostruct.acquisition.local_search": "LocalSearch",
        },
    )
