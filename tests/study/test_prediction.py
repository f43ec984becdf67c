"""A study predicts any points, in the units and the direction of its user."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import BostructError, PointError
from bostruct.study.predictions import Predictions

SPACE = {f"b{i}": bool for i in range(6)}
POINTS = [{f"b{i}": bool(number >> i & 1) for i in range(6)} for number in range(64)]


def worth(point: dict[str, bool]) -> float:
    if point["b0"] and point["b1"]:
        raise bo.Infeasible("both")
    return 100.0 + sum(2.0**i * bit for i, bit in enumerate(point.values()))


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_means_are_in_the_users_units_and_chances_know_what_failed(tmp_path: Path, direction: str) -> None:
    with bo.Study(SPACE, seed=0, direction=direction, storage=tmp_path / "s.db") as study:
        study.optimize(worth, 40, progress=False)
        found = study.predict(POINTS)
        assert isinstance(found, Predictions)
        assert study.predict(POINTS).mean.tolist() == found.mean.tolist()
    fine = np.array([not (point["b0"] and point["b1"]) for point in POINTS])
    truth = np.array([100.0 + sum(2.0**i * bit for i, bit in enumerate(p.values())) for p in POINTS])
    assert np.corrcoef(found.mean[fine], truth[fine])[0, 1] > 0.97
    assert np.abs(found.mean[fine] - truth[fine]).mean() < 8.0
    assert found.chance[~fine].max() < found.chance[fine].min()
    assert (found.sd >= 0.0).all()
    told = {tuple(trial.point.values()) for trial in study.trials if trial.status == "completed"}
    seen = np.array([tuple(point.values()) in told for point in POINTS])
    assert found.sd[seen & fine].mean() < found.sd[~seen & fine].mean()
    with bo.Study.load(tmp_path / "s.db", read_only=True) as again:
        assert again.predict(POINTS[:3]).mean == pytest.approx(found.mean[:3])


def test_what_cannot_be_predicted_is_refused() -> None:
    study = bo.Study(SPACE, seed=0)
    with pytest.raises(BostructError, match="predict: expected at least one completed trial, got none"):
        study.predict(POINTS[:2])
    with pytest.raises(PointError, match=r"^points\[1\]: "):
        study.predict([POINTS[0], {"b0": 3}])
    with pytest.raises(TypeError, match="points: expected a sequence of points"):
        study.predict(POINTS[0])
    simple = bo.Study(SPACE, method="random", seed=0)
    simple.tell(simple.ask(), 1.0)
    with pytest.raises(BostructError, match=r"predict: random has no model of the objective"):
        simple.predict(POINTS[:2])
    for method in ("combo", "smac"):
        front = bo.Study(SPACE, method=method, seed=0, directions=["minimize", "minimize"])
        front.tell(front.ask(), (1.0, 2.0))
        with pytest.raises(BostructError, match=f"predict: {method} has no model of each of 2 objectives; auto has"):
            front.predict(POINTS[:2])


def test_several_objectives_and_limits_are_predicted_together() -> None:
    def both(point: dict[str, bool]) -> dict[str, object]:
        total = float(sum(point.values()))
        return {"value": (total, 50.0 + 3.0 * point["b0"] - total), "constraints": {"w": total}}

    limits = {"w": ("<=", 3.5)}
    study = bo.Study(SPACE, seed=2, directions=["minimize", "maximize"], constraints=limits)
    study.optimize(both, 30, progress=False)
    found = study.predict(POINTS)
    totals = np.array([float(sum(point.values())) for point in POINTS])
    assert found.mean.shape == found.sd.shape == (64, 2)
    assert np.abs(found.mean[:, 0] - totals).mean() < 0.5
    assert np.corrcoef(found.mean[:, 1], [50.0 + 3.0 * p["b0"] - sum(p.values()) for p in POINTS])[0, 1] > 0.9
    assert found.chance[totals >= 5.0].max() < 0.2 < 0.8 < found.chance[totals <= 2.0].min()


@pytest.mark.parametrize("method", ["combo", "smac"])
def test_methods_without_a_model_of_limits_recommend_what_keeps_them_and_refuse_to_predict(method: str) -> None:
    def limited(point: dict[str, bool]) -> dict[str, object]:
        total = float(sum(point.values()))
        return {"value": -total, "constraints": {"w": total}}

    study = bo.Study({f"b{i}": bool for i in range(4)}, seed=0, method=method, constraints={"w": ("<=", 2.0)})
    study.optimize(limited, 14, progress=False)
    found = study.result.recommended
    assert found.trial.value == -2.0
    assert found.mean == pytest.approx(-2.0, abs=0.3)  # and not of a penalty
    with pytest.raises(BostructError, match=r"predict: .*does not model outcome constraints"):
        study.predict([study.best_point])


@pytest.mark.parametrize("k", [1, 2])
def test_no_points_have_no_predictions(k: int) -> None:
    study = bo.Study(SPACE, seed=0, directions=["minimize"] * k)
    for number in range(12):
        values = (float(number), -float(number))
        study.tell(study.ask(), values if k == 2 else values[0])
    found = study.predict([])
    shape = (0,) if k == 1 else (0, 2)
    assert (found.mean.shape, found.sd.shape, found.chance.shape) == (shape, shape, (0,))


def test_a_result_predicts_what_its_study_does_and_no_pickle_holds_the_model() -> None:
    result = bo.minimize(lambda point: float(sum(point.values())), SPACE, n_trials=8, seed=0, progress=False)
    assert result.predict(POINTS[:4]).mean.shape == (4,)
    with pytest.raises(BostructError, match=r"predict: the result has no model: it was pickled"):
        pickle.loads(pickle.dumps(result)).predict(POINTS[:4])


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_values_are_predicted_without_themselves_in_the_users_units(direction: str) -> None:
    study = bo.Study(SPACE, seed=0, direction=direction)
    study.optimize(worth, 30, progress=False)
    found = study.result.cross_validate()
    completed = study.result.list_completed()
    assert found.numbers.tolist() == [trial.number for trial in completed]
    assert found.observed.tolist() == pytest.approx([trial.value for trial in completed])
    assert np.corrcoef(found.observed, found.mean)[0, 1] > 0.9  # additive: easy to learn
    assert found.residuals == pytest.approx((found.observed - found.mean) / found.sd)
    assert found.coverage(0.95) == np.mean(np.abs(found.residuals) < 1.959964)


def test_each_objective_is_validated_and_limits_are_kept_apart() -> None:
    def both(point: dict[str, bool]) -> dict[str, object]:
        total = float(sum(point.values()))
        return {"value": (total, 10.0 - 3.0 * total), "constraints": {"first": float(point["b0"])}}

    study = bo.Study(SPACE, seed=0, directions=["minimize", "maximize"], constraints={"first": ("<=", 0.5)})
    study.optimize(both, 12, progress=False)
    second = study.result.cross_validate(1)
    assert second.observed.tolist() == pytest.approx([trial.values[1] for trial in study.result.list_completed()])
    with pytest.raises(ValueError, match="objective: expected"):
        study.result.cross_validate(2)


def test_what_cannot_be_validated_is_refused() -> None:
    for method, why in (
        ("random", "has no Gaussian process"),
        ("smac", "expected a method with a Gaussian process, such as auto"),
    ):
        study = bo.Study(SPACE, method=method, seed=0)
        study.optimize(lambda point: float(sum(point.values())), 4, progress=False)
        with pytest.raises(
            BostructError, match=f"cross_validate: .*{why}" if method == "smac" else f"cross_validate: {method} {why}"
        ):
            study.result.cross_validate()
    study = bo.Study(SPACE, seed=0)
    study.tell(study.ask(), 1.0)
    with pytest.raises(BostructError, match="expected at least 3 completed trials, got 1"):
        study.result.cross_validate()
