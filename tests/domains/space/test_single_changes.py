"""Batches of single changes: the same points, and the same Gram matrices, as the rows that they stand for."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.domains.space.single_changes import Layout, SingleChanges, pad_columns

SPACES = {
    "bits": {f"b{i}": bool for i in range(6)},
    "categories": {"a": [0, 1, 2], "b": list("wxyz"), "c": bool},
    "paths": {"p": bo.Integer(0, 5), "q": range(3)},
    "mixed": {"a": bool, "p": bo.Integer(0, 5), "c": list("xyz"), "g": bo.Graph(nx.cycle_graph(5)), "b": bool},
    "constrained": None,
}


def space_of(name: str) -> bo.Space:
    if name == "constrained":
        return bo.Space({f"b{i}": bool for i in range(8)}, constraints=[lambda p: sum(p.values()) % 2 == 0 or p["b0"]])
    return bo.Space(SPACES[name])


@pytest.mark.parametrize("name", SPACES)
def test_around_lists_the_neighbors_of_each_point(name: str) -> None:
    space, rng = space_of(name), np.random.default_rng(0)
    xs = space.sample(4, rng)
    moves, of = space.sample_neighborhoods(xs, 10_000, rng)
    for point, x in enumerate(xs):
        np.testing.assert_array_equal(np.asarray(moves)[of == point], space.neighbors(x))
        np.testing.assert_array_equal(moves[of == point].rows(), space.neighbors(x))
    np.testing.assert_array_equal(moves[len(moves) - 1], moves.rows()[-1])
    np.testing.assert_array_equal(moves.before[:, 0], xs[moves.of, moves.which])
    some, of = space.sample_neighborhoods(xs, 2, rng)
    assert (np.bincount(of) <= 2).all()
    assert all(any((row == space.neighbors(xs[p])).all(1)) for row, p in zip(some.rows(), of, strict=True))


def test_changes_of_one_wide_variable_are_those_of_several_together() -> None:
    wide = {"b": bool, "p": bo.Permutation(range(3)), "s": bo.Subset(range(4), 2), "q": bo.Subset(range(4), (0, 4))}
    space, rng = bo.Space(wide), np.random.default_rng(0)
    xs = space.sample(3, rng)
    together, _ = space.sample_neighborhoods(xs, 10_000, rng)
    rows, before = together.rows(), together.before
    for i, variable in enumerate(space.variables.values()):
        own = np.flatnonzero(together.which == i)
        alone = together[own]
        narrow = SingleChanges(alone.base, alone.of, alone.which, alone.values[:, : variable.width], alone.layout)
        np.testing.assert_array_equal(narrow.rows(), rows[own])
        np.testing.assert_array_equal(narrow.before, before[own][:, : variable.width])


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("method", ["auto", "combo"])
def test_kernels_see_moves_as_the_rows_that_they_are(name: str, method: str) -> None:
    space, rng = space_of(name), np.random.default_rng(1)
    searcher = methods.METHODS[method](space)
    surrogate = searcher.surrogate.surrogate.quiet if method == "auto" else searcher.surrogate
    kernel = surrogate.kernel
    moves, _ = space.sample_neighborhoods(space.sample(3, rng), 10_000, rng)
    ys = space.sample(7, rng)
    theta = rng.normal(size=sum(block.size for block in kernel.parameters))
    for batch in (moves, moves[2:5], moves[np.array([4, 0])]):
        ours = kernel.gram(theta, kernel.prepare(batch, ys))
        np.testing.assert_allclose(ours, kernel.gram(theta, kernel.prepare(batch.rows(), ys)), rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(kernel.diag(theta, batch), kernel.diag(theta, batch.rows()), rtol=1e-13)


def test_moves_keep_what_they_were_made_from() -> None:
    """What kernels made of the base of some moves they use for others from it."""
    space, rng = space_of("mixed"), np.random.default_rng(2)
    kernel = methods.METHODS["auto"](space).surrogate.surrogate.quiet.kernel
    xs, ys = space.sample(3, rng), space.sample(5, rng)
    theta = rng.normal(size=sum(block.size for block in kernel.parameters))
    for _ in range(2):
        moves, _ = space.sample_neighborhoods(xs, 10_000, rng)
        before = kernel.gram(theta, kernel.prepare(moves[:4], ys))
        xs[:] = space.sample(3, rng)
        np.testing.assert_array_equal(kernel.gram(theta, kernel.prepare(moves[:4], ys)), before)
        np.testing.assert_allclose(before, kernel.gram(theta, kernel.prepare(moves[:4].rows(), ys)), atol=1e-13)
        other = kernel.gram(2.0 * theta, kernel.prepare(moves[:4], ys))
        np.testing.assert_allclose(other, kernel.gram(2.0 * theta, kernel.prepare(moves[:4].rows(), ys)), atol=1e-13)


def test_two_ordered_choices_are_any_two_choices() -> None:
    variables = bo.Space({"a": [1, 2], "b": range(2), "c": bo.Ordinal(["x", "y"]), "d": bo.Fidelity([1, 3])}).variables
    assert {type(variable.graph).__name__ for variable in variables.values()} == {"CompleteGraph"}


def test_a_layout_gives_each_variable_its_own_columns() -> None:
    layout = Layout((1, 3, 2))
    assert layout.n_columns == 6
    assert not layout.is_simple
    assert layout.split(np.arange(6)) == [[0], [1, 2, 3], [4, 5]]
    assert [layout.columns(i) for i in range(3)] == [slice(0, 1), slice(1, 4), slice(4, 6)]
    assert layout.columns_of(np.array([2, 0, 1]), 3).tolist() == [[4, 5, 5], [0, 0, 0], [1, 2, 3]]
    simple = Layout((1,) * 2)
    assert simple == Layout((1, 1))
    assert simple.is_simple
    assert simple.split([7, 8]) == [[7], [8]]


def test_changes_of_wide_and_narrow_variables_write_their_own_columns_alone() -> None:
    base, layout = np.array([[9, 1, 2, 3, 5]]), Layout((1, 3, 1))
    values = pad_columns([np.array([[8]]), np.array([[3, 2, 1]]), np.array([[6]])])
    assert values.tolist() == [[8, 8, 8], [3, 2, 1], [6, 6, 6]]
    changes = SingleChanges(base, np.zeros(3, dtype=np.int64), np.arange(3), values, layout)
    assert changes.rows().tolist() == [[8, 1, 2, 3, 5], [9, 3, 2, 1, 5], [9, 1, 2, 3, 6]]
    assert changes.before.tolist() == [[9, 9, 9], [1, 2, 3], [5, 5, 5]]
    assert changes[1].tolist() == [9, 3, 2, 1, 5]
    assert np.asarray(changes[1:]).tolist() == changes.rows()[1:].tolist()
