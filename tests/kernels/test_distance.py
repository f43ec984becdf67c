"""The kernel of a distance: the laws of a kernel, and the distance of features."""

import numpy as np
import pytest

from bostruct.contracts import DomainError
from bostruct.kernels.distance import DistanceKernel, FeatureDistance
from bostruct.methods.defaults import distance_kernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.kernel_laws import check_kernel
from tests.permutations import Described, Distant


@pytest.mark.parametrize("domain", [Distant(5), Described(5)])
def test_laws(domain):
    check_kernel(distance_kernel(domain), domain, np.random.default_rng(0))


def test_values():
    kernel = DistanceKernel(lambda xs, ys: np.abs(np.subtract.outer(xs, ys)), Normal(0.0, 1.0), 0.0)
    gram = kernel.gram(np.array([np.log(2.0)]), kernel.prepare([0.0, 3.0], [1.0]))
    np.testing.assert_allclose(gram, np.exp([[-2.0], [-4.0]]))


def test_features_count_in_units_of_their_scale():
    distance = FeatureDistance(lambda xs: np.array(xs), (1.0, 100.0))
    np.testing.assert_allclose(distance([[0.0, 0.0]], [[3.0, 400.0], [0.0, 0.0]]), [[5.0, 0.0]])


def test_scales_are_those_of_the_domain():
    class InOtherUnits(Described):
        def features(self, xs):
            return 1e6 * super().features(xs)

    plain, large = distance_kernel(Described(5)), distance_kernel(InOtherUnits(5))
    assert large.initial == pytest.approx(plain.initial)


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_distances_that_are_not_finite_are_refused(wrong):
    class Torn(Distant):
        def distances(self, xs, ys):
            return np.where(super().distances(xs, ys) > 2.0, wrong, 1.0)

    with pytest.raises(DomainError, match=r"^Torn: expected finite distances of points, got "):
        distance_kernel(Torn(5))
