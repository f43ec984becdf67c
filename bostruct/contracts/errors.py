"""The errors that the package raises on purpose."""

from __future__ import annotations


class BostructError(Exception):
    """The base of every error that this package raises on purpose."""


class PointError(BostructError, ValueError):
    """An error that says that a point does not belong to its domain."""


class DomainError(BostructError, ValueError):
    """An error that says that a domain cannot be built, or cannot be used so."""


class WrongPart(DomainError, TypeError):
    """An error that says that a part of a domain inherits from no base of such parts."""


class PredicateError(DomainError):
    """An error that says that a constraint, or a condition of a variable, itself fails at a point."""


class NotWanted(BostructError):
    """An error that says that as many trials as were wanted are finished or being evaluated; none was asked for."""


class SpaceExhausted(BostructError):
    """An error that says that no unseen point of the domain is left, or that none was found."""


class Infeasible(BostructError):
    """An error that you raise to say that a point is infeasible.

    Raise it in an objective for a point that breaks a constraint which only evaluation reveals, or in a function that
    builds a part of a search space where the choices taken lead nowhere.
    """


class Transient(BostructError):
    """An error that you raise in an objective to say that an evaluation failed for no fault of its point.

    The trial is handed out again, such as after a network that was down; at most twice, then it fails.
    """


class NumericalError(BostructError, ArithmeticError):
    """An error that says that a matrix is not positive definite, whatever jitter the ladder allows."""


class MissingExtra(BostructError, ImportError):
    """A package that only some parts need is not installed; the message says how to get it."""
