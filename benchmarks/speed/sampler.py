"""A sweep of the slice sampler compared with the plain sampler of `benchmarks.reference`, and a profile of it.

    python -m benchmarks.speed.sampler [--check]

Contamination control, d = 25. Both samplers start each sweep from the same state with the same random numbers,
alternate in one process, and must end in the same state.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import scipy

from benchmarks.reference import plain_sampler as plain
from benchmarks.speed.datasets import search_data
from benchmarks.speed.report import Row, at_least, main, median, plain_row, time_call
from bostruct.kernels.space import complete
from bostruct.methods import combo
from bostruct.methods.defaults import variable_graphs
from bostruct.problems.contamination import contamination
from bostruct.surrogates.hyperparameters import Hyperparameters
from bostruct.surrogates.marginalized import ChainData, ChainTally, sweep

REQUIRED = {50: 50.0, 150: 20.0, 270: 10.0}
SHARE = 60.0  # percent of the fit inside the Cholesky factorization, at the largest n
BURN_IN = 40
OURS_PER_PLAIN = {50: 20, 150: 6, 270: 3}
REPEATS = 9
FIT_SWEEPS = 10


def measure(miniature: bool) -> list[Row]:
    problem = contamination()
    surrogate: Any = combo(problem.space).surrogate
    sizes = {25: 0.0} if miniature else REQUIRED
    rows = []
    for n, required in sizes.items():
        xs, values = search_data(problem, n, seed=0)
        data = ChainData(
            surrogate.kernel, surrogate.kernel.prepare(xs), values, surrogate.priors(values), surrogate.nugget
        )
        spec = plain.problem([graph.laplacian() for graph in variable_graphs(problem.space)], xs, values)
        now = _burn_in(data, Hyperparameters(*plain.start(spec)), 2 if miniature else BURN_IN)
        ratio, ours, theirs, per_likelihood = _compare(data, spec, now, 1 if miniature else REPEATS)
        rows.append(at_least(f"plain sweep / our sweep, CPU, n = {n}", required, ratio))
        rows.append(plain_row(f"our sweep, plain sweep, n = {n}", f"{ours * 1e3:.3g} ms, {theirs * 1e3:.3g} ms"))
        floor = _cholesky_floor(data, now)
        text = f"{per_likelihood * 1e6:.3g} us, {floor * 1e6:.3g} us"
        rows.append(plain_row(f"our likelihood with all around it, Cholesky alone, n = {n}", text))
    return rows + _profile(data, now, miniature)


def _profile(data: ChainData, now: Hyperparameters, miniature: bool) -> list[Row]:
    """Return rows of the share of Cholesky in a fit, with blocks and with factorizations of the whole matrix."""
    n, sweeps = len(data.values), 1 if miniature else FIT_SWEEPS
    split, with_split = _share_of_cholesky(data, now, sweeps)
    with mock.patch.object(complete, "BLOCKS_FROM", math.inf):
        whole, without = _share_of_cholesky(data, now, sweeps)
    limit = 0.0 if miniature else SHARE
    return [
        at_least(f"share of the fit inside Cholesky, whole matrices, n = {n}", limit, 100.0 * whole, " %"),
        plain_row(f"share of the fit inside Cholesky, in blocks, n = {n}", f"{100.0 * split:.3g} %"),
        plain_row(
            f"{sweeps} sweeps, CPU, whole matrices and in blocks, n = {n}", f"{without:.3g} s, {with_split:.3g} s"
        ),
    ]


def _burn_in(data: ChainData, now: Hyperparameters, sweeps: int) -> Hyperparameters:
    rng = np.random.default_rng(0)
    for _ in range(sweeps):
        now = sweep(data, now, rng, ChainTally())
    return now


def _compare(
    data: ChainData, spec: plain.Problem, now: Hyperparameters, repeats: int
) -> tuple[float, float, float, float]:
    """Return medians: ratio of CPU seconds, our and the plain seconds per sweep, our seconds per likelihood."""
    times = []
    many = OURS_PER_PLAIN.get(len(data.values), 1)
    for seed in range(repeats):
        tally = ChainTally()
        theirs = time_call(lambda seed=seed, now=now: plain.sweep(spec, plain.Chain(*now), np.random.default_rng(seed)))
        ours = time_call(
            lambda seed=seed, now=now, tally=tally: [
                sweep(data, now, np.random.default_rng(seed), tally) for _ in range(many)
            ]
        )
        now, other = ours.value[-1], theirs.value
        if not np.allclose(now.theta, other.log_beta):
            raise ValueError(f"the two samplers differ at seed {seed}: {now} and {other}")
        times.append((theirs.cpu / ours.cpu * many, ours.cpu / many, theirs.cpu, ours.cpu / tally.evaluations))
    ratio, ours_cpu, theirs_cpu, likelihood = (median(column) for column in zip(*times, strict=True))
    return ratio, ours_cpu, theirs_cpu, likelihood


def _cholesky_floor(data: ChainData, now: Hyperparameters) -> float:
    """Return the seconds of one factorization in place."""
    gram = data.kernel.gram(now.theta, data.prepared)
    n = len(gram)
    gram.ravel()[:: n + 1] += now.ratio(data.nugget)
    times = []
    for _ in range(200):
        matrix = gram.copy()
        before = time.perf_counter()
        scipy.linalg.lapack.dpotrf(matrix.T, 1, 0, 1)
        times.append(time.perf_counter() - before)
    return median(times)


def _share_of_cholesky(data: ChainData, now: Hyperparameters, sweeps: int) -> tuple[float, float]:
    """Return the share of Cholesky in the wall time of some sweeps, and their CPU seconds."""
    with _clock_cholesky() as seconds:
        whole = time_call(lambda: _burn_in(data, now, sweeps))
    return seconds() / whole.wall, whole.cpu


@contextmanager
def _clock_cholesky() -> Iterator[Callable[[], float]]:
    """Count the seconds inside LAPACK's Cholesky factorization, and inside the two steps between its blocks."""
    functions: list[tuple[Any, str]] = [
        (scipy.linalg.lapack, "dpotrf"),
        *((scipy.linalg.blas, name) for name in ("dtrsm", "dsyrk")),
    ]
    originals, spent = [getattr(module, name) for module, name in functions], [0.0]

    def clock(original: Callable[..., Any], *args: Any, **options: Any) -> Any:
        before = time.perf_counter()
        out = original(*args, **options)
        spent[0] += time.perf_counter() - before
        return out

    for (module, name), original in zip(functions, originals, strict=True):
        setattr(module, name, partial(clock, original))
    try:
        yield lambda: spent[0]
    finally:
        for (module, name), original in zip(functions, originals, strict=True):
            setattr(module, name, original)


if __name__ == "__main__":
    main("Slice sampler", measure)
