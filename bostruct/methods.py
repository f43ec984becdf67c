"""Methods by name: the only file that assembles parts from several layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bostruct.checks import check_choice
from bostruct.contracts import Searcher
from bostruct.searchers.annealing import Annealing
from bostruct.searchers.hill_climbing import HillClimbing
from bostruct.searchers.random import RandomSearch


def random(domain: Any) -> Searcher:
    """Random search without replacement."""
    return RandomSearch(domain)


def annealing(domain: Any) -> Searcher:
    """Simulated annealing on the objective itself."""
    return Annealing(domain)


def hill_climbing(domain: Any) -> Searcher:
    """One-exchange hill climbing with random restarts."""
    return HillClimbing(domain)


METHODS: dict[str, Callable[[Any], Searcher]] = {
    "annealing": annealing,
    "hill-climbing": hill_climbing,
    "random": random,
}


def searcher(method: str | Searcher, domain: Any) -> Searcher:
    """A searcher from its name, or as it is; raises ValueError for an unknown name."""
    if isinstance(method, str):
        return METHODS[check_choice("method", method, METHODS)](domain)
    return method
