"""Kernels of OTMANN distances: the laws of a kernel, its formula, and how many distances it costs."""

import numpy as np
import pytest

from bostruct.domains.architecture.domain import Bounds, cnn_domain
from bostruct.kernels.otmann import distance
from bostruct.kernels.otmann import kernel as otmann_kernel
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.kernels.otmann.kernel import DistanceTerms, OtmannKernel, OtmannSumKernel
from bostruct.kernels.otmann.settings import PAPER, REFERENCE, Otmann
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.kernel_laws import check_kernel
from tests.architectures import GOLDEN, SMALL_CNN, SMALL_MLP

DISTANCE = DistanceTerms(Normal(np.log(1e-5), 2.0), float(np.log(1e-5)))
NORMALIZED = DistanceTerms(Normal(0.0, 1.0), 0.0)
KERNEL = OtmannKernel(DISTANCE, NORMALIZED)
SUM = OtmannSumKernel(KERNEL, Normal(0.0, 1.0))


@pytest.mark.parametrize(
    "kernel", [KERNEL, SUM, OtmannKernel(DISTANCE, NORMALIZED, PAPER)], ids=["one", "sum", "paper"]
)
@pytest.mark.parametrize("domain", [SMALL_CNN, SMALL_MLP], ids=["cnn", "mlp"])
def test_laws_of_a_kernel(kernel, domain):
    check_kernel(kernel, domain, np.random.default_rng(5))


def test_the_formula():
    xs = [GOLDEN["a"], GOLDEN["b"], GOLDEN["VGG1"]]
    far, normalized = otmann_distances(xs, settings=Otmann(weights=(0.1, 0.5)))
    kernel = OtmannKernel(DISTANCE, DistanceTerms(Normal(0.0, 1.0), 0.0, power=2.0), Otmann(weights=(0.1, 0.5)))
    theta = np.log([1e-4, 2e-4, 3.0, 0.5])
    exponent = 1e-4 * far[..., 0] + 2e-4 * far[..., 1]
    exponent2 = 3.0 * normalized[..., 0] ** 2 + 0.5 * normalized[..., 1] ** 2
    expected = np.exp(-exponent - exponent2)
    np.testing.assert_allclose(kernel.gram(theta, kernel.prepare(xs)), expected, rtol=1e-12)
    both = OtmannSumKernel(kernel, Normal(0.0, 1.0))
    mixed = both.gram(np.append(theta, np.log(3.0)), both.prepare(xs))
    np.testing.assert_allclose(mixed, 0.25 * np.exp(-exponent) + 0.75 * np.exp(-exponent2), rtol=1e-12)


def test_power_one_is_positive_definite_and_the_published_square_is_not():
    """On 60 networks, at rates drawn from the published ranges."""
    domain = cnn_domain(Bounds(max_layers=36))
    rng = np.random.default_rng(0)
    xs = [*domain.pool, *domain.sample(60 - len(domain.pool), rng)]
    linear = KERNEL.prepare(xs)
    flat = np.full(4, np.log(1e-30))  # a rate so small that its distances do not count
    smallest = {1.0: [], 2.0: []}
    for _ in range(20):
        rates = rng.uniform(np.log(0.1), np.log(100.0), 4)
        masses = rng.uniform(np.log(1e-9), np.log(1e-3), 4)
        assert np.linalg.eigvalsh(KERNEL.gram(np.append(masses, rates), linear))[0] > -1e-8
        for power, found in smallest.items():
            squared = np.concatenate([linear[:4], linear[4:] ** power])
            found.append(np.linalg.eigvalsh(KERNEL.gram(np.append(flat, rates), squared))[0])
    assert min(smallest[1.0]) > -1e-8
    assert sum(value < -1e-8 for value in smallest[2.0]) >= 15


