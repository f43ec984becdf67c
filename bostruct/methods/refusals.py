"""Refusals of domains that a method cannot search."""

from __future__ import annotations

from bostruct.contracts import Domain, DomainError
from bostruct.domains.joint import Joint
from bostruct.domains.mixed import MixedSpace
from bostruct.domains.space.choices import number_grid
from bostruct.domains.space.space import Space


def domain_label(domain: Domain) -> str:
    """Name a domain as messages do.

    domain: any.
    """
    if isinstance(domain, MixedSpace):
        return "a Space with another domain inside"
    return "a joint domain" if isinstance(domain, Joint) else type(domain).__name__


def refuse_numbers(method: str, domain: Domain) -> None:
    """Raise DomainError, naming the variable, where a space has a `Real`, or integers that are not listed.

    method: name of one that cannot search such variables, for the message.
    domain: any; only a `Space` is looked at.
    """
    variables = domain.variables if isinstance(domain, Space) else {}
    for name, one in variables.items():
        if number_grid(one) is None:
            continue
        which = " of more than 1000 values, or with log=True" if one.kind == "Integer" else ""
        raise DomainError(
            f"method: {method} cannot search the {one.kind} variable {name!r}{which}; auto, annealing, evolution "
            "and random can, where it is in a Space alone also wrs, tpe, smac and hill-climbing; or give it as an "
            "Ordinal of numbers"
        )


def refuse_conditions(method: str, domain: Domain) -> None:
    """Raise DomainError, naming the variable, where a space has a variable with `when=`.

    method: name of one that cannot search such spaces, for the message.
    domain: any; only a `Space` is looked at.
    """
    named = [name for name, v in domain.variables.items() if v.when] if isinstance(domain, Space) else []
    if named:
        raise DomainError(
            f"method: {method} cannot search spaces with conditions, and {named[0]!r} has when=; auto, smac, tpe, "
            "evolution, hill-climbing, annealing, wrs and random can"
        )
