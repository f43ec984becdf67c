"""Define one exception class for each kind of invalid search space."""

from __future__ import annotations

from bostruct.contracts import BostructError, DomainError, PointError


class LanguageError(DomainError):
    """Raised if a search space is not valid; the message names the parts involved."""


class AlreadyConnected(LanguageError):
    """Raised if an input is connected that is already connected or must not be."""


class ForeignPort(LanguageError):
    """Raised if an edge leaves its part of the space to an output that no enclosing part has declared."""


class ForeignHyperparameter(LanguageError):
    """Raised if a module uses a hyperparameter from a part of the space that does not enclose it."""


class CycleError(LanguageError):
    """Raised if modules feed each other in a cycle."""


class DanglingInput(LanguageError):
    """Raised if an input is neither connected nor returned."""


class DanglingModule(LanguageError):
    """Raised if no output depends on a module."""


class NameClash(LanguageError):
    """Raised if two objects of one part have the same name."""


class PortNames(LanguageError):
    """Raised if a part of the space lacks inputs or outputs that it must have, or a named port."""


class SubstitutionError(LanguageError):
    """Raised if a user's function fails while building a part of the space."""


class TooDeep(LanguageError):
    """Raised if substitutions nest without end, or more deeply than the space allows."""


class TraceError(PointError):
    """Raised if a trace does not fit its space: a key is unknown or missing, or a value is not allowed."""


class CompileError(LanguageError):
    """Raised if a program cannot be compiled; the message names the module."""


class NoneFeasible(BostructError):
    """Raised if no feasible program was found within the tries allowed."""
