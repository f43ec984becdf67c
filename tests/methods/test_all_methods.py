"""Every method resumes exactly, and keeps the study's promises, through the study that users have."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
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


@pytest.mark.filterwarnings("ignore:study .*nothing to do")
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
    return replace(
        search, n_initial=5, maximizer=replace(search.maximizer, raw_samples=60, num_spray_points=10, num_restarts=3)
    )


@pytest.mark.parametrize("name", ["combo", "auto"])
def test_a_study_resumes_exactly_from_every_step(tmp_path, name):
    n = 8
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


def learned_from(study):
    """Return how many completed and failed points the model of success was fitted to; None before there is one."""
    return json.loads(study._ledger.state).get("score", {}).get("counts")


def test_a_study_with_many_failures_resumes_exactly_between_two_fits(tmp_path):
    """What was learned of success is in the file: a resumed study goes on with it, and fits when others would."""
    space = bo.Space({f"x{i}": range(4) for i in range(8)})

    def banned(point):
        if point["x0"] == 3 or point["x1"] > point["x2"]:
            raise bo.Infeasible("banned")
        return sum((i + 1) * value for i, value in enumerate(point.values())) % 11

    first = [space.present(x) for x in space.sample(150, np.random.default_rng(0))]
    numbers = range(151, 159)

    def open_study(storage):
        search = methods.METHODS["auto"](space)
        few = replace(search, maximizer=replace(search.maximizer, raw_samples=60, num_spray_points=10, num_restarts=3))
        return bo.Study(space, method=few, seed=2, storage=storage, initial_points=first)

    counts = []
    with open_study(None) as study:
        for n in numbers:
            study.optimize(banned, n)
            counts.append(learned_from(study))
        whole = [(t.point, t.status, t.origin) for t in study.trials]
    assert 1 < len({tuple(one) for one in counts}) < len(counts)  # some suggestions fitted it, others did not
    for n, learned in zip(numbers, counts, strict=True):
        with open_study(tmp_path / "runs.db") as study:
            study.optimize(banned, n)
            assert learned_from(study) == learned
            study.ask()  # and left running
    with open_study(tmp_path / "runs.db") as study:
        assert [(t.point, t.status, t.origin) for t in study.trials][: len(whole)] == whole
