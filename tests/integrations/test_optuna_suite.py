"""The suite of tests that Optuna has for samplers, on ours.

`SingleOnlySamplerTestCase` does not apply: it is for samplers that refuse several objectives, which every method of
bostruct serves.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase

from bostruct.integrations.optuna import BostructSampler


class TestBostructSampler(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: BostructSampler(seed=0)


class TestBostructSamplerWithAModelAtOnce(BasicSamplerTestCase, RelativeSamplerTestCase):
    """The suite asks for few trials, in which `auto` has no model yet; `tpe` does not wait, after its ten."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: BostructSampler(method="tpe", seed=0)
