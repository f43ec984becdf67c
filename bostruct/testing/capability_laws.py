"""The laws of a domain's capabilities: tokens, choices, decisions, candidates, a pool, migration and structure.

The structure that kernels use consists of variables, parts and architectures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Batch, ChoiceDomain, Domain, DomainError, Infeasible, Point, PointError, TreeDomain
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.space.variable import INACTIVE, Variable
from bostruct.testing.batch_laws import check_batch, forms_of, keys_of, same, unchanged
from bostruct.testing.common import copy_batch, read_back

BITS = 63  # number of bits of a hash
CANDIDATES = 20  # number of requested candidates


def check_valid(domain: Domain, xs: Iterable[Point], what: str) -> None:
    """Check that a method returned valid points."""
    for x in xs:
        try:
            domain.check(x)
        except PointError as error:
            raise AssertionError(f"{what} returns valid points: got {short_repr(x)}; {error}") from error


def check_same_capabilities(domain: Domain, other: Domain) -> None:
    """Check that two equal domains have the same capabilities, so that a method supports both."""
    ours, theirs = ([name for name, one in d.traits._asdict().items() if one] for d in (domain, other))
    assert ours == theirs, (
        f"the domain rebuilt from to_json has the same traits: {type(domain).__name__} has "
        f"{', '.join(ours) or 'nothing'}, the rebuilt {type(other).__name__} {', '.join(theirs) or 'nothing'}; two "
        "classes need two names in to_json"
    )


def check_tokens(domain: Domain, xs: Batch) -> None:
    """Check that tokens are 63-bit hashes, one array per point, and differ between points."""
    with unchanged(domain, xs, "tokens"):
        found = domain.tokens(xs)
    is_list = isinstance(found, list) and len(found) == len(xs)
    assert is_list, f"tokens returns a list of one array per point: got {short_repr(found)}"
    for one in found:
        is_hashes = isinstance(one, np.ndarray) and one.ndim == 1 and one.dtype == np.int64
        assert is_hashes, f"tokens returns arrays of int64, one number per token: got {short_repr(one)}"
        assert np.all(one >= 0), f"tokens are hashes of {BITS} bits, at least 0: got {one.min()}"
    bags = [Counter(one.tolist()) for one in found]
    again = [Counter(one.tolist()) for one in domain.tokens(copy_batch(domain, xs))]
    assert again == bags, "tokens of equal points are equal, at every call"
    forms = forms_of(domain, xs)
    for i, bag in enumerate(bags):
        for j in range(i):
            assert (bag == bags[j]) == (forms[i] == forms[j]), f"tokens distinguish points: {xs[i]!r}, {xs[j]!r}"


def check_encodings(domain: Domain, xs: Batch) -> None:
    """Check that points of one form are equal, and that encodings are the same at every call."""
    with unchanged(domain, xs, "encodings"):
        found = domain.encodings(domain.join(xs, xs))
    assert found == domain.encodings(domain.join(xs)) * 2, "encodings returns one hashable per point, in their order"
    keys = dict(zip(found, keys_of(domain, domain.join(xs, xs)), strict=True))
    assert [keys[one] for one in found] == keys_of(domain, domain.join(xs, xs)), "points of one form are equal"


def check_named_choices(domain: ChoiceDomain, x: Point) -> None:
    """Check that choices have a fixed order and names, and that `resample` returns a valid point.

    A domain may raise DomainError.
    """
    try:
        with unchanged(domain, [x], "coordinates"):
            choices = domain.coordinates(x)
    except DomainError:
        return
    paths = [one.path for one in choices]
    assert [one.path for one in domain.coordinates(x)] == paths, "coordinates lists choices in a fixed order"
    assert len(set(paths)) == len(paths), f"each choice of a point has a different path: got {short_repr(paths)}"
    assert list(domain.names(x)) == paths, f"names lists the paths of the choices: got {short_repr(domain.names(x))}"
    for one in choices:
        assert 0 <= one.value < one.count, f"the value of choice {one.path} is in its range: got {one.value}"
    with unchanged(domain, [x], "resample"):
        kept = domain.resample(x, [], np.random.default_rng(0))
        assert same(domain, kept, x), f"resample of no choice keeps the point: expected {x!r}, got {kept!r}"
        drawn = domain.resample(x, paths[:1], np.random.default_rng(0))
    check_valid(domain, [drawn], "resample")


def check_decisions(domain: TreeDomain, x: Point, rng: np.random.Generator) -> None:
    """Check that decisions lead to their point, and that `options` allows them.

    A domain may raise DomainError.
    """
    try:
        with unchanged(domain, [x], "decisions"):
            path = domain.decisions(x)
    except DomainError:
        return
    is_path = isinstance(path, tuple) and all(isinstance(one, int | np.integer) for one in path)
    assert is_path, f"decisions returns a tuple of integers, got {short_repr(path)}"
    for n_made, one in enumerate(path):
        n_options = domain.options(path[:n_made])
        assert 0 <= one < n_options, f"decision {n_made} of {path} is among the options: expected 0..{n_options - 1}"
    assert domain.options(path) == 0, f"options is 0 after the last decision: got {domain.options(path)} after {path}"
    reached = domain.roll_out(path, np.random.default_rng(0))
    check_valid(domain, [reached], "roll_out")
    assert same(domain, reached, x), f"roll_out of all decisions returns their point: expected {x!r}, got {reached!r}"
    for n_kept in sorted({0, 1, len(path) // 2, len(path) - 1} & set(range(len(path)))):
        _check_roll_out(domain, path[:n_kept], rng)


def check_named_decisions(domain: TreeDomain, x: Point) -> None:
    """Check that decisions correspond to the choices of their point, with as many values as `options` counts.

    A continuous choice has as many values as the domain distinguishes.
    """
    path = domain.decisions(x)
    choices = {one.path: one for one in domain.coordinates(x)}
    for n_made, decision in enumerate(path):
        following = domain.choice_after(path[:n_made])
        assert following is not None, f"choice_after names the choice of each decision: got None for {n_made} of {path}"
        one = choices.pop(following.path, None)
        assert one is not None, f"decisions are about the choices of their point, each once: got {following.path}"
        assert following.count == one.count, f"choice_after agrees with coordinates on the values of {one.path}"
        is_counted = math.isinf(one.count) or one.count == domain.options(path[:n_made])
        assert is_counted, f"options counts the values of the choice that is decided next, {one.path}"
        found = domain.decide(one.path, one.value)
        assert found == decision, f"decide returns the decision of a value: expected {decision}, got {found}"
    assert domain.choice_after(path) is None, f"choice_after is None once all decisions are made: after {path}"


def _check_roll_out(domain: TreeDomain, kept: tuple[int, ...], rng: np.random.Generator) -> None:
    try:
        found = domain.roll_out(kept, rng)
    except Infeasible:
        return
    check_valid(domain, [found], "roll_out")
    first = domain.decisions(found)[: len(kept)]
    assert first == kept, f"roll_out keeps the decisions made: expected {kept}, got {first}"


def check_candidates(domain: Domain, starts: Batch) -> None:
    """Check that candidates are valid, at least one, and at most the requested number."""
    for known in (starts, domain.join()):
        with unchanged(domain, known, "sample_candidates"):
            found = domain.sample_candidates(CANDIDATES, known, np.random.default_rng(0))
        n = len(found)
        assert 1 <= n <= CANDIDATES, f"sample_candidates returns 1 to m points: expected at most {CANDIDATES}, got {n}"
        check_valid(domain, found, "sample_candidates")
        check_batch(domain, found, np.random.default_rng(0))
    empty = domain.sample_candidates(0, starts, np.random.default_rng(0))
    assert len(empty) == 0, f"sample_candidates(0) returns the empty batch: got {len(empty)} points"


def check_pool_of(domain: Domain, rng: np.random.Generator) -> None:
    """Check that a pool contains valid points, the same for each access."""
    pool = domain.pool
    check_valid(domain, pool, "pool")
    check_batch(domain, pool, rng)
    assert keys_of(domain, domain.pool) == keys_of(domain, pool), "pool contains the same points at each access"


def check_migration(domain: Domain, xs: Batch) -> None:
    """Check that a domain migrates its own points from an equal domain without changes."""
    description = read_back(domain.to_json())
    for x in xs:
        again = domain.decode_from(read_back(domain.encode(x)), description)
        assert same(domain, again, x), f"decode_from with the own description is decode: got {again!r} for {x!r}"


def check_variables(domain: Domain, xs: Batch) -> None:
    """Check that the columns of a batch contain values of the variables, or the marker of an inactive variable.

    xs: some points of the domain, at least 2.
    """
    variables, n_columns = list(domain.variables.values()), np.asarray(xs).shape[1]
    assert all(isinstance(one, Variable) for one in variables), "variables are instances of subclasses of Variable"
    widths = [one.width for one in variables]
    assert sum(widths) == n_columns, (
        f"a row has as many columns as the variables are wide: {sum(widths)}, got {n_columns}"
    )
    for rows in map(np.asarray, (xs, domain.take(xs, [1, 0]), domain.join(xs, xs))):
        assert rows.dtype.kind == "i", f"a batch is an array of integers: got {rows.dtype}"
        assert rows.shape == (len(rows), n_columns), f"a batch is (m, {n_columns}): got {rows.shape}"
    ends = np.cumsum(widths)
    for row in np.asarray(xs):
        for name, columns in zip(domain.variables, np.split(row, ends[:-1]), strict=True):
            _check_columns(name, domain.variables[name], columns.tolist())
    n_numbers = sum(one.n_continuous for one in variables)
    assert domain.n_continuous == n_numbers, (
        f"n_continuous is the sum over the variables: {n_numbers}, got {domain.n_continuous}"
    )


def _check_columns(name: str, variable: Variable, columns: list[int]) -> None:
    """Check that columns contain a value of their variable, or that the variable is inactive in the point."""
    try:
        if not variable.when or set(columns) != {INACTIVE}:
            variable.check(columns)
    except PointError as error:
        raise AssertionError(f"the columns of a variable contain one of its values: {name}: {error}") from error


def check_parts(domain: Domain, xs: Batch) -> None:
    """Check that parts are valid points of their domains, independent of the batch, and identify points."""
    found = []
    for name, own in domain.parts.items():
        with unchanged(domain, xs, "part"):
            batch = domain.part(name, xs)
        assert len(batch) == len(xs), f"part returns one point for each: expected {len(xs)}, got {len(batch)}"
        check_valid(own, batch, "part")
        found.append(keys_of(own, batch))
        alone = [keys_of(own, domain.part(name, domain.take(xs, [i])))[0] for i in range(len(xs))]
        assert alone == found[-1], "the part of a point does not depend on the rest of the batch"
        turned = own.take(batch, list(range(len(xs)))[::-1])
        with unchanged(domain, xs, "with_part"):
            moved = domain.with_part(name, xs, turned)
        law = f"with_part replaces the part {name!r} and no other"
        assert keys_of(own, domain.part(name, moved)) == found[-1][::-1], law
        for other, domain_of_other in domain.parts.items():
            if other != name:
                kept = (keys_of(domain_of_other, domain.part(other, points)) for points in (xs, moved))
                assert len({tuple(keys) for keys in kept}) == 1, law
    keys, parts = keys_of(domain, xs), list(zip(*found, strict=True))
    for i in range(len(xs)):
        for j in range(i):
            assert (keys[i] == keys[j]) == (parts[i] == parts[j]), "points are equal if and only if all their parts are"


def check_architectures(domain: Domain, xs: Batch) -> None:
    """Check that each point has one `Architecture`, independent of the rest of the batch."""
    try:
        with unchanged(domain, xs, "architectures"):
            found = list(domain.architectures(xs))
    except DomainError:
        return
    assert len(found) == len(xs), f"architectures returns one for each point: expected {len(xs)}, got {len(found)}"
    for x in found:
        assert isinstance(x, Architecture), f"architectures returns each as an Architecture: got {short_repr(x)}"
    rest = list(domain.architectures(xs[1:]))
    assert rest == found[1:], "the architecture of a point does not depend on the rest of the batch"
