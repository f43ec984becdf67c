"""Choices that read alike in a file are warned of, since their order cannot be told."""

from __future__ import annotations

import pytest

import bostruct as bo
from bostruct.study.records import warn_of_ambiguous_choices


class Nameless:
    """Has no repr of its own."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nameless) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


class Named(Nameless):
    def __repr__(self) -> str:
        return f"Named({self.number})"


def make_variables(kind):
    items = [kind(1), kind(2), kind(3)]
    return {
        "choice": bo.Categorical(items),
        "order": bo.Permutation(items),
        "subset": bo.Subset(items, size=2),
        "sequence": bo.Sequence(items, length=2),
    }


@pytest.mark.parametrize("name", make_variables(Nameless))
def test_a_stored_study_warns_of_objects_that_read_alike(name, tmp_path):
    space = bo.Space({"v": make_variables(Nameless)[name], "b": bool})
    for _ in range(2):  # made, and opened again
        with pytest.warns(UserWarning, match="several choices have the repr <.*Nameless object>. Give each its"):
            bo.Study(space, method="random", storage=tmp_path / "a.db").close()
    with pytest.warns(UserWarning, match="several choices have the repr"):
        bo.Study.load(tmp_path / "a.db", space=space).close()


def test_addresses_do_not_tell_objects_apart_and_lists_are_looked_at_one_by_one(recwarn):
    alike = '{"x": {"choices": [{"repr": "<f at 0x1>"}, {"repr": "<f at 0x2>"}]}}'
    with pytest.warns(UserWarning, match="file stores choices by their repr, and several choices have the repr <f>"):
        warn_of_ambiguous_choices(alike, "file")
    warn_of_ambiguous_choices('{"x": [{"repr": "f"}], "y": [{"repr": "f"}, {"repr": "g"}, "f"]}', "file")
    assert not recwarn.list


@pytest.mark.parametrize("name", make_variables(Named))
def test_objects_with_names_and_studies_in_memory_are_not_warned_of(name, tmp_path, recwarn):
    space = bo.Space({"v": make_variables(Named)[name]})
    bo.Study(space, method="random", storage=tmp_path / "a.db").close()
    bo.Study(bo.Space({"v": make_variables(Nameless)[name]}), method="random")
    assert not recwarn.list
