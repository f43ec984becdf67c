"""Pictures of several objectives show the front that the result has, and mark what violates a constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

import bostruct as bo
from bostruct.analysis.fronts import plot_front, plot_hypervolume
from bostruct.goals.declared import Goals

SPACE = {"a": range(8), "b": range(4)}
GOALS = {"directions": ["minimize", "maximize"], "constraints": {"w": ("<=", 6.0)}}


def both(point: dict[str, int]) -> dict[str, object]:
    return {"value": (float(point["a"]), float(point["a"] + point["b"])), "constraints": {"w": float(point["a"])}}


def make_result(pairs: Iterable[Iterable[float]]) -> bo.Result:
    """Return a result of two minimized objectives, with one trial for each pair of values."""
    trials = tuple(bo.Trial(i, {"a": i}, "completed", values=tuple(pair)) for i, pair in enumerate(pairs))
    return bo.Result(trials, tuple(range(len(trials))), Goals(("minimize", "minimize")), 0, "x", "y")


def list_legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.fixture(scope="module")
def result() -> bo.Result:
    return bo.minimize(both, SPACE, 32, method="random", seed=0, **GOALS)


def test_every_completed_trial_is_drawn_once_in_its_place(result: bo.Result) -> None:
    axes = result.plot()
    drawn = {marks.get_label(): marks.get_offsets().tolist() for marks in axes.collections}
    assert sorted(drawn["front of 7"]) == [[float(a), float(a + 3)] for a in range(7)]
    assert sorted(drawn["violates a constraint"]) == [[7.0, 7.0 + b] for b in range(4)]
    assert len(drawn["dominated"]) == 32 - 7 - 4
    (stair,) = axes.get_lines()
    assert stair.get_xdata().tolist() == [float(a) for a in range(7)]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("objective 0 (minimized)", "objective 1 (maximized)")


def test_axes_end_before_trials_far_behind_the_front_and_count_them() -> None:
    def far(point: dict[str, int]) -> tuple[float, float]:
        huge = point["b"] == 3 and point["a"] < 3
        return (1e9, -1e9) if huge else (float(point["a"]), float(point["a"] + point["b"]))

    done = bo.minimize(far, SPACE, 32, method="random", seed=0, directions=GOALS["directions"])
    axes = done.plot()
    for low, high, least, greatest in ((*axes.get_xlim(), 0.0, 7.0), (*axes.get_ylim(), 0.0, 10.0)):
        assert least - 1.0 < low < least
        assert greatest < high < greatest + 1.0
    assert "3 beyond the axes" in list_legend(axes)


@pytest.mark.parametrize(("far", "counted"), [((11.2,), []), ((11.2, 99.0), ["1 beyond the axes"])])
def test_a_trial_in_the_room_beside_the_ends_is_not_beyond(far: tuple[float, ...], counted: list[str]) -> None:
    near = [(x, 1.0 - x) for x in np.linspace(0.0, 1.0, 10).tolist()]  # a front of width 1: up to 11 nothing is far
    axes = plot_front(make_result([*near, *((x, 2.0) for x in (10.9, *far))]))
    assert 11.2 < axes.get_xlim()[1] < 12.0
    assert [text for text in list_legend(axes) if "beyond" in text] == counted


def test_a_trial_beyond_one_axis_does_not_stretch_the_other() -> None:
    """A trial far to the left makes room for two on the right, which lie far above and are not seen there."""
    near = [(x, 1.0 - x) for x in np.linspace(0.0, 1.0, 20).tolist()]
    axes = plot_front(make_result([*near, (-10.0, 0.5), (90.0, 1e6), (91.0, 1e6)]))
    assert axes.get_xlim()[1] < 2.0
    assert "2 beyond the axes" in list_legend(axes)


def test_volumes_are_drawn_as_they_are_and_grow(result: bo.Result) -> None:
    alone, of_two = plot_hypervolume(result), plot_hypervolume({"random": [result, result]})
    for axes in (alone, of_two):
        (line,) = axes.get_lines()
        assert line.get_ydata().tolist() == list(result.hypervolumes())
        assert line.get_ydata()[-1] > line.get_ydata()[0]
    assert alone.get_title(loc="left") == "hypervolume of random, 32 trials"


@pytest.mark.parametrize("n", [1, 2, 9, 31, 32])
def test_the_first_and_the_last_volume_have_a_marker_and_some_between(n: int) -> None:
    axes = plot_hypervolume(bo.minimize(both, SPACE, n, method="random", seed=0, **GOALS))
    (line,) = axes.get_lines()
    marked = np.arange(1, n + 1)[line.get_markevery()].tolist()
    assert (marked[0], marked[-1]) == (1, n)
    assert min(n, 8) <= len(marked) == len(set(marked)) <= 16


def test_a_name_without_runs_has_no_curve(result: bo.Result) -> None:
    axes = plot_hypervolume({"none": [], "random": [result, result]})
    assert [line.get_label() for line in axes.get_lines()] == ["random"]


def test_a_title_names_the_run_and_the_axis_its_corner(result: bo.Result) -> None:
    axes = plot_hypervolume({"random": [result]}, reference=(8.0, 0.0))
    assert axes.get_ylabel().endswith("up to the corner (8, 0)")
    for runs, title in (
        ({"random": 1}, "hypervolume of random, 32 trials"),
        ({"mine": 1}, "mine: hypervolume of random, 32 trials"),
        ({"a": 1, "b": 1}, "hypervolume of 1 run each, 32 trials"),
        ({"a": 2, "b": 1}, "mean hypervolume of 1 to 2 runs, 32 trials"),
    ):
        axes = plot_hypervolume({name: [result] * count for name, count in runs.items()})
        assert axes.get_title(loc="left") == title


def test_runs_of_other_goals_are_refused_in_words(result: bo.Result) -> None:
    three = bo.minimize(lambda _: (1.0, 1.0, 2.0), SPACE, 2, method="random", directions=["minimize"] * 3)
    words = r"expected runs with equal goals, got minimize, maximize, w <= 6; and minimize, "
    with pytest.raises(ValueError, match=words):
        plot_hypervolume({"two": [result], "three": [three]})
    again = bo.minimize(both, SPACE, 4, method="random", seed=1, suggest_seconds=9.0, **GOALS)
    assert len(plot_hypervolume({"x": [result], "hasty": [again]}).get_lines()) == 2


def test_a_front_of_three_objectives_says_which_two_are_drawn() -> None:
    def measure(point: dict[str, int]) -> tuple[float, float, float]:
        return float(point["a"]), float(point["b"]), -float(point["a"] + point["b"])

    three = bo.minimize(measure, SPACE, 12, method="random", seed=0, directions=["minimize"] * 3)
    for objectives, told in (((0, 1), "0 and 1, not 2"), ((2, 0), "2 and 0, not 1")):
        axes = plot_front(three, objectives=objectives)
        assert axes.get_title(loc="left") == f"projection (objectives {told}) of random, 12 trials"


POSITIONS = "objectives: expected two different positions from 0 to 1, got"


@pytest.mark.parametrize(
    ("draw", "error", "words"),
    [
        (bo.plot_history, bo.BostructError, "has 2 objectives.*plot_front .*plot_hypervolume"),
        (lambda _: plot_front(make_result([])), ValueError, "at least one completed trial"),
        (lambda result: plot_front([result]), TypeError, "expected a Result"),
        *((partial(plot_front, objectives=at), ValueError, POSITIONS) for at in ((0, 2), (0, 0), (0, 1, 0))),
        *((partial(plot_front, objectives=at), TypeError, POSITIONS) for at in (0, None, "01", {0, 1})),
        (partial(plot_front, objectives=(0.0, 1.0)), TypeError, r"objectives: expected an integer, got 0\.0"),
        (lambda _: plot_hypervolume({}), ValueError, "expected at least one Result"),
        (lambda result: plot_hypervolume([result]), TypeError, "result: expected a Result or a Study, got"),
        (lambda _: plot_hypervolume({"random": [3]}), TypeError, "result: expected a Result or a Study, got"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw: Callable, error: type[Exception], words: str, result: bo.Result) -> None:
    with pytest.raises(error, match=words):
        draw(result)


def test_a_single_objective_and_groups_that_are_no_lists_are_refused(result: bo.Result) -> None:
    single = bo.minimize(lambda point: float(point["a"]), SPACE, 3, method="random")
    with pytest.raises(ValueError, match="expected a result with several objectives"):
        plot_front(single)
    for alone, told in ((result, "a Result"), (None, "None"), (5, "5"), ("x", "'x'")):
        with pytest.raises(TypeError, match=rf"results: expected a list of results for 'a', .*, got {told}$"):
            plot_hypervolume({"a": alone})  # type: ignore[dict-item]


def test_ends_of_the_front_are_named_where_they_cover_nothing(result: bo.Result) -> None:
    rng = np.random.default_rng(5)
    shares, more = rng.random(60), rng.exponential(0.15, (60, 2))
    values = np.column_stack([shares**2, (1.0 - shares) ** 2]) + more * rng.random((60, 2))
    for drawn in (make_result(values.tolist()), result):
        axes = plot_front(drawn)
        axes.figure.draw_without_rendering()
        assert len(axes.texts) == 2
        dots = axes.transData.transform([trial.values for trial in drawn.trials])
        front = sorted(drawn.pareto_front, key=lambda trial: trial.values)
        stair = axes.transData.transform([(b.values[0], a.values[1]) for a, b in pairwise(front)])
        for label in axes.texts:
            box = Text.get_window_extent(label)
            assert not any(box.contains(x, y) for x, y in (*dots, *stair))
            assert axes.get_tightbbox().contains(box.x0, box.y0)


def test_volumes_of_runs_that_keep_no_limit_are_zero_for_a_reason() -> None:
    def heavy(point: dict[str, int]) -> dict[str, object]:
        return {"value": (1.0 * point["a"], 2.0), "constraints": {"w": 9.0 - point["b"]}}

    done = bo.minimize(heavy, SPACE, 8, method="random", seed=0, **GOALS | {"constraints": {"w": ("<=", 1.0)}})
    alone, several = plot_hypervolume(done), plot_hypervolume({"x": [done], "y": [done]})
    nearest = "no trial satisfies all constraints: w <= 1\nthe nearest of 8 completed"
    for axes, said in ((alone, nearest), (several, "of 2 runs")):
        (text,) = axes.texts
        assert said in text.get_text()
        assert axes.get_xticks().tolist() == list(range(1, 9))
        assert axes.get_ylim()[0] == 0.0
    assert several.get_title(loc="left") == "hypervolume of 1 run each, 8 trials"
    assert "no trial satisfies all constraints: w <= 1" in plot_front(done).get_title(loc="left")


def test_a_trial_that_breaks_a_limit_is_hollow_among_the_values_of_one_objective() -> None:
    def heavy(point: dict[str, int]) -> dict[str, object]:
        return {"value": -float(point["a"]), "constraints": {"w": float(point["a"])}}

    axes = bo.minimize(heavy, SPACE, 12, method="random", seed=1, constraints={"w": ("<=", 4.0)}).plot()
    drawn = {marks.get_label(): marks.get_offsets()[:, 1].tolist() for marks in axes.collections}
    assert drawn["violates a constraint"]
    assert (
        max(drawn["violates a constraint"])
        < -4.0
        <= min(value for name in drawn for value in drawn[name] if value >= -4.0)
    )


def test_a_trial_that_breaks_a_limit_is_hollow_where_its_value_is_beyond_the_axis() -> None:
    def far_where_heavy(point: dict[str, int]) -> dict[str, object]:
        is_heavy = point["a"] % 3 == 0
        return {"value": -1e6 if is_heavy else float(point["a"]), "constraints": {"w": float(is_heavy)}}

    space = {"a": bo.Integer(0, 20)}
    done = bo.minimize(far_where_heavy, space, 15, method="random", seed=0, constraints={"w": ("<=", 0.5)})
    broken = sum(bool(trial.broken) for trial in done.trials)
    for axes in (bo.plot_history(done), bo.plot_slices(done)[0]):
        hollow = [marks for marks in axes.collections if len(marks.get_facecolor()) == 0]
        at_border = [marks for marks in hollow if marks.get_offset_transform() == axes.get_xaxis_transform()]
        assert sum(len(marks.get_offsets()) for marks in at_border) == broken
        assert [marks.get_label() for marks in at_border] == ["violates a constraint"]  # where no other mark is seen


def test_points_on_the_corner_count_and_trials_that_were_not_kept_are_not_there() -> None:
    kept = replace(make_result([(0.0, 1.0), (1.0, 0.0), (50.0, -50.0)]), order=(0, 1))
    (line,) = plot_hypervolume({"x": [kept]}).get_lines()
    assert line.get_ydata().tolist() == pytest.approx([1.1 * 0.1, 1.1 * 0.1 * 2 - 0.01])
    drawn = np.vstack([marks.get_offsets() for marks in plot_front(kept).collections])
    assert sorted(map(tuple, drawn.tolist())) == [(0.0, 1.0), (1.0, 0.0)]
    with pytest.raises(ValueError, match="at least one completed trial"):
        plot_front(kept.where(lambda _: False))
    assert len(plot_hypervolume({"x": [kept], "y": [make_result([]), kept]}).get_lines()) == 2
