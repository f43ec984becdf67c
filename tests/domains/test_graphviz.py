"""Drawing with Graphviz: an SVG, or words that say what is missing."""

import sys
from types import SimpleNamespace

import pytest

from bostruct.contracts import MissingExtra
from bostruct.display import render_svg


class ProgramMissing(Exception):
    """What python-graphviz raises where the program `dot` is not on the path."""


def install(monkeypatch, pipe):
    """Put a library in the place of python-graphviz whose drawings are what `pipe` makes of (dot, format, encoding)."""

    def source(dot):
        return SimpleNamespace(pipe=lambda format, encoding: pipe(dot, format, encoding))

    library = SimpleNamespace(Source=source, ExecutableNotFound=ProgramMissing)
    monkeypatch.setitem(sys.modules, "graphviz", library)


def test_the_drawing_is_handed_over_and_its_svg_returned(monkeypatch):
    install(monkeypatch, lambda *given: given)
    assert render_svg("digraph {}") == ("digraph {}", "svg", "utf-8")


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(MissingExtra, match=r"graphviz is not installed; it comes with the extra 'plot'"):
        render_svg("digraph {}")


def test_without_the_program_the_way_to_it_is_named_and_other_errors_stay(monkeypatch):
    def missing(*_given):
        raise ProgramMissing

    def broken(*_given):
        raise ValueError("syntax error in line 1")

    install(monkeypatch, missing)
    with pytest.raises(MissingExtra, match=r"needs the Graphviz program 'dot' on the path: see graphviz\.org/download"):
        render_svg("digraph {}")
    install(monkeypatch, broken)
    with pytest.raises(ValueError, match="syntax error in line 1"):
        render_svg("digraph {")
