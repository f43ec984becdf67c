"""Linear constraints: what is refused, exact counts and draws, ways along them, and suggestions that keep them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import chi2, kstest

import bostruct as bo
from bostruct.contracts import DomainError, Exact, PointError
from bostruct.domains.space import compositions, linear
from bostruct.domains.space.linear import Linear
from bostruct.testing import check_domain

WEIGHTS = [0.1, 0.13, 0.21, 0.07, 0.3, 0.11, 0.17]
INTEGERS = [f"n{i}" for i in range(7)]
REALS = [f"x{i}" for i in range(4)]


def reals(n=4, high=1.0):
    return {f"x{i}": bo.Real(0, high) for i in range(n)}


SPACES = {
    "an inequality": lambda: bo.Space(
        {"x": bo.Real(0, 3), "y": bo.Real(0, 3), "c": ["a", "b"]}, [Linear({"x": 1, "y": 2}, "<=", 3)]
    ),
    "integers": lambda: bo.Space(
        {f"n{i}": bo.Integer(0, 20) for i in range(4)}, [Linear({f"n{i}": 1 for i in range(4)}, "==", 20)]
    ),
    "a narrow band": lambda: bo.Space(
        {name: bo.Integer(0, 12) for name in INTEGERS},
        [
            Linear(dict.fromkeys(INTEGERS, 1), "==", 12),
            Linear(dict(zip(INTEGERS, WEIGHTS, strict=True)), "<=", 1.802),
            Linear(dict(zip(INTEGERS, WEIGHTS, strict=True)), ">=", 1.798),
        ],
    ),
    "all kinds": lambda: bo.Space(
        {"n": bo.Integer(0, 10), "x": bo.Real(0, 10), "y": bo.Real(0, 5), "o": bo.Ordinal([1, 2, 5, 9])},
        [Linear({"n": 1, "x": 2, "y": 1}, "==", 12), Linear({"o": 1, "n": 1}, "<=", 9)],
    ),
    "a logarithm": lambda: bo.Space(
        {"x": bo.Real(1e-3, 1, log=True), "y": bo.Real(0, 1)}, [Linear({"x": 1, "y": 1}, "<=", 0.5)]
    ),
    "conditions": lambda: bo.Space(
        {"k": ["a", "b"], "x": bo.Real(0, 5, when={"k": "a"}), "y": bo.Real(0, 5), "z": bo.Real(0, 5)},
        [Linear({"x": 1, "y": 1, "z": 1}, "==", 6)],
    ),
    "a cost of a mixture": lambda: bo.Space(
        {"m": bo.Mixture(list("abc"), total=100), "x": bo.Real(0, 3)}, [Linear({"m.a": 2, "m.b": 1, "x": 10}, "<=", 60)]
    ),
    "an equality of few parts": lambda: bo.Space(
        {"m": bo.Mixture(list("abcde"), max_parts=3, min_share=0.05), "k": bool},
        [Linear({f"m.{part}": i for i, part in enumerate("abcde")}, "==", 2)],
    ),
    "an allocation": lambda: bo.Space(
        {"n": bo.Allocation(list("abc"), 8, slack=True, bounds={"a": (2, 5)}), "k": bo.Integer(0, 9)},
        [Linear({"n.a": 1, "n.b": 2, "k": 1}, "==", 7)],
    ),
    "switches": lambda: bo.Space({f"b{i}": bool for i in range(8)}, [Linear({f"b{i}": 1 for i in range(8)}, "<=", 3)]),
}


@pytest.fixture(params=SPACES, scope="module")
def space(request):
    return SPACES[request.param]()


def test_spaces_obey_the_law_of_domains(space):
    check_domain(space, np.random.default_rng(0))


def test_no_draw_and_no_neighbor_breaks_a_constraint(space):
    xs = space.sample(200, np.random.default_rng(0))
    for x in xs[:50]:
        assert all(rule(space.present(x)) for rule in space.constraints)
    assert space.linear.holds(xs).all()
    for x in xs[:5]:
        for near in space.neighbors(x):
            space.check(near)


def test_a_file_holds_the_constraints(space):
    data = json.loads(json.dumps(space.to_json()))
    assert bo.Space.from_json(data) == space
    assert all(isinstance(rule, Linear) for rule in bo.Space.from_json(data).constraints)


@pytest.mark.parametrize(
    ("variables", "rules"),
    [
        ({f"n{i}": bo.Integer(0, 5) for i in range(4)}, [Linear({f"n{i}": 1 for i in range(4)}, "==", 9)]),
        (
            {"a": bo.Integer(-3, 4), "b": bo.Ordinal([0.5, 1, 4]), "c": bool, "d": bo.Integer(0, 6)},
            [Linear({"a": 2, "b": -1, "c": 3}, "<=", 2), Linear({"d": 1, "a": 1}, ">=", 1)],
        ),
        (
            {f"n{i}": bo.Integer(0, 6) for i in range(4)},
            [Linear({f"n{i}": 1 for i in range(4)}, "==", 8), Linear({f"n{i}": i for i in range(4)}, "==", 10)],
        ),
    ],
)
def test_counts_and_draws_are_those_of_a_list(variables, rules):
    space, plain = bo.Space(variables, rules), bo.Space(variables)
    every = [tuple(x) for x in plain.enumerate().tolist() if all(rule(plain.present(np.array(x))) for rule in rules)]
    assert space.linear.whole.n_points == len(every)
    place = {x: i for i, x in enumerate(every)}
    for draws in (space.linear.whole.table.draw, None):
        n = 100 * len(every)
        found = draws(n, np.random.default_rng(0)) if draws else space.sample(n, np.random.default_rng(1))
        counts = np.bincount([place[tuple(x)] for x in found.tolist()], minlength=len(every))
        assert ((counts - 100.0) ** 2 / 100.0).sum() < chi2.ppf(0.9999, len(every) - 1)


def test_large_spaces_are_counted_exactly():
    names = [f"n{i}" for i in range(10)]
    space = bo.Space(
        {name: bo.Integer(0, 30) for name in names} | {"k": bool}, [Linear(dict.fromkeys(names, 1), "==", 30)]
    )
    assert space.count() == Exact(2 * 211_915_132)  # 39 choose 9
    assert len(np.unique(space.sample(500, np.random.default_rng(0)), axis=0)) > 490


@pytest.mark.parametrize("seed", [0, 1])
def test_a_chain_draws_integers_as_the_table_does(seed):
    space = bo.Space(
        {f"n{i}": bo.Integer(0, 4) for i in range(4)},
        [Linear({f"n{i}": 1 for i in range(4)}, "==", 7), Linear({"n0": 1, "n1": 2}, "<=", 7)],
    )
    system, every = space.linear.whole, {tuple(x): i for i, x in enumerate(space.enumerate().tolist())}
    found = system._to_positions(system._run_chain(100 * len(every), np.random.default_rng(seed)))
    counts = np.bincount([every[tuple(x)] for x in found.tolist()], minlength=len(every))
    assert ((counts - 100.0) ** 2 / 100.0).sum() < 1.3 * chi2.ppf(0.9999, len(every) - 1)


def test_a_chain_draws_levels_beside_continuous_numbers():
    """The chance of a level is the length of what it leaves: x = 10 - o - p - y, with o and p of three levels each."""
    space = bo.Space(
        {"o": bo.Ordinal([1, 2, 6]), "x": bo.Real(0, 10), "y": bo.Real(0, 10)},
        [Linear({"o": 1, "x": 1, "y": 1}, "==", 10)],
    )
    levels = space.sample(6_000, np.random.default_rng(0))[:, 0]
    assert np.bincount(levels) / 6_000 == pytest.approx(np.array([9, 8, 4]) / 21, abs=0.03)


def test_moments_on_a_simplex_and_a_box_cut_by_planes():
    rng = np.random.default_rng(0)
    simplex = bo.Space(reals(), [Linear(dict.fromkeys(REALS, 1), "==", 1)])
    shares = simplex.shares(simplex.sample(8_000, rng))
    assert shares.mean(axis=0) == pytest.approx(0.25, abs=0.01)
    assert shares.var(axis=0) == pytest.approx(3 / 80, abs=0.002)  # of a Dirichlet law of ones
    corner = bo.Space(reals(3), [Linear(dict.fromkeys(REALS[:3], 1), "<=", 1)])
    shares = corner.shares(corner.sample(8_000, rng))
    assert shares.mean(axis=0) == pytest.approx(0.25, abs=0.01)
    cut = bo.Space(reals(2), [Linear({"x0": 1, "x1": 1}, ">=", 0.999)])
    first = cut.shares(cut.sample(4_000, rng))[:, 0]  # of the upper triangle: density 2 x
    assert kstest(first, lambda x: x**2).pvalue > 1e-4
    thin = bo.Space(reals(8), [Linear({f"x{i}": 1 for i in range(8)}, "<=", 0.1)])
    assert thin.shares(thin.sample(4_000, rng)).mean(axis=0) == pytest.approx(0.1 / 9, abs=0.0007)


def test_logarithmic_numbers_are_drawn_on_their_scale():
    space = bo.Space({"x": bo.Real(1e-2, 1, log=True), "y": bo.Real(0, 1)}, [Linear({"x": 1, "y": 1}, "<=", 1.0)])
    xs = space.sample(20_000, np.random.default_rng(0))
    free = bo.Space(dict(space.variables)).sample(40_000, np.random.default_rng(1))
    shares = space.shares(free)
    kept = shares[space.linear.holds(free)]
    assert space.shares(xs).mean(axis=0) == pytest.approx(kept.mean(axis=0), abs=0.02)


@pytest.mark.parametrize(
    ("variables", "rules", "message"),
    [
        (
            {"x": bo.Real(0, 3), "y": bo.Real(0, 3), "z": bo.Real(0, 1)},
            [Linear({"x": 1, "y": 1}, "<=", 1), Linear({"z": 1}, "<=", 0.5), Linear({"x": 1, "y": 1}, ">=", 2)],
            r"no point satisfies both x \+ y <= 1 and x \+ y >= 2, within",
        ),
        ({"x": bo.Real(0, 1)}, [Linear({"x": 1}, ">=", 2)], "no point satisfies x >= 2"),
        ({"n": bo.Integer(0, 4), "m": bo.Integer(0, 4)}, [Linear({"n": 2, "m": 2}, "==", 3)], r"2 n \+ 2 m == 3"),
        ({"o": bo.Ordinal([1, 4, 9]), "x": bo.Real(0, 1)}, [Linear({"o": 1, "x": 1}, "==", 3)], r"o \+ x == 3"),
        ({"x": ["a", "b"]}, [Linear({"x": 1}, ">=", 2)], "'x' is Categorical"),
        ({"x": bo.Ordinal(["low", "high"])}, [Linear({"x": 1}, ">=", 2)], "an Ordinal of numbers"),
        ({"x": bo.Real(0, 1)}, [Linear({"q": 1}, ">=", 2)], "unknown variable 'q'"),
        ({"m": bo.Mixture(["a", "b"])}, [Linear({"m": 1}, ">=", 2)], "name a part, such as 'm.a'"),
        ({"m": bo.Mixture(["a", "b"])}, [Linear({"m.c": 1}, ">=", 2)], "unknown variable 'm.c'"),
        ({"m": bo.Mixture(["a", "b"])}, [Linear({"m.a": 1, "m.b": 2}, ">=", 2.5)], r"both m.a \+ 2 m.b >= 2.5 and m.a"),
        ({"m": bo.Mixture(["a", "b"]), "m.a": bo.Real(0, 1)}, [], "'m.a' twice; rename one"),
    ],
)
def test_what_no_point_satisfies_is_refused_at_construction(variables, rules, message):
    with pytest.raises(DomainError, match=message):
        bo.Space(variables, rules)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, "<=", 1), "weights: expected a dict"),
        (({"x": "a"}, "<=", 1), "finite numbers"),
        (({"x": 0}, "<=", 1), "other than 0"),
        (({"x": 1}, "<", 1), "relation: expected one of <=, >=, =="),
        (({"x": 1}, "<=", float("nan")), "limit: expected a finite number"),
        (({"x": 1}, "<=", 10**400), "limit: expected a finite number"),
        (({"x": -(10**400)}, "<=", 1), "finite numbers"),
    ],
)
def test_what_is_no_constraint_is_refused(arguments, message):
    with pytest.raises(DomainError, match=message):
        Linear(*arguments)


def test_a_branch_that_is_infeasible_is_left_out_and_no_branch_is_refused():
    variables = {"k": ["a", "b"], "x": bo.Real(0, 5, when={"k": "a"}), "y": bo.Real(0, 5)}
    space = bo.Space(variables, [Linear({"x": 1, "y": 1}, ">=", 6)])
    assert {space.present(x)["k"] for x in space.sample(50, np.random.default_rng(0))} == {"a"}
    with pytest.raises(DomainError, match=r"x \+ y >= 11"):
        bo.Space(variables, [Linear({"x": 1, "y": 1}, ">=", 11)])


def test_a_branch_without_any_of_the_numbers_counts_them_as_0():
    variables = {"k": ["a", "b"], "x": bo.Real(0, 5, when={"k": "a"}), "y": bo.Real(0, 5, when={"k": "a"})}
    space = bo.Space(variables, [Linear({"x": 1, "y": 1}, "<=", 1)])
    found = [space.present(x) for x in space.sample(200, np.random.default_rng(0))]
    assert {point["k"] for point in found} == {"a", "b"}
    some = bo.Space(variables, [Linear({"x": 1, "y": 1}, "==", 1)])
    assert {some.present(x)["k"] for x in some.sample(50, np.random.default_rng(0))} == {"a"}


def test_a_system_that_the_solver_does_not_decide_is_accepted_with_a_warning(monkeypatch):
    def undecided(*_):
        raise TimeoutError

    monkeypatch.setattr(linear.LinearSystem, "find_point", undecided)
    with pytest.warns(UserWarning, match="not decided in 10 seconds"):
        space = bo.Space(reals(2), [Linear({"x0": 1, "x1": 1}, "<=", 1)])
    assert len(space.sample(20, np.random.default_rng(0))) == 20  # by rejection


def test_points_that_break_a_constraint_are_refused():
    space = bo.Space(reals(2), [Linear({"x0": 1, "x1": 1}, "==", 1)])
    space.parse({"x0": 0.1 + 0.2, "x1": 0.7})
    with pytest.raises(PointError, match=r"breaks the constraint x0 \+ x1 == 1"):
        space.parse({"x0": 0.3, "x1": 0.7001})


def test_predicates_count_beside():
    space = bo.Space(reals(2), [Linear({"x0": 1, "x1": 1}, "==", 1), lambda point: point["x0"] > point["x1"]])
    xs = space.shares(space.sample(300, np.random.default_rng(0)))
    assert (xs[:, 0] > xs[:, 1]).all()
    assert xs[:, 0].mean() == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize("method", ["auto", "random", "evolution", "annealing", "hill-climbing", "smac"])
def test_methods_keep_the_constraints(method):
    space = SPACES["all kinds"]()

    def objective(point):
        return (point["n"] - 3) ** 2 + (point["x"] - 3) ** 2 + abs(point["o"] - 5)

    found = bo.minimize(objective, space, n_trials=16, seed=0, method=method)
    for trial in found.trials:
        assert all(rule(trial.point) for rule in space.constraints)


def test_auto_climbs_along_the_constraints():
    """Of three shares with a fixed mean return, the variance is least at a point that is known."""
    rules = [Linear({"x0": 1, "x1": 1, "x2": 1}, "==", 1), Linear({"x0": 1, "x1": 2, "x2": 4}, "==", 2)]

    def variance(point):
        return sum((i + 1) * point[f"x{i}"] ** 2 for i in range(3))

    a, b = np.linalg.solve(
        [[sum(1 / (i + 1) for i in range(3)), sum(r / (i + 1) for i, r in enumerate((1, 2, 4)))],
         [sum(r / (i + 1) for i, r in enumerate((1, 2, 4))), sum(r * r / (i + 1) for i, r in enumerate((1, 2, 4)))]],
        [1, 2],
    )  # fmt: skip
    best = sum((i + 1) * ((a + b * r) / (i + 1)) ** 2 for i, r in enumerate((1, 2, 4)))
    assert bo.minimize(variance, bo.Space(reals(3), rules), n_trials=20, seed=0).best_value == pytest.approx(
        best, abs=1e-3
    )


def test_a_study_resumes(tmp_path):
    space = SPACES["an inequality"]()

    def objective(point):
        return -point["x"] - 3 * point["y"] + (point["c"] == "a")

    whole = bo.minimize(objective, space, n_trials=16, seed=0)
    bo.minimize(objective, space, n_trials=13, seed=0, storage=tmp_path / "runs.db", name="s")
    again = SPACES["an inequality"]()
    resumed = bo.minimize(objective, again, n_trials=16, seed=0, storage=tmp_path / "runs.db", name="s")
    assert [trial.point for trial in resumed.trials] == [trial.point for trial in whole.trials]
    with bo.Study.load(tmp_path / "runs.db", "s") as study:
        assert study.domain == space


def test_directions_keep_the_equalities_in_whole_steps():
    space = bo.Space({"a": bo.Integer(0, 9), "b": bo.Integer(0, 9)}, [Linear({"a": 2, "b": 3}, "==", 18)])
    x = space.parse({"a": 3, "b": 4})
    assert {tuple(row) for row in space.neighbors(x).tolist()} == {(0, 6), (6, 2), (9, 0)}


@pytest.mark.parametrize(
    ("text", "weights", "relation", "limit"),
    [
        ("x + 2*y <= 3", {"x": 1, "y": 2}, "<=", 3),
        ("x - 2*(y + 3) >= z/4 - 1", {"x": 1, "y": -2, "z": -0.25}, ">=", 5),
        ("x == y", {"x": 1, "y": -1}, "==", 0),
        ("-1 >= -x*2", {"x": 2}, ">=", 1),
    ],
)
def test_a_formula_is_read_as_a_constraint(text, weights, relation, limit):
    found = bo.Linear.parse(text)
    rng = np.random.default_rng(0)
    for _ in range(50):  # by value: either side may have the terms
        point = dict(zip("xyz", rng.integers(-9, 9, 3).tolist(), strict=True))
        left, right = text.split(relation)
        assert found(point) == eval(f"{left}{relation}{right}", {}, point), point
    assert found.relation == relation
    assert (found.weights, found.limit) in ((weights, limit), ({n: -w for n, w in weights.items()}, -limit))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x*y <= 3", r"x \* y is not linear"),
        ("x < 3", "one of <=, >=, =="),
        ("x <= 3 <= y", "one of <=, >=, =="),
        ("open('f') <= 3", "is not linear"),
        ("x + True <= 3", "True is not linear"),
        ("x/0 <= 1", "x / 0 is not linear"),
        ("", "invalid syntax"),
        (3, "expected a linear formula"),
    ],
)
def test_a_text_that_is_no_linear_formula_is_refused(text, why):
    with pytest.raises(bo.DomainError, match=why):
        bo.Linear.parse(text)


def test_thin_polytopes_are_crossed():
    rules = [Linear({a: 1, b: -1}, sign, limit) for a, b in (("x0", "x1"), ("x1", "x2")) for sign, limit in BAND]
    space = bo.Space(reals(3), rules)
    first = space.shares(space.sample(2_000, np.random.default_rng(0)))[:, 0]
    assert (first.min(), first.max()) == pytest.approx((0.0, 1.0), abs=0.02)
    assert first.std() == pytest.approx(12**-0.5, abs=0.02)


BAND = (("<=", 1e-3), (">=", -1e-3))


def test_switches_of_numbers_are_all_drawn():
    """At most two of five numbers: a chain that does not leave the solver's vertex has one switch on in all draws."""
    variables = {f"b{i}": bool for i in range(5)} | reals(5)
    rules = [Linear({f"x{i}": 1, f"b{i}": -1}, "<=", 0) for i in range(5)]
    rules += [Linear({f"b{i}": 1 for i in range(5)}, "<=", 2), Linear({f"x{i}": 1 for i in range(5)}, "==", 1)]
    drawn = bo.Space(variables, rules).sample(400, np.random.default_rng(0))[:, :5]
    assert drawn.mean(axis=0).min() > 0.2
    assert drawn.mean(axis=0).max() < 0.6


