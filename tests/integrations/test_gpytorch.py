"""The bridge: a kernel of ours is the same kernel inside GPyTorch and BoTorch."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import gpytorch
import networkx as nx
import numpy as np
import pytest
import torch
from torch.func import functional_call

import bostruct as bo
from bostruct.contracts import Parameter, Prior
from bostruct.domains.space.space import Space
from bostruct.integrations.gpytorch import BlockPrior, GramKernel, diffusion_kernel
from bostruct.kernels.space.diffusion import ard_diffusion
from bostruct.kernels.space.product import SpaceKernel
from bostruct.kernels.space.spectra import LogEdgeWeight
from bostruct.methods import combo
from bostruct.methods.combo import EDGE_WEIGHT_PRIOR
from bostruct.methods.defaults import default_kernel, space_kernel, variable_graphs
from bostruct.surrogates.hyperparameters import Hyperparameters
from bostruct.surrogates.posterior import GaussianPosterior, fit_posterior_sample

SPACE = Space({"a": bool, "b": ["x", "y", "z"], "c": range(4), "d": bo.Graph(nx.cycle_graph(5)), "e": bool})
NAME = "log_edge_weight"


def points(n: int, seed: int = 0) -> Any:
    return SPACE.sample(n, np.random.default_rng(seed))


def published_kernel() -> SpaceKernel:
    """Its diagonal depends on theta."""
    return ard_diffusion(variable_graphs(SPACE), EDGE_WEIGHT_PRIOR, LogEdgeWeight(), initial=-0.5)


def values_of(xs: Any) -> torch.Tensor:
    value = xs[:, 0] + 0.5 * (xs[:, 1] == 1) + 0.3 * xs[:, 2] - 0.2 * xs[:, 0] * xs[:, 2]
    return torch.from_numpy(value - value.mean())


class StockGP(gpytorch.models.ExactGP):
    def __init__(self, xs: torch.Tensor, values: torch.Tensor, kernel: gpytorch.kernels.Kernel) -> None:
        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        super().__init__(xs, values, likelihood)
        self.mean_module = gpytorch.means.ConstantMean().double()
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel).double()

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float64])
def test_gram_is_ours_whatever_the_type_of_the_codes(dtype: torch.dtype) -> None:
    kernel, xs, ys = published_kernel(), points(7), points(5, 1)
    theta = np.linspace(-2.0, 0.5, SPACE.d)
    bridge = GramKernel(kernel)
    bridge.initialize(**{NAME: torch.from_numpy(theta)[None]})
    found = bridge(torch.from_numpy(xs).to(dtype), torch.from_numpy(ys).to(dtype)).to_dense()
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.detach().numpy(), kernel.gram(theta, kernel.prepare(xs, ys)), rtol=1e-14)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float64])
def test_rows_of_a_space_with_conditions_are_inputs(dtype: torch.dtype) -> None:
    space = Space({"a": ["x", "y"], "c": bo.Binary(when={"a": "x"}), "d": range(3)})
    xs, kernel = space.enumerate(), space_kernel(space)
    bridges = diffusion_kernel(space), GramKernel(default_kernel(space))
    expected = kernel.gram(np.concatenate([np.full(p.size, p.initial) for p in kernel.parameters]), kernel.prepare(xs))
    for bridge in bridges:
        found = bridge(torch.from_numpy(xs).to(dtype)).to_dense()
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-14)
        lacking = torch.from_numpy(np.where([False, False, True], xs.min(), xs)).to(dtype)
        with pytest.raises(ValueError, match="in column 2, got -9"):  # of a variable that every point has
            bridge(lacking).to_dense()


def test_single_precision_in_single_precision_out() -> None:
    xs = torch.from_numpy(points(6)).float()
    bridge = GramKernel(published_kernel(), dtype=torch.float32)
    gram = bridge(xs).to_dense()
    gram.sum().backward()
    assert gram.dtype == torch.float32
    assert bridge.get_parameter(NAME).grad is not None
    assert bridge.get_parameter(NAME).grad.dtype == torch.float32  # type: ignore[union-attr]


@pytest.mark.parametrize("diag", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
def test_gradient_is_that_of_finite_differences(diag: bool, by_rows: bool) -> None:
    xs = points(6)
    bridge = GramKernel(published_kernel(), points=xs if by_rows else None)
    inputs = torch.tensor([[0], [3], [1], [3]]) if by_rows else torch.from_numpy(xs[[0, 3, 1, 3]])

    def gram(theta: torch.Tensor) -> torch.Tensor:
        out = functional_call(bridge, {NAME: theta}, (inputs,), {"diag": diag})
        return out if diag else out.to_dense()

    start = torch.linspace(-2.0, 0.0, SPACE.d, dtype=torch.float64)[None].requires_grad_()
    assert torch.autograd.gradcheck(gram, (start,))


def test_double_backward_is_refused() -> None:
    bridge = GramKernel(published_kernel())
    total = bridge(torch.from_numpy(points(4))).to_dense().sum()
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(total, bridge.get_parameter(NAME), create_graph=True)


def test_rows_of_points_give_the_gram_of_those_points() -> None:
    kernel, xs = published_kernel(), points(8)
    direct, rows = GramKernel(kernel), GramKernel(kernel, points=xs)
    left, right = torch.tensor([[4], [0], [4]]), torch.tensor([[7], [4]])
    expected = direct(torch.from_numpy(xs[[4, 0, 4]]), torch.from_numpy(xs[[7, 4]])).to_dense()
    torch.testing.assert_close(rows(left, right).to_dense(), expected)


def test_leading_dimensions_broadcast() -> None:
    xs = torch.from_numpy(np.stack([points(4, seed) for seed in range(6)]).reshape(2, 3, 4, SPACE.d))
    ys = torch.from_numpy(points(5, 9))
    bridge = GramKernel(published_kernel())
    shared, own, diagonal = bridge(xs, ys).to_dense(), bridge(xs).to_dense(), bridge(xs, diag=True)
    assert shared.shape == (2, 3, 4, 5)
    assert own.shape == (2, 3, 4, 4)
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(shared[i, j], bridge(xs[i, j], ys).to_dense())
            torch.testing.assert_close(own[i, j], bridge(xs[i, j]).to_dense())
            torch.testing.assert_close(diagonal[i, j], own[i, j].diagonal())


def test_a_batch_of_parameters_is_a_batch_of_kernels() -> None:
    batch = torch.stack([torch.full((1, SPACE.d), t, dtype=torch.float64) for t in (-2.0, 0.0, 0.5)])
    many = GramKernel(published_kernel(), batch_shape=torch.Size([3]))
    many.initialize(**{NAME: batch})
    xs = torch.from_numpy(points(5))
    grams = many(xs).to_dense()
    assert grams.shape == (3, 5, 5)
    for theta, gram in zip(batch, grams, strict=True):
        one = GramKernel(published_kernel())
        one.initialize(**{NAME: theta})
        torch.testing.assert_close(gram, one(xs).to_dense())
    torch.testing.assert_close(many[1](xs).to_dense(), grams[1])


def test_stock_gp_predicts_as_our_posterior_does() -> None:
    xs, new = points(20), points(9, 5)
    values = values_of(xs)
    model = StockGP(torch.from_numpy(xs), values, diffusion_kernel(SPACE))
    model.covar_module.outputscale, model.likelihood.noise, mean = 1.7, 0.02, 0.3
    model.mean_module.constant.data.fill_(mean)
    kernel = space_kernel(SPACE)
    theta = np.full(SPACE.d, kernel.initial)
    hyper = Hyperparameters(mean, float(np.log(1.7)), float(np.log(0.02)), theta)
    one = fit_posterior_sample(kernel, xs, values.numpy() - mean, hyper, 0.0)
    ours = GaussianPosterior(kernel, xs, SPACE.join, [one], 0.0).predict(new)
    model.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var(False):
        theirs = model(torch.from_numpy(new))
    np.testing.assert_allclose(theirs.mean.numpy(), ours.mean[0], atol=1e-8)
    np.testing.assert_allclose(theirs.variance.numpy(), ours.variance[0], atol=1e-7)


@pytest.mark.parametrize("optimizer", ["adam", "lbfgs"])
def test_stock_training_raises_the_marginal_likelihood(optimizer: str) -> None:
    xs = points(25)
    model = StockGP(torch.from_numpy(xs), values_of(xs), diffusion_kernel(SPACE))
    loss_of = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}

    def closure() -> torch.Tensor:
        descent.zero_grad()
        loss = -loss_of(model(torch.from_numpy(xs)), model.train_targets)
        loss.backward()
        return loss

    if optimizer == "adam":
        descent: torch.optim.Optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        losses = [float(descent.step(closure).detach()) for _ in range(40)]  # type: ignore[arg-type]
    else:
        descent = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=20, line_search_fn="strong_wolfe")
        losses = [float(descent.step(closure).detach()), float(closure().detach())]  # type: ignore[arg-type]
    assert losses[-1] < losses[0] - 0.1
    moved = [name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])]
    assert "covar_module.base_kernel.log_lengthscale" in moved


def test_priors_add_their_density_and_slope_to_the_loss() -> None:
    xs = points(10)
    model = StockGP(torch.from_numpy(xs), values_of(xs), GramKernel(published_kernel(), priors=True))
    plain = StockGP(torch.from_numpy(xs), values_of(xs), GramKernel(published_kernel()))
    losses, slopes = [], []
    for each in (model, plain):
        each.train()
        marginal = gpytorch.mlls.ExactMarginalLogLikelihood(each.likelihood, each)
        loss = marginal(each(torch.from_numpy(xs)), each.train_targets)
        loss.backward()
        losses.append(float(loss.detach()) * len(xs))
        slopes.append(each.covar_module.base_kernel.get_parameter(NAME).grad.numpy() * len(xs))
    density, step = EDGE_WEIGHT_PRIOR.log_density, 1e-6
    assert losses[0] - losses[1] == pytest.approx(SPACE.d * density(-0.5))
    slope = (density(-0.5 + step) - density(-0.5 - step)) / (2 * step)
    np.testing.assert_allclose(slopes[0] - slopes[1], slope, rtol=1e-6)


def test_botorch_fits_and_searches() -> None:
    pytest.importorskip("botorch")
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf_discrete_local_search

    xs = points(20)
    train_x, train_y = torch.from_numpy(xs).double(), -values_of(xs)[:, None]
    kernel = gpytorch.kernels.ScaleKernel(diffusion_kernel(SPACE)).double()
    model = SingleTaskGP(train_x, train_y, covar_module=kernel)
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    choices = [torch.arange(int(k), dtype=torch.float64) for k in SPACE.n_choices]
    acquisition = LogExpectedImprovement(model, best_f=float(train_y.max()))
    found, score = optimize_acqf_discrete_local_search(
        acquisition, discrete_choices=choices, q=1, num_restarts=4, raw_samples=32, X_avoid=train_x
    )
    SPACE.check(found[0].numpy().astype(np.int64))
    every = torch.from_numpy(SPACE.enumerate()).double()[:, None]
    unseen = (every != train_x).any(-1).all(-1)
    with torch.no_grad():
        assert float(score) == pytest.approx(float(acquisition(every)[unseen].max()), rel=1e-6)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (torch.zeros(3, 4), "expected 5 columns"),
        (torch.tensor([[0.0, 0.5, 0, 0, 0]]), r"0..2 in column 1, got 0.5"),
        (torch.tensor([[0, 0, 4, 0, 0]]), r"0..3 in column 2, got 4"),
        (torch.tensor([[0, 0, 0, 0, -1]]), r"0..1 in column 4, got -1"),
        (torch.zeros(1, 5, requires_grad=True), "no gradient"),
    ],
)
def test_inputs_that_are_no_codes_are_refused(inputs: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diffusion_kernel(SPACE)(inputs).to_dense()


def test_row_numbers_beyond_the_points_are_refused() -> None:
    with pytest.raises(ValueError, match=r"0..3 in column 0, got 4"):
        GramKernel(published_kernel(), points=points(4))(torch.tensor([[0], [4]])).to_dense()


def test_columns_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="last_dim_is_batch"):
        diffusion_kernel(SPACE).forward(torch.zeros(2, 5), torch.zeros(2, 5), last_dim_is_batch=True)


def test_a_prior_without_a_gradient_of_its_own_has_that_of_differences() -> None:
    class Flat(Prior):
        def log_density(self, theta: float) -> float:
            return -2.0 * theta

    flat: Prior = Flat()
    kernel = ard_diffusion(variable_graphs(SPACE), flat, LogEdgeWeight())
    assert kernel.parameters == (Parameter(NAME, SPACE.d, flat, 0.0),)
    theta = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    BlockPrior(kernel.parameters[0]).log_prob(theta).sum().backward()
    np.testing.assert_allclose(theta.grad, -2.0, rtol=1e-6)
    assert GramKernel(kernel, priors=True).kernel is kernel


def test_the_kernel_of_combo_is_served_too() -> None:
    kernel: Any = combo(SPACE).surrogate
    xs = torch.from_numpy(points(5))
    gram = GramKernel(kernel.kernel)(xs).to_dense().detach().numpy()
    expected = kernel.kernel.gram(np.zeros(SPACE.d), kernel.kernel.prepare(xs.numpy(), xs.numpy()))
    np.testing.assert_allclose(gram, expected, rtol=1e-14)


def test_the_documentation_runs_as_it_stands() -> None:
    page = Path(__file__).parents[2] / "docs" / "gpytorch.md"
    first, second, mixed = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    torch.manual_seed(0)  # GPyTorch and BoTorch draw from the global generator
    exec(first, names)
    assert names["point"]["unroll"] == 4
    exec(mixed, names)
    if importlib.util.find_spec("botorch") is not None:
        exec(second, names)
        assert names["found"].shape == (1, 3)
