"""The common parts of the pages of comparisons: sections by group, a figure for each problem, tables in files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.groups import OURS
from benchmarks.peers.record import describe_conditions, list_absent, read_file
from benchmarks.peers.verdicts import LEAST_SEEDS, Index, index_runs

RUNS = "How the runs were taken"  # title of the last section


class Layout(NamedTuple):
    """The properties of a page.

    name: package that makes the runs, as in `python -m`.
    header: the first section, in Markdown.
    groups: groups by name; each has `problems` and `searches`.
    format_group: returns the section of a group, given the runs and the group; empty for no section.
    is_drawn: returns whether a problem has a figure, given the runs, the group and the problem.
    pictures: folder of the figures, relative to the folder of the page.
    """

    name: str
    header: str
    groups: Mapping[str, Any]
    format_group: Callable[[Index, Any], str]
    is_drawn: Callable[[Index, Any, str], bool]
    pictures: Path


def publish_page(layout: Layout, file: Path, page: Path) -> str:
    """Write a page, its figures and its tables, and return a message.

    layout: layout of the page.
    file: file of the runs.
    page: the page to write.

    Raises ValueError if the file has no runs or is damaged.
    """
    from benchmarks.peers.figures import draw_problem, save_figure  # needs matplotlib, unlike the text

    text, index = lay_out(layout, file)
    page.parent.mkdir(parents=True, exist_ok=True)
    for group in layout.groups.values():
        for problem in group.problems:
            if layout.is_drawn(index, group, problem):
                picture = page.parent / name_picture(layout.pictures, problem)
                save_figure(draw_problem(index, problem, group.searches), picture)
    write_with_tables(text, layout.name.rpartition(".")[2], page)
    return f"{page}: {sum(map(len, index.values()))} runs"


def write_with_tables(text: str, name: str, page: Path) -> None:
    """Write a page, and the tables of its problems as files in the folder `tables` next to it.

    text: text of the page with all tables.
    name: prefix of the names of the files.
    page: the page to write.
    """
    short, files = file_tables(text, name)
    (page.parent / "tables").mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (page.parent / "tables" / file).write_text(content, encoding="utf-8")
    page.write_text(short, encoding="utf-8")


def file_tables(text: str, name: str) -> tuple[str, dict[str, str]]:
    """Return a page without the tables of its problems, and the CSV files of these tables, one per section.

    text: Markdown. A section may have a table under each heading `### problem`; text and figures there stay.
    name: prefix of the names of the files.
    """
    files: dict[str, str] = {}
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    for i, section in enumerate(sections):
        head, *problems = re.split(r"^### ", section, flags=re.MULTILINE)
        title = head.partition("\n")[0].removeprefix("## ")
        file = f"{name}-{'-'.join(re.findall(r'[a-z0-9]+', title.lower()))}.csv"
        if title == RUNS:
            file = f"{name}-runs.txt"
            files[file] = head.partition("\n")[2].strip() + "\n"
            sections[i] = f"## {RUNS}\n\n[{file}](tables/{file}) has commands, revisions, versions and machines.\n"
        elif problems:
            files[file] = _format_csv(problems)
            rest = [re.sub(r"^\|.*\n*", "", problem, flags=re.MULTILINE).strip() for problem in problems]
            kept = "".join(f"### {text}\n\n" for text in rest if "\n" in text)
            sections[i] = f"{head.strip()}\n\nAll numbers: [{file}](tables/{file}).\n\n{kept}"
    return "".join(sections), files


def _format_csv(problems: Sequence[str]) -> str:
    """Join the tables of problems, with a column for the problem; a column without a name is the verdict."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for problem in problems:
        name, *lines = problem.splitlines()
        rows = [re.sub(r"[*`]", "", line).strip("|").split("|") for line in lines if line.startswith("|")]
        cells = [[cell.strip() for cell in row] for row in rows if "---" not in row[0]] or [[], ["no runs yet"]]
        if not out.tell():
            writer.writerow(["problem", *(cell or "verdict" for cell in cells[0])])
        writer.writerows([name, *row] for row in cells[1:])
    return out.getvalue()


def lay_out(layout: Layout, file: Path) -> tuple[str, Index]:
    """Return the text of a page, and the complete runs.

    layout: layout of the page.
    file: file of the runs.

    Raises ValueError if the file has no complete runs or is damaged.
    """
    conditions, runs = read_file(file)
    index = index_runs(runs)
    if not index:
        raise ValueError(f"{file}: expected at least one run, got none; python -m {layout.name} takes them")
    record = "\n".join([*list_absent(runs), describe_conditions(conditions)])
    groups = (layout.format_group(index, group) for group in layout.groups.values())
    sections = [layout.header, *groups, f"## {RUNS}\n\n{record.strip()}"]
    return "\n\n".join(section.strip() for section in sections if section) + "\n", index


def has_seeds(index: Index, problem: str) -> bool:
    """Return whether `auto` has at least `LEAST_SEEDS` seeds on a problem.

    index: the runs.
    problem: name of the problem.
    """
    return len(index.get((problem, OURS), {})) >= LEAST_SEEDS


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    columns: headings of the columns.
    rows: cells of each row.
    """
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def intersect_seeds(seeds: Sequence[Collection[int]]) -> set[int]:
    """Return the seeds that all methods with at least `LEAST_SEEDS` seeds share.

    seeds: seeds of each method.
    """
    enough = [set(own) for own in seeds if len(own) >= LEAST_SEEDS]
    return set.intersection(*enough) if enough else set()


def select_values(found: Mapping[int, float], shared: AbstractSet[int]) -> list[float]:
    """Return the values of a method on the shared seeds, or on all of its own seeds if it has few.

    found: values by seed.
    shared: the result of `intersect_seeds`.
    """
    return [value for seed, value in found.items() if seed in shared or len(found) < LEAST_SEEDS]


def format_mean(values: Sequence[float]) -> str:
    """Return a mean with its standard error, if there are several values; empty without values.

    values: the values.
    """
    error = f" ± {np.std(values, ddof=1) / len(values) ** 0.5:.3g}" if len(values) > 1 else ""
    return f"{np.mean(values):.4g}{error}" if values else ""


def name_picture(pictures: Path, problem: str) -> Path:
    """Return the path of the figure of a problem.

    pictures: folder of the figures.
    problem: name of the problem.
    """
    return pictures / f"{problem.replace(' ', '-').replace('/', '-')}.svg"