@pytest.fixture
def counted(monkeypatch):
    """Pairs of each call."""
    pairs = []

    def counting(xs, ys=None, settings=REFERENCE):
        pairs.append(len(xs) * (len(xs) - 1) // 2 if ys is None else len(xs) * len(ys))
        return distance.otmann_distances(xs, ys, settings)

    monkeypatch.setattr(otmann_kernel, "otmann_distances", counting)
    return pairs


def test_a_new_point_costs_its_distances_to_those_known(counted):
    """Training batches repeat and grow; no distance among them is computed twice."""
    xs = list(GOLDEN.values())[:12]
    kernel = OtmannKernel(DISTANCE, NORMALIZED)
    batch = xs[:8]
    first = kernel.prepare(batch)
    np.testing.assert_array_equal(kernel.prepare(batch), first)
    assert sum(counted) == 8 * 7 // 2
    whole = kernel.prepare(xs)
    assert sum(counted) == 12 * 11 // 2
    reverse = xs[::-1]
    np.testing.assert_array_equal(kernel.prepare(reverse), whole[:, ::-1, ::-1])
    assert sum(counted) == 12 * 11 // 2
    np.testing.assert_array_equal(kernel.prepare([xs[3], xs[1]], xs), whole[:, [3, 1]])
    assert sum(counted) == 12 * 11 // 2
    candidates = [GOLDEN["BLK321"], xs[2], GOLDEN["RES321"]]
    across = kernel.prepare(candidates, xs[:9])
    np.testing.assert_array_equal(kernel.prepare(list(candidates), xs)[:, :, :9], across)
    assert sum(counted) == 12 * 11 // 2 + 2 * 12
    np.testing.assert_allclose(across, KERNEL.prepare(candidates, xs[:9]), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(whole, KERNEL.prepare(xs, list(xs)), rtol=1e-12, atol=1e-9)


def test_the_table_of_distances_is_bounded(monkeypatch):
    monkeypatch.setattr(otmann_kernel, "MAX_ROWS", 5)
    kernel = OtmannKernel(DISTANCE, NORMALIZED)
    xs = list(GOLDEN.values())[:12]
    for first in range(6):
        batch = xs[first : first + 4]
        found = kernel.prepare(batch)
        np.testing.assert_allclose(found, KERNEL.prepare(batch, list(batch)), rtol=1e-12, atol=1e-9)
    assert len(kernel._table.architectures) <= 5


def test_beyond_its_bound_the_table_keeps_what_is_asked_for(monkeypatch, counted):
    """A batch that grows beyond the bound, with others that take turns with it, costs its new distances alone."""
    monkeypatch.setattr(otmann_kernel, "MAX_ROWS", 5)
    kernel = OtmannKernel(DISTANCE, NORMALIZED)
    xs, out = list(GOLDEN.values())[:12], list(GOLDEN.values())[12]
    candidates = list(GOLDEN.values())[13:15]
    batch = xs[:8]
    kernel.prepare(batch)
    for n in range(9, 12):
        counted.clear()
        batch, joined = xs[:n], [*xs[:n], out]
        kernel.prepare(batch)
        found = kernel.prepare(joined)
        assert sum(counted) <= n - 1 + n  # of the newest point and, where it had to go, of the other one
        np.testing.assert_allclose(found, KERNEL.prepare(joined, list(joined)), rtol=1e-12, atol=1e-9)
        counted.clear()
        for _ in range(3):
            kernel.prepare(batch)
            kernel.prepare(candidates, batch)
            kernel.prepare(joined)
            kernel.prepare(candidates, joined)
        assert sum(counted) == 2 * (n + 1)
        assert len(kernel._table.architectures) <= 1.25 * (n + 1)


def test_a_second_study_does_not_pay_for_the_first(counted):
    kernel = OtmannKernel(DISTANCE, NORMALIZED)
    first, second = list(GOLDEN.values())[:7], list(GOLDEN.values())[5:12]
    kernel.prepare(first)
    counted.clear()
    found = kernel.prepare(second)
    assert sum(counted) == 7 * 6 // 2 - 1  # they share a pair
    np.testing.assert_allclose(found, KERNEL.prepare(second, list(second)), rtol=1e-12, atol=1e-9)
    counted.clear()
    across = kernel.prepare([first[0], GOLDEN["BLK321"]], second)
    assert sum(counted) == 5 + 7  # two of the second study were met by the first
    np.testing.assert_allclose(across, KERNEL.prepare([first[0], GOLDEN["BLK321"]], second), rtol=1e-12, atol=1e-9)
