"""The bases of models: their defaults, against our overrides, and the refusal of what does not inherit from them."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import contracts
from bostruct.acquisition.functions import LOG_EI, LogAugmentedExpectedImprovement, LogExpectedImprovement
from bostruct.acquisition.local_search import JointAscent
from bostruct.acquisition.mixed_search import MixedSearch
from bostruct.checks import check_part
from bostruct.contracts.model import (
    AcquisitionFunction,
    Feasibility,
    Maximizer,
    Posterior,
    Prediction,
    Score,
    SuccessModel,
    Surrogate,
)
from bostruct.contracts.search import ScoreBuilder
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.graphs import CompleteGraph
from bostruct.domains.space.registry import KINDS
from bostruct.kernels.distance import DistanceKernel
from bostruct.kernels.space.registry import KERNELS, VariableKernels
from bostruct.methods import auto, bayesian, smac
from bostruct.searchers.scores import AcquisitionScore, Feasible, Improvement, NoisyImprovement, best_predicted
from bostruct.study.history import History
from bostruct.surrogates.hyperparameters import Bounded
from bostruct.surrogates.outputs import Outputs
from bostruct.surrogates.success import AveragedFeasibility, RegressedFeasibility, RegressedSuccess
from bostruct.surrogates.warping import OutputWarping
from bostruct.testing import acquisition_laws, check_acquisition, check_surrogate, model_laws

SPACE = bo.Space({"a": bool, "b": list("pqr"), "c": range(5), "r": bo.Real(0.0, 1.0)})
BASES = (AcquisitionFunction, Feasibility, Maximizer, Posterior, Score, ScoreBuilder, SuccessModel, Surrogate)


class Nearest(Posterior):
    """The mean of the value of the nearest number, and the distance to it for a variance."""

    def __init__(self, told: Any, values: Any) -> None:
        self.told, self.values = SPACE.shares(told)[:, 0], values

    def predict(self, xs: Any) -> Prediction:
        distances = np.abs(SPACE.shares(SPACE.join(xs)) - self.told)
        at = np.argmin(distances, axis=1)
        return Prediction(self.values[None, at], 0.01 + distances[np.arange(len(at)), at][None])


class Least(Surrogate):
    def condition(self, xs: Any, values: Any, state: Any, rng: Any) -> Any:
        del rng
        return Nearest(xs, values), state, {}


class Optimism(AcquisitionFunction):
    def __call__(self, prediction: Prediction, incumbent: float) -> Any:
        del incumbent
        return np.sqrt(prediction.variance) - prediction.mean


@pytest.fixture
def posterior() -> Any:
    rng = np.random.default_rng(0)
    xs = SPACE.sample(12, rng)
    return auto(SPACE).surrogate.condition(xs, rng.normal(size=12), None, rng)[0]


def test_a_surrogate_that_only_learns_and_predicts_keeps_all_laws():
    check_surrogate(Least(), SPACE, np.random.default_rng(0))
    space = bo.Space({name: one for name, one in SPACE.variables.items() if name != "r"})
    check_surrogate(smac(space).surrogate, space, np.random.default_rng(0))


def test_an_acquisition_function_of_one_method_keeps_all_laws():
    check_acquisition(Optimism(), np.random.default_rng(0))


def test_parts_of_one_method_search():
    def objective(point: Any) -> float:
        if point["c"] == 4:
            raise bo.Infeasible("no")
        return point["r"] + point["c"]

    method = dataclasses.replace(auto(SPACE), surrogate=Least(), score=Improvement(Optimism()), n_initial=4)
    found = bo.minimize(objective, SPACE, n_trials=12, method=method, seed=0, progress=False)
    assert "model" in {trial.origin for trial in found.trials}


def test_every_member_of_a_base_has_a_law():
    for base, laws in ((Posterior, model_laws.POSTERIOR_LAWS), (Surrogate, model_laws.SURROGATE_LAWS)):
        members = {name for name in vars(base) if not name.startswith("_")}
        assert members - {"condition", "initial_state"} == set(laws)  # which all laws call
    members = {name for name in vars(AcquisitionFunction) if not name.startswith("_")}
    assert members - {"is_logarithm", "value_and_gradient"} <= set(acquisition_laws.LAWS)


def test_the_defaults_of_a_posterior(posterior):
    xs, default = SPACE.sample(5, np.random.default_rng(1)), Nearest(posterior.xs, np.arange(12.0))
    assert default.outputs == (default,)
    assert (default.noise, default.covariance(xs), default.input_vjp(xs), default.leave_one_out()) == (None,) * 4
    assert default.believe(xs) is default
    np.testing.assert_array_equal(default.find_training_means(xs), default.screen(xs).mean)
    found = posterior.predict(xs)
    for bound, sign in ((Posterior.screen(posterior, xs), -1.0), (Posterior.upper_bound(posterior, xs), 1.0)):
        assert np.all(sign * (bound.mean - found.mean) > 0.0)
        np.testing.assert_allclose(bound.mean, found.mean, atol=1e-5)
        assert np.all(bound.variance > found.variance)
        np.testing.assert_allclose(bound.variance, found.variance, rtol=1e-5)


def test_the_defaults_of_a_surrogate_change_nothing():
    surrogate, prediction = Least(), Prediction(np.zeros((1, 2)), np.ones((1, 2)))
    assert (surrogate.n_outputs, surrogate.has_covariance, surrogate.initial_state()) == (None, True, None)
    assert surrogate.with_variances(np.ones(2)) is surrogate
    assert surrogate.restore_units(prediction, np.zeros(2)) is prediction
    assert surrogate.condition_at((), np.zeros(0), [0.0]) is None
    both = Outputs(surrogate, surrogate, 1, 1)
    assert both.with_variances(np.ones(2)) == both
    assert both.n_outputs == 2


def test_the_defaults_of_an_acquisition_function_agree_with_its_overrides(posterior):
    prediction, log_ei = posterior.predict(SPACE.sample(30, np.random.default_rng(1))), LogExpectedImprovement()
    for one in (log_ei, LogAugmentedExpectedImprovement(0.2)):
        quick = one.value_and_gradient(prediction, 0.3)
        for found, expected in zip(quick, AcquisitionFunction.value_and_gradient(one, prediction, 0.3), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    assert np.all(AcquisitionFunction.upper_bounds(log_ei, prediction, 0.3) == np.inf)
    assert log_ei.with_noise(np.ones((1, 1))) is log_ei
    scores = np.array([[0.0, 1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(Optimism().average(scores), [1.0, 2.0])
    np.testing.assert_allclose(np.exp(log_ei.average(scores)), np.exp(scores).mean(axis=0))


class Constant(Score):
    def __call__(self, xs: Any) -> Any:
        return np.zeros(len(xs))


def test_the_defaults_of_a_score_and_a_chance(posterior):
    xs = SPACE.sample(5, np.random.default_rng(1))
    assert np.all(Constant().upper_bounds(xs) == np.inf)
    assert Constant().believe(xs) is Constant().input_vjp(xs) is None
    chance = RegressedFeasibility(posterior)
    assert np.all(chance.log_probability_bound(xs) >= Feasibility.log_probability_bound(chance, xs) - 1e-5)
    assert Feasibility.log_probability_vjp(chance, xs) is None
    vary, shares = AveragedFeasibility([chance], np.zeros(1)).log_probability_vjp(xs), SPACE.shares(xs)
    np.testing.assert_allclose(vary(shares)[0], chance.log_probability(xs), rtol=1e-6)


def test_a_score_without_bounds_is_climbed_by_its_values():
    space = bo.Space({f"b{i}": bool for i in range(30)})

    class Ones(Score):
        def __call__(self, xs: Any) -> Any:
            return np.asarray(xs) @ np.where(np.arange(30) % 3, 1.0, -1.0)

    points, _ = JointAscent()(Ones(), space, space.sample(1, np.random.default_rng(0)), np.random.default_rng(1))
    assert Ones()(points[:1])[0] == 20.0


def test_a_builder_that_learns_nothing_has_no_state_and_no_chance(posterior):
    history = History.of(SPACE, posterior.xs, np.arange(12.0))
    rng, builder = np.random.default_rng(0), Improvement(LogExpectedImprovement(), best_predicted)
    score, state = builder.build_from(posterior, history, None, rng)
    xs = SPACE.sample(5, rng)
    np.testing.assert_array_equal(score(xs), builder(posterior, history, rng)(xs))
    assert state is None
    assert builder.learn_feasibility(posterior, history, None, rng) is None
    feasible = auto(SPACE).score
    assert isinstance(feasible, Feasible)
    failed = History.of(SPACE, posterior.xs[:9], np.arange(9.0), failed=posterior.xs[9:])
    first, again = (feasible.build_from(posterior, failed, None, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first[0](xs), again[0](xs))
    np.testing.assert_array_equal(first[0](xs), feasible(posterior, failed, np.random.default_rng(3))(xs))


def test_a_gradient_by_differences_climbs(posterior):
    xs = SPACE.sample(4, np.random.default_rng(1))
    plain = AcquisitionScore(posterior, Optimism(), 0.0).input_vjp(xs)
    assert plain is not None
    shares, step = SPACE.shares(xs).clip(0.1, 0.9), 1e-5
    slope = (plain(shares + step)[0] - plain(shares - step)[0]) / (2.0 * step)
    np.testing.assert_allclose(plain(shares)[1][:, 0], slope, rtol=1e-4, atol=1e-6)


class Thing:
    """A plain object with every member that one could want."""

    is_logarithm = True

    def __call__(self, *_: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("name", "base", "make"),
    [
        ("surrogate", "Surrogate", lambda: dataclasses.replace(auto(SPACE), surrogate=Thing())),
        ("score", "ScoreBuilder", lambda: dataclasses.replace(auto(SPACE), score=Thing())),
        ("maximizer", "Maximizer", lambda: dataclasses.replace(auto(SPACE), maximizer=Thing())),
        ("acquisition", "AcquisitionFunction", lambda: bayesian(SPACE, acquisition=Thing())),
        ("acquisition", "AcquisitionFunction", lambda: bayesian(SPACE, acquisition=len)),
        ("acquisition", "AcquisitionFunction", lambda: NoisyImprovement(Improvement(LOG_EI), Thing(), Thing(), 0.5)),
        ("plain", "ScoreBuilder", lambda: NoisyImprovement(Thing(), LOG_EI, Thing(), 0.5)),
        ("begin", "Maximizer", lambda: MixedSearch(begin=Thing())),
        ("surrogate", "Surrogate", lambda: OutputWarping(Thing())),
        ("violation", "Surrogate", lambda: Outputs(auto(SPACE).surrogate, Thing())),
        ("surrogate", "Surrogate", lambda: RegressedSuccess(Thing(), SPACE.take)),
        ("prior", "Prior", lambda: Bounded(Thing(), 0.0, 1.0)),
        ("prior", "Prior", lambda: DistanceKernel(len, Thing(), 0.0)),
        ("success", "SuccessModel", lambda: dataclasses.replace(auto(SPACE).score, success=Thing())),
        ("score", "ScoreBuilder", lambda: dataclasses.replace(auto(SPACE).score, score=Thing())),
    ],
)
def test_a_plain_object_is_refused_by_the_name_of_the_base(name, base, make):
    with pytest.raises(
        TypeError, match=rf"^{name}: expected a bostruct\.contracts\.{base} \(subclass it\), got .*(Thing|len)"
    ):
        make()


def test_a_plain_function_is_no_exploration():
    with pytest.raises(TypeError, match=r"exploration: expected None or a bostruct\.searchers\.Exploration"):
        dataclasses.replace(auto(SPACE), exploration=len)


def search_with(**changes: Any) -> Any:
    """Suggest a point by `auto` with other parts, after ten random ones, one of which failed."""
    return bo.minimize(
        lambda point: float("nan") if point["c"] == 4 else point["r"],
        SPACE,
        method=dataclasses.replace(auto(SPACE), **changes),
        n_trials=14,
        seed=0,
        progress=False,
    )


class LearnsThing(Surrogate):
    def condition(self, xs: Any, values: Any, state: Any, rng: Any) -> Any:
        del xs, values, state, rng
        return Thing(), None, {}


class BuildsThing(ScoreBuilder):
    def __call__(self, posterior: Any, history: Any, rng: Any) -> Any:
        del posterior, history, rng
        return Thing()


class ForeseesThing(SuccessModel):
    def condition(self, points: Any, succeeded: Any, state: Any, rng: Any, *, keep: bool = False) -> Any:
        del points, succeeded, state, rng, keep
        return Thing(), None


class Own(ChoiceVariable):
    def __init__(self, choices: Any) -> None:
        super().__init__(choices, CompleteGraph(len(choices)))


def register_thing() -> Any:
    bo.register_variable(Own, VariableKernels(lambda variables, _: [(Thing(), tuple(range(len(variables))))]))
    try:
        return auto(bo.Space({"a": Own([1, 2, 3])}))
    finally:
        del KERNELS[Own], KINDS["Own"]


def foresee_thing() -> Any:
    return search_with(
        score=Feasible(Improvement(LogExpectedImprovement(), best_predicted), ForeseesThing(), SPACE.join)
    )


@pytest.mark.parametrize(
    ("name", "base", "make"),
    [
        ("space", "contracts.Domain", lambda: bo.minimize(len, Thing(), n_trials=1)),
        ("domain", "contracts.Domain", lambda: auto(Thing())),  # type: ignore[arg-type]
        ("parts: a", "contracts.Domain", lambda: bo.joint_domain({"a": Thing()})),
        ("a", "domains.Variable", lambda: bo.Space({"a": Thing()})),
        ("method", "contracts.Searcher", lambda: bo.Study(SPACE, method=Thing())),  # type: ignore[arg-type]
        ("kernel", "contracts.Kernel", lambda: bayesian(SPACE, kernel=Thing())),  # type: ignore[arg-type]
        ("factors", "kernels.Factor", register_thing),
        ("noise_prior", "contracts.Prior", lambda: dataclasses.replace(quiet_model(), noise_prior=Thing())),
        ("surrogate: its posterior", "contracts.Posterior", lambda: search_with(surrogate=LearnsThing())),
        ("score: its result", "contracts.Score", lambda: search_with(score=BuildsThing())),
        ("success: its result", "contracts.Feasibility", foresee_thing),
        ("storage", "storage.Storage", lambda: bo.Study(SPACE, storage=Thing())),  # type: ignore[arg-type]
        (
            "stopping_rule",
            "study.StoppingRule",
            lambda: bo.Study(SPACE).optimize(len, 1, stopping_rule=Thing()),  # type: ignore[arg-type]
        ),
    ],
)
def test_a_plain_object_is_refused_at_each_door(name: str, base: str, make: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"^{name}: expected .*a bostruct\.{re.escape(base)} \(subclass it\).* got .*Thing"
    ):
        make()


def quiet_model() -> Any:
    found: Any = auto(SPACE).surrogate
    return found.surrogate.quiet


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
def test_a_base_is_public_and_cannot_be_made(base):
    assert vars(contracts)[base.__name__] is base
    with pytest.raises(TypeError, match="abstract"):
        base()
    with pytest.raises(TypeError, match=f"part: expected a bostruct.contracts.{base.__name__} "):
        check_part("part", object(), base)
