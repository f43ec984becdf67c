"""The laws of domains whose points have a structure that kernels know: variables, parts, architectures."""

from __future__ import annotations

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Batch, Domain, DomainError, PointError
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.space.choices import number_grid
from bostruct.domains.space.variable import ABSENT, Variable
from bostruct.testing.batch_laws import keys_of
from bostruct.testing.capability_laws import check_valid
from bostruct.testing.ownership_laws import unchanged


def check_variables(domain: Domain, xs: Batch) -> None:
    """Check that a batch is an integer array whose columns hold values of the variables, or none of a variable.

    domain: of variables.
    xs: some of its points, at least 2.
    """
    variables, n_columns = list(domain.variables.values()), np.asarray(xs).shape[1]
    assert all(isinstance(one, Variable) for one in variables), "variables are of classes derived from Variable"
    widths = [one.width for one in variables]
    assert sum(widths) == n_columns, (
        f"a row has as many columns as the variables are wide: {sum(widths)}, got {n_columns}"
    )
    for rows in map(np.asarray, (xs, domain.take(xs, [1, 0]), domain.join(xs, xs))):
        assert rows.dtype.kind == "i", f"a batch is an array of integers: got one of {rows.dtype}"
        assert rows.shape == (len(rows), n_columns), f"a batch is (m, {n_columns}): got {rows.shape}"
    ends = np.cumsum(widths)
    for row in np.asarray(xs):
        for name, columns in zip(domain.variables, np.split(row, ends[:-1]), strict=True):
            _check_columns(name, domain.variables[name], columns.tolist())
    n_numbers = sum(number_grid(one) is not None for one in variables)
    assert domain.n_continuous == n_numbers, (
        f"the continuous coordinates are the numbers too many to list: {n_numbers}, got {domain.n_continuous}"
    )


def _check_columns(name: str, variable: Variable, columns: list[int]) -> None:
    """Check that columns hold a value of their variable, or that the point has not the variable."""
    try:
        if not variable.when or set(columns) != {ABSENT}:
            variable.check(columns)
    except PointError as error:
        raise AssertionError(f"the columns of a variable hold one of its values: {name}: {error}") from error


def check_parts(domain: Domain, xs: Batch) -> None:
    """Check that parts are valid points of their domains, do not depend on the batch, and tell points apart.

    domain: of parts.
    xs: some of its points.
    """
    found = []
    for name, own in domain.parts.items():
        with unchanged(domain, xs, "part"):
            batch = domain.part(name, xs)
        assert len(batch) == len(xs), f"part returns one point for each: expected {len(xs)}, got {len(batch)}"
        check_valid(own, batch, "part")
        found.append(keys_of(own, batch))
        alone = [keys_of(own, domain.part(name, domain.take(xs, [i])))[0] for i in range(len(xs))]
        assert alone == found[-1], "the part of a point does not depend on the rest of the batch"
    keys, parts = keys_of(domain, xs), list(zip(*found, strict=True))
    for i in range(len(xs)):
        for j in range(i):
            assert (keys[i] == keys[j]) == (parts[i] == parts[j]), "points are equal exactly where all their parts are"


def check_architectures(domain: Domain, xs: Batch) -> None:
    """Check that each point stands for one `Architecture`, the same whatever else is in the batch.

    domain: of architectures; one whose points may stand for none raises DomainError for these.
    xs: some of its points.
    """
    try:
        with unchanged(domain, xs, "architectures"):
            found = list(domain.architectures(xs))
    except DomainError:
        return
    assert len(found) == len(xs), f"architectures returns one for each point: expected {len(xs)}, got {len(found)}"
    for x in found:
        assert isinstance(x, Architecture), f"architectures returns each as an Architecture: got {short_repr(x)}"
    rest = list(domain.architectures(xs[1:]))
    assert rest == found[1:], "the architecture of a point does not depend on the rest of the batch"