@pytest.mark.parametrize("one", [bo.Integer(1, 1), bo.Real(1, 1), bo.Ordinal([1.0, 2.0])])
def test_variables_of_one_value_count(one):
    space = bo.Space({"x": one, "y": bo.Real(0, 3)}, [Linear({"x": 1, "y": 1}, "<=", 3)]).fix(x=1)
    assert space.shares(space.sample(500, np.random.default_rng(0))).max() * 3 == pytest.approx(2.0, abs=0.05)
    switched = bo.Space({"b": bool, "n": bo.Integer(0, 3)}, [Linear({"b": 2, "n": 1}, "==", 3)]).fix(b=True)
    assert [switched.present(x) for x in switched.enumerate()] == [{"b": True, "n": 1}]
    assert bo.minimize(lambda point: point["y"], space, n_trials=13, seed=0).best_value < 0.1


def test_a_rare_branch_is_found():
    variables = {"n": bo.Integer(0, 499), "y": bo.Real(0, 2, when={"n": 77})}
    space = bo.Space(variables, [Linear({"y": 1}, ">=", 1)])
    assert {space.present(x)["n"] for x in space.sample(5, np.random.default_rng(0))} == {77}
    with pytest.raises(DomainError, match="y >= 3"):
        bo.Space(variables, [Linear({"y": 1}, ">=", 3)])


