"""Studies opened with another space: what is still data, what is not, and what goes on record."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import networkx
import pytest

import bostruct as bo
from bostruct.contracts import BostructError, Suggestion
from bostruct.domains.space.points import read_contents
from bostruct.searchers.baselines import RandomSearch
from bostruct.storage.documents import MemoryStorage
from bostruct.storage.json_text import dump, parse
from bostruct.storage.protocol import StorageError, StudyMismatch
from bostruct.storage.sqlite import SqliteStorage
from bostruct.study.space_changes import SHOWN_REASONS, SpaceChanged, current_row, describe_change, group_reasons
from tests.stored import damage, forge

OLD = {"a": ["x", "y"], "b": bo.Integer(0, 5)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study of six trials, two values of each choice, and one trial that is running."""
    with bo.Study(OLD, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        for number in range(6):
            study.add({"a": "xy"[number % 2], "b": number}, float(number))
        study.ask()
    return tmp_path / "runs.db"


def open_study(file: Any, space: Any, **given: Any) -> bo.Study:
    return bo.Study(space, **({"method": "random", "seed": 0, "storage": file} | given))


def numbers_unread(study: bo.Study) -> list[int]:
    return [trial.number for trial in study.trials[:6] if trial.unread is not None]


def one_trial(before: Any, value: Any, after: Any) -> Any:
    """Return the trial that a study over one variable beside another shows once that variable changed."""
    place = MemoryStorage()
    with open_study(place, {"v": before, "w": bool}) as study:
        study.add({"v": value, "w": True}, 1.0)
    with warnings.catch_warnings(action="ignore", category=SpaceChanged):
        return open_study(place, {"v": after, "w": bool}).trials[0]


CYCLE, LONGER = networkx.cycle_graph(4), networkx.cycle_graph(6)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        (["x", "y"], "y", ["z", "y", "x"]),
        (["x", float("inf")], float("inf"), ["x", "y", float("inf")]),
        ([(1, 2), (3, 4)], (3, 4), [(5, 6), (3, 4)]),
        (bo.Ordinal([1, 2, 4]), 4, bo.Ordinal([1, 4, 8], weight=2.0)),
        (bo.Integer(0, 5), 3, bo.Integer(-2, 5000)),
        (bo.Integer(1, 9), 3, bo.Integer(2, 3, log=True)),
        (bo.Integer(1, 9), 3, bo.Real(0.5, 9.5)),
        (bo.Real(0.0, 1.0), 0.123456789123, bo.Real(-1e6, 1e6)),
        (bo.Real(0.0, 1.0), 0.25, bo.Real(0.1, 0.5, log=True)),
        (bool, True, [False, True, "maybe"]),
        (bo.Graph(CYCLE), 3, bo.Graph(LONGER)),
        (bo.Fidelity([1, 3, 9]), 3, bo.Fidelity([1, 3, 9, 27])),
    ],
)
def test_a_value_that_the_variable_still_has_is_read_and_shown_as_it_was(before: Any, value: Any, after: Any) -> None:
    trial = one_trial(before, value, after)
    assert trial.unread is None
    assert trial.point == {"v": value, "w": True}


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        (["x", "y"], "y", ["x", "z"]),
        (["x", float("inf")], float("inf"), ["x", float("-inf")]),
        ([(1, 2), (3, 4)], (3, 4), [(1, 2), (5, 6)]),
        (bo.Integer(0, 5), 5, bo.Integer(0, 4)),
        (bo.Real(0.0, 1.0), 0.75, bo.Real(0.0, 0.5)),
        (bo.Real(0.0, 1.0), 0.75, bo.Integer(0, 1)),
        (bo.Graph(LONGER), 5, bo.Graph(CYCLE)),
        (bo.Fidelity([1, 3, 9]), 9, bo.Fidelity([1, 3])),
    ],
)
def test_a_value_that_the_variable_has_no_more_is_no_data(before: Any, value: Any, after: Any) -> None:
    trial = one_trial(before, value, after)
    assert trial.unread.startswith("v: expected")
    assert trial.value == 1.0


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        (bo.Ordinal([1, 2, 4]), 4, bo.Ordinal([1, 2, 8])),
        (bo.Ordinal([0.0, 0.3, 0.4, 1.0]), 0.3, bo.Ordinal([0, 1])),  # an integer is no rounded number
        (bo.Ordinal([1, 2, 4]), 1, bo.Ordinal([0.9, 2, 4])),
        (bo.Ordinal([0.31, 0.29, 1.0]), 0.31, bo.Ordinal([0.3, 1.0])),  # two would round to it
        (bo.Ordinal([0.3, 1.0]), 0.3, bo.Ordinal([0.31, 0.29, 1.0])),
    ],
)
def test_a_level_that_is_no_more_is_no_data_and_the_nearest_is_said(before: Any, value: Any, after: Any) -> None:
    trial = one_trial(before, value, after)
    assert trial.unread.startswith("v: expected")
    assert "the nearest is" in trial.unread
    assert trial.value == 1.0


