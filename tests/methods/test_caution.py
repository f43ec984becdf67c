"""Where many points fail, `auto` asks few that it believes to fail, and still finds the best that succeeds."""

from __future__ import annotations

import numpy as np

import bostruct as bo
from bostruct.contracts import Feasibility
from bostruct.searchers.scores import CAUTION, LOG_HALF, CautiousFeasibility

SPACE = {"threads": [1, 2, 4, 8, 16, 32], "width": range(8, 65, 8), "unroll": range(1, 5), "cache": bool}


def launch(point: dict[str, int]) -> float:
    """The more, the faster, until it does not fit: what does not is seen only by trying."""
    if point["threads"] * point["width"] > 128:
        raise bo.Infeasible("does not fit")
    return -np.log2(point["threads"]) - point["width"] / 16 - 0.3 * point["unroll"] * point["cache"]


class Given(Feasibility):
    """Chances that are the points themselves."""

    def log_probability(self, xs: np.ndarray) -> np.ndarray:
        return np.log(xs[:, 0])


def test_a_cautious_chance_lowers_those_below_a_half_alone_and_keeps_their_order() -> None:
    chances = np.array([[0.01], [0.3], [0.5], [0.9], [1.0]])
    lowered = CautiousFeasibility(Given()).log_probability(chances)
    np.testing.assert_allclose(lowered[2:], np.log(chances[2:, 0]))
    rounded_up = np.exp(-np.log(chances[:, 0]) * 1e-6) * chances[:, 0]  # of the same points in another batch
    bounds = CautiousFeasibility(Given()).log_probability_bound(chances)
    assert (bounds >= CautiousFeasibility(Given()).log_probability(rounded_up[:, None])).all()
    np.testing.assert_allclose(bounds, lowered, atol=0.1)
    np.testing.assert_allclose(lowered[:2], (1.0 + CAUTION) * np.log(chances[:2, 0]) - CAUTION * LOG_HALF)
    assert (np.diff(lowered) > 0.0).all()


def test_failures_are_few_where_the_best_lies_at_the_border() -> None:
    best = min(launch(p) for p in all_points() if p["threads"] * p["width"] <= 128)
    found = bo.minimize(launch, SPACE, 60, seed=0, progress=False)
    assert found.best_value == best
    share = np.mean([trial.status == "infeasible" for trial in found.trials[30:]])
    assert share <= 0.25  # 0.9 where what may be gained is weighed by the chance alone


def all_points() -> list[dict[str, int]]:
    space = bo.Space(SPACE)
    points = space.list_few(10_000)
    assert points is not None
    return [space.present(x) for x in points]
