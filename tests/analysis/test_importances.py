"""Importances of a study's variables: sorted, in range, of the trials that count, and refused where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import bostruct as bo
from bostruct.analysis import importances
from bostruct.analysis.importances import importance
from bostruct.contracts import BostructError
from bostruct.language import SearchSpace
from bostruct.surrogates.fanova import Effect, Importances
from tests.architectures import SMALL_CNN
from tests.domains.language.more_programs import layers_of_kinds
from tests.wide_variable import Order

LEFT_OUT = "omitted (no named choices):"
SHARES = "shares refer to the other variables"


def is_deep(network):
    return len(network.layers) > 9


SPACE = bo.Space({"a": range(4), "b": ["x", "y", "z"], "c": bool})


def study_of(space, objective, n=60):
    study = bo.Study(space, method="random", seed=0)
    study.optimize(objective, n)
    return study


def study_of_all(space, objective):
    """Return a study that was told every point of a space."""
    study = bo.Study(space, method="random", seed=0)
    for x in space.enumerate():
        study.add(space.present(x), objective(space.present(x)))
    return study


def first(point):
    return float(point["a"])


def shares_of(found, names):
    return [found.main[name].share for name in names]


def test_choices_that_not_every_program_has_are_kept():
    space = SearchSpace(layers_of_kinds)
    study = study_of(space, lambda program: float(sum(node.values.get("units", 0.0) for node in program.nodes)))
    found = importance(study)
    paths = {one.path for trial in study.trials for one in space.coordinates(space.parse(trial.point))}
    assert set(found.main) == paths
    assert found.main["SISORepeat-0/SISOOr-2[dense]/Dense-0.units"].share > 0.0  # absent from some
    assert next(iter(found.main)).startswith("SISORepeat-0")


def test_importance_of_a_study_is_sorted_and_in_range():
    study = study_of(SPACE, lambda p: 10.0 * (p["b"] == "x") + p["a"] * p["c"], 24)
    found = importance(study, pairs=True)
    shares = [effect.share for effect in found.main.values()]
    assert shares == sorted(shares, reverse=True)
    assert next(iter(found.main)) == "b"
    assert found.pairs["a", "c"].share > max(found.pairs["a", "b"].share, found.pairs["b", "c"].share)
    assert 0.0 <= sum(shares) <= 1.0 + 1e-9
    assert importance(study, pairs=True) == found
    assert all(bar.get_width() >= 0 for bar in bo.plot_importance(found).patches)


@pytest.mark.parametrize("value", [0.0, 1e300, 7.0])
def test_a_constant_objective_has_no_importances(value):
    found = importance(study_of(SPACE, lambda _: value, 10))
    assert {effect.share for effect in found.main.values()} == {0.0}


def test_what_cannot_be_analyzed_is_refused():
    study = study_of(SPACE, first, 20)
    for given, error, words in (
        (study_of(SPACE, first, 0), BostructError, "at least two completed trials, got 0"),
        (study_of(bo.mlp_domain(), len, 0), BostructError, "made of named choices"),
        (
            study_of(bo.Space({"a": SMALL_CNN, "b": bo.joint_domain({"c": SMALL_CNN})}), lambda _: 1.0, 3),
            BostructError,
            "made of named choices",
        ),
        (study.trials, TypeError, "study: expected a Study or a Result"),
    ):
        with pytest.raises(error, match=words):
            importance(given)
    with pytest.raises(ValueError, match="trees: expected at least 1, got 0"):
        importance(study, trees=0)
    with pytest.raises(TypeError, match="pairs: expected True or False, got 'yes'"):
        importance(study, pairs="yes")
    for one in (importance, bo.plot_slices):
        with pytest.raises(ValueError, match="objective: expected 0, because there is one objective, got 1"):
            one(study, objective=1)


MIXED = bo.Space(
    {
        "rate": bo.Real(0.0, 1.0),
        "network": SMALL_CNN,
        "inner": {"a": range(4), "b": ["x", "y"]},
        "depth": bo.Integer(0, 9, when={"inner": lambda inner: inner["b"] == "x", "network": is_deep}),
    }
)


def test_parts_of_a_mixed_space_have_variables_and_others_are_left_out_in_words(monkeypatch):
    monkeypatch.setattr(importances, "DRAWS", 256)
    study = study_of(MIXED, lambda point: 3.0 * point["inner"]["a"] + point["rate"] + (point["inner"]["b"] == "x"))
    found = importance(study, pairs=True)
    assert (set(found.main), found.left_out) == ({"rate", "inner.a", "inner.b", "depth"}, ("network",))
    assert (next(iter(found.main)), found.main["inner.a"].share > 0.8) == ("inner.a", True)
    assert repr(found).splitlines()[-1] == f"{LEFT_OUT} network; {SHARES}"
    assert f"<p>{LEFT_OUT} network; {SHARES}</p>" in found._repr_html_()
    assert importance(study.result) == importance(study)


def test_the_shares_of_parts_are_those_of_the_same_variables_side_by_side():
    nested = bo.Space({"a": range(4), "inner": {"b": ["x", "y", "z"], "deeper": {"c": bool}}})
    own, other = study_of_all(SPACE, lambda p: p["a"] + 4.0 * (p["b"] == "y") * p["c"]), study_of(nested, first, 0)
    for trial in own.trials:
        a, b, c = (trial.point[name] for name in "abc")
        other.add({"a": a, "inner": {"b": b, "deeper": {"c": c}}}, trial.value)
    found, expected = importance(other, pairs=True), importance(own, pairs=True)
    names = {"a": "a", "b": "inner.b", "c": "inner.deeper.c"}
    assert found.main == {names[name]: effect for name, effect in expected.main.items()}
    assert found.pairs == {(names[a], names[b]): effect for (a, b), effect in expected.pairs.items()}
    assert found.left_out == ()


def test_a_name_with_dots_and_a_part_are_told_apart():
    space = bo.Space({"s.u": range(5), "s": {"u": range(5)}, "net": SMALL_CNN})
    found = importance(study_of(space, lambda point: 3.0 * point["s"]["u"] + point["s.u"]))
    assert (list(found.main), found.left_out) == (["s..u", "s.u"], ("net",))
    assert found.main["s..u"].share > 0.7


def test_variables_that_are_no_single_choices_are_left_out_beside_parts():
    space = bo.Space({"order": Order("abc"), "inner": {"b": bool, "c": bool}})
    found = importance(study_of(space, lambda point: float(point["inner"]["b"]), 12))
    assert (set(found.main), found.left_out) == ({"inner.b", "inner.c"}, ("variables",))


STRUCTURES = {
    "order": (bo.Permutation(range(4)), lambda value: float(value.index(2))),
    "repeats": (bo.Permutation({"x": 2, "y": 2}), lambda value: float(value[0] == "x") + float(value[3] == "x")),
    "some": (bo.Permutation(range(5), length=2), lambda value: 2.0 * (2 in value) + float(value[0] == 4)),
    "subset": (bo.Subset(range(5), (1, 3)), lambda value: float(2 in value) + len(value)),
    "sequence": (bo.Sequence("AB", (1, 3)), lambda value: float(value.startswith("A"))),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_has_the_share_of_the_variance_of_its_term(name):
    variable, term = STRUCTURES[name]
    space = bo.Space({name: variable, "b": bool, "c": list("xyz")})
    found = importance(study_of_all(space, lambda point: term(point[name]) + 2.0 * (point["c"] == "x")))
    values, chances = variable.enumerate(), variable.chances(variable.enumerate())
    terms = np.array([term(variable.present(columns)) for columns in values.tolist()])
    parts = np.array([chances @ (terms - chances @ terms) ** 2, 0.0, 4.0 * 2.0 / 9.0])
    np.testing.assert_allclose(shares_of(found, (name, "b", "c")), parts / parts.sum(), atol=0.06)
    assert found.left_out == ()


def test_structures_of_parts_and_under_conditions_are_explained():
    inner = {"items": bo.Subset(range(20), 5), "on": bool, "word": bo.Sequence("AB", 4, when={"on": True})}
    space = bo.Space({"inner": inner, "b": bool})

    def objective(point):
        return 2.0 * (3 in point["inner"]["items"]) + point["inner"].get("word", "B").startswith("A")

    found = importance(study_of(space, objective, 80))
    assert set(found.main) == {"inner.items", "inner.on", "inner.word", "b"}
    assert found.main["inner.items"].share > 0.5
    assert found.main["inner.word"].share > found.main["b"].share


def test_a_space_of_one_structure_alone_is_explained_by_it():
    result = bo.minimize(lambda point: point["p"][0], {"p": bo.Permutation(range(4))}, 8, method="random", seed=0)
    assert importance(result).main["p"].share == pytest.approx(1.0)


def test_joint_domains_are_explained_by_their_parts():
    joint = bo.joint_domain({"network": SMALL_CNN, "training": {"rate": bo.Real(0.0, 1.0)}})
    found = importance(study_of(joint, lambda point: point["training"]["rate"], 12))
    assert (list(found.main), found.left_out) == (["training.rate"], ("network",))


def test_a_result_knows_its_space_and_may_be_a_part_of_the_trials():
    study = study_of(SPACE, first, 20)
    assert importance(study.result) == importance(study)
    name = next(iter(SPACE.variables))
    kept = study.result.where(lambda point: point[name] != study.result.trials[0].point[name])
    assert importance(kept) != importance(study)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_of_many_trials_the_forest_learns_from_some_with_the_same_reading(monkeypatch, direction):
    study = bo.Study({name: range(5) for name in "abcd"}, method="random", seed=0, direction=direction)
    study.optimize(lambda p: p["b"] + 2.0 * p["c"] + p["b"] * p["d"] / 4.0, 480)
    every = importance(study)
    monkeypatch.setattr(importances, "MOST_LEARNED", 160)
    found = importance(study)
    assert found != every
    assert (list(found.main), found.study) == (list(every.main), every.study)
    assert "the forest learned from 160 of 480 trials, evenly by rank" in repr(found)
    assert "the forest learned" not in repr(every)
    np.testing.assert_allclose(shares_of(found, "abcd"), shares_of(every, "abcd"), atol=0.05)


def test_importances_print_as_a_table():
    found = importance(study_of(SPACE, first, 20), pairs=True)
    lines = repr(found).splitlines()
    assert lines[0].split() == ["variable", "share", "spread"]
    assert len(lines) == 1 + len(found.main) + len(found.pairs)
    assert lines[1].split()[-2:] == [f"{value:.3f}" for value in next(iter(found.main.values()))]


def test_the_shares_of_a_sum_are_those_of_its_terms():
    """Every point was told, and each variable has a term of its own: the shares are those of the terms' variances."""
    study = study_of_all(SPACE, lambda point: 2.0 * point["a"] + 3.0 * point["c"])
    found = importance(study, pairs=True, trees=64)
    terms = np.array([4.0 * 1.25, 0.0, 9.0 * 0.25])  # variances of 2 a, nothing, 3 c
    np.testing.assert_allclose(shares_of(found, SPACE.variables), terms / terms.sum(), atol=0.05)
    assert all(effect.share < 0.05 for effect in found.pairs.values())


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**60])  # exact, so that the forests are the same
def test_the_scale_of_the_values_says_nothing(scale):
    def objective(point):
        return float(point["a"] + 0.3 * point["c"])

    study = study_of(SPACE, objective, 20)
    scaled = study_of(SPACE, lambda point: scale * objective(point), 20)
    for name, effect in importance(study).main.items():
        np.testing.assert_allclose(effect, importance(scaled).main[name], atol=1e-9)


