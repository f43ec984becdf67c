"""Several trials asked for at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.searchers.baselines import RandomSearch

BITS = {name: bool for name in "abcdef"}
SPACE = bo.Space({"x": bo.Integer(0, 9)})


def value(point: dict[str, bool]) -> float:
    return sum(point.values()) - 2.0 * (point["a"] ^ point["b"])


def told(seed: int, **where: Any) -> bo.Study:
    study = bo.Study(BITS, seed=seed, **where)
    for _ in range(16):
        trial = study.ask()
        study.tell(trial, value(trial.point))
    return study


def test_a_batch_is_what_as_many_calls_return() -> None:
    batch, single = told(0).ask(6), [study.ask() for study in [told(0)] for _ in range(6)]
    assert [(t.number, t.point, t.status) for t in batch] == [(t.number, t.point, t.status) for t in single]
    assert len({str(t.point) for t in batch}) == 6


def test_a_batch_fits_the_model_once() -> None:
    batch = told(1).ask(6)
    fits = [trial.info["likelihoods"] for trial in batch if "likelihoods" in trial.info]
    assert len(fits) >= 4
    assert sum(n > 0 for n in fits) <= 1


def test_a_batch_is_on_disk_and_a_list_even_of_one(tmp_path: Path) -> None:
    with told(0, storage=tmp_path / "a.db") as study:
        assert isinstance(study.ask(), bo.Trial)
        (only,) = study.ask(1)
        batch = study.ask(3)
        with bo.Study.load(tmp_path / "a.db", read_only=True) as reader:
            running = [t.number for t in reader.trials if t.status == "running"]
    assert running == [16, only.number, *(t.number for t in batch)]
    with bo.Study.load(tmp_path / "a.db") as study:
        assert [trial.number for trial in study.ask(5)] == running  # they had not finished


def test_where_points_run_out_the_batch_is_shorter() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    assert [len(study.ask(n)) for n in (4, 4, 4)] == [4, 4, 2]
    with pytest.raises(bo.SpaceExhausted):
        study.ask(4)


@pytest.mark.parametrize("error", [KeyboardInterrupt, bo.BostructError])
def test_an_error_in_the_middle_gives_back_what_nobody_received(error: type[BaseException], monkeypatch: Any) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    kept = study.ask()
    suggest, calls = RandomSearch.suggest, []

    def interrupted(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 3:
            raise error
        return suggest(*given)

    monkeypatch.setattr(RandomSearch, "suggest", interrupted)
    with pytest.raises(error):
        study.ask(5)
    assert len(study.trials) == 3
    assert [trial.number for trial in study.ask(5)] == [1, 2, 3, 4, 5]
    study.tell(kept, 1.0)


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError), ("2", TypeError)])
def test_what_is_no_number_of_trials(n: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="n: expected"):
        bo.Study(SPACE, method="random", seed=0).ask(n)
