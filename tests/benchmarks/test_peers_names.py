"""Names that an option lists, some of which have commas themselves."""

from __future__ import annotations

import argparse

import pytest

from benchmarks.peers.names import split_names

KNOWN = ("a", "a, b", "b", "c")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("a", ["a"]), ("a,b", ["a", "b"]), ("a, b", ["a, b"]), ("c,a, b,a", ["c", "a, b", "a"])],
)
def test_the_longest_name_is_taken(given, expected):
    assert split_names(argparse.ArgumentParser(), "--problems", given, KNOWN) == expected


@pytest.mark.parametrize(
    ("given", "known", "said"),
    [
        ("a,x,b,y z", KNOWN, "--problems: expected some of 'a', 'a, b', 'b', 'c'; got 'x', 'y z'"),
        ("a;c", KNOWN, "got 'a;c'. Separate names by commas"),
        ("botorch", ["auto", "BoTorch", "Bounce"], "got 'botorch'. Did you mean 'BoTorch'?"),
    ],
)
def test_all_that_are_unknown_are_told_and_what_may_be_meant(given, known, said, refusal):
    assert said in refusal(split_names, argparse.ArgumentParser(), "--problems", given, known)


def test_names_may_be_separated_by_semicolons(refusal):
    given = argparse.ArgumentParser(), "--problems"
    assert split_names(*given, "a, b;c", KNOWN, separator=";") == ["a, b", "c"]
    assert "got 'c,b'. Separate names by semicolons" in refusal(split_names, *given, "c,b", KNOWN, {}, ";")


def test_another_spelling_of_a_name_is_the_name(refusal):
    given = (argparse.ArgumentParser(), "--problems")
    assert split_names(*given, "a b,c", KNOWN, {"a b": "a, b"}) == ["a, b", "c"]
    assert "expected some of 'a', 'a, b', 'b', 'c'; got 'x'" in refusal(
        split_names, *given, "x", KNOWN, {"a b": "a, b"}
    )
