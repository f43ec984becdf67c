"""A study of several clients: leases, trials given back, tells between suggestions."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest

import bostruct as bo
from bostruct.contracts import Searcher, Suggestion
from bostruct.serving.messages import Refusal
from bostruct.serving.served_study import Leases, ServedStudy
from tests.serving.doors import SPACE


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def served(clock):
    study = ServedStudy(bo.Study(SPACE, method="random", seed=0))
    study._leases = Leases(lambda: clock[0])
    return study


def numbers(answer):
    return [trial["number"] for trial in answer["trials"]]


def refuse(call, *arguments):
    with pytest.raises(Refusal) as refused:
        call(*arguments)
    return refused.value


def test_a_trial_is_handed_out_again_after_its_lease_and_a_late_value_is_kept(served, clock):
    first = served.ask(1, 10.0)["trials"][0]
    clock[0] = 9.0
    assert numbers(served.ask(1, None)) == [1]
    clock[0] = 11.0
    again = served.ask(1, 10.0)["trials"][0]
    assert (again["number"], again["point"]) == (0, first["point"])
    assert refuse(served.renew, 0, first["started"], None).code == "lease_lost"
    assert served.renew(0, again["started"], None)["trial"]["lease"] == 10.0
    assert served.tell(0, None, {"value": 3.0})["trial"]["value"] == 3.0  # of the first holder, who was late
    late = refuse(served.tell, 0, None, {"value": 4.0})
    assert (late.code, late.facts["trial"]["value"]) == ("trial_finished", 3.0)
    clock[0] = 99.0
    assert numbers(served.ask(1, None)) == [2]  # what was told is not handed out again


@pytest.mark.parametrize("is_late_first", [True, False])
def test_holders_who_say_when_they_began_both_have_their_values_kept(served, clock, is_late_first):
    late = served.ask(1, 10.0)["trials"][0]
    clock[0] = 11.0
    again = served.ask(1, 10.0)["trials"][0]
    assert (again["number"], again["started"] != late["started"]) == (0, True)
    tells = [(late, 3.0), (again, 4.0)] if is_late_first else [(again, 4.0), (late, 3.0)]
    told = [served.tell(0, trial["started"], {"value": value})["trial"] for trial, value in tells]
    assert [one["number"] for one in told] == [0, 1]
    assert [one["value"] for one in told] == [value for _, value in tells]
    assert (told[1]["info"]["double_of"], told[1]["point"]) == (0, late["point"])
    for trial, value in tells:
        assert refuse(served.tell, 0, trial["started"], {"value": value}).code == "trial_finished"
    clock[0] = 99.0
    assert numbers(served.ask(1, None)) == [2]
    refusal = refuse(served.tell, 2, 1.0, {"value": 1.0})
    assert (refusal.code, "started at another time" in str(refusal)) == ("bad_value", True)


def test_a_trial_that_another_process_finished_is_not_handed_out_again(file, clock):
    with bo.Study(SPACE, method="random", seed=0, storage=file) as other:
        served = ServedStudy(bo.Study(SPACE, method="random", seed=0, storage=file))
        served._leases = Leases(lambda: clock[0])
        served.ask(1, 10.0)
        other.sync()
        other.tell(0, 5.0)
        served.study.sync()
        clock[0] = 11.0
        assert numbers(served.ask(1, None)) == [1]
        served.close(0.0)


def test_a_late_value_before_the_next_ask_ends_the_trial(served, clock):
    served.ask(1, 1.0)
    clock[0] = 5.0
    served.tell(0, None, {"failed": "late"})
    assert numbers(served.ask(1, None)) == [1]


def test_a_renewed_trial_stays(served, clock):
    served.ask(1, 10.0)
    for moment in (8.0, 16.0, 24.0):
        clock[0] = moment
        served.renew(0, None, None)
        assert numbers(served.ask(1, None)) == [int(moment / 8)]
    served.requeue(0)
    assert refuse(served.renew, 0, None, None).code == "lease_lost"
    assert numbers(served.ask(1, None)) == [0]


def test_who_names_a_trial_that_is_not_there_learns_which_are(served):
    refusal = refuse(served.tell, 3, None, {"value": 1.0})
    assert (refusal.code, "none so far; got number 3" in str(refusal)) == ("unknown_trial", True)
    served.ask(2, None)
    assert "0 to 1; got number 2" in str(refuse(served.requeue, 2))


def test_a_value_that_makes_no_sense_leaves_the_trial_running(served):
    served.ask(1, None)
    for outcome in ({}, {"value": "a"}, {"value": (1.0, 2.0)}, {"value": 1.0, "failed": "x"}, {"failed": 3}):
        assert refuse(served.tell, 0, None, outcome).code == "bad_value"
    assert served.tell(0, None, {"value": 1.0})["trial"]["status"] == "completed"


def test_an_exhausted_space_says_how_many_are_out(clock):
    served = ServedStudy(bo.Study({"a": [1, 2], "b": bool}, method="random", seed=0))
    served._leases = Leases(lambda: clock[0])
    assert len(served.ask(256, 5.0)["trials"]) == 4
    refusal = refuse(served.ask, 1, None)
    assert (refusal.code, refusal.facts) == ("space_exhausted", {"leased_trials": 4})
    clock[0] = 6.0
    assert numbers(served.ask(9, None)) == [0, 1, 2, 3]


def test_a_finished_study_hands_nothing_out_and_takes_what_is_out(served):
    served.ask(1, None)
    assert served.finish("enough")["finished"] == "enough"
    assert served.finish("again")["finished"] == "enough"
    assert str(refuse(served.ask, 1, None)).endswith("enough")
    assert served.tell(0, None, {"value": 1.0})["trial"]["status"] == "completed"


def test_an_answer_that_reached_nobody_is_taken_back(served):
    answer = served.ask(3, None)
    served.tell(1, None, {"value": 1.0})
    served.release(answer)
    assert numbers(served.ask(3, None)) == [0, 2, 3]


def test_the_best_of_one_objective_and_the_front_of_two():
    one = ServedStudy(bo.Study(SPACE, method="random", seed=0))
    assert (one.find_best(), refuse(one.recommend).code) == ({"trials": []}, "nothing_completed")
    for number, value in enumerate((3.0, 1.0, 2.0)):
        one.ask(1, None)
        one.tell(number, None, {"value": value})
    assert numbers(one.find_best()) == [1]
    assert one.recommend()["trial"]["number"] == 1
    two = ServedStudy(bo.Study(SPACE, method="random", seed=0, directions=["minimize", "maximize"]))
    assert two.find_best() == {"trials": []}
    for number, values in enumerate(((3.0, 1.0), (1.0, 0.0), (3.0, 0.0))):
        two.ask(1, None)
        told = two.tell(number, None, {"value": values})["trial"]
        assert (told["values"], "value" in told) == (values, False)
    assert numbers(two.find_best()) == [1, 0]


def test_pages_of_trials_are_all_trials(served):
    served.ask(5, None)
    assert [served.list_trials(first, 2)["next"] for first in (0, 2, 3, 4, 9)] == [2, 4, None, None, None]
    assert numbers(served.list_trials(3, 9)) == [3, 4]


class Waiting(Searcher):
    """A searcher that waits to be let on, and then draws a point."""

    def __init__(self, domain):
        self.domain = domain
        self.entered, self.leave = threading.Semaphore(0), threading.Semaphore(0)

    def settings(self):
        return {}

    def suggest(self, history, state, rng):
        self.entered.release()
        assert self.leave.acquire(timeout=30)
        return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "model"})


def test_a_tell_waits_for_one_suggestion_of_a_batch_and_readers_for_none():
    searcher = Waiting(bo.Space(SPACE))
    served, told = ServedStudy(bo.Study(searcher.domain, method=searcher, seed=0)), []
    searcher.leave.release()
    served.ask(1, None)
    assert searcher.entered.acquire(timeout=30)
    batch = threading.Thread(target=served.ask, args=(3, None))
    batch.start()
    assert searcher.entered.acquire(timeout=30)  # the first suggestion of the batch is being made
    assert served.describe()["trials"] == 1
    assert served.renew(0, None, 5.0)["trial"]["lease"] == 5.0
    assert (served.find_best()["trials"], numbers(served.list_trials(0, 9))) == ([], [0])
    tell = threading.Thread(target=lambda: told.append(served.tell(0, None, {"value": 1.0})))
    tell.start()
    deadline = time.monotonic() + 30
    while not (told or served._queue._n_quick):  # told already where a study lets tells pass a suggestion
        assert time.monotonic() < deadline
        time.sleep(0.002)
    searcher.leave.release()
    assert searcher.entered.acquire(timeout=30)  # the second
    tell.join(30)
    assert told[0]["trial"]["status"] == "completed"
    searcher.leave.release(2)
    batch.join(30)
    assert len(served.study.trials) == 4


def test_a_suggestion_that_fails_gives_its_batch_back():
    searcher = Waiting(bo.Space(SPACE))
    served = ServedStudy(bo.Study(searcher.domain, method=searcher, seed=0))
    searcher.leave.release(1)
    suggest = searcher.suggest
    searcher.suggest = lambda *given: suggest(*given) if not served.study.trials else 1 / 0
    assert refuse(served.ask, 2, None).code == "suggestion_failed"
    assert (len(served.study.trials), numbers(served.ask(1, None))) == (1, [0])


def test_at_the_end_trials_that_are_out_are_given_back(tmp_path):
    served = ServedStudy(bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "r.db"))
    served.ask(2, 100.0)
    served.tell(0, None, {"value": 1.0})
    served.close(1.0)
    assert refuse(served.ask, 1, None).code == "stopping"
    assert refuse(served.tell, 1, None, {"value": 1.0}).code == "stopping"
    with bo.Study.load(tmp_path / "r.db") as study:
        assert [trial.status for trial in study.trials] == ["completed", "running"]
        again = study.ask()
        assert (again.number, "attempts" in again.info) == (1, False)  # given back in good order


def test_a_point_for_which_json_has_no_word_is_added_as_it_is_shown():
    served = ServedStudy(
        bo.Study({"shape": [(1, 2), (3, 4)], "p": bo.Permutation(list("abc"))}, method="random", seed=0)
    )
    shown = served.ask(1, None)["trials"][0]["point"]
    assert shown["shape"] in ({"vertex": 0}, {"vertex": 1})
    added = served.add({"shape": {"vertex": 0}, "p": ["c", "a", "b"]}, {"value": 2.0})["trial"]
    assert served.study.trials[added["number"]].point == {"shape": (1, 2), "p": ("c", "a", "b")}
    wrong = refuse(served.add, {"shape": {"vertex": 2}, "p": ["c", "a", "b"]}, {"value": 2.0})
    assert "shape: expected one of [(1, 2), (3, 4)]" in str(wrong)


def test_a_lease_on_a_trial_that_is_over_does_not_keep_the_others(served, clock):
    served.ask(2, 10.0)
    served.study.tell(0, 1.0)  # as another process would
    clock[0] = 11.0
    assert numbers(served.ask(1, None)) == [1]


def test_an_answer_that_reached_nobody_takes_no_trial_from_its_next_holder(served, clock):
    lost = served.ask(1, 10.0)
    clock[0] = 11.0
    assert numbers(served.ask(1, None)) == [0]
    served.release(lost)
    assert numbers(served.ask(1, None)) == [1]
    served.tell(0, None, {"failed": "rain"})
    served.release(lost)
    assert served.study.trials[0].status == "failed"


def test_what_is_on_record_of_a_finished_trial_is_told_to_who_renews_it(served):
    served.ask(1, 10.0)
    served.tell(0, None, {"value": 3.0})
    refused = refuse(served.renew, 0, None, None)
    assert (refused.code, refused.facts["trial"]["value"]) == ("trial_finished", 3.0)


def test_a_lease_that_runs_out_leaves_what_another_process_ended(tmp_path, clock):
    study, other = (bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db") for _ in range(2))
    served = ServedStudy(study)
    served._leases = Leases(lambda: clock[0])
    assert numbers(served.ask(3, 1.0)) == [0, 1, 2]
    other.sync()
    other.cancel(0)
    other.tell(1, failed="the rig burned down")
    clock[0] = 2.0
    assert numbers(served.ask(2, None)) == [2, 3]
    other.sync()
    assert [trial.status for trial in other.trials] == ["failed", "failed", "running", "running"]
    assert other.trials[0].is_canceled
    other.close()
    study.close()


def test_a_trial_that_finds_another_holder_as_it_is_taken_back_keeps_its_lease(served, clock, monkeypatch):
    lost, hurry = served.ask(1, 10.0), served._queue.hurry

    @contextmanager
    def wait_for_an_ask():
        monkeypatch.undo()
        clock[0] = 11.0
        assert numbers(served.ask(1, 10.0)) == [0]
        with hurry():
            yield

    monkeypatch.setattr(served._queue, "hurry", wait_for_an_ask)
    served.release(lost)
    assert numbers(served.ask(1, None)) == [1]
    clock[0] = 22.0
    assert numbers(served.ask(1, None)) == [0]
