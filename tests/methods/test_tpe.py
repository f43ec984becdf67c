"""TPE as it is built: on named choices alone, and that it is worth running."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.language import D, SearchSpace, siso_module, substitution_module
from bostruct.methods.published import tpe
from bostruct.searchers.tpe import TPE
from tests.methods.mixed_space import NESTED, SPACE, nested_objective, objective


def test_it_is_the_searcher_with_its_defaults():
    pytest.importorskip("optuna")
    assert tpe(SPACE) == TPE(SPACE)


def test_it_beats_random_search():
    pytest.importorskip("optuna")
    ours, theirs = (
        [bo.minimize(objective, SPACE, 50, method=method, seed=s).best_value for s in range(4)]
        for method in ("tpe", "random")
    )
    assert np.mean(ours) < 0.6 * np.mean(theirs)


@pytest.mark.slow
def test_it_is_worth_running_on_a_space_with_another_space_and_a_program_inside():
    pytest.importorskip("optuna")
    ours, theirs = (
        [bo.minimize(nested_objective, NESTED, 60, method=method, seed=s, progress=False).best_value for s in (0, 2, 3)]
        for method in ("tpe", "random")
    )
    assert np.mean(ours) < 0.85 * np.mean(theirs)


def test_a_choice_may_have_as_many_values_as_another_choice_says():
    pytest.importorskip("optuna")

    def sized(chosen):
        return siso_module("Layer", {"size": D(list(range(chosen["n"])))})

    def layer():
        n = D([2, 3, 4], name="n")
        return substitution_module("Sized", sized, {"n": n}, ["in"], ["out"])

    result = bo.minimize(lambda p: float(len(str(p))), SearchSpace(layer), 9, method="tpe", seed=0, progress=False)
    assert len(result.trials) == 4  # all there are: nine traces, which differ in n alone where the size is the same


@pytest.mark.parametrize(
    ("domain", "part"),
    [
        (bo.mlp_domain(), "got ArchitectureDomain, which is no bostruct.contracts.TreeDomain"),
        (bo.Space({"a": bool, "net": bo.mlp_domain()}), "got ArchitectureDomain as the part 'net'"),
        (bo.joint_domain({"a": {"x": bool}, "b": bo.joint_domain({"c": bo.mlp_domain()})}), "as the part 'c'"),
    ],
)
def test_a_domain_without_named_decisions_is_refused(domain, part):
    with pytest.raises(DomainError, match=f"tpe needs a domain of decisions one after another.*{part}"):
        tpe(domain)
