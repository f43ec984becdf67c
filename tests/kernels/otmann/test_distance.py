"""OTMANN's laws: exactness, a metric on masses, blindness to how layers are listed; and its refusals."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import CNN, Family, Label
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.otmann.distance import cached_profile, layer_masses, otmann_distances, path_lengths, profile
from bostruct.kernels.otmann.settings import PAPER, REFERENCE, Otmann
from tests.architectures import GOLDEN, SMALL_CNN, SMALL_MLP, architectures, batches, network, renumbered
from tests.kernels.otmann.oracle import distance_by_linear_program, hops_to_output_by_enumeration, matching_costs

some_examples = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
few_examples = settings(some_examples, max_examples=25)
SETTINGS = [
    REFERENCE,
    PAPER,
    Otmann(weights=(0.0, 0.4), attribute_costs=(("stride", 0.3), ("dropout", 0.15)), end_floor=0.0),
]


@some_examples
@given(batches(2), st.sampled_from(SETTINGS))
def test_exact_by_linear_programming(pair, chosen):
    a, b = pair
    found = bo.otmann(a, b, dataclasses.replace(chosen, attribute_costs=()))
    for weight, distance in zip(found.weights, found.distance, strict=True):
        expected = distance_by_linear_program(a, b, chosen, float(weight))
        scale = layer_masses(a, chosen).sum() + layer_masses(b, chosen).sum()
        assert distance == pytest.approx(expected, rel=1e-9, abs=1e-10 * scale)


@few_examples
@given(batches(2), st.sampled_from([REFERENCE, PAPER]), st.integers(0, 2**32 - 1))
def test_plan_is_feasible_and_costs_the_distance(pair, chosen, seed):
    a, b = pair[0], renumbered(pair[1], np.random.default_rng(seed))
    otmann_distances(pair, settings=chosen)  # which remembers b under other numbers of its layers
    found = bo.otmann(a, b, chosen)
    masses, masses2 = found.masses
    for weight, plan, distance in zip(found.weights, found.plan, found.distance, strict=True):
        assert plan.shape == (len(a), len(b))
        assert plan.min() >= 0.0
        assert np.all(plan.sum(axis=1) <= masses * (1 + 1e-12))
        assert np.all(plan.sum(axis=0) <= masses2 * (1 + 1e-12))
        costs = matching_costs(a, b, chosen, float(weight))
        matched = plan > 0
        assert np.all(costs[matched] <= 2.0 + 1e-9)
        unmatched = masses.sum() + masses2.sum() - 2.0 * plan.sum()
        total = (plan[matched] * costs[matched]).sum() + unmatched
        assert total == pytest.approx(distance, rel=1e-9, abs=1e-9 * masses.sum())


@some_examples
@given(batches(3), st.sampled_from(SETTINGS))
def test_a_pseudo_metric(triple, chosen):
    far, normalized = otmann_distances(triple, settings=chosen)
    slack = 1e-9 * max(layer_masses(x, chosen).sum() for x in triple)
    np.testing.assert_array_equal(far, far.transpose(1, 0, 2))
    across = otmann_distances(triple, list(triple), chosen).distance  # both triangles and the diagonal computed
    np.testing.assert_allclose(across, far, rtol=1e-9, atol=slack)
    for i in range(3):
        assert np.all(across[i, i] <= slack)
        for j in range(3):
            for k in range(3):
                assert np.all(far[i, k] <= far[i, j] + far[j, k] + slack)
    assert np.all((normalized >= 0) & (normalized <= 1 + 1e-12))


@some_examples
@given(st.sampled_from([SMALL_CNN, SMALL_MLP]).flatmap(architectures), st.integers(0, 2**32 - 1))
def test_blind_to_the_order_of_layers(x, seed):
    other = GOLDEN["c"] if x.family == CNN else GOLDEN["m3"]
    y = renumbered(x, np.random.default_rng(seed))
    cached_profile.cache_clear()  # equal architectures would share one entry
    first = otmann_distances([x], [other]).distance
    cached_profile.cache_clear()
    np.testing.assert_array_equal(otmann_distances([y], [other]).distance, first)  # to the last bit


@some_examples
@given(batches(4), st.integers(1, 3))
def test_a_batch_is_its_pairs(xs, cut):
    whole = otmann_distances(xs).distance
    block = otmann_distances(xs[:cut], xs[cut:]).distance
    np.testing.assert_allclose(block, whole[:cut, cut:], rtol=1e-12, atol=1e-9)
    one = otmann_distances([xs[0]], [xs[-1]], Otmann(weights=(0.61,))).distance
    np.testing.assert_allclose(one[0, 0], whole[0, -1, 2:3], rtol=1e-12, atol=1e-9)


@few_examples
@given(st.sampled_from([SMALL_CNN, SMALL_MLP]).flatmap(architectures))
def test_path_lengths_by_enumeration(x):
    lengths = path_lengths(x)
    groups = (None, *x.family.groups)
    assert lengths.shape == (len(x), 2, 3, len(groups))
    for u in range(len(x)):
        for column, group in enumerate(groups):
            expected = hops_to_output_by_enumeration(x, u, group)
            np.testing.assert_allclose(lengths[u, 0, :, column], expected, rtol=1e-12, atol=1e-12)


def test_path_lengths_from_the_input_mirror_those_to_the_output():
    x = network("ip conv3-8 conv5-8 conv7-8 softmax op", "0>1 1>2 2>3 1>3 3>4 4>5")
    lengths = path_lengths(x)[:, 1]
    np.testing.assert_allclose(
        lengths[:, :, 0], [[0, 0, 0], [1, 1, 1], [2, 2, 2], [2, 3, 2.5], [3, 4, 3.5], [4, 5, 4.5]]
    )
    np.testing.assert_allclose(lengths[:, 2, 1], [0, 1, 2, 2.5, 2.5, 2.5])


def test_attributes_cost_what_the_settings_say():
    plain = network("conv3-16 conv3-32 softmax")
    dropped = Architecture.chain(["conv3-16", ("conv3", 32, 1, {"dropout": 0.5}), "softmax"])
    strided = network("conv3-16 conv3-32/2 softmax")
    assert plain != dropped
    assert plain != strided
    assert otmann_distances([plain], [dropped, strided]).distance.max() == 0.0
    costs = Otmann(weights=(1.0,), attribute_costs=(("dropout", 0.25), ("stride", 0.5)))
    far = otmann_distances([plain], [dropped, strided], costs).distance[0, :, 0]
    np.testing.assert_allclose(far, [0.25 * 512, 0.5 * 512])


def test_a_new_label_and_its_costs():
    family = CNN.with_label(Label("sep3", group="conv", image="strides"), {"conv3": 0.3}, "separable")
    known = Architecture.chain("conv3-16 conv3-32 softmax", family)
    new = Architecture.chain("conv3-16 sep3-32 softmax", family)
    far = bo.otmann(known, new, Otmann(weights=(0.0,))).distance
    np.testing.assert_allclose(far, [0.3 * 512])
    table = family.mismatch[family.index["sep3"]]
    assert table[family.index["res3"]] == pytest.approx(0.4)  # by way of conv3
    assert np.isinf(table[family.index["fc"]])
    with pytest.raises(DomainError, match="triangle inequality"):
        CNN.with_label(Label("sep3", group="conv"), {"conv3": 0.1, "conv5": 0.05}, "separable")


def test_refusals():
    cnn, mlp = GOLDEN["a"], GOLDEN["m1"]
    with pytest.raises(ValueError, match="one family, got cnn and mlp"):
        bo.otmann(cnn, mlp)
    with pytest.raises(ValueError, match="expected architectures, got 'conv3'"):
        otmann_distances(["conv3"])
    with pytest.raises(ValueError, match="at least one structural weight"):
        Otmann(weights=())
    with pytest.raises(ValueError, match=r"weights: expected a finite number of at least 0, got -1"):
        Otmann(weights=(-1.0,))
    with pytest.raises(ValueError, match="symmetric"):
        bo.otmann(cnn, cnn, Otmann(costs=_lopsided))


def _lopsided(family: Family):
    return np.triu(family.mismatch)


def test_without_any_mass():
    bare = network("ip linear op", "0>1 1>2")
    found = bo.otmann(bare, Architecture(["ip", "linear", "linear", "op"], [(0, 1), (0, 2), (1, 3), (2, 3)]), PAPER)
    assert found.distance == found.normalized == 0.0


def test_threads_share_no_memory():
    pool = bo.cnn_domain().pool
    expected = otmann_distances(pool, pool).distance
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: otmann_distances(pool, pool).distance, range(200)))
    np.testing.assert_array_equal(found, np.broadcast_to(expected, (200, *expected.shape)))


def test_empty_batches():
    assert otmann_distances([]).distance.shape == (0, 0, 4)
    assert otmann_distances([GOLDEN["a"]], []).normalized.shape == (1, 0, 4)


def test_the_six_terms_of_the_paper_are_the_path_lengths_of_all_layers():
    """The structural cost of a match is the mean of 6 differences of path lengths (paper), not of 24 (code)."""
    a, b = network("ip conv3-8 conv3-8 softmax op", "0>1 1>2 2>3 3>4"), network("ip conv3-8 softmax op", "0>1 1>2 2>3")
    first, second = (profile(x, Otmann(group_paths=False)) for x in (a, b))
    assert (len(first.paths), len(profile(a, Otmann()).paths)) == (6, 24)
    expected = np.abs(path_lengths(a)[1, :, :, 0] - path_lengths(b)[1, :, :, 0]).mean()
    at = [int(np.flatnonzero(one.layers == 1)[0]) for one in (first, second)]
    assert np.abs(first.paths[:, at[0]] - second.paths[:, at[1]]).sum() == pytest.approx(expected)
    assert expected == 0.5  # to the output 3 and 2 hops by each of three kinds of path, from the input 1 and 1
    full, text = (bo.otmann(a, b, Otmann(group_paths=paths)).distance for paths in (True, False))
    assert np.all(text > full)  # three of four columns of the code count other groups' layers, which agree here
