"""Traces: values by place, immutable, equal in any order, and kept by JSON and pickles."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.domains.language.errors import TraceError
from bostruct.domains.language.values import Trace

VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.tuples(st.integers(), st.text(max_size=2))
TRACES = st.dictionaries(st.text(max_size=4), VALUES, max_size=5).map(Trace)


@given(TRACES, st.randoms())
def test_equal_whatever_the_order_of_choice(x, random):
    items = list(x.items())
    random.shuffle(items)
    y = Trace(dict(items))
    assert (y, hash(y), {x: 1}[y]) == (x, hash(x), 1)
    assert list(y) == [key for key, _ in items]


@given(TRACES)
def test_kept_by_json_and_by_pickles_in_their_order(x):
    for y in (Trace.from_json(json.loads(json.dumps(x.to_json()))), pickle.loads(pickle.dumps(x))):
        assert list(y.items()) == list(x.items())
    hash(x)
    assert b"_hash" not in pickle.dumps(x)


@given(TRACES, TRACES)
def test_together_they_have_the_values_of_the_second_where_both_have_one(x, y):
    both = x | y
    assert dict(both) == {**x, **y}
    assert isinstance(both, Trace)
    assert (x == y) == (dict(x) == dict(y))


def test_it_is_a_mapping_that_nobody_can_change():
    given = {"a": [1, np.int64(2)], "b": "x"}
    x = Trace(given)
    given["a"] = 5
    assert dict(x) == {"a": (1, 2), "b": "x"}
    assert (len(x), "a" in x, "c" in x, x.get("c")) == (2, True, False, None)
    assert repr(x) == "Trace({'a': (1, 2), 'b': 'x'})"
    assert x != {"a": (1, 2), "b": "x"}
    with pytest.raises(TypeError):
        x["a"] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        x.c = 1  # type: ignore[attr-defined]


NO_TRACES = [
    ([("a", 1)], r"trace: expected a mapping from paths to values, got \[\('a', 1\)\]"),
    ("a", "trace: expected a mapping"),
    ({"a": {1}}, "a: expected None, bools, numbers"),
    ({"a": float("nan")}, "a: expected finite numbers, got nan"),
]


@pytest.mark.parametrize(("given", "words"), NO_TRACES)
def test_what_is_no_trace_is_refused(given, words):
    with pytest.raises(TraceError, match=words):
        Trace(given)
