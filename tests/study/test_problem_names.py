"""The problem that a study is of: kept with it, and asked again before anything of the study is changed."""

from __future__ import annotations

import pytest

import bostruct as bo
from bostruct.goals.declared import Goals
from bostruct.storage.protocol import StudyMismatch

SPACE = bo.Space({"a": range(6), "b": bool})
WIDER = bo.Space({"a": range(9), "c": bool})


def open_study(problem, path, space=SPACE, **settings):
    return bo.Study.for_problem(problem, space, Goals(), method="random", storage=path, **settings)


def add_one(study):
    with study:
        return study.add({"a": 1, "b": True}, 1.0)


def test_another_problem_is_refused_by_both_names_and_the_study_stays_as_it_is(tmp_path):
    add_one(open_study("one", tmp_path / "r.db", seed=3))
    before = (tmp_path / "r.db").read_bytes()
    for space in (SPACE, WIDER):
        with pytest.raises(StudyMismatch, match=r"study 'study' in .*r\.db has the problem 'one', not 'two'"):
            open_study("two", tmp_path / "r.db", space)
    assert (tmp_path / "r.db").read_bytes() == before


def test_the_same_problem_goes_on_also_where_its_space_has_changed(tmp_path):
    add_one(open_study("one", tmp_path / "r.db", seed=3))
    open_study("one", tmp_path / "r.db", bo.Space({"a": range(9), "b": bool})).close()
    with open_study("one", tmp_path / "r.db", bo.Space({"a": range(9), "b": bool})) as study:
        assert (len(study.trials), study.n_unread, study.seed) == (1, 0, 3)
    with pytest.raises(StudyMismatch, match="has the problem 'one'"):
        open_study("two", tmp_path / "r.db")


def test_a_study_or_a_call_without_a_problem_agrees_with_any(tmp_path):
    add_one(bo.Study(SPACE, method="random", storage=tmp_path / "r.db"))
    add_one(open_study("one", tmp_path / "r.db"))
    add_one(open_study("two", tmp_path / "r.db"))  # the study was made without one, and no row changes
    add_one(open_study("one", tmp_path / "r.db", name="other"))
    add_one(bo.Study(SPACE, method="random", storage=tmp_path / "r.db", name="other"))
    with bo.Study.load(tmp_path / "r.db", "other") as study:
        assert len(study.trials) == 2


def test_a_copy_is_of_the_problem_too(tmp_path):
    with open_study("one", tmp_path / "r.db") as study:
        study.save(tmp_path / "copy.db", name="copy")
    with pytest.raises(StudyMismatch, match="study 'copy'"):
        open_study("two", tmp_path / "copy.db", name="copy")


def test_another_method_is_called_so(tmp_path):
    open_study("one", tmp_path / "r.db").close()
    with pytest.raises(StudyMismatch, match=r"another method: method.name is 'random' there and 'annealing' here"):
        bo.Study.for_problem("one", SPACE, Goals(), method="annealing", storage=tmp_path / "r.db")
