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


def test_all_that_are_unknown_are_told(capsys):
    with pytest.raises(SystemExit):
        split_names(argparse.ArgumentParser(), "--problems", "a,x,b,y z", KNOWN)
    assert "--problems: expected some of 'a', 'a, b', 'b', 'c'; got 'x', 'y z'" in capsys.readouterr().err


def test_a_name_that_is_almost_one_is_told_the_right_one(capsys):
    with pytest.raises(SystemExit):
        split_names(argparse.ArgumentParser(), "--searches", "botorch", ["auto", "BoTorch", "Bounce"])
    assert "got 'botorch'. Did you mean 'BoTorch'?" in capsys.readouterr().err


def test_another_spelling_of_a_name_is_the_name(capsys):
    spellings = {"a b": "a, b"}
    assert split_names(argparse.ArgumentParser(), "--problems", "a b,c", KNOWN, spellings) == ["a, b", "c"]
    with pytest.raises(SystemExit):
        split_names(argparse.ArgumentParser(), "--problems", "x", KNOWN, spellings)
    assert "expected some of 'a', 'a, b', 'b', 'c'; got 'x'" in capsys.readouterr().err
