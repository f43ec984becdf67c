"""Define an error type for each thing that can be wrong with a search space."""

from __future__ import annotations

from bostruct.contracts import BostructError, DomainError, PointError


class LanguageError(DomainError):
    """A search space is written wrongly; the message names what is involved."""


class AlreadyConnected(LanguageError):
    """An input that has its one incoming edge, or must not have one, was connected."""


class ForeignPort(LanguageError):
    """An edge would leave the function that builds this part of the space, to what no part around it has declared."""


class ForeignHyperparameter(LanguageError):
    """A module uses a hyperparameter that was made in a part of the space that does not enclose it."""


class CycleError(LanguageError):
    """Modules feed each other in a circle."""


class DanglingInput(LanguageError):
    """An input is neither connected nor among those returned."""


class DanglingModule(LanguageError):
    """Nothing that a module computes reaches an output."""


class NameClash(LanguageError):
    """Two things of one place have one name."""


class PortNames(LanguageError):
    """A part of the space does not have the inputs or outputs that it must have."""


class SubstitutionError(LanguageError):
    """A function of the user raised while it built a part of the space."""


class TooDeep(LanguageError):
    """Substitutions nest without end, or more deeply than the space allows."""


class TraceError(PointError):
    """A trace does not fit its space: a key is unknown or missing, or a value is not allowed."""


class CompileError(LanguageError):
    """A program cannot become what was asked for; the message names the module."""


class NoneFeasible(BostructError):
    """No feasible program was met in as many tries as allowed."""
