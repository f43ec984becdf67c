"""NASBOT on joint domains: the searcher laws, both parts searched together, workers, storage, refusals."""

from dataclasses import replace

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.methods import auto, nasbot
from bostruct.searchers.proposals import initial_design
from bostruct.study.threads import ThreadLimit
from bostruct.testing.searcher_laws import check_searcher
from tests.architectures import SMALL_CNN, SMALL_MLP
from tests.domains.test_joint import NETWORKS, TRAINING, joint
from tests.methods.test_nasbot import make_searchers_cheap
from tests.permutations import Distant, Mutable


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work."""
    with ThreadLimit(1)():
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def two_sided_cost(point: dict) -> float:
    """Least for networks of mass 10^4 trained at rate 0.01; the best rate falls with the mass."""
    mass = float(np.log10(sum(point["architecture"].masses))) - 4.0
    rate = float(np.log10(point["training"]["rate"])) + 2.0
    slips = 0.1 * (not point["training"]["augment"]) + 0.2 * (point["training"]["optimizer"] == "sgd")
    return 0.5 * mass**2 + (rate + 0.5 * mass) ** 2 + slips


def test_laws_of_a_searcher(rng, monkeypatch):
    make_searchers_cheap(monkeypatch)
    check_searcher(lambda domain: replace(nasbot(domain), n_initial=4), NETWORKS, two_sided_cost, rng, n_trials=7)


def test_begins_with_the_pool_and_some_training():
    design, n_initial = initial_design(NETWORKS)
    seen: set = set()
    for _ in range(n_initial):
        seen.add(design(NETWORKS, frozenset(seen), np.random.default_rng(0)).key)
    assert {key[0] for key in seen} == {x.fingerprint for x in SMALL_CNN.pool}
    assert len({key[1] for key in seen}) > 1
    assert initial_design(joint(TRAINING, TRAINING))[1] == initial_design(TRAINING)[1]
    assert initial_design(joint(TRAINING, NETWORKS, SMALL_MLP))[1] == len(SMALL_CNN.pool)


def test_finds_both_parts_where_mutations_alone_do_not():
    """One beginning. Of six seeds, nasbot ended below 0.0005 each time, evolution at 0.04 on average."""
    best = {}
    for method in ("nasbot", "evolution"):
        result = bo.minimize(two_sided_cost, NETWORKS, n_trials=30, method=method, seed=0)
        best[method] = result.best_value
        assert {trial.origin for trial in result.trials} == {"initial", "model"}
    assert best["nasbot"] < 0.5 * best["evolution"]


def test_works_aside_and_comes_back_from_disk(tmp_path):
    def cost(point: dict) -> float:  # goes to workers by value: they need not import this module
        return abs(len(point["architecture"]) - 11) + point["training"]["rate"]

    path = tmp_path / "runs.db"
    first = bo.minimize(cost, NETWORKS, n_trials=12, method="nasbot", seed=2, storage=path, workers=2)
    assert len(first.trials) == 12
    again = bo.minimize(cost, NETWORKS, n_trials=14, method="nasbot", seed=2, storage=path)
    assert [trial.point for trial in again.trials[:12]] == [trial.point for trial in first.trials]
    assert again.n_failed == 0


def test_of_parts_that_are_joint_or_spaces():
    inner = bo.joint_domain({"network": SMALL_MLP, "rate": {"rate": bo.Ordinal([0.1, 0.01])}})
    for domain in (joint(inner, {"a": bool}), joint({"a": bool, "b": range(9)}, {"c": ["p", "q", "r"]})):
        searcher = auto(domain)
        names = [block.name for block in searcher.surrogate.surrogate.similarity.parameters]
        assert len(names) == len(set(names))
        assert any(name.startswith("part 1: ") for name in names)
        result = bo.minimize(lambda point: len(str(point)), domain, n_trials=16, seed=0)
        assert "model" in {trial.origin for trial in result.trials}


def test_refuses_parts_that_it_has_no_kernel_for():
    with pytest.raises(DomainError, match="method: nasbot needs architectures, and points of Mutable do not represent"):
        nasbot(joint(SMALL_CNN, Mutable(4)))
    with pytest.raises(DomainError, match="method: nasbot needs architectures, and points of Mutable do not represent"):
        nasbot(Mutable(4))


def test_parts_with_distances_have_a_kernel():
    """What is clipped of the product is on record, as for architectures alone."""
    domain = joint(Distant(4), {"a": bool})
    study = bo.Study(domain, seed=0)
    result = study.optimize(lambda point: sum(i * v for i, v in enumerate(point["part 0"])) + point["part 1"]["a"], 15)
    assert {"smallest_eigenvalue", "negative_share"} <= result.trials[-1].info.keys()
    assert "auto" not in result.trials[-1].info
