"""Mixtures and allocations: values that sum to a total, what users may give, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import bostruct as bo
from bostruct.contracts import AtLeast, DomainError, Exact, PointError
from bostruct.domains.space.mixture import Allocation, Mixture
from bostruct.testing import check_domain, check_variable

LARGE = [
    Mixture(list("abc")),
    Mixture(list("abcd"), total=100, bounds={"a": (10, 40), "b": (0, 30)}),
    Mixture(list("abcdef"), max_parts=3, min_share=0.05),
    Mixture(list("abcde"), bounds=(0.1, 0.9), max_parts=3, required=["a"]),
    Allocation(list("abcde"), 20),
    Allocation(list("abc"), 10**6, max_parts=2),
]
SMALL = [
    Allocation(list("abc"), 4),
    Allocation(list("abc"), 3, slack=True),
    Allocation(list("abcd"), 4, max_parts=2),
    Allocation(list("abcd"), 6, bounds=(2, 5), max_parts=2, slack=True),
]


@pytest.mark.parametrize("variable", [*LARGE, *SMALL], ids=repr)
def test_sums_obey_the_law_of_variables(variable):
    check_variable(variable, np.random.default_rng(0))


@pytest.mark.parametrize("variable", [*LARGE, *SMALL[-1:]], ids=repr)
def test_a_space_of_sums_obeys_the_law_of_domains(variable):
    space = bo.Space({"m": variable, "k": ["x", "y"], "r": bo.Real(0, 1)})
    check_domain(space, np.random.default_rng(0))
    check_domain(bo.Space({"k": bool, "m": type(variable).from_json(variable.describe())}), np.random.default_rng(0))


class Leaking(Mixture):
    """A mixture with a fault: a neighbor loses a billionth."""

    def neighbors(self, columns, large_steps=False):
        found = super().neighbors(columns, large_steps)
        found[0, 0] -= 1
        return found


class Biased(Allocation):
    """An allocation with a fault: values with more of the first item are drawn more often."""

    def sample(self, m, rng):
        first, second = super().sample(m, rng), super().sample(m, rng)
        return np.where(first[:, :1] > second[:, :1], first, second)


@pytest.mark.parametrize(
    ("variable", "law"),
    [
        (Leaking(list("abc")), "columns of a value"),
        (Biased(list("abc"), 4), "sample draws values uniformly"),
    ],
)
def test_faults_are_found(variable, law):
    with pytest.raises(AssertionError, match=law):
        check_variable(variable, np.random.default_rng(0))


@pytest.mark.parametrize("total", [1.0, 100.0, 0.7, 3.3e-5, 1e7])
def test_shares_sum_to_the_total_exactly_also_after_json(total):
    thirds = Mixture(list("abcdefg"), total=total, bounds={"a": (0, total / 3)}, max_parts=5)
    for row in thirds.sample(300, np.random.default_rng(0)).tolist():
        shown = thirds.present(row)
        assert math.fsum(shown.values()) == total
        assert 0 <= shown["a"] <= total / 3
        assert thirds.decode(json.loads(json.dumps(thirds.encode(row)))) == row


def test_parts_are_fixed_by_equal_bounds():
    fixed = Mixture(list("abcd"), bounds={"a": (1 / 3, 1 / 3), "b": (1 / 7, 1 / 7)})
    for row in fixed.sample(100, np.random.default_rng(0)).tolist():
        shown = fixed.present(row)
        assert (shown["a"], shown["b"], math.fsum(shown.values())) == (1 / 3, 1 / 7, 1.0)
        assert fixed.parse(shown) == row


def test_many_parts_are_drawn():
    many = Allocation([f"p{i}" for i in range(300)], 2_000).sample(20, np.random.default_rng(0))
    assert (many.sum(axis=1) == 2_000).all()
    assert many.mean() == pytest.approx(20 / 3)
    high = {f"p{i}": (0, 0.001 if i < 180 else 0.052) for i in range(200)}
    sparse = Mixture(list(high), bounds=high, max_parts=20)  # all of the last twenty are needed
    assert (sparse.sample(5, np.random.default_rng(0))[:, 180:] > 0).all()


@pytest.mark.parametrize("new", [{"sum_tolerance": 0.01}, {"parts": list("cba")}, {"parts": list("abcd")}])
def test_trials_stay_when_a_mixture_changes(tmp_path, new):
    def objective(point):
        return point["m"]["a"]

    settings = {"seed": 0, "storage": tmp_path / "runs.db", "method": "random"}
    before = bo.minimize(objective, {"m": Mixture(list("abc"))}, n_trials=4, **settings)
    after = bo.minimize(objective, {"m": Mixture(**({"parts": list("abc")} | new))}, n_trials=5, **settings)
    assert [trial.value for trial in after.trials[:4]] == [trial.value for trial in before.trials]
    assert after.n_unread == 0


def test_values_near_the_total_are_rescaled():
    mix = Mixture(["a", "b", "c"])
    assert mix.present(mix.parse({"a": 0.2, "b": 0.3, "c": 0.5000004}))["c"] == pytest.approx(0.5000002)
    assert mix.present(mix.parse({"a": 1})) == {"a": 1.0, "b": 0.0, "c": 0.0}
    loose = Mixture(["a", "b"], total=100, sum_tolerance=0.05)
    assert loose.present(loose.parse({"a": 52, "b": 52})) == {"a": 50.0, "b": 50.0}
    assert mix.parse({"a": 0.1, "b": 0.2, "c": 0.7}) == mix.parse({"a": 0.1 + 1e-11, "b": 0.2, "c": 0.7 - 1e-11})


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (LARGE[0], {"a": 30, "b": 30, "c": 40}, "a sum of 100; for shares that sum to 100, pass total=100"),
        (LARGE[0], {"a": 0.1, "b": 0.4, "c": 0.51}, "a sum of 1.01; Mixture\\(..., sum_tolerance=0.01\\)"),
        (LARGE[0], {"a": 0.5, "d": 0.5}, "unknown part 'd'"),
        (LARGE[0], {"a": "x"}, "a: expected a number"),
        (LARGE[0], {"a": 10**400}, "a: expected a number"),
        (Mixture(["a", "b"], sum_tolerance=1), {"a": 0, "b": 0}, "a sum of 0"),
        (Mixture(["a", "b"], sum_tolerance=0.1, bounds={"a": (0, 0.3)}), {"a": 0.39, "b": 0.61}, "from 0 to 0.3, got"),
        (LARGE[0], [0.5, 0.5, 0], "expected a dict of 3 parts"),
        (LARGE[1], {"a": 0.2, "b": 0.4, "d": 0.4}, "pass total=1$"),
        (LARGE[1], {"a": 5, "b": 25, "c": 70}, "a: expected a number from 10 to 40, got 5"),
        (LARGE[2], dict.fromkeys("abcd", 0.25), "at most 3 parts above 0, got a, b, c, d"),
        (LARGE[2], {"a": 0.01, "b": 0.99}, "a: expected 0, or a number from 0.05"),
        (SMALL[0], {"a": 2, "b": 1}, "sum to 4, got a sum of 3"),
        (SMALL[1], {"a": 4}, "sum to at most 3, got a sum of 4"),
        (SMALL[0], {"a": 1.5, "b": 2.5}, "a: expected an integer"),
    ],
)
def test_what_is_no_value_is_refused_in_words(variable, value, message):
    with pytest.raises(PointError, match=message):
        bo.Space({"m": variable}).parse({"m": value})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Mixture(["a", "a"]), "'a' twice"),
        (lambda: Mixture("ab"), "a list of names"),
        (lambda: Mixture(["a"]), "2 to 1000 names"),
        (lambda: Mixture(["a", "b"], bounds=(0, 0.3)), "at most 0.6"),
        (lambda: Mixture(["a", "b"], bounds=(0.6, 1)), "they sum to 1.2"),
        (lambda: Mixture(["a", "b"], bounds=(0.5, 0.5)), "leave one"),
        (lambda: Mixture(["a", "b"], bounds={"c": (0, 1)}), "unknown part 'c'"),
        (lambda: Mixture(["a", "b"], bounds={"a": (0.5, 0.2)}), "low <= high"),
        (lambda: Mixture(["a", "b", "c"], bounds=(0, 0.4), max_parts=2), "2 parts sum to at most 0.8"),
        (lambda: Mixture(["a", "b"], bounds=(0, 0.5), min_share=0.6), "of at least 0.6"),
        (lambda: Mixture(["a", "b"], total=0), "above 0"),
        (lambda: Mixture(["a", "b"], bounds={"a": (10, 40)}), "Mixture: bounds: a: .* pass total=100"),
        (lambda: Mixture(["a", "b"], required=5), "Mixture: required: expected names of parts, got 5"),
        (lambda: Mixture(["a", "b"], required=["c"]), "Mixture: required: unknown part 'c'"),
        (lambda: Allocation(["a", "b"], 5, bounds=(0, 2.5)), "integers"),
        (lambda: Allocation(["a", "b"], 5, bounds=(0, 2)), "at most 4"),
    ],
)
def test_what_is_no_variable_is_refused_at_construction(build, message):
    with pytest.raises(DomainError, match=message):
        build()


@pytest.mark.parametrize("argument", [{"total": 2.5}, {"total": 20, "slack": "no"}])
def test_arguments_of_an_allocation_are_named(argument):
    with pytest.raises(TypeError, match=f"Allocation: {[*argument][-1]}: expected"):
        Allocation(["a", "b"], **argument)


@pytest.mark.parametrize("max_parts", [0, 3])
def test_a_number_of_parts_that_cannot_be_is_refused(max_parts):
    with pytest.raises(ValueError, match="max_parts: expected between 1 and 2"):
        Mixture(["a", "b"], max_parts=max_parts)


def test_counts():
    assert bo.Space({"m": SMALL[0], "k": bool}).count() == Exact(30)
    assert math.isinf(bo.Space({"m": LARGE[0]}).size) or bo.Space({"m": LARGE[0]}).count().count == math.inf
    assert bo.Space({"m": LARGE[-1]}).count() == AtLeast(1)


def test_shares_are_continuous_coordinates_that_sum_to_one():
    space = bo.Space({"r": bo.Real(0, 1), "m": LARGE[2]})
    xs = space.sample(50, np.random.default_rng(0))
    (first, *_), shares = space.polytopes(xs), space.shares(xs)
    assert np.nansum(shares[:, 1:], axis=1) == pytest.approx(1.0)
    assert (np.isnan(shares[:, 1:]).sum(axis=1) >= 3).all()
    assert first.low[1:].max() == pytest.approx(0.05)
    assert bo.Space({"r": bo.Real(0, 1)}).polytopes(xs[:, :1]) is None


@pytest.mark.parametrize("prefix", ["", "mix.", "point.mix."])
def test_tables_have_a_column_for_each_part(prefix):
    mix = bo.Mixture(["resin", "acid", "water"], max_parts=2)
    frame = pd.DataFrame({"resin": [0.2, 0.0], "acid": [None, 0.5], "water": [0.8, 0.5], "value": [1.0, 2.0]})
    study = bo.Study({"mix": mix, "hot": bool}, seed=0)
    other = "point.hot" if prefix.startswith("point") else "hot"
    study.add_frame(frame.rename(columns={name: prefix + name for name in mix.parts}).assign(**{other: [True, False]}))
    assert study.trials[0].point == {"mix": {"resin": 0.2, "acid": 0.0, "water": 0.8}, "hot": True}
    written = study.result.to_dataframe()
    assert written["point.mix.water"].tolist() == [0.8, 0.5]
    again = bo.Study({"mix": mix, "hot": bool}, seed=0)
    again.add_frame(written)
    assert [trial.point for trial in again.trials] == [trial.point for trial in study.trials]


def test_a_study_of_sums_resumes(tmp_path):
    space = {"mix": bo.Mixture(list("abcd"), max_parts=2, min_share=0.1), "units": bo.Allocation(["x", "y"], 5)}

    def objective(point):
        return (point["mix"]["a"] - 0.3) ** 2 + (point["units"]["x"] - 2) ** 2

    whole = bo.minimize(objective, space, n_trials=16, seed=0)
    bo.minimize(objective, space, n_trials=13, seed=0, storage=tmp_path / "runs.db", name="s")
    resumed = bo.minimize(objective, space, n_trials=16, seed=0, storage=tmp_path / "runs.db", name="s")
    assert [trial.point for trial in resumed.trials] == [trial.point for trial in whole.trials]
    for trial in whole.trials:
        assert math.fsum(trial.point["mix"].values()) == 1.0
        assert all(one == 0 or one >= 0.1 for one in trial.point["mix"].values())
        assert sum(one > 0 for one in trial.point["mix"].values()) <= 2


def test_given_shares_are_rescaled_in_a_study():
    study = bo.Study({"mix": bo.Mixture(["a", "b"])}, seed=0)
    trial = study.add({"mix": {"a": 0.25, "b": 0.7500005}}, 1.0)
    assert math.fsum(trial.point["mix"].values()) == 1.0


def test_auto_finds_the_best_mixture():
    """Of ten shares the sum of the logarithms is largest where all are equal: -23.03."""
    space = {"m": bo.Mixture([f"p{i}" for i in range(10)])}

    def objective(point):
        return sum(math.log(max(one, 1e-9)) for one in point["m"].values())

    assert bo.maximize(objective, space, n_trials=30, seed=0).best_value > -23.2


def test_mixtures_may_have_conditions():
    space = {"kind": ["blend", "pure"], "mix": bo.Mixture(list("abc"), when={"kind": "blend"})}

    def objective(point):
        return (point["mix"]["a"] - 0.5) ** 2 if point["kind"] == "blend" else 0.2

    found = bo.minimize(objective, space, n_trials=25, seed=0)
    assert found.best_value < 0.005
    check_domain(bo.Space(space), np.random.default_rng(0))


@pytest.mark.parametrize("most", [None, 2])
def test_shares_of_any_total_have_exactly_this_sum_and_none_is_negative(most):
    rng = np.random.default_rng(0)
    for total in (0.3, 0.6, 0.9, 1 / 3, 1e-12, 3.3e-5, *np.exp(rng.uniform(-20.0, 20.0, 20)).tolist()):
        mixture = bo.Mixture(["a", "b", "c", "d"], total=total, max_parts=most)
        for columns in mixture.sample(50, rng):
            shares = list(mixture.present(columns).values())
            assert (math.fsum(shares), min(shares) >= 0.0) == (total, True)


def test_a_tolerance_of_the_sum_is_none_of_the_bounds():
    space = bo.Space({"m": bo.Mixture(["a", "b", "c"], bounds={"a": (0, 0.3)}, sum_tolerance=0.1)})
    with pytest.raises(PointError, match=r"a: expected a number from 0 to 0\.3, got 0\.39"):
        space.parse({"m": {"a": 0.39, "b": 0.2, "c": 0.41}})
    assert space.present(space.parse({"m": {"a": 0.31, "b": 0.31, "c": 0.41}}))["m"]["a"] == 0.3


def test_a_part_that_is_0_is_not_taken_for_a_missing_mixture():
    """Keys once wrote both as 0."""
    mixture = bo.Mixture(["a", "b", "c"], max_parts=2, when={"k": True})
    space = bo.Space({"k": bool, "m": mixture}, [bo.Linear({"m.a": 1}, "<=", 0.5)])
    xs = space.sample(50, np.random.default_rng(0))
    assert (space.from_keys(space.keys(xs)) == xs).all()
    found = bo.minimize(lambda point: point.get("m", {"a": 1})["a"], space, n_trials=16, seed=0)
    assert found.best_value == 0.0


def test_a_fixed_branch_leaves_out_what_it_lacks():
    variables = {"k": ["x", "y"], "m": bo.Mixture(["a", "b"], when={"k": "x"}), "r": bo.Real(0, 1)}
    space = bo.Space(variables, [bo.Linear({"m.a": 1, "r": 1}, "<=", 0.5), bo.Linear({"m.a": 1}, "<=", 0.3)])
    assert space.fix(k="y").constraints == (bo.Linear({"r": 1}, "<=", 0.5),)
    assert len(space.fix(k="x").constraints) == 2
    with pytest.raises(DomainError, match=r"m\.a >= 0\.3 does not hold"):
        bo.Space(variables, [bo.Linear({"m.a": 1}, ">=", 0.3)]).fix(k="y")
    with pytest.raises(DomainError, match="one part is fixed by equal bounds"):
        space.fix(m={"a": 0.3})
    with pytest.raises(PointError, match="a part is given in a dict of 'm'"):
        space.parse({"k": "x", "a": 0.3, "b": 0.7, "r": 0.1})
