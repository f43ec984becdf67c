"""Domains that can be rebuilt from their JSON description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from bostruct.contracts import DomainError, Json
from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.domains.architecture.table import TableDomain
from bostruct.domains.joint import Joint, joint_domain
from bostruct.domains.space.space import Space


def _joint_from_json(data: Json) -> Joint:
    return joint_domain({name: domain_from_json(part) for name, part in data["parts"].items()})


def _refuse_language(data: Json) -> NoReturn:
    raise DomainError(f"the search space {data['builder']} is a function, which no file holds; pass it (space=...)")


BUILDERS: dict[str, Callable[[Json], Any]] = {
    "space": Space.from_json,
    "architecture": ArchitectureDomain.from_json,
    "joint": _joint_from_json,
    "table": TableDomain.from_json,
    "language": _refuse_language,
}


def domain_from_json(data: Json) -> Any:
    """Rebuild a domain from its description; raises DomainError where the file does not hold enough.

    data: dict that `to_json` of a domain returned.
    """
    kind = data.get("domain")
    if kind not in BUILDERS:
        raise DomainError(f"domain: expected one of {', '.join(BUILDERS)}; the description says {kind!r}")
    return BUILDERS[kind](data)