def labeled(labels: list[float]) -> bo.Candidates:
    return bo.Candidates({"label": labels, "x": range(len(labels))}, label="label")


THIRDS, ROUNDED = [0.0, 1 / 3, 2 / 3, 1.0], [0.0, 0.33, 0.67, 1.0]


@pytest.mark.parametrize(
    ("before", "value", "after", "expected"),
    [
        (bo.Ordinal(THIRDS), 1 / 3, bo.Ordinal(ROUNDED), 0.33),
        (bo.Ordinal(ROUNDED), 0.33, bo.Ordinal(THIRDS), 1 / 3),
        (bo.Categorical(["a", *THIRDS]), 1 / 3, bo.Ordinal(ROUNDED), 0.33),
        (bo.Subset(THIRDS, size=1), (1 / 3,), bo.Subset([*ROUNDED, 2.0], size=1), (0.33,)),
        (bo.Permutation(ROUNDED), (0.33, 0.0, 0.67, 1.0), bo.Permutation(THIRDS), (1 / 3, 0.0, 2 / 3, 1.0)),
        (bo.Sequence(ROUNDED, length=2), (0.33, 0.0), bo.Sequence(THIRDS, length=2), (1 / 3, 0.0)),
        (labeled(THIRDS), 1 / 3, labeled(ROUNDED), 0.33),
        ({"u": bo.Ordinal(ROUNDED)}, {"u": 0.33}, {"u": bo.Ordinal(THIRDS)}, {"u": 1 / 3}),
    ],
)
def test_rounded_numbers_are_read_and_noted_once(before: Any, value: Any, after: Any, expected: Any) -> None:
    place = MemoryStorage()
    with open_study(place, {"v": before, "w": bool}) as study:
        for flag in (True, False):
            study.add({"v": value, "w": flag}, 1.0)
    says = r"listed numbers that round to them, .*\n- v(: u)?: [24] such, the first 0\.33"
    with pytest.warns(UserWarning, match=says) as said:
        open_study(place, {"v": after, "w": bool}).close()
    assert len(said) == 1
    with open_study(place, {"v": after, "w": bool}) as study:  # another warning would be an error
        assert [trial.point["v"] for trial in study.trials] == [expected] * 2
        assert study.n_unread == 0


KINDS: list[tuple[Any, Any]] = [
    (bo.Binary(default=True), True),
    (bo.Categorical(["p", None], default=None), None),
    (bo.Ordinal([1, 2, 4], default=2), 2),
    (bo.Integer(0, 9, default=7), 7),
    (bo.Integer(1, 10**6, log=True, default=10), 10),
    (bo.Real(0.0, 1.0, default=0.25), 0.25),
    (bo.Fidelity([1, 3], default=3), 3),
    (bo.Graph(CYCLE, default=2), 2),
]