def test_equal_values_are_named_as_such():
    found = importance(study_of(SPACE, lambda _: 1.0, 12))
    assert found.remarks == ("all 12 values are equal, so no variable has an effect",)


def test_the_rest_of_the_variance_is_due_to_interactions():
    found = importance(study_of_all(SPACE, lambda point: point["a"] * 2.0 if point["c"] else -point["a"]))
    assert found.remarks[0].endswith(
        "of the random forest's variance is mainly due to interactions; pairs=True lists pairs"
    )


def test_the_seed_grows_another_forest_and_trees_are_counted():
    study = study_of(SPACE, lambda point: float(point["a"] * point["c"]), 20)
    assert importance(study, seed=1) != importance(study, seed=0)
    assert {effect.spread for effect in importance(study, trees=1).main.values()} == {0.0}


def test_searched_trials_and_vague_shares_are_warned_of_in_text_html_and_picture():
    study = bo.Study(SPACE, method="evolution", seed=0)
    study.optimize(lambda p: 10.0 * (p["b"] == "x") + p["a"], 24, progress=False)
    found = importance(study)
    by_search = sum(trial.origin == "model" for trial in study.trials)
    words = f"a search chose {by_search / 24:.0%} of the trials"
    axes = bo.plot_importance(found)
    for text in (repr(found), found._repr_html_(), axes.get_title(loc="left")):
        assert words in text
    assert importance(study_of(SPACE, lambda p: 10.0 * (p["b"] == "x") + p["a"], 24)).warnings == ()


