"""A study that was interrupted anywhere goes on as if it had not been."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import BostructError, DomainError, Searcher, Suggestion
from bostruct.searchers.baselines import RandomSearch
from bostruct.storage.sqlite import SqliteStorage
from tests.programs import finish, start

SPACE = bo.Space({"a": bo.Categorical(["x", "y", "z"]), "b": bo.Binary(), "c": bo.Integer(1, 4)})
N = 9


@dataclass(frozen=True)
class Remembering(Searcher):
    """Everything that it has seen changes its state, and its state chooses its points."""

    domain: bo.Space

    def settings(self):
        return {"kind": "remembering"}

    def initial_state(self):
        return {"sum": 0.1, "draws": []}

    def suggest(self, history, state, rng):
        total = state["sum"] * 1.1 + sum((i + 1) * v for i, v in enumerate(history.values)) / 3 + len(history.running)
        mixed = np.random.default_rng([abs(hash(total)) % 2**32, int(rng.integers(2**31))])
        x = self.domain.sample_unseen(history.seen, mixed)
        return Suggestion(x, {"sum": total, "draws": [*state["draws"], float(rng.random())]}, {"origin": "model"})


def objective(point):
    if point["c"] == 3:
        raise ValueError("three")
    return "xyz".index(point["a"]) / 7 + np.pi * point["b"] + point["c"]


def open_study(path, **given):
    return bo.Study(SPACE, **({"method": Remembering(SPACE), "seed": 4, "storage": path} | given))


def what_happened(study):
    """All but clocks."""
    return [
        replace(t, info={k: v for k, v in t.info.items() if k != "suggest_seconds"}, started=0.0, finished=None)
        for t in study.trials
    ], study._ledger.state


@pytest.fixture(scope="module")
def uninterrupted():
    study = open_study(None)
    study.optimize(objective, N)
    return what_happened(study)


@pytest.mark.parametrize("cut", range(N))
@pytest.mark.parametrize("asked", [False, True], ids=["after tell", "after ask"])
def test_resume_equals_uninterrupted(file, uninterrupted, cut, asked):
    with open_study(file) as study:
        study.optimize(objective, cut)
        if asked:
            study.ask()
    with open_study(file) as study:
        study.optimize(objective, N)
        assert what_happened(study) == uninterrupted


def test_reopening_at_every_step_equals_uninterrupted(tmp_path, uninterrupted):
    for n in range(1, N + 1):
        with open_study(tmp_path / "runs.db") as study:
            study.optimize(objective, n)
    with open_study(tmp_path / "runs.db") as study:
        assert what_happened(study) == uninterrupted


def test_the_one_call_made_again_does_nothing_more(tmp_path):
    calls = []

    def counted(point):
        calls.append(point)
        return 1.0

    arguments = {"method": "random", "seed": 1, "storage": tmp_path / "runs.db"}
    first = bo.minimize(counted, SPACE, 5, **arguments)
    second = bo.minimize(counted, SPACE, 5, **arguments)
    assert len(calls) == 5
    assert [t.point for t in first.trials] == [t.point for t in second.trials]
    bo.minimize(counted, SPACE, 7, **arguments)
    assert len(calls) == 7


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_interleaving_of_asks_tells_and_reopenings_keeps_all(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("study") / "runs.db"
    kept, live = open_study(path, method="random"), open_study(None, method="random")
    for _ in range(data.draw(st.integers(1, 12))):
        running = [t.number for t in live.trials if t.status == "running"]
        step = data.draw(st.sampled_from(["ask", "tell", "reopen"] if running else ["ask"]))
        if step == "ask":
            assert kept.ask().point == live.ask().point
        elif step == "tell":
            number, told = data.draw(st.sampled_from(running)), data.draw(st.floats(allow_nan=True))
            kept.tell(number, told)
            live.tell(number, told)
        else:
            kept.close()
            kept = bo.Study.load(path)
            for number in running:  # reopened, a study hands its running trials out again
                assert kept.ask().number == number
    assert what_happened(kept) == what_happened(live)
    assert kept.result.order == live.result.order
    kept.close()


def test_a_study_loads_without_being_described_again(tmp_path):
    path = tmp_path / "runs.db"
    with bo.Study(SPACE, method="random", seed=2**80, direction="maximize", storage=path, name="mine") as study:
        study.optimize(objective, 4)
        before = study.trials
    with bo.Study.load(path) as study:
        assert (study.name, study.seed, study.direction) == ("mine", 2**80, "maximize")
        assert study.trials == before
        assert study.domain == SPACE


def test_spaces_with_rules_are_passed_again_to_go_on_and_not_to_be_read(tmp_path):
    path = tmp_path / "runs.db"
    space = bo.Space({"a": bo.Integer(0, 3), "f": [len, abs]}, constraints=[lambda p: p["a"] < 3])
    with bo.Study(space, method="random", seed=0, storage=path) as study:
        study.optimize(lambda p: p["f"]([]) if p["f"] is len else p["a"], 4)
        points = [t.point for t in study.trials]
    with pytest.raises(DomainError, match=r"pass the space to Study\.load as space="):
        bo.Study.load(path)
    with bo.Study.load(path, space=space) as study:
        assert [t.point for t in study.trials] == points
    with bo.Study.load(path, read_only=True) as study:
        assert [t.point["a"] for t in study.trials] == [p["a"] for p in points]


def test_initial_points_not_yet_asked_are_asked_after_loading(tmp_path):
    path = tmp_path / "runs.db"
    first = [{"a": "z", "b": True, "c": c} for c in (4, 2, 1)]
    with open_study(path, method="random", initial_points=first) as study:
        study.tell(study.ask(), 1.0)
    with bo.Study.load(path) as study:
        study.add(first[1], 2.0)
        assert study.ask().point == first[2]
        assert study.ask().origin == "random"


def test_a_method_is_the_same_by_name_and_as_an_object(tmp_path):
    path = tmp_path / "runs.db"
    open_study(path, method="random").close()
    open_study(path, method=RandomSearch(SPACE)).close()
    with bo.Study.load(path) as study:
        assert study.result.method == "random"


def test_a_method_that_was_an_object_is_passed_again(tmp_path, uninterrupted):
    path = tmp_path / "runs.db"
    with open_study(path) as study:
        study.optimize(objective, 3)
    with pytest.raises(BostructError, match="created with a Remembering object"):
        bo.Study.load(path)
    with bo.Study.load(path, method=Remembering(SPACE)) as study:
        study.optimize(objective, N)
        assert what_happened(study) == uninterrupted


CRASH = """
study = bo.Study(bo.Space({"a": bo.Integer(1, 9)}), method="random", seed=0, storage=sys.argv[1])
print([study.ask().number for _ in range(2)])
sys.stdout.flush()
os._exit(1)
"""


def crash(path):
    return finish(CRASH, path).stdout.strip()


def test_orphans_of_a_crash_are_handed_out_once_more_and_then_failed(tmp_path):
    path = tmp_path / "runs.db"
    assert crash(path) == "[0, 1]"
    with bo.Study.load(path, read_only=True) as study:
        points = [t.point for t in study.trials]
    with bo.Study.load(path) as study:  # opened and closed in good order: this is no attempt
        assert [t.status for t in study.trials] == ["running", "running"]
    assert crash(path) == "[0, 1]"
    with bo.Study.load(path) as study:
        assert [t.status for t in study.trials] == ["failed", "failed"]
        assert study.trials[0].reason == "2 processes that ran this trial ended, or were cut off from the study"
        assert [t.point for t in study.trials] == points
        assert study.trials[0].info["attempts"] == 2
        assert study.ask().number == 2


def test_closing_in_good_order_costs_a_trial_no_attempt(file):
    for _ in range(4):
        with open_study(file) as study:
            assert study.ask().number == 0
    with open_study(file) as study:
        study.tell(0, 1.0)
        assert study.ask().number == 1


INTERRUPTED = """
def objective(point):
    if point["a"] == 5:
        print("sleeping", flush=True)
        time.sleep(60)
    return float(point["a"])
