"""Violations are compressed around the bound, which stays where it is."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import log_ndtr

import bostruct as bo
from bostruct import problems
from bostruct.contracts import Surrogate
from bostruct.methods import auto
from bostruct.surrogates.warping import VIOLATION_ROUNDING, ViolationWarping, compress_far
from tests.fakes import TablePosterior
from tests.laws.maxsat import bits

FLOATS = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=12).map(np.array)


@given(FLOATS)
def test_signs_and_order_are_kept(violations):
    violations.flags.writeable = False
    told = compress_far(violations, 3.0)
    assert np.all(np.isfinite(told))
    assert np.sign(told).tolist() == np.sign(violations).tolist()
    order = np.argsort(violations, kind="stable")
    assert np.all(np.diff(told[order]) >= 0.0)


def test_near_violations_stay_and_far_ones_grow_as_a_logarithm():
    violations = np.array([-1e6, -1.0, 0.5, 1.0, 3.0, 1e6])  # whose median distance from 0 is 2
    assert compress_far(violations, 3.0)[1:4].tolist() == [-1.0, 0.5, 1.0]
    assert compress_far(violations, 3.0)[[0, 5]] == pytest.approx([-32.245, 32.245], abs=1e-3)
    assert compress_far(np.zeros(3), 3.0).tolist() == [0.0] * 3


@given(FLOATS, st.integers(-9, 9))
def test_units_do_not_count(violations, power):
    scale = 2.0**power
    assume(np.array_equal(scale * violations / scale, violations))  # no subnormal number is rounded
    np.testing.assert_allclose(compress_far(scale * violations, 3.0), scale * compress_far(violations, 3.0), rtol=1e-9)


def test_one_violation_far_away_does_not_hide_where_the_limit_holds():
    """Of a time that is 1,000 where two bits are set, and a sum elsewhere, the model still learns the sum."""
    space = bits(8)
    generator = np.random.default_rng(0)
    xs, test = space.sample(40, generator), space.sample(200, generator)

    def violation(points):
        points = np.asarray(points, dtype=np.float64)
        return np.where(points[:, 0] * points[:, 1] > 0.0, 1000.0, points @ np.arange(8.0)) - 14.5

    model = auto(space).surrogate.surrogate
    found = []
    for surrogate in (model, ViolationWarping(model)):
        posterior = surrogate.condition(xs, violation(xs), surrogate.initial_state(), generator)[0]
        prediction = posterior.predict(test)
        keeps = -prediction.mean[0] / np.sqrt(prediction.variance[0])
        found.append(np.mean(log_ndtr(np.where(violation(test) <= 0.0, keeps, -keeps))))
    assert found[1] > max(found[0] + 0.05, -0.1)


def test_a_sum_stays_a_sum_where_most_violations_are_close_to_the_limit():
    """Four of five weights are within six units of the limit, and the others far away: the sum is learned from all."""
    space, rng = bits(12), np.random.default_rng(0)
    weights = rng.uniform(5.0, 30.0, size=12)
    xs = space.sample(400, rng)
    total = np.asarray(xs) @ weights
    limit = float(np.median(total))
    near = np.flatnonzero(np.abs(total - limit) < 6.0)[:40]
    chosen = np.concatenate([near, np.argsort(-np.abs(total - limit))[:10]])
    test = np.setdiff1d(np.arange(400), chosen)
    model = auto(space).surrogate.surrogate
    errors = {}
    for name, surrogate in (("chosen", ViolationWarping(model)), ("compressed", Compressed(model))):
        posterior, _, info = surrogate.condition(
            space.take(xs, chosen), total[chosen] - limit, surrogate.initial_state(), rng
        )
        found = posterior.predict(space.take(xs, test)).mean[0]
        errors[name] = np.sqrt(np.mean(np.square(found - (total[test] - limit))))
    assert "compressed" not in info
    assert errors["chosen"] < 0.5 * errors["compressed"]


class Compressed(Surrogate):
    """A surrogate of violations that are compressed always."""

    def __init__(self, surrogate):
        self.surrogate = surrogate

    def initial_state(self):
        return self.surrogate.initial_state()

    def condition(self, xs, values, state, rng):
        return self.surrogate.condition(xs, compress_far(values, 3.0), state, rng)


@pytest.mark.parametrize("violations", [[-1.0, 1.0, 2.0, -2.0, 0.5, 1.5], [-1.0, 1.0, 2.0, -2.0, 0.5, 900.0]])
def test_a_study_that_knew_compressed_violations_alone_goes_on(violations):
    space, rng = bits(4), np.random.default_rng(0)
    xs, surrogate = space.sample(6, rng), ViolationWarping(auto(space).surrogate.surrogate)
    told = compress_far(np.array(violations), 3.0)
    _, old, _ = surrogate.surrogate.condition(xs, told, surrogate.surrogate.initial_state(), rng)
    _, state, _ = surrogate.condition(xs, np.array(violations), old, rng)
    assert state.keys() == {"plain", "compressed"}
    _, again, _ = surrogate.condition(xs, np.array(violations), json.loads(json.dumps(state)), rng)
    assert again.keys() == state.keys()


def test_violations_are_compressed_where_no_value_can_be_left_out():
    space, rng = bits(4), np.random.default_rng(0)
    xs, surrogate = space.sample(8, rng), ViolationWarping(Forest())
    _, _, info = surrogate.condition(xs, np.array([1.0, 2.0, -1.0, 1.0, -2.0, 1.0, 2.0, 1e6]), {}, rng)
    assert info == {"compressed": True}


class Forest(Surrogate):
    """A surrogate whose posterior leaves nothing out."""

    def initial_state(self):
        return None

    def condition(self, xs, values, state, rng):
        del xs, values, state, rng
        return TablePosterior(*np.ones((4, 1))), None, {}


def test_of_many_points_those_near_the_limit_tell_where_it_holds():
    """Most points keep the limit, so the smallest violations, which a model of values learns from, are far away."""
    problem = problems.load("max3sat:variables=16,clauses=80,seed=1")
    space, rng = problem.space, np.random.default_rng(0)
    xs = space.sample(900, rng)
    values = np.array([problem(space.present(x)) for x in xs])
    violations, told = values - np.quantile(values, 0.95), np.arange(600)
    test = told[-1] + 1 + np.flatnonzero(np.abs(violations[600:]) < np.quantile(np.abs(violations), 0.3))
    model = auto(space).surrogate.surrogate
    errors = []
    for near_zero in (False, True):
        quiet, noisy = (replace(one, most=150, near_zero=near_zero) for one in (model.quiet, model.noisy))
        surrogate = ViolationWarping(replace(model, quiet=quiet, noisy=noisy))
        posterior = surrogate.condition(space.take(xs, told), violations[told], surrogate.initial_state(), rng)[0]
        errors.append(np.sqrt(np.mean(np.square(posterior.predict(space.take(xs, test)).mean[0] - violations[test]))))
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.parametrize("huge", [1e155, 1e300, np.finfo(np.float64).max])
def test_a_huge_violation_is_learned_compressed(huge):
    space, rng = bits(6), np.random.default_rng(0)
    xs, surrogate = space.sample(12, rng), ViolationWarping(auto(space).surrogate.surrogate)
    violations = np.where(np.arange(12) % 4 == 0, huge, np.linspace(-3.0, 3.0, 12))
    posterior, state, info = surrogate.condition(xs, violations, surrogate.initial_state(), rng)
    assert info["compressed"]
    assert "magnitudes" in info["failed"]
    assert np.isfinite(posterior.predict(xs).mean).all()
    json.dumps([state, info])


def test_violations_as_far_as_the_compression_begins_count_in_both_models():
    """Of whole numbers many are exactly there, and a model gives them back up to rounding."""
    space = bits(8)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        xs, violations = space.sample(40, rng), rng.choice([-6.0, -2.0, 2.0, 6.0, 40.0], size=40)
        model, farthest = auto(space).surrogate.surrogate, 3.0 * float(np.median(np.abs(violations)))
        for told in (violations, compress_far(violations, 3.0)):
            values = model.condition(xs, told, model.initial_state(), rng)[0].leave_one_out().values
            near = np.abs(values) <= farthest * (1.0 + VIOLATION_ROUNDING)
            assert near.tolist() == (np.abs(violations) <= farthest).tolist()


def test_where_no_violation_is_near_the_compressed_ones_serve():
    space, rng = bits(6), np.random.default_rng(0)
    xs, surrogate = space.sample(8, rng), ViolationWarping(auto(space).surrogate.surrogate, beyond=0.0)
    assert surrogate.condition(xs, np.arange(1.0, 9.0), surrogate.initial_state(), rng)[2]["compressed"]


def test_violations_on_the_limit_tell_no_scale():
    violations = np.array([0.0] * 5 + [1.0, 2.0, 3.0, 1e6])
    told = compress_far(violations, 3.0)
    assert told[:8].tolist() == violations[:8].tolist()
    assert told[8] < 50.0


@pytest.mark.parametrize("seed", [0, 1])
def test_errors_that_must_not_occur_are_foretold_beside_two_time_outs(seed):
    """Half of the numbers lie on the bound: the model still tells where they do."""
    space, rng = {f"v{i}": range(4) for i in range(5)}, np.random.default_rng(seed)
    with bo.Study(space, seed=0, constraints={"errors": ("<=", 0.0)}) as study:
        points = [dict(zip(space, row, strict=True)) for row in rng.integers(0, 4, (60, 5)).tolist()]
        for i, point in enumerate(points):
            errors = max(sum(point.values()) - 7.0, 0.0)
            study.add(point, 1.0, constraints={"errors": 1e6 if errors > 0.0 and i < 6 else errors})
        others = [dict(zip(space, row, strict=True)) for row in rng.integers(0, 4, (200, 5)).tolist()]
        chance = study.predict(others).chance
    keeps = np.array([sum(point.values()) <= 7 for point in others])
    above = chance[keeps][:, None] > chance[~keeps]
    assert above.mean() > 0.75
