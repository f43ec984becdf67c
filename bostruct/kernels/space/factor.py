"""The base of a factor: what a kind of variable adds to the product kernel of a space.

Also helpers for fast paths of factors: caches of the last calls, and look-ups of one table row for each change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray, Prepared, Pullback
from bostruct.contracts.kernel import differentiate

MAX_CODES = 4096  # columns of encoded choices; with more, a factor adds variables one by one, in memory (n, m)


class VariableChanges(NamedTuple):
    """Changes of single variables of one factor.

    Attributes
    ----------
    which : array of int, shape (r,)
        The variable of each of r changes, by its position among the factor's variables.
    before : array of int, shape (r, w)
        The columns of that variable before the change; a narrower variable uses the first ones.
    after : array of int, shape (r, w)
        The same columns after the change.
    """

    which: IntArray
    before: IntArray
    after: IntArray


class SingleLogGram(NamedTuple):
    """A part of log K in single precision.

    log_gram: (n, m); the caller may overwrite it, and the next item of the iterator overwrites it.
    """

    log_gram: npt.NDArray[np.float32]
    error: float
    smallest: float
    largest: float


SingleLogGrams: TypeAlias = Callable[[IntArray], Iterator[SingleLogGram]]
Line: TypeAlias = Callable[[float], Array]  # kernel matrices as a function of one parameter


class Factor(ABC):
    """A product of kernels of single variables, one for each of c variables of one kind, with p parameters in all.

    Most factors have one parameter for each variable, in order. A factor may also have k parameters for each, those of
    the first variable first, or a single one that all share.

    A factor sees only the columns (n, w) of its own variables, in order. Its kernels must be positive, because products
    over hundreds of variables underflow and are summed as logarithms.

    `n_variables` and `log_gram` must be written. Everything else has a slower default that uses `log_gram`.

    Parameters
    ----------
    n_variables : int
        Number of variables, c.
    has_unit_diagonal : bool, default False
        True if each kernel of a value with itself is 1 for any theta; False if unknown.
    """

    n_variables: int
    has_unit_diagonal: bool = False

    @property
    def n_parameters(self) -> int:
        """The number of parameters, p: a multiple of c, or 1; c by default."""
        return self.n_variables

    def share_parameters(self, most: int) -> list[ServedFactor]:
        """Return factors that replace this one, in which many similar variables share one parameter.

        By default it is the factor itself, with a parameter for each variable.

        Parameters
        ----------
        most : int
            The largest number of similar variables that each keep their own parameter.

        Returns
        -------
        list of ServedFactor
            Factors, and the positions in 0..c - 1 of the variables of each.
        """
        return [(self, tuple(range(self.n_variables)))]

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Prepared:
        """Compute what does not depend on theta; by default it returns both batches as a pair.

        Parameters
        ----------
        xs : array of int, shape (n, w)
            The factor's columns of n points.
        ys : array of int, shape (m, w), optional
            The factor's columns of m points; None for xs with themselves.
        """
        return xs, xs if ys is None else ys

    @abstractmethod
    def log_gram(self, theta: Array, prepared: Prepared, without: int | None = None) -> Array:
        """Return the sum of the logarithms of the kernels (n, m), a new array.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        prepared : Prepared
            The result of `prepare`.
        without : int, optional
            Position of a parameter, in 0..p - 1, to leave out with all that depends on it; None for none.
        """

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        """Return `log_gram` of each point with itself (n,), zeros if the diagonal is 1.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        xs : array of int, shape (n, w)
            The factor's columns of n points.
        """
        if self.has_unit_diagonal:
            return np.zeros(len(xs))
        return np.array([self.log_gram(theta, self.prepare(x[None]))[0, 0] for x in xs], dtype=np.float64)

    def gradient(self, theta: Array, prepared: Prepared, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log_gram) in theta (p,), by default by central differences.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        prepared : Prepared
            The result of `prepare` for n and m points.
        weighted : array of shape (n, m)
            Weights.
        """
        return differentiate(lambda at: float(np.vdot(weighted, self.log_gram(at, prepared))), theta)

    def line(self, i: int, theta: Array, prepared: Prepared, gram: Array, *, carried: bool) -> Line:
        """Return the Gram matrix of the whole product as a function of one parameter.

        By default each value recomputes the whole factor. Each call may overwrite the result of the last one.

        Parameters
        ----------
        i : int
            Position of the parameter, in 0..p - 1.
        theta : array of shape (p,)
            The current parameters.
        prepared : Prepared
            The result of `prepare` for n and m points.
        gram : array of shape (n, m)
            The product, which is not changed.
        carried : bool
            True if `gram` includes the kernel of that variable at `theta`; False if it leaves it out.
        """
        base = self.log_gram(theta, prepared, None if carried else i)
        rest = gram / np.exp(base) if carried else gram

        def along(t: float) -> Array:
            moved = np.array(theta, dtype=np.float64)
            moved[i] = t
            found = self.log_gram(moved, prepared)
            if not carried:
                found -= base
            return np.multiply(np.exp(found, out=found), rest, out=found)

        return along

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> Prepared:
        """Compute what does not depend on theta for r changes of single variables.

        By default it compares the points before and after each change, with their other variables taken from some y.
        All variables are assumed to have the same width.

        Parameters
        ----------
        changes : VariableChanges
            Changes of the factor's variables.
        ys : array of int, shape (m, w)
            The factor's columns of m points.
        """
        width, made = ys.shape[1] // self.n_variables, []
        columns = changes.which[:, None] * width + np.arange(width)
        for own in (changes.before, changes.after):
            points = np.resize(ys, (len(own), ys.shape[1]))
            np.put_along_axis(points, columns, own[:, :width], axis=1)
            made.append(self.prepare(points, ys))
        return tuple(made)

    def log_change(self, theta: Array, prepared: Prepared) -> Array:
        """Return by how much each change adds to `log_gram` (r, m).

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        prepared : Prepared
            The result of `prepare_changes`.
        """
        before, after = prepared
        return self.log_gram(theta, after) - self.log_gram(theta, before)

    def input_vjp(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]] | None:
        """Return `log_gram` of numbers, one column each, as a function of the range shares of m points.

        The default, None, means that the factor has no gradient in them.

        Parameters
        ----------
        theta : array of shape (p,)
            The parameters.
        xs : array of int, shape (m, c)
            The factor's columns of m points, which show the numbers that each point has.
        ys : array of int, shape (n, c)
            The factor's columns of n points.

        Returns
        -------
        callable or None
            A function from shares (m, c) to log K (m, n) and to the map from weights (m, n) to the gradient of
            sum(weights * log K) in the shares (m, c), 0 in numbers that a point lacks.
        """
        return None

    def single_log_grams(self, thetas: Sequence[Array], xs: IntArray) -> SingleLogGrams | None:
        """Return a function from m points to `log_gram` of n points with them, for each parameter vector.

        The default, None, means that the factor sums its logarithms only in double precision.

        Parameters
        ----------
        thetas : sequence of arrays of shape (p,)
            Parameter vectors.
        xs : array of int, shape (n, w)
            The factor's columns of n points; the function takes those of m points (m, w).
        """
        return None


