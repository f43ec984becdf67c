"""BoTorch in arrays against GPyTorch, brute force, and the package itself where it is installed."""

import itertools
import math

import numpy as np
import pytest

import bostruct as bo
from benchmarks.peers import botorch_fast, botorch_search
from benchmarks.peers.botorch_fast import RBF, Hamming, compute_loss, find_mode, fit, search_locally
from benchmarks.peers.botorch_search import botorch, draw_points, fast_botorch
from benchmarks.peers.groups import CHOICES, GROUPS, TRAINED, list_searches, make_task
from benchmarks.peers.run import draw_initial
from benchmarks.peers.searches import Coder
from benchmarks.peers.tasks import Task

pytestmark = pytest.mark.slow  # of the code of a benchmark, not of the package

SIZES = (3, 4, 2, 3, 5)


def points_of(kind: str, n: int, d: int = 6) -> tuple[Hamming | RBF, np.ndarray, np.ndarray]:
    """Return a kernel, distinct points and their values."""
    rng = np.random.default_rng(len(kind) + n)
    if kind == "rbf":
        x = np.unique(rng.integers(3, size=(n, d)) / 2.0, axis=0)
        kernel: Hamming | RBF = RBF(d)
    else:
        x = np.unique(np.stack([rng.integers(size, size=n) for size in SIZES], axis=1).astype(float), axis=0)
        kernel = Hamming(SIZES)
    rng.shuffle(x)
    return kernel, x, np.sin(3.0 * x @ np.arange(1.0, x.shape[1] + 1)) + x[:, 0] - 100.0


@pytest.mark.parametrize("kind", ["rbf", "hamming"])
def test_losses_and_slopes_are_those_of_gpytorch(kind):
    torch, gpytorch = pytest.importorskip("torch"), pytest.importorskip("gpytorch")
    kernel, x, values = points_of(kind, 30)
    mode, posterior = find_mode(kernel, x, values), fit(kernel, x, values)

    class Distances(gpytorch.kernels.Kernel):
        """Of categories."""

        has_lengthscale = True

        def forward(self, a, b, diag=False, **_):
            found = torch.exp(-((a.unsqueeze(-2) != b.unsqueeze(-3)) / self.lengthscale.unsqueeze(-2)).mean(-1))
            return torch.diagonal(found, dim1=-1, dim2=-2) if diag else found

    if kind == "rbf":
        prior = gpytorch.priors.LogNormalPrior(math.sqrt(2.0) + 0.5 * math.log(x.shape[1]), math.sqrt(3.0))
        least = gpytorch.constraints.GreaterThan(0.025, transform=None, initial_value=1.0)
        scales = {"ard_num_dims": x.shape[1], "lengthscale_constraint": least}
        covariance = gpytorch.kernels.RBFKernel(lengthscale_prior=prior, **scales)
    else:
        least = gpytorch.constraints.GreaterThan(botorch_fast.LEAST_HAMMING)
        base = Distances(ard_num_dims=x.shape[1], lengthscale_constraint=least)
        covariance = gpytorch.kernels.ScaleKernel(base)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(
        noise_prior=gpytorch.priors.LogNormalPrior(*botorch_fast.NOISE_PRIOR),
        noise_constraint=gpytorch.constraints.GreaterThan(botorch_fast.LEAST_NOISE, transform=None, initial_value=0.1),
    )

    class Model(gpytorch.models.ExactGP):
        def __init__(self):
            standard = (values - values.mean()) / values.std(ddof=1)
            super().__init__(torch.tensor(x), torch.tensor(standard), likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), covariance

        def forward(self, at):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(at), self.covar_module(at))

    model = Model().double()
    likelihood.noise_covar.raw_noise.data[:] = mode[0]
    model.mean_module.raw_constant.data.fill_(mode[1])
    own = covariance if kind == "rbf" else covariance.base_kernel
    own.raw_lengthscale.data[0] = torch.tensor(posterior.parameters[: x.shape[1]])
    if kind == "hamming":
        covariance.raw_outputscale.data.fill_(posterior.parameters[-1])
    loss = -gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(*model.train_inputs), model.train_targets)
    assert compute_loss(kernel, x, values, mode)[0] == pytest.approx(loss.item(), rel=1e-6)
    loss.backward()
    for one in model.parameters():  # the mode of this package is one of GPyTorch's, too, unless at a bound
        free = (
            one.grad[one.data > botorch_fast.LEAST_NOISE * 1.0001]
            if one is likelihood.noise_covar.raw_noise
            else one.grad
        )
        assert np.abs(free.numpy()).max(initial=0.0) < 1e-3
    model.eval(), likelihood.eval()
    elsewhere = x[:7] + 1.0 if kind == "hamming" else x[:7] + 0.25
    elsewhere = np.minimum(elsewhere, np.array(SIZES) - 1.0) if kind == "hamming" else elsewhere
    with torch.no_grad():
        expected = model(torch.tensor(elsewhere))
    means, variances = posterior.predict(elsewhere)
    scale = values.std(ddof=1)
    np.testing.assert_allclose(means, values.mean() + scale * expected.mean.numpy(), rtol=1e-7)
    np.testing.assert_allclose(variances, scale**2 * expected.variance.numpy(), rtol=1e-5)


