"""TPE as it is built: a Space alone, and that it is worth running."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.methods.tpe import tpe
from bostruct.searchers.tpe import TPE
from tests.methods.mixed_space import SPACE, objective


def test_it_is_the_searcher_with_its_defaults():
    pytest.importorskip("optuna")
    assert tpe(SPACE) == TPE(SPACE)


def test_it_beats_random_search():
    pytest.importorskip("optuna")
    ours = [bo.minimize(objective, SPACE, 50, method="tpe", seed=s).best_value for s in range(4)]
    theirs = [bo.minimize(objective, SPACE, 50, method="random", seed=s).best_value for s in range(4)]
    assert np.mean(ours) < 0.6 * np.mean(theirs)


@pytest.mark.parametrize("domain", [bo.mlp_domain(), bo.joint_domain({"a": {"x": bool}, "b": {"y": bool}})])
def test_a_domain_that_is_no_space_is_refused(domain):
    with pytest.raises(DomainError, match="tpe needs a Space, got"):
        tpe(domain)
