"""The map of two variables: its shades are the forest's means over all others, by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import bostruct as bo
from bostruct.analysis.importances import _name_numbers, plot_effects, read_design
from bostruct.contracts import Array, BostructError
from bostruct.surrogates.fanova import grow_binned_forest, predict_by_tree, scale_to_unit

SPACE = bo.Space({"a": bo.Ordinal([1, 2, 3]), "b": ["x", "y"], "c": bool, "r": bo.Real(1e-4, 1.0, log=True)})


def study(space: bo.Space = SPACE, n: int = 30) -> bo.Study:
    found = bo.Study(space, method="random", seed=0)
    found.optimize(lambda p: p["a"] * (p["b"] == "x") + 3.0 * p["c"], n, progress=False)
    return found


def test_shades_are_means_over_all_other_variables():
    space = bo.Space({name: SPACE.variables[name] for name in "abc"})
    done = study(space, 10)
    axes = plot_effects(done, ("a", "b"))
    shades = np.asarray(axes.get_images()[0].get_array())
    data = read_design(done, 0, 0)
    forest = grow_binned_forest(data.design, scale_to_unit(data.values), 0, 64)
    low, high = data.values.min(), data.values.max()
    parts = {feature.name: feature.atoms for feature in data.features}
    for (i, a), (k, b) in itertools.product(enumerate(parts["a"]), enumerate(parts["b"])):
        rows = [np.concatenate([{"a": a, "b": b, "c": c}[one.name] for one in data.features]) for c in parts["c"]]
        mean = low + (high - low) * predict_by_tree(forest, np.array(rows)).mean()
        assert shades[k, i] == pytest.approx(mean, rel=1e-6)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "3"]


def test_long_names_are_turned_below_and_not_at_the_side():
    space = bo.Space({name: [letter * 9 for letter in "pqrst"] for name in "ab"})
    done = bo.Study(space, method="random", seed=0)
    done.optimize(lambda p: float(p["a"] < p["b"]), 20, progress=False)
    axes = plot_effects(done, ("a", "b"))
    assert [axis.get_ticklabels()[0].get_rotation() for axis in (axes.xaxis, axes.yaxis)] == [40, 0]


def far_where(is_far: Callable[[dict[str, object]], object], far: float, direction: str = "minimize") -> bo.Study:
    """Return a study of 30 trials that are worth `a`, or another number in some of them."""
    found = bo.Study(SPACE, method="random", seed=0, direction=direction)
    found.optimize(lambda p: far if is_far(p) else float(p["a"]), 30, progress=False)
    assert any(is_far(trial.point) for trial in found.trials)
    return found


def get_shades(study: bo.Study, pair: tuple[str, str] = ("a", "b")) -> Array:
    return np.asarray(plot_effects(study, pair).get_images()[0].get_array(), dtype=float)


@pytest.mark.parametrize(("direction", "far", "worst"), [("minimize", 1e9, 3.0), ("maximize", -1e9, 1.0)])
def test_values_far_worse_than_most_count_as_the_worst_of_these(direction, far, worst):
    def is_far(p):
        return p["a"] == 3 and p["c"] and p["b"] == "x"

    done = far_where(is_far, far, direction)
    np.testing.assert_array_equal(get_shades(done), get_shades(far_where(is_far, worst, direction)))
    label = plot_effects(done, ("a", "b")).figure.axes[1].get_ylabel()
    n_far = sum(abs(trial.value) > 1e8 for trial in done.trials)
    assert label == f"mean value ({direction}d), darker is better\n{n_far} beyond taken as {worst:g}"


@pytest.mark.parametrize(("direction", "sign"), [("minimize", -1.0), ("maximize", 1.0)])
def test_the_best_cell_is_the_darkest_however_far_better_its_values_are(direction, sign):
    done = far_where(lambda p: p["a"] == 2 and p["b"] == "x" and p["c"], sign * 1e3, direction)
    assert sum(abs(trial.value) > 100.0 for trial in done.trials) <= 3  # a tenth, none of which counts as most
    assert (sign * get_shades(done)).argmax() == 1  # x is the first row, 2 the middle column
    label = plot_effects(done, ("a", "b")).figure.axes[1].get_ylabel()
    assert label == f"mean value ({direction}d), darker is better"


def test_title_and_shades_say_which_of_several_objectives_they_show():
    done = bo.Study(SPACE, method="random", seed=0, directions=["minimize", "maximize"])
    done.optimize(lambda p: (p["a"], float(p["c"])), 8, progress=False)
    axes = plot_effects(done, ("a", "b"), objective=1)
    assert axes.get_title(loc="left") == "mean effects on objective 1 of random, 8 trials"
    assert axes.figure.axes[1].get_ylabel() == "mean objective 1 (maximized), darker is better"
    alone = plot_effects(study(n=8), ("a", "b"))
    assert alone.get_title(loc="left") == "mean effects of random, 8 trials"
    assert alone.figure.axes[1].get_ylabel() == "mean value (minimized), darker is better"


def test_numbers_are_named_on_their_scale():
    axes = plot_effects(study(), ("r", "c"))
    assert axes.get_xticklabels()[0].get_text() == "0.0001"
    axes.figure.draw_without_rendering()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="pair: expected two names of variables, got"):
        plot_effects(study(n=3), ("a", "a"))
    with pytest.raises(ValueError, match="pair: expected two names of variables, got 5"):
        plot_effects(study(n=3), 5)
    with pytest.raises(TypeError, match="seed: expected an integer, got 'x'"):
        plot_effects(study(n=3), ("a", "b"), seed="x")
    with pytest.raises(ValueError, match="pair: "):
        plot_effects(study(n=3), ("a", "z"))
    with pytest.raises(BostructError, match="at least two completed trials"):
        plot_effects(study(n=1), ("a", "b"))


@pytest.mark.parametrize(
    ("variable", "count"),
    [
        (bo.Permutation(range(10)), "3,628,800"),
        (bo.Sequence("ACGU", length=(2, 6)), "5,456"),
        (bo.Subset(range(60), size=30), r"about 10\^17"),
        (bo.Permutation(range(5), when={"b": True}), "120"),
    ],
)
def test_a_structure_of_too_many_values_is_refused_with_their_number(variable, count):
    for space in ({"p": variable, "b": bool}, {"d": {"p": variable, "b": bool}, "c": bool}):
        done = bo.Study(bo.Space(space), method="random", seed=0)
        done.optimize(lambda point: len(str(point)), 12, progress=False)
        names = ("d.p", "d.b") if "d" in space else ("p", "b")
        with pytest.raises(BostructError, match=f"{names[0]!r} has {count} values, too many to draw; at most 24"):
            plot_effects(done, names)


def test_under_conditions_shades_are_means_of_the_points_that_the_space_has():
    model = ["a", "b", "c"]
    space = bo.Space({"model": model, "k": bo.Ordinal(range(4), when={"model": "c"}), "scale": bool})
    done = bo.Study(space, method="random", seed=0)
    for x in space.enumerate():
        point = space.present(x)
        done.add(point, {"a": 0.0, "b": 3.0, "c": 5.0}[point["model"]] + point.get("k", 0) + point["scale"])
    shades = get_shades(done, ("model", "scale"))
    np.testing.assert_allclose(shades, [[0.0, 3.0, 6.5], [1.0, 4.0, 7.5]], atol=0.7)
    assert (shades.argmin(axis=1) == 0).all()  # the best model is the best one drawn
    shades = get_shades(done, ("model", "k"))
    exists = [[False, False, True]] * 4 + [[True, True, False]]  # absent is the last row
    np.testing.assert_array_equal(np.isfinite(shades), exists)


def test_numbers_under_conditions_have_cells_where_they_exist():
    space = bo.Space({"deep": bool, "rate": bo.Real(0.0, 1.0, when={"deep": True}), "u": bo.Real(0.0, 1.0)})
    done = bo.Study(space, method="random", seed=0)
    done.optimize(lambda p: 4.0 * p["rate"] if p["deep"] else 10.0, 60, progress=False)
    shades = get_shades(done, ("deep", "rate"))
    assert np.isfinite(shades).sum() == 12
    there = shades[np.isfinite(shades)]
    np.testing.assert_allclose(there, 4.0 * (np.arange(12) + 0.5) / 12, atol=0.4)


def test_numbers_are_labeled_by_powers_of_ten_and_integers_by_integers():
    numbers = _name_numbers(bo.Real(3e-5, 1e-1, log=True), 24)
    assert list(numbers.values()) == ["0.0001", "0.001", "0.01", "0.1"]
    share = np.log(1e-4 / 3e-5) / np.log(1e-1 / 3e-5)
    assert next(iter(numbers)) == pytest.approx(24 * share - 0.5)
    trees = _name_numbers(bo.Integer(10, 5_000, log=True), 24)
    assert list(trees.values()) == ["10", "100", "1000"]
    assert list(_name_numbers(bo.Integer(0, 5_001), 24).values()) == ["0", "1250", "2500", "3751", "5001"]
    assert list(_name_numbers(None, 24)) == [-0.5, 5.5, 11.5, 17.5, 23.5]