def test_the_density_of_a_lognormal_number_is_scipys():
    stats = pytest.importorskip("scipy.stats")
    own, x = botorch_fast.LogNormal(0.3, 1.7), np.array([0.01, 0.7, 30.0])
    total, slopes = own.compute_log_density(x)
    assert total == pytest.approx(stats.lognorm.logpdf(x, 1.7, scale=math.exp(0.3)).sum())
    step = 1e-6 * x
    for i in range(3):
        up, down = (own.compute_log_density(x + sign * step * (np.arange(3) == i))[0] for sign in (1, -1))
        assert slopes[i] == pytest.approx((up - down) / (2.0 * step[i]), rel=1e-6)
    assert own.compute_log_density(np.array([own.mode]))[1] == pytest.approx(0.0)


@pytest.mark.parametrize("size", [*range(3, 31), 101])
def test_a_told_point_is_one_of_those_that_a_peer_can_choose(size):
    coder = Coder(bo.Space({"x": bo.Ordinal(list(range(size))), "y": bo.Categorical(list(range(size)))}))
    for value in range(size):
        vector = coder.encode({"x": value, "y": value})
        assert vector[0] in coder.orders[0]
        assert coder.decode(vector) == {"x": value, "y": value}


def test_small_spaces_are_searched_without_repeats():
    space = bo.Space({"x": bo.Ordinal(list(range(6))), "y": bo.Ordinal(list(range(6)))})
    task = Task(space, lambda point: (point["x"] - 3.0) ** 2 + (point["y"] - 3.0) ** 2)
    points = run(fast_botorch, task, [{"x": 0, "y": 0}, {"x": 5, "y": 1}], 35)
    assert len({tuple(point.values()) for point in points}) == 35


def test_variances_have_the_least_of_gpytorch_and_values_may_be_constant():
    torch, gpytorch = pytest.importorskip("torch"), pytest.importorskip("gpytorch")
    assert gpytorch.settings.min_variance.value(torch.double) == botorch_fast.LEAST_VARIANCE
    kernel, x = Hamming([5, 5]), np.random.default_rng(2653).integers(5, size=(18, 2)).astype(float)
    assert np.isfinite(compute_loss(kernel, x, np.ones(18), find_mode(kernel, x, np.ones(18)))[0])


def test_slopes_are_numbers_where_the_variance_of_categories_is_too_small_for_one():
    """Softplus of -800 is 0 in floating point, and its logarithm has slope 1, as at -700."""
    kernel, x, values = points_of("hamming", 20)
    at = np.array([0.1, 0.0, *np.zeros(len(SIZES)), -800.0])
    assert not kernel.compute_gram(at[2:], x, x).any()
    value, slopes = compute_loss(kernel, x, values, at)
    assert np.isfinite([value, *slopes]).all()
    ones = np.ones((len(x), len(x)))
    small = [kernel.differentiate(np.array([*at[2:-1], last]), x, ones, ones)[-1] for last in (-700.0, -800.0)]
    assert small == pytest.approx([ones.sum()] * 2)


def test_climbs_end_where_no_neighbor_is_better_and_avoid_what_is_known():
    rng = np.random.default_rng(0)
    choices = [np.arange(float(size)) for size in SIZES]
    table = rng.normal(size=SIZES)

    def score(x):
        return table[tuple(x.astype(int).T)]

    avoid = np.array(list(itertools.product(*choices)))[rng.permutation(360)[:120]]
    allowed = table.copy()
    allowed[tuple(avoid.astype(int).T)] = -np.inf
    drawn = np.stack([rng.integers(size, size=40) for size in SIZES], axis=1).astype(float)
    free = [at for at in drawn if np.isfinite(allowed[tuple(at.astype(int))])]
    starts = sorted({tuple(at) for at in free}, key=lambda at: -score(np.array([at]))[0])[:5]
    ends = []
    for start in starts:  # one after the other, by hand
        at = [int(v) for v in start]
        while True:
            places = [(i, value) for i, size in enumerate(SIZES) for value in range(size) if value != at[i]]
            ways = [[*at[:i], value, *at[i + 1 :]] for i, value in places]
            best = max(ways, key=lambda way: allowed[tuple(way)])
            if allowed[tuple(best)] <= allowed[tuple(at)]:
                break
            at = best
        ends.append(at)
    expected = max(ends, key=lambda at: allowed[tuple(at)])
    assert search_locally(score, choices, drawn, avoid, 5).tolist() == expected
    with pytest.raises(ValueError, match="not to be avoided"):
        search_locally(score, choices, avoid[:3], avoid, 5)


