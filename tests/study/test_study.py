"""Ask, tell, add: what a study promises whatever the method."""

from __future__ import annotations

import math
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import BostructError, PointError, Searcher, SpaceExhausted, Suggestion
from bostruct.study import Patience, TargetValue
from bostruct.study.loop import ObjectiveError
from bostruct.study.study import Study

SPACE = bo.Space({"a": bo.Categorical(["x", "y", "z"]), "b": bo.Binary(), "c": bo.Integer(1, 4)})


def value(point):
    return "xyz".index(point["a"]) + 3.0 * point["b"] + 0.5 * point["c"]


def interrupted(point):
    raise KeyboardInterrupt(point["a"])


def frames_of_an_interrupt(objective, *callbacks):
    with pytest.raises(KeyboardInterrupt) as caught:
        study().optimize(objective, 3, callbacks=callbacks)
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_ctrl_c_shows_where_the_objective_was_and_elsewhere_every_frame():
    def press(*_):
        raise KeyboardInterrupt

    assert frames_of_an_interrupt(interrupted)[-2:] == ["optimize", "interrupted"]
    names = frames_of_an_interrupt(value, press)
    assert names[-1] == "press"
    assert "run_trials" in names


def study(**settings):
    return Study(SPACE, **({"method": "random", "seed": 0} | settings))


@dataclass(frozen=True)
class Fixed(Searcher):
    """Suggests what it is told to, whether it may or not."""

    domain: object
    point: object
    state: object = None

    def settings(self):
        return {}

    def initial_state(self):
        return None

    def suggest(self, history, state, rng):
        del history, state, rng
        return Suggestion(self.point, self.state, {"origin": "model"})


def test_a_run_finds_the_optimum_of_a_space_that_it_exhausts():
    result = bo.minimize(value, SPACE, 100, method="random", seed=0)
    assert result.best_value == 0.5
    assert result.best_point == {"a": "x", "b": False, "c": 1}
    assert len(result.trials) == SPACE.size
    assert "all 24 points" in result.stopped_because


def test_asking_an_exhausted_space_raises():
    s = study()
    for _ in range(SPACE.size):
        s.ask()
    with pytest.raises(SpaceExhausted):
        s.ask()


def test_maximize_is_minimize_of_the_negative():
    up = bo.maximize(value, SPACE, 12, method="random", seed=3)
    down = bo.minimize(lambda p: -value(p), SPACE, 12, method="random", seed=3)
    assert [t.point for t in up.trials] == [t.point for t in down.trials]
    assert up.best_value == -down.best_value == max(t.value for t in up.trials)
    assert [i.best_value for i in up.incumbents] == [-i.best_value for i in down.incumbents]


def test_searchers_see_minimised_values_in_the_order_told():
    s = study(direction="maximize")
    first, second = s.ask(), s.ask()
    s.tell(second, 2.0)
    s.tell(first, 7.0)
    seen = s._ledger.history()
    assert list(seen.values) == [-2.0, -7.0]
    assert [SPACE.present(x) for x in seen.completed] == [second.point, first.point]


def test_same_seed_same_points_and_another_seed_others():
    drawn = bo.minimize(value, SPACE, 10, method="random")  # whose seed is on record
    runs = [bo.minimize(value, SPACE, 10, method="random", seed=seed) for seed in (5, 5, 6, drawn.seed)]
    points = [[t.point for t in run.trials] for run in (*runs, drawn)]
    assert points[0] == points[1] != points[2]
    assert points[3] == points[4]


@given(st.integers(0, 2**70), st.integers(1, 24))
def test_points_asked_at_once_are_distinct(seed, n):
    s = study(seed=seed)
    points = [s.ask().point for _ in range(n)]
    assert len({tuple(p.values()) for p in points}) == n
    assert all(t.status == "running" for t in s.trials)


def test_initial_points_come_first_and_only_once_and_wrong_ones_are_refused():
    first = [{"a": "z", "b": True, "c": 4}, {"a": "y", "b": True, "c": 4}, {"a": "z", "b": True, "c": 4}]
    s = study(initial_points=first)
    trials = [s.ask() for _ in range(4)]
    assert [t.point for t in trials[:2]] == first[:2]
    assert [t.origin for t in trials] == ["given", "given", "random", "random"]
    assert trials[2].point != first[0]
    with pytest.raises(PointError, match="a: expected one of"):
        study(initial_points=[{"a": "q", "b": True, "c": 4}])


