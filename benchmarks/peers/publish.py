"""Write the page of the results and its figures from the file of the runs, without repeating any run.

    python -m benchmarks.peers.publish [FILE [PAGE]]

FILE is benchmarks/peers/results.jsonl by default, and its page is RESULTS.md. The default page of any other FILE is
NAME.md in the folder of FILE. The figures of a page RESULTS.md lie in docs/images/results in its folder; the figures of
any other page NAME.md lie in NAME-figures. They need matplotlib: pip install '.[plot]'.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from benchmarks.peers.comparison import HEADLINE, Results, find_last_trial, judge_runs, list_figures, list_panels
from benchmarks.peers.groups import ALL_SEARCHES
from benchmarks.peers.options import check_writable
from benchmarks.peers.record import read_file
from benchmarks.peers.report import WRITTEN, format_page
from bostruct.display import pluralize

ROOT = Path(__file__).parents[2]
FILE = ROOT / "benchmarks" / "peers" / "results.jsonl"
PAGE = ROOT / "RESULTS.md"
GUIDE = ROOT / "docs" / "evidence" / "peers.md"
PICTURES = Path("docs", "images", "results")  # in the folder of a page that has the name of `PAGE`


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and the figures; return 0, or 1 if the file has no runs or is damaged.

    arguments: of the command; None for the arguments of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.publish", description="the page of the results")
    parser.add_argument("file", type=Path, nargs="?", default=FILE, metavar="FILE", help="a JSON line for each run")
    parser.add_argument("page", type=Path, nargs="?", metavar="PAGE", help="Markdown, overwritten")
    given = parser.parse_args(arguments)
    if not given.file.is_file():
        parser.error(f"FILE: expected a file of runs, as python -m benchmarks.peers writes them; got {given.file}")
    page = given.page or (PAGE if given.file.resolve() == FILE.resolve() else given.file.with_suffix(".md"))
    check_page(parser, "PAGE", page, given.file)
    try:
        print(publish(given.file, page), file=sys.stderr)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def check_page(parser: argparse.ArgumentParser, name: str, page: Path, file: Path) -> None:
    """End the command if a page cannot be written, or would overwrite something else.

    parser: of the command.
    name: of the argument, for the message.
    page: to write.
    file: of the runs.
    """
    check_writable(parser, name, page)
    if page.resolve() == file.resolve():
        parser.error(f"{name}: expected a file other than the file of the runs; got {page}")
    if page.exists() and WRITTEN not in page.read_text(encoding="utf-8", errors="replace"):
        parser.error(f"{name}: expected a new file, or a page of benchmarks.peers; {page} is a different file")
    if (folder := page.parent / place_figures(page)).is_file():
        parser.error(f"{name}: cannot make the folder {folder}, because a file has this name")


def place_figures(page: Path) -> Path:
    """Return the folder of the figures of a page, relative to the folder of the page.

    page: path of the page.
    """
    return PICTURES if page.name == PAGE.name else Path(f"{page.stem}-figures")


def publish(file: Path, page: Path) -> str:
    """Write the page and its figures, and return a sentence on what was written.

    file: of the runs.
    page: to write; its figures lie in the folder that `place_figures` returns, from which other figures are removed.

    Raises ValueError if the file has no whole runs or is damaged.
    """
    text, results = make_page(file, page)
    page.parent.mkdir(parents=True, exist_ok=True)
    folder = page.parent / place_figures(page)
    names = draw_figures(results, folder)
    page.write_text(text, encoding="utf-8")
    return f"{page}: {pluralize(len(results.runs), 'run')}, {pluralize(len(names), 'figure')} in {folder}"


def make_page(file: Path, page: Path | None) -> tuple[str, Results]:
    """Return the text of the page, and the results that it describes.

    file: of the runs.
    page: path of the page; None for a text without figures, with paths from the root of the repository.

    Raises ValueError if the file has no whole runs or is damaged.
    """
    conditions, runs = read_file(file)
    results = judge_runs(runs)
    if not results.whole:
        raise ValueError(f"{file}: expected at least one whole run, got none: all were skipped, cut or not installed")
    guide = Path(os.path.relpath(GUIDE, page.parent if page else ROOT)).as_posix()
    names = _list_pictures(results) if page else []
    pictures = {name: quote((place_figures(page) / f"{name}.svg").as_posix()) for name in names if page}
    return format_page(results, conditions, guide, pictures), results


def draw_figures(results: Results, folder: Path) -> list[str]:
    """Draw all figures as SVG files, remove other SVG files from the folder, and return the names of the figures.

    results: to draw.
    folder: of the figures.
    """
    from benchmarks.peers.figures import draw_headline, draw_problem, save_figure

    names = _list_pictures(results)
    for name, (problem, searches) in list_figures(results.whole).items():
        save_figure(draw_problem(results.whole, problem, searches), folder / f"{name}.svg")
    if HEADLINE in names:
        panels = list_panels(results.whole)
        figure = draw_headline(results.whole, panels, list(ALL_SEARCHES), find_last_trial(results.whole))
        save_figure(figure, folder / f"{HEADLINE}.svg")
    for file in folder.glob("*.svg"):
        if file.stem not in names:
            file.unlink()
    return names


def _list_pictures(results: Results) -> list[str]:
    headline = [HEADLINE] if list_panels(results.whole) else []
    return [*headline, *list_figures(results.whole)]


if __name__ == "__main__":
    raise SystemExit(main())