def test_equal_constraints_have_one_hash_and_read_back_as_printed():
    one, other = Linear({"x": 1 / 3, "y": 123456.789}, "<=", 3e9), Linear({"y": 123456.789, "x": 1 / 3}, "<=", 3e9)
    assert len({one, other, Linear.parse(repr(one))}) == 1


def test_sums_of_whole_numbers_are_exact():
    space = bo.Space({k: bo.Integer(0, 2 * 10**9) for k in "xy"}, [Linear({"x": 1, "y": 1}, "==", 3 * 10**9)])
    space.parse({"x": 2 * 10**9, "y": 10**9})
    with pytest.raises(PointError, match="breaks the constraint"):
        space.parse({"x": 2 * 10**9, "y": 10**9 + 1})


def test_many_numbers_are_drawn_in_little_time():
    names = [f"x{i}" for i in range(100)]
    space = bo.Space({name: bo.Real(0, 1) for name in names}, [Linear(dict.fromkeys(names, 1), "==", 50)])
    assert len(space.sample(3, np.random.default_rng(0))) == 3  # 21 seconds once


def test_numbers_of_one_value_count_and_stay():
    rules = [bo.Linear({"x": 1, "y": 1, "r": 1}, "<=", 3)]
    space = bo.Space({"x": bo.Integer(1, 1), "y": bo.Real(0, 3), "r": bo.Real(1, 1)}, constraints=rules)
    drawn = [space.present(row) for row in space.sample(200, np.random.default_rng(0))]
    assert {(one["x"], one["r"]) for one in drawn} == {(1, 1.0)}
    assert 0.9 < max(one["y"] for one in drawn) <= 1.0
    free = bo.Space({"x": bo.Real(0, 2), "y": bo.Real(0, 3)}, constraints=[bo.Linear({"x": 1, "y": 1}, "<=", 3)])
    fixed = free.fix(x=1.0)
    assert max(fixed.present(row)["y"] for row in fixed.sample(200, np.random.default_rng(0))) <= 2.0


