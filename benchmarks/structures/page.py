"""What the pages of comparisons share: sections by group, how the runs were taken, and a figure for each problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.groups import OURS
from benchmarks.peers.record import describe_conditions, list_absent, read_file
from benchmarks.peers.verdicts import LEAST_SEEDS, Index, index_runs


class Layout(NamedTuple):
    """What sets a page apart from others.

    name: of the package that takes its runs, as `python -m` runs it.
    header: the first section, Markdown.
    groups: by name; each has `problems` and `searches`.
    format_group: the section of a group, of the runs and the group; empty where there is none.
    is_drawn: whether a problem has a figure, of the runs, the group and the problem.
    pictures: folder of the figures, beside the page.
    """

    name: str
    header: str
    groups: Mapping[str, Any]
    format_group: Callable[[Index, Any], str]
    is_drawn: Callable[[Index, Any, str], bool]
    pictures: Path


def publish_page(layout: Layout, file: Path, page: Path) -> str:
    """Write a page and its figures, and return what was written in words.

    layout: of the page.
    file: of the runs.
    page: to write.

    Raises ValueError where the file has no runs or is damaged.
    """
    from benchmarks.peers.figures import draw_problem, save_figure  # needs matplotlib, which the text does not

    text, index = lay_out(layout, file)
    page.parent.mkdir(parents=True, exist_ok=True)
    for group in layout.groups.values():
        for problem in group.problems:
            if layout.is_drawn(index, group, problem):
                picture = page.parent / name_picture(layout.pictures, problem)
                save_figure(draw_problem(index, problem, group.searches), picture)
    page.write_text(text, encoding="utf-8")
    return f"{page}: {sum(map(len, index.values()))} runs"


def lay_out(layout: Layout, file: Path) -> tuple[str, Index]:
    """Return the text of a page, and the whole runs.

    layout: of the page.
    file: of the runs.

    Raises ValueError where the file has no whole runs or is damaged.
    """
    conditions, runs = read_file(file)
    index = index_runs(runs)
    if not index:
        raise ValueError(f"{file}: expected at least one run, got none; python -m {layout.name} takes them")
    record = "\n".join([*list_absent(runs), describe_conditions(conditions)])
    groups = (layout.format_group(index, group) for group in layout.groups.values())
    sections = [layout.header, *groups, f"## How the runs were taken\n\n{record.strip()}"]
    return "\n\n".join(section.strip() for section in sections if section) + "\n", index


def has_seeds(index: Index, problem: str) -> bool:
    """Tell whether `auto` has `LEAST_SEEDS` seeds or more on a problem.

    index: of the runs.
    problem: its name.
    """
    return len(index.get((problem, OURS), {})) >= LEAST_SEEDS


def name_picture(pictures: Path, problem: str) -> Path:
    """Return where the figure of a problem lies.

    pictures: the folder.
    problem: its name.
    """
    return pictures / f"{problem.replace(' ', '-').replace('/', '-')}.svg"
