"""The haste of the next suggestion, by what is on record of the last ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from bostruct.methods.haste import limit_haste
from bostruct.study.history import Trial

PATIENCE = 20  # suggestions of one haste: that are looked at, and after which one of less haste is tried
TOO_LATE = 2  # of them, since a single one may be late for another reason, such as loops that are compiled


def find_haste(newest_first: Iterable[Trial], seconds: float | None, n_values: int) -> int:
    """Return the haste of the next suggestion, as of `bostruct.methods.haste.suggest_in_haste`.

    It is one more than that of the last one where two of the last 20 of this haste took too long, and one less once 20
    in a row have not.

    newest_first: the trials of a study; what is on record of them decides, and nothing else.
    seconds: that a suggestion may take; None for as long as it takes.
    n_values: told so far.
    """
    if seconds is None:
        return 0
    last = list(islice(_read_last(newest_first), PATIENCE))
    haste = last[0][0] if last else 0
    late = sum(taken > seconds for _, taken in last)
    if late >= TOO_LATE:
        haste += 1
    elif late == 0 and len(last) == PATIENCE:
        haste -= 1
    return limit_haste(max(haste, 0), n_values)


def _read_last(newest_first: Iterable[Trial]) -> Iterator[tuple[int, float]]:
    """Yield haste and seconds of the suggestions of a searcher, the last one first, until the haste was another one."""
    haste = None
    for trial in newest_first:
        taken = trial.info.get("suggest_seconds")
        if taken is None or trial.origin in ("given", "initial") or "joint" in trial.info:
            continue
        known = int(trial.info.get("haste", 0))
        if haste is not None and known != haste:
            return
        haste = known
        yield known, taken
