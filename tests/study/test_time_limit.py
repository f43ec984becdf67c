"""What is on record of the last suggestions, and nothing else, decides how the next one is made."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.searchers.baselines import RandomSearch
from bostruct.study.history import Trial
from bostruct.study.suggestion import PATIENCE, choose_halvings

SLOW, LIMIT = 0.8, 0.7  # seconds, which no other suggestion takes on a busy machine
SPACE = bo.Space({f"x{i}": bool for i in range(10)})


def trials(*told: tuple[float, int], origin: str = "model") -> list[Trial]:
    """Return trials by the seconds and the n_halvings of each, the last one first."""
    rows = [{"origin": origin, "suggest_seconds": taken, "haste": n_halvings} for taken, n_halvings in told]
    return [Trial(number, {}, "running", info=info) for number, info in enumerate(rows)][::-1]


@pytest.mark.parametrize(
    ("told", "n_halvings"),
    [
        ([], 0),
        ([(0.5, 0)], 0),
        ([(1.5, 0)], 0),  # a single one may be late for another reason
        ([(1.5, 0), (1.5, 0)], 1),
        ([(1.5, 0), *[(0.5, 0)] * (PATIENCE - 2), (1.5, 0)], 1),
        ([(1.5, 0), *[(0.5, 0)] * (PATIENCE - 1), (1.5, 0)], 0),
        ([(1.5, 0), (1.5, 1)], 1),
        ([(1.5, 0), (1.5, 1), (1.5, 1)], 2),
        ([(1.5, 0), (0.5, 1)], 1),
        ([(1.5, 1), *[(0.5, 2)] * (PATIENCE - 1)], 2),
        ([(1.5, 1), *[(0.5, 2)] * PATIENCE], 1),
        ([*[(0.5, 2)] * PATIENCE, (1.5, 1), (1.5, 1)], 2),
        ([(0.5, 0)] * 50, 0),
        ([(9.0, 4)] * 2, 5),
        ([(9.0, 5)] * 2, 5),  # nothing takes less time
    ],
)
def test_a_suggestion_that_took_too_long_makes_the_next_one_cheaper(told: Any, n_halvings: int) -> None:
    assert choose_halvings(trials(*told), 1.0, 1_000) == n_halvings


def test_points_that_no_model_chose_do_not_count() -> None:
    late = trials((1.5, 0), (1.5, 0))
    joint = [Trial(9, {}, "running", info={"origin": "model", "suggest_seconds": 0.1, "joint": 1})]
    assert choose_halvings([*trials((0.1, 0), origin="initial"), *joint, *late], 1.0, 1_000) == 1
    assert choose_halvings(late, None, 1_000) == 0


@dataclass(frozen=True)
class Slow(RandomSearch):
    """Random search that takes long from 60 values on."""

    def suggest(self, history: Any, state: Any, rng: Any) -> Any:
        time.sleep(SLOW if len(history.values) >= 60 else 0.0)
        return RandomSearch.suggest(self, history, state, rng)


def run(study: bo.Study, n: int) -> None:
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, float(sum(trial.point.values())))


def test_a_study_is_in_haste_once_it_is_slow_and_tries_again_later() -> None:
    study = bo.Study(SPACE, method=Slow(SPACE), seed=0, suggest_seconds=LIMIT)
    run(study, 63 + PATIENCE)
    n_halvings = [trial.info.get("haste", 0) for trial in study.trials]
    assert n_halvings[:62] == [0] * 62  # the last two of these were the first to see 60 values
    assert n_halvings[62 : 62 + PATIENCE] == [1] * PATIENCE
    assert n_halvings[62 + PATIENCE] == 0
    assert study.trials[62].info["learned_from"] == 0


def test_a_resumed_study_goes_on_in_the_haste_that_is_on_record(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.db", tmp_path / "b.db"
    arguments: dict[str, Any] = {"method": Slow(SPACE), "suggest_seconds": LIMIT}
    with bo.Study(SPACE, seed=0, storage=path, **arguments) as study:
        run(study, 70)
        shutil.copy(path, copy)
        went_on = study.ask()
    with bo.Study(SPACE, storage=copy, **arguments) as study:
        resumed = study.ask()
    assert resumed.info["haste"] == went_on.info["haste"] == 1
    assert (resumed.point, resumed.info["origin"]) == (went_on.point, went_on.info["origin"])


def test_the_seconds_are_part_of_the_study(tmp_path: Path) -> None:
    with bo.Study(SPACE, seed=0, method="random", storage=tmp_path / "a.db", suggest_seconds=2.0):
        pass
    with bo.Study.load(tmp_path / "a.db") as study:
        assert study.goals.suggest_seconds == 2.0
    with bo.Study(SPACE, method="random", storage=tmp_path / "a.db") as study:  # what is left unsaid agrees
        assert study.goals.suggest_seconds == 2.0
    with pytest.raises(bo.BostructError, match="suggest_seconds"):
        bo.Study(SPACE, method="random", storage=tmp_path / "a.db", suggest_seconds=3.0)


def test_seconds_below_a_millisecond_are_refused() -> None:
    with pytest.raises(ValueError, match="suggest_seconds: expected"):
        bo.Study(SPACE, suggest_seconds=0.0)
