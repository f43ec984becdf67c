"""Domains that a method has no place for."""

from __future__ import annotations

from typing import Any

from bostruct.contracts import DomainError
from bostruct.domains.joint import Joint
from bostruct.domains.space import Space


def kind_of(domain: Any) -> str:
    """What a message calls a domain."""
    return "a joint domain" if isinstance(domain, Joint) else type(domain).__name__


def refuse_real(method: str, domain: Any) -> None:
    """Raise DomainError, naming the variable, where a method has no place for a `Real`."""
    reals = [name for name, v in domain.variables.items() if v.kind == "Real"] if isinstance(domain, Space) else []
    if reals:
        raise DomainError(
            f"method: {method} cannot search the Real variable {reals[0]!r}; annealing, evolution and random can, "
            "where it is in a Space alone also wrs, tpe, smac and hill-climbing; or give it as an Ordinal of numbers"
        )
