"""Files of TSPLIB and QAPLIB: cities and the distances between them, precedences, flows.

Distances follow the rules of TSPLIB 95 (Reinelt 1995), as the programs round them by which its optima are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_choice, check_integer, short_repr
from bostruct.contracts import Array
from bostruct.domains.space.permutation import MAX_ITEMS
from bostruct.problems.paths import WrongWord, read_lines

EXACT = 2**53
NUMBERS = re.compile(r"[+-]?\.?[0-9]")  # begin a line of data
EARTH = 6378.388  # radius in km
PI = 3.141592
FORMATS = (
    "FULL_MATRIX", "UPPER_ROW", "LOWER_ROW", "UPPER_DIAG_ROW", "LOWER_DIAG_ROW", "UPPER_COL", "LOWER_COL",
    "UPPER_DIAG_COL", "LOWER_DIAG_COL",
)  # fmt: skip
SECTIONS = ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION")


class Cities(NamedTuple):
    """The cities of a file.

    names: their numbers in the file.
    distances: from the city of the row to that of the column (n, n), 0 on the diagonal.
    """

    names: tuple[int, ...]
    distances: Array


def read_tsplib(path: str | Path, kinds: Collection[str]) -> Cities:
    """Read the cities of a file of TSPLIB.

    path: .tsp, .atsp or .sop, plain or compressed.
    kinds: the values of TYPE that are allowed, if the file has one.

    Raises OSError if the file cannot be opened, and ValueError, naming file and line, if it is malformed, of another
    kind or has more cities than a `Permutation` may have items.
    """
    facts: dict[str, str] = {}
    sections: dict[str, list[float]] = {}
    numbers, n = None, 0
    with read_lines(path) as lines:
        for line in lines:
            text = line.strip()
            key, colon, value = (part.strip() for part in text.partition(":"))
            if text == "EOF":
                break
            if NUMBERS.match(text) and numbers is not None:
                numbers += read_numbers(line)
                if len(numbers) > max(n * n + 1, 4 * n):
                    raise ValueError(f"expected at most {max(n * n + 1, 4 * n)} numbers for {n} cities")
            elif key in SECTIONS:
                _check_known(n)
                if key in sections:
                    raise ValueError(f"expected one {key}, got a second")
                numbers = sections[key] = []
            elif key.endswith("_SECTION"):
                raise ValueError(f"expected no sections but {', '.join(SECTIONS)}")
            elif text and not colon:
                hint = "; qap:file= reads files of QAPLIB" if NUMBERS.match(text) and not facts else ""
                raise ValueError(f"expected KEYWORD: value, a section or its numbers{hint}")
            elif text:
                if facts.get(key, value) != value and key != "COMMENT":
                    raise ValueError(f"expected one {key}, got a second")
                facts[key], numbers = value, None
                if key == "DIMENSION":  # many cities are refused before they are read
                    n = _check_size(key, read_numbers(value))
                elif key == "EDGE_WEIGHT_TYPE":
                    check_choice(key, value, ("EXPLICIT", *RULES))
                elif key == "TYPE" and value.partition("(")[0].strip() not in kinds:
                    raise ValueError(f"TYPE: expected {' or '.join(kinds)}, got {short_repr(value)}")
        _check_known(n)
        if "EDGE_WEIGHT_TYPE" not in facts and "NODE_COORD_SECTION" in sections:
            raise ValueError(f"expected EDGE_WEIGHT_TYPE beside coordinates, one of {', '.join(RULES)}")
        rule = facts.get("EDGE_WEIGHT_TYPE", "EXPLICIT")
        if rule == "EXPLICIT":
            values = sections.get("EDGE_WEIGHT_SECTION", [])
            names, distances = tuple(range(1, n + 1)), _fill_matrix(values, n, facts.get("EDGE_WEIGHT_FORMAT", ""))
        else:
            names, distances = _measure_cities(sections.get("NODE_COORD_SECTION", []), n, rule)
    np.fill_diagonal(distances, 0.0)
    return Cities(names, distances)


def read_qaplib(path: str | Path) -> tuple[Array, Array]:
    """Read the two matrices A and B of a file of QAPLIB (n, n), whose order p costs the sum of A[i, j] B[p(i), p(j)].

    path: .dat, plain or compressed.

    Raises OSError if the file cannot be opened, and ValueError, naming file and line, if it is malformed or too large.
    """
    numbers: list[float] = []
    n = 0
    with read_lines(path) as lines:
        for line in lines:
            numbers += read_numbers(line)
            if numbers and not n:
                n = _check_size("size", numbers[:1])
                numbers = numbers[:1] if len(numbers) == 2 else numbers  # some name the best known cost beside the size
            if len(numbers) > 2 * n * n + 1:
                break
        if not n:
            raise ValueError("expected a size and two matrices, got no number")
        if len(numbers) != 2 * n * n + 1:
            found = "more" if len(numbers) > 2 * n * n + 1 else f"{len(numbers) - 1}"
            raise ValueError(f"expected {2 * n * n} numbers after the size {n}, for two matrices; got {found}")
    first, second = np.array(numbers[1:]).reshape(2, n, n)
    return first, second


def read_numbers(text: str) -> list[float]:
    """Return the numbers of a line; raise WrongWord for anything else, and above 2^53."""
    found = []
    for i, token in enumerate(text.split()):
        try:
            number = float("" if "_" in token else token)
        except ValueError:
            raise WrongWord(f"expected numbers, got {short_repr(token)}", i) from None
        if not abs(number) <= EXACT:
            raise WrongWord(f"expected numbers of at most 2^53, got {short_repr(token)}", i)
        found.append(number)
    return found


def _check_size(name: str, numbers: list[float]) -> int:
    if len(numbers) != 1 or not numbers[0].is_integer():
        raise ValueError(f"{name}: expected an integer, got {' '.join(map(str, numbers)) or 'none'}")
    return check_integer(name, int(numbers[0]), 2, MAX_ITEMS)


def _check_known(n: int) -> None:
    if not n:
        raise ValueError("expected DIMENSION: number of cities, before the sections")


def _fill_matrix(values: list[float], n: int, layout: str) -> Array:
    """Return a matrix from its entries, row after row or column after column, in full or of one triangle (n, n)."""
    check_choice("EDGE_WEIGHT_FORMAT", layout, FORMATS)
    if layout == "FULL_MATRIX":
        if len(values) == n * n + 1 and values[0] == n:  # the size, once more in files of SOP
            values = values[1:]
        elif len(values) == n * n and values[0] == n and any(one != n for one in values[:: n + 1]):
            raise ValueError(f"EDGE_WEIGHT_SECTION: expected {n * n} numbers after the size {n}, got {n * n - 1}")
        _check_number_count("EDGE_WEIGHT_SECTION", values, n * n, n)
        return np.array(values).reshape(n, n)
    off = 0 if "DIAG" in layout else 1
    is_lower = layout.startswith("LOWER") != layout.endswith("COL")  # columns of one triangle are rows of the other
    at = np.tril_indices(n, -off) if is_lower else np.triu_indices(n, off)
    _check_number_count("EDGE_WEIGHT_SECTION", values, len(at[0]), n)
    distances = np.zeros((n, n))
    distances[at] = values
    return distances + distances.T


def _measure_cities(values: list[float], n: int, rule: str) -> tuple[tuple[int, ...], Array]:
    """Return the numbers of cities, and the distances between them (n, n)."""
    width = 4 if rule.endswith("3D") else 3
    _check_number_count("NODE_COORD_SECTION", values, n * width, n)
    rows = np.array(values).reshape(n, width)
    names = tuple(int(name) for name in rows[:, 0])
    if len(set(names)) < n or (rows[:, 0] != names).any():
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        said = "" if twice is None else f"; got {twice} twice"
        raise ValueError(
            f"NODE_COORD_SECTION: expected {n} cities with numbers of their own, and {width - 1} coordinates{said}"
        )
    return names, RULES[rule](rows[:, 1:])


def _check_number_count(section: str, values: list[float], count: int, n: int) -> None:
    if len(values) != count:
        raise ValueError(f"{section}: expected {count} numbers for {n} cities, got {len(values)}")


def _round(lengths: Array) -> Array:
    return np.floor(lengths + 0.5)


def _gaps(cities: Array) -> Array:
    return np.abs(cities[:, None] - cities)


def _measure_lengths(cities: Array) -> Array:
    return np.sqrt((_gaps(cities) ** 2).sum(axis=2))


def measure_earth(cities: Array) -> Array:
    """Return distances on the earth in km (n, n), to the rule GEO.

    cities: latitude and longitude (n, 2) as degrees.minutes, of which the degrees are cut, not rounded.
    """
    degrees = np.trunc(cities)
    latitude, longitude = (PI * (degrees + 5.0 * (cities - degrees) / 3.0) / 180.0).T
    q1 = np.cos(longitude[:, None] - longitude)
    q2, q3 = np.cos(latitude[:, None] - latitude), np.cos(latitude[:, None] + latitude)
    cosines = np.clip(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0)
    return np.floor(EARTH * np.arccos(cosines) + 1.0)


RULES: dict[str, Callable[[Array], Array]] = {
    "EUC_2D": lambda cities: _round(_measure_lengths(cities)),
    "EUC_3D": lambda cities: _round(_measure_lengths(cities)),
    "CEIL_2D": lambda cities: np.ceil(_measure_lengths(cities)),
    "MAN_2D": lambda cities: _round(_gaps(cities).sum(axis=2)),
    "MAN_3D": lambda cities: _round(_gaps(cities).sum(axis=2)),
    "MAX_2D": lambda cities: _round(_gaps(cities)).max(axis=2),
    "MAX_3D": lambda cities: _round(_gaps(cities)).max(axis=2),
    "ATT": lambda cities: np.ceil(np.sqrt((_gaps(cities) ** 2).sum(axis=2) / 10.0)),
    "GEO": measure_earth,
}
