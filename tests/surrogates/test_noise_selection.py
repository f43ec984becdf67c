"""The choice between a model that expects noise and one that does not."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Array, IntArray, Json
from bostruct.surrogates.map_gp import LEAST_LEAD, MAPGP, Mode, NoiseSelection

SPACE = bo.Space({f"b{i}": bool for i in range(10)} | {f"o{i}": bo.Ordinal(range(5)) for i in range(3)})


BITS = bo.Space({f"b{i}": bool for i in range(13)})


def make_data(noise: float, seed: int = 0, space: bo.Space = SPACE) -> tuple[IntArray, Array]:
    rng = np.random.default_rng(seed)
    xs = space.sample(50, rng)
    signal = xs @ rng.normal(size=space.d)
    return xs, signal + noise * float(signal.std()) * rng.normal(size=50)


def selection() -> NoiseSelection:
    return cast(Any, methods.auto(SPACE).surrogate).surrogate


def smooth_selection() -> NoiseSelection:
    return cast(Any, methods.auto(BITS).surrogate).surrogate


def test_only_choices_without_order_have_a_smooth_model() -> None:
    assert smooth_selection().smooth is not None
    assert selection().smooth is None
    assert cast(Any, methods.auto(bo.Space({"b": bool, "x": bo.Real(0, 1)})).surrogate).surrogate.smooth is None


@pytest.mark.parametrize(("noise", "part"), [(0.0, "quiet"), (1.0, "noisy")])
def test_the_data_choose_and_what_is_chosen_is_left_as_it_is(noise: float, part: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(3):
        xs, values = make_data(noise, seed)
        posterior, _, info = selection().condition(xs, values, None, rng)
        expected, _, alone = getattr(selection(), part).condition(xs, values, None, rng)
        assert info["noise"] == alone["noise"]
        assert info["likelihoods"] > alone["likelihoods"]  # both were fitted
        at = SPACE.sample(5, rng)
        np.testing.assert_array_equal(posterior.predict(at).mean, expected.predict(at).mean)
        np.testing.assert_allclose(posterior.noise, [[info["noise"] * posterior.scale**2]], rtol=1e-12)
        np.testing.assert_array_equal(posterior.believe(at).noise, posterior.noise)


def test_thirty_values_without_noise_are_enough_to_say_so() -> None:
    """A smooth function of ordered variables; a model that expects noise alone calls 0.04 to 0.09 of it noise."""
    space = bo.Space({f"o{i}": bo.Ordinal(range(7)) for i in range(10)})
    for seed in range(5):
        rng = np.random.default_rng(seed)
        xs = space.sample(30, rng)
        distance = np.sqrt(np.mean(np.square(xs - rng.integers(7, size=10)), axis=1))
        info = methods.auto(space).surrogate.condition(xs, -np.exp(-0.2 * distance), None, rng)[2]
        assert info["noise"] < 0.01


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_the_prior_decides_where_it_outweighs_the_data(noise: float) -> None:
    xs, values = make_data(noise)
    rng = np.random.default_rng(1)
    for part, log_odds in (("quiet", -1e3), ("noisy", 1e3)):
        found = replace(selection(), log_odds=log_odds).condition(xs, values, None, rng)[2]
        assert found["noise"] == getattr(selection(), part).condition(xs, values, None, rng)[2]["noise"]


def test_each_model_goes_on_from_its_own_mode_through_json() -> None:
    models, rng = replace(selection(), growth=0.0), np.random.default_rng(1)
    xs, values = make_data(1.0)
    _, state, _ = models.condition(xs[:40], values[:40], None, rng)
    state = json.loads(json.dumps(state))
    quiet = models.quiet.condition(xs[:40], values[:40], None, rng)[1]
    noisy = models.noisy.condition(xs[:40], values[:40], None, rng)[1]
    assert state == [quiet, noisy]
    after = models.condition(xs, values, state, rng)[1]
    assert after == [
        models.quiet.condition(xs, values, quiet, rng)[1],
        models.noisy.condition(xs, values, noisy, rng)[1],
    ]


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_fit_serves_until_the_data_have_grown(noise: float) -> None:
    models, rng = replace(selection(), growth=0.1), np.random.default_rng(1)
    xs, values = make_data(noise)
    _, state, info = models.condition(xs[:40], values[:40], None, rng)
    state = json.loads(json.dumps(state))
    posterior, same, kept = models.condition(xs[:43], values[:43], state, rng)
    assert (same, kept["fit"], kept["likelihoods"], kept["noise"]) == (state, "kept", 0, info["noise"])
    model = models.noisy if state["is_noisy"] else models.quiet
    mode = Mode(np.array(state["modes"][int(state["is_noisy"])]), {})
    expected, _ = model.posterior_at(model.prepare(xs[:43], values[:43]), mode)
    np.testing.assert_array_equal(posterior.predict(xs).mean, expected.predict(xs).mean)
    _, after, again = models.condition(xs[:44], values[:44], state, rng)
    assert again["fit"] == "mode"
    assert after["n"] == 44
    assert models.condition(xs[:39], values[:39], state, rng)[2]["fit"] == "mode"  # of fewer data: not those it had


def shift(models: NoiseSelection, gain: float, xs: IntArray, values: Array) -> NoiseSelection:
    """The models with other odds, so that the noisy one is more probable by `gain` nats."""
    noisy, quiet = (one.condition(xs, values, None, None)[2]["log_posterior"] for one in (models.noisy, models.quiet))
    return replace(models, log_odds=gain - cast(float, noisy) + cast(float, quiet))


@pytest.mark.parametrize("models", [selection(), smooth_selection()], ids=["two models", "three models"])
@pytest.mark.parametrize("is_kept", [False, True])
def test_a_quiet_model_that_is_hardly_more_probable_is_averaged_with_the_noisy_one(
    models: NoiseSelection, is_kept: bool
) -> None:
    rng, space = np.random.default_rng(1), BITS if models.smooth else SPACE
    xs, values = make_data(0.5, space=space)
    fitted = (models.quiet, models.smooth or models.noisy)
    quiet, noisy = (one.condition(xs, values, None, rng)[0].predict(xs) for one in fitted)
    for own, searched, averaged in (
        (-LEAST_LEAD - 0.1, quiet, [quiet]),
        (0.1 - LEAST_LEAD, quiet, [quiet, noisy]),
        (0.1, noisy, [noisy]),
    ):
        shifted = shift(models, own, xs, values)
        posterior, state, info = shifted.condition(xs, values, None, rng)
        if is_kept:
            posterior, _, info = shifted.condition(xs, values, json.loads(json.dumps(state)), rng)
        assert info["fit"] == ("kept" if is_kept else "mode")
        np.testing.assert_array_equal(posterior.predict(xs).mean, searched.mean)
        found = posterior.average_models().predict(xs)
        np.testing.assert_array_equal(found.mean, np.vstack([one.mean for one in averaged]))
        np.testing.assert_array_equal(found.variance, np.vstack([one.variance for one in averaged]))


def test_intervals_allow_for_noise_that_may_be_a_rough_function() -> None:
    """Those of the quiet model alone, which is the more probable one, hold a third of the true values."""
    held: dict[str, list[Array]] = {"one": [], "average": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        xs = BITS.sample(40, rng)
        truth = (2.0 * xs - 1.0) @ rng.normal(size=13)
        values = truth + 0.4 * truth.std() * rng.normal(size=40)
        posterior = smooth_selection().condition(xs, values, None, rng)[0]
        for found, one in zip(held.values(), (posterior, posterior.average_models()), strict=True):
            mean, variance = one.predict(xs)
            sd = np.sqrt(variance.mean(axis=0) + mean.var(axis=0))
            found.append(np.abs(truth - mean.mean(axis=0)) < 1.96 * sd)
    assert np.mean(held["one"]) < 0.45
    assert np.mean(held["average"]) > 0.7


def test_known_noise_believed_points_and_a_failed_fit_are_not_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    models, (xs, values) = smooth_selection(), make_data(0.5, space=BITS)
    models = shift(models, -2.0, xs, values)

    def count(posterior: Any) -> int:
        return len(posterior.average_models().predict(xs).mean)

    exact = models.with_variances(np.zeros(50)).condition(xs, values, None, np.random.default_rng(1))[0]
    posterior = models.condition(xs, values, None, np.random.default_rng(1))[0]
    assert (count(posterior), count(exact), count(posterior.believe(xs[:2]))) == (2, 1, 1)
    found = MAPGP.find_mode

    def fail(model: MAPGP, fit: Any, state: Any) -> Mode:
        mode = found(model, fit, state)
        return Mode(mode.packed, {"fit": "prior mode", "likelihoods": 1}) if model is models.smooth else mode

    monkeypatch.setattr(MAPGP, "find_mode", fail)
    assert count(models.condition(xs, values, None, np.random.default_rng(1))[0]) == 1


def test_a_kept_fit_is_averaged_as_at_its_fit() -> None:
    models, (xs, values) = replace(selection(), growth=0.1), make_data(0.5)
    for gain, count in ((-2.0, 2), (-6.0, 1)):
        own = shift(models, gain, xs[:48], values[:48])
        _, state, _ = own.condition(xs[:48], values[:48], None, np.random.default_rng(1))
        assert cast(Any, state)["is_close"] == (count == 2)
        posterior, _, info = own.condition(xs, 100.0 * values, json.loads(json.dumps(state)), np.random.default_rng(1))
        assert (info["fit"], len(posterior.average_models().samples)) == ("kept", count)
        del cast(Any, state)["is_close"]  # as in files of earlier revisions
        posterior, _, info = own.condition(xs, values, state, np.random.default_rng(1))
        assert (info["fit"], len(posterior.average_models().samples)) == ("kept", 1)


def test_a_state_of_an_earlier_version_is_fitted_from() -> None:
    xs, values = make_data(0.0)
    rng = np.random.default_rng(1)
    _, modes, _ = replace(selection(), growth=0.0).condition(xs[:40], values[:40], None, rng)
    _, state, info = selection().condition(xs, values, modes, rng)
    assert info["fit"] == "mode"
    assert state["n"] == 50


@dataclass(frozen=True)
class Fitted:
    """A model whose fit came to this."""

    name: str
    info: dict[str, Json]
    kernel: str = "of both"

    def prepare(self, *_: Any) -> Any:
        return SimpleNamespace(usual_noise=None)

    def find_mode(self, *_: Any) -> Mode:
        return Mode(np.array([float(len(self.name)), float(self.name == "quiet")]), {"likelihoods": 2} | self.info)

    def posterior_at(self, _: Any, mode: Mode) -> tuple[str, dict[str, Json]]:
        return self.name, mode.info


@pytest.mark.parametrize(("fits", "expected"), [(["quiet"], "quiet"), (["noisy"], "noisy"), ([], "quiet")])
def test_a_fit_that_failed_is_not_chosen_unless_both_did(fits: list[str], expected: str) -> None:
    infos: dict[str, Any] = {part: {"log_posterior": -40.0} if part in fits else {} for part in ("quiet", "noisy")}
    quiet, noisy = (cast(MAPGP, Fitted(part, info)) for part, info in infos.items())
    found = NoiseSelection(quiet, noisy).condition(*make_data(0.0), [None, None], np.random.default_rng())
    assert found == (expected, [[5.0, 1.0], [5.0, 0.0]], {"likelihoods": 4} | infos[expected])


@pytest.mark.parametrize(("noise", "part"), [(0.0, "quiet"), (1.0, "smooth")])
def test_a_smooth_model_serves_if_the_noisy_one_is_chosen(noise: float, part: str) -> None:
    models, rng = smooth_selection(), np.random.default_rng(1)
    xs, values = make_data(noise, space=BITS)
    posterior, state, info = models.condition(xs, values, None, rng)
    expected, mode, alone = getattr(models, part).condition(xs, values, None, rng)
    np.testing.assert_array_equal(posterior.predict(xs).mean, expected.predict(xs).mean)
    assert info["noise"] == alone["noise"]
    assert cast(Any, state)["modes"][{"quiet": 0, "smooth": 2}[part]] == mode
    again, same, kept = models.condition(xs, values, json.loads(json.dumps(state)), rng)
    assert (same, kept["fit"]) == (state, "kept")
    np.testing.assert_array_equal(again.predict(xs).mean, expected.predict(xs).mean)


def test_noise_is_not_taken_for_a_rough_function() -> None:
    """Noise of the variance of the signal is half of the variance; the noisy model finds less."""
    found = {"smooth": list[float](), "noisy": list[float]()}
    for seed in range(6):
        for name, noises in found.items():
            noises.append(
                getattr(smooth_selection(), name).condition(*make_data(1.0, seed, BITS), None, None)[2]["noise"]
            )
    assert np.mean(found["noisy"]) + 0.05 < np.mean(found["smooth"]) < 0.6


def test_states_without_a_smooth_model_are_fitted_from() -> None:
    rng = np.random.default_rng(1)
    for noise in (0.0, 1.0):
        xs, values = make_data(noise, space=BITS)
        _, old, _ = replace(smooth_selection(), smooth=None).condition(xs, values, None, rng)
        _, state, _ = smooth_selection().condition(xs, values, old, rng)
        modes, before = cast(Any, state)["modes"], cast(Any, old)["modes"]
        assert len(modes) == (3 if noise else 2)
        np.testing.assert_allclose(modes[0], before[0], atol=0.05)


def test_growth_is_not_negative() -> None:
    with pytest.raises(ValueError, match="growth: expected"):
        replace(selection(), growth=-0.1)


def test_odds_are_a_finite_number() -> None:
    with pytest.raises(ValueError, match="log_odds: expected a finite number"):
        replace(selection(), log_odds=float("inf"))


def test_models_with_different_kernels_are_refused() -> None:
    quiet, noisy = (cast(MAPGP, Fitted(name, {}, name)) for name in ("quiet", "noisy"))
    with pytest.raises(ValueError, match="noisy: expected a model with the kernel of `quiet`"):
        NoiseSelection(quiet, noisy)


@pytest.mark.parametrize("n", [50, 49])  # where the last mode would be kept, and where it would be a start
def test_the_state_of_a_kernel_with_other_parameters_is_no_mode(n: int) -> None:
    xs, values = make_data(0.5)
    model = replace(selection(), growth=0.02)
    _, state, _ = model.condition(xs, values, None, np.random.default_rng(0))
    older: Any = {**cast(Any, state), "modes": [mode[:-1] for mode in cast(Any, state)["modes"]], "n": n}
    posterior, learned, info = model.condition(xs, values, older, np.random.default_rng(0))
    expected, fresh, _ = model.condition(xs, values, None, np.random.default_rng(0))
    assert info["fit"] == "mode"
    assert learned == fresh
    np.testing.assert_array_equal(posterior.predict(xs).mean, expected.predict(xs).mean)
