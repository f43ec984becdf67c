"""The laws of a domain and of its capabilities.

`check_domain` checks every law on a few random points. `check_enumeration` adds the laws that can only be checked if
all points of a small domain are known.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import (
    INFINITE,
    AtLeast,
    Batch,
    ChoiceDomain,
    Count,
    DistanceDomain,
    Domain,
    DomainError,
    Exact,
    FeatureDomain,
    LocalDomain,
    Point,
    PointError,
)
from bostruct.domains.registry import domain_from_json
from bostruct.testing import capability_laws as capability
from bostruct.testing import change_laws as change
from bostruct.testing.batch_laws import (
    check_batch,
    check_ownership,
    check_readable_keys,
    forms_of,
    keys_of,
    same,
    unchanged,
)
from bostruct.testing.chance_laws import check_sources, check_uniform, check_unseen, draw_unseen_points
from bostruct.testing.common import assert_close, check_array, is_raised, names_part, read_back

DomainCheck: TypeAlias = Callable[[Any, Batch, np.random.Generator], None]
SHARE_STEP = 1e-13  # smaller differences of shares count as equal
MOST = 300  # maximum number of neighbors of a point that are compared
MOST_LISTED = 10_000  # maximum number of listed points
MOST_FORMS = 60  # maximum number of invalid forms passed to each method
FOREIGN = (object(), None)  # not parts of any point
FOREIGN_JSON = (None, {"no": "such part"})
NO_POINTS = (object(), None, "no point", -1, 0.5, [], (), {}, [object()], {"no": "such part"})
NO_ENCODED = (None, "no point", -1, 0.5, [], {}, {"no": "such part"})
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)  # errors that `decode` may raise


@names_part
def check_domain(domain: Domain, rng: np.random.Generator, m: int = 4, rebuildable: bool = True) -> None:
    """Check every law of a domain and of its capabilities.

    Parameters
    ----------
    domain : Domain
        The domain to test.
    rng : Generator
        Generator of random points.
    m : int, default 4
        Number of random points, at least 2.
    rebuildable : bool, default True
        True if the JSON description is complete and the class is registered. False if `domain_from_json` must reject
        the description, for example because of constraints.

    Raises
    ------
    AssertionError
        If a law is violated; the message states the law.
    """
    check_members(domain)
    xs = domain.sample(m, rng)
    assert len(xs) == m, f"sample(m) returns m points: expected {m}, got {len(xs)}"
    assert len(domain.sample(0, rng)) == 0, "sample(0) returns the empty batch"
    check_points(domain, xs)
    check_keys(domain, xs)
    check_batch(domain, xs, rng)
    check_ownership(domain, xs)
    check_seeding(domain)
    check_equality(domain)
    check_description(domain, rebuildable)
    points = check_unseen(domain, rng)
    is_whole = points is not None and domain.size in (len(points), math.inf)  # no constraint excludes points
    if points is not None and is_whole and not change.have_branches(domain, points) and not _is_uneven(domain):
        check_uniform(domain, points, rng)
    for find, check in LAWS:
        if (part := find(domain)) is not None:
            check(part, xs, rng)
    local = domain.traits.local
    has_forms = forms_of(domain, xs) != keys_of(domain, xs)
    if local is not None and points is not None and (is_whole or not has_forms):
        change.check_all_neighbors(local, points)
    check_refusals(domain, xs, points)
    if rebuildable:  # last, because a faulty capability has a better message of its own
        capability.check_same_capabilities(domain, domain_from_json(read_back(domain.to_json())))


@names_part
def check_enumeration(domain: Domain, points: Batch, rng: np.random.Generator) -> None:
    """Check a small domain: its size, uniform sampling unless a scale is uneven, and `sample_unseen` to the last point.

    Parameters
    ----------
    domain : Domain
        The domain to test.
    points : Batch
        All points of the domain.
    rng : Generator
        Generator of 60 samples per point.
    """
    every = keys_of(domain, points)
    assert len(set(every)) == len(every), "different points have different keys"
    fix = "; override it" if type(domain).size is Domain.size else ""
    assert domain.size == len(every), f"size is the number of points: expected {len(every)}, got {domain.size}{fix}"
    for x in points:
        domain.check(x)
    if not _is_uneven(domain):
        check_uniform(domain, points, rng)
    drawn = keys_of(domain, draw_unseen_points(domain, rng, most=len(every)))
    assert set(drawn) == set(every), f"sample_unseen draws all {len(every)} points, then no other: it drew {len(drawn)}"


def check_members(domain: object) -> None:
    """Check that a domain is a subclass of the base class, which requires the abstract members."""
    who = f"the class {domain.__name__}; pass an instance" if isinstance(domain, type) else type(domain).__name__
    assert isinstance(domain, Domain), f"a domain is an instance of a subclass of bostruct.contracts.Domain: got {who}"


def check_points(domain: Domain, xs: Batch) -> None:
    """Check that points are valid, survive `present` and JSON round trips, and are not changed by reading them."""
    before = keys_of(domain, xs)
    for x in xs:
        domain.check(x)
        assert same(domain, domain.parse(domain.present(x)), x), f"parse is the inverse of present: {x!r}"
        assert same(domain, domain.decode(read_back(domain.encode(x))), x), f"decode is the inverse of encode: {x!r}"
    assert keys_of(domain, xs) == before, "no method changes a point"


def check_keys(domain: Domain, xs: Batch) -> None:
    """Check that keys are hashable, equal if and only if presented points are, and in order after a join."""
    found = keys_of(domain, domain.join(xs, domain.join(), xs))
    assert found == keys_of(domain, xs) * 2, "keys returns one key per point, in the order of the joined batches"
    assert len(domain.join()) == 0, "join of no batches is the empty batch"
    for i, a in enumerate(xs):
        for j, b in enumerate(xs):
            is_same = domain.present(a) == domain.present(b)
            assert (found[i] == found[j]) == is_same, f"keys are equal if and only if points are: {a!r}, {b!r}"
            assert hash(found[i]) == hash(found[j]) or found[i] != found[j], "equal keys have equal hashes"


def check_equality(domain: Any) -> None:
    """Check that a domain equals itself, and no object of another type."""
    who = type(domain).__name__
    assert domain == domain, f"a domain equals itself: {who}.__eq__ returns False"
    for other in (object(), None, domain.to_json()):
        assert domain != other, f"a domain equals no object of another type: {who}.__eq__ returns True for {other!r}"


def check_description(domain: Domain, rebuildable: bool) -> None:
    """Check that the description is JSON, and that it rebuilds an equal domain or is rejected."""
    description = read_back(domain.to_json())
    if not rebuildable:
        refused = is_raised(DomainError, lambda: domain_from_json(description))
        assert refused, "an incomplete description of a domain raises DomainError"
        return
    rebuilt = domain_from_json(description)
    assert rebuilt == domain, "the domain rebuilt from to_json is equal"
    assert rebuilt.to_json() == domain.to_json(), "the domain rebuilt from to_json has an equal description"
    assert rebuilt.size == domain.size, "the domain rebuilt from to_json has the same size"
    rows = (d.sample(3, np.random.default_rng(5)) for d in (domain, rebuilt))
    drawn = {str([domain.encode(x) for x in batch]) for batch in rows}
    assert len(drawn) == 1, "the domain rebuilt from to_json draws the same points"


def check_seeding(domain: Domain) -> None:
    """Check that sampling uses only the given generator."""
    first, second = (keys_of(domain, domain.sample(5, np.random.default_rng(11))) for _ in range(2))
    assert first == second, "sample with the same generator returns the same points"


def check_distances(domain: DistanceDomain, xs: Batch) -> None:
    """Check that distances are finite, nonnegative, symmetric, and 0 from a point to itself."""
    with unchanged(domain, xs, "distances"):
        own = check_array(domain.distances(xs, xs), 2, "distances returns the distance of each pair (n, m)")
        across = domain.distances(xs, xs[1:])
    assert np.all(np.isfinite(own)), "distances are finite"
    assert np.all(own >= 0.0), "distances are at least 0"
    assert not own.diagonal().any(), "the distance of a point to itself is 0"
    rounding = 1e-7 * float(own.max())
    assert_close(across, own[:, 1:], rounding, "distances (n, m) depend only on their pair, not on other points")
    assert_close(own, own.T, rounding, "distances are symmetric")


def check_features(domain: FeatureDomain, xs: Batch) -> None:
    """Check that features are finite, of equal number for each point, and independent of the rest of the batch."""
    with unchanged(domain, xs, "features"):
        found = check_array(domain.features(xs), 2, "features returns the features of each point (m, k)")
    assert len(found) == len(xs), f"features have one row for each point: expected {len(xs)}, got {len(found)}"
    assert np.all(np.isfinite(found)), "features are finite"
    assert_close(domain.features(xs[1:]), found[1:], 0.0, "features of a point do not depend on the rest of the batch")


def check_continuous(domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    """Check that shares are in [0, 1] and round-trip, and that points move to the nearest shares.

    An inactive coordinate, whose share is NaN, stays inactive for any given shares.
    """
    c, found = domain.n_continuous, domain.shares(xs)
    assert found.shape == (len(xs), c), f"shares are (m, c): expected {(len(xs), c)}, got {found.shape}"
    lacks = np.isnan(found)
    assert np.all(lacks | ((found >= 0.0) & (found <= 1.0))), "shares are in [0, 1], or NaN if inactive"
    back = domain.with_shares(xs, found)  # large integers on a logarithmic scale are closer than floats can express
    assert_close(domain.shares(back), found, SHARE_STEP, "a point with its own shares has these shares")
    moved = domain.with_shares(xs, rng.random(found.shape))
    again = domain.with_shares(xs, domain.shares(moved))
    assert_close(domain.shares(again), domain.shares(moved), SHARE_STEP, "with_shares is the inverse of shares")
    same_rest = domain.with_shares(moved, found)
    assert keys_of(domain, same_rest) == keys_of(domain, back), "with_shares changes only the shares"
    assert _listed_choices(domain, moved) == _listed_choices(domain, xs), "with_shares changes only the shares"
    if (local := domain.traits.local) is not None:
        near, of = local.sample_discrete_neighborhoods(xs, 10, rng)
        assert np.all(np.diff(of) >= 0), "sample_discrete_neighborhoods lists the neighbors point by point"
        for x, position in zip(near, of, strict=True):
            domain.check(x)
            assert forms_of(domain, [x]) != forms_of(domain, [xs[position]]), "a neighbor is another point"
    for end in (0.0, 1.0) if domain.polytopes(xs) is None else ():
        at_end = domain.shares(domain.with_shares(xs, np.full(found.shape, end)))
        ends = np.where(lacks, np.nan, end)
        assert_close(at_end, ends, 1e-9, "shares of 0 and 1 are the ends of the range, if the coordinate is active")


def _listed_choices(domain: Domain, xs: Batch) -> list[dict[str, float]]:
    """Return the choices of each point that are not continuous coordinates, if the domain names choices."""
    if (choices := domain.traits.choices) is None:
        return []
    return [{one.path: one.value for one in choices.coordinates(x) if math.isfinite(one.count)} for x in xs]


def _is_uneven(domain: Domain) -> bool:
    """Return whether a variable of a domain is uniform on another scale, such as a logarithmic one."""
    return not all(variable.is_even for variable in domain.variables.values())


def check_refusals(domain: Domain, xs: Batch, points: Batch | None = None) -> None:
    """Check that `parse` and `check` raise PointError for invalid points, and that `decode` never returns one.

    xs: some points of the domain, at least one.

    The inputs are objects of other types, and the first points with one part replaced, missing or repeated.
    """
    known, some = None if points is None else set(keys_of(domain, points)), list(xs[:2])

    def check(x: Point) -> Point:
        domain.check(x)
        return x

    def decode(data: Any) -> Point:
        return check(domain.decode(data))

    encoded = [read_back(domain.encode(x)) for x in some]
    for method, read, refusal, wrong, foreign, forms in (
        ("parse", domain.parse, PointError, NO_POINTS, FOREIGN, map(domain.present, some)),
        ("check", check, PointError, NO_POINTS, FOREIGN, some),
        ("decode", decode, MALFORMED, NO_ENCODED, FOREIGN_JSON, encoded),
    ):
        for form in chain(wrong, *(islice(_alter(one, foreign), MOST_FORMS) for one in forms)):
            _check_refused_form(domain, method, form, read, refusal, known)


def _check_refused_form(
    domain: Domain,
    method: str,
    form: Any,
    read: Callable[[Any], Point],
    refusal: type[Exception] | tuple[type[Exception], ...],
    known: Set[Any] | None,
) -> None:
    law = f"{type(domain).__name__}.{method} rejects an invalid point, {short_repr(form)}"
    if method != "decode":
        law += ", with PointError"
    try:
        x = read(form)
    except refusal:
        return
    except Exception as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        own = [one.f_code.co_name for one in frames if one.f_locals.get("self") is domain]
        raised = "it" if not own or own[-1] == method else f"its {own[-1]}"
        raise AssertionError(f"{law}: {raised} raised {type(error).__name__}: {error}") from error
    assert _is_valid_point(domain, x, known), f"{law}: it was accepted, as {short_repr(x)}"


def _is_valid_point(domain: Domain, x: Point, known: Set[Any] | None) -> bool:
    """Return whether an accepted object is a point: a known point, or a point whose round trips succeed."""
    try:
        domain.check(x)
        if known is not None:
            return domain.key(x) in known
        is_kept = same(domain, domain.decode(read_back(domain.encode(x))), x)
        return is_kept and same(domain, domain.parse(domain.present(x)), x)
    except Exception:  # any exception: a point raises none
        return False


def _alter(form: Any, foreign: Sequence[Any]) -> Iterator[Any]:
    """Yield a form with one part replaced, missing or repeated."""
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


def check_overrides(domain: Any, xs: Batch, rng: np.random.Generator) -> None:
    """Check that overridden members agree with the slower defaults of the base class."""
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


def _sample_all(domain: Any, sample: Callable[..., Batch], xs: Batch, rng: np.random.Generator) -> list[set[Any]]:
    """Return the forms of all neighbors of each point that lists them; an empty set for other points."""
    if domain.traits.local is None:
        return []
    few = [x for x in xs if len(domain.neighbors(x)) < MOST and not change.lists_some(domain, x)]
    return [set(forms_of(domain, sample(domain, x, MOST, rng))) for x in few]


def _sample_batch(domain: Any, sample: Callable[..., Any], xs: Batch, rng: np.random.Generator) -> list[set[Any]]:
    """Return the forms of all neighbors of each point, by its position, from one batch."""
    if domain.traits.local is None:
        return []
    few = domain.join([x for x in xs if len(domain.sample_neighbors(x, MOST, np.random.default_rng(0))) < MOST])
    near, of = sample(domain, few, MOST, rng)
    forms = forms_of(domain, near)
    return [{form for form, position in zip(forms, of, strict=True) if position == i} for i in range(len(few))]


def _lists_all(domain: Domain, listed: Batch | None, xs: Batch) -> bool:
    """Return whether a list seems to contain each point once, judged by some points and the size."""
    if listed is None:
        return True
    keys = keys_of(domain, listed)
    return len(set(keys)) == len(keys) and set(keys_of(domain, xs)) <= set(keys) and len(keys) <= domain.size


def _is_count(domain: Domain, found: Count) -> bool:
    """Return whether a number of points is consistent with a finite size, which has grids for real numbers."""
    return found == INFINITE or (isinstance(found, AtLeast | Exact) and found.count <= domain.size)


def _values_of_choices(domain: Any, values: Callable[..., Any], xs: Batch) -> list[list[float]]:
    """Return the values of the choices of points, if all have the same choices."""
    if domain.traits.choices is None or len({tuple(domain.names(x)) for x in xs}) > 1:
        return []
    return np.asarray(values(domain, xs)).tolist()


def _finds_discrete(domain: Any, sample: Callable[..., Any], xs: Batch, rng: np.random.Generator) -> bool:
    """Return whether all neighbors with discrete changes are found, of points with few neighbors."""
    if domain.traits.local is None:
        return True
    few = domain.join([x for x in xs if len(domain.neighbors(x)) < MOST and not change.lists_some(domain, x)])
    near, of = sample(domain, few, 10 * MOST, rng)
    found = set(zip(of.tolist(), forms_of(domain, near), strict=True))
    for i, x in enumerate(few):
        others, own = domain.neighbors(x), np.nan_to_num(domain.shares(domain.join([x])))
        rest = forms_of(domain, domain.with_shares(others, np.repeat(own, len(others), axis=0)))
        (mine,) = forms_of(domain, domain.with_shares(domain.join([x]), own))
        if not {(i, form) for form, one in zip(forms_of(domain, others), rest, strict=True) if one != mine} <= found:
            return False
    return True


# The base class and name of a default, and the compared value as a function of domain, method, points, generator.
DEFAULTS: tuple[tuple[type[Domain], str, Callable[..., object]], ...] = (
    (Domain, "keys", lambda domain, keys, xs, _: keys(domain, xs)),
    (Domain, "take", lambda domain, take, xs, _: keys_of(domain, take(domain, xs, [len(xs) - 1, 0]))),
    (Domain, "join", lambda domain, join, xs, _: keys_of(domain, join(domain, xs, xs[:1]))),
    (Domain, "sample_candidates", lambda domain, sample, xs, rng: len(sample(domain, 1, xs, rng))),
    (Domain, "list_few", lambda domain, list_few, xs, _: _lists_all(domain, list_few(domain, MOST_LISTED), xs)),
    (Domain, "count_at_most", lambda domain, count, *_: count(domain) >= domain.size),
    (Domain, "count", lambda domain, count, *_: math.isinf(domain.size) or _is_count(domain, count(domain))),
    (ChoiceDomain, "coordinate_values", lambda domain, values, xs, _: _values_of_choices(domain, values, xs)),
    (ChoiceDomain, "names", lambda domain, names, xs, _: [list(names(domain, x)) for x in xs if domain.traits.choices]),
    (LocalDomain, "sample_neighbors", _sample_all),
    (LocalDomain, "sample_neighborhoods", _sample_batch),
    (LocalDomain, "sample_discrete_neighborhoods", _finds_discrete),
)


def _each(check: Callable[..., None], most: int | None = None) -> DomainCheck:
    """Return a check of each of the first points, by default of all."""

    def check_each(domain: Any, xs: Batch, rng: np.random.Generator) -> None:
        for x in xs[:most]:
            check(domain, x, rng)

    return check_each


# The subject of a law, if a domain has it, and the check, a function of points and a generator.
LAWS: tuple[tuple[Callable[[Domain], Any], DomainCheck], ...] = (
    (lambda domain: domain, _each(change.check_mutation)),
    (lambda domain: domain.traits.local, _each(change.check_neighbors)),
    (lambda domain: domain.traits.local, _each(change.check_neighborhoods)),
    (lambda domain: domain.traits.local, _each(change.check_quick_changes)),
    (lambda domain: domain.traits.local, _each(change.check_combinations)),
    (lambda domain: domain, _each(lambda d, x, rng: change.check_crossover(d, x, d.sample(1, rng)[0], rng))),
    (lambda domain: domain.traits.choices, _each(lambda domain, x, _: capability.check_named_choices(domain, x), 2)),
    (lambda domain: domain.traits.tree, _each(capability.check_decisions, 2)),
    (lambda domain: domain.traits.tree, _each(lambda domain, x, _: capability.check_named_decisions(domain, x), 2)),
    (lambda domain: domain, lambda domain, xs, _: check_sources(domain, xs[0], xs[1])),
    (lambda domain: domain.traits.local, _each(change.check_neighbor_chances, 1)),
    (lambda domain: domain, lambda domain, xs, _: capability.check_encodings(domain, xs)),
    (lambda domain: domain, lambda domain, _, rng: capability.check_pool_of(domain, rng)),
    (lambda domain: domain if domain.from_keys(()) is not None else None, lambda d, xs, _: check_readable_keys(d, xs)),
    (lambda domain: domain, lambda domain, xs, _: capability.check_candidates(domain, xs)),
    (lambda domain: domain, lambda domain, xs, _: capability.check_tokens(domain, xs)),
    (lambda domain: domain.traits.distances, lambda domain, xs, _: check_distances(domain, xs)),
    (lambda domain: domain.traits.features, lambda domain, xs, _: check_features(domain, xs)),
    (lambda domain: domain, lambda domain, xs, _: capability.check_migration(domain, xs)),
    (lambda domain: domain, check_continuous),
    (lambda domain: domain if domain.variables else None, lambda domain, xs, _: capability.check_variables(domain, xs)),
    (lambda domain: domain if domain.parts else None, lambda domain, xs, _: capability.check_parts(domain, xs)),
    (lambda domain: domain, lambda domain, xs, _: capability.check_architectures(domain, xs)),
    (lambda domain: domain, check_overrides),
)
