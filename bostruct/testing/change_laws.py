"""The laws of changes of a point: mutations, neighbors, neighborhoods and crossover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from bostruct.contracts import Batch, ChoiceDomain, Domain, DomainError, LocalDomain, Point
from bostruct.domains.space.variable import Variable
from bostruct.testing.batch_laws import check_batch, forms_of, keys_of, same, unchanged
from bostruct.testing.capability_laws import check_valid
from bostruct.testing.chance_laws import are_plausible

CHILDREN = 40  # number of children, of which at least one has a value of the other parent
MOST_COUNTED = 100  # maximum number of neighbors of a point whose frequencies are compared
COUNTED_DRAWS = 60  # number of samples of half of the neighbors
MOST_NEIGHBORS = 20_000  # if a point has more neighbors, only `sample_neighbors` is checked


def check_mutation(domain: Domain, x: Point, rng: np.random.Generator) -> None:
    """Check that a mutation is a different valid point, and differs in one choice if neighbors do.

    A domain may raise DomainError if it seems to have no other point.
    """
    try:
        with unchanged(domain, [x], "mutate"):
            changed = domain.mutate(x, rng)
    except DomainError:
        others = set(keys_of(domain, domain.sample(50, rng)))
        assert len(others) == 1, "mutate found no other point, but sample did"
        return
    check_valid(domain, [changed], "mutate")
    assert forms_of(domain, [changed]) != forms_of(domain, [x]), f"mutate returns a different point: got {x!r} again"
    traits = domain.traits
    if traits.local is None or not len(traits.local.sample_neighbors(x, 1, rng)):
        return
    if traits.choices is not None and not domain.parts:  # a part may have no neighbor
        before, after = _choices(traits.choices, x), _choices(traits.choices, changed)
        n_changed = sum(before[key] != after[key] for key in before.keys() & after.keys())
        is_near = n_changed == 1 or set(forms_of(domain, [changed])) <= set(forms_of(domain, traits.local.neighbors(x)))
        assert is_near, f"mutate changes one choice of {x!r}, or returns a neighbor; it changed {n_changed}"


def check_crossover(domain: Domain, x: Point, y: Point, rng: np.random.Generator) -> None:
    """Check that children are valid, and have the choices of their parents, some of them from the second parent."""
    own = domain.crossover(x, x, rng)
    with unchanged(domain, [x, y], "crossover"):
        children = [domain.crossover(x, y, rng) for _ in range(CHILDREN)]
    if own is None:
        assert children == [None] * CHILDREN, "crossover returns None for all points, or for none"
        return
    assert same(domain, own, x), f"crossover of x and x is x: {x!r}"
    check_valid(domain, children[:3], "crossover")
    if (choices := domain.traits.choices) is None:
        return
    first, second = _choices(choices, x), _choices(choices, y)
    inherited = [_choices(choices, child) for child in children]
    for child in inherited:
        for key in child.keys() & (first.keys() | second.keys()):
            assert child[key] in {first.get(key), second.get(key)}, f"{key} of a child is the value of one parent"
    if any(first[key] != second[key] for key in first.keys() & second.keys()):
        mixed = any(child[key] != first[key] for child in inherited for key in child.keys() & first.keys())
        assert mixed, "some children have a value of the second parent"


def check_neighbors(domain: LocalDomain, x: Point, rng: np.random.Generator) -> None:
    """Check that neighbors are valid, distinct, symmetric, never x, in a fixed order, and sampled in that order.

    If a space lists only some neighbors, the sampled ones are checked instead, but not their order.

    Symmetry is only required for points with the same choices.
    """
    with unchanged(domain, [x], "sample_neighbors"):
        some = domain.sample_neighbors(x, 7, rng)
    assert len(some) <= 7, f"sample_neighbors returns at most the requested number: expected 7, got {len(some)}"
    _check_each_neighbor(domain, x, some)
    if len(domain.sample_neighbors(x, MOST_NEIGHBORS + 1, rng)) > MOST_NEIGHBORS:
        return
    with unchanged(domain, [x], "neighbors"):
        near = domain.neighbors(x)
    found = forms_of(domain, near)
    assert found == forms_of(domain, domain.neighbors(x)), "neighbors are in a fixed order"
    assert len(set(found)) == len(found), "neighbors are distinct"
    assert len(some) == min(7, len(near)), "sample_neighbors returns all neighbors, or the requested number"
    if lists_some(domain, x):
        every = forms_of(domain, domain.sample_neighbors(x, MOST_NEIGHBORS, rng))
        assert set(found) <= set(every), "sample_neighbors can draw all neighbors"
        assert set(forms_of(domain, some)) <= set(every), "sample_neighbors draws among all neighbors"
        _check_each_neighbor(domain, x, [near[i] for i in rng.permutation(len(near))[:5]])
        return
    position = {key: i for i, key in enumerate(found)}
    positions = [position.get(key, -1) for key in forms_of(domain, some)]
    assert -1 not in positions, "sample_neighbors returns only neighbors"
    assert positions == sorted(set(positions)), "sample_neighbors keeps the order of neighbors, each once"
    for most in (len(near), len(near) + 1):
        every = forms_of(domain, domain.sample_neighbors(x, most, rng))
        assert every == found, "sample_neighbors returns all neighbors if they are at most the requested number"
    _check_each_neighbor(domain, x, [near[i] for i in rng.permutation(len(near))[:5]])


def lists_some(domain: Domain, x: Point) -> bool:
    """Return whether a variable reports more neighbors than it lists."""
    if domain.parts:
        rng = np.random.default_rng(0)
        return any(lists_some(part, y) for part in domain.parts.values() for y in part.sample(1, rng))
    found = [(domain.variables[name], value) for name, value in (domain.present(x) if domain.variables else {}).items()]
    parsed = [(v, v.parse(value)) for v, value in found if isinstance(v, Variable)]
    return any(v.count_neighbors(own) > len(v.neighbors(own)) for v, own in parsed)


def _check_each_neighbor(domain: LocalDomain, x: Point, near: Iterable[Point]) -> None:
    check_valid(domain, near, "neighbors")
    for y in near:
        assert forms_of(domain, [x]) != forms_of(domain, [y]), f"no point is its own neighbor: {x!r}"
        back = domain.sample_neighbors(y, MOST_NEIGHBORS, np.random.default_rng(0))
        if have_branches(domain, [x, y]):
            continue
        if len(back) < MOST_NEIGHBORS:
            assert forms_of(domain, [x])[0] in forms_of(domain, back), (
                f"x has a neighbor y, but y does not have x: {x!r}, {y!r}"
            )


def have_branches(domain: Domain, points: Iterable[Point]) -> bool:
    """Return whether some points have choices that others lack; reverting a change may then give other values."""
    if (named := domain.traits.choices) is not None:
        return len({frozenset(named.names(x)) for x in points}) > 1
    return len({_list_names(domain.present(x)) for x in points}) > 1


def _list_names(presented: object) -> tuple[object, ...]:
    """Return the names in nested dicts, nested in the same way."""
    if not isinstance(presented, Mapping):
        return ()
    return tuple((name, _list_names(value)) for name, value in sorted(presented.items(), key=repr))


def check_neighbor_chances(domain: LocalDomain, x: Point, rng: np.random.Generator) -> None:
    """Check that `sample_neighbors` samples all neighbors with equal probability."""
    near = forms_of(domain, domain.sample_neighbors(x, MOST_COUNTED + 1, rng))
    if not 1 < len(near) <= MOST_COUNTED:
        return
    counts, half = dict.fromkeys(near, 0), len(near) // 2
    for _ in range(COUNTED_DRAWS):
        for key in forms_of(domain, domain.sample_neighbors(x, half, rng)):
            assert key in counts, f"sample_neighbors returns only neighbors: got {key!r}"
            counts[key] += 1
    is_even = are_plausible(counts.values(), COUNTED_DRAWS, half / len(near))
    assert is_even, f"sample_neighbors draws neighbors uniformly: of {x!r} it drew {list(counts.values())}"


def check_all_neighbors(domain: LocalDomain, points: Batch) -> None:
    """Check that the neighbors of all points of a small domain are a symmetric relation."""
    by_key = dict(zip(forms_of(domain, points), points, strict=True))
    near = {key: frozenset(forms_of(domain, domain.neighbors(x))) for key, x in by_key.items()}
    for key, own in near.items():
        assert own <= near.keys(), f"neighbors are points of the domain: for {key!r}, {list(own - near.keys())} are not"
        assert key not in own, f"no point is its own neighbor: {key!r}"
        for other in own:
            is_mutual = key in near[other] or have_branches(domain, [by_key[key], by_key[other]])
            assert is_mutual, f"neighbors are symmetric: {key!r} has {other!r}, but {other!r} not {key!r}"


def check_neighborhoods(domain: LocalDomain, x: Point, rng: np.random.Generator) -> None:
    """Check that the neighborhoods of a batch are the neighborhoods of its points."""
    xs = domain.join([x], domain.sample(2, rng), [x])
    near, of = domain.sample_neighborhoods(xs, MOST_NEIGHBORS, rng)
    check_batch(domain, near, rng)
    assert len(of) == len(near), "each neighbor belongs to a point"
    found = domain.keys(near)
    for i, point in enumerate(xs):
        own = [found[j] for j in np.flatnonzero(of == i)]
        expected = domain.keys(domain.neighbors(point))
        is_listed = own == expected if len(expected) <= MOST_NEIGHBORS else set(own) < set(expected)
        if lists_some(domain, point):
            is_listed = set(expected) < set(own) or len(own) == MOST_NEIGHBORS
        assert is_listed, f"a neighborhood contains the neighbors of its point: {point!r}"
    few, of = domain.sample_neighborhoods(xs, 2, rng, large_steps=True)
    assert len(of) == len(few), "each neighbor belongs to a point, also with large_steps"
    assert np.all(np.diff(of) >= 0), "neighborhoods are in the order of their points"
    assert np.all(np.bincount(of, minlength=len(xs)) <= 2), "a neighborhood has at most the requested number of points"
    check_batch(domain, few, rng)
    check_valid(domain, few, "sample_neighborhoods with large_steps")


def check_quick_changes(domain: LocalDomain, x: Point, rng: np.random.Generator) -> None:
    """Check that quick changes give neighbors in the order of their points, at most as many as requested."""
    xs = domain.join([x], domain.sample(2, rng), [x])
    changed, of = domain.change_each(xs, 9, rng)
    check_batch(domain, changed, rng)
    assert len(of) == len(changed), "each quick change belongs to a point"
    assert np.all(np.diff(of) >= 0), "quick changes are in the order of their points"
    assert np.all(np.bincount(of, minlength=len(xs)) <= 9), "change_each draws at most the requested number"
    found = domain.keys(changed)
    for i, point in enumerate(xs):
        draws = lists_some(domain, point)
        near = domain.sample_neighbors(point, MOST_NEIGHBORS, rng) if draws else domain.neighbors(point)
        strange = {found[j] for j in np.flatnonzero(of == i)} - set(domain.keys(near))
        assert not strange, f"quick changes give neighbors: for {point!r}, {list(strange)} are not"
    none, of = domain.change_each(domain.join(), 9, rng)
    assert len(none) == len(of) == 0, "no points have no quick changes"


def check_combinations(domain: LocalDomain, x: Point, rng: np.random.Generator) -> None:
    """Check that a single change gives the neighbor itself, and that combined changes give valid points."""
    near, _ = domain.sample_neighborhoods(domain.join([x]), MOST_NEIGHBORS, rng)
    if not len(near):
        return
    keys, order = domain.keys(near), rng.permutation(len(near))
    for i in order[:3]:
        alone = domain.combine(x, domain.take(near, [i]), [1])
        assert domain.keys(alone) == [keys[i]], f"one change gives its neighbor: {x!r}"
    counts = list(range(1, len(near) + 2))
    together = domain.combine(x, domain.take(near, order), counts)
    assert len(together) <= len(counts), "combine returns at most the requested number of points"
    check_batch(domain, together, rng)
    check_valid(domain, together, "combine")


def _choices(domain: ChoiceDomain, x: Point) -> dict[str, float]:
    """Return the values of a point by the paths of its choices."""
    return {one.path: one.value for one in domain.coordinates(x)}
