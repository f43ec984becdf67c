"""Canonical labeling: it and the kernels of schedules follow the items, however they are listed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bostruct.kernels.space.permutation import OrderShape, PermutationEffect, compare_queues
from bostruct.kernels.space.schedule import ScheduleKernel, Waits, label_canonically
from bostruct.surrogates.hyperparameters import Normal
from tests.strategies import rngs


def kernel_of(waits):
    return ScheduleKernel(waits, 0, Normal(0.0, 0.7), Normal(1.0, 1.0), 1.0)


def list_again(waits, rng):
    """The same items, their chains and resources listed in another order; the new number of each item."""
    chains, resources = np.array(waits.chains), np.array(waits.resources)
    new_chains, new_resources = rng.permutation(chains.max() + 1), rng.permutation(resources.max() + 1)
    listed = np.argsort(new_chains[chains], kind="stable")  # occurrences stay in their order
    other = Waits(tuple(new_resources[resources[listed]].tolist()), tuple(new_chains[chains[listed]].tolist()))
    return other, np.argsort(listed)


def draw_orders(waits, n, rng):
    chains = np.array(waits.chains)
    orders = rng.permuted(np.tile(np.arange(len(chains)), (n, 1)), axis=1)
    turns = np.argsort(chains[orders], axis=1, kind="stable")
    np.put_along_axis(orders, turns, np.argsort(chains, kind="stable")[None], axis=1)
    return orders


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.integers(1, 3), rngs())
def test_the_kernel_does_not_depend_on_how_items_are_listed(counts, n_resources, rng):
    chains = np.repeat(np.arange(len(counts)), counts)
    waits = Waits(tuple(rng.integers(n_resources, size=len(chains)).tolist()), tuple(chains.tolist()))
    other, numbers = list_again(waits, rng)
    orders, theta = draw_orders(waits, 5, rng), rng.normal(size=len(chains) + 1)
    mine, theirs = kernel_of(waits), kernel_of(other)
    theta_of_other = np.append(theta[:-1][np.argsort(numbers)], theta[-1])
    found = theirs.gram(theta_of_other, theirs.prepare(numbers[orders]))
    assert_allclose(found, mine.gram(theta, mine.prepare(orders)), rtol=1e-9, atol=1e-9)
    if len(chains) > 1:
        before, after = OrderShape(len(chains), waits.resources), OrderShape(len(chains), other.resources)
        renamed = numbers[orders]
        assert_allclose(compare_queues(after, renamed, renamed), compare_queues(before, orders, orders), atol=1e-12)
        effects = PermutationEffect(after).gram(renamed, renamed), PermutationEffect(before).gram(orders, orders)
        assert_allclose(*effects, atol=1e-12)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.integers(1, 3), rngs())
def test_classes_follow_the_items(counts, n_resources, rng):
    chains = np.repeat(np.arange(len(counts)), counts)
    waits = Waits(tuple(rng.integers(n_resources, size=len(chains)).tolist()), tuple(chains.tolist()))
    other, numbers = list_again(waits, rng)
    assert label_canonically(*other).classes[numbers].tolist() == label_canonically(*waits).classes.tolist()
    found = label_canonically(*waits)
    assert sorted(found.order) == list(range(len(chains)))
    assert np.all(np.diff(found.classes[found.order]) >= 0), "a class at a time"
    with pytest.raises(ValueError, match="read-only"):
        label_canonically(*waits).order[0] = 7


@pytest.mark.parametrize(
    ("waits", "classes"),
    [
        (Waits((0, 0, 0), (0, 1, 2)), [0, 0, 0]),  # three that share all
        (Waits((0, 0, 1), (0, 1, 2)), [1, 1, 0]),  # one has a resource of its own
        (Waits((0, 1, 1, 0), (0, 0, 1, 1)), [1, 0, 1, 0]),  # two jobs that cross: first ones, and last ones
        (Waits((0, 1, 0, 1), (0, 0, 1, 1)), [1, 0, 1, 0]),
    ],
)
def test_items_that_wait_alike_are_of_one_class(waits, classes):
    found = label_canonically(*waits).classes.tolist()
    assert [[one == other for one in found] for other in found] == [
        [one == other for one in classes] for other in classes
    ]


def test_five_hundred_items_that_are_all_alike_are_numbered():
    assert sorted(label_canonically((0,) * 500, tuple(range(500))).order) == list(range(500))
