"""How far apart two orders are by which item comes before which: Kendall 1938, of long orders Spearman 1904."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray

MOST_PAIRED = 64  # items whose pairs are compared one by one; of more, ranks are

Floats: TypeAlias = npt.NDArray[np.float32]


def compare_precedence(xs: IntArray, ys: IntArray) -> Array:
    """Return the share of the pairs of items that stand in another order (n, m), in [0, 1].

    xs: n orders, the item in each place (n, w), w at least 2.
    ys: m orders (m, w).

    Above 64 items it is half of one less Spearman's rank correlation. Both are squared Euclidean distances between
    vectors of squared norm 1/4: the signs of the pairs over 2 sqrt(pairs), or the ranks, centered and scaled.
    """
    w = xs.shape[1]
    mine, theirs = (np.argsort(orders, axis=1) for orders in (xs, ys))
    if w <= MOST_PAIRED:
        product, most = _sign_pairs(mine) @ _sign_pairs(theirs).T, w * (w - 1) / 2
    else:
        product, most = (mine - (w - 1) / 2) @ (theirs - (w - 1) / 2).T, w * (w * w - 1) / 12
    return 0.5 * (1.0 - product.astype(np.float64) / most)


def _sign_pairs(ranks: IntArray) -> Floats:
    """Return, for each pair of items, 1 where the first stands before the second, else -1 (n, pairs)."""
    first, second = np.triu_indices(ranks.shape[1], 1)
    narrow = ranks.astype(np.int16)
    signs = (narrow[:, first] < narrow[:, second]).astype(np.float32)  # whose sums are exact up to 2^24
    signs *= 2.0
    signs -= 1.0
    return signs
