"""Kernels: how alike two points are, with parameters and their priors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from bostruct.contracts.types import Array, Batch, Prepared

SINGLE_FLOOR = 1e-26  # the smallest entry of a Gram matrix in single precision, short of numbers that slow products
SINGLE_ROUNDING = 2.0**-24  # relative, of one operation in single precision


class Prior(Protocol):
    """A log density, up to a constant, of one unconstrained parameter."""

    def log_density(self, theta: float) -> float:
        """Return the log density, up to a constant; -inf outside the support.

        theta: the parameter, unconstrained.
        """
        ...


@runtime_checkable
class DifferentiablePrior(Prior, Protocol):
    """A prior under which a mode can be found by gradients."""

    def value_and_grad(self, theta: Array) -> tuple[float, Array]:
        """Return the sum of the log densities of several parameters, and its derivative in each.

        theta: (k,), unconstrained. Returns a float and an array (k,).
        """
        ...


class Parameter(NamedTuple):
    """A block of a kernel's parameters. `theta`, on the unconstrained scale, is all blocks in order.

    name: for people. size: number of parameters in the block. prior: of each of them. initial: value of each at first.
    """

    name: str
    size: int
    prior: Prior
    initial: float


class Kernel(Protocol):
    """A positive semi-definite function of two points, with parameters theta (p,)."""

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def prepare(self, xs: Batch, ys: Batch | None = None) -> Prepared:
        """Compute all that does not depend on theta: the costly part of structured kernels.

        xs: n points. What is prepared of single changes serves `gram` alone.
        ys: m points; None for xs with themselves, which a kernel may do at half the cost. A kernel may keep what it
            made of them for the next call with the same object, so nobody changes them.
        """
        ...

    def gram(self, theta: Array, prepared: Prepared) -> Array:
        """Return the Gram matrix (n, m), an array that the caller may overwrite.

        theta: (p,), all blocks of `parameters` in order.
        prepared: what `prepare` returned for n and m points.
        """
        ...

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: (p,).
        xs: n points.
        """
        ...


@runtime_checkable
class HasLine(Kernel, Protocol):
    """A kernel whose Gram matrix is cheap along one coordinate of theta: what a coordinate sampler needs."""

    def line(self, theta: Array, i: int, prepared: Prepared, gram: Array | None = None) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of theta_i alone, whose arrays are the caller's to overwrite.

        theta: (p,), which fixes all other parameters.
        i: position of the parameter that varies.
        prepared: what `prepare` returned.
        gram: the Gram matrix at theta, where known: a shortcut that a kernel may take.
        """
        ...


@runtime_checkable
class DependsOnTraining(Kernel, Protocol):
    """A kernel that is another for other training points, the second batch of `prepare`."""

    def gram_and_diag(self, theta: Array, xs: Batch, prepared: Prepared) -> tuple[Array, Array]:
        """Return the Gram matrix (n, m), and k(x, x) of each x (n,).

        theta: (p,).
        xs: the first batch of `prepare`, n points.
        prepared: of xs and the m training points.
        """
        ...


class BlockGram(NamedTuple):
    """A line on which the points fall into parts: K within each stays, and K between any two of them is scaled.

    gram: K at one place of the line. parts: positions of the points, at least two parts; a part may be empty. scale: K
    between parts at theta_i = t, in units of that in `gram`. whole: the line itself.
    """

    gram: Array
    parts: tuple[npt.NDArray[np.int64], ...]
    scale: Callable[[float], float]
    whole: Callable[[float], Array]

    def __call__(self, t: float) -> Array:
        return self.whole(t)


@runtime_checkable
class HasGradient(Kernel, Protocol):
    """A kernel that can be fitted by gradients."""

    def gram_and_pullback(self, theta: Array, prepared: Prepared) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K, and the map from a cotangent G to the gradient of sum(G * K) in theta.

        theta: (p,).
        prepared: what `prepare` returned for n and m points.

        Returns K (n, m), and a function from G (n, m) to the gradient (p,).
        """
        ...


@runtime_checkable
class HasInputGradient(Kernel, Protocol):
    """A kernel with gradients in the continuous coordinates of points, on which k(x, x) does not depend."""

    def vary_shares(
        self, theta: Array, xs: Batch, ys: Batch
    ) -> Callable[[Array], tuple[Array, Callable[[Array], Array]]]:
        """Return the Gram matrix K of xs and ys as a function of the continuous coordinates of xs.

        Coordinates in which it has no gradient stay those of xs, and their derivatives are 0. So are the derivatives in
        coordinates that a point of xs lacks, whatever share is given for them.

        theta: (p,).
        xs: m points, whose other coordinates stay.
        ys: n points.

        Returns a function from shares (m, c), as of `Domain.shares`, to K (m, n) and to the map from a cotangent G
        (m, n) to the gradient of sum(G * K) in the shares (m, c).
        """
        ...


class SingleGram(NamedTuple):
    """A Gram matrix in single precision, and the error that it may have.

    gram: (n, m), which is overwritten by the next one. Entries below `SINGLE_FLOOR` are raised to it.
    error: the most by which another entry may be wrong, as a share of it.
    """

    gram: npt.NDArray[np.float32]
    error: float


@runtime_checkable
class HasSingleGrams(Kernel, Protocol):
    """A kernel whose Gram matrices come in single precision too, in a third of the time."""

    def single_grams(self, thetas: Sequence[Array], xs: Batch) -> Callable[[Batch], Iterator[SingleGram] | None] | None:
        """Return a function from m points to the Gram matrices of n points with them, one for each parameter vector.

        thetas: (p,) each.
        xs: n points.

        The function returns None for points of which double precision is as quick. None instead of it: for any points.
        """
        ...


@runtime_checkable
class Similarity(HasLine, HasGradient, Protocol):
    """A function of two points with all methods of a kernel, whose matrices may be indefinite."""
