"""Refusals of domains that a method cannot search."""

from __future__ import annotations

from typing import TypeVar

from bostruct.checks import describe_need, has_capability, missing_members, require
from bostruct.contracts import (
    Domain,
    DomainError,
    HasChoices,
    HasMutation,
    HasNamedDecisions,
    HasParts,
    HasTokens,
    HasVariables,
)
from bostruct.domains.joint import Joint
from bostruct.domains.mixed import MixedSpace
from bostruct.domains.space.choices import number_grid
from bostruct.domains.space.variable import Variable

Capability = TypeVar("Capability")
WITH_CONDITIONS = ("auto", "smac", "tpe", "evolution", "hill-climbing", "annealing", "wrs", "random")


def domain_label(domain: Domain) -> str:
    """Name a domain as messages do.

    domain: any.
    """
    if isinstance(domain, MixedSpace):
        return "a Space with another domain inside"
    return "a joint domain" if isinstance(domain, Joint) else type(domain).__name__


def list_methods(domain: Domain) -> list[str]:
    """List methods for which a domain has what they need, the default one first; of numbers only `smbo` is asked.

    domain: any.
    """
    by_capability = (
        (HasMutation, ("annealing", "evolution", "regularized-evolution", "hill-climbing")),
        (HasChoices, ("smac", "wrs")),
        (HasNamedDecisions, ("tpe",)),
    )
    names = [name for capability, held in by_capability if has_capability(domain, capability) for name in held]
    if has_capability(domain, HasTokens) and _find_number(domain) is None:
        names.append("smbo")
    return ["auto", *names, "random"]


def require_of_parts(domain: Domain, capability: type[Capability], method: str) -> Capability:
    """Return a domain that has a capability; raise DomainError for any other, naming the part that lacks it.

    domain: any; one of parts has neighbors, named choices and decisions where all of these have them.
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
    """Return the parts of a domain, and theirs, by name; none of a domain without."""
    if not has_capability(domain, HasParts):
        return []
    return [
        found for name, part in domain.parts.items() for found in (_parts_of(part) or [(name or "variables", part)])
    ]


def refuse_numbers(method: str, domain: Domain) -> None:
    """Raise DomainError, naming the variable, where a space has a `Real`, or integers that are not listed.

    method: name of one that cannot search such variables, for the message.
    domain: any; only variables, those of a `Space` and of parts, are looked at.
    """
    if (found := _find_number(domain)) is not None:
        name, one = found
        which = " of more than 1000 values, or with log=True" if one.kind == "Integer" else ""
        raise DomainError(
            f"method: {method} cannot search the {one.kind} variable {name!r}{which}; auto, annealing, evolution, "
            "hill-climbing and random can, among named choices also smac, tpe and wrs; or give it as an Ordinal of "
            "numbers"
        )


def _find_number(domain: Domain) -> tuple[str, Variable] | None:
    """Return the first variable whose numbers are not listed, of a domain or its parts, and its name; None for none."""
    for part in domain.parts.values() if has_capability(domain, HasParts) else ():
        if (found := _find_number(part)) is not None:
            return found
    variables = domain.variables if has_capability(domain, HasVariables) else {}
    return next(((name, one) for name, one in variables.items() if number_grid(one) is not None), None)


def refuse_conditions(method: str, domain: Domain) -> None:
    """Raise DomainError, naming the variable, where a space has a variable with `when=`.

    method: name of one that cannot search such spaces, for the message.
    domain: any; only variables, such as those of a `Space`, are looked at.
    """
    variables = domain.variables if has_capability(domain, HasVariables) else {}
    named = [name for name, one in variables.items() if one.when]
    if named:
        *others, last = (name for name in WITH_CONDITIONS if name in list_methods(domain))
        raise DomainError(
            f"method: {method} cannot search spaces with conditions, and {named[0]!r} has when=; {', '.join(others)} "
            f"and {last} can"
        )
