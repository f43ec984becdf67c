"""A figure, its limit, and the table of limits."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A measured number.

    name: name in the table. value: the number. places: the counted items, one string each. shown: whether places are
    printed even if the figure is within its limit.
    """

    name: str
    value: float
    places: tuple[str, ...] = ()
    shown: bool = False

    @staticmethod
    def count(name: str, places: list[str]) -> Figure:
        """Return the figure that counts places."""
        return Figure(name, len(places), tuple(places))


class Limit(NamedTuple):
    """The largest value that a figure may have. name: name of the figure. value: the limit."""

    name: str
    value: float


# Limits may only fall, unless an open change argues for more. A figure without a limit is printed for comparison.
LIMITS = (
    Limit("files at the root", 10),
    Limit("files", 338),
    Limit("files under 100 lines", 64),
    Limit("files over 700 lines", 4),  # sections in the docstrings of the reference take lines
    Limit("files that one file of their own folder imports", 40),
    Limit("code lines", 54_976),
    Limit("docstring lines", 20_870),
    Limit("imports, % of code lines", 10.4),
    Limit("private helpers named once, % of functions", 13.9),
    Limit("protocols", 0),
    Limit("questions for a capability, outside testing", 8),
    Limit("top-level names with several meanings", 16),
    Limit("functions over 60 lines", 0),
    Limit("import cycles", 0),
    Limit("Any per 1,000 code lines", 12),
    Limit("functions named by a participle, %", 2.6),
    Limit("docstrings opening with Of, That, What, ...", 0),
    Limit("public docstrings that list no parameter", 0),
    Limit("public docstrings that leave a parameter out", 0),
    Limit("code lines in Markdown over 100 characters", 0),
    Limit("British spellings", 0),
    Limit("wrong phrases in pages", 0),
    Limit("wrong phrases in messages", 0),
    Limit("wrong phrases in docstrings", 0),
    Limit("lines of README", 130),
    Limit("line of the first Python block of README", 15),
    Limit("words of user documentation", 42_970),
    Limit("lines of prose over 120 characters", 0),
    Limit("paragraphs over 80 words", 0),
    Limit("most files that name one part", 3),
)


def limit_of(name: str) -> float | None:
    """Return the limit of a figure, if any."""
    return next((limit.value for limit in LIMITS if limit.name == name), None)


def is_exceeded(figure: Figure) -> bool:
    """Return whether a figure is above its limit."""
    limit = limit_of(figure.name)
    return limit is not None and figure.value > limit
