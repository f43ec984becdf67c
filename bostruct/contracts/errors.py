"""The errors that the package raises on purpose."""

from __future__ import annotations


class BostructError(Exception):
    """The base of every error that this package raises on purpose."""


class PointError(BostructError, ValueError):
    """Raised if a point does not belong to its domain."""


class DomainError(BostructError, ValueError):
    """Raised if a domain cannot be built, or does not allow a use."""


class WrongPart(DomainError, TypeError):
    """Raised if a part inherits from none of the base classes for such parts."""


class PredicateError(DomainError):
    """Raised if a constraint or a condition itself fails at a point."""


class NotWanted(BostructError):
    """Raised by `ask` if the requested number of trials is finished or running."""


class SpaceExhausted(BostructError):
    """Raised if no unseen point of the domain is left, or none was found."""


class Infeasible(BostructError):
    """Raise it in an objective to declare a point infeasible.

    Raise it in an objective for a point that breaks a constraint which only evaluation reveals, or in a function that
    builds a part of a search space if the choices made so far lead nowhere.
    """


class Transient(BostructError):
    """Raise it in an objective if an evaluation failed for reasons unrelated to its point, such as a network error.

    The trial is evaluated again, at most twice; then it fails.
    """


class NumericalError(BostructError, ArithmeticError):
    """Raised if a matrix is not positive definite with the largest jitter allowed."""


class MissingExtra(BostructError, ImportError):
    """Raised if an optional package is not installed; the message names the extra to install."""
