"""Refusals of domains that a method cannot search."""

from __future__ import annotations

from typing import TypeVar

from bostruct.checks import describe_need, has_capability, missing_members, require
from bostruct.contracts import Domain, DomainError, HasChoices, HasMutation, HasNamedDecisions
from bostruct.domains.joint import Joint
from bostruct.domains.mixed import MixedSpace
from bostruct.domains.space.choices import number_grid
from bostruct.domains.space.space import Space

Capability = TypeVar("Capability")


def domain_label(domain: Domain) -> str:
    """Name a domain as messages do.

    domain: any.
    """
    if isinstance(domain, MixedSpace):
        return "a Space with another domain inside"
    return "a joint domain" if isinstance(domain, Joint) else type(domain).__name__


def list_methods(domain: Domain) -> list[str]:
    """List the methods for which a domain has what they need, whatever its variables are; the default one first.

    domain: any.
    """
    by_capability = (
        (HasMutation, ("annealing", "evolution", "regularized-evolution", "hill-climbing")),
        (HasChoices, ("smac", "wrs")),
        (HasNamedDecisions, ("tpe",)),
    )
    names = [name for capability, held in by_capability if has_capability(domain, capability) for name in held]
    return ["auto", *names, "random"]


def require_of_parts(domain: Domain, capability: type[Capability], method: str) -> Capability:
    """Return a domain that has a capability; raise DomainError for any other, naming the part that lacks it.

    domain: any; a joint one has neighbors, named choices and decisions where all its parts have them.
    capability: a protocol of `bostruct.contracts`.
    method: that asks.
    """
    for name, part in _parts_of(domain):
        if missing := missing_members(part, capability):
            raise DomainError(
                f"method: {method} needs {describe_need(capability)}, got {type(part).__name__} as the part "
                f"{name!r}, which lacks {', '.join(missing)}"
            )
    return require(domain, capability, method)


def _parts_of(domain: Domain) -> list[tuple[str, Domain]]:
    """Return the parts of a joint domain, and theirs, by name; none of any other domain."""
    if not isinstance(domain, Joint):
        return []
    named = zip(domain.part_names, domain.domains, strict=True)
    return [found for name, part in named for found in (_parts_of(part) or [(name or "variables", part)])]


def refuse_numbers(method: str, domain: Domain) -> None:
    """Raise DomainError, naming the variable, where a space has a `Real`, or integers that are not listed.

    method: name of one that cannot search such variables, for the message.
    domain: any; only a `Space`, and parts that are one, are looked at.
    """
    for part in domain.domains if isinstance(domain, Joint) else ():
        refuse_numbers(method, part)
    variables = domain.variables if isinstance(domain, Space) else {}
    for name, one in variables.items():
        if number_grid(one) is None:
            continue
        which = " of more than 1000 values, or with log=True" if one.kind == "Integer" else ""
        raise DomainError(
            f"method: {method} cannot search the {one.kind} variable {name!r}{which}; auto, annealing, evolution, "
            "hill-climbing and random can, among named choices also smac, tpe and wrs; or give it as an Ordinal of "
            "numbers"
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
