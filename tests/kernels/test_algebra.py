"""Products of kernels over parts: the laws of a kernel, their formula, what is computed once, and a fit."""

import numpy as np
import pytest

import bostruct as bo
from bostruct.kernels.algebra import PartKernel, Product
from bostruct.kernels.otmann import distance
from bostruct.kernels.otmann import kernel as otmann_kernel
from bostruct.kernels.otmann.kernel import DistanceTerms, OtmannKernel
from bostruct.kernels.space.diffusion import ard_diffusion
from bostruct.kernels.space.product import SpaceKernel
from bostruct.kernels.space.spectra import LogLengthscale
from bostruct.methods.combo import ComboPriors
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.map_gp import MAPGP
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.testing.kernel_laws import check_kernel
from tests.architectures import SMALL_CNN

TRAINING = bo.Space({"rate": bo.Ordinal([0.1, 0.01, 0.001]), "optimizer": ["sgd", "adam"], "augment": bool})
NETWORKS = bo.joint_domain({"architecture": SMALL_CNN, "training": TRAINING})
OTMANN = OtmannKernel(DistanceTerms(Normal(-11.5, 2.0), -11.5), DistanceTerms(Normal(0.0, 1.0), 0.0))


def diffusion(space: bo.Space) -> SpaceKernel:
    graphs = tuple(variable.graph for variable in space.variables.values())
    return ard_diffusion(graphs, Normal(0.0, 1.0), LogLengthscale())


def seen_through(domain, name: str, kernel) -> PartKernel:
    return PartKernel(name, lambda xs: domain.part(name, xs), kernel)


def networks_kernel() -> Product:
    return Product(
        seen_through(NETWORKS, "architecture", OTMANN), seen_through(NETWORKS, "training", diffusion(TRAINING))
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def test_laws_of_a_kernel(rng):
    check_kernel(networks_kernel(), NETWORKS, rng, reach=1.5)


def test_laws_of_a_part_alone_and_of_three(rng):
    domain = bo.joint_domain({"a": {"x": bool, "y": range(3)}, "b": {"z": ["p", "q", "r"]}, "c": TRAINING})
    parts = [
        seen_through(domain, *part) for part in zip(domain.part_names, map(diffusion, domain.domains), strict=True)
    ]
    check_kernel(parts[0], domain, rng, reach=1.5)
    check_kernel(Product(parts[0], Product(parts[1], parts[2])), domain, rng, reach=1.5)


def test_the_formula(rng):
    kernel = networks_kernel()
    xs, ys = NETWORKS.sample(5, rng), NETWORKS.sample(4, rng)
    theta = np.concatenate([np.full(4, -11.0), np.full(4, 0.3), [0.1, -0.2, 0.5]])
    (first, a), (second, b) = ([NETWORKS.part(name, zs) for zs in (xs, ys)] for name in NETWORKS.part_names)
    architecture = OTMANN.gram(theta[:8], OTMANN.prepare(first, a))
    training = diffusion(TRAINING).gram(theta[8:], diffusion(TRAINING).prepare(second, b))
    np.testing.assert_array_equal(kernel.gram(theta, kernel.prepare(xs, ys)), architecture * training)


def test_each_part_has_its_own_parameters():
    blocks = networks_kernel().parameters
    assert [(block.name, block.size) for block in blocks] == [
        ("architecture: log rate of distance", 4),
        ("architecture: log rate of normalized distance", 4),
        ("training: log_lengthscale", 3),
    ]


def test_diffusion_over_parts_is_diffusion_over_the_space_of_all_their_variables(rng):
    """exp(-L t) of a Cartesian product of graphs is the product of those of its factors."""
    first, second = bo.Space({"a": bool, "b": range(4)}), bo.Space({"c": ["p", "q", "r"], "d": bool})
    whole = bo.Space({**first.variables, **second.variables})
    domain = bo.joint_domain({"first": first, "second": second})
    product = Product(
        *(seen_through(domain, *part) for part in zip(domain.part_names, map(diffusion, domain.domains), strict=True))
    )
    theta = rng.normal(size=4)
    xs = domain.sample(8, rng)
    rows, expected = np.array([np.concatenate(x.parts) for x in xs]), diffusion(whole)
    gram = expected.gram(theta, expected.prepare(rows))
    np.testing.assert_allclose(product.gram(theta, product.prepare(xs)), gram, rtol=1e-12)
    np.testing.assert_allclose(product.diag(theta, xs), expected.diag(theta, rows), rtol=1e-12)


def test_no_distance_is_computed_twice(monkeypatch, rng):
    """A training batch is known again through its parts, whatever points of the other part it comes with."""
    counted = []

    def counting(xs, ys=None, settings=None):
        counted.append(len(xs) * (len(xs) - 1) // 2 if ys is None else len(xs) * len(ys))
        return distance.otmann_distances(xs, ys, settings)

    monkeypatch.setattr(otmann_kernel, "otmann_distances", counting)
    otmann = OtmannKernel(OTMANN.distance, OTMANN.normalized)
    kernel = seen_through(NETWORKS, "architecture", otmann)
    networks = list(dict.fromkeys(SMALL_CNN.sample(12, rng)))[:6]
    trained = [TRAINING.present(row) for row in TRAINING.sample(12, rng)]
    pairs = zip([*networks, *networks], trained, strict=True)
    xs = [NETWORKS.parse({"architecture": network, "training": how}) for network, how in pairs]
    kernel.prepare(xs)
    kernel.prepare(xs)
    assert sum(counted) == 6 * 5 // 2


def effects(point: dict) -> tuple[float, float]:
    """Of the architecture, and of how it is trained."""
    return 2.0 * float(np.log10(sum(point["architecture"].masses))), -float(np.log10(point["training"]["rate"]))


@pytest.mark.parametrize("marginalized", [False, True])
def test_a_surrogate_learns_from_both_parts(marginalized, rng):
    """Held-out values are predicted with less than a fifth of the error that knowing one part would leave."""
    points = NETWORKS.sample(120, rng)
    values = np.array([effects(NETWORKS.present(x)) for x in points])
    xs, others, told, truth = points[:60], points[60:], values[:60].sum(axis=1), values[60:]
    model = MAPGP(networks_kernel(), NETWORKS.join, Normal(-5.0, 1.0), -5.0)
    if marginalized:
        model = MarginalizedGP(networks_kernel(), NETWORKS.join, ComboPriors(-1.0, 1.0), burn_in=10, samples=2)
    posterior, _, _ = model.condition(xs, told, model.initial_state(), rng)
    error = posterior.predict(others).mean.mean(axis=0) - truth.sum(axis=1)
    assert np.mean(error**2) < 0.2 * min(truth.var(axis=0))