def test_texts_and_picture_say_which_of_several_objectives_they_explain():
    study = bo.Study(SPACE, method="random", seed=0, directions=["minimize", "maximize"], name="cost in $")
    study.optimize(lambda p: (float(p["a"]), float(p["c"])), 12, progress=False)
    for objective in (0, 1):
        found = importance(study, objective=objective)
        aim = f"importance for objective {objective}"
        assert repr(found).splitlines()[0] == aim
        assert f"<caption>{aim}</caption>" in found._repr_html_()
        title = bo.plot_importance(found).get_title(loc="left").splitlines()[0]
        assert title == rf"{aim} of cost in \$: random, 12 trials, by a random forest"
    single = importance(study_of(SPACE, first, 8))
    assert "objective" not in repr(single)
    assert bo.plot_importance(single).get_title(loc="left").startswith("importance of random, 8 trials, by a random")


def test_a_share_no_larger_than_its_spread_is_vague():
    vague, clear = Effect(0.4, 0.4), Effect(0.4, 0.1)
    found = Importances({"v": vague, "c": clear, "none": Effect(0.0, 0.0)}, {})
    assert found.warnings == ("no clear effect (the spread is at least as large as the share): v",)
    axes = bo.plot_importance(found)
    hatched = {bar.get_hatch() for bar in axes.patches if bar.get_width() == 0.4}
    assert hatched == {"////", None}
    told = axes.get_title(loc="left").splitlines()[1:]
    assert told == ["hatched: no clear effect (the spread is at least as large as the share)"]