def test_added_data_are_history_and_do_not_count_as_trials():
    s = study()
    known = {"a": "x", "b": False, "c": 1}
    assert s.add(known, 0.5).origin == "added"
    s.add(known, 0.6)
    s.add({"a": "x", "b": False, "c": 2}, failed="broke the oven")
    result = s.optimize(value, 10)
    assert len(result.trials) == 13
    assert known not in [t.point for t in result.trials[3:]]
    assert result.best_value == 0.5
    assert s.trials[2].reason == "broke the oven"


REAL_NUMBERS = [3, 3.0, np.float32(3), np.array(3), np.array([3.0]), np.int8(3), Fraction(3), "torch"]


@pytest.mark.parametrize("told", REAL_NUMBERS, ids=repr)
def test_every_real_number_is_a_value(told):
    if told == "torch":
        torch = pytest.importorskip("torch")
        told = torch.tensor(3.0, dtype=torch.float64)
    s = study()
    assert s.tell(s.ask(), told).value == 3.0


NO_NUMBERS = ["3", None, 3j, True, np.array([1.0, 2.0]), np.complex64(1), [3.0], np.array("3")]


@pytest.mark.parametrize("told", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_and_the_trial_stays_running(told):
    s = study()
    trial = s.ask()
    with pytest.raises(TypeError, match="value: expected"):
        s.tell(trial, told)
    with pytest.raises(
        TypeError, match=r"^value: expected a number, or failed= or infeasible= with a reason, got None$"
    ):
        s.tell(trial)
    with pytest.raises(TypeError, match=r"^trial: expected a Trial or its number, got 1\.0$"):
        s.tell(1.0, trial)
    assert s.trials[0].status == "running"
    assert s.tell(trial, 1.0).value == 1.0


@pytest.mark.parametrize("told", [math.nan, math.inf, -math.inf, np.float32("nan"), 10**400], ids=lambda v: str(v)[:9])
def test_values_that_are_not_finite_fail_the_trial(told):
    s = study()
    trial = s.tell(s.ask(), told)
    read = "inf: a number too large for a float" if isinstance(told, int) else float(told)
    assert (trial.status, trial.value, trial.reason) == ("failed", None, f"observed {read}")


def test_only_running_trials_can_be_told():
    s = study()
    trial = s.ask()
    s.tell(trial.number, 1.0)
    with pytest.raises(ValueError, match="trial 0 is already completed"):
        s.tell(trial, 2.0)
    with pytest.raises(ValueError, match="got number 7"):
        s.tell(7, 2.0)
    with pytest.raises(ValueError, match="more than one"):
        s.tell(s.ask(), 1.0, failed="no")
    with pytest.raises(TypeError, match="failed: expected a reason"):
        s.tell(1, failed="")
    assert [t.value for t in s.trials] == [1.0, None]


def test_a_point_that_was_changed_by_the_user_is_not_changed_in_the_study():
    s = study()
    trial = s.ask()
    original = dict(trial.point)
    trial.point["a"] = "spoilt"
    s.tell(trial, 1.0)
    assert s.trials[0].point == original


def test_a_trial_given_back_is_handed_out_again():
    s = study()
    first = s.ask()
    s.ask()
    s.requeue(first)
    again = s.ask()
    assert (again.number, again.point) == (first.number, first.point)
    assert s.ask().number == 2


def test_failed_and_infeasible_trials_are_told_apart_and_never_repeated():
    def objective(point):
        if point["b"]:
            raise bo.Infeasible("b is forbidden")
        if point["a"] == "x":
            raise RuntimeError("x explodes")
        return value(point)

    result = bo.minimize(objective, SPACE, 24, method="random", seed=0)
    assert len({tuple(t.point.values()) for t in result.trials}) == 24
    for trial in result.trials:
        wanted = "infeasible" if trial.point["b"] else "failed" if trial.point["a"] == "x" else "completed"
        assert trial.status == wanted
    assert {t.reason for t in result.trials} == {None, "b is forbidden", "RuntimeError: x explodes"}
    assert (result.n_failed, result.n_infeasible) == (4, 12)
    assert "8 completed, 4 failed, 12 infeasible, 0 running\nfailures     RuntimeError: x explodes (4)\n" in repr(
        result
    )
    assert result.n_completed == 8


def test_an_objective_that_always_fails_stops_early_and_shows_why():
    s = study()

    def typo(point):
        return point["missing"]

    with pytest.raises(ObjectiveError, match=r"KeyError in each of the first 5 trials(.|\n)*in typo"):
        s.optimize(typo, 20)
    assert len(s.trials) == 5


def test_trials_lost_to_a_mistake_are_handed_out_again(tmp_path):
    own = [{"a": "y", "b": True, "c": 2}]

    def run(objective):
        return bo.minimize(objective, SPACE, 8, method="random", seed=0, storage=tmp_path / "s.db", initial_points=own)

    with pytest.raises(ObjectiveError, match="requeued"):
        run(lambda point: point["missing"])
    result = run(value)
    clean = bo.minimize(value, SPACE, 8, method="random", seed=0, initial_points=own)
    assert [t.point for t in result.trials] == [t.point for t in clean.trials]
    assert result.trials[0].point == own[0]
    assert [t.status for t in result.trials] == ["completed"] * 8
    assert result.trials[0].info["failed_before"] == ["KeyError: 'missing'"]


def test_a_failed_trial_may_be_given_another_chance(tmp_path):
    path = tmp_path / "s.db"
    with bo.Study(SPACE, method="random", seed=0, storage=path) as s:
        first, second, third = s.ask(), s.ask(), s.ask()
        s.tell(second, failed="power cut")
        s.tell(first, 1.0)
        s.tell(third, failed="true")
        s.requeue(second)
        assert s.n_finished == 2
        for wrong in (first, s.add(third.point, 3.0)):
            with pytest.raises(ValueError, match=f"expected a running or failed trial, but trial {wrong.number}"):
                s.requeue(wrong)
    with bo.Study.load(path) as s:
        again = s.ask()
        assert (again.number, again.point) == (second.number, second.point)
        s.tell(again, 2.0)
        assert s.result.order == (0, 2, 3, 1)
        assert s.result.n_failed == 1
        with pytest.raises(ValueError, match="already completed"):
            s.tell(again, 2.0)


def test_an_objective_that_fails_at_first_in_different_ways_goes_on():
    errors = iter([KeyError("k"), ValueError("v")] * 4)

    def objective(point):
        if error := next(errors, None):
            raise error
        return value(point)

    assert bo.minimize(objective, SPACE, 12, method="random", seed=0).n_failed == 8


def test_errors_to_be_raised_end_the_run():
    s = study()

    def objective(point):
        if len(s.trials) == 3:
            raise OSError("disk gone")
        return value(point)

    with pytest.raises(OSError, match="disk gone"):
        s.optimize(objective, 10, reraise=(OSError,))
    assert [t.status for t in s.trials] == ["completed", "completed", "failed"]


def test_objectives_that_return_rubbish_fail_with_the_reason():
    s = study()
    returned = iter([1.0, "two", math.nan, 4.0])
    result = s.optimize(lambda _: next(returned), 4)
    assert [t.status for t in result.trials] == ["completed", "failed", "failed", "completed"]
    assert result.trials[1].reason == "TypeError: value: expected a number, got 'two' (str)"


def test_n_trials_is_a_total():
    s = study()
    s.optimize(value, 4)
    assert len(s.optimize(value, 7).trials) == 7
    with pytest.warns(UserWarning, match="n_trials is a total"):
        assert len(s.optimize(value, 3).trials) == 7
    assert s.result.stopped_because == "nothing to do: n_trials is 3, and 7 are finished already"


def test_callbacks_see_each_trial_and_may_stop():
    seen = []

    def callback(study, trial):
        seen.append((trial.number, trial.status, len(study.trials)))
        if trial.number == 4:
            study.stop("enough")

    result = bo.minimize(value, SPACE, 20, method="random", seed=0, callbacks=[callback])
    assert seen == [(i, "completed", i + 1) for i in range(5)]
    assert result.stopped_because == "enough"


def test_a_loop_of_ones_own_says_why_it_ended():
    s = study()
    s.tell(s.ask(), 1.0)
    assert s.result.stopped_because is None
    assert "stopped" not in repr(s.result)
    s.stop("enough")
    assert s.result.stopped_because == "enough"
    assert s.optimize(value, 3).stopped_because == "n_trials reached (3)"


def test_a_callback_that_raises_leaves_a_sound_study():
    s = study()

    def callback(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        s.optimize(value, 5, callbacks=[callback])
    assert [t.status for t in s.trials] == ["completed"]
    assert len(s.optimize(value, 5).trials) == 5


def test_patience_counts_trials_since_the_best():
    values = iter([5.0, 3.0, 4.0, 3.0, 3.5, 1.0])
    result = bo.minimize(lambda _: next(values), SPACE, 6, method="random", seed=0, callbacks=[Patience(3)])
    assert [t.value for t in result.trials] == [5.0, 3.0, 4.0, 3.0, 3.5]
    assert result.stopped_because == "no better value in 3 trials"
    assert result.best_trial.number == 1


@pytest.mark.parametrize(("direction", "target"), [("minimize", 1.0), ("maximize", 5.5)])
def test_target_value(direction, target):
    result = study(direction=direction).optimize(value, 24, callbacks=[TargetValue(target)])
    reached = [t.value <= target if direction == "minimize" else t.value >= target for t in result.trials]
    assert reached == [False] * (len(reached) - 1) + [True]


def test_a_searcher_that_repeats_itself_is_named():
    x = SPACE.parse({"a": "x", "b": True, "c": 1})
    s = bo.Study(SPACE, method=Fixed(SPACE, x), seed=0)
    s.tell(s.ask(), 1.0)
    with pytest.raises(BostructError, match=r"Fixed suggested a point that was seen before: .*'c': 1"):
        s.ask()


@pytest.mark.parametrize(
    ("point", "state", "message"),
    [
        ([0, 0, 9], None, "Fixed suggested an invalid point: c: "),
        ([0, 0, 0], {1, 2}, "state and info must be plain JSON"),
    ],
)
def test_a_searcher_that_leaves_its_domain_or_json_is_named(point, state, message):
    s = study(method=Fixed(SPACE, np.array(point), state=state))
    with pytest.raises(BostructError, match=message):
        s.ask()
    assert s.trials == ()


def optimize(objective=value, n_trials=3, **given):
    return study().optimize(objective, n_trials, **given)


WRONG = [(study, {"seed": -1}), (study, {"seed": 0.5}), (study, {"direction": "up"}), (study, {"method": "alchemy"})]
WRONG += [(study, {"name": ""}), (study, {"threads": 0}), (optimize, {"n_trials": -1}), (optimize, {"workers": 0})]
WRONG += [(optimize, {"trial_timeout": -1.0}), (optimize, {"load_timeout": 0.0}), (optimize, {"callbacks": [3]})]


@pytest.mark.parametrize(("call", "wrong"), [*WRONG, (optimize, {"objective": 3})])
def test_wrong_settings_and_runs_are_refused_by_name(call, wrong):
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        call(**wrong)


def test_a_dict_of_variables_is_a_space_and_a_list_is_not():
    assert bo.minimize(lambda p: p["k"], {"k": [3, 1, 2]}, 3, method="random").best_point == {"k": 1}
    with pytest.raises(TypeError, match="space: expected a Space"):
        bo.Study([1, 2, 3], method="random")


def test_a_searcher_of_another_space_is_refused():
    with pytest.raises(ValueError, match="method: expected a searcher for Space"):
        bo.Study(SPACE, method=Fixed(bo.Space({"k": bool}), None))


def test_model_work_runs_in_one_thread_and_the_setting_is_put_back():
    torch = pytest.importorskip("torch")
    from threadpoolctl import threadpool_info

    seen = []

    class Spy(Fixed):
        def suggest(self, history, state, rng):
            seen.append((torch.get_num_threads(), {pool["num_threads"] for pool in threadpool_info()}))
            return super().suggest(history, state, rng)

    before = torch.get_num_threads(), [pool["num_threads"] for pool in threadpool_info()]
    bo.Study(SPACE, method=Spy(SPACE, np.array([0, 0, 0])), seed=0).ask()
    assert seen == [(1, {1})]
    assert (torch.get_num_threads(), [pool["num_threads"] for pool in threadpool_info()]) == before


def test_threads_may_share_a_study():
    s = study()

    def worker():
        for _ in range(6):
            trial = s.ask()
            s.tell(trial, value(trial.point))

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(worker) for _ in range(4)]:
            done.result()
    assert len({tuple(t.point.values()) for t in s.trials}) == SPACE.size
    assert {t.status for t in s.trials} == {"completed"}


def test_suggestions_do_not_touch_global_randomness():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    bo.minimize(value, SPACE, 10, method="random")
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_tell_takes_the_time_when_the_evaluation_ended():
    one = study()
    trial = one.ask()
    for wrong in (-1.0, float("nan"), "today"):
        with pytest.raises((TypeError, ValueError), match="finished: expected"):
            one.tell(trial, 1.0, finished=wrong)
    assert one.tell(trial, 1.0, finished=trial.started + 2.5).finished == trial.started + 2.5
    assert one.result.timing.objective == pytest.approx(2.5)