bo.minimize(objective, {"a": range(1, 9)}, 8, method="random", seed=0, storage=sys.argv[1], workers=int(sys.argv[2]))
"""


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_leaves_a_study_that_goes_on(tmp_path, workers):
    path = tmp_path / "runs.db"
    with start(INTERRUPTED, path, workers, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "sleeping\n"
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in message
    assert f"safe in {path}" in message
    assert os.listdir(tmp_path) == ["runs.db"]
    result = bo.minimize(lambda p: float(p["a"]), {"a": range(1, 9)}, 8, method="random", seed=0, storage=path)
    assert sorted(t.value for t in result.trials) == list(range(1, 9))
    assert all("attempts" not in t.info for t in result.trials)


KILLED = """
import random
from bostruct.searchers.baselines import RandomSearch

path, kills = sys.argv[1], int(sys.argv[2])
space = bo.Space({f"v{i}": bo.Binary() for i in range(60)})
bo.Study  # loaded once, here, not in each child
chance = random.Random(0)
told = {}
for kill in range(kills):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        study = bo.Study(space, method="random", seed=0, storage=path)
        os.write(writer, b"ready\\n")
        while True:
            trial = study.ask()
            value = kill + trial.number / 1000
            study.tell(trial, value)
            os.write(writer, f"{trial.number} {value!r}\\n".encode())
    os.close(writer)
    with os.fdopen(reader, "rb") as lines:
        assert lines.readline() == b"ready\\n", "the study did not open after the kill before"
        seen = b"".join(lines.readline() for _ in range(chance.randrange(3)))
        time.sleep(chance.random() * 0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for line in (seen + lines.read()).decode().splitlines(keepends=True):
            if line.endswith("\\n"):
                number, value = line.split()
                assert int(number) not in told, "a finished trial was handed out again"
                told[int(number)] = float(value)
study = bo.Study.load(path)
kept = {trial.number: trial.value for trial in study.trials}
lost = [number for number, value in told.items() if kept.get(number) != value]
print(len(told), lost, len(study.trials) - len(told))
"""


def test_kill_9_in_the_middle_of_tell_loses_nothing_told(tmp_path):
    kills = 50
    done = finish(KILLED, tmp_path / "runs.db", kills)
    assert done.returncode == 0, done.stderr
    told, lost, unfinished = done.stdout.split()
    assert lost == "[]"
    assert int(told) > kills / 2  # it did tell between kills
    assert 0 <= int(unfinished) <= kills


def test_a_copy_of_the_file_is_a_study_of_its_own(tmp_path, uninterrupted):
    with open_study(tmp_path / "a.db") as study:
        study.optimize(objective, 4)
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
    for name in ("a.db", "b.db"):
        with open_study(tmp_path / name) as study:
            study.optimize(objective, N)
            assert what_happened(study) == uninterrupted


def test_two_studies_in_one_file_do_not_meet(tmp_path):
    path = tmp_path / "runs.db"
    with open_study(path, name="one") as one, open_study(path, name="two", seed=5) as two:
        for _ in range(3):
            one.tell(one.ask(), 1.0)
            two.tell(two.ask(), 2.0)
    storage = SqliteStorage(path)
    values = {row.name: {t.outcome.value for t in storage.read(row.name).trials} for row in storage.studies()}
    assert values == {"one": {1.0}, "two": {2.0}}
