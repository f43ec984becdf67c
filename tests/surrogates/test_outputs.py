"""Several outputs are several surrogates."""

from dataclasses import dataclass

import numpy as np
import pytest

from bostruct.contracts import Surrogate
from bostruct.methods import auto
from bostruct.surrogates.outputs import Outputs
from bostruct.surrogates.warping import ViolationWarping
from bostruct.testing.model_laws import check_posterior
from tests.laws.maxsat import bits

SPACE = bits(6)
MODEL = auto(SPACE).surrogate
POINTS = SPACE.sample(20, np.random.default_rng(0))
VALUES = np.random.default_rng(1).normal(size=(20, 3))
SURROGATE = Outputs(MODEL, ViolationWarping(MODEL.surrogate), 2, 1)


def test_each_output_is_learned_as_alone():
    generator = np.random.default_rng(0)
    posterior, state, info = SURROGATE.condition(POINTS, VALUES, SURROGATE.initial_state(), generator)
    assert len(info["outputs"]) == len(state) == SURROGATE.n_outputs == 3
    for j, surrogate in enumerate(SURROGATE.surrogates):
        alone, own, told = surrogate.condition(POINTS, VALUES[:, j], surrogate.initial_state(), generator)
        assert (state[j], info["outputs"][j]) == (own, told)
        expected = alone.believe(POINTS[:1]).predict(POINTS)
        found = posterior.believe(POINTS[:1]).outputs[j].predict(POINTS)
        assert found.mean.tolist() == expected.mean.tolist()
        assert found.variance.tolist() == expected.variance.tolist()
    assert posterior.predict(POINTS).mean.tolist() == posterior.outputs[0].predict(POINTS).mean.tolist()


def test_it_goes_on_from_its_state():
    state = SURROGATE.condition(POINTS[:10], VALUES[:10], SURROGATE.initial_state(), np.random.default_rng(0))[1]
    again = SURROGATE.condition(POINTS, VALUES, state, np.random.default_rng(0))
    assert [info["fit"] for info in again[2]["outputs"]] == ["mode"] * 3


def test_its_posterior_keeps_the_laws():
    posterior = SURROGATE.condition(POINTS, VALUES, SURROGATE.initial_state(), np.random.default_rng(0))[0]
    check_posterior(posterior, SPACE, np.random.default_rng(1))


@pytest.mark.parametrize("columns", [slice(0, 2), 0])
def test_another_number_of_outputs_is_refused(columns):
    with pytest.raises(ValueError, match=r"values: expected shape \(n, 3\)"):
        SURROGATE.condition(POINTS, VALUES[:, columns], SURROGATE.initial_state(), np.random.default_rng(0))


@pytest.mark.parametrize("numbers", [{"n_objectives": 0}, {"n_violations": -1}])
def test_numbers_of_outputs_are_checked(numbers):
    with pytest.raises(ValueError, match=next(iter(numbers))):
        Outputs(MODEL, MODEL, **numbers)


@dataclass(frozen=True)
class Noisy(Surrogate):
    """A surrogate that is told the noise."""

    known: tuple[float, ...] = ()

    def with_variances(self, variances):
        return Noisy(tuple(variances.tolist()))

    def initial_state(self):
        return None

    def condition(self, xs, values, state, rng):
        raise NotImplementedError


def test_noise_is_that_of_the_objective():
    told = Outputs(Noisy(), MODEL, 1, 1).with_variances(np.ones(2))
    assert (told.objective, told.violation) == (Noisy((1.0, 1.0)), MODEL)
