"""Tables and sparklines as text."""

from __future__ import annotations

from bostruct.analysis.tables import format_table
from bostruct.cli import text


def test_sparkline_keeps_order_and_width():
    line = text.sparkline(list(range(1000, 0, -1)), 40)
    assert len(line) == 40
    assert list(line) == sorted(line, reverse=True)
    assert text.sparkline([]) == ""
    assert len(set(text.sparkline([2.0, 2.0]))) == 1


def test_tables_align():
    lines = format_table(("name", "value"), [("a", "1"), ("long name", "22")]).splitlines()
    assert {len(line) for line in lines} == {len("long name  value")}
