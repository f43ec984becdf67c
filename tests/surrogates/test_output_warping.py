"""Values far above the middle are drawn in, and nothing else happens to them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Prediction, Surrogate
from bostruct.surrogates.warping import Compression, OutputWarping


@dataclasses.dataclass(frozen=True)
class Told(Surrogate):
    """A surrogate whose posterior is what it was told."""

    def initial_state(self):
        return None

    def condition(self, xs, values, state, rng):
        del xs, rng
        return values, state, {}


def compress_upper_tail(values, beyond):
    return Compression.of(values, beyond).compress(values)


def tell(surrogate: OutputWarping, values: np.ndarray) -> np.ndarray:
    """Return what the surrogate inside is told."""
    return surrogate.condition(range(len(values)), values, None, None)[0]


VALUES = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e150, 1e150))


@given(VALUES)
@example(np.array([5e-324]))  # a quarter of which is 0
def test_order_is_kept_and_the_better_half_untouched(values):
    told = compress_upper_tail(values, 3.0)
    assert np.isfinite(told).all()
    better = values <= np.median(values)
    np.testing.assert_array_equal(told[better], values[better])
    order = np.argsort(values, kind="stable")
    assert (np.diff(told[order]) >= 0).all()
    assert (told <= values).all()


def test_a_median_whose_sum_overflows_is_finite():
    values = np.array([1.0e308, 1.5e308, -1.0, 1.7e308])
    assert np.isfinite(compress_upper_tail(values, 3.0)).all()


@given(VALUES, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_units_do_not_matter(values, scale, shift):
    values = np.round(np.clip(values, -1e6, 1e6), 3)
    told = compress_upper_tail(scale * values + shift, 3.0)
    tolerance = 1e-6 * (1.0 + np.abs(told).max())
    np.testing.assert_allclose(told, scale * compress_upper_tail(values, 3.0) + shift, rtol=1e-6, atol=tolerance)


def test_a_disaster_is_a_few_spreads_away():
    values = np.array([1.0, 2.0, 3.0, 4.0, 1e9])
    told = compress_upper_tail(values, 3.0)
    assert told[:4].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert 5.0 < told[4] < 40.0
    assert compress_upper_tail(values[:4], 3.0) is values[:4] or compress_upper_tail(values[:4], 3.0).tolist() == [
        1.0,
        2.0,
        3.0,
        4.0,
    ]
    with pytest.raises(ValueError, match="beyond"):
        OutputWarping(Noted(), beyond=-1.0)


def test_disasters_do_not_blind_the_search():
    space = bo.Space({f"x{i}": range(6) for i in range(6)})

    def objective(point):
        smooth = sum((v - i % 6) ** 2 for i, v in enumerate(point.values()))
        return smooth + (1e6 if point["x0"] == point["x1"] else 0.0)

    search = methods.auto(space)
    plain = dataclasses.replace(search, surrogate=search.surrogate.surrogate)
    found = [
        [bo.minimize(objective, space, 30, method=one, seed=seed, progress=False).best_value for seed in range(2)]
        for one in (search, plain)
    ]
    assert np.mean(found[0]) < 0.5 * np.mean(found[1])


@pytest.mark.parametrize(("method", "can"), [("auto", True), ("smac", False)])
def test_compression_leaves_the_posterior_what_it_is(method, can):
    searcher = methods.searcher(method, bo.Space({"x": range(5)}))
    searcher = dataclasses.replace(searcher, surrogate=OutputWarping(searcher.surrogate))
    assert searcher.bounds_regret == can


def test_a_plateau_of_best_values_does_not_switch_compression_off():
    values = np.array([0.0] * 6 + [1.0, 2.0, 3.0, 2.0, 1e6])
    told = compress_upper_tail(values, 3.0)
    assert told[:10].tolist() == values[:10].tolist()
    assert told[10] < 50.0
    assert compress_upper_tail(np.full(5, 2.0), 3.0).tolist() == [2.0] * 5


def test_rounding_on_a_plateau_of_best_values_sets_no_scale():
    """A mean of tenths is 0.3 or the number beside it; without the mend all worse values were drawn onto them."""
    worse = [1.0, 2.0, 5.0, 0.9, 1.4, 2.2]
    exact = compress_upper_tail(np.array([0.3] * 12 + worse), 3.0)
    rounded = compress_upper_tail(np.array([0.3, 0.1 + 0.2] * 6 + worse), 3.0)
    np.testing.assert_allclose(rounded, exact, rtol=1e-12)


def test_roundings_of_one_value_are_one_distinct_value():
    """Five numbers next to each other would count five times, and draw the median of the distinct values down."""
    roundings = 0.3 * (1.0 + np.arange(5) * np.finfo(np.float64).eps)
    worse = [0.6, 0.9, 2.0, 5.0, 1e6]
    surrogate = OutputWarping(Told(), beyond=10.0, of_distinct=True)
    rounded = tell(surrogate, np.append(np.tile(roundings, 3), worse))
    np.testing.assert_allclose(rounded, tell(surrogate, np.array([0.3] * 15 + worse)), rtol=1e-12)


def test_rounding_above_the_best_plateau_sets_no_scale():
    """A value one rounding above the median is no worse value, whose distance would be the unit of all others."""
    worse = [1.0, 2.0, 5.0, 0.9]
    rounded = np.array([0.3] * 10 + [0.1 + 0.2] * 5 + worse)
    exact = compress_upper_tail(np.array([0.3] * 15 + worse), 3.0)
    np.testing.assert_allclose(compress_upper_tail(rounded, 3.0), exact, rtol=1e-12)


def test_a_value_that_most_points_share_sets_no_scale():
    """Of 33 sizes 20 are the least: the others are far above the median of all, and not of the distinct ones."""
    values = np.array([0.07] * 20 + [0.071] * 6 + [0.1, 0.3, 0.6, 1.2, 1.5, 2.0, 1e6])
    told = [tell(OutputWarping(Told(), beyond=10.0, of_distinct=choice), values) for choice in (False, True)]
    assert told[0][31] < 1.0
    assert told[1][:32].tolist() == values[:32].tolist()
    assert told[1][32] < 15.0


@given(VALUES, st.booleans())
def test_predictions_of_what_was_told_are_restored(values, of_distinct):
    values = np.round(np.clip(values, -1e6, 1e6), 3)
    surrogate = OutputWarping(Told(), of_distinct=of_distinct)
    told = tell(surrogate, values)
    found = surrogate.restore_units(Prediction(told[None], np.ones((1, len(told)))), values)
    np.testing.assert_allclose(found.mean[0], values, rtol=1e-9, atol=1e-9 * np.abs(values).max())


@dataclasses.dataclass(frozen=True)
class Noted(Surrogate):
    """A surrogate whose posterior is the noise that it knows of."""

    variances: np.ndarray | None = None

    def with_variances(self, variances):
        return Noted(variances)

    def initial_state(self):
        return None

    def condition(self, xs, values, state, rng):
        del xs, values, rng
        return self.variances, state, {}


@pytest.mark.parametrize("far", [1e3, 1e12, 1e300])
def test_a_far_value_is_a_bounded_distance_away_and_its_noise_says_so(far):
    values = np.array([*np.linspace(0.0, 1.0, 9), far])
    compressed, noise = tell(OutputWarping(Told()), values), tell(OutputWarping(Noted()), values)
    middle, scale = np.median(values), np.sqrt(np.mean(np.square(np.minimum(values[:5] - np.median(values), 0.0))))
    distance = 7.0 * scale
    assert compressed[9] == pytest.approx(middle + distance)
    assert np.sqrt(noise[9]) == pytest.approx(distance / 2.0)
    assert np.isnan(noise[:9]).all()  # learned
    assert compressed[:9].tolist() == values[:9].tolist()


def test_a_region_of_far_values_is_learned():
    """More than a tenth of the values are no outliers: they have no noise of ours, and keep their order."""
    values = np.array([*np.linspace(0.0, 1.0, 16), 1e3, 1e4, 1e4, 1e12])
    compressed = tell(OutputWarping(Told()), values)
    assert tell(OutputWarping(Noted()), values) is None
    assert compressed[16] < compressed[17] == compressed[18] < compressed[19] < 4.0


def test_values_below_the_bound_have_no_noise_of_ours():
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 20.0])
    assert tell(OutputWarping(Told()), values)[5] < 20.0
    assert tell(OutputWarping(Noted()), values) is None


def test_a_far_value_that_is_mostly_noise_does_not_look_precise():
    """By the slope alone its noise of 10 would be 0.85, and the value 5.5 standard deviations above the median."""
    values, variances = np.array([-1.0, 0.0, 1.0, 0.5, -0.5, 12.0]), np.array([1e-6] * 5 + [100.0])
    compressed = tell(OutputWarping(Told()), values)
    noise = tell(OutputWarping(Noted()).with_variances(variances), values)
    assert noise[:5].tolist() == variances[:5].tolist()
    assert 1.0 < (compressed[5] - np.median(values)) / np.sqrt(noise[5]) < 2.0  # 1.2 without compression
    precise = tell(OutputWarping(Noted()).with_variances(np.full(6, 1e-8)), np.append(values[:5], 10.0))
    assert np.sqrt(precise[5]) < 1e-4  # the noise of a precise value is compressed as the value is


@pytest.mark.parametrize("far", [pytest.param(1e4, marks=pytest.mark.slow), 1e12])
def test_one_far_value_serves_no_worse_than_a_failure(far):
    """Without the bound the far value ruins the search: the mean gap was 0.35 at 1e4 and 0.69 at 1e12."""
    effects = np.random.default_rng(0).normal(size=10)
    space = {f"b{i}": bool for i in range(10)}

    def search(seed, tell_trial):
        with bo.Study(space, seed=seed) as study:
            for i in range(20):
                trial = study.ask()
                if i == 6:
                    tell_trial(study, trial)
                else:
                    study.tell(trial, float(effects @ [trial.point[name] for name in space]))
            return study.best_value

    def run(tell_trial):
        return np.mean([search(seed, tell_trial) for seed in range(6)])

    observed = run(lambda study, trial: study.tell(trial, far))
    failed = run(lambda study, trial: study.tell(trial, failed="disturbed"))
    assert observed < failed + 0.2
