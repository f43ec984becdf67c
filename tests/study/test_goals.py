"""A study of limits and of several objectives: what is told is kept, and the best is the best that is allowed."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.cli.studies import _study_facts
from bostruct.contracts import BostructError
from bostruct.goals import declared
from bostruct.goals.declared import Goals
from bostruct.outcome import Outcome
from bostruct.storage.protocol import StudyLocked, StudyMismatch
from bostruct.study import Patience, TargetValue
from bostruct.study.space_changes import SpaceChanged
from tests.permutations import Permutations

SPACE = {"a": range(8), "b": range(4)}
LIMIT = {"w": ("<=", 6.0)}


def heavy(point: dict[str, int]) -> dict[str, object]:
    return {"value": -float(point["a"] + point["b"]), "constraints": {"w": float(point["a"])}}


def both(point: dict[str, int]) -> tuple[float, float]:
    return float(point["a"]), float(point["a"] + point["b"])


def test_the_best_trial_is_the_best_that_keeps_the_limits(tmp_path: Path) -> None:
    found = bo.minimize(heavy, SPACE, 32, method="random", seed=0, constraints=LIMIT, storage=tmp_path / "s.db")
    assert found.best_point == {"a": 6, "b": 3}
    assert found.best_trial.constraints == {"w": 6.0}
    broken = [trial for trial in found.trials if trial.point["a"] == 7]
    assert all(trial.broken == ("w",) and not trial.is_feasible and trial.value is not None for trial in broken)
    assert len(broken) == 4
    with bo.Study.load(tmp_path / "s.db", read_only=True) as study:
        assert [(t.value, t.constraints, t.broken) for t in study.trials] == [
            (t.value, t.constraints, t.broken) for t in found.trials
        ]
        assert study.incumbent == found.best_trial
    assert min(step.best_value for step in found.incumbents if step.best_value is not None) == -9.0


def test_where_no_trial_keeps_the_limits_the_nearest_is_named() -> None:
    found = bo.minimize(heavy, SPACE, 5, method="random", seed=0, constraints={"w": ("<=", -1.0)})
    with pytest.raises(
        BostructError, match=r"no trial satisfies all constraints: w <= -1; the nearest of 5 completed trials"
    ):
        _ = found.best_trial
    with pytest.raises(BostructError, match="no trial satisfies all constraints"):
        _ = found.recommended
    assert "none satisfies all constraints" in repr(found)
    assert found.hypervolume() == 0.0


def test_a_front_holds_what_nothing_else_dominates() -> None:
    found = bo.minimize(both, SPACE, 32, method="random", seed=0, directions=["minimize", "maximize"])
    assert [trial.values for trial in found.pareto_front] == [(float(a), float(a + 3)) for a in range(8)]
    assert all(trial.value is None for trial in found.trials)
    volumes = found.hypervolumes(reference=(8.0, 0.0))
    assert volumes[-1] == found.hypervolume(reference=(8.0, 0.0)) == sum(a + 3 for a in range(8))
    assert (np.diff(volumes) >= 0).all()
    assert "8 trials that no other trial dominates (minimize, maximize)" in repr(found)
    for name in ("best_trial", "recommended", "incumbents", "best_value", "best_point"):
        with pytest.raises(BostructError, match=rf"^{name}: the study has 2 objectives, see pareto_front"):
            getattr(found, name)
    with pytest.raises(TypeError, match="reference: expected 2 numbers"):
        found.hypervolume(reference=(8.0,))


def test_a_study_has_the_front_that_its_refusals_name() -> None:
    study = bo.Study(SPACE, method="random", seed=0, directions=["minimize", "maximize"])
    with pytest.raises(BostructError, match="no trial has completed"):
        _ = study.pareto_front
    for values in ((1.0, 1.0), (2.0, 0.0), (0.0, 0.5)):
        study.tell(study.ask(), values)
    assert study.pareto_front == study.result.pareto_front == (study.trials[2], study.trials[0])
    for name in ("best_trial", "best_value", "best_point"):
        with pytest.raises(BostructError, match=rf"^{name}: the study has 2 objectives, see pareto_front"):
            getattr(study, name)


@pytest.mark.parametrize("goals", [{"constraints": LIMIT}, {"directions": ["minimize", "maximize"]}])
def test_a_study_with_goals_goes_on_where_it_was(tmp_path: Path, goals: dict[str, Any]) -> None:
    objective = heavy if "constraints" in goals else both
    whole = bo.minimize(objective, SPACE, 20, seed=1, **goals)
    for n_trials in (12, 20):
        again = bo.minimize(objective, SPACE, n_trials, seed=1, storage=tmp_path / "s.db", **goals)
    assert [t.point for t in again.trials] == [t.point for t in whole.trials]
    with pytest.raises(StudyMismatch, match="with other goals"):
        bo.Study(SPACE, seed=1, storage=tmp_path / "s.db")


def test_an_objective_that_forgets_a_limit_is_mistaken() -> None:
    study = bo.Study(SPACE, seed=0, constraints=LIMIT)
    with pytest.raises(bo.ObjectiveError, match=r"expected a number for 'w', on which the study has a limit"):
        study.optimize(lambda point: float(point["a"]), 5)
    assert len(study.trials) == 1  # an evaluation may take hours


def test_noise_is_told_and_kept(tmp_path: Path) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "s.db") as study:
        study.tell(study.ask(), 1.5, sd=0.25)
        study.tell(study.ask(), repeats=[1.0, 2.0])
        assert study.ask().number == 2
    with bo.Study.load(tmp_path / "s.db", read_only=True) as study:
        first, second, _ = study.trials
        assert (first.value, first.sd, second.value, second.repeats) == (1.5, 0.25, 1.5, (1.0, 2.0))


def test_a_prior_is_refused_where_there_are_other_goals() -> None:
    earlier = bo.minimize(lambda point: float(point["a"]), SPACE, 5, method="random")
    with pytest.raises(bo.DomainError, match="learns from prior=, such as auto on a Space, got evolution on Space"):
        bo.Study(SPACE, method="evolution", prior=[earlier])
    with pytest.raises(ValueError, match="prior: expected none for a study of several objectives"):
        bo.Study(SPACE, prior=[earlier], constraints=LIMIT)


def test_a_point_may_be_asked_for_again_where_that_was_asked_for(tmp_path: Path) -> None:
    def noisy(point: dict[str, bool]) -> float:
        return sum(0.3 * (i + 1) * bit for i, bit in enumerate(point.values())) + 3.0 * float(rng.normal())

    bits, n_asked_again = {f"b{i}": bool for i in range(8)}, 0
    for seed in (3, 4, 5):  # versions of Python round the sums of a run otherwise
        rng, file = np.random.default_rng(seed), tmp_path / "s.db"
        file.unlink(missing_ok=True)
        found = bo.minimize(noisy, bits, 24, seed=seed, repeats="auto", storage=file)
        again = [trial for trial in found.trials if trial.origin == "repeat"]
        assert all(any(trial.point == one.point for one in found.trials[: trial.number]) for trial in again)
        n_asked_again += bool(again)
    assert n_asked_again >= 2
    with bo.Study.load(tmp_path / "s.db") as study:
        assert study.goals.repeats
        trial = study.ask()
        assert trial.number == 24
    with pytest.raises(StudyMismatch, match=r"goals\.repeats is 'auto' there and missing here"):
        bo.Study(bits, seed=5, storage=tmp_path / "s.db")
    for method in ("random", "evolution", "wrs", "smac", "tpe", "bocs"):
        with pytest.raises(bo.DomainError, match=f"repeats: {method} never suggests an observed point; methods with a"):
            bo.Study(SPACE, method=method, repeats="auto")
    with pytest.raises(bo.DomainError, match="repeats: RandomSearch never suggests an observed point"):
        bo.Study(SPACE, method=methods.random(bo.Space(SPACE)), repeats="auto")
    with pytest.raises(bo.DomainError, match=r"repeats: auto \(random search, because .*\) never suggests"):
        bo.Study(Permutations(4), repeats="auto")
    with pytest.raises(ValueError, match="repeats: expected None for several objectives, and with constraints"):
        bo.Study(SPACE, repeats="auto", constraints=LIMIT)
    with pytest.raises(ValueError, match=r"repeats: expected one of None, auto; got 'none'\. Did you mean None\?$"):
        bo.Study(SPACE, repeats="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"repeats: expected one of None, auto; got True$"):
        bo.Study(SPACE, repeats=True)  # type: ignore[arg-type]


def test_repeats_of_several_objectives_are_refused_as_noise() -> None:
    study = bo.Study(SPACE, method="random", seed=0, directions=["minimize", "minimize"])
    trial = study.ask()
    for told in ({"repeats": [1.0, 2.0]}, {"value": (1.0, 2.0), "sd": 0.1}):
        with pytest.raises(TypeError, match=r"^sd, repeats: expected none for several objectives"):
            study.tell(trial, **told)  # type: ignore[arg-type]


def test_noise_whose_variance_is_not_finite_is_refused_and_in_a_file_read(tmp_path, monkeypatch):
    where = tmp_path / "a.db"
    with bo.Study(SPACE, seed=0, storage=where) as study:
        for trial in [study.ask() for _ in range(4)]:
            study.tell(trial, float(trial.number), sd=0.1)
        with pytest.raises(ValueError, match="sd: expected a number whose square is finite"):
            study.tell(study.ask(), 1.0, sd=1e200)
        monkeypatch.setattr(Goals, "check", Goals.check_stored)  # as the file could be written
        study.tell(4, 1.0, sd=1e200)
    with bo.Study.load(where) as again:
        assert again.trials[4].sd == 1e200
        for _ in range(8):
            again.tell(again.ask(), 1.0)


def test_repeats_as_far_apart_as_floats_go_leave_a_study_to_go_on() -> None:
    study = bo.Study(SPACE, seed=0)
    for _ in range(12):
        study.tell(study.ask(), repeats=[-1e308, 1e308, 0.0])
    largest = np.finfo(np.float64).max
    assert study.tell(study.ask(), repeats=[largest] * 3).value == largest
    study.ask()


def test_trials_of_another_space_are_on_no_front(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = tmp_path / "s.db"
    goals: dict[str, Any] = {"directions": ["minimize", "minimize"], "method": "random", "seed": 0, "storage": where}
    with bo.Study({"a": ["u", "v"]}, **goals) as study:
        study.optimize(lambda _: (1.0, 2.0), 2)
    with pytest.warns(SpaceChanged):
        study = bo.Study({"a": range(40)}, **goals)
    with study:
        assert not study.result.has_feasible

        def fail(_: object) -> None:
            raise bo.Infeasible("always")

        result = study.optimize(fail, 9, callbacks=Patience(3), progress=True)
        assert result.stopped_because == "the last 3 trials have all failed or been infeasible"
        assert _study_facts(study, result)["front"] == []
        study.add({"a": 3}, (1.0, 1.0))
        assert study.result.has_feasible
    assert "best none yet" in capsys.readouterr().err


def test_a_target_value_of_several_objectives_is_refused() -> None:
    def never(_: object) -> tuple[float, float]:
        raise AssertionError("a trial was paid for")

    with pytest.raises(BostructError, match="TargetValue: expected a study of one objective, got 2"):
        bo.minimize(never, SPACE, 3, method="random", directions=["minimize", "minimize"], callbacks=TargetValue(1.0))


def test_what_a_user_does_to_measured_numbers_changes_no_file(tmp_path: Path) -> None:
    study = bo.Study(SPACE, method="random", seed=0, constraints=LIMIT)
    own = {"w": 1.0}
    told = Outcome((1.0,), constraints=own)
    shown = study.tell(study.ask(), told)
    assert isinstance(shown.constraints, dict)
    shown.constraints["w"] = own["w"] = 99.0
    study.save(tmp_path / "s.db")
    with bo.Study.load(tmp_path / "s.db", read_only=True) as stored:
        assert stored.trials[0].constraints == {"w": 1.0}
    assert pickle.loads(pickle.dumps(told)) == told
    assert hash(told) == hash(Outcome((1.0,), constraints={"w": 1.0}))


def test_limits_in_another_order_are_the_same_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[str, tuple[str, float]] = {"w": ("<=", 6.0), "c": (">=", 1.0)}
    known: dict[str, Any] = {"method": "random", "seed": 0, "storage": tmp_path / "s.db"}
    with monkeypatch.context() as patch:  # as files were written before limits had an order of their own
        patch.setattr(declared, "sorted", lambda limits, **_: limits, raising=False)
        with bo.Study(SPACE, **known, constraints=limits) as study:
            assert [limit.name for limit in study.goals.limits] == ["w", "c"]
            study.tell(study.ask(), {"value": 1.0, "constraints": {"w": 7.0, "c": 0.0}})
    for again in (limits, dict(reversed(limits.items()))):
        with bo.Study(SPACE, **known, constraints=again) as study:
            assert study.trials[0].broken == ("c", "w")
    with pytest.raises(StudyMismatch, match=r"goals.constraints.w"):
        bo.Study(SPACE, **known, constraints=limits | {"w": ("<=", 7.0)})


def test_a_limit_as_far_as_floats_go_leaves_a_study_to_go_on() -> None:
    study = bo.Study(SPACE, seed=0, constraints={"w": ("<=", -1e308)})
    for number in range(12):
        study.tell(study.ask(), float(number), constraints={"w": 1e308 if number % 2 else -1.5e308})
    assert study.best_value == 0.0
    assert study.ask().origin == "model"


def test_a_named_objective_names_axes_and_tables_and_is_renamed_by_a_resume(tmp_path: Path) -> None:
    file, space = tmp_path / "s.db", {"x": range(6)}
    call = {"storage": file, "seed": 0, "method": "random", "progress": False}
    found = bo.minimize(lambda p: float(p["x"]), space, 3, objective_name="error", **call)  # type: ignore[arg-type]
    assert "minimize error" in repr(found)
    assert found.plot().get_ylabel().startswith("error (minimized)")
    bo.minimize(lambda p: float(p["x"]), space, 4, **call)  # type: ignore[arg-type]
    with bo.Study.load(file) as study:
        assert (study.goals.names, len(study.trials)) == (("error",), 4)
    with (
        bo.Study(space, objective_name="error", method="random", storage=file),
        pytest.raises(StudyLocked, match="while it is open"),
    ):
        bo.Study(space, objective_name="loss", method="random", storage=file)
    again = bo.minimize(lambda p: float(p["x"]), space, 5, objective_name="loss", **call)  # type: ignore[arg-type]
    assert [trial.value for trial in again.trials[:3]] == [trial.value for trial in found.trials]
    with bo.Study.load(file, read_only=True) as study:
        assert study.goals.name_objective(0) == "loss"
        stored = study.goals.to_json()
    assert Goals.from_json({**stored, "objective_name": [" "]}).names == ()  # of an earlier revision


def test_objectives_have_a_name_each_or_none() -> None:
    study = bo.Study(SPACE, directions=["minimize", "maximize"], objective_name=["cost", "gain"])
    assert str(study.goals) == "minimize cost, maximize gain"
    assert bo.Study(SPACE, directions=["minimize", "maximize"]).goals.name_objective(1) == "objective 1"
    for given in ("cost", ["cost"], ["cost", ""], ["cost", " \n"], ["cost", 3]):
        with pytest.raises(
            TypeError, match=r"objective_name: expected a list of 2 strings of 1 to 100 characters, not blank"
        ):
            bo.Study(SPACE, directions=["minimize", "maximize"], objective_name=given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="objective_name: expected distinct names"):
        bo.Study(SPACE, directions=["minimize", "maximize"], objective_name=["cost", "cost"])


def test_an_objective_without_a_name_has_that_of_its_function(tmp_path: Path) -> None:
    def seconds(point: Any, scale: float = 1.0) -> float:
        return scale * float(point["x"])

    file, space = tmp_path / "s.db", {"x": range(6)}
    call: dict[str, Any] = {"storage": file, "seed": 0, "method": "random", "progress": False}
    found = bo.minimize(partial(seconds, scale=2.0), space, 2, **call)
    assert found.plot().get_ylabel().startswith("seconds (minimized)")
    assert found.to_dataframe()["value"].tolist() == [trial.value for trial in found.trials]
    with bo.Study.load(file, read_only=True) as study:
        assert study.goals.names == ("seconds",)
    with bo.Study(space, storage=file, seed=0, method="random"):  # a writer, beside which nothing is renamed
        assert bo.minimize(lambda p: float(p["x"]), space, 3, **call).goals.names == ("seconds",)
    study = bo.Study(space, method="random")
    assert (study.optimize(seconds, 2).goals.names, bo.Problem(seconds, space).goals.names) == (("seconds",),) * 2
    compared = bo.compare(bo.Problem(seconds, space), "random", n_trials=3, seeds=2, progress=False)
    assert compared.plot().get_ylabel().startswith("best seconds (minimized)")


@pytest.mark.parametrize("name", ["f", "f1", "<lambda>", "objective", "my_objective", "train", "n" * 101])
def test_a_general_name_of_a_function_names_no_axis(name: str) -> None:
    def seconds(point: Any) -> float:
        return float(point["x"])

    seconds.__name__ = name
    assert bo.minimize(seconds, {"x": range(6)}, 1, seed=0).goals.names == ()
    two = declared.declare_goals("minimize", ["minimize"] * 2)
    assert two.named_after(heavy) is two
