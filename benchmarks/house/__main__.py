"""Print figures of the form and the wording of the package, with their limits.

    python -m benchmarks.house [--check] [--json] [--before FILE]

--before FILE: the output of --json for another revision, which becomes a column. With --check the exit code is 1 if a
figure is over its limit.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.house import growth, rooms, sentences, words
from benchmarks.house.figures import Figure, is_exceeded, limit_of
from benchmarks.house.form import measure_form
from benchmarks.house.prose import measure_prose
from benchmarks.house.source import read_package

REPOSITORY = Path(__file__).parents[2]


def measure(repository: Path, package: str = "bostruct") -> list[Figure]:
    """Return all figures of a package in a repository, including the Markdown at the root, in docs and benchmarks."""
    files = read_package(repository / package)
    paths = [*repository.glob("*.md"), *repository.glob("docs/**/*.md"), *repository.glob("benchmarks/**/*.md")]
    pages = {path.relative_to(repository).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}
    return [
        rooms.root_files(files),
        *measure_form(files),
        rooms.long_functions(files),
        rooms.import_cycles(files),
        rooms.any_share(files),
        words.participles(files),
        *sentences.openings(files),
        *sentences.unlisted(files),
        sentences.coverage(files),
        growth.naming_files(files),
        sentences.wide_markdown(pages),
        *measure_prose(pages, files),
        words.british(pages | {file.name: file.source for file in files}),
    ]


def table(figures: list[Figure], before: dict[str, float]) -> str:
    """Return the figures as a Markdown table; `before` contains the values of another revision by name, or nothing."""
    head = ["figure", *(["before"] if before else []), "now", "limit", ""]
    rows = [head, ["---"] * len(head)]
    for figure in figures:
        limit = limit_of(figure.name)
        old = [f"{before.get(figure.name, float('nan')):g}"] if before else []
        verdict = "" if limit is None else "over" if is_exceeded(figure) else "kept"
        rows.append([figure.name, *old, f"{figure.value:g}", "" if limit is None else f"{limit:g}", verdict])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(arguments: Sequence[str] | None = None, repository: Path = REPOSITORY) -> int:
    """Print the table and the places of figures over their limits, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description="figures of the package's form")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a figure is over its limit")
    parser.add_argument("--json", action="store_true", help="figures and places as JSON")
    parser.add_argument("--before", type=Path, metavar="FILE", help="JSON of another revision, for a column")
    given = parser.parse_args(arguments)
    figures = measure(repository)
    if given.json:
        print(json.dumps([figure._asdict() for figure in figures], indent=1))
    else:
        stored = json.loads(given.before.read_text(encoding="utf-8")) if given.before else []
        print(table(figures, {one["name"]: one["value"] for one in stored}))
        for figure in figures:
            if figure.places and (is_exceeded(figure) or figure.shown):
                print("", f"{figure.name}:", *figure.places, sep="\n  ")
    return int(given.check and any(map(is_exceeded, figures)))


if __name__ == "__main__":
    raise SystemExit(main())
