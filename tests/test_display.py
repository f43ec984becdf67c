"""Display: values in full, tables of HTML that escape what they show, figures that belong to the caller."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct import display
from bostruct.contracts import MissingExtra
from bostruct.display import html_table, in_full, is_notebook, new_axes, pluralize

CELLS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)  # no spaces to strip


class Reader(HTMLParser):
    """Reads back the rows of a table: name and cells, unescaped."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.caption = ""
        self._tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        del attrs
        self._tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td") and "thead" not in self._tags:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self._tags.pop() == tag, "tags are not nested"

    def handle_data(self, data):
        if self._tags[-1] == "caption":
            self.caption += data
        elif self._tags[-1] in ("th", "td"):
            self.rows[-1][-1] += data


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=4), CELLS)
def test_a_table_holds_every_cell_whatever_its_characters(rows, caption):
    found = Reader(html_table(rows, caption=caption))
    assert found.rows == [list(row) for row in rows]
    assert found.caption == caption


def test_tags_in_captions_names_and_cells_are_escaped():
    html = html_table([("<i>", "<b>&")], caption="<p>")
    assert "<caption>&lt;p&gt;</caption>" in html
    assert "<th>&lt;i&gt;</th><td>&lt;b&gt;&amp;</td>" in html


def test_a_header_has_one_name_a_column():
    html = html_table([("a", 1)], header=("name", "<value>"))
    assert "<thead><tr><th>name</th><th>&lt;value&gt;</th></tr></thead>" in html
    assert "<thead>" not in html_table([("a", 1)])
    assert "<caption>" not in html_table([("a", 1)])


def test_a_mapping_becomes_a_table_in_its_cell():
    html = html_table([("point", {"x": "<b>", "inner": {"y": 2}})])
    assert html.count("<table>") == 2
    assert "<th>x</th><td>&#x27;&lt;b&gt;&#x27;</td>" in html  # as `in_full` writes it, escaped
    assert "<th>y</th><td>2</td>" in html


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "'x'"),
        (1.5, "1.5"),
        (None, "None"),
        ({}, "{}"),
        ({"a": True, "b": {"c": "d"}}, "{'a': True, 'b': {'c': 'd'}}"),
        ((1, 2), "(1, 2)"),
    ],
)
def test_a_value_is_written_in_full(value, text):
    assert in_full(value) == text


def test_a_count_has_its_noun():
    assert [pluralize(n, "run") for n in (1, 2, 1200)] == ["1 run", "2 runs", "1,200 runs"]


def test_nothing_is_left_out_however_long():
    point = {f"name {i}": "value" * 50 for i in range(100)}
    assert in_full(point) == str(point)


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(kernel=None), SimpleNamespace(kernel=1)])
def test_a_notebook_is_a_shell_with_a_kernel(monkeypatch, shell):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert is_notebook() is (getattr(shell, "kernel", None) == 1)


def test_without_ipython_there_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not is_notebook()


def test_outside_a_notebook_a_figure_belongs_to_the_caller():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    axes = new_axes(3.0, 2.0)
    assert axes.figure.get_size_inches().tolist() == [3.0, 2.0]
    assert pyplot.get_fignums() == before


def test_in_a_notebook_a_figure_is_that_of_pyplot(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    monkeypatch.setattr(display, "is_notebook", lambda: True)
    axes = new_axes(3.0, 2.0)
    try:
        assert pyplot.gcf() is axes.figure
    finally:
        pyplot.close(axes.figure)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"matplotlib is not installed; it comes with the extra 'plot'"):
        new_axes(1.0, 1.0)
