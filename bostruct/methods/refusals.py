"""Refusals of domains that a method cannot search."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bostruct.checks import Trait, require
from bostruct.contracts import ChoiceDomain, Domain, DomainError, DomainTraits, TreeDomain
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable

MOST_NAMED = 5  # variables in a message


def require_space(domain: Domain, method: str) -> Space:
    """Return a space of variables; raise DomainError, which names the method, for any other domain."""
    if not isinstance(domain, Space):
        raise DomainError(f"method: {method} needs a Space, got {domain.label_in_messages}")
    return domain


def require_choices(domain: Domain, method: str) -> ChoiceDomain:
    """Return a domain of named choices; raise DomainError for any other domain, naming the part without choices."""
    return _require_of_parts(domain, lambda traits: traits.choices, ChoiceDomain, method)


def require_tree(domain: Domain, method: str) -> TreeDomain:
    """Return a domain of decisions; raise DomainError for any other domain, naming the part without decisions."""
    return _require_of_parts(domain, lambda traits: traits.tree, TreeDomain, method)


def _require_of_parts(
    domain: Domain, find: Callable[[DomainTraits], Trait | None], base: type[Trait], method: str
) -> Trait:
    for name, part in _nested_parts(domain):
        require(find(part.traits), part, base, method, f" as the part {name!r}")
    return require(find(domain.traits), domain, base, method)


def _nested_parts(domain: Domain) -> list[tuple[str, Domain]]:
    """Return the parts of a domain that have no parts themselves, by name; an empty list if it has no parts."""
    parts = domain.parts.items()
    return [found for name, part in parts for found in (_nested_parts(part) or [(name or "variables", part)])]


def refuse_numbers(method: str, domain: Domain) -> None:
    """Raise DomainError, naming the variables, if a space has a `Real`, or an `Integer` that is not listed."""
    variables = _list_variables(domain)
    if numbers := {name: one for name, one in variables.items() if one.grid is not None}:
        which = "it is" if len(numbers) == 1 else "each is"
        raise DomainError(
            f"method: {method} cannot search {_show_variables(numbers)}, unless {which} given as an Ordinal of numbers"
        )


def refuse_structures_beside_numbers(method: str, domain: Domain) -> None:
    """Raise DomainError, naming the variables, if a space has both structures and numbers that are not listed."""
    variables = _list_variables(domain)
    numbers = [name for name, one in variables.items() if one.grid is not None]
    if numbers and not all(map(_is_single, variables.values())):
        found = {name: one for name, one in variables.items() if name in numbers or not _is_single(one)}
        raise DomainError(f"method: {method} cannot search {_show_variables(found)}")


def _is_single(variable: Variable) -> bool:
    return variable.width == 1


def _show_variables(variables: Mapping[str, Variable]) -> str:
    """Return the names and kinds of variables in words; only the first of many variables are named."""
    named = [
        f"the {one.kind} variable {name!r}"
        + (" of more than 1000 values, or with log=True" if one.grid is not None and not one.is_real else "")
        for name, one in variables.items()
    ]
    if len(named) > MOST_NAMED:
        named = [*named[: MOST_NAMED - 1], f"{len(named) - MOST_NAMED + 1} more"]
    *others, last = named
    return f"{', '.join(others)} and {last}" if others else last


def _list_variables(domain: Domain) -> dict[str, Variable]:
    """Return the variables of a domain and of its parts by name; the name of a part and a dot precede the name."""
    found = dict(domain.variables)
    for part, inner in domain.parts.items():
        for name, variable in _list_variables(inner).items():
            found[f"{part}.{name}" if part else name] = variable
    return found


def refuse_conditions(method: str, domain: Domain) -> None:
    """Raise DomainError, naming the variable, if a space has a variable with `when=`."""
    named = [name for name, one in domain.variables.items() if one.when]
    if named:
        raise DomainError(f"method: {method} cannot search spaces with conditions, and {named[0]!r} has when=")
