"""The choice between a model of the target task alone and one of all tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Array, IntArray, NumericalError, Posterior, Surrogate
from bostruct.methods.transfer import PriorTask, learn_from
from bostruct.surrogates.transfer import TransferLearning
from bostruct.testing.model_laws import check_posterior

SPACE = bo.Space({f"b{i}": bool for i in range(8)} | {"o": bo.Ordinal(range(5)), "r": bo.Real(0.0, 1.0)})
WEIGHTS = np.random.default_rng(0).normal(size=SPACE.d)


def value(xs: IntArray) -> Array:
    shares = np.column_stack([xs[:, :-1], SPACE.shares(xs)])
    return shares @ WEIGHTS + shares[:, 0] * shares[:, 1]


def make_surrogate(task: Array, xs: IntArray) -> TransferLearning:
    searcher = learn_from(methods.auto(SPACE), [PriorTask(xs, task)])
    return cast(Any, searcher).surrogate.surrogate


def condition(kind: str, n: int = 12, scale: float = 1.0, shift: float = 0.0):
    rng = np.random.default_rng(1)
    xs, earlier = SPACE.sample(n, rng), SPACE.sample(60, rng)
    task = {"same": value(earlier), "noise": rng.normal(size=60), "opposite": -value(earlier)}[kind]
    surrogate = make_surrogate(scale * task + shift, earlier)
    return *surrogate.condition(xs, value(xs), surrogate.initial_state(), rng), surrogate, xs, rng


def test_a_related_task_makes_predictions_better_whatever_its_scale_and_shift() -> None:
    for scale, shift in ((1.0, 0.0), (1e6, -3e7)):
        posterior, _, info, surrogate, xs, rng = condition("same", scale=scale, shift=shift)
        assert info["transfer"]
        assert info["transfer_gain"] > 0.0
        found, alone = errors(posterior, surrogate, xs, rng)
        assert found < 0.5 * alone


def errors(posterior: Posterior, surrogate: TransferLearning, xs: IntArray, rng: np.random.Generator):
    """Return the mean absolute errors of a posterior, and of the model of the target alone, at new points."""
    alone, *_ = surrogate.alone.condition(xs, value(xs), surrogate.alone.initial_state(), rng)
    new = SPACE.sample(100, rng)
    return tuple(np.abs(one.predict(new).mean[0] - value(new)).mean() for one in (posterior, alone))


def test_a_task_of_noise_is_ignored() -> None:
    posterior, _, info, surrogate, xs, rng = condition("noise", n=30)
    assert not info["transfer"]
    assert len({*errors(posterior, surrogate, xs, rng)}) == 1


def test_the_opposite_of_the_target_misleads_no_prediction() -> None:
    posterior, _, info, surrogate, xs, rng = condition("opposite", n=30)
    found, alone = errors(posterior, surrogate, xs, rng)
    assert found < 1.1 * alone
    if info["transfer"]:  # it may still tell lengthscales
        kernel = posterior.kernel
        assert kernel.unpack(posterior.samples[0].hyper.theta).correlation[1] < 0.1


def test_the_posterior_obeys_its_laws() -> None:
    posterior, *_, rng = condition("same")
    check_posterior(posterior, SPACE, rng)


def test_a_second_fit_starts_from_the_state_of_the_first() -> None:
    _, state, _, surrogate, xs, rng = condition("same")
    _, again, info = surrogate.condition(xs, value(xs), state, rng)
    assert len(state) == len(again) == 2
    assert info["transfer"]


def test_the_target_alone_is_left_where_the_joint_model_fails() -> None:
    class Failing(Surrogate):
        def initial_state(self) -> None:
            return None

        def condition(self, *_: object) -> None:
            raise NumericalError("no")

    _, state, _, surrogate, xs, rng = condition("same")
    posterior, after, info = replace(surrogate, joint=cast(Any, Failing())).condition(xs, value(xs), state, rng)
    assert info["transfer"] is False
    assert after[1] == state[1]
    assert np.isfinite(posterior.predict(xs).mean).all()


def test_noise_far_above_tiny_values_is_a_number() -> None:
    rng = np.random.default_rng(0)
    xs, earlier = SPACE.sample(12, rng), SPACE.sample(20, rng)
    surrogate = make_surrogate(value(earlier), earlier).with_variances(np.full(12, 1e60))
    posterior, *_ = surrogate.condition(xs, 1e-140 * value(xs), surrogate.initial_state(), rng)
    assert np.isfinite(posterior.predict(xs).mean).all()
