"""Speed of the searchers without a Gaussian process: a suggestion of each, and fANOVA compared with Optuna's.

python -m benchmarks.speed.searchers [--check] [--miniature]

A suggestion is one call of `suggest` on a history of random points, without the work of a study (disk, records).
"""

from __future__ import annotations

import importlib.util
from itertools import product
from typing import Any

import numpy as np

import bostruct as bo
from benchmarks.speed.report import Row, at_least, at_most, main, median, plain_row, time_call
from bostruct import methods
from bostruct.study.history import History
from bostruct.surrogates.fanova import Feature, grow_forest, importances

OBSERVED = 200
CALLS = 200
MILLISECONDS = {"smbo": 5.0, "evolution": 5.0, "regularized-evolution": 5.0}


def microseconds(method: str, domain: Any, n: int, calls: int) -> float:
    """Return the median CPU time of calls of `suggest` after n trials, with the state of the previous call."""
    rng = np.random.default_rng(0)
    xs = domain.sample(n, rng)
    values = np.array([float(sum(i * one.value for i, one in enumerate(domain.coordinates(x)))) for x in xs])
    searcher = methods.METHODS[method](domain)
    history = History.of(domain, xs, values + rng.normal(size=n))
    state = searcher.initial_state()
    found = []
    for _ in range(calls + 1):
        call = time_call(lambda state=state: searcher.suggest(history, state, rng))
        state = call.value.state
        found.append(1e6 * call.cpu)
    return median(found[1:])  # the first prepares data for the others


def against_optuna(n: int, variables: int, trees: int, repeats: int) -> list[Row]:
    """Return the rows of main effects of the same forest by both, alternately; trees are prepared again each time."""
    if importlib.util.find_spec("optuna") is None:
        return [plain_row("fANOVA beside Optuna's", "needs the extra optuna")]
    from optuna.importance._fanova._tree import _FanovaTree  # pyright: ignore[reportMissingImports]

    rng = np.random.default_rng(0)
    design = rng.random((n, variables))
    forest = grow_forest(design, design @ np.arange(variables) + rng.normal(size=n), 0, trees)
    features = [Feature(f"x{i}", slice(i, i + 1)) for i in range(variables)]
    bounds = np.array([[0.0, 1.0]] * variables)

    def theirs() -> Any:
        grown = [_FanovaTree(tree, bounds) for tree in forest]
        return [[tree.get_marginal_variance(np.array([i])) for i in range(variables)] for tree in grown]

    both = [(time_call(theirs).cpu, time_call(lambda: importances(forest, features)).cpu) for _ in range(repeats)]
    ratio = median([one / other for one, other in both])
    what = f"fANOVA, Optuna's main effects / ours, CPU, {variables} variables, {n} points, {trees} trees"
    return [
        at_least(what, 5.0, ratio),
        plain_row("Optuna's, ours", f"{1e3 * median([one for one, _ in both]):.3g} ms, "
              f"{1e3 * median([other for _, other in both]):.3g} ms"),
    ]  # fmt: skip


def measure(miniature: bool) -> list[Row]:
    calls, observed = (3, 20) if miniature else (CALLS, OBSERVED)
    rows = []
    for d in (10, 100):
        space = bo.Space({f"x{i}": range(5) for i in range(d)})
        kinds = {
            "of 5 choices": space,
            "bits": bo.Space({f"x{i}": bool for i in range(d)}),
            "reals": bo.Space({f"x{i}": bo.Real(0, 1) for i in range(d)}),
        }
        for (kind, one), method in product(kinds.items(), ("random", "wrs")):
            took = microseconds(method, one, observed, calls)
            rows.append(at_most(f"{method}, {d} variables, {kind}", 30.0, took, " us"))
        for method, limit in MILLISECONDS.items():
            took = microseconds(method, space, observed, calls) / 1e3
            rows.append(at_most(f"{method}, {d} variables, n = {observed}", limit, took, " ms"))
    bits = bo.Space({f"x{i}": bool for i in range(25)})
    n = 20 if miniature else 270
    rows.append(at_most(f"bocs of order 2, d = 25, n = {n}", 1.0, microseconds("bocs", bits, n, 3) / 1e6, " s"))
    rows.append(plain_row(f"smac, d = 25, n = {n}", f"{microseconds('smac', bits, n, 3) / 1e6:.3g} s"))
    return rows + against_optuna(*((30, 4, 2, 1) if miniature else (OBSERVED, 10, 64, 7)))


if __name__ == "__main__":
    main("Searchers without a Gaussian process", measure)