def test_a_constraint_that_only_a_rare_branch_satisfies():
    space = bo.Space(
        {"k": [f"c{i}" for i in range(900)], "y": bo.Real(0, 3, when={"k": "c77"})},
        constraints=[bo.Linear({"y": 1}, ">=", 1)],
    )
    assert space.present(space.sample(1, np.random.default_rng(0))[0])["k"] == "c77"


def check_moments():
    """Raise AssertionError unless draws have the moments of uniform ones, by closed forms."""
    rng, parts = np.random.default_rng(0), list("abcde")
    simplex = bo.Space(reals(), [Linear(dict.fromkeys(REALS, 1), "==", 1)])
    assert simplex.shares(simplex.sample(3_000, rng)).var(axis=0) == pytest.approx(3 / 80, abs=0.004)
    plane = bo.Space({"m": bo.Mixture(parts)}, [Linear({"m.a": 1}, "==", 0.2), Linear({"m.b": 1}, "==", 0.3)])
    assert plane.shares(plane.sample(3_000, rng))[:, 2:].var(axis=0) == pytest.approx(0.25 / 18, abs=0.0015)
    corner = bo.Space({"m": bo.Mixture(parts)}, [Linear({"m.a": 1, "m.b": 1, "m.c": 1}, "<=", 0.01)])
    assert not corner.linear.is_often_met
    assert corner.shares(corner.sample(3_000, rng))[:, :3].mean(axis=0) == pytest.approx(0.0025, abs=0.0002)
    faces = bo.Space({"m": bo.Mixture(parts, max_parts=2, min_share=0.1)}, [Linear({"m.a": 1}, "==", 0.4)])
    shares = np.nan_to_num(faces.shares(faces.sample(2_000, rng)))
    assert np.unique((shares[:, 1:] > 0).argmax(axis=1), return_counts=True)[1] == pytest.approx(500, abs=90)
    assert shares[:, 1:].sum(axis=1) == pytest.approx(0.6)


