"""A surrogate that learns only from the variables that matter, if the data show that few do.

The variables are selected by evidence: the marginal likelihood of a Gaussian process with a kernel that all of them
share, times a prior. Points differ in each variable by a dissimilarity, whose mean is 1 among random points. If h is
the mean dissimilarity of two points over the selected variables, their kernel is

    w exp(-h / (2 l^2)) + (1 - w) (2 - h),

a product over the variables plus main effects. Lengthscale l, weight w and noise are the values of a grid with the
largest evidence; amplitude and mean are profiled out. The prior of a subset is beta-binomial: all sizes have the same
probability, and so do all subsets of one size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import scipy

from bostruct.checks import ROUNDING, check_number, check_part, has_hardly_grown, has_spread
from bostruct.contracts import Array, Batch, Info, Kernel, NumericalError, Posterior, State, Surrogate
from bostruct.goals.logarithms import log_density
from bostruct.surrogates.gaussian import inverse_from_cholesky, solve_lower
from bostruct.surrogates.hyperparameters import check_values
from bostruct.surrogates.posterior import GaussianPosterior
from bostruct.surrogates.standardization import standardize

Setting: TypeAlias = tuple[float, float, float]
LENGTHSCALES, WEIGHTS, NOISES = (0.5, 0.9, 1.6), (0.3, 0.8), (1e-3, 0.03, 0.2, 0.6)
GRID: list[Setting] = [(scale, weight, noise) for scale in LENGTHSCALES for weight in WEIGHTS for noise in NOISES]
REST_MARGIN = 3.0  # nats by which small effects of all variables have to improve the predictions
FEWEST_VALUES = 10
STAGED_FROM = 300  # values: the models then serve for several suggestions, and each makes one step of a selection
MOST_VALUES = 150  # values that variables are selected by: half of them the best, the others the last
MOST_NUMBERS = 2**24  # number of dissimilarities
TRIED = 4  # variables that a step adds, and drops, one at a time
MOST_STEPS = 40
BLOCK_ROWS = 64
SINGLE_STARTS = (1, 4, 8, 16)  # numbers of variables with the largest single effects
SHRINKAGE, FEWEST_LEFT, MOST_LEFT = 0.75, 6, 16  # of elimination: share of the variables kept, sizes of its subsets
CLIMBS = 2  # number of these starts, the best ones, that a search climbs from
PERTURBATIONS = 2  # of the best subset


class VariableSubset(NamedTuple):
    """A subset of the variables under its best setting.

    variables: positions of the variables, ascending.
    total: sum of the dissimilarities in these variables (n, n).
    setting: lengthscale, weight and noise, from `GRID`.
    score: log evidence plus log prior.
    """

    variables: list[int]
    total: Array
    setting: Setting
    score: float


@dataclass(frozen=True, eq=False)
class SubsetSearch:
    """A search for the subset of d variables that best explains n values.

    apart: dissimilarities of the points in each variable (d, n, n).
    values: standardized (n,).
    visited: variables and settings that a climb has visited; another climb stops there, because its end is known.
    """

    apart: npt.NDArray[np.float32]
    values: Array
    visited: set[tuple[tuple[int, ...], Setting]] = field(default_factory=set, repr=False)

    def select(self, last: Sequence[int], rng: np.random.Generator) -> VariableSubset:
        """Return the best subset found.

        The search climbs from the last subset, and from the best two of other starts: the variables with the largest
        single effects, and the subsets that elimination leaves. Twice, it then drops one to three variables of the best
        subset, adds two at random, and climbs.

        last: positions of the variables of the last subset, if any.
        """
        order = np.argsort(-self.weigh(-np.outer(self.values, self.values)), kind="stable")
        starts = [self.make(order[:size]) for size in SINGLE_STARTS] + self._eliminate()
        starts = sorted(starts, key=lambda one: -one.score)[:CLIMBS] + ([self.make(last)] if len(last) else [])
        best = max(map(self.climb, starts), key=lambda one: one.score)
        for _ in range(PERTURBATIONS):
            n_dropped = min(len(best.variables), int(rng.integers(1, 4)))
            dropped = rng.choice(best.variables, n_dropped, replace=False)
            added = rng.choice(len(self.apart), 2, replace=False)
            perturbed = ({*best.variables} - {*dropped.tolist()}) | {*added.tolist()}
            start = self.make(perturbed, find_neighbors(best.setting))
            best = max(best, self.climb(start), key=lambda one: one.score)
        return best

    @cached_property
    def all_variables(self) -> VariableSubset:
        """All variables under their best setting."""
        return self.make(range(len(self.apart)))

    def make(self, variables: Iterable[int], settings: Sequence[Setting] = GRID) -> VariableSubset:
        """Return a subset under the best of some settings."""
        own = sorted(int(i) for i in variables)
        total = self.apart[own].sum(axis=0, dtype=np.float64)
        return self._choose(own, total, settings)

    def climb(self, subset: VariableSubset) -> VariableSubset:
        """Add or drop one variable at a time while the score rises; at the top, change the setting and continue."""
        for _ in range(MOST_STEPS):
            if (place := (tuple(subset.variables), subset.setting)) in self.visited:
                return subset
            self.visited.add(place)
            gradient, own = self.find_slopes(subset), subset.variables
            order = np.argsort(-gradient, kind="stable")
            is_own = np.isin(order, own)
            others, kept = order[~is_own][:TRIED].tolist(), order[is_own][-TRIED:].tolist() if len(own) > 1 else []
            totals = {j: subset.total + self.apart[j] for j in others} | {j: subset.total - self.apart[j] for j in kept}
            sizes = {j: len(own) + (1 if j in others else -1) for j in totals}
            found = {j: self.score(total, sizes[j], [subset.setting])[0] for j, total in totals.items()}
            j = max(found, key=lambda one: found[one])
            if found[j] > subset.score:
                subset = VariableSubset(sorted({*own} ^ {j}), totals[j], subset.setting, found[j])
                continue
            better = self._choose(own, subset.total, find_neighbors(subset.setting))
            if better.setting == subset.setting:
                return subset
            subset = better
        return subset

    def score(self, total: Array, size: int, settings: Sequence[Setting]) -> list[float]:
        """Return the log evidence of a subset at some settings, plus its log prior, up to a constant."""
        d, n, mean = len(self.apart), len(self.values), total / size
        log_prior = math.lgamma(size + 1) + math.lgamma(d - size + 1) - math.lgamma(d + 2)
        products = {scale: compute_product(mean, scale) for scale in {scale for scale, _, _ in settings}}  # costly
        scores = []
        for setting in settings:
            lower, _, variance = self._fit(mean, products[setting[0]], setting)
            scores.append(log_prior - 0.5 * n * math.log(variance) - float(np.log(lower.diagonal()).sum()))
        return scores

    def find_slopes(self, subset: VariableSubset) -> Array:
        """Return the gradient of the log evidence in the weights of the variables (d,), up to a factor."""
        (scale, weight, _), mean = subset.setting, subset.total / len(subset.variables)
        product = compute_product(mean, scale)
        lower, residual, variance = self._fit(mean, product, subset.setting)
        inverse = inverse_from_cholesky(lower)
        weights = inverse @ residual
        cotangent = np.outer(weights, weights / variance) - inverse
        return self.weigh(-cotangent * (weight / (2.0 * scale**2) * product + 1.0 - weight))

    def weigh(self, weights: Array) -> Array:
        """Return the weighted sum of each variable's dissimilarities (d,).

        weights: weights of pairs of points (n, n).
        """
        return (self.apart.reshape(len(self.apart), -1) @ weights.astype(np.float32).ravel()).astype(np.float64)

    def _fit(self, mean: Array, product: Array, setting: Setting) -> tuple[Array, Array, float]:
        """Return the Cholesky factor, the residuals (n,) and the amplitude of the shared kernel.

        product: the first term of the kernel, without its weight.
        """
        _, weight, noise = setting
        gram = weight * product + (1.0 - weight) * (2.0 - mean)
        gram.flat[:: len(gram) + 1] += noise
        lower, failed = scipy.linalg.lapack.dpotrf(gram, lower=1, clean=0)
        if failed:
            return np.full_like(gram, math.inf), self.values, 1.0
        white = solve_lower(lower, np.stack([self.values, np.ones(len(gram))], axis=1))
        center = float(white[:, 1] @ white[:, 0]) / float(white[:, 1] @ white[:, 1])
        left = white[:, 0] - center * white[:, 1]
        return lower, self.values - center, float(left @ left) / len(left)

    def _choose(self, variables: list[int], total: Array, settings: Sequence[Setting]) -> VariableSubset:
        scores = self.score(total, len(variables), settings)
        best = int(np.argmax(scores))
        return VariableSubset(variables, total, settings[best], scores[best])

    def _eliminate(self) -> list[VariableSubset]:
        """Drop the least useful quarter of the variables repeatedly; return the subsets of at most 16 variables."""
        subset, found = self.all_variables, list[VariableSubset]()
        while len(subset.variables) > FEWEST_LEFT:
            own = np.array(subset.variables)
            gradient = self.find_slopes(subset)[own]
            kept = own[np.argsort(-gradient, kind="stable")[: int(len(own) * SHRINKAGE)]]
            subset = self.make(kept, find_neighbors(subset.setting))
            if len(kept) <= MOST_LEFT:
                found.append(subset)
        return found


def compute_product(mean: Array, scale: float) -> Array:
    """Return exp(-mean / (2 scale^2)), a symmetric matrix (n, n), computed in blocks of rows up to the diagonal.

    mean: mean dissimilarities (n, n).
    """
    product = np.empty_like(mean)
    for first in range(0, len(mean), BLOCK_ROWS):
        stop = first + BLOCK_ROWS
        block = np.exp(mean[first:stop, :stop] / (-2.0 * scale**2))
        product[first:stop, :stop] = block
        product[:first, first:stop] = block[:, :first].T
    return product


def find_neighbors(setting: Setting) -> list[Setting]:
    """Return the settings of the grid that differ from a setting in at most one coordinate."""
    return [one for one in GRID if sum(a != b for a, b in zip(one, setting, strict=True)) <= 1]


@dataclass(frozen=True)
class VariableSelection(Surrogate):
    """A surrogate that learns from all variables, or from a subset that explains the values better.

    A subset is used if two conditions hold. Its evidence exceeds the evidence of all variables by a margin. And its
    model predicts values that are left out one at a time with a higher density than the model of all variables. From
    300 values on, a selection takes several calls, and each call fits at most one model.

    full: surrogate that learns from all variables.
    restrict: (positions of variables, whether to add small main effects of all variables) -> the surrogate that learns
        from these variables.
    measure: n points -> their dissimilarities in each variable (d, n, n).
    names: names of the variables.
    parents: for each variable, the positions of the variables in its conditions, which are used with it.
    margin: difference of the log evidence, in nats.
    growth: relative growth of the data before the next selection, at least 0.
    variances: known noise variances of the values, as in `with_variances`; None if all are learned.

    Raises TypeError, ValueError.
    """

    full: Surrogate
    restrict: Callable[[tuple[int, ...], bool], Surrogate]
    measure: Callable[[Batch], npt.NDArray[np.float32]]
    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    margin: float = 10.0
    growth: float = 0.05
    variances: Array | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_part("full", self.full, Surrogate)
        check_number("margin", self.margin, -math.inf)
        check_number("growth", self.growth, 0.0)

    def with_variances(self, variances: Array) -> VariableSelection:
        return replace(self, full=self.full.with_variances(variances), variances=variances)

    def on_all_variables(self) -> Surrogate:
        return self.full

    def for_violation(self, warp: Callable[[Surrogate], Surrogate]) -> Surrogate:
        return self.full.for_violation(warp)

    def with_kernel(self, change: Callable[[Kernel], Kernel], join: Callable[..., Batch]) -> Surrogate | None:
        return self.full.with_kernel(change, join)

    def initial_state(self) -> State:
        return {"full": self.full.initial_state()}

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Learn from the variables of the last selection, or select again once the data have grown enough.

        The posterior of a subset has `unused` variables, and ``info["variables"]`` names the selected variables.
        Returns the posterior, the state for the next call, and the info to record. Raises NumericalError.
        """
        last = state if isinstance(state, dict) and "full" in state else {"full": state}
        chosen = last.get("selection", {"n": 0, "variables": [], "serves": False, "has_rest": False, "model": None})
        if len(values) < STAGED_FROM and not has_hardly_grown([len(values)], [chosen["n"]], self.growth):
            return self._select_at_once(xs, values, last["full"], self._select(xs, values, chosen), rng)
        part = self._learn_part(xs, values, chosen, chosen["has_rest"], rng) if chosen["serves"] else None
        posterior, learned, info = part or self.full.condition(xs, values, last["full"], rng)
        now = last | ({"selection": learned} if part else {"full": learned, "selection": chosen | {"serves": False}})
        is_late = chosen["n"] and not has_hardly_grown([len(values)], [chosen["n"]], 2.0 * self.growth)
        advances = now == last or is_late  # batches may fit a model at each call
        return posterior, self._advance(xs, values, now, posterior, rng) if advances else now, info

    def _select_at_once(
        self, xs: Batch, values: Array, full: State, chosen: State, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info]:
        """Fit all models, and return the results of `condition` by the model with the highest density."""
        rests = (False, True) if chosen["serves"] else ()
        parts = [found for rest in rests if (found := self._learn_part(xs, values, chosen, rest, rng)) is not None]
        whole = self.full.condition(xs, values, full, rng)
        densities = [compute_held_out_density(one[0], REST_MARGIN * one[1]["has_rest"]) for one in parts]
        if parts and max(densities) > compute_held_out_density(whole[0]):
            part = parts[int(np.argmax(densities))]
            return part[0], {"full": whole[1], "selection": part[1]}, part[2]
        return whole[0], {"full": whole[1], "selection": chosen | {"serves": False}}, whole[2]

    def _advance(self, xs: Batch, values: Array, state: State, posterior: Posterior, rng: np.random.Generator) -> State:
        """Return the state after the next step of a selection: select, fit one of two models, or compare them."""
        chosen, candidate = state["selection"], state.get("candidate", [])
        if not candidate:
            if has_hardly_grown([len(values)], [chosen["n"]], self.growth):
                return state
            found = self._select(xs, values, chosen)
            return state | ({"candidate": [found]} if found["serves"] else {"selection": found})
        found, *models = candidate
        if len(models) < 2:
            part = self._learn_part(xs, values, found, len(models) == 1, rng)
            fitted = part and [compute_held_out_density(part[0], REST_MARGIN * len(models)), part[1]]
            return state | {"candidate": [*candidate, fitted]}
        whole = self.full.condition(xs, values, state["full"], rng) if chosen["serves"] else (posterior, state["full"])
        best = max((model for model in models if model), key=itemgetter(0), default=[-math.inf])
        serves = best[0] > compute_held_out_density(whole[0])
        return {"full": whole[1], "selection": best[1] if serves else found | {"serves": False}}

    def _select(self, xs: Batch, values: Array, last: State) -> State:
        """Return the subset with the largest evidence, and whether the evidence exceeds the margin."""
        n, d = len(values), len(self.names)
        check_values(values)
        most = min(MOST_VALUES, int(math.sqrt(MOST_NUMBERS / d)))
        kept = np.arange(n)
        if n > most:
            kept = np.union1d(np.argsort(values, kind="stable")[: most // 2], kept[n - most // 2 :])
        if n < FEWEST_VALUES or not has_spread(values[kept]):
            return last
        search = SubsetSearch(self.measure(xs[kept]), standardize(values[kept], ROUNDING).values)
        best = search.select(last["variables"], np.random.default_rng(n))
        gain = best.score - search.all_variables.score
        model = last["model"] if best.variables == last["variables"] else None
        serves = len(best.variables) < d and gain >= self.margin
        return last | {"n": n, "variables": best.variables, "serves": serves, "model": model}

    def _learn_part(
        self, xs: Batch, values: Array, chosen: State, has_rest: bool, rng: np.random.Generator
    ) -> tuple[Posterior, State, Info] | None:
        """Learn from the selected variables and their parents; None if the model cannot be computed."""
        used, added = {*chosen["variables"]}, {*chosen["variables"]}
        while added := {parent for i in added for parent in self.parents[i]} - used:
            used |= added
        surrogate = self.restrict(tuple(sorted(used)), has_rest)
        if self.variances is not None:
            surrogate = surrogate.with_variances(self.variances)
        last = chosen["model"] if has_rest == chosen["has_rest"] else None
        try:
            posterior, model, info = surrogate.condition(xs, values, last or surrogate.initial_state(), rng)
        except NumericalError:
            return None
        unused = tuple(name for i, name in enumerate(self.names) if i not in used)
        names = [self.names[i] for i in chosen["variables"]]
        state = chosen | {"has_rest": has_rest, "model": model}
        return replace(cast(GaussianPosterior, posterior), unused=unused), state, info | {"variables": names}


def compute_held_out_density(posterior: Posterior, margin: float = 0.0) -> float:
    """Return the mean log density of learned values, each predicted from all others, less a margin of their sum."""
    held_out = posterior.leave_one_out()
    if held_out is None:
        raise TypeError("posterior: expected a Gaussian process, which predicts values that are left out")
    mean, variance = held_out.prediction
    densities = log_density((held_out.values - mean) / np.sqrt(variance)) - 0.5 * np.log(variance)
    return float(np.mean(densities)) - margin / len(held_out.values)
