"""What a study is and what its file says of it: descriptions, agreement, trials there and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct import methods
from bostruct.contracts import BostructError, Choice, ChoiceDomain, DomainError, PointError
from bostruct.domains import registry
from bostruct.domains.registry import as_domain
from bostruct.goals.declared import Goals
from bostruct.outcome import Outcome
from bostruct.storage.json_text import dump
from bostruct.storage.protocol import StorageError, StoredStudy, StudyMismatch, StudyRow
from bostruct.study.history import Trial
from bostruct.study.point_forms import PointForm
from bostruct.study.records import (
    JsonDomain,
    OtherVersion,
    check_agreement,
    check_domain,
    check_same_study,
    describe_method,
    encode_points,
    explain_rebuild,
    method_label,
    read_trial,
    readable_domain,
    stored_domain,
    stored_method,
    write_trial,
)
from bostruct.study.stored_searcher import readable_searcher
from tests.permutations import Permutations

MAXIMIZED = dump(Goals(("maximize",)).to_json())
SPACE = bo.Space({"a": ["x", "y"], "b": range(4)})
CONSTRAINED = bo.Space(SPACE.variables, [lambda p: p["b"] > 0])


def row_of(domain: Any = SPACE, method: Any = "random", **changes: Any) -> StudyRow:
    searcher = methods.searcher(method, domain)
    texts = [dump(one) for one in (domain.to_json(), describe_method(method, searcher), Goals().to_json())]
    made = {"domain": texts[0], "method": texts[1], "seed": 3, "goals": texts[2], "initial": "[]"}
    made |= {"state": dump(searcher.initial_state()), "version": bo.__version__}
    return StudyRow(name="mine", **(made | changes))


def test_a_dict_of_variables_is_a_space_and_a_domain_is_itself():
    assert as_domain(dict(SPACE.variables)) == SPACE
    assert as_domain(SPACE) is SPACE


@pytest.mark.parametrize("given_space", [[1, 2], "abc", 3, bo.Space, None])
def test_what_is_no_domain_is_refused(given_space):
    with pytest.raises(TypeError, match="space: expected a Space, a dict of variables or a bostruct"):
        as_domain(given_space)


def test_points_of_the_user_are_encoded_in_their_order():
    assert encode_points(SPACE, None) == []
    points = [{"a": "y", "b": 3}, {"a": "x", "b": 0}]
    encoded = json.loads(json.dumps(encode_points(SPACE, iter(points))))
    assert [SPACE.present(SPACE.decode(data)) for data in encoded] == points


@pytest.mark.parametrize(
    ("points", "error", "why"),
    [
        ({"a": "x", "b": 1}, TypeError, "initial_points: expected a sequence of points, got {'a'"),
        ("xy", TypeError, "initial_points: expected a sequence of points, got 'xy'"),
        (7, TypeError, "initial_points: expected a sequence of points, got 7"),
        ([{"a": "x", "b": 1}, {"a": "z", "b": 1}], PointError, r"initial_points\[1\]: .*'z'"),
    ],
)
def test_points_that_are_none_are_refused_by_their_position(points, error, why):
    with pytest.raises(error, match=why):
        encode_points(SPACE, points)


def test_a_domain_is_read_from_the_file_or_given_or_shown_as_it_is_stored():
    assert readable_domain(None, row_of()) == SPACE
    assert readable_domain(CONSTRAINED, row_of()) is CONSTRAINED
    assert isinstance(readable_domain(None, row_of(CONSTRAINED)), JsonDomain)
    assert stored_domain(row_of()) == SPACE
    with pytest.raises(DomainError, match=r"study 'mine': .* stored; pass the space to Study\.load as space="):
        stored_domain(row_of(CONSTRAINED))


@given(st.lists(st.dictionaries(st.text(max_size=2), st.one_of(st.integers(), st.none()), max_size=3), max_size=3))
def test_a_domain_of_json_shows_points_as_they_are_stored(points):
    domain = JsonDomain()
    assert [domain.present(domain.decode(domain.encode(x))) for x in points] == points
    assert domain.join(points, points) == points * 2
    keys = domain.keys(points)
    assert all((keys[i] == keys[j]) == (dump(a) == dump(b)) for i, a in enumerate(points) for j, b in enumerate(points))


def test_a_method_is_described_by_its_name_and_settings():
    searcher = methods.searcher("annealing", SPACE)
    by_name, by_object = (json.loads(dump(describe_method(one, searcher))) for one in ("annealing", searcher))
    assert by_name == {"name": "annealing", "searcher": "Annealing", "settings": dict(searcher.settings())}
    assert by_object == by_name | {"name": None}
    assert method_label(row_of(method="annealing")) == stored_method(row_of(method="annealing")) == "annealing"
    assert method_label(row_of(method=searcher)) == "Annealing"
    with pytest.raises(BostructError, match=r"study 'mine' was created with a Annealing object .* an equal object"):
        stored_method(row_of(method=searcher))


def test_the_state_of_a_method_is_read_only_where_its_settings_agree():
    stored = StoredStudy(row_of(method="annealing", state='"told"'), [])
    assert readable_searcher(None, SPACE, stored)[1] == '"told"'
    other = methods.searcher("random", SPACE)
    searcher, state = readable_searcher(other, SPACE, stored)
    assert (searcher, state) == (other, dump(other.initial_state()))
    with pytest.raises(DomainError, match="pass it: space= in Python"):
        readable_searcher(None, JsonDomain(), stored)


def test_a_searcher_of_another_domain_is_refused():
    searcher = methods.searcher("random", SPACE)
    assert check_domain(searcher, SPACE) is searcher
    with pytest.raises(ValueError, match=r"method: expected a searcher for .* got one for"):
        check_domain(searcher, bo.Space({"other": bool}))


@pytest.mark.parametrize(
    ("given_row", "why"),
    [
        (row_of(bo.Space({"a": ["x", "z"], "b": range(4)})), "another domain: .*'y'.* there and .*'z'.* here"),
        (row_of(bo.Space({"b": range(4), "a": ["x", "y"]})), "the order in domain.variables differs: a, b there, b, a"),
        (row_of(bo.Space({"a": ["x", "y"]})), r"domain\.variables\.b is \{.*\} there and missing here"),
        (row_of(bo.Space({"a": ["x", "y"], "b": range(4), "c": bool})), r"\.c is missing there and \{.*\} here"),
        (row_of(goals=MAXIMIZED), r"other goals: goals\.directions is \['minimize'\] there and \['maximize'\] here"),
        (row_of(method="annealing"), "another method: method.name is 'random' there and 'annealing' here"),
        (row_of(seed=4), "another seed: seed is 3 there and 4 here"),
        (row_of()._replace(domain=dump([1])), r"another domain: domain is .* there and \[1\] here"),
        (row_of(initial="[[0, 1]]"), "another initial_points: "),
    ],
)
def test_a_study_that_was_made_otherwise_is_refused_with_the_difference(given_row, why):
    with pytest.raises(StudyMismatch, match=why) as refused:
        check_agreement(row_of(), given_row, "runs.db")
    assert str(refused.value).startswith("study 'mine' in runs.db was created, by bostruct ")


def test_what_a_call_leaves_unsaid_agrees():
    stored = row_of(initial="[[0, 1]]")
    check_same_study(stored, row_of(seed=99), "runs.db", seed_given=False)
    check_same_study(stored, stored, "runs.db", seed_given=True)
    with pytest.raises(StudyMismatch, match="another seed"):
        check_same_study(stored, row_of(seed=99), "runs.db", seed_given=True)


def test_addresses_in_memory_make_no_difference():
    here, there = (with_setting(row_of(), f=f"<function f at {address}>") for address in ("0x7f01", "0x7e55a"))
    check_agreement(here, there, "runs.db")


def with_setting(row: StudyRow, **settings: Any) -> StudyRow:
    described = json.loads(row.method)
    return row._replace(method=dump(described | {"settings": described["settings"] | settings}))


def test_another_version_is_a_warning():
    stored = row_of(version="0.0.1")
    with pytest.warns(OtherVersion, match=r"created by bostruct 0\.0\.1; it continues with .* suggestions may differ"):
        check_same_study(stored, row_of(), "runs.db", seed_given=True)
    with pytest.warns(OtherVersion, match="with other settings of the method 'random'"):
        check_same_study(with_setting(stored, old=1), row_of(), "runs.db", seed_given=True)


def test_settings_of_a_searcher_object_must_agree_within_a_version():
    stored = row_of(method=methods.searcher("annealing", SPACE))
    other = with_setting(stored, made_up=1)
    with pytest.raises(StudyMismatch, match=r"method\.settings"):
        check_same_study(other, stored, "runs.db", seed_given=True)
    with pytest.warns(OtherVersion, match="with other settings of the method 'Annealing'"):
        check_same_study(other._replace(version="0.0.1"), stored, "runs.db", seed_given=True)


OUTCOMES = st.sampled_from([None, Outcome((-1.5,)), Outcome(failed="no oven"), Outcome(infeasible="too wide")])


@given(OUTCOMES, st.integers(0, 9), st.sampled_from([None, 12.5]), st.sampled_from([None, 3]))
def test_a_trial_comes_back_from_its_row_as_it_was(outcome, number, finished, told):
    status, value, reason = "running", None, None
    if outcome is not None:
        status, value, reason = outcome.status, outcome.value, outcome.reason
    x = SPACE.sample(1, np.random.default_rng(number))[0]
    trial = Trial(number, SPACE.present(x), status, value, reason, {"origin": "model", "n": 1}, 7.25, finished)
    row = write_trial(trial, 2, outcome, told, point=dump(SPACE.encode(x)))
    assert (row.told, row.attempts) == (told, 2)
    stored = read_trial(row, PointForm(SPACE), tuple(SPACE.variables), "runs.db")
    assert stored.create() == trial
    assert stored.kept == SPACE.key(x)


@pytest.mark.parametrize("damage", [{"point": "{"}, {"point": '["?"]'}, {"info": "nonsense"}, {"point": "3"}])
def test_a_trial_that_makes_no_sense_is_named_with_its_file(damage):
    trial = Trial(5, {"a": "x", "b": 1}, "running")
    row = write_trial(trial, 1, point=dump(SPACE.encode(SPACE.parse(trial.point))))._replace(**damage)
    with pytest.raises(StorageError, match=r"runs\.db: trial 5 cannot be read"):
        read_trial(row, PointForm(SPACE), tuple(SPACE.variables), "runs.db")


@dataclass(frozen=True)
class Named(Permutations):
    """A domain that shares its name with one that can do more."""

    def to_json(self) -> dict[str, Any]:
        return {"domain": "orders of test_records", "n": self.n}


class Chosen(Named, ChoiceDomain):
    """The domain that can do more: it has choices."""

    def coordinates(self, x: Any) -> list[Choice]:
        return [Choice(f"place {i}", "place", one, self.n, False) for i, one in enumerate(x)]

    def resample(self, x: Any, names: Sequence[str], rng: np.random.Generator) -> Any:
        return self.sample(1, rng)[0] if len(names) else x


def rebuild_named(data: Any) -> Named:
    return Named(data["n"])


@pytest.fixture
def own_builders(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr(registry, "BUILDERS", dict(registry.BUILDERS))


@pytest.mark.usefixtures("own_builders")
def test_a_domain_that_is_rebuilt_as_another_class_is_named(file: Path) -> None:
    bo.register_domain("orders of test_records", rebuild_named)
    domain = Chosen(4)
    bo.minimize(lambda order: order[0], domain, n_trials=4, method="wrs", seed=0, storage=file, progress=False)
    lacking = (
        r"^.*method: wrs needs .*, got Named, which is no bostruct\.contracts\.ChoiceDomain; auto, .* search Named"
    )
    says = "; its domain 'orders of test_records' is rebuilt as Named: if the domain has another class, regis"
    with pytest.raises(DomainError, match=f"{lacking}{says}"):
        bo.Study.load(file)
    with bo.Study.load(file, space=domain) as study:
        assert len(study.trials) == 4
    with pytest.raises(DomainError, match=f"{lacking}$"):
        bo.Study.load(file, space=Named(4))


def test_the_blame_of_a_rebuilt_domain_keeps_what_the_method_says():
    error = explain_rebuild(SPACE, row_of(), DomainError("method: combo cannot"))
    assert str(error).startswith("study 'mine': method: combo cannot; its domain 'space' is rebuilt as Space: ")


@pytest.mark.usefixtures("own_builders")
def test_a_builder_of_no_domain_is_told_what_a_domain_has() -> None:
    bo.register_domain("nothing of test_records", lambda _: SPACE.variables["a"])
    row = row_of()._replace(domain=dump({"domain": "nothing of test_records"}))
    with pytest.raises(DomainError, match=r"^study 'mine': space: expected a Space, .*; pass .* Study.load as space="):
        stored_domain(row)
