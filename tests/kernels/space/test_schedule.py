"""The kernel of schedules: ends by hand, the laws, names that do not matter, and what `auto` makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.kernels.space.permutation import OrderShape, compare_queues
from bostruct.kernels.space.schedule import ScheduleKernel, Waits, find_slots, pull_ends, schedule
from bostruct.methods.defaults import space_kernel, with_schedules
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing import check_kernel
from tests.strategies import rngs

SHOP = bo.Permutation({"a": 3, "b": 2, "c": 3}, resources={"a": [1, 2, 1], "b": [2, 1], "c": 1})
SPACES = {
    "alone": {"p": SHOP},
    "several": {"b": bool, "p": SHOP, "q": bo.Permutation(list("wxyz"), resources={"w": 0, "x": 0, "y": 1, "z": 1})},
    "with numbers": {"r": bo.Real(0.0, 1.0), "p": SHOP, "s": bo.Real(1e-3, 1.0, log=True)},
}
WAITS = Waits((0, 1, 0, 1, 0, 0, 0, 0), SHOP.chains)


def kernel_of(waits):
    return ScheduleKernel(waits, 0, Normal(0.0, 0.7), Normal(1.0, 1.0), 1.0)


def find_ends(waits, order, durations):
    """By the definition, item after item: the latest end of those before it that it waits for, and its duration."""
    ends = {}
    for item in order:
        own = [end for other, end in ends.items() if any(of[other] == of[item] for of in waits)]
        ends[item] = max(own, default=0.0) + durations[item]
    return [ends[item] for item in range(len(order))]


@given(st.integers(1, 9), rngs())
def test_ends_are_those_of_the_definition(w, rng):
    waits = Waits(tuple(rng.integers(3, size=w).tolist()), tuple(rng.integers(4, size=w).tolist()))
    orders, durations = rng.permuted(np.tile(np.arange(w), (4, 1)), axis=1), rng.random(w) + 0.1
    expected = [find_ends(waits, order, durations) for order in orders.tolist()]
    assert_allclose(schedule(find_slots(waits, orders), durations).ends, expected)


@given(rngs())
def test_the_gradient_is_that_of_differences(rng):
    orders, durations = SHOP.sample(3, rng), rng.random(8) + 0.5
    slots, cotangent = find_slots(WAITS, orders), rng.normal(size=(3, 8))
    found = pull_ends(slots, schedule(slots, durations).on_resource, cotangent)
    shifts = 1e-6 * np.eye(8)
    changes = [schedule(slots, durations + s).ends - schedule(slots, durations - s).ends for s in shifts]
    assert_allclose(found, [np.vdot(cotangent, change) / 2e-6 for change in changes], atol=1e-6)


@pytest.mark.parametrize("name", SPACES)
def test_laws(name):
    space, rng = bo.Space(SPACES[name]), np.random.default_rng(0)
    check_kernel(with_schedules(space, space_kernel(space)), space, rng)
    check_kernel(space_kernel(space), space, rng)


def test_a_space_without_resources_has_the_kernel_it_had():
    space = bo.Space({"p": bo.Permutation(list("abcd")), "b": bool})
    kernel = space_kernel(space)
    assert with_schedules(space, kernel) is kernel


def test_orders_that_agree_before_each_resource_are_one_point():
    space = bo.Space({"p": SHOP})
    x, y = (space.parse({"p": list(order)})[None] for order in ("abcabcca", "bacabcca"))  # both first operations move
    kernel = with_schedules(space, space_kernel(space))
    theta = np.random.default_rng(0).normal(size=sum(block.size for block in kernel.parameters))
    assert (x != y).any()
    assert_allclose(kernel.gram(theta, kernel.prepare(x, y)), kernel.gram(theta, kernel.prepare(x, x)))


@given(rngs())
def test_names_of_items_resources_and_chains_do_not_matter(rng):
    waits = Waits((0, 0, 1, 1, 2, 2, 0), tuple(range(7)))
    names, theta = rng.permutation(7), rng.normal(size=8)
    old = np.argsort(names)
    other = Waits(tuple(2 - waits.resources[item] for item in old), tuple(waits.chains[item] for item in old))
    orders = rng.permuted(np.tile(np.arange(7), (5, 1)), axis=1)
    ends = schedule(find_slots(waits, orders), np.exp(theta[:7])).ends
    assert_allclose(schedule(find_slots(other, names[orders]), np.exp(theta[:7][old])).ends, ends[:, old])
    shapes = OrderShape(7, waits.resources), OrderShape(7, other.resources)
    assert_allclose(
        compare_queues(shapes[1], names[orders], names[orders])[0], compare_queues(shapes[0], orders, orders)[0]
    )


def test_auto_learns_a_makespan_from_few_orders():
    rng = np.random.default_rng(1)
    resources = {job: rng.permutation(4).tolist() for job in range(5)}
    order = bo.Permutation(dict.fromkeys(range(5), 4), resources=resources)
    space, durations = bo.Space({"p": order}), rng.integers(1, 9, size=20).astype(float)
    waits = Waits(tuple(int(name) for name in order.resources), order.chains)
    xs = space.sample(80, rng)
    values = schedule(find_slots(waits, xs), durations).ends.max(axis=1)
    surrogate = bo.methods.auto(space).surrogate
    posterior, _, _ = surrogate.condition(xs[:60], values[:60], surrogate.initial_state(), rng)
    errors = posterior.predict(xs[60:]).mean[0] - values[60:]
    assert np.mean(errors**2) < 0.1 * np.var(values[60:])
