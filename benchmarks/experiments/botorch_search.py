"""BoTorch on choices and orders: its default GPs and its acquisitions for noise, limits or several objectives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bostruct as bo
from benchmarks.experiments.digits import Digits
from benchmarks.experiments.instances import Instance, Measured
from benchmarks.experiments.telling import ObservedTrial, Record
from benchmarks.peers.tasks import Point

N_DRAWN, N_STARTS, N_STEPS = 512, 3, 20  # local search: random points, starting points, steps
AT_ONCE = 512  # points scored together
N_SAMPLES = 64  # posterior samples of Monte Carlo acquisitions


class Vectors:
    """Encode points for a GP of BoTorch: categories as positions, other choices and places of items in 0 to 1.

    space: a space of choices and orders.
    """

    def __init__(self, space: bo.Space) -> None:
        self.space, self.digits = space, Digits(space)
        plain = [own for own in space.variables.values() if not isinstance(own, bo.Permutation)]
        self.categories = [i for i, own in enumerate(plain) if own.size > 2 and not own.ordered]

    def encode(self, points: Sequence[Point]) -> np.ndarray:
        """Return the vectors of points (n, d), with the choices first."""
        return np.array([self._encode(point) for point in points])

    def _encode(self, point: Point) -> list[float]:
        choices, places = list[float](), list[float]()
        for name, variable in self.space.variables.items():
            if isinstance(variable, bo.Permutation):
                places += [list(point[name]).index(item) / (variable.width - 1) for item in variable.items]
            else:
                position = self.digits.find_position(name, point[name])
                is_category = variable.size > 2 and not variable.ordered
                choices.append(position if is_category else position / (variable.size - 1))
        return choices + places


class BoTorchSearch:
    """BoTorch with noisy EI for one objective, constrained EI with limits, hypervolume improvement for several.

    instance: instance of the problem.
    initial: initial points.
    seed: seed of all random numbers.
    """

    def __init__(self, instance: Instance, initial: Sequence[Point], seed: int) -> None:
        import torch

        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.record, self.vectors = Record(instance), Vectors(instance.space)
        self.rng = np.random.default_rng([seed, 81])
        self._initial = list(initial)

    def ask(self) -> Point:
        if self._initial:
            return self._initial.pop(0)
        instance, successes = self.record.instance, self.record.successes
        if not successes:
            return self._draw()
        model = self._fit()
        values = np.array([one.objectives for one in successes])
        if instance.n_objectives > 1:
            score = _improve_hypervolume(model, values)
        elif instance.bounds:
            score = _improve_constrained(model, values[:, 0], np.array([one.violations for one in successes]))
        else:
            score = _improve_noisy(model, self._encode(successes))
        return self._maximize(score)

    def tell(self, point: Point, measured: Measured | None) -> None:
        self.record.add(point, measured)

    def recommend(self) -> Point:
        successes = self.record.successes
        means = self._fit().posterior(self._encode(successes)).mean[:, 0].detach().numpy()
        return successes[int(np.argmax(means))].point

    def _draw(self) -> Point:
        """Return an unevaluated random point."""
        space, seen = self.record.instance.space, self._list_seen()
        xs = space.sample(N_DRAWN, self.rng)
        return space.present(next(x for x, key in zip(xs, space.keys(xs), strict=True) if key not in seen))

    def _list_seen(self) -> set[Any]:
        space = self.record.instance.space
        return {space.key(space.parse(point)) for point in self.record.list_points()}

    def _encode(self, trials: Sequence[ObservedTrial]) -> Any:
        import torch

        return torch.tensor(self.vectors.encode([trial.point for trial in trials]), dtype=torch.double)

    def _fit(self) -> Any:
        """Fit a GP to each negated objective and to each violation of all trials."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, ModelListGP, SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        trials, models = self.record.list_observed(), []
        x = self._encode(trials)
        rows = np.array([[*(-value for value in trial.objectives), *trial.violations] for trial in trials])
        for column in rows.T:
            y = torch.tensor(column, dtype=torch.double)[:, None]
            if self.vectors.categories:
                own: Any = MixedSingleTaskGP(x, y, self.vectors.categories, outcome_transform=Standardize(1))
            else:
                own = SingleTaskGP(x, y, outcome_transform=Standardize(1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(own.likelihood, own))
            models.append(own)
        return ModelListGP(*models) if len(models) > 1 else models[0]

    def _maximize(self, score: Any) -> Point:
        """Climb from the best of random points and neighbors of the best trials to an unevaluated point."""
        import torch

        space, seen = self.record.instance.space, self._list_seen()

        def rate(xs: Any) -> np.ndarray:
            vectors = torch.tensor(self.vectors.encode([space.present(x) for x in xs]), dtype=torch.double)[:, None]
            with torch.no_grad():
                return np.concatenate([score(part).numpy() for part in vectors.split(AT_ONCE)])

        best = sorted(self.record.successes, key=lambda one: (max((0.0, *one.violations)), sum(one.objectives)))
        near = [space.neighbors(space.parse(one.point)) for one in best[:N_STARTS]]
        return space.present(_climb(space, space.join(space.sample(N_DRAWN, self.rng), *near), rate, seen))


def _climb(space: bo.Space, xs: Any, rate: Callable[[Any], np.ndarray], seen: set[Any]) -> Any:
    """Climb from the best of some points to the best neighbors; return the best end, among unevaluated points."""
    xs = [x for x, key in zip(xs, space.keys(xs), strict=True) if key not in seen]
    values = rate(xs)
    found = list[tuple[float, int]]()
    ends = []
    for i in np.argsort(-values, kind="stable")[:N_STARTS]:
        x, value = xs[i], values[i]
        for _ in range(N_STEPS):
            near = space.neighbors(x)
            near = [one for one, key in zip(near, space.keys(near), strict=True) if key not in seen]
            if not near:
                break
            rated = rate(near)
            if rated.max() <= value:
                break
            x, value = near[int(np.argmax(rated))], rated.max()
        found.append((float(value), len(ends)))
        ends.append(x)
    return ends[max(found)[1]]


def _improve_noisy(model: Any, points: Any) -> Any:
    """Return log noisy expected improvement (Ament et al. 2023).

    points: vectors of the successful trials (n, d).
    """
    import torch
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.sampling import SobolQMCNormalSampler

    return qLogNoisyExpectedImprovement(model, points, SobolQMCNormalSampler(torch.Size([N_SAMPLES]), seed=0))


def _improve_constrained(model: Any, values: np.ndarray, violations: np.ndarray) -> Any:
    """Return log constrained EI, or the log probability of feasibility before the first feasible trial.

    values, violations: values (n,) and violations (n, l) of the successful trials.
    """
    from botorch.acquisition.analytic import LogConstrainedExpectedImprovement, LogProbabilityOfFeasibility

    limits: dict[int, tuple[float | None, float | None]] = {i + 1: (None, 0.0) for i in range(violations.shape[1])}
    feasible = (violations <= 0.0).all(axis=1)
    if not feasible.any():
        return LogProbabilityOfFeasibility(model, limits)
    return LogConstrainedExpectedImprovement(model, -float(values[feasible].min()), 0, limits)


def _improve_hypervolume(model: Any, objectives: np.ndarray) -> Any:
    """Return log expected hypervolume improvement over the reference that BoTorch infers (Daulton et al. 2020).

    objectives: objectives of the successful trials (n, k).
    """
    import torch
    from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
    from botorch.sampling import SobolQMCNormalSampler
    from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
    from botorch.utils.multi_objective.hypervolume import infer_reference_point
    from botorch.utils.multi_objective.pareto import is_non_dominated

    values = -torch.tensor(objectives, dtype=torch.double)
    reference = infer_reference_point(values[is_non_dominated(values)])
    boxes = FastNondominatedPartitioning(reference, values)
    sampler = SobolQMCNormalSampler(torch.Size([N_SAMPLES]), seed=0)
    return qLogExpectedHypervolumeImprovement(model, reference, boxes, sampler)