def test_moments_of_mixtures_under_constraints():
    check_moments()


@pytest.mark.parametrize("fault", ["too few steps", "a vertex", "a biased face"])
def test_moments_find_faults_of_samplers(fault, monkeypatch):
    def stay(self, m, _):
        return np.tile(self._extremes[0], (m, 1))

    draw = compositions.Compositions._draw_supports

    def prefer(self, m, rng):
        first, second = draw(self, m, rng), draw(self, m, rng)
        return np.where(first[:, 1:2], first, second)

    if fault == "too few steps":
        monkeypatch.setattr(linear, "CHAIN_STEPS", 0.3)
    elif fault == "a vertex":
        monkeypatch.setattr(linear.LinearSystem, "_run_chain", stay)
    else:
        monkeypatch.setattr(compositions.Compositions, "_draw_supports", prefer)
    with pytest.raises(AssertionError):
        check_moments()


def test_parts_of_allocations_are_counted_as_a_list_says():
    items = bo.Allocation(list("abc"), 8, bounds={"b": (1, 6)})
    rules = [Linear({"n.a": 1, "k": 1}, "<=", 5), Linear({"n.b": 1, "n.c": -1}, ">=", -2)]
    free = bo.Space({"n": items, "k": bo.Integer(0, 9)})
    found = sum(all(rule(free.present(x)) for rule in rules) for x in free.enumerate())
    big = bo.Space({"n": items, "k": bo.Integer(0, 9), "j": bo.Integer(1, 5_000)}, rules)
    assert big.count() == Exact(5_000 * found)
    assert big.linear.whole.n_points == found


