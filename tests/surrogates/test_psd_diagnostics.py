"""What is reported of Gram matrices that may be indefinite: closed forms, and a surrogate that is left as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bostruct.contracts import Kernel, Surrogate
from bostruct.surrogates.psd_diagnostics import PSDDiagnostics, psd_diagnostics


def pair(a: float, scale: float = 1.0) -> np.ndarray:
    """A Gram matrix of two points whose eigenvalues are 1 + a and 1 - a, times the scale."""
    return scale * np.array([[1.0, a], [a, 1.0]])


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize(("a", "share"), [(0.5, 0.0), (1.0, 0.0), (2.0, 0.25), (3.0, 1.0 / 3.0)])
def test_the_closed_form_of_two_points_in_units_of_the_diagonal(a, share, scale):
    found = psd_diagnostics([pair(a, scale)])
    assert found["smallest_eigenvalue"] == pytest.approx(1.0 - a, abs=1e-12)
    assert found["negative_share"] == pytest.approx(share, abs=1e-12)


def test_the_worst_of_several_matrices_is_reported():
    found = psd_diagnostics([pair(0.5), pair(3.0), pair(2.0)])
    assert (found["smallest_eigenvalue"], found["negative_share"]) == (pytest.approx(-2.0), pytest.approx(1.0 / 3.0))


@dataclass
class Similarity(Kernel):
    """Two points whose similarity is theta; counts how often it is prepared."""

    prepared: list[Any] = field(default_factory=list)

    def prepare(self, xs: Any, ys: Any = None) -> Any:
        self.prepared.append((xs, xs if ys is None else ys))
        return len(self.prepared)

    def gram(self, theta: np.ndarray, prepared: Any) -> np.ndarray:
        del prepared
        return pair(float(theta[0]))


class Sampled(Surrogate):
    """A surrogate whose posterior has a member for each of some thetas."""

    def __init__(self, *thetas: float) -> None:
        hypers = [SimpleNamespace(theta=np.array([theta])) for theta in thetas]
        self.posterior = SimpleNamespace(xs=["one", "two"], samples=[SimpleNamespace(hyper=hyper) for hyper in hypers])

    def initial_state(self) -> str:
        return "start"

    def condition(self, xs: Any, values: Any, state: Any, rng: Any) -> Any:
        del xs, values, rng
        return self.posterior, f"{state}, then", {"fit": "mode"}


def test_the_surrogate_is_left_as_it_is_and_each_of_its_samples_looked_at():
    inner, similarity = Sampled(0.5, 2.0), Similarity()
    surrogate: Any = PSDDiagnostics(inner, similarity)  # type: ignore[arg-type]
    xs = ["one", "two", "three, not learned from"]
    posterior, state, info = surrogate.condition(xs, np.zeros(2), surrogate.initial_state(), np.random.default_rng(0))
    assert posterior is inner.posterior
    assert state == "start, then"
    assert similarity.prepared == [(xs[:2], xs[:2])]
    assert info == {
        "fit": "mode",
        "smallest_eigenvalue": pytest.approx(-1.0),
        "negative_share": pytest.approx(0.25),
    }
