"""The pictures of a report: hostile names, very many marks, and one that cannot be drawn."""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ET

import bostruct as bo
from bostruct.analysis.report import pictures
from bostruct.analysis.report.facts import read_run
from bostruct.analysis.report.pictures import MOST_MARKS, Picture, draw_pictures, find_architecture
from tests.analysis.report.runs import make_hostile, make_plain


def read(figure: str) -> str:
    return base64.b64decode(figure.partition("base64,")[2].partition('"')[0]).decode()


def test_pictures_are_valid_whatever_the_names():
    for figure in draw_pictures(read_run(make_hostile())):
        ET.fromstring(read(figure))


def test_characters_that_svg_has_not_are_replaced():
    def draw(run, figure):
        del run
        figure.subplots().set_title("a\x07b\ufffe")

    figure = pictures._frame(Picture("one", lambda _: True, draw, lambda _: "a"), read_run(make_plain(2)))
    assert "a\ufffdb\ufffd" in "".join(ET.fromstring(read(figure)).itertext())


def test_very_many_marks_are_pixels():
    study = bo.Study({"a": bo.Integer(0, 5000)}, method="random", seed=0)
    for i in range(MOST_MARKS * 2):
        study.add({"a": i}, float(i % 100))
    svg = read(draw_pictures(read_run(study))[0])
    assert "data:image/png" in svg
    assert len(svg) < 100_000


def test_a_picture_that_fails_is_a_note(monkeypatch):
    def fail(*_):
        raise ValueError("<no>")

    monkeypatch.setattr(pictures, "PICTURES", (Picture("One", lambda _: True, fail, lambda _: "a"),))
    (found,) = draw_pictures(read_run(make_plain(2)))
    assert "One: not drawn, for ValueError(&#x27;&lt;no&gt;&#x27;)" in found


def test_an_architecture_is_found_in_a_point():
    architecture = bo.cnn_domain().pool[0]
    assert find_architecture({"a": 1, "net": architecture}) is architecture
    assert find_architecture(architecture) is architecture
    assert find_architecture({"a": 1}) is None
