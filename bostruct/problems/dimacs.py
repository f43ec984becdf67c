"""Weighted MaxSAT files: DIMACS .wcnf in the old format and in that of 2022, plain or compressed (.gz, .xz)."""

from __future__ import annotations

import gzip
import lzma
import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bostruct.checks import short_repr
from bostruct.output_files import write_output
from bostruct.problems.formula import Formula
from bostruct.problems.paths import check_regular

EXACT = 2**53
COMPRESSION = {".gz": (gzip.compress, gzip.decompress), ".xz": (lzma.compress, lzma.decompress)}


class Header(NamedTuple):
    """The counts in the line `p wcnf variables clauses [top]`.

    n_variables: number of variables.
    n_clauses: number of clauses.
    top: a weight of at least this marks a hard clause; infinite where the line has none.
    """

    n_variables: int
    n_clauses: int
    top: float


def read_wcnf(path: str | Path) -> Formula:
    """Read a formula from a file.

    path: a file with `p wcnf variables clauses [top]` and `weight literals 0`, or without header, `h` for hard.

    Raises OSError where the file cannot be opened, and ValueError, naming file and line, where it is malformed, or
    where the path is that of no regular file.
    """
    path = Path(path)
    check_regular(str(path), path)
    _, decompress = COMPRESSION.get(path.suffix, (bytes, bytes))
    try:
        text = decompress(path.read_bytes()).decode("latin-1")  # comments may hold any byte
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: expected a file compressed as its name says: {error}") from None
    header, clauses, weights = None, [], []
    for number, line in enumerate(text.split("\n"), start=1):
        tokens = line.split()
        if not tokens or tokens[0].startswith("c"):
            continue
        try:
            if tokens[0] == "p":
                header = _header(tokens, header, len(clauses))
            else:
                weights.append(_weight(tokens[0], header))
                clauses.append(_clause(tokens[1:], header))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}; the line is {short_repr(line)}") from None
    if header is not None and len(clauses) != header.n_clauses:
        raise ValueError(f"{path}: the header promises {header.n_clauses} clauses, the file has {len(clauses)}")
    if not clauses:
        raise ValueError(f"{path}: expected at least one clause, got none")
    largest = max((abs(literal) for clause in clauses for literal in clause), default=0)
    return Formula(header.n_variables if header else max(1, largest), tuple(clauses), tuple(weights))


def write_wcnf(formula: Formula, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a formula in the old format, which keeps the number of variables.

    formula: to be written.
    path: of the file, which is compressed where the name ends in .gz or .xz.
    overwrite: True replaces a file that is there, but never a database.

    What `read_wcnf` reads back is equal. Raises OutputRefused, a FileExistsError, for a file that it must not replace;
    OSError.
    """
    top = math.floor(formula.soft_weight) + 1
    lines = [f"p wcnf {formula.n_variables} {len(formula.clauses)} {top}"]
    for clause, weight in zip(formula.clauses, formula.weights, strict=True):
        shown_weight = top if math.isinf(weight) else int(weight) if weight.is_integer() else repr(weight)
        lines.append(" ".join(map(str, (shown_weight, *clause, 0))))
    path = Path(path)
    compress, _ = COMPRESSION.get(path.suffix, (bytes, bytes))
    write_output(path, compress(("\n".join(lines) + "\n").encode("ascii")), "formula", overwrite=overwrite)


def _header(tokens: list[str], before: Header | None, n_clauses: int) -> Header:
    if before is not None or n_clauses:
        raise ValueError("expected one header, before the clauses")
    if len(tokens) not in (4, 5) or tokens[1] != "wcnf" or not all(token.isdigit() for token in tokens[2:]):
        raise ValueError("expected 'p wcnf variables clauses [top]'")
    if int(tokens[2]) < 1:
        raise ValueError("expected at least one variable")
    return Header(int(tokens[2]), int(tokens[3]), int(tokens[4]) if len(tokens) == 5 else math.inf)


def _weight(token: str, header: Header | None) -> float:
    if token == "h":
        if header is not None:
            raise ValueError("expected a weight, got 'h', which marks a hard clause only in files without a header")
        return math.inf
    try:
        weight = _number(token, int if token.isdigit() else float)
    except ValueError:
        raise ValueError(f"expected a positive weight{'' if header else ' or h'}, got {short_repr(token)}") from None
    if header is not None and weight >= header.top < math.inf:  # without a top no clause is hard
        return math.inf
    if not 0 < weight <= EXACT:
        raise ValueError(f"expected a weight above 0, at most 2^53, got {short_repr(token)}")
    return float(weight)


def _clause(tokens: list[str], header: Header | None) -> tuple[int, ...]:
    try:
        literals = tuple(int(_number(token, int)) for token in tokens)
    except ValueError:
        raise ValueError("expected integers after the weight") from None
    if not literals or literals[-1] != 0 or 0 in literals[:-1]:
        raise ValueError("expected literals that end with one 0")
    if header is not None and any(abs(literal) > header.n_variables for literal in literals):
        raise ValueError(f"expected literals of +-1..{header.n_variables}, as the header promises")
    return literals[:-1]


def _number(token: str, read: Callable[[str], float]) -> float:
    """Read a number; raise ValueError also for `1_0`, which is one in Python alone."""
    if "_" in token:
        raise ValueError
    return read(token)
