"""Methods for studies of limits and several objectives."""

from __future__ import annotations

from bostruct.contracts import Searcher


def serve_goals(searcher: Searcher, n_objectives: int, n_limits: int) -> Searcher:
    """Return a searcher for a study of so many objectives and limits.

    searcher: of one objective; it minimizes the values of the history, which are a merit of all objectives and limits.
    n_objectives: at least 1.
    n_limits: at least 0.
    """
    del n_objectives, n_limits
    return searcher
