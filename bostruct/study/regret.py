"""How probable it is that the best point of a study is worse than the optimum by more than a given amount."""

from __future__ import annotations

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import BostructError, NumericalError, Searcher
from bostruct.domains.space.call_limit import limit_calls
from bostruct.storage.json_text import parse
from bostruct.study.ledger import Ledger
from bostruct.study.prediction import explain_bad_state

STREAM = 2**32 - 3  # keeps the generator apart from those of suggestions, recommendations and predictions


def bound_regret(
    searcher: Searcher, ledger: Ledger, seed: int, regret: float, who: str, state: str | None = None
) -> float:
    """Return a bound of the probability that the regret of the best completed point exceeds `regret`; 1 where unknown.

    searcher: the study's method.
    ledger: of the study.
    seed: of the study.
    regret: in the user's units, at least 0.
    who: the name that people call the method by.
    state: of the searcher, JSON text; None for that of the ledger.

    Raises BostructError where the method has no model that tells, or a state that it cannot use, and for several
    objectives or limits.
    """
    check_number("regret", regret, 0.0)
    if not ledger.goals.is_single:
        raise BostructError(f"regret: expected a study of one objective without limits, got one to {ledger.goals}")
    if not searcher.bounds_regret:
        raise BostructError(
            f"regret: {who} has no model that says how much better another point may be, as StopWhen asks; auto has one"
        )
    history = ledger.history()
    if not len(history.values):
        return 1.0
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(ledger.order), STREAM)))
    try:
        with limit_calls(), explain_bad_state("regret"):
            known = parse(ledger.state if state is None else state)
            return searcher.bound_regret_probability(history, known, regret, rng)
    except NumericalError:
        return 1.0