ServedFactor: TypeAlias = tuple[Factor, tuple[int, ...]]  # a factor, and the positions of its variables


class PreparedShared(NamedTuple):
    """Two batches, prepared for a factor with one shared parameter.

    shape: (n, m).
    """

    shape: tuple[int, int]
    inner: Prepared


@dataclass(frozen=True)
class SharedFactor(Factor):
    """A factor of any kind whose variables share one parameter."""

    factor: Factor

    @property
    def n_variables(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of variables."""
        return self.factor.n_variables

    @property
    def n_parameters(self) -> int:
        return 1

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.factor.has_unit_diagonal

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> PreparedShared:
        return PreparedShared((len(xs), len(xs if ys is None else ys)), self.factor.prepare(xs, ys))

    def log_gram(self, theta: Array, prepared: PreparedShared, without: int | None = None) -> Array:
        return (
            self.factor.log_gram(self._repeat(theta), prepared.inner) if without is None else np.zeros(prepared.shape)
        )

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        return self.factor.log_diag(self._repeat(theta), xs)

    def gradient(self, theta: Array, prepared: PreparedShared, weighted: Array) -> Array:
        return self.factor.gradient(self._repeat(theta), prepared.inner, weighted).sum(keepdims=True)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> Prepared:
        return self.factor.prepare_changes(changes, ys)

    def log_change(self, theta: Array, prepared: Prepared) -> Array:
        return self.factor.log_change(self._repeat(theta), prepared)

    def _repeat(self, theta: Array) -> Array:
        return np.full(self.factor.n_variables, theta[0])


CachedValue = TypeVar("CachedValue")


def look_up(rows: Array, columns: IntArray) -> Array:
    """Return rows[i, columns[i, j]] (r, m), in half the time of `numpy.take_along_axis`.

    rows: (r, k).
    columns: (r, m), which is overwritten.
    """
    columns += (np.arange(len(rows)) * rows.shape[1])[:, None]
    return rows.take(columns)


def count_disagreements(xs: IntArray, ys: IntArray, size: int) -> Array:
    """Return the number of variables in which two points differ (n, m).

    xs: choices of n points (n, c).
    ys: choices of m points (m, c).
    size: number of choices of each variable, at least 2.

    Sums of ones are exact in single precision up to 2^24 variables, and take half the time.
    """
    with np.errstate(invalid="ignore"):  # a BLAS may set the flag in lanes that it pads; the factors are finite
        if size == 2:
            agree = _signs(xs) @ _signs(ys).T  # agreements minus disagreements
            return (0.5 * (xs.shape[1] - agree)).astype(np.float64)
        agree = np.zeros((len(xs), len(ys)), dtype=np.float32)
        for choice in range(size):
            agree += (xs == choice).astype(np.float32) @ (ys == choice).astype(np.float32).T
        return (xs.shape[1] - agree).astype(np.float64)


def _signs(xs: IntArray) -> npt.NDArray[np.float32]:
    """Return -1 for choice 0 and 1 for choice 1."""
    signs = xs.astype(np.float32)
    signs *= 2.0
    signs -= 1.0
    return signs


def disagreement_change(changes: VariableChanges, ys: IntArray) -> npt.NDArray[np.int8]:
    """Return, for each change, the change in whether the variable differs from y's: -1, 0 or 1 (r, m).

    ys: choices of m points (m, c).
    """
    theirs = ys.T[changes.which]
    now = changes.after[:, :1] != theirs
    before = changes.before[:, :1] != theirs
    return now.view(np.int8) - before.view(np.int8)


class LastCall(Generic[CachedValue]):
    """A function of arrays that caches its last result. It compares arrays by identity, so they must not change.

    Points are scored in many small batches, all of which need the result for the training points; single changes of one
    base need the result for the base. A pickle leaves the result out, because it has no such arrays.
    """

    def __init__(self, make: Callable[..., CachedValue]) -> None:
        self._make = make
        self._last: tuple[tuple[IntArray, ...], CachedValue] | None = None

    def __call__(self, *arrays: IntArray) -> CachedValue:
        last = self._last
        if last is None or any(map(is_not, last[0], arrays)):
            self._last = last = (arrays, self._make(*arrays))
        return last[1]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_last": None}


class LastThetas(Generic[CachedValue]):
    """A function of a parameter vector that caches its last few results, which a search needs again at every step.

    most: number of results to keep, at least 1.

    A pickle leaves the results out.
    """

    def __init__(self, make: Callable[[Array], CachedValue], most: int) -> None:
        self._make, self._most = make, most
        self._known: OrderedDict[bytes, CachedValue] = OrderedDict()

    def __call__(self, theta: Array) -> CachedValue:
        key = theta.tobytes()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        value = self._known[key] = self._make(theta)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return value

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_known": OrderedDict()}
