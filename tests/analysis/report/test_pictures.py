"""The pictures of a report: hostile names, very many marks, and one that cannot be drawn."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET

import pytest

import bostruct as bo
from bostruct.analysis.report import pictures
from bostruct.analysis.report.facts import read_run
from bostruct.analysis.report.page import render_page
from bostruct.analysis.report.pictures import MOST_MARKS, Picture, draw_pictures, find_architecture
from bostruct.searchers.bayesian import BayesianSearch
from tests.analysis.report.runs import make_hostile, make_plain


def read(figure: str) -> str:
    return base64.b64decode(figure.partition("base64,")[2].partition('"')[0]).decode()


def test_pictures_are_valid_whatever_the_names():
    for figure in draw_pictures(read_run(make_hostile())):
        text = "".join(ET.fromstring(read(figure)).itertext())
        assert r"\$" not in text  # a mark against formulas, which is not told


def test_characters_that_svg_has_not_are_replaced():
    def draw(run, figure):
        del run
        figure.subplots().set_title("a\x07b\ufffe")

    figure = pictures._frame(Picture("one", lambda _: True, draw, lambda _: "a"), read_run(make_plain(2)))
    assert figure is not None
    assert "a\ufffdb\ufffd" in "".join(ET.fromstring(read(figure)).itertext())


@pytest.mark.parametrize("picture", ["History", "Parallel"])
def test_very_many_marks_or_lines_are_pixels(picture):
    study = bo.Study({"a": bo.Integer(0, 5000), "b": bo.Integer(0, 9)}, method="random", seed=0)
    for i in range(MOST_MARKS * 2):
        study.add({"a": i, "b": i % 10}, float(i % 100))
    svg = read(next(one for one in draw_pictures(read_run(study)) if picture in one))
    assert "data:image/png" in svg
    assert svg.count("<path") < MOST_MARKS
    assert picture == "Parallel" or len(svg) < 100_000


def fail(*_):
    raise ValueError("<no>")


@pytest.mark.parametrize(
    ("applies", "draws"), [(lambda _: True, fail), (fail, lambda *_: None)], ids=["draws", "applies"]
)
def test_a_picture_that_fails_or_cannot_tell_whether_it_is_drawn_is_a_note(monkeypatch, applies, draws):
    monkeypatch.setattr(pictures, "PICTURES", (Picture("One", applies, draws, lambda _: "a"),))
    (found,) = draw_pictures(read_run(make_plain(2)))
    assert "One: not drawn: ValueError(&#x27;&lt;no&gt;&#x27;)" in found


def test_an_architecture_is_found_in_a_point():
    architecture = bo.cnn_domain().pool[0]
    assert find_architecture({"a": 1, "net": architecture}) is architecture
    assert find_architecture(architecture) is architecture
    assert find_architecture({"a": 1}) is None


def list_titles(html: str) -> list[str]:
    """Return the first words of the pictures that are drawn, notes left out."""
    return [re.split("[ ,:]", title)[0] for title in re.findall("<figcaption>(.*?)</figcaption>", html)]


def draw(study: bo.Study) -> str:
    return "".join(draw_pictures(read_run(study)))


def make_searched(method: str, n: int) -> bo.Study:
    space = {"a": bool, "b": [0, 1, 2], "word": bo.Sequence("ACGU", (2, 4)), "c": bo.Real(0, 1, when={"a": True})}
    study = bo.Study(space, method=method, seed=0)
    study.optimize(lambda point: 9.0 * point["b"] - point["a"] - point["word"].count("A"), n, progress=False)
    return study


@pytest.fixture(scope="module")
def evolved() -> tuple[bo.Study, str]:
    """A study that searched, and its pictures."""
    study = make_searched("evolution", 30)
    return study, draw(study)


@pytest.fixture(scope="module")
def both() -> str:
    """The pictures of a study of two objectives."""
    return draw(make_plain(directions=["minimize", "maximize"]))


def test_each_study_has_the_pictures_that_it_has_the_facts_for(evolved, both):
    assert list_titles(draw(make_searched("random", 1))) == ["History"]
    assert list_titles(draw(make_searched("random", 2))) == ["History", "Slices", "Parallel"]
    everything = ["History", "Importances", "Slices", "Parallel", "Genealogy"]
    assert list_titles(evolved[1]) == everything
    assert list_titles(both) == ["Pareto", "Hypervolume", *everything[1:4]]
    order = bo.Study({"order": bo.Permutation(range(6))}, method="random", seed=0)
    order.optimize(lambda point: float(point["order"][0]), 12, progress=False)
    assert list_titles(draw(order)) == ["History"]


def test_texts_say_what_pictures_of_variables_and_ancestors_show(evolved, both):
    study, html = evolved
    assert "Observed values against each of b, " in html
    assert "A line for each of 30 completed trials through its variables (b, " in html
    line = [study.best_trial]
    while "parent" in line[-1].info:
        line.append(study.trials[line[-1].info["parent"]])
    assert len(line) > 1
    path = ", ".join(str(trial.number) for trial in line[1:])
    assert f"The best is trial {line[0].number}; its ancestors, the parent first: {path}." in html
    assert both.count("A row for each of the 2 objectives.") == 3


def test_a_search_is_no_fair_sample_and_the_page_says_so_in_the_words_of_importances(evolved, monkeypatch):
    monkeypatch.setattr(pictures, "PICTURES", ())  # it is in a table
    said = bo.importance(evolved[0]).sample_warning
    assert f"{said[0].upper()}{said[1:]}." in render_page([read_run(evolved[0])])
    assert "A search chose" not in render_page([read_run(make_searched("random", 30))])


def test_a_page_conditions_the_model_once_for_each_of_its_three_questions(monkeypatch):
    study = bo.Study({f"x{i}": bo.Real(0, 1) for i in range(4)}, seed=0)
    study.optimize(lambda point: sum(point.values()), 14, progress=False)
    count, condition = [], BayesianSearch._condition
    monkeypatch.setattr(BayesianSearch, "_condition", lambda *args: count.append(1) or condition(*args))
    html = render_page([read_run(study)])
    assert "Calibration" in html
    assert "Slices" in html
    assert len(count) == 3  # the recommended trial, the slices, each value left out
