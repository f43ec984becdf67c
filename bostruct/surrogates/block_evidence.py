"""The evidence along a coordinate that splits the points in parts, without factoring the whole matrix each time.

With the points of the largest part first, K + ratio I is [[A, w B], [w B', P + w Q]], where P is K within each of the
other parts, Q is K between them, and only the scale w changes. A is factored once; each w then costs the factor of
P + w Q - w^2 B' A^-1 B, the Schur complement, which is as large as the other parts together. These are the steps of a
Cholesky factorization in blocks: nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk, dtrsm  # pyright: ignore[reportAttributeAccessIssue]
from scipy.linalg.lapack import dpotrf  # pyright: ignore[reportAttributeAccessIssue]

from bostruct.contracts import Array, BlockGram
from bostruct.surrogates.gaussian import add_to_diagonal, log_determinant, solve_lower


class EvidenceTerms(NamedTuple):
    """The terms of the evidence that depend on the covariance.

    log_determinant: log |K + ratio I|.
    quadratic: residual' (K + ratio I)^-1 residual.
    """

    log_determinant: float
    quadratic: float


def block_evidence(
    line: BlockGram, residual: Array, ratio: float | Array
) -> Callable[[float], EvidenceTerms | None] | None:
    """Return the terms of the evidence as a function of theta_i; None where the largest block is not positive definite.

    line: the Gram matrix along theta_i.
    residual: values less the mean (n,).
    ratio: added to the diagonal, at least 0; a number, or (n,).

    The function returns None where the whole matrix is not positive definite.
    """
    *others_in_parts, large = sorted(line.parts, key=len)
    small = np.concatenate(others_in_parts)
    # two takes are three times as fast as one index of both axes
    own_rows = line.gram.take(large, axis=0)
    own = own_rows.take(large, axis=1)
    of_large, of_small = (ratio[large], ratio[small]) if isinstance(ratio, np.ndarray) else (ratio, ratio)
    lower, failed = dpotrf(add_to_diagonal(own, of_large).T, 1, 0, 1)
    if failed:
        return None
    white = solve_lower(lower, residual[large])
    determinant, quadratic = log_determinant(lower), float(white.dot(white))
    if not len(small):
        return lambda _: EvidenceTerms(determinant, quadratic)
    across = own_rows.take(small, axis=1).T  # B', in Fortran's order
    crossed = dtrsm(1.0, lower, across, side=1, lower=1, trans_a=1, overwrite_b=1)  # (small, large); side 0 is slower
    removed = dsyrk(1.0, crossed, lower=1)
    rest = add_to_diagonal(line.gram.take(small, axis=0).take(small, axis=1), of_small).T
    between = _take_between(rest, [len(part) for part in others_in_parts])
    told, explained = residual[small], crossed @ white
    schur = np.empty_like(rest)

    def along(t: float) -> EvidenceTerms | None:
        scale = line.scale(t)
        np.multiply(removed, -scale * scale, schur)
        np.add(schur, rest, schur)
        if between is not None:
            np.add(schur, scale * between, schur)
        inner, failed = dpotrf(schur, 1, 0, 1)
        if failed:
            return None
        left = solve_lower(inner, told - scale * explained)
        return EvidenceTerms(determinant + log_determinant(inner), quadratic + float(left.dot(left)))

    return along


def _take_between(gram: Array, sizes: list[int]) -> Array | None:
    """Split K among the smaller parts: return what lies between parts, and leave what lies within; None for one part.

    gram: K, the parts one after the other, which is changed.
    sizes: of the parts.
    """
    if len(sizes) == 1:
        return None
    part = np.repeat(np.arange(len(sizes)), sizes)
    apart = part[:, None] != part
    between = np.where(apart, gram, 0.0)
    gram[apart] = 0.0
    return between
