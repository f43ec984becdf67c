"""Every method resumes exactly, and keeps the study's promises, through the study that users have."""

from __future__ import annotations

from dataclasses import replace

import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import DomainError

SPACE = bo.Space({"a": bo.Categorical(["x", "y", "z"]), "c": bo.Integer(1, 5), **{f"b{i}": bool for i in range(4)}})
N = 24
CUTS = (1, 12, 21, 22, 23)


def objective(point):
    if point["c"] == 3 and point["b0"]:
        raise ValueError("a hole")
    return "xyz".index(point["a"]) * 1.7 + (point["c"] - 3.3) ** 2 - point["b1"] * point["b2"] + 0.1 * point["b3"]


def serves_spaces(name):
    try:
        methods.searcher(name, SPACE)
    except DomainError:
        return False
    return True


@pytest.mark.parametrize("method", [name for name in methods.METHODS if serves_spaces(name)])
def test_a_method_resumes_exactly(tmp_path, method):
    whole = bo.maximize(objective, SPACE, N, method=method, seed=11)
    for cut in (*CUTS, N):
        with bo.Study(SPACE, method=method, seed=11, direction="maximize", storage=tmp_path / "runs.db") as study:
            study.optimize(objective, cut)
            parts = study.optimize(objective, cut)
            if cut < N:
                study.ask()
    assert [(t.point, t.value, t.origin) for t in parts.trials] == [(t.point, t.value, t.origin) for t in whole.trials]
    assert len({tuple(t.point.values()) for t in whole.trials}) == N
    batch = bo.Study(SPACE, method=method, seed=11)
    assert len({tuple(batch.ask().point.values()) for _ in range(N)}) == N


def holed(point):
    if point["b0"] and point["c"] > 1:
        raise ValueError("half of the space")
    return objective(point)


def quick(name):
    """The method with settings that make a run of it take a second; its parts are the same."""
    search = methods.METHODS[name](SPACE)
    if name == "combo":
        search = replace(search, surrogate=replace(search.surrogate, burn_in=2, samples=2))
    return replace(search, n_initial=5, maximizer=replace(search.maximizer, random=60, spray=10, ascents=3))


@pytest.mark.parametrize("name", ["combo", "auto"])
def test_a_study_resumes_exactly_from_every_step(tmp_path, name):
    n = 16
    with bo.Study(SPACE, method=quick(name), seed=4) as study:
        whole = study.optimize(holed, n)
    assert whole.n_failed
    told = [(t.point, t.value, t.status, t.origin) for t in whole.trials]
    for cut in range(n):
        path = tmp_path / f"{name}-{cut}.db"
        with bo.Study(SPACE, method=quick(name), seed=4, storage=path) as study:
            study.optimize(holed, cut)
            study.ask()  # and left running
        with bo.Study.load(path, method=quick(name)) as study:
            resumed = study.optimize(holed, n)
        assert [(t.point, t.value, t.status, t.origin) for t in resumed.trials] == told, cut
