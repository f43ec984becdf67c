"""The contract of a factor: what a kind of variable adds to the product kernel of a space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray, Prepared

MAX_CODES = 4096  # columns in which a factor encodes choices; beyond, it adds variables one by one, in memory (n, m)


class VariableChanges(NamedTuple):
    """Changes of single variables, among those that one factor serves.

    which: the variable that each of r changes is in, as its position among the factor's variables (r,).
    before: the columns of that variable before the change (r, w); of a narrower variable the first ones count.
    after: the same after the change (r, w).
    """

    which: IntArray
    before: IntArray
    after: IntArray


Pullback: TypeAlias = Callable[[Array], Array]


class Factor(Protocol):
    """A product of kernels of single variables, one for each of c variables of one kind, with p parameters in all.

    Most factors have one parameter for each variable, in order. A factor may have k parameters for each, those of the
    first variable first, or a single one that all share.

    A factor sees its own columns alone: xs holds the columns of its variables, in order, (n, w). Its kernels are
    positive, because what they add to the product travels as logarithms: products over hundreds of variables underflow.
    """

    @property
    def n_variables(self) -> int:
        """The number of its variables, c."""
        ...

    @property
    def n_parameters(self) -> int:
        """The number of their parameters, p: a multiple of c, or 1."""
        ...

    @property
    def has_unit_diagonal(self) -> bool:
        """True where each kernel of a value with itself is 1, whatever theta is."""
        ...

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Prepared:
        """Compute what does not depend on theta.

        xs: own columns of n points (n, w).
        ys: own columns of m points (m, w); None for xs with themselves.
        """
        ...

    def log_gram(self, theta: Array, prepared: Prepared, without: int | None = None) -> Array:
        """Return the sum of the logarithms of the kernels (n, m), a new array.

        theta: (p,).
        prepared: what `prepare` returned.
        without: position of a parameter, in 0..p - 1; what depends on it is left out; None for none.
        """
        ...

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        """Return `log_gram` of each point with itself (n,).

        theta: (p,).
        xs: own columns of n points (n, w).
        """
        ...

    def gradient(self, theta: Array, prepared: Prepared, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log_gram) in theta (p,).

        theta: (p,).
        prepared: what `prepare` returned for n and m points.
        weighted: (n, m).
        """
        ...

    def line(self, i: int, theta: Array, prepared: Prepared, gram: Array, *, carried: bool) -> Callable[[float], Array]:
        """Return the Gram matrix of the whole product as a function of one parameter.

        i: position of the parameter, in 0..p - 1.
        theta: (p,), the parameters now.
        prepared: what `prepare` returned for n and m points.
        gram: the product (n, m), which is only read.
        carried: True where `gram` holds the kernel of that variable at `theta`; False where it leaves that out.

        Each call may overwrite what the last one returned.
        """
        ...

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> Prepared:
        """Compute what does not depend on theta of r changes of single variables.

        changes: of its variables.
        ys: own columns of m points (m, w).
        """
        ...

    def log_change(self, theta: Array, prepared: Prepared) -> Array:
        """Return by how much each change adds to `log_gram` (r, m).

        theta: (p,).
        prepared: what `prepare_changes` returned.
        """
        ...


@runtime_checkable
class SmoothFactor(Factor, Protocol):
    """A factor of numbers, one column each, with gradients in their shares of their ranges."""

    def vary_shares(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        """Return the sum of the logarithms of the kernels as a function of the shares of m points.

        theta: the factor's parameters.
        xs: own columns of m points (m, c), which say what numbers each point has.
        ys: own columns of n points (n, c).

        Returns a function from shares (m, c) to log K (m, n) and to the map from weights (m, n) to the gradient of
        sum(weights * log K) in the shares (m, c), 0 in numbers that a point has not.
        """
        ...


class SingleLogGram(NamedTuple):
    """A part of log K in single precision.

    log_gram: (n, m), which the receiver may overwrite, and which is overwritten by the next one.
    error: the most by which an entry may be wrong.
    smallest, largest: the least and the most that an entry can be.
    """

    log_gram: npt.NDArray[np.float32]
    error: float
    smallest: float
    largest: float


SingleLogGrams: TypeAlias = Callable[[IntArray], Iterator[SingleLogGram]]


@runtime_checkable
class SingleFactor(Factor, Protocol):
    """A factor that adds up its logarithms in single precision, too."""

    def single_log_grams(self, thetas: Sequence[Array], xs: IntArray) -> SingleLogGrams | None:
        """Return a function from m points to `log_gram` of n points with them under each of several parameter vectors.

        thetas: (c,) each.
        xs: own columns of n points (n, w), as the function takes those of m points (m, w).

        Returns None where that would take too many columns.
        """
        ...


def vary_whole_factor(
    factor: Factor, i: int, theta: Array, prepared: Prepared, gram: Array, *, carried: bool
) -> Callable[[float], Array]:
    """Return K along a parameter on which all of a factor depends: its `line`, by the whole of its logarithm.

    factor: computed anew for each value of the parameter.
    i: position of the parameter.
    theta: the factor's parameters now.
    prepared: of n and m points.
    gram: K (n, m).
    carried: True where `gram` holds this factor at `theta`.
    """
    rest = gram / np.exp(factor.log_gram(theta, prepared)) if carried else gram

    def along(t: float) -> Array:
        moved = np.array(theta, dtype=np.float64)
        moved[i] = t
        found = factor.log_gram(moved, prepared)
        return np.multiply(np.exp(found, out=found), rest, out=found)

    return along