def test_a_fixed_mixture_counts_in_a_sum_and_a_formula_names_its_parts():
    rule = Linear.parse("2*m.a + x <= 1.5")
    assert rule == Linear({"m.a": 2, "x": 1}, "<=", 1.5)
    space = bo.Space({"m": bo.Mixture(["a", "b"]), "x": bo.Real(0, 2)}, [rule]).fix(m={"a": 0.5, "b": 0.5})
    xs = space.sample(500, np.random.default_rng(0))
    assert space.shares(xs).max() == pytest.approx(0.25, abs=0.005)


def test_auto_follows_a_cost_of_a_mixture():
    """The nearest point of the plane 2 a + 5 b = 3 within the simplex, to shares that cost too much."""
    space = bo.Space({"m": bo.Mixture(["a", "b", "c"])}, [Linear({"m.a": 2, "m.b": 5}, "<=", 3)])
    found = bo.minimize(lambda p: (p["m"]["a"] - 0.1) ** 2 + (p["m"]["b"] - 0.9) ** 2, space, n_trials=20, seed=0)
    grid = np.linspace(0, 1, 2_001)
    a, b = (one.ravel() for one in np.meshgrid(grid, grid))
    ok = (a + b <= 1 + 1e-9) & (2 * a + 5 * b <= 3 + 1e-9)
    assert found.best_value == pytest.approx(((a - 0.1) ** 2 + (b - 0.9) ** 2)[ok].min(), abs=1e-3)


def test_weights_of_parts_go_with_a_mixture_that_fixed_values_remove():
    blend = bo.Mixture(["p", "q", "r"], when={"k": "a"})
    limit = bo.Linear({"m.p": 2, "x": 1}, "<=", 1.5)
    space = bo.Space({"k": ["a", "b"], "m": blend, "x": bo.Real(0, 1)}, constraints=[limit])
    assert space.fix(k="b").constraints == (bo.Linear({"x": 1}, "<=", 1.5),)
    assert space.fix(k="a").constraints == (limit,)
    with pytest.raises(bo.DomainError, match="no point satisfies"):
        space.fix(k="a", m={"p": 0.9, "q": 0.1, "r": 0})
