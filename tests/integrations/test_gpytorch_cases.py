"""GPyTorch's own test cases of kernels and BoTorch's acquisition searches, on kernels of ours."""

from __future__ import annotations

import unittest
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.test.base_kernel_test_case import BaseKernelTestCase

import bostruct as bo
from bostruct.integrations.gpytorch import GramKernel, diffusion_kernel

N_CHOICES = 3
SPACE = bo.Space({"a": bool, "b": ["x", "y", "z"], "c": bo.Ordinal([1, 2, 4, 8])})


def space_of(n_columns: int) -> bo.Space:
    return bo.Space({f"v{i}": list(range(N_CHOICES)) for i in range(n_columns)})


class CodesCase(BaseKernelTestCase):
    """All cases, on integer codes in place of normal numbers, which are no points of a space.

    The parameters are double by default; `test_kernel_dtype_device` expects those of torch.
    """

    n_columns = 2

    def create_data_no_batch(self):
        return torch.randint(0, N_CHOICES, (50, 10)).to(torch.get_default_dtype())

    def create_data_single_batch(self):
        return torch.randint(0, N_CHOICES, (2, 3, 2)).to(torch.get_default_dtype())

    def create_data_double_batch(self):
        return torch.randint(0, N_CHOICES, (3, 2, 50, 2)).to(torch.get_default_dtype())

    def create_kernel_ard(self, num_dims, **given):
        return diffusion_kernel(space_of(num_dims), **given).to(torch.get_default_dtype())

    def create_kernel_no_ard(self, **given):
        return self.create_kernel_ard(self.n_columns, **given)


class TestDiffusionKernel(CodesCase, unittest.TestCase):
    def test_active_dims_list(self):
        self.n_columns = 4
        super().test_active_dims_list()
        self.assert_that_others_do_not_count([0, 2, 4, 6])

    def test_active_dims_range(self):
        self.n_columns = 6
        super().test_active_dims_range()
        self.assert_that_others_do_not_count(list(range(3, 9)))

    def assert_that_others_do_not_count(self, active):
        kernel, xs = self.create_kernel_no_ard(active_dims=active), self.create_data_no_batch()
        changed = N_CHOICES - 1 - xs
        changed[:, active] = xs[:, active]
        assert torch.equal(kernel(changed).to_dense(), kernel(xs).to_dense())


class TestKernelOfRowNumbers(CodesCase, unittest.TestCase):
    """A kernel over a batch of points, which the one column of its inputs numbers."""

    def create_kernel_no_ard(self, **given):
        space = space_of(3)
        points = space.sample(N_CHOICES, np.random.default_rng(0))
        kernel = diffusion_kernel(space).kernel
        return GramKernel(kernel, points, **given).to(torch.get_default_dtype())

    def create_kernel_ard(self, num_dims, **given):
        raise NotImplementedError

    def create_data_single_batch(self):
        return super().create_data_single_batch()[..., :1]

    def create_data_double_batch(self):
        return super().create_data_double_batch()[..., :1]

    def test_active_dims_list(self):
        # nothing to assert: GPyTorch's case selects columns
        self.skipTest("its inputs have one column, of which there is nothing to choose")

    test_active_dims_range = test_active_dims_list


def value_of(xs: Any) -> torch.Tensor:
    return (xs[:, 0] - 0.5 * (xs[:, 1] == 1).double() + 0.3 * xs[:, 2])[:, None]


def fitted_model(kernel: gpytorch.kernels.Kernel, xs: torch.Tensor, ys: torch.Tensor) -> Any:
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP

    model = SingleTaskGP(xs, ys, covar_module=gpytorch.kernels.ScaleKernel(kernel).double())
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    return model


class TestStockAcquisitions:
    """BoTorch's own searches find the best point by its own acquisition functions."""

    every = torch.from_numpy(SPACE.enumerate()).double()

    @pytest.fixture(autouse=True)
    def _seeded(self):
        """BoTorch draws starts from torch's own generator, and warns of some that lead nowhere."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            yield

    @pytest.fixture
    def model(self):
        pytest.importorskip("botorch")
        xs = torch.from_numpy(SPACE.sample(14, np.random.default_rng(1))).double()
        return fitted_model(diffusion_kernel(SPACE), xs, value_of(xs)), xs

    def test_batches_of_log_expected_improvement_over_all_points(self, model):
        from botorch.acquisition import qLogExpectedImprovement
        from botorch.optim import optimize_acqf_discrete

        model, xs = model
        acquisition = qLogExpectedImprovement(model, best_f=float(value_of(xs).max()))
        unseen = self.every[(self.every[:, None] != xs).any(-1).all(-1)]
        found, _ = optimize_acqf_discrete(acquisition, q=2, choices=unseen, unique=True)
        with torch.no_grad():
            alone = acquisition(unseen[:, None])
        assert torch.equal(found[0], unseen[int(alone.argmax())])
        assert not torch.equal(found[0], found[1])

    def test_local_search(self, model):
        from botorch.acquisition import LogExpectedImprovement
        from botorch.optim import optimize_acqf_discrete_local_search

        model, xs = model
        acquisition = LogExpectedImprovement(model, best_f=float(value_of(xs).max()))
        choices = [torch.arange(int(k)).double() for k in SPACE.n_choices]
        found, value = optimize_acqf_discrete_local_search(
            acquisition, discrete_choices=choices, q=1, num_restarts=3, raw_samples=24
        )
        with torch.no_grad():
            assert float(value) == pytest.approx(float(acquisition(self.every[:, None]).max()), rel=1e-6)
        SPACE.check(found[0].numpy().astype(np.int64))

    def test_mixed_search_moves_the_number_by_its_gradient(self):
        pytest.importorskip("botorch")
        from botorch.acquisition import LogExpectedImprovement
        from botorch.optim import optimize_acqf_mixed_alternating

        rng = np.random.default_rng(2)
        codes = torch.from_numpy(SPACE.sample(24, rng)).double()
        xs = torch.cat([codes, torch.from_numpy(rng.random((24, 1)))], dim=-1)
        ys = value_of(codes) - (xs[:, 3:] - 0.3) ** 2
        kernel = diffusion_kernel(SPACE, active_dims=[0, 1, 2]) * gpytorch.kernels.RBFKernel(active_dims=[3])
        acquisition = LogExpectedImprovement(fitted_model(kernel, xs, ys), best_f=float(ys.max()))
        found, _ = optimize_acqf_mixed_alternating(
            acquisition,
            bounds=torch.tensor([[0.0] * 4, [1.0, 2.0, 3.0, 1.0]]).double(),
            discrete_dims={0: [0.0, 1.0], 2: [0.0, 1.0, 2.0, 3.0]},
            cat_dims={1: [0.0, 1.0, 2.0]},
            q=1,
            num_restarts=2,
            raw_samples=32,
            options={"initialization_strategy": "random"},  # the other one relaxes choices to numbers
        )
        SPACE.check(found[0, :3].numpy().astype(np.int64))
        assert 0.0 <= float(found[0, 3]) <= 1.0