def test_the_trials_of_a_removed_variable_return_with_a_default(file: Path) -> None:
    with pytest.warns(SpaceChanged, match=r"\n- a: .* 'x', because it has no such variable; open the study once with"):
        open_study(file, {"b": bo.Integer(0, 5)}).close()
    open_study(file, OLD | {"a": bo.Categorical(["x", "y"], default="x")}).close()
    with (
        pytest.warns(SpaceChanged, match="which is not its default"),
        open_study(file, {"b": bo.Integer(0, 5)}) as study,
    ):
        assert numbers_unread(study) == [1, 3, 5]


@pytest.mark.parametrize(("variable", "default"), KINDS, ids=lambda one: getattr(one, "kind", None))
def test_each_kind_is_gained_with_its_default_and_lost_where_it_has_it(file: Path, variable: Any, default: Any) -> None:
    with open_study(file, OLD | {"new": variable}) as study:
        assert [trial.point["new"] == default for trial in study.trials] == [True] * 7
        other = next(x for x in variable.choices if x != default)
        study.add({"a": "x", "b": 0, "new": default}, 1.0)
        study.add({"a": "x", "b": 0, "new": other}, 1.0)
    with pytest.warns(SpaceChanged, match=r"1 of 9 .*\n- new: the space cannot represent .*, which is not its default"):
        study = open_study(file, OLD)
    with study:
        assert [trial.unread is None for trial in study.trials] == [True] * 8 + [False]
        assert study.trials[7].point == {"a": "x", "b": 0}


def test_a_variable_without_a_default_leaves_no_old_trial_and_all_of_them_are_kept(file: Path) -> None:
    before = SqliteStorage(file).read(None).trials
    says = r"7 of 7 trials .* the method ignores them:\n- new: .* no value for this variable, which has no default="
    with pytest.warns(SpaceChanged, match=says) as said:
        study = open_study(file, OLD | {"new": bool})
    assert len(said) == 1
    with study:
        assert study.n_unread == 7
        assert "7 trials, 7 of them not in its space" in repr(study)
        assert study.trials[2].point == {"a": "x", "b": 2}
        assert study.trials[2].value == 2.0
        assert study.incumbent is None
        assert len(study._ledger.history().completed) == len(study._ledger.history().seen) == 0
        with pytest.raises(BostructError, match="no completed trial can be read in the study's space: 7 of 7 trials"):
            study.best_trial  # noqa: B018
        study.tell(study.ask(), 40.0)
        assert study.best_trial.number == 7
        assert study.result.recommended.trial.number == 7
        assert "7 of 8 trials are not in the space" in repr(study.result)
    assert SqliteStorage(file).read(None).trials[:7] == [one._replace(attempts=one.attempts) for one in before]


@pytest.mark.filterwarnings("ignore::bostruct.SpaceChanged")
def test_conditions_are_gained_and_lost(file: Path) -> None:
    with open_study(file, {"a": ["x", "y"], "b": bo.Integer(0, 5, when={"a": "x"}, default=1)}) as study:
        assert numbers_unread(study) == [3, 5]  # y with another value than the default
        assert study.trials[1].point == {"a": "y"}
    with open_study(file, OLD) as study:
        assert numbers_unread(study) == []
    with open_study(file, OLD | {"c": bo.Integer(0, 3, when={"a": "y"})}) as study:
        assert numbers_unread(study) == [1, 3, 5]  # `when` excludes it for the others
        study.add({"a": "y", "b": 0, "c": 2}, 0.0)
    with open_study(file, OLD | {"c": bo.Integer(0, 3, default=0)}) as study:
        assert study.n_unread == 0
        assert [trial.point["c"] for trial in study.trials] == [0] * 7 + [2]


def test_a_constraint_leaves_out_what_breaks_it(file: Path) -> None:
    with pytest.warns(SpaceChanged, match="breaks the constraint small"):
        study = open_study(file, bo.Space(OLD, [small]))
    with study:
        assert numbers_unread(study) == [3, 4, 5]
    with bo.Study.load(file, read_only=True) as study:  # which has no code
        assert numbers_unread(study) == [3, 4, 5]
        assert study.incumbent is not None
    with open_study(file, OLD) as study:
        assert study.n_unread == 0


