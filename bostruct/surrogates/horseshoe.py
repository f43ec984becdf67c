"""Bayesian linear regression: with the horseshoe prior, sampled by Gibbs sweeps (Makalic and Schmidt 2016), or ridge.

The features are polynomials in indicators of choices (Baptista and Poloczek 2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from bostruct.checks import check_integer, has_spread
from bostruct.contracts import Array, Batch, DomainError, Info, IntArray, NumericalError, Regression, State, Term
from bostruct.surrogates.hyperparameters import check_values
from bostruct.surrogates.standardization import standardize
from bostruct.surrogates.warping import FAR, Compression

SMALLEST_SQUARED_SCALE, LARGEST_SQUARED_SCALE = 1e-10, 1e6  # of squared scales, in units of the standardized values
MOST_DRAWN = 20  # posterior samples of the coefficients
MOST_VALUES = 300  # values that a ridge regression learns from
SINGLE_SHARES = (0.1, 0.3, 0.5, 0.8)  # of the prior variance: the monomials of one indicator
NOISE_RATIOS = (1e-3, 1e-2, 0.1, 0.3, 1.0)  # noise variance over the prior variance of the signal
MAX_MONOMIALS = 50_000  # a sweep of the sampler then takes about a second at 300 points


class GibbsState(NamedTuple):
    """The state of the sampler.

    local: squared scale of each coefficient (p,).
    overall: squared scale that all coefficients share.
    noise: noise variance.
    """

    local: Array
    overall: float
    noise: float


@dataclass(frozen=True)
class HorseshoeRegression(Regression):
    """Sparse Bayesian linear regression: a sum of monomials, most of whose coefficients are near 0, and normal noise.

    A coefficient is normal with variance noise x overall x local; the roots of `overall` and of each `local` are
    half-Cauchy (Carvalho, Polson and Scott 2010).

    first: number of sweeps for the first draw, at least 1; for every draw as published.
    sweeps: number of sweeps for each later draw, which continue the chain, at least 1.

    Raises TypeError, ValueError.
    """

    monomials: Monomials
    first: int = 1_000
    sweeps: int = 100

    def __post_init__(self) -> None:
        check_integer("first", self.first, 1)
        check_integer("sweeps", self.sweeps, 1)

    def __call__(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Polynomial, State, Info]:
        """Draw one posterior sample of the polynomial, in units of the standard deviation of the values.

        values: values in the user's units (n,).
        state: None, or the state that the last call returned.
        rng: random number generator.

        Returns the polynomial, the state for the next call, and the info to record. Raises NumericalError if a
        system of equations cannot be solved.
        """
        check_values(values)
        design, scales = standardize_columns(self.monomials(xs))
        chain = initial_gibbs_state(self.monomials.count) if state is None else decode_state(state)
        normal_equations = NormalEquations(design, standardize(values).values)
        coefficients = np.zeros(self.monomials.count)
        for _ in range(self.first if state is None else self.sweeps):
            coefficients, chain = gibbs_sweep(normal_equations, chain, rng)
        info = {"noise": math.sqrt(chain.noise), "scale": math.sqrt(chain.overall)}
        return Polynomial(self.monomials, coefficients / scales), encode_state(chain), info

    def sample_terms(self, xs: Batch, values: Array, state: State, rng: np.random.Generator) -> list[Term]:
        drawn = list[Array]()
        for _ in range(MOST_DRAWN):
            sample, state, _ = self(xs, values, state, rng)
            drawn.append(sample.coefficients)
        scaled = standardize(values).scale * np.array(drawn).T
        return list(map(Term, self.monomials.list_choices(), scaled))


@dataclass(frozen=True)
class RidgeRegression(Regression):
    """Bayesian linear regression: a sum of monomials, with normal coefficients and normal noise.

    Monomials of one indicator have one prior variance, and all others another. Their ratio and the noise are the values
    of a grid with the largest evidence.
    """

    monomials: Monomials

    def __call__(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[Polynomial, State, Info]:
        """Draw one posterior sample, in units of the standard deviation of the values; the state is unchanged.

        It learns from 300 values, spread evenly over time, compressed as in `OutputWarping` and without outliers.
        Raises NumericalError also if all these are equal.
        """
        check_values(values)
        warped, noise = Compression.of(values, FAR).observe(values, None)
        kept = np.arange(len(values)) if noise is None else np.flatnonzero(np.isnan(noise))  # without outliers
        kept = kept[np.linspace(0, len(kept) - 1, min(len(kept), MOST_VALUES)).round().astype(np.int64)]
        if not has_spread(warped[kept]):
            raise NumericalError("all values are equal")
        design, scales = standardize_columns(self.monomials(np.asarray(xs)[kept]))
        target = standardize(warped[kept]).values
        is_single = np.sum(self.monomials.members < self.monomials.n_columns, axis=1) == 1
        first, second = (one @ one.T / max(one.shape[1], 1) for one in (design[:, is_single], design[:, ~is_single]))
        fits = list[tuple[float, float, float, float]]()
        for share in SINGLE_SHARES:
            eigenvalues, vectors = np.linalg.eigh(share * first + (1.0 - share) * second)
            squares = np.square(vectors.T @ target)
            for ratio in NOISE_RATIOS:
                spread = np.maximum(eigenvalues, 0.0) + ratio
                amplitude = float(np.mean(squares / spread))
                log_evidence = -0.5 * (len(target) * math.log(amplitude) + float(np.log(spread).sum()))
                fits.append((log_evidence, share, ratio, amplitude))
        _, share, ratio, amplitude = max(fits)
        sizes = np.where(is_single, share / is_single.sum(), (1.0 - share) / max(np.sum(~is_single), 1))
        coefficients = NormalEquations(design, target).sample(sizes / ratio, ratio * amplitude, rng)
        return Polynomial(self.monomials, coefficients / scales), state, {"noise": math.sqrt(ratio * amplitude)}


def standardize_columns(design: Array) -> tuple[Array, Array]:
    """Return a design with standardized columns (n, p), and the standard deviations (p,).

    design: the design (n, p); constant columns become zero, and have scale 1.
    """
    scales = design.std(axis=0)
    constant = scales < 1e-12
    scales = np.where(constant, 1.0, scales)
    return np.where(constant, 0.0, (design - design.mean(axis=0)) / scales), scales


class NormalEquations:
    """The normal equations of a regression, which all sweeps share.

    design: (n, p). target: (n,).
    """

    def __init__(self, design: Array, target: Array) -> None:
        self.design, self.target = design, target
        n, p = design.shape
        self.by_columns = p**3 / 3 < n * n * p + n**3 / 3  # which of the two samplers is faster
        self.gram = design.T @ design if self.by_columns else None
        self.moments = design.T @ target

    def sample(self, variances: Array, noise: float, rng: np.random.Generator) -> Array:
        """Draw coefficients, normal with mean A^-1 X'y and covariance noise A^-1, for A = X'X + 1 / variances.

        It factors A (Rue 2001), or n equations if that is faster (Bhattacharya, Chakraborty and Mallick 2016).

        variances: prior variances of the coefficients over the noise (p,).
        noise: noise variance.
        rng: random number generator.

        Returns (p,). Raises NumericalError.
        """
        n, p = self.design.shape
        sd = math.sqrt(noise)
        try:
            if self.gram is not None:
                matrix = self.gram + np.diag(1.0 / variances)
                lower = np.linalg.cholesky(matrix)
                half = scipy.linalg.solve_triangular(lower, self.moments, lower=True, check_finite=False)
                return scipy.linalg.solve_triangular(
                    lower, half + sd * rng.standard_normal(p), lower=True, trans=1, check_finite=False
                )
            roots = np.sqrt(variances)
            prior = sd * roots * rng.standard_normal(p)
            scaled = self.design * roots
            matrix = scaled @ scaled.T
            matrix.flat[:: n + 1] += 1.0
            gap = self.target - self.design @ prior - sd * rng.standard_normal(n)
            factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
            solved = scipy.linalg.cho_solve(factor, gap, check_finite=False)
            return prior + variances * (self.design.T @ solved)
        except np.linalg.LinAlgError as error:
            raise NumericalError(f"the regression of {p} monomials on {n} points has no solution: {error}") from error


def gibbs_sweep(equations: NormalEquations, chain: GibbsState, rng: np.random.Generator) -> tuple[Array, GibbsState]:
    """Sweep once: draw coefficients, noise, local scales, overall scale (Makalic and Schmidt 2016).

    rng: random number generator.

    Returns the coefficients (p,) and the state after the sweep, whose squared scales stay within 1e-10 and 1e6.
    """
    n, p = equations.design.shape
    beta = equations.sample(chain.overall * chain.local, chain.noise, rng)
    residual = equations.target - equations.design @ beta
    squares = np.square(beta)
    misfit = 0.5 * (float(residual @ residual) + float(np.sum(squares / chain.local)) / chain.overall)
    noise = clip_scales(sample_inverse_gamma(0.5 * (n + p), misfit, rng))
    auxiliary = sample_inverse_gamma(1.0, 1.0 + 1.0 / chain.local, rng, p)
    local = clip_scales(sample_inverse_gamma(1.0, 1.0 / auxiliary + 0.5 * squares / (chain.overall * noise), rng, p))
    auxiliary = sample_inverse_gamma(1.0, 1.0 + 1.0 / chain.overall, rng)
    overall = clip_scales(
        sample_inverse_gamma(0.5 * (p + 1), 1.0 / auxiliary + 0.5 * float(np.sum(squares / local)) / noise, rng)
    )
    return beta, GibbsState(local, float(overall), float(noise))


def sample_inverse_gamma(shape: float, rate: Array | float, rng: np.random.Generator, size: int | None = None) -> Array:
    """Draw from inverse gamma distributions (size,), or one number if `size` is None.

    shape: above 0.
    rate: above 0, a number or an array (size,).
    rng: random number generator.
    size: number of draws.
    """
    return rate / np.maximum(rng.standard_gamma(shape, size), 1e-300)


def clip_scales(squared: Array) -> Array:
    """Return squared scales clipped to [1e-10, 1e6].

    squared: squared scales of any shape, in units of the standardized values.
    """
    return np.clip(squared, SMALLEST_SQUARED_SCALE, LARGEST_SQUARED_SCALE)


def initial_gibbs_state(p: int) -> GibbsState:
    """Return the state that a chain starts from: all squared scales 1, noise variance 1.

    p: number of coefficients.
    """
    return GibbsState(np.ones(p), 1.0, 1.0)


def encode_state(chain: GibbsState) -> State:
    """Return a state as JSON, with local scales as thousandths of their decadic logarithms.

    Rounding keeps files small. It does no harm, because a chain may start anywhere.
    """
    local = np.round(1_000 * np.log10(chain.local)).astype(int).tolist()
    return {"local": local, "overall": chain.overall, "noise": chain.noise}


def decode_state(state: State) -> GibbsState:
    """Return the state of a chain that `encode_state` wrote.

    state: the state as JSON, with local scales as thousandths of their decadic logarithms.
    """
    return GibbsState(10.0 ** (np.array(state["local"]) / 1_000), state["overall"], state["noise"])


@dataclass(frozen=True)
class Monomials:
    """All products of indicators of up to `order` different variables, without a constant.

    A variable with two choices has one indicator, for the second choice. A variable with a single choice has none. Any
    other variable has one for each choice.

    n_choices: number of choices of each variable.
    order: maximum number of variables in one product, 1 to 4.

    Raises TypeError, ValueError; DomainError for more than 50,000 monomials.
    """

    n_choices: tuple[int, ...]
    order: int = 2

    def __post_init__(self) -> None:
        check_integer("order", self.order, 1, 4)
        if self.count > MAX_MONOMIALS:
            raise DomainError(
                f"order: {self.order} gives {self.count} monomials here, at most {MAX_MONOMIALS} are fitted"
            )

    @cached_property
    def columns(self) -> tuple[range, ...]:
        """The indicators of each variable."""
        starts = np.cumsum([0, *map(indicator_count, self.n_choices)]).tolist()
        return tuple(range(a, b) for a, b in pairwise(starts))

    @property
    def n_columns(self) -> int:
        return self.columns[-1].stop

    @property
    def count(self) -> int:
        """Number of monomials: the sum of the elementary symmetric sums of the numbers of indicators."""
        sums = [1] + [0] * self.order
        for k in map(indicator_count, self.n_choices):
            for order in range(self.order, 0, -1):
                sums[order] += k * sums[order - 1]
        return sum(sums[1:])

    @cached_property
    def members(self) -> IntArray:
        """The indicators of each monomial (p, order), padded with `n_columns`, which represents 1."""
        rows = [
            (*chosen, *[self.n_columns] * (self.order - size))
            for size in range(1, self.order + 1)
            for variables in combinations(self.columns, size)
            for chosen in product(*variables)
        ]
        return np.array(rows, dtype=np.int64)

    def list_choices(self) -> list[tuple[tuple[int, int], ...]]:
        """Return the indicators of each monomial, as positions of a variable and of its choice."""
        indicators = [(i, k + (n == 2)) for i, n in enumerate(self.n_choices) for k in range(indicator_count(n))]
        return [tuple(indicators[c] for c in row if c < self.n_columns) for row in self.members.tolist()]

    def indicators(self, xs: Batch) -> Array:
        """Return the indicators of m points, and a column of ones (m, n_columns + 1).

        xs: m points (m, d).
        """
        rows = np.asarray(xs, dtype=np.int64)
        found: npt.NDArray[np.float64] = np.zeros((len(rows), self.n_columns + 1))
        found[:, -1] = 1.0
        for i, columns in enumerate(self.columns):
            if len(columns) == 1:
                found[:, columns.start] = rows[:, i]
            elif columns:
                found[np.arange(len(rows)), columns.start + rows[:, i]] = 1.0
        return found

    def __call__(self, xs: Batch) -> Array:
        """Return the monomials of m points (m, p)."""
        indicators = self.indicators(xs)
        found = indicators[:, self.members[:, 0]]
        for k in range(1, self.order):
            found *= indicators[:, self.members[:, k]]
        return found


def indicator_count(n_choices: int) -> int:
    """Return the number of indicators of a variable: none for one choice, one for two, otherwise one per choice.

    n_choices: number of choices of the variable.
    """
    return n_choices - 1 if n_choices <= 2 else n_choices


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A weighted sum of monomials, without a constant.

    coefficients: coefficient of each monomial (p,).
    """

    monomials: Monomials
    coefficients: Array

    def __call__(self, xs: Batch) -> Array:
        """Return the polynomial's values at m points (m,)."""
        return self.monomials(xs) @ self.coefficients

    @property
    def columns(self) -> Sequence[range]:
        return self.monomials.columns

    def quadratic(self) -> tuple[Array, Array]:
        """Return coefficients of single indicators (D,) and of pairs (D, D), symmetric, with half of each on each side.

        Raises ValueError if the order is above two.
        """
        if self.monomials.order > 2:
            raise ValueError(f"order: expected at most 2, got {self.monomials.order}")
        d = self.monomials.n_columns
        whole: Any = np.zeros((d + 1, d + 1))
        members = self.monomials.members
        second = members[:, 1] if self.monomials.order == 2 else np.full(len(members), d)
        whole[members[:, 0], second] = self.coefficients
        return whole[:d, d].copy(), 0.5 * (whole[:d, :d] + whole[:d, :d].T)
