"""Methods by name: the only package that assembles parts from several layers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import numpy as np

from bostruct import plugins
from bostruct.checks import check_choice, check_part, short_repr
from bostruct.contracts import BostructError, Domain, DomainError, MissingExtra, NumericalError, PredicateError
from bostruct.contracts.search import HistoryView, Searcher
from bostruct.methods.auto import auto, for_programs, for_space
from bostruct.methods.baselines import annealing, evolution, hill_climbing, random, regularized_evolution
from bostruct.methods.bayesian import bayesian
from bostruct.methods.combo import combo
from bostruct.methods.defaults import default_kernel
from bostruct.methods.nasbot import map_surrogate, marginalized_surrogate, nasbot, published_nasbot
from bostruct.methods.published import (
    bocs,
    hyperband,
    mcts,
    model_based_hyperband,
    smac,
    smbo,
    smbo_mcts,
    successive_halving,
    successive_narrowing,
    tpe,
    wrs,
)
from bostruct.searchers.wrs import wrs_trials

METHODS: dict[str, Callable[..., Searcher]] = {
    "auto": auto,
    # Gaussian processes and a linear model
    "combo": combo,
    "nasbot": nasbot,
    "bocs": bocs,
    # other models
    "smac": smac,
    "tpe": tpe,
    "smbo": smbo,
    "smbo-mcts": smbo_mcts,
    "wrs": wrs,
    # cheap evaluations first
    "model-based-hyperband": model_based_hyperband,
    "hyperband": hyperband,
    "successive-halving": successive_halving,
    "successive-narrowing": successive_narrowing,
    # without a model
    "evolution": evolution,
    "regularized-evolution": regularized_evolution,
    "annealing": annealing,
    "hill-climbing": hill_climbing,
    "mcts": mcts,
    "random": random,
}


def list_names() -> list[str]:
    """List the names of all methods: built-in methods by type, registered methods, and methods of plug-ins."""
    return [*METHODS, *plugins.list_plugins(plugins.METHODS, METHODS)]


def list_methods(domain: Domain) -> list[str]:
    """List the registered methods that can search a domain, in order, without methods whose package is missing.

    domain: any domain.
    """
    found = []
    for name, build in METHODS.items():
        with suppress(DomainError, MissingExtra):
            build(domain)
            found.append(name)
    return found


def list_interpretable(domain: Domain, history: HistoryView) -> list[str]:
    """List the registered methods that can search a domain and have a model with hyperparameters.

    history: the trials to learn models from, at least one of them completed.
    """
    found = []
    for name in list_methods(domain):
        searcher, rng = METHODS[name](domain), np.random.default_rng(0)
        with suppress(BostructError, NumericalError):  # not every method models several objectives or constraints
            if any(searcher.sample_hyperparameters(history, searcher.initial_state(), rng)):
                found.append(name)
    return found


def find_method(name: str) -> Callable[..., Searcher]:
    """Return the function that builds a method.

    Parameters
    ----------
    name : str
        One of `list_names()`, or ``module:name`` of your own function, imported from the current directory or sys.path.

    Returns
    -------
    callable
        Takes a domain and returns a searcher.

    Raises
    ------
    ValueError
        If the name is unknown, or a module or plug-in cannot be loaded or has no such function.
    """
    if name in METHODS:
        return METHODS[name]
    if plugins.is_reference(name):
        return _check_method_builder(name, plugins.import_reference("method", name))
    installed = plugins.list_plugins(plugins.METHODS)
    if name in installed:
        return _check_method_builder(name, plugins.load_plugin("method", installed[name]))
    if name == "bayesian":
        raise ValueError("method: use auto, or a searcher, bostruct.methods.bayesian(space); got 'bayesian'")
    known = sorted({*METHODS, *plugins.list_loadable(plugins.METHODS)} - {"auto"})  # sorted for the message
    check_choice("method", name, ("auto", *known))
    raise AssertionError("check_choice rejects every other name")


def _check_method_builder(name: str, found: Any) -> Callable[..., Searcher]:
    """Return a builder from another package, wrapped so that its errors name the method."""
    if not callable(found) or isinstance(found, Searcher):
        raise ValueError(
            f"method: {name}: expected a function from a domain to a searcher, as the entries of "
            f"bostruct.methods.METHODS are, got {short_repr(found)}"
        )

    def build(domain: Domain) -> Searcher:
        try:
            return cast(Searcher, found(domain))
        except DomainError:
            raise
        except Exception as error:
            raise ValueError(f"method: {name}: building it failed: {plugins.explain(error)}") from error

    build.__doc__ = found.__doc__
    return build


def register_method(name: str, build: Callable[[Domain], Searcher]) -> None:
    """Register a method under a name for the rest of the program.

    ``minimize(..., method=name)`` and every other call that takes the name of a method can then use it. Its studies can
    be loaded without `method=`.

    Parameters
    ----------
    name : str
        A non-empty string that no method has.
    build : callable
        Takes a domain and returns a searcher; raises DomainError if the method cannot search the domain. Registering
        the same function again has no effect.

    Raises
    ------
    TypeError
        If an argument is invalid.
    ValueError
        If the name is taken.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"name: expected a non-empty string, got {short_repr(name)}")
    if not callable(build):
        raise TypeError(f"build: expected a function from a domain to a searcher, got {short_repr(build)}")
    if METHODS.setdefault(name, build) != build:
        raise ValueError(
            f"name: expected one that is not taken, got {name!r}, which {short_repr(METHODS[name])} builds"
        )


def searcher(method: str | Searcher, domain: Domain) -> Searcher:
    """Return a searcher, built from the name of a method if necessary.

    Parameters
    ----------
    method : str or Searcher
        A name that `find_method` accepts, or a searcher.
    domain : Domain
        The domain to search. Unused if a searcher is given.

    Raises
    ------
    ValueError
        If the name is unknown, or your own part cannot be imported or fails.
    TypeError
        If `method` is neither.
    DomainError
        If the method cannot search the domain.
    """
    if isinstance(method, str):
        build = find_method(method)
        try:
            built = build(check_part("domain", domain, Domain))
        except DomainError as error:
            if isinstance(error, PredicateError):
                raise
            *others, last = list_methods(domain) or ["no method of the package"]
            able = f"{', '.join(others)} and {last}" if others else last
            raise DomainError(f"{error}; {able} can search {domain.label_in_messages}") from error
        return check_part(f"method: the result of {method!r}", built, Searcher)
    hint = "; call it with the space first" if callable(method) else ""
    return check_part("method", method, Searcher, also="a name or ", hint=hint)


__all__ = [
    "METHODS",
    "annealing",
    "auto",
    "bayesian",
    "bocs",
    "combo",
    "default_kernel",
    "evolution",
    "find_method",
    "for_programs",
    "for_space",
    "hill_climbing",
    "hyperband",
    "list_names",
    "map_surrogate",
    "marginalized_surrogate",
    "mcts",
    "model_based_hyperband",
    "nasbot",
    "published_nasbot",
    "random",
    "register_method",
    "regularized_evolution",
    "searcher",
    "smac",
    "smbo",
    "smbo_mcts",
    "successive_halving",
    "successive_narrowing",
    "tpe",
    "wrs",
    "wrs_trials",
]
