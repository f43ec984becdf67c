"""The evidence by parts is the evidence, and lines that fall into parts say so truly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import BlockGram
from bostruct.kernels.space import complete
from bostruct.kernels.space.complete import BLOCKS_FROM
from bostruct.methods import combo
from bostruct.surrogates.marginalized import ChainData, ChainTally, block_evidence, sweep

N = BLOCKS_FROM + 5


def line_of(space: Any, xs: Any, theta: Any, i: int) -> Any:
    kernel: Any = combo(space).surrogate
    prepared = kernel.kernel.prepare(xs)
    with pytest.MonkeyPatch.context() as patch:  # blocks of more than two choices at every size
        patch.setattr(complete, "MANY_BLOCKS_FROM", 1)
        patch.setattr(complete, "LARGE_BLOCK_SHARE", 0.0)
        line = kernel.kernel.line(theta, i, prepared, kernel.kernel.gram(theta, prepared))
    return kernel.kernel, line, prepared


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.02, 0.3, 0.9, 1.0]),
    st.floats(-8.0, 3.0),
    st.sampled_from([1, 2]),
)
@settings(deadline=None, max_examples=60)
def test_parts_are_those_of_the_whole_matrix(seed: int, share: float, t: float, i: int) -> None:
    """Of a variable with two choices, and of one with three."""
    rng = np.random.default_rng(seed)
    space = bo.Space({"a": bool, "b": bool, "c": ["x", "y", "z"], **{f"d{i}": bool for i in range(6)}})
    xs = space.sample(N, rng)
    xs[:, 1] = rng.random(N) < share
    theta, ratio, residual = rng.uniform(-4.0, 1.0, space.d), 10.0 ** rng.uniform(-4, 1), rng.normal(size=N)
    kernel, line, prepared = line_of(space, xs, theta, i)
    assert isinstance(line, BlockGram)
    along = block_evidence(line, residual, ratio)
    assert along is not None
    found = along(t)
    moved = theta.copy()
    moved[i] = t
    gram = kernel.gram(moved, prepared)
    np.testing.assert_allclose(line(t), gram, rtol=1e-10)
    whole = gram + ratio * np.eye(N)
    assert found is not None
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1], abs=1e-6)
    assert found.quadratic == pytest.approx(residual @ np.linalg.solve(whole, residual), rel=1e-6)


def test_a_matrix_that_is_not_positive_definite_is_reported() -> None:
    space = bo.Space({"a": bool, "b": bool})
    xs = space.sample(N, np.random.default_rng(0))
    _, line, _ = line_of(space, xs, np.zeros(2), 0)
    assert block_evidence(line, np.ones(N), -2.0) is None  # the part that stays is already indefinite
    barely = line._replace(scale=lambda t: t)
    along = block_evidence(barely, np.ones(N), 0.1)
    assert along is not None
    assert along(1.0) is not None
    assert along(50.0) is None


@pytest.mark.parametrize("n", [BLOCKS_FROM - 1, N])
def test_chains_do_not_depend_on_how_the_evidence_is_computed(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    space = bo.Space({f"x{i}": bool for i in range(5)} | {"c": ["x", "y", "z"]})
    surrogate: Any = combo(space).surrogate
    xs = space.sample(n, np.random.default_rng(1))
    values = xs[:, 0] + 0.5 * xs[:, 1] * xs[:, 5] + 0.1 * np.random.default_rng(2).normal(size=n)
    ends = []
    for limit in (BLOCKS_FROM, 10**9):
        monkeypatch.setattr(complete, "BLOCKS_FROM", limit)
        data = ChainData(surrogate.kernel, surrogate.kernel.prepare(xs), values, surrogate.priors(values), 1e-6)
        now, rng = surrogate.start(values), np.random.default_rng(3)
        for _ in range(4):
            now = sweep(data, now, rng, ChainTally())
        ends.append([now.mean, now.log_amplitude, now.log_noise, *now.theta])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)


def test_a_gram_matrix_that_may_have_underflowed_is_not_carried_on() -> None:
    space = bo.Space({f"x{i}": bool for i in range(100)})
    theta = np.full(100, -11.9)  # 100 such factors make 1e-517, which no double holds
    xs = np.zeros((N, 100), dtype=np.int64)
    xs[: N // 2] = 1
    kernel, line, prepared = line_of(space, xs, theta, 0)
    assert kernel.gram(theta, prepared).min() == 0.0
    for t in (theta[0], 4.0):
        there = theta.copy()
        there[0] = t
        np.testing.assert_allclose(line(t), kernel.gram(there, prepared), rtol=1e-12, atol=0.0)
