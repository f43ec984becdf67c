"""Studies: the ask-and-tell interface, the optimization loop, results, and their persistence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.outcome import Outcome as Outcome
    from bostruct.study.stopping import Patience as Patience
    from bostruct.study.stopping import StoppingCallback as StoppingCallback
    from bostruct.study.stopping import StoppingRule as StoppingRule
    from bostruct.study.stopping import TargetValue as TargetValue
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.outcome": "Outcome",
            "bostruct.study.stopping": "Patience StoppingCallback StoppingRule TargetValue",
        },
    )
