"""The haste of the next suggestion, by what is on record of the last ones."""

from __future__ import annotations

from collections.abc import Iterable

from bostruct.methods.haste import limit_haste
from bostruct.study.history import Trial

PATIENCE = 20  # suggestions of one haste, after which one of less haste is tried


def find_haste(newest_first: Iterable[Trial], seconds: float | None, n_values: int) -> int:
    """Return the haste of the next suggestion, as of `bostruct.methods.haste.suggest_in_haste`.

    It is one more than that of the last one where that took too long, and one less once 20 in a row have not.

    newest_first: the trials of a study; what is on record of them decides, and nothing else.
    seconds: that a suggestion may take; None for as long as it takes.
    n_values: told so far.
    """
    if seconds is None:
        return 0
    haste, in_time = 0, 0
    for trial in newest_first:
        taken = trial.info.get("suggest_seconds")
        if taken is None or trial.origin in ("given", "initial") or "joint" in trial.info:
            continue
        known = int(trial.info.get("haste", 0))
        if in_time == 0:
            haste = known
            if taken > seconds:
                return limit_haste(haste + 1, n_values)
        if known != haste or taken > seconds:
            break
        in_time += 1
        if in_time == PATIENCE:
            return limit_haste(max(haste - 1, 0), n_values)
    return limit_haste(haste, n_values)