def small(point: dict[str, Any]) -> bool:
    return point["b"] < 3


@pytest.mark.filterwarnings("ignore::bostruct.SpaceChanged")
def test_a_space_with_a_function_is_read_without_it_after_a_change(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    old = {"a": [1, 2, 3], "b": bo.Binary(when={"a": lambda a: a > 1}), "c": ["x", "y"]}
    new = {"a": [1, 2], "b": old["b"], "d": bo.Ordinal([4, 5], default=4)}
    with open_study(file, old) as study:
        study.add({"a": 2, "b": True, "c": "x"}, 1.0)
        study.add({"a": 1, "c": "y"}, 2.0)
    with open_study(file, old | {"c": bo.Categorical(["x", "y"], default="x")}) as study:
        study.add({"a": 3, "b": False, "c": "x"}, 3.0)
    with open_study(file, new) as study:
        study.add({"a": 2, "b": True, "d": 5}, 0.0)
    with bo.Study.load(file, read_only=True) as study:  # which has no code, and as many names as before
        assert numbers_unread(study) == [1, 2]
        points = [trial.point for trial in study.trials]
    assert points[0] == {"a": 2, "b": True, "c": "x"}
    assert points[2:] == [{"a": 3, "b": False, "c": "x"}, {"a": 2, "b": True, "d": 5}]


def test_grown_and_shrunk_back_is_what_it_was(file: Path) -> None:
    with bo.Study.load(file) as study:
        before = study.trials
    with pytest.warns(SpaceChanged):
        open_study(file, {"a": ["y", "z"], "b": bo.Integer(0, 2)}).close()
    with open_study(file, {"a": ["y", "z"], "b": bo.Integer(0, 2)}) as study:  # nothing is said again
        assert numbers_unread(study) == [0, 2, 3, 4, 5]
    with open_study(file, OLD) as study:
        assert study.trials == before
        assert [change.trials for change in study.space_changes] == [7, 7]


class Counting(RandomSearch):
    """A search whose state must be that of its own space."""

    def initial_state(self) -> Any:
        return {"size": self.domain.size, "n": 0}

    def suggest(self, history: Any, state: Any, rng: Any) -> Any:
        assert state["size"] == self.domain.size
        found = super().suggest(history, state, rng)
        return Suggestion(found.point, {"size": state["size"], "n": state["n"] + 1}, found.info)


def test_the_state_of_another_space_is_not_used(file: Path) -> None:
    small_space, large = bo.Space({"a": bool}), bo.Space({"a": bool, "b": bo.Integer(0, 9, default=0)})
    with open_study(file, small_space, method=Counting(small_space), name="mine") as study:
        study.tell(study.ask(), 1.0)
    with open_study(file, large, method=Counting(large), name="mine") as study:
        assert parse(study._ledger.state) == {"size": 20, "n": 0}
        study.ask()


GROWN = {"a": ["x", "y", "z"], "b": bo.Integer(0, 9), "c": bo.Real(0.0, 1.0, default=0.5)}


def value(point: dict[str, Any]) -> float:
    return "xyz".index(point["a"]) + point["b"] / 7 + point.get("c", 0.5)


@pytest.mark.parametrize("method", ["auto", "annealing"])
def test_a_grown_study_that_is_resumed_equals_one_that_was_not(tmp_path: Path, method: str) -> None:
    points = []
    for cuts in ((12,), (5, 6, 8, 12)):
        file = tmp_path / f"{len(cuts)}.db"
        bo.minimize(value, OLD, 4, method=method, seed=1, storage=file)
        for n_trials in cuts:
            bo.minimize(value, GROWN, n_trials, method=method, seed=1, storage=file)
        with bo.Study.load(file) as study:
            points.append([(trial.point, trial.value) for trial in study.trials])
    assert points[0] == points[1]
    assert len(points[0]) == 12


@pytest.mark.filterwarnings("ignore::bostruct.SpaceChanged")
def test_a_running_trial_is_told_where_it_is_in_the_space_and_refused_where_not(file: Path) -> None:
    with open_study(file, GROWN) as study:
        trial = study.ask()
        assert (trial.number, trial.point["c"]) == (6, 0.5)
    with open_study(file, {"a": ["x", "y"], "new": bool}) as study:
        with pytest.raises(ValueError, match="trial: expected a trial in the study's space, but trial 6 is not"):
            study.tell(6, 1.0)
        assert study.ask().number == 7
    with open_study(file, GROWN | {"new": bo.Binary(default=False)}) as study:
        assert study.tell(study.ask(), 3.0).number == 6
    told = SqliteStorage(file).read(None).trials[6].outcome
    assert told is not None
    assert told.value == 3.0


def test_a_saved_copy_holds_the_changes_and_the_points_as_they_were_stored(file: Path, tmp_path: Path) -> None:
    with open_study(file, GROWN) as study:
        study.requeue(study.ask())
        study.save(tmp_path / "copy.db")
        expected = study.trials
    stored, copy = (SqliteStorage(path).read(None) for path in (file, tmp_path / "copy.db"))
    assert copy.changes == stored.changes
    assert [one.point for one in copy.trials] == [one.point for one in stored.trials]
    with bo.Study.load(tmp_path / "copy.db") as study:
        assert study.trials[:6] == expected[:6]
        assert study.domain == bo.Space(GROWN)


def test_what_the_file_says_of_a_change(file: Path) -> None:
    with pytest.warns(SpaceChanged):
        open_study(file, bo.Space({"b": bo.Integer(0, 3), "a": ["x", "y"]})).close()
    stored = SqliteStorage(file).read(None)
    change = stored.changes[0]
    assert parse(stored.study.domain) == json.loads(json.dumps(bo.Space(OLD).to_json()))
    assert parse(current_row(stored).domain)["variables"]["b"] == {"kind": "Integer", "low": 0, "high": 3}
    assert (change.trials, change.version) == (7, bo.__version__)
    assert parse(change.unread)["4"] == "b: expected one of [0, 1, 2, 3], got 4; the nearest is 3"
    assert describe_change(stored.study.domain, change.domain) == "changed b"
    assert describe_change(change.domain, dump(bo.Space(GROWN, [small]).to_json())) == (
        "gained c; changed a, b; constraints 0 to 1"
    )
    turned = dump(bo.Space(dict(reversed(GROWN.items()))).to_json())
    assert describe_change(dump(bo.Space(GROWN).to_json()), turned) == "another order"
    assert describe_change(turned, turned) == "a predicate"


@pytest.mark.filterwarnings("ignore::bostruct.SpaceChanged")
def test_initial_points_follow_the_space(tmp_path: Path) -> None:
    points = [{"a": "x", "b": 5}, {"a": "y", "b": 0}]
    file = tmp_path / "runs.db"
    open_study(file, OLD, initial_points=points).close()
    narrow = {"a": ["x", "y"], "b": bo.Integer(0, 3), "c": bo.Binary(default=True)}
    with open_study(file, narrow) as study:
        assert study.ask().point == {"a": "y", "b": 0, "c": True}
    with open_study(file, OLD, initial_points=points) as study:
        study.ask()
        assert study.ask().point == {"a": "x", "b": 5}


@pytest.mark.parametrize(
    ("space", "given", "message"),
    [
        ({"z": [1, 2]}, {}, "with another domain"),
        (GROWN, {"seed": 1}, "with another seed"),
        (GROWN, {"method": "annealing"}, "with another method"),
        (GROWN, {"direction": "maximize"}, "with other goals"),
        (bo.mlp_domain(), {}, "with another domain"),
    ],
)
def test_what_is_no_change_of_the_space_alone_is_refused(file: Path, space: Any, given: Any, message: str) -> None:
    before = file.read_bytes()
    with pytest.raises(StudyMismatch, match=message):
        open_study(file, space, **given)
    assert file.read_bytes() == before


DISORDER = "its trials differ from what was written last"


@pytest.mark.parametrize(
    ("change_file", "statement", "values", "message"),
    [
        (damage, 'UPDATE changes SET unread = \'{"0": "a"}\'', (), "change 0 of its space is damaged"),
        (damage, "DELETE FROM changes", (), DISORDER),
        (damage, "DELETE FROM trials WHERE number = 6", (), DISORDER),
        (forge, "UPDATE trials SET point = '{\"a\": 1}' WHERE number = 2", (), "trial 2 cannot be read"),
        (forge, "UPDATE changes SET domain = ?", ("[]",), "domain: got"),
        (forge, "UPDATE changes SET domain = ?", ("{",), "domain"),
        (forge, "UPDATE changes SET method = ?", ("{}",), "method: got"),
        (forge, "UPDATE changes SET initial = ?", ("{}",), "initial: got"),
        (forge, "UPDATE changes SET initial = ?", ('[{"q": 1}]',), "initial"),
        (forge, "UPDATE changes SET trials = ?", (99,), "its space changed after .99. of 7 trials; restore"),
        (forge, "UPDATE changes SET trials = ?", (-1,), "trials: expected an integer from 0"),
        (forge, "UPDATE changes SET unread = ?", ("[1]",), "unread: expected reasons by number"),
        (forge, "UPDATE changes SET unread = ?", ('{"0": 3}',), "unread: expected reasons by number"),
        (forge, "UPDATE changes SET unread = ?", (b"\0",), "unread: expected text"),
        (forge, "UPDATE changes SET number = ?", (3,), "number: expected 0, got 3"),
    ],
)
def test_a_damaged_or_forged_change_is_refused_by_its_column(file, change_file, statement, values, message):
    open_study(file, GROWN).close()
    change_file(file, statement, values=values)
    for read_only in (True, False):
        with pytest.raises(StorageError, match=message):
            bo.Study.load(file, read_only=read_only)


def test_reading_with_another_space_leaves_the_file_as_it_is(file: Path) -> None:
    before = file.read_bytes()
    with bo.Study.load(file, space={"a": ["x", "z"], "b": bo.Integer(0, 5)}, read_only=True) as study:
        assert numbers_unread(study) == [1, 3, 5]
        assert study.result.recommended.trial.number == 0
    assert file.read_bytes() == before


def test_a_table_of_trials_says_which_are_not_read(file: Path) -> None:
    with pytest.warns(SpaceChanged), open_study(file, {"a": ["x", "z"], "b": bo.Integer(0, 5)}) as study:
        rows = study.result.history.rows()
    assert rows[1]["unread"] == "a: expected one of ['x', 'z'], got 'y'"
    assert "unread" not in rows[0]


@pytest.mark.parametrize("first", [{}, {"default": 1}])
def test_the_last_default_of_a_lost_variable_counts(first: dict[str, int]) -> None:
    """Old trials had no default, or another one, when they were asked."""
    place, before = MemoryStorage(), {"x": bo.Real(0.0, 1.0), "q": bo.Ordinal([1, 2, 4], **first)}
    with open_study(place, before) as study:
        for q in (1, 2, 4):
            study.add({"x": 0.5, "q": q}, value=float(q))
    open_study(place, before | {"q": bo.Ordinal([1, 2, 4], default=2)}).close()
    with pytest.warns(bo.SpaceChanged), open_study(place, {"x": bo.Real(0.0, 1.0)}) as study:
        assert [trial.value for trial in study.trials if trial.unread is None] == [2.0]


def test_a_condition_whose_predicate_changed_leaves_out_what_it_contradicts() -> None:
    place = MemoryStorage()

    def make(least: float) -> dict[str, Any]:
        return {"a": bo.Real(0.0, 1.0), "b": bo.Real(0.0, 1.0, when={"a": lambda a: a > least})}

    with open_study(place, make(0.5)) as study:
        for point in ({"a": 0.6, "b": 0.1}, {"a": 0.9, "b": 0.2}, {"a": 0.1}):
            study.add(point, value=1.0)
    with pytest.warns(bo.SpaceChanged, match="1 of 3 trials"), open_study(place, make(0.8)) as study:
        assert numbers_unread(study) == [0]
    for least, unread in ((0.8, [0]), (0.5, [])):
        with open_study(place, make(least)) as study:
            assert numbers_unread(study) == unread


def test_a_change_that_a_caller_refuses_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "own.db"
    with open_study(file, {"k": ["a", "b"]}) as study:
        study.add({"k": "a"}, value=1.0)
    for _ in range(2):
        with pytest.raises(bo.SpaceChanged):
            open_study(file, {"k": ["b", "c"]})
    with open_study(file, {"k": ["a", "b"]}) as study:
        assert not study.space_changes


def test_the_warning_has_one_line_for_each_variable_or_constraint_however_many_trials_there_are() -> None:
    def is_even(point: dict[str, Any]) -> bool:
        return point["b"] % 2 == 0

    place = MemoryStorage()
    with bo.Study({"a": ["x", "y"], "b": bo.Integer(0, 999)}, method="random", seed=0, storage=place) as study:
        for b in range(300):
            study.add({"a": "xy"[b % 3 == 0], "b": b}, 0.0)
    with pytest.warns(SpaceChanged) as said:
        open_study(place, bo.Space({"a": ["x", "z"], "b": bo.Integer(0, 99)}, [is_even])).close()
    assert said[0].filename == open_study.__code__.co_filename  # where the study is opened
    first, *lines = str(said[0].message).splitlines()
    assert first.endswith("the method ignores them:")
    assert lines[0].startswith("- b: expected one of [0, 1, 2, ")
    assert lines[0].endswith(", got 100; the nearest is 99 (trial 100; 134 such)")
    assert lines[1:] == [
        "- a: expected one of ['x', 'z'], got 'y' (trial 0; 100 such)",
        "- point: {'a': 'x', 'b': 1} breaks the constraint is_even (trial 1; 33 such)",
    ]


def test_a_variable_of_an_earlier_space_has_one_line() -> None:
    place, after = MemoryStorage(), {"b": bool}
    with open_study(place, after | {"width": bo.Integer(1, 2000), "d": {"w": [3, 1332]}}) as study:
        for width in (3, 1332):
            study.add({"b": True, "width": width, "d": {"w": 3}}, 0.0)
            study.add({"b": True, "width": 5, "d": {"w": width}}, 0.0)
    for space in (after, after | {"c": bo.Binary(default=True)}):
        with pytest.warns(SpaceChanged, match=r"(?s)^[^\n]*\n- width:[^\n]*\(trial 0; 4 such\)$"):
            open_study(place, space).close()


@pytest.mark.parametrize("search", [bo.minimize, bo.maximize])
def test_the_warning_points_to_the_code_that_gave_the_space(search: Any) -> None:
    given = {"method": "random", "seed": 0, "storage": MemoryStorage()}
    search(lambda point: point["a"], {"a": range(9)}, 5, **given)
    with pytest.warns(SpaceChanged) as said:
        search(lambda point: point["a"], {"a": range(2)}, 5, **given)
    assert said[0].filename == __file__
    with pytest.warns(SpaceChanged) as said:
        bo.Study({"a": range(2, 4)}, direction=search.__name__, **given).close()
    assert said[0].filename == __file__


def test_reasons_beyond_the_first_are_counted() -> None:
    contents = [read_contents(bo.Space({f"v{i}": bool for i in range(SHOWN_REASONS + 3)}).to_json())]
    unread = {str(i): f"v{i}: expected {i}" for i in range(SHOWN_REASONS + 3)} | {"99": "v4: expected 9"}
    lines = group_reasons(unread, contents).splitlines()[1:]
    assert lines[0] == "- v4: expected 4 (trial 4; 2 such)"
    assert len(lines) == SHOWN_REASONS + 1
    assert lines[-1] == "- and 3 more variables or constraints"


class Racing(SqliteStorage):
    """A file whose space another handle changes right before this one becomes its writer."""

    def begin(self, row: Any) -> Any:
        open_study(self._path, GROWN).close()
        return super().begin(row)


def test_a_space_that_another_handle_changed_meanwhile_is_not_written_back(file: Path) -> None:
    for _ in range(2):  # the second change is the same again, and so none
        with bo.Study.load(Racing(file)) as study:
            assert study.domain == bo.Space(GROWN)
            assert len(study.space_changes) == 1
    with bo.Study.load(Racing(file), space=OLD) as study:  # a space that the caller gives is the caller's
        assert study.domain == bo.Space(OLD)


@pytest.mark.parametrize("default", [{"default": 3}, {}])
def test_a_trial_that_the_default_before_kept_stays_data_when_the_study_is_opened_again(default: Any) -> None:
    place = MemoryStorage()
    with open_study(place, OLD | {"b": bo.Integer(0, 5, default=2)}) as study:
        study.add({"a": "y", "b": 2}, 1.0)
    for _ in range(2):
        with open_study(place, OLD | {"b": bo.Integer(0, 5, when={"a": "x"}, **default)}) as study:
            assert [(trial.unread, trial.point) for trial in study.trials] == [(None, {"a": "y"})]
    assert len(study.space_changes) == 1


def test_escape_sequences_in_names_reach_no_terminal() -> None:
    place, name = MemoryStorage(), "old\x1b]0;pwn\x07"
    with open_study(place, {name: ["v", "w"]}) as study:
        study.add({name: "w"}, 1.0)
    with pytest.warns(SpaceChanged) as caught:
        open_study(place, {name: ["v", "u"]}).close()
    said = str(caught[0].message)
    assert "\x1b" not in said
    assert r"- old\x1b]0;pwn\x07: expected one of" in said


LETTERS = list("abcd")
PATH = [("a", "b"), ("b", "c"), ("c", "d")]
STRUCTURES = {
    "an item more in a subset": (bo.Subset(LETTERS, 2), bo.Subset([*LETTERS, "e"], 2), 0),
    "more sizes and a graph": (bo.Subset(LETTERS, 2), bo.Subset(LETTERS, (1, 3), graph=PATH), 0),
    "a letter more, and more lengths": (bo.Sequence("AC", (2, 4)), bo.Sequence("ACG", (1, 6)), 0),
    "a row more": (bo.Candidates({"x": [1.0, 2.0, 3.0]}), bo.Candidates({"x": [1.0, 2.0, 3.0, 4.0]}), 0),
    "the items of an order in another one": (bo.Permutation(LETTERS), bo.Permutation(LETTERS[::-1]), 0),
    "an item more in an order": (bo.Permutation(LETTERS), bo.Permutation([*LETTERS, "e"]), 6),
    "an item more to choose from": (bo.Permutation(LETTERS, length=2), bo.Permutation([*LETTERS, "e"], length=2), 0),
    "another length": (bo.Permutation(LETTERS), bo.Permutation(LETTERS, length=3), 6),
    "another structure": (bo.Subset(LETTERS, 2), bo.Permutation(LETTERS), 6),
}


@pytest.mark.filterwarnings("ignore::bostruct.SpaceChanged")
@pytest.mark.parametrize(("before", "after", "n_unread"), STRUCTURES.values(), ids=STRUCTURES)
def test_structures_that_grow_keep_their_trials_except_orders(before, after, n_unread, tmp_path):
    with open_study(tmp_path / "runs.db", {"value": before, "k": [1, 2, 3]}) as study:
        study.optimize(lambda _: 1.0, 6)
    with open_study(tmp_path / "runs.db", {"value": after, "k": [1, 2, 3]}) as study:
        assert study.result.n_unread == n_unread
