"""Domains that can be rebuilt from their JSON description."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from bostruct.checks import short_repr
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
        raise DomainError("the space has predicates, whose code no file holds")
    parts = {name: as_part(name, domain_from_json(part)) for name, part in data["parts"].items()}
    return MixedSpace(tuple(parts), tuple(parts.values()), tuple(data["order"]))


def _refuse_language(data: ParsedJson) -> NoReturn:
    raise DomainError(f"the search space {data['builder']} is a function, which no file holds; pass it (space=...)")


BUILDERS: dict[str, Callable[[ParsedJson], Domain]] = {
    "space": Space.from_json,
    "architecture": ArchitectureDomain.from_json,
    "joint": _joint_from_json,
    "mixed": _mixed_from_json,
    "table": TableDomain.from_json,
    "language": _refuse_language,
}


def register_domain(kind: str, builder: Callable[[ParsedJson], Domain]) -> None:
    """Make a study over a domain of your own loadable from its file alone, in a program that calls this first.

    kind: the name under which ``to_json()["domain"]`` of your domain goes.
    builder: description -> an equal domain, where description is what `to_json` returned; raises DomainError where that
        does not hold enough. To register the same function again changes nothing.

    Raises TypeError, and ValueError for a kind that another function builds.
    """
    if not isinstance(kind, str) or not kind:
        raise TypeError(f"kind: expected a non-empty string, got {short_repr(kind)}")
    if not callable(builder):
        raise TypeError(f"builder: expected a function from a description to a domain, got {short_repr(builder)}")
    if BUILDERS.setdefault(kind, builder) != builder:
        raise ValueError(
            f"kind: expected one that is not taken, got {kind!r}, which {short_repr(BUILDERS[kind])} builds"
        )


def domain_from_json(data: ParsedJson) -> Domain:
    """Rebuild a domain from its description; raises DomainError where the file does not hold enough.

    data: dict that `to_json` of a domain returned.
    """
    kind = data.get("domain")
    if kind not in BUILDERS:
        raise DomainError(
            f"domain: expected one of {', '.join(BUILDERS)}; the description says {kind!r}; "
            "bostruct.register_domain adds a domain of your own"
        )
    return BUILDERS[kind](data)