@pytest.mark.parametrize("width", [5.0, 7.2, 9.0])
def test_titles_fit_above_the_axes_and_no_word_is_alone(width):
    """The last word of the title was alone on a fourth line, at 60% of the width."""
    found = Importances({"a": Effect(0.4, 0.1), "a_long_name": Effect(0.1, 0.2)}, {}, searched=0.99)
    axes = bo.plot_importance(found, Figure(figsize=(width, 4.0), layout="constrained").subplots())
    axes.figure.draw_without_rendering()
    lines = axes.get_title(loc="left").splitlines()
    (title,) = (text for text in axes.findobj(Text) if text.get_text().startswith("importance"))
    assert title.get_window_extent().x1 < axes.figure.bbox.width
    assert min(len(line.split()) for line in lines) > 3
    assert len(lines) <= (5 if width < 7.0 else 3)


def test_the_text_of_many_importances_is_short():
    found = Importances({f"v{i}": Effect(0.1, 0.01) for i in range(60)}, {})
    assert len(repr(found).splitlines()) < 30
    assert "and 35 more, in main and pairs" in repr(found)
    assert found._repr_html_().count("<tr>") == 61


def test_parts_of_mixtures_have_shares_and_effects():
    space = {"m": bo.Mixture(["a", "b", "c"], total=100), "n": bo.Allocation(["u", "v"], 8, slack=True)}
    found = bo.minimize(lambda p: (p["m"]["a"] - 50) ** 2, space, n_trials=60, seed=0, method="random")
    shares = bo.importance(found).main
    assert set(shares) == {"m.a", "m.b", "m.c", "n.u", "n.v"}
    assert next(iter(shares)) == "m.a"
    axes = bo.plot_effects(found, ("m.a", "m.b"))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "25", "50", "75", "100"]
    assert np.isnan(np.ma.filled(axes.images[0].get_array(), np.nan)[-1, -1])  # no point has both shares


def test_a_few_trials_of_a_search_are_no_reason_for_a_warning():
    found = importance(study_of(SPACE, first, 20))
    assert found._replace(searched=0.19).sample_warning == ""
    assert "a search chose 20% of the trials" in found._replace(searched=0.2).sample_warning
