"""Sparse Bayesian linear regression with the horseshoe prior, sampled by Gibbs sweeps (Makalic and Schmidt 2016)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from bostruct.checks import check_integer
from bostruct.contracts import Array, Batch, Info, NumericalError, State
from bostruct.surrogates.hyperparameters import check_values
from bostruct.surrogates.monomials import Monomials, Polynomial
from bostruct.surrogates.standardization import standardize

SMALLEST_SQUARED_SCALE, LARGEST_SQUARED_SCALE = 1e-10, 1e6  # of squared scales, in units of the standardized values


class GibbsState(NamedTuple):
    """The state of the sampler.

    local: (p,), squared scale of each coefficient.
    overall: squared scale that all coefficients share.
    noise: variance.
    """

    local: Array
    overall: float
    noise: float


@dataclass(frozen=True)
class HorseshoeRegression:
    """Sparse Bayesian linear regression: a sum of monomials, most of whose coefficients are near 0, and normal noise.

    A coefficient is normal with variance noise x overall x local; the roots of `overall` and of each `local` are
    half-Cauchy (Carvalho, Polson and Scott 2010).

    monomials: the terms of the sum.
    first: sweeps of the sampler at the first draw, at least 1; as published at every draw.
    sweeps: at each later draw, from where the last ended, at least 1.

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

        xs: n points.
        values: (n,), in the user's units.
        state: None, or what the last call returned.
        rng: the only source of chance.

        Returns the polynomial, the state for the next call, and what goes on record. Raises NumericalError where a
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


def standardize_columns(design: Array) -> tuple[Array, Array]:
    """Standardize the columns of a design; return it and the standard deviations (p,).

    design: (n, p); constant columns become zero, and have scale 1.
    """
    scales = design.std(axis=0)
    constant = scales < 1e-12
    scales = np.where(constant, 1.0, scales)
    return np.where(constant, 0.0, (design - design.mean(axis=0)) / scales), scales


class NormalEquations:
    """The normal equations of a regression: what all sweeps share.

    design: (n, p). target: (n,).
    """

    def __init__(self, design: Array, target: Array) -> None:
        self.design, self.target = design, target
        n, p = design.shape
        self.by_columns = p**3 / 3 < n * n * p + n**3 / 3  # which of the two samplers has less to compute
        self.gram = design.T @ design if self.by_columns else None
        self.moments = design.T @ target

    def sample(self, variances: Array, noise: float, rng: np.random.Generator) -> Array:
        """Draw coefficients, normal with mean A^-1 X'y and covariance noise A^-1, where A = X'X + 1 / variances.

        This takes a factorization of A (Rue 2001), or, where that is less work, of n equations (Bhattacharya,
        Chakraborty and Mallick 2016).

        variances: prior variances of the coefficients over the noise (p,).
        noise: variance.
        rng: the only source of chance.

        Returns (p,). Raises NumericalError.
        """
        n, p = self.design.shape
        sd = math.sqrt(noise)
        try:
            if self.gram is not None:
                matrix = self.gram + np.diag(1.0 / variances)
                lower = np.linalg.cholesky(matrix)
                half = solve_triangular(lower, self.moments, lower=True, check_finite=False)
                return solve_triangular(
                    lower, half + sd * rng.standard_normal(p), lower=True, trans=1, check_finite=False
                )
            roots = np.sqrt(variances)
            prior = sd * roots * rng.standard_normal(p)
            scaled = self.design * roots
            matrix = scaled @ scaled.T
            matrix.flat[:: n + 1] += 1.0
            gap = self.target - self.design @ prior - sd * rng.standard_normal(n)
            solved = cho_solve(cho_factor(matrix, lower=True, check_finite=False), gap, check_finite=False)
            return prior + variances * (self.design.T @ solved)
        except (LinAlgError, np.linalg.LinAlgError) as error:
            raise NumericalError(f"the regression of {p} monomials on {n} points has no solution: {error}") from error


def gibbs_sweep(equations: NormalEquations, chain: GibbsState, rng: np.random.Generator) -> tuple[Array, GibbsState]:
    """Sweep once: draw coefficients, noise, local scales, overall scale (Makalic and Schmidt 2016).

    equations: of the regression.
    chain: state before the sweep.
    rng: the only source of chance.

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
    """Draw from inverse gamma distributions (size,); one number where `size` is None.

    shape: above 0.
    rate: above 0, a number or (size,).
    rng: the only source of chance.
    size: number of draws.
    """
    return rate / np.maximum(rng.standard_gamma(shape, size), 1e-300)


def clip_scales(squared: Array) -> Array:
    """Return squared scales clipped to [1e-10, 1e6].

    squared: any shape, in units of the standardized values.
    """
    return np.clip(squared, SMALLEST_SQUARED_SCALE, LARGEST_SQUARED_SCALE)


def initial_gibbs_state(p: int) -> GibbsState:
    """Return the state that a chain starts from: all squared scales 1, noise variance 1.

    p: number of coefficients.
    """
    return GibbsState(np.ones(p), 1.0, 1.0)


def encode_state(chain: GibbsState) -> State:
    """Write a state as JSON, its local scales as thousandths of their decadic logarithms.

    A chain may start anywhere, so rounding does no harm, and files stay small.

    chain: state to write.
    """
    local = np.round(1_000 * np.log10(chain.local)).astype(int).tolist()
    return {"local": local, "overall": chain.overall, "noise": chain.noise}


def decode_state(state: State) -> GibbsState:
    """Return the state of a chain that `encode_state` wrote.

    state: as JSON, local scales as thousandths of their decadic logarithms.
    """
    return GibbsState(10.0 ** (np.array(state["local"]) / 1_000), state["overall"], state["noise"])
