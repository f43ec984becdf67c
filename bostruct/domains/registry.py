"""Domains that can be rebuilt from their JSON description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

from bostruct import plugins
from bostruct.checks import check_part, short_repr
from bostruct.contracts import Domain, DomainError, ParsedJson
from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.domains.architecture.table import TableDomain
from bostruct.domains.joint import Joint, as_part, joint_domain
from bostruct.domains.mixed import MixedSpace
from bostruct.domains.space.space import Space


def _joint_from_json(data: ParsedJson) -> Joint:
    return joint_domain({name: domain_from_json(part) for name, part in data["parts"].items()})


def _mixed_from_json(data: ParsedJson) -> MixedSpace:
    if data["constraints"] or data["tests"]:
        raise DomainError("the space has predicates, whose code cannot be stored")
    parts = {name: as_part(name, domain_from_json(part)) for name, part in data["parts"].items()}
    return MixedSpace(tuple(parts), tuple(parts.values()), tuple(data["order"]))


def _refuse_language(data: ParsedJson) -> NoReturn:
    raise DomainError(f"the search space {data['builder']} is a function, which cannot be stored")


BUILDERS: dict[str, Callable[[ParsedJson], Domain]] = {
    "space": Space.from_json,
    "architecture": ArchitectureDomain.from_json,
    "joint": _joint_from_json,
    "mixed": _mixed_from_json,
    "table": TableDomain.from_json,
    "language": _refuse_language,
}


def register_domain(kind: str, builder: Callable[[ParsedJson], Domain]) -> None:
    """Register a domain class, so that stored studies over it can be loaded from their file alone.

    Parameters
    ----------
    kind : str
        The value of ``to_json()["domain"]`` of your domain.
    builder : callable
        Takes the result of `to_json` and returns an equal domain. Raises DomainError if information is missing,
        ValueError if it is malformed. Registering the same function again has no effect.

    Raises
    ------
    TypeError
        If an argument is invalid.
    ValueError
        If another function is registered for the kind.
    """
    if not isinstance(kind, str) or not kind:
        raise TypeError(f"kind: expected a non-empty string, got {short_repr(kind)}")
    if not callable(builder):
        raise TypeError(f"builder: expected a function from a description to a domain, got {short_repr(builder)}")
    if BUILDERS.setdefault(kind, builder) != builder:
        raise ValueError(
            f"kind: expected one that is not taken, got {kind!r}, which {short_repr(BUILDERS[kind])} builds"
        )


def as_domain(given: object) -> Domain:
    """Return a domain unchanged, or the `Space` of a mapping of variables; raises TypeError for anything else."""
    if isinstance(given, Mapping):
        return Space(given)
    return check_part("space", given, Domain, also="a Space, a dict of variables or ")


def domain_from_json(data: ParsedJson) -> Domain:
    """Rebuild a domain from its description.

    Raises DomainError if information is missing, and ValueError or another parsing error if it is malformed.
    """
    kind = data.get("domain")
    if kind in BUILDERS:
        return BUILDERS[kind](data)
    installed = plugins.list_plugins(plugins.DOMAINS)
    if kind not in installed:
        known = ", ".join([*BUILDERS, *plugins.list_loadable(plugins.DOMAINS, BUILDERS)])
        raise DomainError(
            f"domain: expected one of {known}, got {kind!r} in the description; "
            "bostruct.register_domain adds your own domain"
        )
    try:
        builder: Any = plugins.load_plugin("domain", installed[kind])
    except ValueError as error:
        raise DomainError(str(error)) from error
    if not callable(builder):
        raise DomainError(
            f"domain: {plugins.describe_plugin(installed[kind])}: expected a function from a description to a domain, "
            f"got {short_repr(builder)}"
        )
    return cast(Domain, builder(data))
