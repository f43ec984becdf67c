"""Laws of the protocol: whatever is sent, the server has an answer; whatever is asked and told, nothing is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.serving.messages import CODES
from bostruct.serving.served_study import Leases
from bostruct.serving.service import COMMON, OF_SERVER, OPERATIONS, Service
from tests.serving.doors import JSON_SPACE, ask, make_service

FIELDS = {name: one.fields for name, one in OPERATIONS.items()} | OF_SERVER
NEEDED = {"trial": 0, "point": {"x": 0.5, "k": 4}, "space": JSON_SPACE}
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)
WORDS = st.sampled_from(["a", "x", "kind", "variables", "Real", "low", "high", "Permutation", "items", "is", "vertex"])
ANYTHING = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
LIKELY = st.sampled_from([0, 1, 2, {"x": 0.5, "k": 4}, JSON_SPACE, "random", [[1, 0.5]], "minimize", {"a": ["<=", 1]}])


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer(text):
    answer = make_service("a").answer(text)
    assert json.loads(answer.body)["error"]["code"] in CODES


@st.composite
def requests(draw):
    """A request whose fields are those that it has, with any values, and those that it needs."""
    kind = draw(st.sampled_from(list(FIELDS)))
    names = st.sampled_from([*FIELDS[kind], *FIELDS[kind], *COMMON[1:]])
    needed = {name: part for name, part in NEEDED.items() if name in FIELDS[kind]}
    return kind, needed | draw(st.dictionaries(names, LIKELY | ANYTHING, max_size=3))


@settings(deadline=None, max_examples=100)
@given(st.lists(requests(), max_size=6))
@pytest.mark.filterwarnings("ignore")  # of a space that is odd, or of two numbers on one step
def test_any_fields_have_an_answer_that_is_no_fault_of_the_server(sent):
    studies = [bo.Study({"x": bo.Real(0, 1), "k": bo.Ordinal([1, 2, 4])}, method="random", seed=0, name="a")]
    service = Service(studies, lambda description: description.make(None))
    ask(service, "ask", n=2)
    for kind, fields in sent:
        answer = ask(service, kind, **fields)
        assert answer["ok"] or answer["error"]["code"] not in ("internal", "storage"), (kind, fields, answer)


STEPS = st.one_of(
    st.tuples(st.just("ask"), st.integers(1, 3), st.sampled_from([None, 1.0, 3.0])),
    st.tuples(st.just("tell"), st.integers(0, 9), st.floats(-9, 9)),
    st.tuples(st.just("fail"), st.integers(0, 9), st.booleans()),
    st.tuples(st.just("renew"), st.integers(0, 9), st.just(2.0)),
    st.tuples(st.just("requeue"), st.integers(0, 9), st.none()),
    st.tuples(st.just("wait"), st.just(0), st.sampled_from([0.5, 2.0])),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(STEPS, max_size=25))
def test_no_trial_is_out_twice_and_what_was_told_stays(steps):
    clock, service = [0.0], make_service("a", space={"x": range(40), "y": range(5)})
    service._studies["a"]._leases = Leases(lambda: clock[0])
    until: dict[int, float] = {}  # of trials that are out, when their lease ends
    told: dict[int, float | None] = {}
    n_trials = 0
    for step, number, fact in steps:
        if step == "wait":
            clock[0] += fact
        elif step == "ask":
            for trial in ask(service, "ask", n=number, lease=fact)["trials"]:
                given_out = trial["number"]
                assert given_out not in told
                assert until.get(given_out, -1.0) <= clock[0]
                until[given_out] = float("inf") if fact is None else clock[0] + fact
                n_trials = max(n_trials, given_out + 1)
        elif step == "renew":
            if ask(service, "renew", trial=number, lease=fact)["ok"]:
                assert number in until
                until[number] = clock[0] + fact
        elif step == "requeue":
            was_failed = number in told and told[number] is None
            answer = ask(service, "requeue", trial=number)
            assert answer["ok"] == (number < n_trials and (number not in told or was_failed))
            if answer["ok"]:
                until.pop(number, None)
                told.pop(number, None)
        else:
            outcome = {"value": fact} if step == "tell" else {"failed": "x", "retry": int(fact) and 100}
            answer = ask(service, "tell", trial=number, **outcome)
            assert answer["ok"] == (number < n_trials and number not in told)
            if answer["ok"]:
                until.pop(number, None)
                if step == "tell" or not fact:
                    told[number] = fact if step == "tell" else None
    trials = ask(service, "trials", limit=1000)["trials"]
    assert len(trials) == n_trials
    assert len({json.dumps(trial["point"]) for trial in trials}) == n_trials
    for trial in trials:
        expected = (
            "running" if trial["number"] not in told else "failed" if told[trial["number"]] is None else "completed"
        )
        assert (trial["status"], trial.get("value")) == (expected, told.get(trial["number"]))
