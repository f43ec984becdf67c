"""The best value that a rule of exploration knew, and so whether there is a better one since."""

from __future__ import annotations

import numpy as np

from bostruct.contracts import Array, State


def recall_best(memory: State, values: Array) -> float:
    """Return the best value of an earlier call, as it counts now.

    Where there are limits, values are merits, and those of the same points change with what is told since. So the
    memory has the number of values, ``told``, and the best of these is taken anew. A memory of an older file has the
    value itself, as ``best``.

    memory: of the earlier call.
    values: told until now (n,), in the order told.
    """
    return float(np.min(values[: memory["told"]])) if "told" in memory else float(memory["best"])
