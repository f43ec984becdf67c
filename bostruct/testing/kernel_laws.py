"""The laws of a kernel, at least one for each member of its base class, and of the priors of its parameters.

`check_kernel` checks all of them on a few random points, at parameters sampled around their initial values. Positive
semi-definiteness is checked on more points and at more parameters, because few of them rarely show a violation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import check_part, short_repr
from bostruct.contracts import SINGLE_FLOOR, Array, Batch, Domain, IntArray, Kernel, Prepared, Prior
from bostruct.kernels.space.factor import Factor, VariableChanges
from bostruct.testing.common import (
    assert_close,
    check_array,
    check_defaults,
    copy_batch,
    every_point,
    names_part,
    sample_changes,
)
from bostruct.testing.gradient_laws import check_input_gradient

TINY = 1e-10  # relative to the largest prior variance: tolerance of rounding
SMALL = 64  # maximum size of a domain that is checked on all points
MANY = 32  # points sampled from a larger domain
DRAWS = 9  # parameters sampled to check positive semi-definiteness
STEP = 1e-5  # step of central differences
FACTOR_ROUNDING = 1e-9  # tolerance of logarithms


class KernelCase(NamedTuple):
    """Points and parameters at which the laws of a kernel are checked.

    theta, other: parameters (p,), and another value of each parameter.
    reach: maximum distance of the parameters from the initial values, above 0.
    """

    domain: Domain
    xs: Batch
    ys: Batch
    theta: Array
    other: Array
    reach: float
    rng: np.random.Generator


@names_part
def check_kernel(kernel: Kernel, domain: Domain, rng: np.random.Generator, reach: float = 3.0, m: int = 6) -> None:
    """Check every law of a kernel.

    Parameters
    ----------
    kernel : Kernel
        A kernel on the domain.
    domain : Domain
        The domain of the points.
    rng : Generator
        Generator of points and parameters.
    reach : float, default 3.0
        Maximum distance of sampled parameters from their initial values, above 0.
    m : int, default 6
        Number of random points, at least 3.

    Raises
    ------
    AssertionError
        If a law is violated.
    """
    check_part("kernel", kernel, Kernel)
    xs = domain.sample(m, rng)
    ys = domain.join(domain.sample(m - 1, rng), xs[:2])
    theta = near_initial(kernel, rng, reach)
    case = KernelCase(domain, xs, ys, theta, theta + rng.uniform(-1.0, 1.0, len(theta)), reach, rng)
    for law in LAWS.values():
        law(kernel, case)


def near_initial(kernel: Kernel, rng: np.random.Generator, reach: float) -> Array:
    """Return random parameters around their initial values (p,).

    kernel: kernel with any number of parameter blocks.
    rng: random number generator.
    reach: the largest distance from an initial value.
    """
    blocks = [block.initial + rng.uniform(-reach, reach, block.size) for block in kernel.parameters]
    theta = np.concatenate([*blocks, np.zeros(0)])
    theta.flags.writeable = False  # parts must not modify their arguments
    return theta


def check_definite(kernel: Kernel, domain: Domain, rng: np.random.Generator, reach: float) -> None:
    """Check that Gram matrices are finite, symmetric and positive semi-definite, at many parameters.

    The parameters are the initial values, both ends of the reach for all parameters together, and random values
    between. Values outside the support of a prior are omitted. A small domain is checked on all its points.

    reach: the maximum distance of parameters from their initial values, above 0.
    """
    every = every_point(domain, SMALL, rng)
    xs = domain.sample(MANY, rng) if every is None else every
    start, prepared = near_initial(kernel, rng, 0.0), kernel.prepare(xs)
    thetas = [start, start - reach, start + reach, *(near_initial(kernel, rng, reach) for _ in range(DRAWS))]
    priors = [block.prior for block in kernel.parameters for _ in range(block.size)]
    for theta in thetas:
        if any(prior.log_density(float(one)) == -np.inf for prior, one in zip(priors, theta, strict=True)):
            continue
        at = f"at theta {np.round(theta, 6).tolist()}, for {len(xs)} points"
        gram = check_array(kernel.gram(theta, prepared), 2, "gram returns the matrix (n, m)")
        assert gram.shape == (len(xs), len(xs)), f"gram is (n, m) {at}: got {gram.shape}"
        assert np.all(np.isfinite(gram)), f"gram is finite {at}: got {gram[~np.isfinite(gram)][0]}"
        rounding = TINY * float(np.max(np.abs(gram)))
        assert_close(gram, gram.T, rounding, f"gram of points with themselves is symmetric {at}")
        _check_definite(gram, rounding, at)


def _check_definite(gram: Array, rounding: float, at: str) -> None:
    smallest = float(np.linalg.eigvalsh(0.5 * (gram + gram.T))[0])
    assert smallest >= -rounding, f"gram is positive semi-definite {at}: its smallest eigenvalue is {smallest}"


def check_gram(kernel: Kernel, domain: Domain, xs: Batch, ys: Batch, theta: Array) -> None:
    """Check that Gram matrices are symmetric, positive semi-definite, and the same for equal points.

    theta: (p,).
    """
    gram = check_array(kernel.gram(theta, kernel.prepare(xs)), 2, "gram returns the matrix (n, m)")
    diag = check_array(kernel.diag(theta, xs), 1, "diag returns one number for each point (n,)")
    n, across = len(xs), kernel.gram(theta, kernel.prepare(xs, ys))
    assert gram.shape == (n, n), f"gram of n points with themselves is (n, n): expected {(n, n)}, got {gram.shape}"
    assert diag.shape == (n,), f"diag of n points is (n,): expected {(n,)}, got {diag.shape}"
    assert across.shape == (n, len(ys)), f"gram of n and m points is (n, m), got {across.shape}"
    assert np.all(np.isfinite(gram)), "gram is finite"
    assert np.all(diag >= 0), f"diag is at least 0: got {diag.min()}"
    rounding = TINY * float(np.max(diag))
    assert_close(gram, gram.T, rounding, "gram of points with themselves is symmetric")
    assert_close(gram.diagonal(), diag, rounding, "diag is the diagonal of gram")
    _check_definite(gram, rounding, f"for {n} points")
    copy = copy_batch(domain, xs)
    for batch, kind in ((xs, "the same object"), (copy, "an equal batch that is another object")):
        own = kernel.gram(theta, kernel.prepare(xs, batch))
        assert_close(own, gram, rounding, f"prepare(xs) is prepare(xs, ys) if ys is {kind}")
    assert_close(kernel.gram(theta, kernel.prepare(copy)), gram, rounding, "gram of equal points is equal")
    if not kernel.depends_on_training:
        back = kernel.gram(theta, kernel.prepare(ys, xs))
        assert_close(back.T, across, rounding, "gram of (ys, xs) is the transpose of gram of (xs, ys)")
    for i in range(n):
        alone = kernel.gram(theta, kernel.prepare(xs[i : i + 1], ys))
        assert_close(alone[0], across[i], rounding, f"row {i} of gram does not depend on the other rows")
    prepared = kernel.prepare(xs, ys)
    first = kernel.gram(theta, prepared)
    before = first.copy()
    owned = "gram returns a new array, which the caller may overwrite"
    assert first.flags.writeable, f"{owned}: got a read-only array"
    first.fill(np.nan)
    assert np.array_equal(kernel.gram(theta, prepared), before), f"{owned}: the next array changed with it"


def check_changes(kernel: Kernel, domain: Domain, xs: Batch, ys: Batch, theta: Array, rng: np.random.Generator) -> None:
    """Check that neighborhoods as a domain lists them have the same kernel values as the points themselves.

    theta: (p,).
    """
    pair = sample_changes(domain, xs[:2], 10, rng)
    if pair is None:
        return
    expected = kernel.gram(theta, kernel.prepare(pair.rows, ys))
    rounding = TINY * float(np.max(kernel.diag(theta, pair.rows)))
    for changes, rows, kind in (
        (pair.changes, expected, "single changes"),
        (pair.changes[1:], expected[1:], "a slice of single changes"),
    ):
        found = kernel.gram(theta, kernel.prepare(changes, ys))
        assert_close(found, rows, rounding, f"gram of {kind} is gram of the changed points")
    diag = kernel.diag(theta, pair.changes)
    assert_close(diag, kernel.diag(theta, pair.rows), rounding, "diag of single changes is diag of the points")


def check_training(kernel: Kernel, xs: Batch, ys: Batch, theta: Array) -> None:
    """Check that `gram_and_diag` returns the Gram matrix and, on training points, its diagonal.

    theta: (p,).
    """
    prepared = kernel.prepare(xs, ys)
    gram, diag = kernel.gram_and_diag(theta, xs, prepared)
    rounding = TINY * float(np.max(diag))
    assert diag.shape == (len(xs),), f"gram_and_diag returns a diagonal (n,), got {diag.shape}"
    assert_close(gram, kernel.gram(theta, prepared), rounding, "gram_and_diag returns the result of gram")
    own, diag = kernel.gram_and_diag(theta, ys, kernel.prepare(ys))
    assert_close(own.diagonal(), diag, rounding, "gram_and_diag of training points returns the diagonal of gram")


def check_around(kernel: Kernel, xs: Batch, ys: Batch, theta: Array) -> None:
    """Check that a kernel is unchanged if its similarity is replaced by itself.

    theta: (p,).
    """
    same = kernel.around(lambda one: one)
    found, own = (one.gram(theta, one.prepare(xs, ys)) for one in (same, kernel))
    assert_close(found, own, TINY * float(np.max(np.abs(own))), "around with no change returns an equal kernel")


def check_single_grams(kernel: Kernel, xs: Batch, ys: Batch, theta: Array) -> None:
    """Check that Gram matrices in single precision are within the declared error of those in double precision.

    theta: (p,).
    """
    along = kernel.single_grams([theta, theta], xs)
    found = None if along is None else along(ys)
    expected = np.maximum(kernel.gram(theta, kernel.prepare(xs, ys)), SINGLE_FLOOR)
    for gram, error in found or ():
        gap = np.abs(np.asarray(gram, dtype=np.float64) - expected)
        assert np.all(gap <= error * expected), f"single_grams is within its error {error} of gram: got {gap.max()}"


def check_line(kernel: Kernel, xs: Batch, ys: Batch, theta: Array, other: Array) -> None:
    """Check that `line` equals `gram` at every coordinate and value, with and without the Gram matrix at theta.

    A line may overwrite the arrays that it returns; its arguments are read-only.

    theta: (p,).
    other: (p,), another value of each coordinate.
    """
    for prepared in (kernel.prepare(xs), kernel.prepare(xs, ys)):
        known = kernel.gram(theta, prepared)
        known.flags.writeable = False
        for i in range(len(theta)):
            lines = (kernel.line(theta, i, prepared), kernel.line(theta, i, prepared, known))
            for value in (float(other[i]), float(theta[i])):
                expected = kernel.gram(_with_coordinate(theta, i, value), prepared)
                for line in lines:
                    along = line(value)
                    assert_close(along, expected, TINY * np.max(np.abs(expected)), f"line along {i} is gram at {value}")
                    along.fill(np.nan)


def check_pullback(kernel: Kernel, xs: Batch, ys: Batch | None, theta: Array, rng: np.random.Generator) -> None:
    """Check that the gradient of sum(G * K) equals central differences.

    ys: m points; None for xs with themselves, for a kernel that depends on the training points.
    theta: (p,).
    """
    prepared: Prepared = kernel.prepare(xs, None if kernel.depends_on_training else ys)
    both = kernel.gram_and_pullback(theta, prepared)
    is_pair = isinstance(both, tuple) and len(both) == 2 and callable(both[1])
    assert is_pair, f"gram_and_pullback returns a matrix and a function: got {short_repr(both)}"
    gram, pullback = both
    assert_close(gram, kernel.gram(theta, prepared), 0.0, "gram_and_pullback returns the result of gram")
    cotangent = rng.normal(size=gram.shape)
    gradient = check_array(pullback(cotangent), 1, "the pullback returns the gradient (p,)")
    assert gradient.shape == theta.shape, f"the gradient is (p,): expected {theta.shape}, got {gradient.shape}"
    # entries may be differences of terms as large as k(x, x), which are rounded
    rounding = 1e-10 * float(np.sum(np.abs(cotangent))) * float(np.max(kernel.diag(theta, xs), initial=0.0))
    for i in range(len(theta)):
        ahead, behind = (kernel.gram(_with_coordinate(theta, i, theta[i] + step), prepared) for step in (1e-5, -1e-5))
        numeric = float(np.sum(cotangent * (ahead - behind))) / 2e-5
        scale = float(np.sum(np.abs(cotangent) * np.maximum(np.abs(ahead), np.abs(behind))))
        is_right = abs(gradient[i] - numeric) <= 1e-6 * scale + rounding + 1e-12
        assert is_right, f"the gradient in coordinate {i} is the derivative: expected {numeric}, got {gradient[i]}"


def _with_coordinate(theta: Array, i: int, value: float) -> Array:
    moved = theta.copy()
    moved[i] = value
    return moved


def _check_grams(kernel: Kernel, case: KernelCase) -> None:
    for theta in (near_initial(kernel, case.rng, 0.0), case.theta):
        check_gram(kernel, case.domain, case.xs, case.ys, theta)


def _check_defaults(kernel: Kernel, case: KernelCase) -> None:
    """Check that overridden members agree with the defaults of the base class."""
    theta, prepared = case.theta, kernel.prepare(case.xs)
    n_same = 1 if kernel.depends_on_training else 2  # the default's diagonal does not depend on training points
    cotangent = case.rng.normal(size=(len(case.xs), len(case.xs)))
    largest = float(np.max(np.abs(kernel.gram(theta, prepared))))
    calls: dict[str, Callable[[Any], Sequence[Array]]] = {
        "diag": lambda own: [own(theta, case.xs)],
        "gram_and_diag": lambda own: own(theta, case.xs, prepared)[:n_same],
        "line": lambda own: [own(theta, i, prepared)(float(t)).copy() for i, t in enumerate(case.other)],
        "gram_and_pullback": lambda own: [own(theta, prepared)[1](cotangent) / np.abs(cotangent).sum()],
    }
    check_defaults(kernel, Kernel, calls, 1e-6 * largest)


@names_part
def check_factor(factor: Factor, xs: IntArray, rng: np.random.Generator) -> None:
    """Check every law of a factor of a product kernel.

    Parameters
    ----------
    factor : Factor
        A factor of c variables of the same width.
    xs : IntArray
        The columns of its variables at n points (n, w), with n at least 4.
    rng : Generator
        Generator of parameters and weights.

    Raises
    ------
    AssertionError
        If a law is violated; the message states the law.
    """
    c, p = check_part("factor", factor, Factor).n_variables, factor.n_parameters
    assert p == 1 or p % c == 0, f"n_parameters is 1 or a multiple of {c}: got {p}"
    xs = np.array(xs, dtype=np.int64)
    xs.flags.writeable = False
    theta, ys, width = rng.normal(-0.5, 0.5, p), xs[1:], xs.shape[1] // c
    theta.flags.writeable = False
    own, prepared = factor.log_gram(theta, factor.prepare(xs)), factor.prepare(xs, ys)
    check_array(own, 2, "log_gram is a matrix (n, n)")
    assert np.all(np.isfinite(own)), "log_gram is finite"
    assert_close(own, own.T, FACTOR_ROUNDING, "log_gram is symmetric")
    assert_close(factor.log_gram(theta, prepared), own[:, 1:], FACTOR_ROUNDING, "log_gram has each pair of points")
    assert_close(factor.log_diag(theta, xs), own.diagonal(), FACTOR_ROUNDING, "log_diag is the diagonal of log_gram")
    if factor.has_unit_diagonal:
        assert_close(own.diagonal(), np.zeros(len(xs)), FACTOR_ROUNDING, "a unit diagonal has logarithms of 0")
    least = float(np.linalg.eigvalsh(np.exp(own))[0])
    assert least >= -FACTOR_ROUNDING * np.exp(own.max()) * len(xs), f"the kernel is positive semi-definite: got {least}"
    whole, weighted = np.exp(own[:, 1:]), rng.normal(size=(len(xs), len(ys)))
    rest = [np.exp(factor.log_gram(theta, prepared, without=i)) for i in range(p)]
    which = np.arange(len(xs)) % c
    columns = which[:, None] * width + np.arange(width)
    before, after = (np.take_along_axis(rows, columns, axis=1) for rows in (xs, xs[::-1]))
    changes = VariableChanges(which, before, after)
    moved = np.array(xs)
    np.put_along_axis(moved, columns, after, axis=1)
    expected = factor.log_gram(theta, factor.prepare(moved, ys)) - factor.log_gram(theta, prepared)
    found = factor.log_change(theta, factor.prepare_changes(changes, ys))
    assert_close(found, expected, FACTOR_ROUNDING, "log_change is the difference caused by the changes")
    calls: dict[str, Callable[[Any], Sequence[Array]]] = {
        "gradient": lambda part: [part(theta, prepared, weighted)],
        "line": lambda part: [
            np.array(part(i, theta, prepared, gram.copy(), carried=carried)(t))
            for i in range(p)
            for t in (float(theta[i]), -1.0, 0.4)
            for gram, carried in ((whole, True), (rest[i], False))
        ],
    }
    check_defaults(factor, Factor, calls, 1e-5 * (1.0 + float(np.abs(own).max())))


@names_part
def check_prior(prior: Prior, rng: np.random.Generator, initial: float = 0.0, reach: float = 3.0) -> None:
    """Check every law of a prior and its gradient.

    Parameters
    ----------
    prior : Prior
        The prior to test.
    rng : Generator
        Generator of parameters.
    initial : float, default 0.0
        A parameter inside the support, such as `Parameter.initial`.
    reach : float, default 3.0
        Maximum distance of sampled parameters from it, above 0.

    Raises
    ------
    AssertionError
        If a law is violated.
    """
    check_part("prior", prior, Prior)
    theta = initial + rng.uniform(-reach, reach, 12)
    densities = np.array([prior.log_density(float(one)) for one in theta])
    assert math.isfinite(prior.log_density(initial)), f"log_density is finite at the initial value, {initial}"
    assert not np.any(np.isnan(densities) | (densities == np.inf)), "log_density is a number, or -inf"
    assert [prior.log_density(float(one)) for one in theta] == densities.tolist(), "log_density is a function"
    near = np.add.outer(theta, (-2.0 * STEP, 0.0, 2.0 * STEP))
    is_inside = [all(math.isfinite(prior.log_density(float(one))) for one in row) for row in near]
    inside = np.append(theta[is_inside], initial)
    inside.flags.writeable = False
    total, gradient = prior.value_and_grad(inside)
    shape = np.shape(gradient)
    assert shape == inside.shape, f"value_and_grad returns a gradient (k,): expected {inside.shape}, got {shape}"
    expected = math.fsum(prior.log_density(float(one)) for one in inside)
    rounding = 1e-9 * (1.0 + abs(expected))
    assert_close(total, expected, rounding, "value_and_grad returns the sum of the log densities")
    ahead, behind = (np.array([prior.log_density(float(t) + step) for t in inside]) for step in (STEP, -STEP))
    numeric = (ahead - behind) / (2.0 * STEP)
    rounding = 1e-5 * (1.0 + float(np.max(np.abs(numeric))))
    assert_close(gradient[:-1], numeric[:-1], rounding, "value_and_grad returns the gradient of log_density")
    if not np.all(np.isfinite(densities)):
        total, _ = prior.value_and_grad(theta)
        assert total == -np.inf, "value_and_grad returns -inf if a parameter is outside the support"
    largest = float(np.max(np.abs(Prior.value_and_grad(prior, inside)[1][:-1]), initial=0.0))
    calls = {"value_and_grad": lambda own: [np.array(own(inside)[0]), own(inside)[1][:-1]]}
    check_defaults(prior, Prior, calls, 1e-5 * (1.0 + largest))


def _check_variables(kernel: Kernel, case: KernelCase) -> None:
    """Check that parameters and columns belong to variables by position."""
    owners, columns = kernel.parameter_variables, kernel.variable_columns
    n = len(case.theta)
    assert len(owners) == n, f"parameter_variables has one entry per parameter: expected {n}, got {len(owners)}"
    is_position = [one is None or (isinstance(one, int) and one >= 0) for one in owners]
    assert all(is_position), f"parameter_variables are positions of variables, or None: got {owners}"
    listed = [column for own in columns.values() for column in own]
    assert len(set(listed)) == len(listed), f"variable_columns: a column belongs to one variable: got {dict(columns)}"


LAWS: dict[str, Callable[[Kernel, KernelCase], object]] = {  # for each member of the base class, and the defaults
    "parameters": lambda kernel, c: [check_prior(block.prior, c.rng, block.initial) for block in kernel.parameters],
    "gram": lambda kernel, case: check_definite(kernel, case.domain, case.rng, case.reach),
    "diag": _check_grams,
    "prepare": lambda kernel, c: check_changes(kernel, c.domain, c.xs, c.ys, c.theta, c.rng),
    "input_vjp": lambda kernel, c: check_input_gradient(kernel, c.domain, c.xs, c.ys, c.theta, c.rng),
    "gram_and_diag": lambda kernel, case: check_training(kernel, case.xs, case.ys, case.theta),
    "around": lambda kernel, case: check_around(kernel, case.xs, case.ys, case.theta),
    "line": lambda kernel, case: check_line(kernel, case.xs, case.ys, case.theta, case.other),
    "gram_and_pullback": lambda kernel, c: check_pullback(kernel, c.xs, c.ys, c.theta, c.rng),
    "single_grams": lambda kernel, case: check_single_grams(kernel, case.xs, case.ys, case.theta),
    "parameter_variables": _check_variables,
    "variable_columns": _check_variables,
    "defaults": _check_defaults,
}
