"""Search spaces of Ray Tune: what Tune draws is a point, and what a point says Tune could have drawn."""

from __future__ import annotations

import numpy as np
import pytest

from bostruct.contracts import DomainError, PointError

pytestmark = pytest.mark.filterwarnings("ignore")
tune = pytest.importorskip("ray.tune", reason="the extra ray is not installed")

DOMAINS = {
    "uniform": lambda: tune.uniform(-1.0, 2.5),
    "quniform": lambda: tune.quniform(0.1, 1.0, 0.1),
    "loguniform": lambda: tune.loguniform(1e-5, 1e-1),
    "qloguniform": lambda: tune.qloguniform(0.01, 1.0, 0.01),
    "randint": lambda: tune.randint(-3, 4),
    "qrandint": lambda: tune.qrandint(5, 40, 8),
    "qrandint by 1": lambda: tune.qrandint(2, 6, 1),
    "lograndint": lambda: tune.lograndint(1, 300),
    "qlograndint": lambda: tune.qlograndint(4, 64, 4),
    "choice": lambda: tune.choice(["a", 1, None, 2.5]),
    "choice of lists": lambda: tune.choice([[64, 64], [128]]),
}


def read(**domains):
    from bostruct.integrations.ray_tune import TuneSpace

    return TuneSpace(domains)


@pytest.mark.parametrize("kind", DOMAINS)
def test_what_tune_draws_comes_back(kind):
    domain = DOMAINS[kind]()
    space = read(v=domain)
    for value in domain.sample(size=200, random_state=np.random.default_rng(0)):
        point = space.space.present(space.space.parse(space.read({"v": value})))
        written = space.write(point)["v"]
        assert written == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value)


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_point_is_one_that_tune_may_draw(kind):
    domain = DOMAINS[kind]()
    space = read(v=domain)
    rng = np.random.default_rng(1)
    drawn = [space.write(space.space.present(x))["v"] for x in space.space.sample(200, rng)]
    if kind.startswith("choice"):
        assert all(value in domain.categories for value in drawn)
        return
    assert all(domain.lower <= value <= domain.upper for value in drawn)
    possible = domain.sample(size=5000, random_state=np.random.default_rng(2))
    if len(set(possible)) < 1000:  # a short list, of which all was drawn
        assert {round(value, 9) for value in drawn} <= {round(value, 9) for value in possible}


@pytest.mark.parametrize("value", [0.1 + 0.2, np.float32(0.3), 0.3 + 9e-8])
def test_a_multiple_that_floats_moved_is_the_multiple(value):
    space = read(v=tune.quniform(0.1, 1.0, 0.1))
    assert space.read({"v": value}) == {"v": 3}
    with pytest.raises(PointError, match="expected a multiple of"):
        space.read({"v": 0.3 + 2e-7})


def test_nested_names_and_single_values():
    space = read(lr=tune.uniform(0, 1), net={"width": tune.randint(1, 9), "act": tune.choice(["relu"])}, epochs=3)
    assert set(space.space.variables) == {"lr", "net/width"}
    config = space.write({"lr": 0.5, "net/width": 4})
    assert config == {"lr": 0.5, "net": {"width": 4, "act": "relu"}}
    assert space.read(config | {"epochs": 3}) == {"lr": 0.5, "net/width": 4}
    assert space.read({"lr": 0.5, "net/width": 4}) == {"lr": 0.5, "net/width": 4}


@pytest.mark.parametrize(
    ("domain", "why"),
    [
        (lambda: tune.grid_search([1, 2]), "v: a grid is listed, not searched; use tune.choice"),
        (lambda: tune.sample_from(lambda: 1), "v: tune.sample_from is not a search space"),
        (lambda: tune.randn(0, 1), "v: a normal distribution has no bounds"),
        (lambda: tune.choice([1, 1]), "v: Categorical: expected distinct choices"),
        (lambda: [tune.uniform(0, 1)], "v/0: a domain inside a list"),
        (lambda: 3, "param_space: expected at least one domain"),
    ],
)
def test_what_is_no_search_space_is_refused_in_words(domain, why):
    with pytest.raises(DomainError, match=why):
        read(v=domain())


def test_configurations_that_are_no_points_are_refused():
    space = read(a=tune.quniform(0, 1, 0.25), b=tune.randint(0, 5))
    with pytest.raises(PointError, match=r"a: expected a multiple of 0\.25, got 0\.3"):
        space.read({"a": 0.3, "b": 1})
    with pytest.raises(PointError, match="b: missing"):
        space.read({"a": 0.5})