def test_the_package_is_run_on_three_problems_without_numbers_and_its_equal_on_all():
    for problem in (*(one for group in CHOICES for one in GROUPS[group]), *TRAINED):
        group = "mixed" if problem in TRAINED else next(group for group in CHOICES if problem in GROUPS[group])
        names = list_searches(group, problem)
        assert "BoTorch fast" in names
        assert ("BoTorch" in names) == (problem in ("max-3-sat 60/300", "contamination", "nk 30x5"))
    assert "BoTorch fast" not in list_searches("numbers", "branin")
    with pytest.raises(ValueError, match="only orders and bits"):
        run(fast_botorch, Task(bo.Space({"x": [0, 1], "y": ["a", "b", "c"]}), len), [{"x": 0, "y": "a"}], 2)


def run(search, task: Task, initial, n: int) -> list:
    steps, points = search(task, initial, 7), []
    point = next(steps)
    for _ in range(n):
        points.append(point)
        point = steps.send(task.value(point))
    return points


@pytest.mark.parametrize("problem", ["max-3-sat 60/300", "bowl 30x6", "nk 30x5"])
def test_the_package_has_the_same_mode_acquisition_and_suggestion(problem):
    pytest.importorskip("botorch", reason="BoTorch is not installed")
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import MixedSingleTaskGP, SingleTaskGP
    from botorch.optim import optimize_acqf_discrete_local_search
    from gpytorch.mlls import ExactMarginalLogLikelihood

    task = make_task(problem, 3, None)
    coder = Coder(task.space)
    points = draw_initial(task.space, 3) + draw_initial(task.space, 4)
    x = np.array([coder.encode(point) for point in points])
    values = -np.array([task.value(point) for point in points])
    told, ys = torch.tensor(x), torch.tensor(values)[:, None]
    model = MixedSingleTaskGP(told, ys, cat_dims=list(coder.categories)) if coder.categories else SingleTaskGP(told, ys)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    score = LogExpectedImprovement(model, best_f=ys.max())
    choices = coder.list_choices()
    covariance = model.covar_module.base_kernel if coder.categories else model.covar_module
    parameters = covariance.raw_lengthscale.detach().numpy().ravel()
    if coder.categories:
        kernel: Hamming | RBF = Hamming([len(own) for own in choices])
        parameters = np.append(parameters, model.covar_module.raw_outputscale.item())
    else:
        kernel = RBF(len(choices))
    at = np.array([model.likelihood.noise.item(), model.mean_module.constant.item(), *parameters])
    posterior = botorch_fast.condition(kernel, x, values, at)
    own, theirs = (compute_loss(kernel, x, values, one)[0] for one in (find_mode(kernel, x, values), at))
    if coder.categories:  # its modes are many
        assert own < theirs + 0.1
    else:
        assert own == pytest.approx(theirs, rel=1e-4)
    torch.manual_seed(0)
    drawn = draw_points(choices, 300)
    with torch.no_grad():
        expected = score(torch.tensor(drawn)[:, None]).numpy()
    np.testing.assert_allclose(posterior.compute_log_ei(drawn, values.max()), expected, rtol=1e-5, atol=1e-5)
    torch.manual_seed(1)
    lists = [torch.tensor(own) for own in choices]
    best, _ = optimize_acqf_discrete_local_search(score, lists, 1, num_restarts=5, raw_samples=200, X_avoid=told)
    torch.manual_seed(1)
    drawn = draw_points(choices, 200)
    found = search_locally(lambda at: posterior.compute_log_ei(at, values.max()), choices, drawn, x, 5)
    assert found.tolist() == best[0].tolist()


def test_the_package_and_its_equal_run_alike(monkeypatch):
    pytest.importorskip("botorch", reason="BoTorch is not installed")
    monkeypatch.setattr(botorch_search, "DRAWN", 200)
    task = make_task("max-3-sat", 3, None)
    initial = draw_initial(task.space, 3)
    assert run(fast_botorch, task, initial, 12) == run(botorch, task, initial, 12)
