"""The laws of refusing: what is no point is told from a point, in the user's form, in the domain's and in JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import Any

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Batch, Domain, Point, PointError
from bostruct.testing.batch_laws import keys_of, same
from bostruct.testing.common import read_back

MOST_FORMS = 60  # that one method is shown
FOREIGN = (object(), None)  # parts of no point
FOREIGN_JSON = (None, {"no": "such part"})
NO_POINTS = (object(), None, "no point", -1, 0.5, [], (), {}, [object()], {"no": "such part"})
NO_ENCODED_POINTS = (None, "no point", -1, 0.5, [], {}, {"no": "such part"})
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)  # what `decode` may refuse with


def check_refusals(domain: Domain, xs: Batch, points: Batch | None = None) -> None:
    """Check that `parse` and `check` raise PointError for what is no point, and that no JSON makes an invalid one.

    domain: any.
    xs: some of its points, at least one.
    points: all its points, where known; a form that is accepted makes one of them.

    Shown are things of other types, and the first points with one part replaced, missing or repeated.
    """
    known = None if points is None else set(keys_of(domain, points))
    some = list(xs[:2])
    for form in chain(NO_POINTS, *(_altered(domain.present(x), FOREIGN) for x in some)):
        _check_form(domain, "parse", form, domain.parse, PointError, known)
    for form in chain(NO_POINTS, *(_altered(x, FOREIGN) for x in some)):
        _check_form(domain, "check", form, lambda x: _checked(domain, x), PointError, known)
    for form in chain(NO_ENCODED_POINTS, *(_altered(read_back(domain.encode(x)), FOREIGN_JSON) for x in some)):
        _check_form(domain, "decode", form, lambda data: _checked(domain, domain.decode(data)), MALFORMED, known)


def _check_form(
    domain: Domain,
    method: str,
    form: Any,
    read: Callable[[Any], Point],
    refusal: type[Exception] | tuple[type[Exception], ...],
    known: Set[Any] | None,
) -> None:
    law = f"{type(domain).__name__}.{method} refuses what is no point, {short_repr(form)}"
    if method != "decode":
        law += ", with PointError"
    try:
        x = read(form)
    except refusal:
        return
    except Exception as error:
        raise AssertionError(f"{law}: it raised {type(error).__name__}: {error}") from error
    assert _is_point(domain, x, known), f"{law}: it was accepted, as {short_repr(x)}"


def _checked(domain: Domain, x: Point) -> Point:
    domain.check(x)
    return x


def _is_point(domain: Domain, x: Point, known: Set[Any] | None) -> bool:
    """Tell whether what was accepted is a point: one of those known, or as far as its round trips tell."""
    try:
        domain.check(x)
        if known is not None:
            return domain.key(x) in known
        is_kept = same(domain, domain.decode(read_back(domain.encode(x))), x)
        return is_kept and same(domain, domain.parse(domain.present(x)), x)
    except Exception:  # of whatever kind: a point has none
        return False


def _altered(form: Any, foreign: Sequence[Any]) -> Iterator[Any]:
    """Yield a form with one part replaced, missing or repeated, many parts at most."""
    return islice(_alter(form, foreign), MOST_FORMS)


def _alter(form: Any, foreign: Sequence[Any]) -> Iterator[Any]:
    if isinstance(form, Mapping):
        yield {**form, "no such part": 0}
        for key, part in form.items():
            yield {name: value for name, value in form.items() if name != key}
            yield from ({**form, key: other} for other in _alter(part, foreign))
    elif isinstance(form, list) or type(form) is tuple:
        yield type(form)([*form, *form[:1]])
        for i, part in enumerate(form):
            yield type(form)([*form[:i], *form[i + 1 :]])
            yield from (type(form)([*form[:i], other, *form[i + 1 :]]) for other in _alter(part, foreign))
    elif isinstance(form, np.ndarray) and form.ndim == 1 and form.dtype.kind in "iuf":
        yield form[1:]
        yield from (np.where(np.arange(len(form)) == i, 10**9, form) for i in range(len(form)))
    else:
        yield from foreign
        if isinstance(form, int | float):
            yield 10**9
