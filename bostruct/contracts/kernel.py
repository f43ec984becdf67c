"""Kernels: similarities of points, with parameters and their priors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.contracts.types import Array, Batch, Prepared

SINGLE_FLOOR = 1e-26  # the smallest entry of a Gram matrix in single precision; subnormal numbers slow down products
SINGLE_ROUNDING = 2.0**-24  # relative rounding error of one operation in single precision
DIFFERENCE = 1e-5  # step of central differences on either side, for parameters whose scale is about 1

Pullback: TypeAlias = Callable[[Array], Array]  # from a cotangent to a gradient


class Prior(ABC):
    """A log density, up to a constant, of one unconstrained parameter."""

    @abstractmethod
    def log_density(self, theta: float) -> float:
        """Return the log density, up to a constant; -inf outside the support.

        Parameters
        ----------
        theta : float
            The unconstrained parameter.
        """

    def value_and_grad(self, theta: Array) -> tuple[float, Array]:
        """Return the sum of the log densities of several parameters, and its gradient (k,).

        The sum is -inf if a parameter is outside the support. By default the gradient is computed by central
        differences, one-sided at an end of the support; it is 0 outside.

        Parameters
        ----------
        theta : array of shape (k,)
            The unconstrained parameters.
        """
        steps = DIFFERENCE * np.array([-1.0, 0.0, 1.0])
        logs = np.array([[self.log_density(float(t) + step) for step in steps] for t in theta]).reshape(-1, 3)
        gradient = np.zeros(len(theta))
        for i, row in enumerate(logs):
            known = np.flatnonzero(np.isfinite(row))
            if np.isfinite(row[1]) and len(known) > 1:
                gradient[i] = (row[known[-1]] - row[known[0]]) / (steps[known[-1]] - steps[known[0]])
        return float(logs[:, 1].sum()), gradient


class Parameter(NamedTuple):
    """A block of a kernel's parameters. `theta`, on the unconstrained scale, is all blocks in order.

    Attributes
    ----------
    name : str
        Name for display.
    size : int
        Number of parameters in the block.
    prior : Prior
        Prior of each parameter.
    initial : float
        Initial value of each parameter.
    """

    name: str
    size: int
    prior: Prior
    initial: float


class BlockGram(NamedTuple):
    """A line of Gram matrices with blocks: K within each part of the points is constant, K between parts is scaled.

    Attributes
    ----------
    gram : Array
        K at one value of the parameter.
    parts : tuple of NDArray
        Positions of the points of each part, at least two parts; a part may be empty.
    scale : callable
        Function from t to K between parts at theta_i = t, as a multiple of K in `gram`.
    whole : callable
        The line itself.
    """

    gram: Array
    parts: tuple[npt.NDArray[np.int64], ...]
    scale: Callable[[float], float]
    whole: Callable[[float], Array]

    def __call__(self, t: float) -> Array:
        return self.whole(t)


class SingleGram(NamedTuple):
    """A Gram matrix in single precision, and its error bound.

    Attributes
    ----------
    gram : array of shape (n, m)
        The matrix, which the next call overwrites. Entries below `SINGLE_FLOOR` are raised to it.
    error : float
        Maximum relative error of the other entries.
    """

    gram: npt.NDArray[np.float32]
    error: float


class Kernel(ABC):
    """A positive semi-definite function of two points, with parameters theta (p,).

    Only `gram` must be written, and `parameters` if there are any. Everything else has a slower default. A similarity
    whose matrices may be indefinite can also be a subclass; `SpectrumClip` turns it into a kernel.

    Attributes
    ----------
    depends_on_training : bool, default False
        True if the kernel changes with the training points, the second batch of `prepare`. Then fantasized points
        change the means, and `gram_and_diag` computes the diagonal.
    """

    depends_on_training: bool = False

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The blocks of theta, in order; none by default."""
        return ()

    @property
    def parameter_variables(self) -> tuple[int | None, ...]:
        """The position of the variable of each parameter (p,); None for a parameter of the whole kernel."""
        return (None,) * sum(block.size for block in self.parameters)

    @property
    def variable_columns(self) -> Mapping[int, Sequence[int]]:
        """The columns of each variable by its position, for a kernel on rows; empty by default."""
        return {}

    def prepare(self, xs: Batch, ys: Batch | None = None) -> Prepared:
        """Compute everything that does not depend on theta: the costly part of structured kernels.

        By default it returns both batches as a pair.

        Parameters
        ----------
        xs : Batch
            n points. The result for single changes can only be used by `gram`.
        ys : Batch, optional
            m points; None for xs with themselves, which may cost half. A kernel may cache its result for the next call
            with the same object, so do not change a batch afterward.
        """
        return xs, xs if ys is None else ys

    @abstractmethod
    def gram(self, theta: Array, prepared: Prepared) -> Array:
        """Return the Gram matrix (n, m), an array that the caller may overwrite.

        Parameters
        ----------
        theta : array of shape (p,)
            All blocks of `parameters` in order.
        prepared : Prepared
            The result of `prepare` for n and m points.
        """

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return k(x, x) of each point (n,); by default from one Gram matrix for each point.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        xs : Batch
            n points.
        """
        return np.array([self.gram(theta, self.prepare(xs[i : i + 1]))[0, 0] for i in range(len(xs))], dtype=np.float64)

    def gram_and_diag(self, theta: Array, xs: Batch, prepared: Prepared) -> tuple[Array, Array]:
        """Return the Gram matrix (n, m), and k(x, x) of each x (n,); `gram` and `diag` by default.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        xs : Batch
            The first batch of `prepare`, n points.
        prepared : Prepared
            The result of `prepare` for xs and m points.
        """
        return self.gram(theta, prepared), self.diag(theta, xs)

    def line(self, theta: Array, i: int, prepared: Prepared, gram: Array | None = None) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of theta_i alone; the caller may overwrite its arrays.

        A coordinate sampler needs many values of one parameter; by default each value computes a whole Gram matrix.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters; all but theta_i are fixed.
        i : int
            Position of the parameter that varies.
        prepared : Prepared
            The result of `prepare`.
        gram : Array, optional
            The Gram matrix at theta, if known; a kernel may use it to save time.
        """

        def along(value: float) -> Array:
            moved = np.array(theta, dtype=np.float64)
            moved[i] = value
            return self.gram(moved, prepared)

        return along

    def gram_and_pullback(self, theta: Array, prepared: Prepared) -> tuple[Array, Pullback]:
        """Return the Gram matrix K, and the map from a cotangent G to the gradient of sum(G * K) in theta.

        By default the gradient is computed by central differences, from two Gram matrices for each parameter.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        prepared : Prepared
            The result of `prepare` for n and m points.

        Returns
        -------
        tuple of (Array, Pullback)
            K (n, m), and a function from G (n, m) to the gradient (p,).
        """

        def pullback(cotangent: Array) -> Array:
            return differentiate(lambda at: float(np.vdot(cotangent, self.gram(at, prepared))), theta)

        return self.gram(theta, prepared), pullback

    def around(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Return the kernel with its similarity changed; a kernel that clips another one clips the changed one.

        Parameters
        ----------
        change : callable
            Function from a kernel to its replacement.
        """
        return change(self)

    def input_vjp(self, theta: Array, xs: Batch, ys: Batch) -> Callable[[Array], tuple[Array, Pullback]] | None:
        """Return the Gram matrix K of xs and ys as a function of the continuous coordinates of xs.

        The default, None, means that the kernel has no gradient in them. If it has one, k(x, x) must not depend on
        them.

        Coordinates without a gradient keep their values in xs, and their derivatives are 0. The derivatives are also 0
        in coordinates that a point of xs lacks, for any share.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        xs : Batch
            m points; their other coordinates are fixed.
        ys : Batch
            n points.

        Returns
        -------
        callable or None
            A function from shares (m, c), as in `Domain`, to K (m, n) and to the map from a cotangent G (m, n) to the
            gradient of sum(G * K) in the shares (m, c).
        """
        return None

    def single_grams(self, thetas: Sequence[Array], xs: Batch) -> Callable[[Batch], Iterator[SingleGram] | None] | None:
        """Return a function from m points to their Gram matrices with n points in single precision.

        The default, None, means that double precision is as fast for these n points. The function returns None if it is
        as fast for the m points.

        Parameters
        ----------
        thetas : sequence of arrays of shape (p,)
            Parameter vectors; the function returns one matrix for each.
        xs : Batch
            n points.
        """
        return None


def differentiate(function: Callable[[Array], float], theta: Array) -> Array:
    """Return the gradient of a function of parameters by central differences (p,).

    function: function of parameters (p,).
    theta: the parameters at which to differentiate (p,).
    """
    steps = DIFFERENCE * np.eye(len(theta))
    return np.array([(function(theta + step) - function(theta - step)) / (2.0 * DIFFERENCE) for step in steps])
