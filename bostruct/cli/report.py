"""`bostruct report`: an HTML page about the studies of a file, which is opened for reading only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bostruct.cli.options import (
    check_folder,
    check_not_empty,
    check_outputs,
    file_to_write,
    json_option,
    load_space,
    load_to_read,
    open_place,
    overwrite_option,
    plain_errors,
    short_name,
    space_option,
)
from bostruct.cli.text import echo_json

if TYPE_CHECKING:
    from bostruct.contracts import Domain
    from bostruct.study.study import Study


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--name", help="Name of the study; without it the page shows all studies of the file.")
@click.option(
    "--out",
    type=file_to_write,
    callback=check_folder,
    help="The page to write; FILE with the ending .html by default. Needed for a database.",
)
@overwrite_option
@space_option
@json_option
def report(
    *, file: str, name: str | None, out: str | None, overwrite: bool, problem: str | None, as_json: bool
) -> None:
    """Write a page of HTML about the studies in a file or a database (postgresql://...): story, pictures, tables.

    The page needs no network. FILE is only read, also while a study in it runs.

    \b
    Examples:
      bostruct report runs.db
      bostruct report runs.db --name "branin auto seed=0" --out branin.html
      bostruct report runs.db --problem mine.py:problem
      bostruct report postgresql://ann@db.lab/runs --out runs.html
    """
    with plain_errors():
        from bostruct.display import printable

        place = open_place(file)
        if out is None and "://" in place.label:
            raise click.UsageError("--out: expected the page to write, as a database has no folder to write it in")
        space = load_space(problem)
        text, names = render_file(file, name, space)  # first, so that an invalid file is rejected as such
        check_not_empty(place, names)
        page = Path(place.label).with_suffix(".html") if out is None else Path(out)
        check_outputs({str(page): "page"}, overwrite=overwrite)
        _write_page(page, text, is_chosen=out is not None, overwrite=overwrite)
    if as_json:
        echo_json({"file": place.label, "page": str(page), "studies": names})
    else:
        click.echo(f"{printable(str(page))} shows {', '.join(map(repr, names))}")


def _write_page(page: Path, text: str, *, is_chosen: bool, overwrite: bool) -> None:
    """Write a page; raise OSError, with a hint if the user did not choose the path."""
    from bostruct.output_files import OutputRefused, write_output

    try:
        write_output(page, text, "page", overwrite=overwrite)
    except OutputRefused:
        raise
    except OSError as error:
        hint = "" if is_chosen else "; give another page by --out"
        raise OSError(error.errno, f"{error.strerror}{hint}", str(page)) from error


def render_file(file: str, name: str | None, space: Domain | None = None) -> tuple[str, list[str]]:
    """Return the page about the studies of a file or a database, and their names.

    name: of one study; None for all.

    Raises StorageError, UsageError.
    """
    from bostruct.analysis.report.facts import read_run
    from bostruct.analysis.report.page import render_page

    with open_studies(file, name, space) as studies:
        title = short_name(open_place(file)) if len(studies) != 1 else ""
        return render_page([read_run(study) for study in studies], title), [study.name for study in studies]


@contextmanager
def open_studies(file: str, name: str | None, space: Domain | None = None) -> Iterator[list[Study]]:
    """Open studies for reading only.

    name: of one study; None for all.
    space: of the one study, if the file does not contain it; None for the stored space.

    Raises StorageError, also if no trial of the study is valid in the given space; UsageError if a space is given for
    several studies.
    """
    place = open_place(file)
    names = [row.name for row in place.studies()] if name is None else [name]
    if space is not None and len(names) > 1:
        known = ", ".join(map(repr, names))
        raise click.UsageError(f"--problem: expected a file of one study, or --name, one of {known}")
    with ExitStack() as stack:
        yield [stack.enter_context(load_to_read(place, one, space)) for one in names]
