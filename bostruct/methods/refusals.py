"""Refusals of domains that a method cannot search."""

from __future__ import annotations

from typing import Any

import numpy as np

from bostruct.contracts import DomainError
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.joint import Joint
from bostruct.domains.language.space import SearchSpace
from bostruct.domains.space.space import Space


def domain_label(domain: Any) -> str:
    """Name a domain as messages do.

    domain: any.
    """
    return "a joint domain" if isinstance(domain, Joint) else type(domain).__name__


def refuse_real(method: str, domain: Any) -> None:
    """Raise DomainError, naming the variable, where a space has a `Real`.

    method: name of one that cannot search such variables, for the message.
    domain: any; only a `Space` is looked at.
    """
    reals = [name for name, v in domain.variables.items() if v.kind == "Real"] if isinstance(domain, Space) else []
    if reals:
        raise DomainError(
            f"method: {method} cannot search the Real variable {reals[0]!r}; annealing, evolution and random can, "
            "where it is in a Space alone also wrs, tpe, smac and hill-climbing; or give it as an Ordinal of numbers"
        )


def refuse_without_kernel(domain: Any, name: str = "") -> None:
    """Raise DomainError, naming the class, for a domain of the user's own, or for such a part of a joint domain.

    domain: the domain of a study.
    name: of the part that the domain is; empty where it is the whole.
    """
    if isinstance(domain, Joint):
        for own, part in zip(domain.names, domain.domains, strict=True):
            refuse_without_kernel(part, own)
    elif not isinstance(domain, Space | SearchSpace) and not _has_architectures(domain):
        where = f" (the part {name!r})" if name else ""
        without = [*(["evolution", "annealing"] if callable(getattr(domain, "mutate", None)) else []), "random"]
        raise DomainError(
            f"method: auto has no kernel for the points of {type(domain).__name__}{where}; choose a method without a "
            f"model ({', '.join(without)}), or assemble a searcher with a kernel of your own, as "
            "bostruct.methods.for_programs does"
        )


def _has_architectures(domain: Any) -> bool:
    drawn = domain.sample(1, np.random.default_rng(0)) if callable(getattr(domain, "sample", None)) else [None]
    return all(isinstance(x, Architecture) for x in drawn)
