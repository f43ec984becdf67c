"""The laws of what a domain has: its base, an honest equality, and overrides that agree with the defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Batch, ChoiceDomain, Domain, LocalDomain
from bostruct.testing.batch_laws import forms_of, keys_of
from bostruct.testing.change_laws import lists_some

MOST = 300  # neighbors of a point that are compared


def check_members(domain: object) -> None:
    """Check that a domain is a subclass of the base, which says what it has to have.

    domain: anything.
    """
    who = type(domain).__name__
    assert isinstance(domain, Domain), f"a domain is a subclass of bostruct.contracts.Domain: {who} is none"


def check_equality(domain: Any) -> None:
    """Check that a domain is equal to itself, and to nothing that is no such domain.

    domain: any.
    """
    who = type(domain).__name__
    assert domain == domain, f"a domain equals itself: {who}.__eq__ says no"
    for other in (object(), None, domain.to_json()):
        assert domain != other, f"a domain equals no other thing: {who}.__eq__ says that it equals {other!r}"


def check_defaults(domain: Any, xs: Batch, rng: np.random.Generator) -> None:
    """Check that what a domain overrides agrees with the default of the base, which is slow but right.

    domain: any.
    xs: some of its points.
    rng: seeds both.
    """
    seed = int(rng.integers(2**31))
    for base, name, call in DEFAULTS:
        if isinstance(domain, base) and getattr(type(domain), name) is not getattr(base, name):
            own, default = (
                call(domain, getattr(cls, name), xs, np.random.default_rng(seed)) for cls in (type(domain), base)
            )
            assert own == default, (
                f"{type(domain).__name__}.{name} agrees with the default of {base.__name__}: expected "
                f"{short_repr(default)}, got {short_repr(own)}"
            )


# The base of a default, its name, and what is compared: domain, method, points, generator -> something comparable.
DEFAULTS: tuple[tuple[type[Domain], str, Callable[..., object]], ...] = (
    (Domain, "keys", lambda domain, keys, xs, _: keys(domain, xs)),
    (Domain, "take", lambda domain, take, xs, _: keys_of(domain, take(domain, xs, [len(xs) - 1, 0]))),
    (Domain, "join", lambda domain, join, xs, _: keys_of(domain, join(domain, xs, xs[:1]))),
    (Domain, "sample_candidates", lambda domain, sample, xs, rng: len(sample(domain, 1, xs, rng))),
    (ChoiceDomain, "names", lambda domain, names, xs, _: [list(names(domain, x)) for x in xs if domain.traits.choices]),
    (LocalDomain, "sample_neighbors", lambda domain, sample, xs, rng: _sample_all(domain, sample, xs, rng)),
    (LocalDomain, "sample_neighborhoods", lambda domain, sample, xs, rng: _sample_each(domain, sample, xs, rng)),
)


def _sample_all(domain: Any, sample: Callable[..., Batch], xs: Batch, rng: np.random.Generator) -> list[set[Any]]:
    """Return the forms of all neighbors of each point that lists them; of others nothing."""
    if domain.traits.local is None:
        return []
    few = [x for x in xs if len(domain.neighbors(x)) < MOST and not lists_some(domain, x)]
    return [set(forms_of(domain, sample(domain, x, MOST, rng))) for x in few]


def _sample_each(domain: Any, sample: Callable[..., Any], xs: Batch, rng: np.random.Generator) -> list[set[Any]]:
    """Return the forms of all neighbors of each point, by its position, from one batch."""
    if domain.traits.local is None:
        return []
    few = domain.join([x for x in xs if len(domain.sample_neighbors(x, MOST, np.random.default_rng(0))) < MOST])
    near, of = sample(domain, few, MOST, rng)
    forms = forms_of(domain, near)
    return [{form for form, position in zip(forms, of, strict=True) if position == i} for i in range(len(few))]
