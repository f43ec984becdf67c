"""JSON that other languages write and read, and nothing else."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.serving.messages import DEEPEST, Refusal, read_request, replace_nonfinite, write_answer

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_what_is_written_is_read(data):
    line = write_answer(data)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert read_request(line) == data


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"null",
        b'"a"',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"\x80\x04N.",
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": ' * 100 + b"1" + b"}" * 100,
        b'{"a": ' + b"[" * DEEPEST + b"]" * DEEPEST + b"}",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(Refusal) as refused:
        read_request(text)
    assert refused.value.code == "bad_json"
    assert len(str(refused.value)) < 300


def test_the_deepest_that_is_allowed_is_read():
    assert read_request(b'{"a": ' + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1) + b"}")


def test_numbers_for_which_json_has_no_word_become_null():
    assert replace_nonfinite({"a": [math.nan, (math.inf, 1)]}) == {"a": [None, [None, 1]]}
    assert json.loads(write_answer({"a": math.nan, 2: "é"})) == {"a": None, "2": "é"}
