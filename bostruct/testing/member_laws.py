"""The laws of what a domain has: all members of the contract, whole capabilities, an honest equality."""

from __future__ import annotations

from typing import Any

from bostruct import contracts
from bostruct.checks import members_of, missing_members
from bostruct.contracts import Domain

CAPABILITIES = tuple(
    one for name, one in vars(contracts).items() if name.startswith("Has") and Domain in getattr(one, "__mro__", ())
)


def check_members(domain: Any) -> None:
    """Check that a domain has the whole contract, and all members or none of each capability.

    domain: any.

    A domain with a part of a capability counts as one without it, so that methods would search it by lesser means. A
    field is no part where the capability has a method: it may be called ``names``.
    """
    who = type(domain).__name__
    missing = missing_members(domain, Domain)
    assert not missing, f"a domain has all members of contracts.Domain: {who} lacks {', '.join(missing)}"
    for capability in CAPABILITIES:
        missing = missing_members(domain, capability)
        present = [name for name in members_of(capability) if name not in missing]
        had = [name for name in present if _is_field(capability, name) or _is_method(domain, name)]
        assert not had or not missing, (
            f"a domain has all members of a capability or none: for contracts.{capability.__name__}, {who} has "
            f"{', '.join(had)} and lacks {', '.join(missing)}; methods would not use it"
        )


def check_equality(domain: Any) -> None:
    """Check that a domain is equal to itself, and to nothing that is no such domain.

    domain: any.
    """
    who = type(domain).__name__
    assert domain == domain, f"a domain equals itself: {who}.__eq__ says no"
    for other in (object(), None, domain.to_json()):
        assert domain != other, f"a domain equals no other thing: {who}.__eq__ says that it equals {other!r}"


def _is_field(capability: type, name: str) -> bool:
    return isinstance(vars(capability).get(name), property)


def _is_method(domain: Any, name: str) -> bool:
    """Tell whether a member can be called, without evaluating a property."""
    member = getattr(type(domain), name, None)
    return not isinstance(member, property) and callable(getattr(domain, name) if member is None else member)
