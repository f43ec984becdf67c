"""The kinds of variables, one line each. A new kind is a class in its own file, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bostruct.checks import check_part, short_repr
from bostruct.contracts import Domain, DomainError, ParsedJson, PointError, WrongPart
from bostruct.domains.space.candidates import Candidates
from bostruct.domains.space.choices import to_python
from bostruct.domains.space.clauses import when_from_json
from bostruct.domains.space.discrete import Binary, Categorical, Fidelity, Graph, Ordinal
from bostruct.domains.space.mixture import Allocation, Mixture
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.sequence import Sequence
from bostruct.domains.space.subset import Subset
from bostruct.domains.space.variable import Variable

KINDS: dict[str, type[Variable]] = {
    "Binary": Binary,
    "Categorical": Categorical,
    "Ordinal": Ordinal,
    "Integer": Integer,
    "Real": Real,
    "Fidelity": Fidelity,
    "Graph": Graph,
    "Permutation": Permutation,
    "Subset": Subset,
    "Sequence": Sequence,
    "Candidates": Candidates,
    "Mixture": Mixture,
    "Allocation": Allocation,
}


EXPECTED = (
    "Binary(), Categorical(...), Ordinal(...), Integer(low, high), Real(low, high), Graph(...), Permutation(...), "
    "Subset(...), Sequence(...), Candidates(...), Mixture(...), Allocation(...), Fidelity(...), the shorthand bool, "
    "a list, a range or an array of ascending numbers, another domain, a dict, which represents a space, or "
)


def variable(name: str, given: object) -> Variable:
    """Return a variable unchanged, or read its shorthand: bool, a range, an array of numbers, a list or a tuple.

    Raises DomainError.
    """
    if isinstance(given, Variable):
        return given
    if given is bool:
        return Binary()
    if isinstance(given, list | tuple) and any(isinstance(v, Variable | Domain) for v in given):
        raise DomainError(
            f"{name}: expected choices that are values, got a list with a variable or a domain. To choose between "
            "domains, give each its own name, and add a choice that tells the objective which one to use"
        )
    pair = tuple(given.tolist()) if isinstance(given, np.ndarray) and given.ndim == 1 else given
    if isinstance(pair, tuple) and len(pair) == 2 and all(type(to_python(v)) in (int, float) for v in pair):
        between = "numbers" if any(isinstance(v, float) for v in pair) else "integers"
        kind = "Real" if between == "numbers" else "Integer"
        raise DomainError(
            f"{name}: {pair} might be bounds or two choices; expected {kind}{pair} for all {between} between, or "
            f"the list {list(pair)} for the two"
        )
    try:
        if isinstance(given, range) or (isinstance(given, np.ndarray) and _is_monotone(given)):
            return Ordinal(given)
        if isinstance(given, list | tuple):
            return Categorical(given)
    except DomainError as error:
        raise DomainError(f"{name}: {error}") from None
    if given is float or given is int:
        kind = "Real" if given is float else "Integer"
        raise WrongPart(f"{name}: expected bounds: use bostruct.{kind}(low, high), got the class {given.__name__}")
    if isinstance(given, np.ndarray):
        raise WrongPart(f"{name}: expected a list, or a 1-d array of ascending numbers, got {short_repr(given)}")
    return check_part(name, given, Variable, also=EXPECTED, error=WrongPart)


def is_part(given: object) -> bool:
    """Return whether a value of a space is another domain, or a dict that represents a space."""
    return isinstance(given, Mapping | Domain)


def _is_monotone(values: np.ndarray[Any, Any]) -> bool:
    """Return whether numbers ascend or descend, so that their order has a meaning."""
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        return False
    return bool((values[1:] > values[:-1]).all() or (values[1:] < values[:-1]).all())


def variable_from_json(name: str, data: ParsedJson) -> Variable:
    """Rebuild a variable from its description.

    Raises DomainError if that needs code or objects that files do not store, ValueError if a member is missing.
    """
    kind = data.get("kind")
    if kind not in KINDS:
        raise DomainError(
            f"{name}: expected a kind of {', '.join(KINDS)}, got {short_repr(kind)}; "
            "bostruct.register_variable adds your own kinds"
        )
    try:
        found = KINDS[kind].from_json(data)
        if "when" in data:
            found.when = when_from_json(data["when"])
        if "default" in data:
            found.default_columns = tuple(found.decode(data["default"]))
        return found
    except KeyError as error:
        raise ValueError(f"{name}: expected what to_json of a {kind} returned, got it without {error}") from error
    except PointError as error:
        raise DomainError(f"{name}: default: {error}") from None
    except DomainError as error:
        raise DomainError(f"{name}: {error}") from None
